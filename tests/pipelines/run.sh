#!/usr/bin/env bash
# Usage: tests/pipelines/run.sh TOOL [--recent]
#
# The pipeline matrix: TOOL (rekindle_kernel_tool) creates every kernel and audit case with the drivers of the system's
# Mesa: lavapipe, and RADV for cards that are not there, under the validation layers. --recent: with Mesa 25 or newer
# for more families, too. Before, the pages in docs/ are compared with the registry and the modules go through
# spirv-val. Prints the counts; the last line is their sum. Exit status 1: something failed; 77: no driver is here.
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
source "$REPOSITORY/scripts/lib/packages.sh"
source "$REPOSITORY/scripts/lib/mesa.sh"

tool=$(realpath -- "$1")
recent=${2:-}
cache=$(mktemp -d)
trap 'rm -rf -- "$cache"' EXIT
# What this tree compiled before must not be taken from a cache.
export REKINDLE_CACHE_DIR=$cache
unset REKINDLE_VISIBLE_DEVICES
drivers=0 pipelines=0 failed=0 broken=0

# validation_errors: what the validation layers say, from their output. Those of Debian 12 add up the shared memory of
# all entry points of a module, which are never in one pipeline (06530); the ISA audit checks each one's own.
validation_errors() { grep -E '^(VUID|UNASSIGNED)-.*(ERROR|WARN)' | grep -v '^VUID-RuntimeSpirv-Workgroup-06530' || true; }

# one NAME COMMAND…: one driver's line, added to the sums.
one() {
    local name=$1 output status=0 line errors
    shift
    rm -rf -- "${cache:?}"/*
    output=$("$@" "$tool" matrix 2>&1) || status=$?
    line=$(tail -1 <<<"$output")
    drivers=$((drivers + 1))
    if [[ $line =~ ([0-9]+)\ pipelines,\ ([0-9]+)\ failed ]]; then
        pipelines=$((pipelines + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    fi
    errors=$(validation_errors <<<"$output")
    if [[ $status != 0 || -n $errors ]]; then
        broken=$((broken + 1))
        say "$output"
    fi
    say "$name: $line"
}

# all_of FOLDER VERSION FAMILY…
all_of() {
    local folder=$1 version=$2 family
    shift 2
    if [[ -e $folder/libvulkan_lvp.so ]]; then
        one "lavapipe $version" with_driver "$folder" lvp
    else
        say "skipped: lavapipe $version: there is no $folder/libvulkan_lvp.so"
    fi
    for family in "$@"; do
        if [[ -e $folder/libvulkan_radeon.so ]]; then
            one "RADV $version $family" with_null_card "$folder" "$family"
        else
            say "skipped: RADV $version $family: there is no $folder/libvulkan_radeon.so"
        fi
    done
}

# validate: spirv-val on every module. That of Debian 12 does not know cooperative matrices.
validate() {
    local module output valid=0
    if ! command -v spirv-val >/dev/null; then
        say 'skipped: spirv-val: it is not installed'
        return
    fi
    mkdir "$cache/modules"
    "$tool" modules "$cache/modules"
    for module in "$cache"/modules/*.spv; do
        if output=$(spirv-val --target-env vulkan1.2 --scalar-block-layout "$module" 2>&1); then
            valid=$((valid + 1))
        elif [[ $output == *'Invalid capability operand: 6022'* ]]; then
            say "skipped: spirv-val of $(basename -- "$module"): it does not know cooperative matrices"
        else
            say "$(basename -- "$module"): $output"
            broken=$((broken + 1))
        fi
    done
    say "spirv-val: $valid modules are valid"
}

# check_pages: docs/kernels.md and docs/isa.md are of this registry.
check_pages() {
    local row lacking=0
    if ! "$tool" docs | cmp -s - "$REPOSITORY/docs/kernels.md"; then
        say 'docs/kernels.md is not what the registry gives: run ./scripts/isa-audit'
        broken=$((broken + 1))
    fi
    while IFS= read -r row; do
        grep -qF -- "$row" "$REPOSITORY/docs/isa.md" || lacking=$((lacking + 1))
    done < <("$tool" list | awk -F '\t' '{ print "| " $2 " | " $3 " |" }')
    if [[ $lacking != 0 ]]; then
        say "docs/isa.md lacks $lacking kernels and cases of the registry: run ./scripts/isa-audit"
        broken=$((broken + 1))
    fi
}

check_pages
validate
if [[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]]; then
    export VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
else
    say 'skipped: the validation layers are not installed'
fi
all_of "$MESA_SYSTEM_FOLDER" "$(system_mesa)" "${MESA_SYSTEM_FAMILIES[@]}"
unset VK_INSTANCE_LAYERS
if [[ $recent == --recent ]]; then
    if recent_mesa; then
        all_of "$RECENT_MESA_FOLDER" "$RECENT_MESA_VERSION" "${MESA_RECENT_FAMILIES[@]}"
    else
        say "skipped: Mesa 25: this distribution ($(distribution)) has none to fetch"
    fi
fi
[[ $drivers != 0 ]] || exit 77
say "$pipelines pipelines with $drivers drivers, $failed failed; $broken drivers, modules or pages had failures"
[[ $broken == 0 ]]
