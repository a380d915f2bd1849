# Functions shared by tools/run, tools/test and tools/packages, which source this file with bash.
# shellcheck shell=bash

top=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
build_dir=$top/build

# 125 is also the launcher's exit status for an error in the set-up.
die() {
    printf 'tools/%s: %s\n' "${0##*/}" "$*" >&2
    exit 125
}

# LD_PRELOAD separates its entries by spaces and colons and has no quoting.
refuse_path() {
    [[ $top != *[[:space:]:]* ]] ||
        die "LD_PRELOAD cannot carry a path with a space or a colon: $top"
}

# Copy a build's output to stdout, and print to stderr how far it is: on a terminal the percentage, else
# one line when the first file is compiled.
print_progress() {
    local line at=
    while IFS= read -r line; do
        printf '%s\n' "$line"
        [[ $line =~ ^\[\ *([0-9]+)%\]\ (Building|Linking) ]] || continue
        if [[ -t 2 ]]; then
            printf '\rtools/%s: building, %3d %%' "${0##*/}" "${BASH_REMATCH[1]}" >&2
        elif [[ ! $at ]]; then
            printf 'tools/%s: building; output: %s\n' "${0##*/}" "$1" >&2
        fi
        at=${BASH_REMATCH[1]}
    done
    [[ ! $at || ! -t 2 ]] || printf '\r\033[K' >&2
}

# build LOG [-DNAME=VALUE...] [-- TARGET...]: bring $build_dir up to date; the tools' output is written to
# LOG in it.  A lock serializes callers.
build() {
    local log=$build_dir/$1 lock define=() target=()
    shift
    while (($#)) && [[ $1 == -D* ]]; do
        define+=("$1")
        shift
    done
    [[ ${1-} == -- ]] && target=(--target "${@:2}")

    mkdir -p "$build_dir" 2>/dev/null
    if [[ ! -w $build_dir ]]; then # of another user: use it as it is
        [[ -x $build_dir/bin/rtcheck && -e $build_dir/lib/librtcheck.so ]] && return
        die "cannot write to $build_dir"
    fi
    exec {lock}>"$build_dir/.lock"
    flock "$lock"
    (set -o pipefail && run_build </dev/null 2>&1 {lock}>&- | print_progress "$log" >"$log" {lock}>&-) || {
        { grep -E -A6 'error: |Error ' "$log" || tail -n 30 "$log"; } | sed -n 1,40p >&2
        die "the build failed; all of it: $log"
    }
    exec {lock}>&-
}

run_build() {
    local cache=$build_dir/CMakeCache.txt configure=()
    umask 022
    if [[ ! -e $cache ]]; then
        configure=(-DRTC_TESTS=OFF) # unless -DRTC_TESTS=ON is given
    elif ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$top" "$cache"; then
        configure=(--fresh -DRTC_TESTS=OFF) # the tree was moved together with its build
    fi
    configure+=("${define[@]}")
    if ((${#configure[@]})); then
        cmake "${configure[@]}" -S "$top" -B "$build_dir" || return
    fi
    NINJA_STATUS='[%p] ' cmake --build "$build_dir" --parallel "$(nproc)" "${target[@]}"
}
