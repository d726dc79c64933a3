#!/usr/bin/env bash
# Usage: tests/chroot/wheel.sh [WHEEL]
#
# Checks that the wheel of PyTorch's device works where nothing was built: creates a Debian 12 that has only python3-venv,
# a Vulkan loader and Mesa's drivers in a folder, and there, for the oldest, the newest and a version of PyTorch between
# them (or those of PYTORCH_VERSIONS), installs PyTorch and the wheel with pip, runs `python -m torch_rvk` and the README's
# lines, which must train. WHEEL is by default the newest dist/torch_rvk-*.whl for all versions.
# A version of PyTorch that is in REKINDLE_TORCHES (scripts/build-wheels --help) is mounted read-only; pip fetches the others
# (0.2 GB as a CPU build, 3 GB where only PyPI can be reached).
# Needs root and debootstrap. REKINDLE_CHROOT is a folder to use and keep; by default a temporary one is used.
source "$(dirname -- "${BASH_SOURCE[0]}")/../../scripts/lib/common.sh"
source "$REPOSITORY/scripts/lib/torches.sh"
source "$REPOSITORY/tests/chroot/system.sh"

enter_namespace "$0" "$@"
shift
wheel=${1:-$(find "$REPOSITORY/dist" -name 'torch_rvk-*.whl' ! -name '*+torch*' -printf '%T@ %p\n' 2>/dev/null | sort -n | tail -1 | cut -d' ' -f2-)}
[[ -f $wheel ]] || wrong_use "There is no wheel '$wheel'; './scripts/build-wheels torch' makes one."
mapfile -t minors < <(if [[ -n ${PYTORCH_VERSIONS:-} ]]; then tested_torches; else tested_torches | sed -n '1p;3p;$p'; fi)

# packages_of MINOR: the folder with this PyTorch in REKINDLE_TORCHES, without links; nothing if it is not there.
packages_of() {
    ! has_torch "$1" || "$(torch_environment "$1")/bin/python3" -c 'import importlib.util as util, os
print(os.path.realpath(os.path.dirname(os.path.dirname(util.find_spec("torch").origin))))'
}

# try_version MINOR FOLDER: installs into a new environment and runs the check and the README's lines. FOLDER has PyTorch and
# transformers; if it is empty, pip fetches them.
try_version() {
    local environment=/root/torch$1
    rm -rf -- "$ROOT$environment"
    inside /root python3 -m venv "$environment" || return
    if [[ -n $2 ]]; then
        printf '%s\n' "$2" >"$ROOT$environment/lib/python3.11/site-packages/torch-of-test.pth"
    else
        inside /root "$environment/bin/pip" install --quiet --retries 1 "torch==$1.*" transformers \
            --extra-index-url https://download.pytorch.org/whl/cpu || return
    fi
    inside /root "$environment/bin/pip" install --quiet "/root/${wheel##*/}" &&
        inside /root "$environment/bin/python3" -m torch_rvk &&
        inside /root "$environment/bin/python3" /root/readme.py
}

packages=()
for minor in "${minors[@]}"; do packages+=("$(packages_of "$minor")"); done
[[ -e $ROOT/usr/bin/python3 ]] || timed debootstrap make_system python3-venv,libvulkan1,mesa-vulkan-drivers
describe_system
mount_system
for folder in "${packages[@]}"; do [[ -z $folder ]] || mount_read_only "$folder"; done
expect_without make cmake ninja g++ cc git
cp -- "$wheel" "$ROOT/root/"
# The README's lines, and a check that the loss decreased.
{
    # shellcheck disable=SC2016 # a Markdown fence
    sed -n '/^## Train with PyTorch$/,/^## Train on/{/^```python$/,/^```$/{/^```/d;p;};}' "$REPOSITORY/README.md" | sed '1a torch.manual_seed(1)'
    printf 'first = first if step else loss.item()\n' | sed 's/^/    /'
    printf 'assert loss.item() < first / 2, "the loss did not decrease"\n'
} >"$ROOT/root/readme.py"
for index in "${!minors[@]}"; do
    step "PyTorch ${minors[index]}" try_version "${minors[index]}" "${packages[index]}"
done
say "Took: $(times_line)."
