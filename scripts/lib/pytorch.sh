# shellcheck shell=bash
# PyTorch's device rvk: its Python, its build, its tests. Sourced after common.sh, build.sh, python.sh.

# python_with_torch_and NAME SIZE PACKAGE…: sets PYTHON to the interpreter of build/NAME, a separate environment that has
# the PyTorch of python_with_torch and these packages, whose modules have the names of the packages.
python_with_torch_and() {
    local folder=$REPOSITORY/build/$1 size=$2 base modules
    shift 2
    modules=$(IFS=, && printf '%s' "$*")
    python_with_torch
    base=$PYTHON
    PYTHON=$folder/bin/python3
    # A copied or moved environment contains paths that no longer exist.
    if grep -qF "$folder" "$folder/bin/activate" 2>/dev/null && "$PYTHON" -c "import torch, $modules" 2>/dev/null; then
        return
    fi
    say "Fetching the packages $(in_words "$@") for the tests (about $size) into ${folder#"$REPOSITORY"/}."
    rm -rf -- "$folder"
    "$base" -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$base" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
        >"$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-base.pth"
    "$PYTHON" -m pip install --quiet "$@" ||
        fail 'pip could not install the packages for the tests; its message is above.'
}

# python_for_device: sets PYTHON for the device's own tests.
python_for_device() { python_with_torch_and python-device '25 MB' expecttest transformers; }

# python_for_upstream: sets PYTHON for PyTorch's own tests.
python_for_upstream() { python_with_torch_and python-upstream '40 MB' numpy expecttest hypothesis pytest psutil scipy; }

# build_device: builds libtorch_rvk.so and the C++ test program for the PyTorch of PYTHON; the package is build/pytorch/python.
build_device() {
    configure pytorch "-DREKINDLE_PYTHON=$PYTHON" -DREKINDLE_TORCH=
    build pytorch torch_rvk torch_rvk_cpp_test
}

# run_device_tests COUNTER FOLDER…: runs the unittest modules in these folders of tests/pytorch in poison mode and calls
# COUNTER PASSED FAILED SKIPPED.
run_device_tests() {
    local counter=$1 counts
    shift
    counts=$(cd "$REPOSITORY/tests/pytorch" && PYTHONPATH=$REPOSITORY/build/pytorch/python REKINDLE_POISON=1 \
        "$PYTHON" "$REPOSITORY/scripts/lib/run_unittests.py" "$@" | tee /dev/stderr | tail -1)
    read -ra counts <<<"$counts"
    [[ ${#counts[@]} == 3 ]] || fail "The tests could not be run: ${counts[*]}"
    "$counter" "${counts[@]}"
}

# device_script FILE ARGUMENT…: runs a script of tests/pytorch on the device in poison mode.
device_script() {
    (cd "$REPOSITORY/tests/pytorch" && PYTHONPATH=$REPOSITORY/build/pytorch/python REKINDLE_POISON=1 "$PYTHON" "$@")
}

# compile_for_newest: compiles against the newest PyTorch that pip finds. It is not run, because importing its wheel needs
# gigabytes of CUDA libraries.
compile_for_newest() {
    local folder=$REPOSITORY/build/torch-newest
    python_environment
    say 'Fetching the newest PyTorch (500 to 900 MB; uses about 1.5 GB of disk space) into build/torch-newest.'
    rm -rf -- "$folder"
    mkdir -p "$folder"
    "$PYTHON" -m pip download --quiet --no-deps --only-binary :all: --dest "$folder" torch ||
        fail 'pip could not fetch PyTorch; its message is above.'
    "$PYTHON" -m zipfile -e "$folder"/torch-*.whl "$folder"
    rm -f -- "$folder"/torch-*.whl
    say "PyTorch $(sed -n "s/^__version__ = '\(.*\)'/\1/p" "$folder/torch/version.py")"
    configure pytorch -B "$REPOSITORY/build/pytorch-newest" "-DREKINDLE_TORCH=$folder/torch"
    build pytorch-newest torch_rvk
}
