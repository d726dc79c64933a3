#!/usr/bin/env bash
# Usage: check_program.sh PROGRAM
#
# Checks that a built rekindle runs on any x86-64 Linux with glibc 2.35 or newer and needs nothing else.
set -euo pipefail
program=$(realpath -- "$1")
repository=$(cd -- "$(dirname -- "$0")/../.." && pwd)
newest_glibc=2.35
failures=0

# expect_none DESCRIPTION FOUND: fails when FOUND is not empty.
expect_none() {
    if [[ -n $2 ]]; then
        printf 'FAILED: %s:\n%s\n' "$1" "$2" >&2
        failures=$((failures + 1))
    else
        printf 'ok: %s\n' "$1"
    fi
}

libraries=$(readelf -d "$program" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
[[ -n $libraries ]] || { echo "FAILED: readelf shows no needed library; is $program dynamically linked?" >&2; exit 1; }
expect_none 'needs only the C library, its parts and its loader' \
    "$(grep -vxE 'lib(c|m|dl|pthread|rt)\.so\.[0-9]+|ld-linux-x86-64\.so\.2' <<<"$libraries" || true)"
expect_none 'has no search path for libraries' "$(readelf -d "$program" | grep -E 'RPATH|RUNPATH' || true)"

symbols=$(readelf --dyn-syms -W "$program" | grep -oE '@GLIBC_[0-9.]+' | sort -uV)
[[ -n $symbols ]] || { echo 'FAILED: no versioned symbol was found' >&2; exit 1; }
newer=$(while read -r symbol; do
    version=${symbol#@GLIBC_}
    [[ $(printf '%s\n' "$version" "$newest_glibc" | sort -V | tail -1) == "$newest_glibc" ]] || printf '%s\n' "$symbol"
done <<<"$symbols")
expect_none "uses no symbol newer than glibc $newest_glibc" "$newer"

expect_none 'contains no path of the build machine' \
    "$(strings -n 6 "$program" | grep -F -e "$repository" -e "${HOME:-/root}/" | head -5 || true)"

folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
expected="rekindle $(<"$repository/VERSION") "
printed=$(cd "$folder" && env -i "$program" --version)
expect_none 'runs in an empty environment' "$([[ $printed == "$expected"* ]] || printf 'printed: %s' "$printed")"
expect_none 'leaves no file behind' "$(ls -A "$folder")"

exit $((failures > 0))
