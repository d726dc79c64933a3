#!/usr/bin/env bash
# Usage: check_installation.sh PYTHON SPIRV_DIR
#
# Checks that `pip install .` installs the device in a fresh virtual environment with the PyTorch of PYTHON, and that
# without PyTorch one sentence says what to do. SPIRV_DIR holds compiled kernels, so that they are not compiled again.
set -euo pipefail
python=$1
export REKINDLE_SPIRV_DIR=$2
repository=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT

"$python" -m venv "$folder/bare"
if "$folder/bare/bin/pip" install "$repository" >"$folder/bare.log" 2>&1; then
    echo 'pip install . succeeded without PyTorch.'
    exit 1
fi
grep -q 'install one first: pip install torch==.* --index-url https://' "$folder/bare.log" || {
    echo 'Without PyTorch, no sentence says what to do:'
    cat "$folder/bare.log"
    exit 1
}

"$python" -m venv "$folder/venv"
"$python" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
    >"$("$folder/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch.pth"
"$folder/venv/bin/pip" install "$repository" >"$folder/pip.log" 2>&1 || {
    tail -60 "$folder/pip.log"
    exit 1
}
cd "$folder"
env -u PYTHONPATH "$folder/venv/bin/python" -c '
import torch
x = torch.ones(3, device="rvk") + 1
assert x.tolist() == [2.0, 2.0, 2.0] and x.device.type == "rvk"
print("installed:", torch.rvk.get_device_name())'
env -u PYTHONPATH "$folder/venv/bin/python" -m torch_rvk
env -u PYTHONPATH "$folder/venv/bin/pip" uninstall --yes --quiet torch-rvk
env -u PYTHONPATH "$folder/venv/bin/python" -c 'import torch; assert not hasattr(torch, "rvk")'
