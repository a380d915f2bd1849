# Sourced by the scripts beside it: they print what does not hold.
# shellcheck shell=bash

failed=0 # their exit status
export failed

wrong() {
    printf 'wrong: %s\n' "$*"
    failed=1
}

# same WHAT GOT WANTED
same() {
    [[ $2 == "$3" ]] && return
    wrong "$1"
    diff <(printf '%s\n' "$3") <(printf '%s\n' "$2") | sed -n 's/^</  wanted:/p; s/^>/  got:   /p'
}
