# shellcheck shell=bash
# Training frameworks and other people's scripts on the device rvk. Sourced after common.sh, python.sh and pytorch.sh.

# has_frameworks PYTHON: whether this interpreter has the packages of tests/frameworks/requirements.txt in these versions.
has_frameworks() {
    "$1" - "$REPOSITORY/tests/frameworks/requirements.txt" 2>/dev/null <<'PYTHON'
import sys
from importlib.metadata import version
for line in open(sys.argv[1]):
    name, exact, required = line.partition("==")
    if exact and version(name).partition("+")[0] != required.strip():
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
    say "Fetching Lightning, Accelerate, transformers, PEFT, diffusers, timm, Ultralytics and torchvision (about 400 MB; uses about" \
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

# framework_script FILE ARGUMENT…: runs a script of tests/frameworks on build/pytorch.
framework_script() {
    local file=$1
    shift
    PYTHONPATH=$REPOSITORY/build/pytorch/python "$PYTHON" "$REPOSITORY/tests/frameworks/$file" "$@"
}
