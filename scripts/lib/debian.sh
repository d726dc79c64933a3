# shellcheck shell=bash
# Access to Debian's archive without the system's package lists: nothing is installed, and apt-get's state does not change.
# Sourced after common.sh.

# archive_of_system: the Debian archive that this machine gets packages from.
archive_of_system() {
    { cat /etc/apt/sources.list /etc/apt/sources.list.d/* 2>/dev/null || true; } |
        awk 'match($0, /https?:\/\/[^ ]+\/debian\/?( |$)/) { print substr($0, RSTART, RLENGTH); exit }' | tr -d ' '
}

# apt_of FOLDER ARGUMENT…: runs apt-get with only the package lists of FOLDER; the system's are not changed.
apt_of() {
    local folder=$1
    shift
    apt-get -qq -o Dir::Etc::sourcelist="$folder/sources.list" -o Dir::Etc::sourceparts=/dev/null \
        -o Dir::State::lists="$folder/lists" -o Dir::State::status=/dev/null -o Dir::Cache="$folder/cache" \
        -o APT::Sandbox::User= -o Debug::NoLocking=1 "$@"
}

# private_apt FOLDER deb|deb-src SUITE…: prepares FOLDER for apt_of, with the package lists of these suites.
private_apt() {
    local folder=$1 type=$2 archive suite
    shift 2
    archive=$(archive_of_system)
    [[ -n $archive ]] || fail "No Debian archive is configured on this machine, so packages of $1 cannot be fetched."
    mkdir -p "$folder/lists/partial" "$folder/cache/archives/partial"
    for suite in "$@"; do
        printf '%s [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] %s %s main\n' "$type" "$archive" "$suite"
    done >"$folder/sources.list"
    apt_of "$folder" update || fail "apt-get could not fetch the package list of $1; its message is above."
}

# remove_private_apt FOLDER: removes what private_apt made there.
remove_private_apt() { rm -rf -- "$1/lists" "$1/cache" "$1/sources.list"; }
