#!/bin/sh
# Runs the doctor's probes with a real PyTorch: each of them must pass or say why it does not apply here.
#
#   tests/doctor/probes/check_against_pytorch.sh [TOOL]
#
# TOOL is rekindle_doctor_probe_child (default: build/release/tests/rekindle_doctor_probe_child). PYTHON names a Python
# that has torch (default: python3). Exit status 0: all correct, 1: something is wrong, 2: the tool or torch is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tool=${1:-$here/../../../build/release/tests/rekindle_doctor_probe_child}
python=${PYTHON:-python3}
if [ ! -x "$tool" ]; then
    echo "check_against_pytorch: there is no program $tool (build the target rekindle_doctor_probe_child)" >&2
    exit 2
fi
if ! "$python" -c 'import torch' 2>/dev/null; then
    echo "check_against_pytorch: $python has no torch (pip install torch, or set PYTHON)" >&2
    exit 2
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_against_pytorch.py" "$tool"
