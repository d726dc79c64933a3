# shellcheck shell=bash
# The device rvk for each tested minor version of PyTorch, each with its own Python environment. Sourced after common.sh,
# build.sh, python.sh and pytorch.sh.

# tested_torches: the minor versions of pytorch/torch_rvk/versions.py, or those of PYTORCH_VERSIONS.
tested_torches() {
    if [[ -n ${PYTORCH_VERSIONS:-} ]]; then
        tr ' ' '\n' <<<"$PYTORCH_VERSIONS"
        return
    fi
    PYTHONPATH=$REPOSITORY/pytorch/torch_rvk python3 -c '
from versions import NEWEST, OLDEST
print(*(f"{OLDEST[0]}.{minor}" for minor in range(OLDEST[1], NEWEST[1] + 1)), sep="\n")'
}

# torch_environment MINOR: the folder of the environment with this PyTorch. REKINDLE_TORCHES is a folder of environments
# that exist already, by default build/torches.
torch_environment() { printf '%s/%s' "${REKINDLE_TORCHES:-$REPOSITORY/build/torches}" "$1"; }

# has_torch MINOR: whether that environment has this PyTorch and the packages for the tests.
has_torch() {
    "$(torch_environment "$1")/bin/python3" -c 'import sys, importlib.util as util
from importlib.metadata import version
found = version("torch").startswith(sys.argv[1] + ".")
sys.exit(not all([found, *map(util.find_spec, ("numpy", "expecttest", "pytest", "transformers"))]))' "$1" 2>/dev/null
}

# announce_torches MINOR…: says what python_for_torch will fetch.
announce_torches() {
    local minor missing=()
    for minor in "$@"; do has_torch "$minor" || missing+=("$minor"); done
    [[ ${#missing[@]} != 0 ]] || return 0
    say "Fetching PyTorch $(in_words "${missing[@]}") with the packages for the tests into ${REKINDLE_TORCHES:-build/torches}: for each" \
        'version 0.2 GB as a CPU build (1 GB on disk), or 3 GB as a CUDA build (5.5 GB on disk) where only PyPI can be reached.'
}

# python_for_torch MINOR: sets PYTHON to the interpreter of the environment with this PyTorch, which is created if needed.
python_for_torch() {
    local folder
    folder=$(torch_environment "$1")
    PYTHON=$folder/bin/python3
    ! has_torch "$1" || return 0
    rm -rf -- "$folder"
    mkdir -p "$(dirname -- "$folder")"
    python3 -m venv "$folder" || fail 'python3 -m venv failed; its message is above. ./scripts/set-up installs python3-venv.'
    if ! { "$PYTHON" -m pip install --quiet --retries 1 "torch==$1.*" --extra-index-url https://download.pytorch.org/whl/cpu &&
        "$PYTHON" -m pip install --quiet numpy expecttest pytest==9.0.3 transformers; }; then
        fail "pip could not install PyTorch $1; its message is above."
    fi
}

# torch_build_folder MINOR: the build tree of the device for this PyTorch.
torch_build_folder() { printf '%s/build/pytorch-%s' "$REPOSITORY" "$1"; }

# build_for_torch MINOR TARGET…: builds these targets for the PyTorch of PYTHON.
build_for_torch() {
    local minor=$1
    shift
    configure pytorch -B "$(torch_build_folder "$minor")" "-DREKINDLE_PYTHON=$PYTHON" -DREKINDLE_TORCH=
    build "pytorch-$minor" "$@"
}

# The modules that every version runs: what differs between versions of PyTorch (devices, autograd, files, profiler,
# structured operators, reductions, lists), the choice of the library, and processes.
readonly VERSION_MODULES=(
    device/test_{accelerator,autocast,device,exchange,fallback,generator,layouts,memory,profiler,serialization}.py
    device/test_{streams_events,tensors}.py
    test_{attention,check_command,convolution,elementwise,indexing,normalization,optimizers,pooling,products,recurrent}.py
    test_{reduction,shapes,versions}.py long/test_process.py)
readonly MODEL_MODULES=(long/test_models.py long/test_readme.py)

# version_row MINOR: builds and tests the device for one version of PyTorch; prints its row and sets ROW_COUNTS to the
# passed, failed and skipped checks: the build, python -m torch_rvk, and the tests.
version_row() {
    local minor=$1 log check=failed tests models
    ROW_COUNTS=(0 1 0)
    python_for_torch "$minor"
    log=$(torch_build_folder "$minor")/check.txt
    mkdir -p "$(torch_build_folder "$minor")"
    if ! (build_for_torch "$minor" torch_rvk) >"$log" 2>&1; then
        tail -20 "$log" >&2
        say "| $minor | failed | not built | not built | not built |"
        return
    fi
    add_counts 1 0 0 && ROW_COUNTS[1]=0
    if (cd "$REPOSITORY/tests" && PYTHONPATH=$(torch_build_folder "$minor")/python REKINDLE_POISON=1 "$PYTHON" -m torch_rvk >"$log" 2>&1); then
        check=passed
        add_counts 1 0 0
    else
        cat "$log" >&2
        add_counts 0 1 0
    fi
    MODULE_COUNTS=(0 0 0)
    run_device_modules keep_counts "$(torch_build_folder "$minor")" "${VERSION_MODULES[@]}" >&2
    tests="${MODULE_COUNTS[0]} passed, ${MODULE_COUNTS[1]} failed, ${MODULE_COUNTS[2]} skipped"
    add_counts "${MODULE_COUNTS[@]}"
    run_device_modules keep_counts "$(torch_build_folder "$minor")" "${MODEL_MODULES[@]}" >&2
    models="${MODULE_COUNTS[0]} passed, ${MODULE_COUNTS[1]} failed, ${MODULE_COUNTS[2]} skipped"
    add_counts "${MODULE_COUNTS[@]}"
    say "| $("$PYTHON" -c 'from importlib.metadata import version; print(version("torch"))') | yes | $check | $tests | $models |"
}

add_counts() {
    local index=0 count
    for count in "$@"; do
        ROW_COUNTS[index]=$((ROW_COUNTS[index] + count))
        index=$((index + 1))
    done
}
keep_counts() { MODULE_COUNTS=("$@"); }
