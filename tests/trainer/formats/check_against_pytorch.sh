#!/bin/bash
# Archives written by Rekindle, loaded with PyTorch: PYTHON=… tests/trainer/formats/check_against_pytorch.sh
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=${BUILD:-$here/../../../build/release}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
REKINDLE_KEEP_FILES=$folder "$build/tests/rekindle_trainer_tests" \
    --gtest_filter=ModelFile.WritesFilesForPyTorch --gtest_brief=1
"${PYTHON:-python3}" "$here/check_torch_archive.py" "$folder"
