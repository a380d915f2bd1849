# Sourced by the scripts beside it, after check.sh: a bare Debian 12 in ./root, and commands in it.
# shellcheck shell=bash

skip() {
    echo "skip: project/${0##*/}: $*"
    exit 77
}

# Run a command, and print its output if it fails, which is the end.
quietly() {
    "$@" >log 2>&1 || {
        cat log
        wrong "$*"
        exit 1
    }
}

# Without an archive of Debian 12, or the right to mount, the test is skipped.
make_bare_root() {
    local archive
    root=$PWD/root
    archive=$(apt-get indextargets --format '$(REPO_URI) $(CODENAME)' 'Created-By: Packages' |
        awk '$2 == "bookworm" { print $1; exit }')
    [[ $archive ]] || skip 'the machine has no archive of Debian 12'
    debootstrap --variant=minbase bookworm "$root" "$archive" >log 2>&1 ||
        skip "no bare Debian: $(tail -n 1 log)"
    mount -t proc proc "$root/proc" || skip 'proc cannot be mounted'
    trap 'umount "$root/proc"' EXIT
}

inside() {
    env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root chroot "$root" "$@"
}

# Run programs of the bare system plainly and by a command: the same status and output; set `found` to what they
# report, and `found_at` to when the first of them did.
first_findings() { # COMMAND... that takes --log-file=/said and a program
    local command status
    found='' found_at=''
    for command in 'tar cf /dev/null /etc' 'sort /etc/passwd' 'dpkg -l' 'locale -a'; do
        # shellcheck disable=SC2086
        inside $command >plain 2>/dev/null
        status=$?
        # shellcheck disable=SC2086
        inside "$@" --log-file=/said $command >out 2>/dev/null
        same "status of $command" "$?" "$status"
        same "output of $command" "$(cat out)" "$(cat plain)"
        found+=$(grep -E '^rtcheck: [0-9]+ problems? in ' "$root/said")$'\n'
        [[ $found_at || $found != *problem* ]] || found_at=$SECONDS
    done
    [[ $found == *problem* ]] || wrong 'no program of the bare system has a finding'
}
