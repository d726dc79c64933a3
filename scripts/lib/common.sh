# shellcheck shell=bash
# Shared by all scripts: the repository's folder, the distribution's tools, messages and times. This file is sourced,
# not run.
set -euo pipefail

REPOSITORY=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# The user's own Python environments or compilers must not change what is built, so the distribution's come first.
CALLERS_PATH=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
STATE_FOLDER=${XDG_STATE_HOME:-${HOME:-/root}/.local/state}/rekindle
readonly REPOSITORY CALLERS_PATH STATE_FOLDER
export PATH

say() { printf '%s\n' "$*"; }
say_error() { printf '%s\n' "$*" >&2; }

# counted NUMBER NOUN: "1 package", "2 packages".
counted() { if [[ $1 == 1 ]]; then printf '1 %s' "$2"; else printf '%s %ss' "$1" "$2"; fi; }

# in_words WORD…: "a", "a and b", "a, b and c".
in_words() {
    local last=${*: -1} others=${*:1:$#-1}
    printf '%s' "${others// /, }${others:+ and }$last"
}

# fail SENTENCE…: prints an error and exits with status 1.
fail() {
    say_error "$@"
    exit 1
}

# wrong_use SENTENCE…: prints an error and exits with status 2, because the script was called wrongly.
wrong_use() {
    say_error "$@"
    exit 2
}

# print_usage FILE: prints the comment block at the head of a script, which is its help.
print_usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "$1"; }

TIMES=()

# timed NAME COMMAND…: runs the command, records how long it took under NAME, and returns its exit status.
timed() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" || status=$?
    TIMES+=("$name $((SECONDS - begin)) s")
    return "$status"
}

# times_line: the recorded times in one line, "set-up 1 s, build 95 s, tests 12 s".
times_line() {
    local line
    line=$(printf '%s, ' "${TIMES[@]}")
    printf '%s' "${line%, }"
}
