# shellcheck shell=bash
# The project's own Python environment, so that nothing is installed into the system's. Sourced after common.sh.

# python_environment: sets PYTHON to the interpreter of build/python, which is created when needed.
python_environment() {
    local folder=$REPOSITORY/build/python
    PYTHON=$folder/bin/python3
    # A copied or moved environment contains paths that no longer exist.
    if ! "$PYTHON" -m pip --version >/dev/null 2>&1 || ! grep -qF "$folder" "$folder/bin/activate"; then
        rm -rf -- "$folder"
        python3 -m venv "$folder" || fail 'python3 -m venv failed; its message is above. ./scripts/set-up installs python3-venv.'
    fi
}

# python_with_torch: sets PYTHON to an interpreter that has PyTorch: the caller's own, or that of build/python, into
# which the CPU build is installed when needed.
python_with_torch() {
    local candidate
    for candidate in "$(PATH=$CALLERS_PATH command -v python3)" "$REPOSITORY/build/python/bin/python3"; do
        if [[ -x $candidate ]] && "$candidate" -c 'import torch, numpy' 2>/dev/null; then
            PYTHON=$candidate
            say "Using PyTorch $("$PYTHON" -c 'import torch; print(torch.__version__)') of $candidate."
            return
        fi
    done
    python_environment
    say 'Fetching the CPU build of PyTorch and NumPy into build/python (about 200 MB; uses about 800 MB of disk space).'
    if ! { "$PYTHON" -m pip install --quiet numpy &&
        "$PYTHON" -m pip install --quiet --retries 1 torch==2.13.0+cpu --extra-index-url https://download.pytorch.org/whl/cpu; }; then
        fail 'pip could not install PyTorch; its message is above. A python3 on the PATH that has torch and numpy is used if there is one.'
    fi
}

# python_with_auditwheel: sets PYTHON to an environment with auditwheel, which knows what the tags of wheels promise.
python_with_auditwheel() {
    local folder=$REPOSITORY/build/python-wheels
    PYTHON=$folder/bin/python3
    if grep -qF "$folder" "$folder/bin/activate" 2>/dev/null && "$PYTHON" -c 'import auditwheel' 2>/dev/null; then
        return
    fi
    say 'Fetching auditwheel (0.2 MB) into build/python-wheels.'
    rm -rf -- "$folder"
    python3 -m venv "$folder" || fail 'python3 -m venv failed; its message is above.'
    "$PYTHON" -m pip install --quiet auditwheel==6.8.2 || fail 'pip could not install auditwheel; its message is above.'
}
