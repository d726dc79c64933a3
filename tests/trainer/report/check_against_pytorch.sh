#!/bin/sh
# Trains with the program, then lets PyTorch load the run folder: every .pt with weights_only, also mapped, the keys of
# the original's state dict, the optimizer's state, and the program's predictions from a torch.nn.Module of those weights.
#
#   tests/trainer/report/check_against_pytorch.sh [PROGRAM]
#
# PROGRAM is rekindle (default: build/release/bin/rekindle). PYTHON names a Python that has torch and numpy (default:
# python3). Exit status 0: all agree, 1: something does not, 2: the program, torch or numpy is missing.
set -u
here=$(cd "$(dirname "$0")" && pwd)
program=${1:-$here/../../../build/release/bin/rekindle}
python=${PYTHON:-python3}
if [ ! -x "$program" ]; then
    echo "check_against_pytorch: no program $program (build the target rekindle)" >&2
    exit 2
fi
if ! "$python" -c 'import torch, numpy' 2>/dev/null; then
    echo "check_against_pytorch: $python has no torch and numpy (pip install torch numpy, or set PYTHON)" >&2
    exit 2
fi
PYTHONDONTWRITEBYTECODE=1 exec "$python" "$here/check_against_pytorch.py" "$program"
