# shellcheck shell=bash
# Which of the distribution's packages Rekindle needs, and how they are installed. Sourced after common.sh.

INSTALLED_LIST=$STATE_FOLDER/installed-packages

# Libraries that are linked into the program; their licenses go into the release.
readonly LINKED_LIBRARIES=(libcli11-dev nlohmann-json3-dev libfmt-dev libyaml-cpp-dev zlib1g-dev
    libxxhash-dev libagg-dev libpng-dev libabsl-dev libre2-dev libzstd-dev libsnappy-dev liblz4-dev
    libbrotli-dev libsqlite3-dev)
# Only headers; the libraries themselves are opened at run time where a machine has them.
readonly HEADER_PACKAGES=(libvulkan-dev libvulkan-volk-dev)
# What the GPU tests need: a Vulkan loader, the drivers lavapipe and RADV, and the validation layers.
readonly VULKAN_TEST_PACKAGES=(libvulkan1 mesa-vulkan-drivers vulkan-validationlayers spirv-tools)

# distribution: "debian 12", "ubuntu 22.04", …
distribution() {
    # shellcheck disable=SC1091
    (. /etc/os-release && printf '%s %s' "${ID:-unknown}" "${VERSION_ID:-unstable}")
}

# The C++ compiler's package: Ubuntu 22.04's default g++ is too old.
compiler_package() {
    case $(distribution) in
        'ubuntu 22.04') printf 'g++-12' ;;
        *) printf 'g++' ;;
    esac
}

# packages_for GROUP…: the packages of each group, one per line.
packages_for() {
    local group
    for group in "$@"; do
        case $group in
            build) printf '%s\n' "$(compiler_package)" cmake ninja-build "${LINKED_LIBRARIES[@]}" "${HEADER_PACKAGES[@]}" \
                python3 python3-venv ;; # Python fetches the Slang compiler
            tests) printf '%s\n' libgtest-dev libgmock-dev "${VULKAN_TEST_PACKAGES[@]}" ;;
            python) printf '%s\n' python3 python3-venv ;;
            module) printf '%s\n' python3-dev ;; # the headers for the Python module
            lint) printf '%s\n' clang-format-16 codespell shellcheck ;;
            tidy) printf '%s\n' clang-tidy-16 ;;
            fuzz) printf '%s\n' clang-16 libclang-rt-16-dev ;; # the sanitizers and libFuzzer
            chroot) printf '%s\n' debootstrap ;;
            *) wrong_use "Unknown package group '$group'; the groups are: build, tests, python, module, lint, tidy, fuzz, chroot." ;;
        esac
    done
}

is_installed() { [[ $(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null) == installed ]]; }

# missing_of PACKAGE…: the packages that are not installed.
missing_of() {
    local package
    for package in "$@"; do
        is_installed "$package" || printf '%s\n' "$package"
    done
}

has_candidate() {
    local policy
    policy=$(LC_ALL=C apt-cache policy "$1" 2>/dev/null) && [[ $policy == *'  Candidate: '[!\(]* ]]
}

# without_candidate PACKAGE…: the packages that the system's package lists do not have.
without_candidate() {
    local package
    for package in "$@"; do
        has_candidate "$package" || printf '%s\n' "$package"
    done
}

# as_root COMMAND…: runs the command as root, with sudo if necessary.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        fail "Installing packages needs root, and sudo is not available. Run this once as root: $*"
    fi
}

update_package_lists() {
    say 'Fetching the package lists (apt-get update).'
    as_root apt-get -o DPkg::Lock::Timeout=120 update -qq || fail 'apt-get update failed; its message is above.'
}

# simulated_new_packages PACKAGE…: every package that installing these would add, one per line.
simulated_new_packages() {
    LC_ALL=C apt-get -s -o Debug::NoLocking=1 install --no-install-recommends "$@" | awk '/^Inst / && $3 !~ /^\[/ { print $2 }'
}

# download_and_disk PACKAGE…: "fetches 93.2 MB and uses 412 MB of disk space", with apt's own units.
download_and_disk() {
    LC_ALL=C apt-get --print-uris -o Debug::NoLocking=1 install --no-install-recommends "$@" | awk '
        /^Need to get / { sub(/^Need to get /, ""); sub(/ of archives\.$/, ""); fetched = $0 }
        /^After this operation, / { sub(/^After this operation, /, ""); sub(/ of additional disk space will be used\.$/, ""); disk = $0 }
        END { printf "fetches %s and uses %s of disk space", fetched, disk }'
}

# apt_install PACKAGE…: installs the packages; apt-get's output goes to build/set-up.log.
apt_install() {
    local log=$REPOSITORY/build/set-up.log
    mkdir -p "$REPOSITORY/build"
    say 'Installing; the output of apt-get goes to build/set-up.log.'
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -o DPkg::Lock::Timeout=120 install -y -qq \
        --no-install-recommends "$@" >"$log" 2>&1 || {
        grep -E '^(E|W|Err):' "$log" | tail -20 >&2
        return 1
    }
}

# ask_to_install YES PACKAGE…: names what will be installed and asks on the terminal, unless YES is 1.
ask_to_install() {
    local yes=$1 answer
    shift
    say "Rekindle needs packages of this system ($(distribution)) that are not installed: $*."
    say "Including their dependencies, apt-get $(download_and_disk "$@")."
    say 'No package source is added; ./scripts/uninstall --packages removes the packages again.'
    [[ $yes == 1 ]] && return
    read -r -p 'Install them now? [y/N] ' answer
    [[ $answer == [yY]* ]] || fail 'Nothing was installed.'
}

# install_packages YES PACKAGE…: installs the packages that are missing. YES=1 does not ask.
install_packages() {
    local yes=$1 missing absent new
    shift
    command -v apt-get >/dev/null || fail "This system has no apt-get. ./scripts/set-up supports Debian 12 and Ubuntu 22.04 and 24.04." \
        "On other systems install the equivalents of these packages and use 'cmake --preset release': $*"
    mapfile -t missing < <(missing_of "$@")
    [[ ${#missing[@]} == 0 ]] && return
    [[ $yes == 1 || -t 0 ]] || wrong_use "Packages are missing (${missing[*]}) and there is no terminal to ask on; run it again with --yes."
    mapfile -t absent < <(without_candidate "${missing[@]}")
    if [[ ${#absent[@]} != 0 ]]; then
        update_package_lists
        mapfile -t absent < <(without_candidate "${missing[@]}")
    fi
    [[ ${#absent[@]} == 0 ]] || fail "The package sources of this system ($(distribution)) do not have: ${absent[*]}." \
        "Supported are Debian 12 and Ubuntu 22.04 and 24.04 (with Ubuntu's component 'universe' enabled)."
    ask_to_install "$yes" "${missing[@]}"
    mapfile -t new < <(simulated_new_packages "${missing[@]}")
    if ! apt_install "${missing[@]}"; then
        # Usually the package lists are older than the archive. Fetch them and try once more.
        update_package_lists
        mapfile -t new < <(simulated_new_packages "${missing[@]}")
        apt_install "${missing[@]}" || fail 'apt-get could not install the packages; its complete output is in build/set-up.log.'
    fi
    mkdir -p "$STATE_FOLDER"
    printf '%s\n' "${new[@]}" >>"$INSTALLED_LIST"
    sort -u -o "$INSTALLED_LIST" "$INSTALLED_LIST"
    say "Installed $(counted ${#new[@]} package); the list is in $INSTALLED_LIST."
}
