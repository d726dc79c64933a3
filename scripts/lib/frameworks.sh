# shellcheck shell=bash
# Training frameworks and other people's scripts on the device rvk. Sourced after common.sh, build.sh, python.sh, pytorch.sh
# and torches.sh.

# has_frameworks PYTHON: whether this interpreter has PyTorch, a torchvision that fits it, and the other packages of
# tests/frameworks/requirements.txt in these versions.
has_frameworks() {
    "$1" - "$REPOSITORY/tests/frameworks/requirements.txt" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
for line in open(sys.argv[1]):
    name, exact, required = line.partition("==")
    if exact and name != "torchvision" and version(name).partition("+")[0] != required.strip():
        sys.exit(1)
import torch, torchvision
PYTHON
}

# python_for_frameworks: sets PYTHON to an interpreter with PyTorch and the frameworks: FRAMEWORKS_PYTHON, or that of
# build/python-frameworks, which is created if needed. The wheel of torchvision must fit the CPU build of PyTorch.
python_for_frameworks() {
    local folder=$REPOSITORY/build/python-frameworks base
    PYTHON=${FRAMEWORKS_PYTHON:-$folder/bin/python3}
    ! has_frameworks "$PYTHON" || return 0
    [[ -z ${FRAMEWORKS_PYTHON:-} ]] || fail "$FRAMEWORKS_PYTHON does not have the packages of tests/frameworks/requirements.txt."
    python_with_torch
    base=$PYTHON
    PYTHON=$folder/bin/python3
    say "Fetching Lightning, Accelerate, transformers, PEFT, diffusers, timm, Ultralytics and torchvision (about 420 MB; uses about" \
        "1.2 GB of disk space) into ${folder#"$REPOSITORY"/}."
    rm -rf -- "$folder"
    "$base" -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$base" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
        >"$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-base.pth"
    "$PYTHON" -m pip install --quiet --extra-index-url https://download.pytorch.org/whl/cpu \
        --constraint <("$base" -c 'import torch; print(f"torch=={torch.__version__}")') \
        -r "$REPOSITORY/tests/frameworks/requirements.txt" ||
        fail 'pip could not install the frameworks; its message is above.'
    has_frameworks "$PYTHON" || fail "$PYTHON cannot import torchvision; its wheel does not fit this PyTorch."
}

# device_for_frameworks: sets PYTHON to that interpreter and DEVICE_BUILD to a build tree of the device for its PyTorch.
device_for_frameworks() {
    local minor
    if [[ -z ${FRAMEWORKS_PYTHON:-} ]]; then
        DEVICE_BUILD=$REPOSITORY/build/pytorch
        python_for_device
        build_device
        python_for_frameworks
    else
        python_for_frameworks
        minor=$("$PYTHON" -c 'from importlib.metadata import version; print(*version("torch").split(".")[:2], sep=".")')
        DEVICE_BUILD=$(torch_build_folder "$minor")
        build_for_torch "$minor" torch_rvk
    fi
}

# framework_script FILE ARGUMENT…: runs a script of tests/frameworks on the device of DEVICE_BUILD.
framework_script() {
    local file=$1
    shift
    PYTHONPATH=$DEVICE_BUILD/python "$PYTHON" "$REPOSITORY/tests/frameworks/$file" "$@"
}
