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

readonly suite=bookworm
[[ $(id -u) == 0 ]] || wrong_use 'Creating a chroot needs root.'
command -v debootstrap >/dev/null || wrong_use "debootstrap is missing; './scripts/set-up chroot' installs it."
# The mounts are in a separate namespace and disappear with it, before the folder is removed from outside.
if [[ ${REKINDLE_IN_NAMESPACE:-} != 1 ]]; then
    root=${REKINDLE_CHROOT:-}
    if [[ -z $root ]]; then
        root=$(mktemp -d "${TMPDIR:-/var/tmp}/rekindle-chroot.XXXXXX")
        trap 'rm -rf --one-file-system -- "$root"' EXIT
    fi
    mkdir -p "$root"
    chmod 755 "$root"
    status=0
    REKINDLE_IN_NAMESPACE=1 unshare --mount --pid --fork --kill-child "$0" "$root" "$@" || status=$?
    exit "$status"
fi
root=$1
shift

# debian_mirror: the archive that this machine uses, if it runs Debian; else nothing, and debootstrap takes its own default.
debian_mirror() {
    local mirror
    mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null |
        grep -ohE "https?://[^ ]+/debian/?( |\$)" | head -1 | tr -d ' ') || mirror=''
    mirror=${REKINDLE_DEBIAN_MIRROR:-$mirror}
    printf '%s' "$mirror"
}

# copy_settings FILE_OR_FOLDER…: copies those that exist here to the same path in the chroot.
copy_settings() {
    local path
    for path in "$@"; do
        [[ -e $path ]] || continue
        mkdir -p "$root$(dirname -- "$path")"
        cp -rL --no-preserve=ownership -- "$path" "$root$(dirname -- "$path")/"
    done
}

# local_package_folders: the folders from which this machine's pip reads packages. An index (file://FOLDER/simple)
# refers to files next to it, so its parent folder is used.
local_package_folders() {
    local path
    {
        cat /etc/pip.conf "${HOME:-/root}/.config/pip/pip.conf" "${HOME:-/root}/.pip/pip.conf" 2>/dev/null || true
        env | grep '^PIP_' || true
    } | grep -oE '(file://|[= ])/[^ ]+' | while read -r path; do
        case $path in
            file://*) path=$(dirname -- "${path#file://}") ;;
            =*) path=${path#=} ;;
        esac
        [[ ! -d $path ]] || printf '%s\n' "$path"
    done | sort -u
}

make_system() {
    local mirror
    mirror=$(debian_mirror)
    debootstrap --variant=minbase --include=git "$suite" "$root" ${mirror:+"$mirror"} >"$root.log" 2>&1 || {
        tail -20 "$root.log" >&2
        fail 'debootstrap failed; the end of its output is above.'
    }
    rm -f -- "$root.log"
    copy_settings /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d /usr/local/share/ca-certificates /etc/pip.conf
    if [[ -d ${HOME:-/root}/.config/pip ]]; then
        mkdir -p "$root/root/.config"
        cp -rL -- "${HOME:-/root}/.config/pip" "$root/root/.config/"
    fi
}

mount_system() {
    local folder
    mount --make-rprivate /
    mount -t proc proc "$root/proc"
    mount --rbind /dev "$root/dev"
    while read -r folder; do
        mkdir -p "$root$folder"
        mount --bind -o ro "$folder" "$root$folder"
    done < <(local_package_folders)
}

# inside COMMAND…: runs the command in the clone, with an environment that has only the settings for reaching archives.
inside() {
    local settings=()
    mapfile -t settings < <(env | grep -E '^(PIP_[A-Z_]+|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|(https?|no|HTTPS?|NO)_(proxy|PROXY))=')
    chroot "$root" env -i "${settings[@]}" HOME=/root LANG=C.UTF-8 TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c 'cd /root/rekindle && exec "$@"' - "$@" </dev/null
}

step() {
    local name=$1
    shift
    say "== in the chroot: $*"
    timed "$name" "$@" || fail "'$name' failed in a bare Debian 12."
}

[[ -e $root/usr/bin/git ]] || timed debootstrap make_system
say "A bare $suite with git: $(chroot "$root" dpkg-query -f '.\n' -W | wc -l) packages, $(du -sxh "$root" | cut -f1)B."
mount_system
rm -rf -- "$root/root/rekindle"
git clone --quiet --no-hardlinks "$REPOSITORY" "$root/root/rekindle"
for tool in make cmake ninja g++ cc python3; do
    ! chroot "$root" env -i PATH=/usr/bin:/bin sh -c "command -v $tool" >/dev/null || [[ -n ${REKINDLE_CHROOT:-} ]] ||
        fail "The bare system already has $tool, so the test would prove nothing."
done

if [[ $# != 0 ]]; then
    step command inside "$@"
else
    step test inside ./scripts/test --yes
    step demo inside ./scripts/demo --yes
    step 'test again' inside ./scripts/test
    step 'demo again' inside ./scripts/demo
    step uninstall inside ./scripts/uninstall --packages
fi
say "Took: $(times_line)."
