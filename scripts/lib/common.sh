# shellcheck shell=bash
# What every script shares: the repository's folder, the distribution's tools, messages and times.
# Sourced, never run.
set -euo pipefail

REPOSITORY=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
# A person's own Python environments or compilers must not change what is built: the distribution's come first.
CALLERS_PATH=$PATH
PATH=/usr/sbin:/usr/bin:/sbin:/bin:$PATH
STATE_FOLDER=${XDG_STATE_HOME:-${HOME:-/root}/.local/state}/rekindle
readonly REPOSITORY CALLERS_PATH STATE_FOLDER
export PATH

say() { printf '%s\n' "$*"; }
complain() { printf '%s\n' "$*" >&2; }

# in_words WORD…: "a", "a and b", "a, b and c".
in_words() {
    local last=${*: -1} others=${*:1:$#-1}
    printf '%s' "${others// /, }${others:+ and }$last"
}

# fail SENTENCE…: the job failed.
fail() {
    complain "$@"
    exit 1
}

# wrong_use SENTENCE…: the caller must change something.
wrong_use() {
    complain "$@"
    exit 2
}

# print_usage FILE: the comment block at the head of a script, which is its help.
print_usage() { sed -n '2,/^[^#]/{s/^# \{0,1\}//p;}' "$1"; }

TIMES=()

# timed NAME COMMAND…: runs the command, notes how long it took under NAME, keeps its exit status.
timed() {
    local name=$1 begin=$SECONDS status=0
    shift
    "$@" || status=$?
    TIMES+=("$name $((SECONDS - begin)) s")
    return "$status"
}

# One line: "set-up 1 s, build 95 s, tests 12 s".
times_line() {
    local line
    line=$(printf '%s, ' "${TIMES[@]}")
    printf '%s' "${line%, }"
}
