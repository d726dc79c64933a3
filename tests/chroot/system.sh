# shellcheck shell=bash
# A bare Debian 12 in a folder, for tests. Sourced after common.sh. This machine's settings for reaching package archives
# (resolver, proxies, certificates, pip's settings) are copied in, its programs and packages are not.

readonly suite=bookworm

# enter_namespace SCRIPT ARGUMENT…: starts the script again in its own namespace of mounts, with the folder of the system
# as the first argument, and ends with its exit status: the mounts disappear before the folder is removed from outside.
# In that namespace it sets ROOT to the folder. REKINDLE_CHROOT is a folder to use and keep.
enter_namespace() {
    local script=$1 status=0
    shift
    if [[ ${REKINDLE_IN_NAMESPACE:-} == 1 ]]; then
        ROOT=$1
        return
    fi
    [[ $(id -u) == 0 ]] || wrong_use 'Creating a chroot needs root.'
    command -v debootstrap >/dev/null || wrong_use "debootstrap is missing; './scripts/set-up chroot' installs it."
    ROOT=${REKINDLE_CHROOT:-}
    if [[ -z $ROOT ]]; then
        ROOT=$(mktemp -d "${TMPDIR:-/var/tmp}/rekindle-chroot.XXXXXX")
        trap 'rm -rf --one-file-system -- "$ROOT"' EXIT
    fi
    mkdir -p "$ROOT"
    chmod 755 "$ROOT"
    REKINDLE_IN_NAMESPACE=1 unshare --mount --pid --fork --kill-child "$script" "$ROOT" "$@" || status=$?
    exit "$status"
}

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
        mkdir -p "$ROOT$(dirname -- "$path")"
        cp -rL --no-preserve=ownership -- "$path" "$ROOT$(dirname -- "$path")/"
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

# make_system PACKAGE: a minimal system with these packages, separated by commas.
make_system() {
    local mirror
    mirror=$(debian_mirror)
    debootstrap --variant=minbase --include="$1" "$suite" "$ROOT" ${mirror:+"$mirror"} >"$ROOT.log" 2>&1 || {
        tail -20 "$ROOT.log" >&2
        fail 'debootstrap failed; the end of its output is above.'
    }
    rm -f -- "$ROOT.log"
    copy_settings /etc/resolv.conf /etc/hosts /etc/apt/apt.conf.d /usr/local/share/ca-certificates /etc/pip.conf \
        /etc/ssl/certs/ca-certificates.crt
    if [[ -d ${HOME:-/root}/.config/pip ]]; then
        mkdir -p "$ROOT/root/.config"
        cp -rL -- "${HOME:-/root}/.config/pip" "$ROOT/root/.config/"
    fi
}

# mount_read_only FOLDER…: shows these folders of this machine at the same paths.
mount_read_only() {
    local folder
    for folder in "$@"; do
        mkdir -p "$ROOT$folder"
        mount --bind -o ro "$folder" "$ROOT$folder"
    done
}

# mount_system: /proc, /dev, and the folders from which this machine's pip reads packages.
mount_system() {
    local folders
    mount --make-rprivate /
    mount -t proc proc "$ROOT/proc"
    mount --rbind /dev "$ROOT/dev"
    mapfile -t folders < <(local_package_folders)
    mount_read_only "${folders[@]}"
}

# inside FOLDER COMMAND…: runs the command there, with an environment that has only the settings for reaching archives.
inside() {
    local settings=()
    mapfile -t settings < <(env | grep -E '^(PIP_[A-Z_]+|SSL_CERT_FILE|SSL_CERT_DIR|REQUESTS_CA_BUNDLE|(https?|no|HTTPS?|NO)_(proxy|PROXY))=')
    # shellcheck disable=SC2016 # the shell in the chroot expands it
    chroot "$ROOT" env -i "${settings[@]}" HOME=/root LANG=C.UTF-8 TERM=dumb \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin \
        bash -c 'cd "$1" && exec "${@:2}"' - "$@" </dev/null
}

# describe_system: its number of packages and its size.
describe_system() {
    say "A bare $suite: $(chroot "$ROOT" dpkg-query -f '.\n' -W | wc -l) packages, $(du -sxh "$ROOT" | cut -f1)B."
}

# expect_without TOOL…: fails if the system has one of these programs, which would make the test prove nothing.
expect_without() {
    local tool
    for tool in "$@"; do
        ! chroot "$ROOT" env -i PATH=/usr/bin:/bin sh -c "command -v $tool" >/dev/null || [[ -n ${REKINDLE_CHROOT:-} ]] ||
            fail "The bare system already has $tool, so the test would prove nothing."
    done
}

step() {
    local name=$1
    shift
    say "== in the chroot: $*"
    timed "$name" "$@" || fail "'$name' failed in a bare Debian 12."
}
