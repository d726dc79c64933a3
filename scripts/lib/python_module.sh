# shellcheck shell=bash
# The Python module rekindle_train: its Python, its build, its tests. Sourced after common.sh, build.sh and python.sh.

# module_environment NAME MODULES SIZE: sets PYTHON to the interpreter of build/python-NAME. If that cannot import MODULES, first
# fetches the packages of tests/NAME/requirements.txt (SIZE MB); if NAME is module, those of tests/python.
module_environment() {
    local folder=$REPOSITORY/build/python-$1 requirements=$REPOSITORY/tests/${1/module/python}/requirements.txt
    PYTHON=$folder/bin/python3
    # A copied or moved environment contains paths that no longer exist.
    if grep -qF "$folder" "$folder/bin/activate" 2>/dev/null && "$PYTHON" -c "import $2" 2>/dev/null; then
        return
    fi
    say "Fetching the packages for the tests (about $3 MB) into build/python-$1."
    rm -rf -- "$folder"
    python3 -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$PYTHON" -m pip install --quiet -r "$requirements" ||
        fail 'pip could not install the packages for the tests; its message is above.'
}

# python_for_module: sets PYTHON to an interpreter with the packages that the tests of the module need.
python_for_module() {
    module_environment module \
        'nanobind, numpy, pandas, pyarrow, polars, duckdb, matplotlib, nbclient, mypy, pytest, backtesting, vectorbt' 340
}

# python_for_ray: sets PYTHON to an interpreter with Ray.
python_for_ray() { module_environment ray 'nanobind, numpy, pyarrow, pytest, ray' 150; }

# build_module PYTHON NANOBIND: builds build/release/python/rekindle_train for the interpreter PYTHON, with the nanobind of the
# interpreter NANOBIND. Afterward, the build folder depends on neither.
build_module() {
    configure release -DREKINDLE_BUILD_PYTHON=ON "-DREKINDLE_PYTHON=$1" "-DREKINDLE_NANOBIND_PYTHON=$2" \
        -U '*Python_*' -U 'NB_*' -U nanobind_DIR
    rm -f -- "$REPOSITORY"/build/release/python/rekindle_train/_core.*
    build release rekindle_python
    configure release -DREKINDLE_BUILD_PYTHON=OFF -U REKINDLE_PYTHON -U REKINDLE_NANOBIND_PYTHON
}

# run_module_tests COUNTER FOLDER: runs the tests in tests/FOLDER and calls COUNTER PASSED FAILED SKIPPED.
run_module_tests() {
    local results=$REPOSITORY/build/python-module-results counts
    rm -rf -- "$results"
    mkdir -p "$results"
    (
        cd "$REPOSITORY/tests/$2" || exit
        export PYTHON RESULTS=$results PYTHONPATH=$REPOSITORY/build/release/python PYTEST_DISABLE_PLUGIN_AUTOLOAD=1
        export REKINDLE_PROGRAM=$REPOSITORY/build/release/bin/rekindle PYTHONDONTWRITEBYTECODE=1
        for module in test_*.py; do test_module "$module"; done
    )
    counts=$(python3 "$REPOSITORY/scripts/lib/count_pytest.py" "$results")
    head -n -1 <<<"$counts"
    read -ra counts <<<"$(tail -1 <<<"$counts")"
    [[ ${#counts[@]} == 3 ]] || fail "The tests could not be run: ${counts[*]}"
    "$1" "${counts[@]}"
}

# module_name: the file name of the module that build_module built.
module_name() { basename "$REPOSITORY"/build/release/python/rekindle_train/_core.*; }

# python_with_nanobind: sets PYTHON to an environment with nanobind.
python_with_nanobind() {
    local folder=$REPOSITORY/build/python-nanobind
    PYTHON=$folder/bin/python3
    if grep -qF "$folder" "$folder/bin/activate" 2>/dev/null && "$PYTHON" -m nanobind --cmake_dir >/dev/null 2>&1; then
        return
    fi
    say 'Fetching nanobind (0.3 MB) into build/python-nanobind.'
    rm -rf -- "$folder"
    python3 -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$PYTHON" -m pip install --quiet "$(grep '^nanobind' "$REPOSITORY/tests/python/requirements.txt")" ||
        fail 'pip could not install nanobind; its message is above.'
}

# python_version INTERPRETER: prints a version such as "3.11" if this is CPython with headers and the global interpreter lock;
# otherwise prints nothing.
python_version() {
    "$1" -c 'import os, sys, sysconfig
headers = os.path.join(sysconfig.get_path("include"), "Python.h")
usual = sys.implementation.name == "cpython" and not sysconfig.get_config_var("Py_GIL_DISABLED")
print("%d.%d" % sys.version_info[:2] if usual and os.path.exists(headers) else "")' 2>/dev/null || true
}

# pythons_for_wheels: prints the interpreter for each wheel, one per line: 3.10, 3.11, and 3.12 or newer.
pythons_for_wheels() {
    local minor candidate versions
    if [[ -n ${PYTHONS:-} ]]; then
        tr ' ' '\n' <<<"$PYTHONS"
        return
    fi
    for versions in 10 11 '12 13 14'; do
        for minor in $versions; do
            for candidate in "$(PATH=$CALLERS_PATH command -v "python3.$minor")" "${HOME:-/root}"/.pyenv/versions/3."$minor".*/bin/python3 \
                "$(command -v python3)"; do
                [[ -x $candidate && $(python_version "$candidate") == "3.$minor" ]] || continue
                printf '%s\n' "$candidate"
                continue 3
            done
        done
    done
}
