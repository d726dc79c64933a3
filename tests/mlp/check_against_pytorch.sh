#!/bin/sh
# Compares the engine with PyTorch, live: the committed golden files, every gradient at weights from steps 0, 1, 10 and
# 100 of a float64 run, and the distance from float64 after 100 steps over 16 seeds.
#
#   tests/mlp/check_against_pytorch.sh [TOOL [--device gpu:N]]
#
# TOOL is rekindle_mlp_tool (default: build/release/tests/rekindle_mlp_tool; the target rekindle_mlp_tool builds it). The
# engine runs on the CPU, or on the GPU that --device names.
# PYTHON names a Python with torch and numpy (default: python3). Exit status 0: everything agrees, 1: something does not,
# 2: the tool, torch or numpy is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
tool=${1:-$here/../../build/release/tests/rekindle_mlp_tool}
[ $# -gt 0 ] && shift
python=${PYTHON:-python3}
if [ ! -x "$tool" ]; then
    echo "check_against_pytorch: no program $tool (build the target rekindle_mlp_tool)" >&2
    exit 2
fi
if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
    echo "check_against_pytorch: $python has no torch and numpy (pip install torch numpy, or set PYTHON)" >&2
    exit 2
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_against_pytorch.py" "$tool" "$@"
