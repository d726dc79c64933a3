#!/usr/bin/env bash
# Usage: tests/chroot/run.sh [COMMAND…]
#
# Checks that the README's commands work on a Debian 12 that has only git: creates such a system in a folder, clones the
# committed state of this tree into it and runs ./scripts/test and ./scripts/demo there, both a second time, and
# ./scripts/uninstall --packages; with arguments, only that command. This machine's settings for reaching package
# archives (resolver, proxies, certificates, pip's settings) are copied in, its programs and packages are not.
# Needs root and debootstrap. REKINDLE_CHROOT is a folder to use and keep; by default a temporary one is used.
# REKINDLE_DEBIAN_MIRROR is the Debian archive; by default the one that this machine uses, else debootstrap's.
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
source "$REPOSITORY/tests/chroot/system.sh"

enter_namespace "$0" "$@"
shift
[[ -e $ROOT/usr/bin/git ]] || timed debootstrap make_system git
describe_system
mount_system
rm -rf -- "$ROOT/root/rekindle"
git clone --quiet --no-hardlinks "$REPOSITORY" "$ROOT/root/rekindle"
expect_without make cmake ninja g++ cc python3

if [[ $# != 0 ]]; then
    step command inside /root/rekindle "$@"
else
    step test inside /root/rekindle ./scripts/test --yes
    step demo inside /root/rekindle ./scripts/demo --yes
    step 'test again' inside /root/rekindle ./scripts/test
    step 'demo again' inside /root/rekindle ./scripts/demo
    step uninstall inside /root/rekindle ./scripts/uninstall --packages
fi
say "Took: $(times_line)."
