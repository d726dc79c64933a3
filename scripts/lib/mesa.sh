# shellcheck shell=bash
# Mesa's Vulkan drivers: the system's own, and in addition Mesa 25 or newer, which supports more GPUs.
# Sourced after common.sh, packages.sh and debian.sh.

readonly MESA_FOLDER=$REPOSITORY/build/tools/mesa
readonly MESA_SYSTEM_FOLDER=/usr/lib/x86_64-linux-gnu
# Families of GPUs to compile for, by RADV's names.
readonly MESA_SYSTEM_FAMILIES=(navi10 navi21)
readonly MESA_RECENT_FAMILIES=(polaris10 vega10 navi10 navi14 navi21 navi31 gfx1150 gfx1201)
# Replaces the kernel driver, so that RADV finds an AMD GPU that is not present.
readonly MESA_SHIM=libamdgpu_noop_drm_shim.so

# upstream_version DEBIAN_VERSION: "22.3.6" from "22.3.6-1+deb12u2".
upstream_version() {
    local version=${1#*:}
    printf '%s' "${version%%[-+~]*}"
}

# system_mesa: the version of the system's Mesa, or nothing when it is not installed.
system_mesa() { upstream_version "$(dpkg-query -W -f '${Version}' mesa-vulkan-drivers 2>/dev/null)"; }

# fetch_backported_mesa: unpacks the drivers of bookworm-backports into MESA_FOLDER without installing them.
fetch_backported_mesa() {
    local part=$MESA_FOLDER.part package
    say 'Fetching Mesa from bookworm-backports (mesa-vulkan-drivers, libdrm2, libdrm-amdgpu1; 11 MB) into build/tools/mesa; nothing is installed.'
    rm -rf -- "$part"
    mkdir -p "$part/root"
    private_apt "$part" deb bookworm-backports
    (cd "$part" && apt_of "$part" download mesa-vulkan-drivers libdrm2 libdrm-amdgpu1) ||
        fail 'apt-get could not fetch Mesa from bookworm-backports; its message is above.'
    for package in "$part"/*.deb; do
        dpkg-deb -x "$package" "$part/root"
    done
    upstream_version "$(dpkg-deb -f "$part"/mesa-vulkan-drivers_*.deb Version)" >"$part/version"
    remove_private_apt "$part"
    rm -rf -- "$part"/*.deb "$MESA_FOLDER"
    mv -- "$part" "$MESA_FOLDER"
}

# recent_mesa: sets RECENT_MESA_FOLDER and RECENT_MESA_VERSION (25 or newer): the system's own, or a fetched one.
# Status 1 when this distribution has none to fetch.
recent_mesa() {
    RECENT_MESA_VERSION=$(system_mesa)
    RECENT_MESA_FOLDER=$MESA_SYSTEM_FOLDER
    [[ ${RECENT_MESA_VERSION%%.*} -lt 25 ]] || return 0
    [[ $(distribution) == 'debian 12' ]] || return 1
    [[ -s $MESA_FOLDER/version ]] || fetch_backported_mesa
    RECENT_MESA_VERSION=$(<"$MESA_FOLDER/version")
    RECENT_MESA_FOLDER=$MESA_FOLDER/root$MESA_SYSTEM_FOLDER
    [[ ${RECENT_MESA_VERSION%%.*} -ge 25 ]] || fail "bookworm-backports has Mesa $RECENT_MESA_VERSION, older than 25."
}

# fetch_mesa_of SUITE: unpacks the Vulkan drivers of trixie or trixie-backports, with every library that they need down to the C
# library, into build/tools/mesa-SUITE. with_driver starts programs with them.
fetch_mesa_of() {
    local folder=$REPOSITORY/build/tools/mesa-$1 part=$REPOSITORY/build/tools/mesa-$1.part package packages=(mesa-vulkan-drivers)
    [[ $1 != trixie-backports ]] || packages+=(mesa-drm-shim)
    say "Fetching Mesa from $1, with its libraries (61 MB; 310 MB of disk), into build/tools/mesa-$1; nothing is installed."
    rm -rf -- "$part"
    mkdir -p "$part/root"
    private_apt "$part" deb trixie trixie-backports
    apt_of "$part" -y --no-install-recommends --download-only -t "$1" install "${packages[@]}" ||
        fail "apt-get could not fetch Mesa from $1; its message is above."
    for package in "$part"/cache/archives/*.deb; do
        dpkg-deb -x "$package" "$part/root"
    done
    upstream_version "$(dpkg-deb -f "$part"/cache/archives/mesa-vulkan-drivers_*.deb Version)" >"$part/version"
    remove_private_apt "$part"
    rm -rf -- "$folder"
    mv -- "$part" "$folder"
}

# mesa_of SUITE: sets NEWEST_MESA_FOLDER and NEWEST_MESA_VERSION: what Debian 12 can fetch from Debian 13; elsewhere the same as
# recent_mesa. The suite trixie has a compiler that knows more families. In trixie-backports, the CPU driver has matrix units, and
# RADV supports those of gfx1201.
mesa_of() {
    recent_mesa || return 1
    NEWEST_MESA_FOLDER=$RECENT_MESA_FOLDER NEWEST_MESA_VERSION=$RECENT_MESA_VERSION
    [[ $(distribution) == 'debian 12' ]] || return 0
    NEWEST_MESA_FOLDER=$REPOSITORY/build/tools/mesa-$1/root$MESA_SYSTEM_FOLDER
    [[ -s $REPOSITORY/build/tools/mesa-$1/version && ($1 != trixie-backports || -e $NEWEST_MESA_FOLDER/$MESA_SHIM) ]] ||
        fetch_mesa_of "$1"
    NEWEST_MESA_VERSION=$(<"$REPOSITORY/build/tools/mesa-$1/version")
}

# write_icd FOLDER DRIVER FILE: describes FOLDER/libvulkan_DRIVER.so (lvp, radeon) to the Vulkan loader.
write_icd() {
    printf '{"file_format_version": "1.0.0", "ICD": {"api_version": "1.3.0", "library_path": "%s"}}\n' \
        "$1/libvulkan_$2.so" >"$3"
}

# loader_of FOLDER [PRELOAD]: prints the words that start a program with the libraries in FOLDER, one in each line: where it has
# its own C library, that library's loader starts the program. PRELOAD is a library to load first; FOLDER must then have a C library.
loader_of() {
    if [[ $1 != "$MESA_SYSTEM_FOLDER" && -x $1/ld-linux-x86-64.so.2 ]]; then
        printf '%s\n' "$1/ld-linux-x86-64.so.2" --library-path "$1" ${2:+--preload "$2"}
    else
        printf '%s\n' env "LD_LIBRARY_PATH=$1${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
    fi
}

# with_driver FOLDER DRIVER COMMAND…: runs the command with this driver as the only one and without Mesa's shader cache.
# COMMAND is the path of a program. DRIVER_PRELOAD, if set, is the PRELOAD of loader_of.
with_driver() {
    local folder=$1 driver=$2 icd status=0 loader
    shift 2
    mapfile -t loader < <(loader_of "$folder" "${DRIVER_PRELOAD:-}")
    icd=$(mktemp --suffix=.json)
    write_icd "$folder" "$driver" "$icd"
    VK_ICD_FILENAMES=$icd VK_DRIVER_FILES=$icd MESA_SHADER_CACHE_DISABLE=true "${loader[@]}" "$@" || status=$?
    rm -f -- "$icd"
    return "$status"
}

# python_with_driver FOLDER DRIVER TARGET: makes the folder TARGET with a program python3 that starts PYTHON in the same way,
# and sets PYTHON to it.
python_with_driver() {
    local loader
    mapfile -t loader < <(loader_of "$1")
    rm -rf -- "$3"
    mkdir -p "$3"
    write_icd "$1" "$2" "$3/icd.json"
    {
        printf '#!/bin/sh\nexport VK_ICD_FILENAMES=%q VK_DRIVER_FILES=%q\n' "$3/icd.json" "$3/icd.json"
        printf 'exec'
        printf ' %q' "${loader[@]}" "$PYTHON"
        printf ' "$@"\n'
    } >"$3/python3"
    chmod +x "$3/python3"
    PYTHON=$3/python3
}

# with_null_gpu FOLDER FAMILY COMMAND…: the same with RADV for a GPU that is not present. Mesa 25 reads RADV_FORCE_FAMILY; Mesa 26
# needs MESA_SHIM, which supports navi10, navi21, navi31, navi33 and gfx1201.
with_null_gpu() {
    if [[ -e $1/$MESA_SHIM ]]; then
        AMDGPU_GPU_ID=$2 DRIVER_PRELOAD=$1/$MESA_SHIM with_driver "$1" radeon "${@:3}"
    else
        RADV_FORCE_FAMILY=$2 with_driver "$1" radeon "${@:3}"
    fi
}
