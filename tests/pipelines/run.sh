#!/usr/bin/env bash
# Usage: tests/pipelines/run.sh TOOL [--pages]
#
# Compares docs/reference/kernels.md and docs/reference/isa.tsv with the registry, and runs spirv-val on the modules and on
# those that drivers receive for each kernel and audit case.
# Then, unless --pages is given, runs the pipeline matrix: TOOL (rekindle_kernel_tool) creates every kernel and audit
# case with the drivers of the system's Mesa (lavapipe, and RADV for GPUs that are not present; once under the
# validation layers) and with those of Mesa 25 or newer, for more GPU families. It takes minutes: each kernel of a
# population takes seconds. Prints the counts; the last line is their sum. Exit status 1: something failed; 77: there is
# no driver.
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
source "$REPOSITORY/scripts/lib/packages.sh"
source "$REPOSITORY/scripts/lib/debian.sh"
source "$REPOSITORY/scripts/lib/mesa.sh"

tool=$(realpath -- "$1")
cache=$(mktemp -d)
trap 'rm -rf -- "$cache"' EXIT
mkdir "$cache/modules" "$cache/specialized" "$cache/outputs"
unset REKINDLE_VISIBLE_DEVICES VK_INSTANCE_LAYERS
drivers=0 pipelines=0 failed=0 broken=0

# validation_errors: filters the validation layers' messages. Debian 12's layers add up the shared memory of all entry
# points of a module, which are never in one pipeline (06530); the ISA audit checks each entry point's own.
validation_errors() { grep -E '^(VUID|UNASSIGNED)-.*(ERROR|WARN)' | grep -v '^VUID-RuntimeSpirv-Workgroup-06530' || true; }

# start NAME COMMAND…: runs one driver's matrix in the background, as many at the same time as there are CPU cores.
start() {
    local output
    drivers=$((drivers + 1))
    output=$(printf '%s/outputs/%02d' "$cache" "$drivers")
    [[ $drivers -le $(nproc) ]] || wait -n || true
    {
        printf '%s\n' "$1"
        # A fresh cache, so that every pipeline is compiled.
        if REKINDLE_CACHE_DIR=$output.cache "${@:2}" "$tool" matrix; then echo 'status 0'; else echo "status $?"; fi
    } >"$output" 2>&1 &
}

# judge OUTPUT: adds a driver's line to the sums; prints its whole output if something is wrong.
judge() {
    local name line errors
    name=$(head -1 "$1")
    line=$(grep -E '[0-9]+ pipelines, [0-9]+ failed' "$1" || echo 'did not finish')
    if [[ $line =~ ([0-9]+)\ pipelines,\ ([0-9]+)\ failed ]]; then
        pipelines=$((pipelines + BASH_REMATCH[1]))
        failed=$((failed + BASH_REMATCH[2]))
    fi
    errors=$(validation_errors <"$1")
    if [[ $(tail -1 "$1") != 'status 0' || -n $errors ]]; then
        broken=$((broken + 1))
        cat "$1"
    fi
    say "$name: $line"
}

# all_of FOLDER VERSION FAMILY…
all_of() {
    local folder=$1 version=$2 family
    shift 2
    if [[ -e $folder/libvulkan_lvp.so ]]; then
        start "lavapipe $version" with_driver "$folder" lvp
    else
        say "skipped: lavapipe $version: there is no $folder/libvulkan_lvp.so"
    fi
    for family in "$@"; do
        if [[ -e $folder/libvulkan_radeon.so ]]; then
            start "RADV $version $family" with_null_gpu "$folder" "$family"
        else
            say "skipped: RADV $version $family: there is no $folder/libvulkan_radeon.so"
        fi
    done
}

# validate_one MODULE: runs spirv-val; prints "valid", "skipped", or the module's name and the error.
validate_one() {
    local output
    if output=$(spirv-val --target-env vulkan1.2 --scalar-block-layout "$1" 2>&1); then
        echo valid
    elif [[ $output == *'Invalid capability operand: 6022'* ]]; then
        echo skipped
    else
        echo "${1##*/}: $output"
    fi
}
export -f validate_one

# validate: runs spirv-val on every module and on every specialized one. Debian 12's version does not know cooperative
# matrices.
validate() {
    local kind results wrong
    if ! command -v spirv-val >/dev/null; then
        say 'skipped: spirv-val: it is not installed'
        return
    fi
    for kind in modules specialized; do
        "$tool" "$kind" "$cache/$kind"
        # shellcheck disable=SC2016
        results=$(find "$cache/$kind" -name '*.spv' -print0 |
            xargs -0 -P "$(nproc)" -n 1 bash -c 'validate_one "$1"' validate_one)
        wrong=$(grep -v -x -e valid -e skipped <<<"$results" || true)
        [[ -z $wrong ]] || { say "$wrong"; broken=$((broken + 1)); }
        say "spirv-val: $kind: $(grep -c -x valid <<<"$results" || true) are valid; skipped:" \
            "$(grep -c -x skipped <<<"$results" || true) (it does not know cooperative matrices)"
    done
}

# check_pages: checks that docs/reference/kernels.md and docs/reference/isa.tsv match the registry.
check_pages() {
    local row lacking=0
    if ! "$tool" docs | cmp -s - "$REPOSITORY/docs/reference/kernels.md"; then
        say 'docs/reference/kernels.md does not match the registry: run ./scripts/isa-audit'
        broken=$((broken + 1))
    fi
    while IFS= read -r row; do
        grep -qF -- "$row" "$REPOSITORY/docs/reference/isa.tsv" || lacking=$((lacking + 1))
    done < <("$tool" list | cut -f 1-4 | sed 's/$/\t/')
    if [[ $lacking != 0 ]]; then
        say "docs/reference/isa.tsv lacks $lacking kernels and cases of the registry, or their code has changed since: run ./scripts/isa-audit"
        broken=$((broken + 1))
    fi
}

check_pages
validate
if [[ ${2:-} == --pages ]]; then
    exit $((broken > 0))
fi
all_of "$MESA_SYSTEM_FOLDER" "$(system_mesa)" "${MESA_SYSTEM_FAMILIES[@]}"
# The layers are slower than the compiler, so they run only once.
if [[ -e /usr/share/vulkan/explicit_layer.d/VkLayer_khronos_validation.json ]]; then
    start "RADV $(system_mesa) navi10 under the validation layers" with_null_gpu "$MESA_SYSTEM_FOLDER" navi10 \
        env VK_INSTANCE_LAYERS=VK_LAYER_KHRONOS_validation
else
    say 'skipped: the validation layers are not installed'
fi
if recent_mesa; then
    all_of "$RECENT_MESA_FOLDER" "$RECENT_MESA_VERSION" "${MESA_RECENT_FAMILIES[@]}"
else
    say "skipped: Mesa 25: this distribution ($(distribution)) has none to fetch"
fi
[[ $drivers != 0 ]] || exit 77
wait
for output in "$cache"/outputs/[0-9][0-9]; do
    judge "$output"
done
say "$pipelines pipelines with $drivers drivers, $failed failed; $broken drivers, modules or pages had failures"
[[ $broken == 0 ]]
