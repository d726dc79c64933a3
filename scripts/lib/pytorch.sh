# shellcheck shell=bash
# PyTorch's device rvk: its Python, its build, its tests. Sourced after common.sh, build.sh, python.sh.

# python_with_torch_and NAME SIZE PACKAGE…: sets PYTHON to the interpreter of build/NAME, a separate environment that has
# the PyTorch of python_with_torch and these packages, whose modules have the names of the packages; NAME==VERSION pins one.
python_with_torch_and() {
    local folder=$REPOSITORY/build/$1 size=$2 base modules
    shift 2
    modules=$(IFS=, && printf '%s' "${*%%==*}")
    python_with_torch
    base=$PYTHON
    PYTHON=$folder/bin/python3
    # A copied or moved environment contains paths that no longer exist.
    if grep -qF "$folder" "$folder/bin/activate" 2>/dev/null && "$PYTHON" -c "import torch, $modules" 2>/dev/null; then
        return
    fi
    say "Fetching the packages $(in_words "${@%%==*}") for the tests (about $size) into ${folder#"$REPOSITORY"/}."
    rm -rf -- "$folder"
    "$base" -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$base" -c 'import os, torch; print(os.path.dirname(os.path.dirname(torch.__file__)))' \
        >"$("$PYTHON" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch-of-base.pth"
    "$PYTHON" -m pip install --quiet "$@" ||
        fail 'pip could not install the packages for the tests; its message is above.'
}

# python_for_device: sets PYTHON for the device's own tests.
python_for_device() { python_with_torch_and python-device '25 MB' expecttest pytest==9.0.3 transformers; }

# python_for_upstream: sets PYTHON for PyTorch's own tests.
python_for_upstream() { python_with_torch_and python-upstream '40 MB' numpy expecttest hypothesis pytest psutil scipy; }

# build_device: builds libtorch_rvk.so and the C++ test program for the PyTorch of PYTHON; the package is build/pytorch/python.
build_device() {
    configure pytorch "-DREKINDLE_PYTHON=$PYTHON" -DREKINDLE_TORCH=
    build pytorch torch_rvk torch_rvk_cpp_test
}

# test_module MODULE.py: runs one module with pytest in a separate process and prints pytest's last line, or the exit
# status of a process that died. A module that takes longer than an hour hangs; the limit is high because the CPU emulates
# the GPU and the machine may be busy. DEVICE_SANITIZER names the libraries to preload for a build with a sanitizer.
test_module() {
    local name=${1%.py} status=0 last sanitizer=()
    name=${name//\//.}
    if [[ -n ${DEVICE_SANITIZER:-} ]]; then
        # Python and PyTorch leave memory allocated when they end.
        sanitizer=(env "LD_PRELOAD=$DEVICE_SANITIZER" "ASAN_OPTIONS=detect_leaks=0:${ASAN_OPTIONS:-}")
    fi
    timeout 3600 "${sanitizer[@]}" "$PYTHON" -m pytest --quiet --junitxml="$RESULTS/$name.xml" "$1" >"$RESULTS/$name.log" 2>&1 || status=$?
    printf '%s\n' "$status" >"$RESULTS/$name.status"
    last=$(tail -1 "$RESULTS/$name.log")
    ((status <= 1)) || last="ended with status $status"
    printf '%s: %s\n' "$name" "$last"
}

# run_device_modules COUNTER BUILD MODULE…: runs these modules of tests/pytorch on the device of the build tree BUILD in
# poison mode and calls COUNTER PASSED FAILED SKIPPED. A module uses up to 1.5 GB of memory, so at most four run at the same
# time, and OpenMP threads that spin while they wait would take the CPUs from each other.
run_device_modules() {
    local counter=$1 folder=$2 results=$2/test-results jobs counts
    shift 2
    jobs=$(nproc)
    rm -rf -- "$results"
    mkdir -p "$results"
    [[ -z ${REKINDLE_TEST_PART:-} ]] ||
        say "Runs only part $REKINDLE_TEST_PART of each module's tests (REKINDLE_TEST_PART= runs all)."
    (
        cd "$REPOSITORY/tests/pytorch" || exit
        export PYTHON RESULTS=$results PYTHONPATH=$folder/python REKINDLE_POISON=1
        export OMP_NUM_THREADS=${OMP_NUM_THREADS:-1} PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
        export -f test_module
        export DEVICE_SANITIZER=${DEVICE_SANITIZER:-}
        # shellcheck disable=SC2016 # the shell that xargs starts expands it
        printf '%s\0' "$@" | xargs -0 -n 1 -P $((jobs < 4 ? jobs : 4)) bash -c 'test_module "$1"' test_module
    )
    counts=$(python3 "$REPOSITORY/scripts/lib/count_pytest.py" "$results")
    head -n -1 <<<"$counts"
    read -ra counts <<<"$(tail -1 <<<"$counts")"
    [[ ${#counts[@]} == 3 ]] || fail "The tests could not be run: ${counts[*]}"
    "$counter" "${counts[@]}"
}

# modules_of FOLDER…: the test modules in these folders of tests/pytorch.
modules_of() { (cd "$REPOSITORY/tests/pytorch" && for folder in "$@"; do printf '%s\n' "$folder"/test_*.py; done | sed 's,^\./,,'); }

# run_device_tests COUNTER FOLDER…: the same for all modules in these folders of tests/pytorch, on build/pytorch.
run_device_tests() {
    local counter=$1 modules
    shift
    mapfile -t modules < <(modules_of "$@")
    run_device_modules "$counter" "$REPOSITORY/build/pytorch" "${modules[@]}"
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
