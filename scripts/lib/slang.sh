# shellcheck shell=bash
# The Slang compiler, which is needed only for the build. Sourced after common.sh and python.sh.

# The wheel contains slangc; its Python code is not used. Change both versions together.
readonly SLANG_WHEEL='slangtorch==1.3.22'
readonly SLANG_WHEEL_SHA256=7755f2f53509ebbd65839dcd8a104e7105aeaf3e3600aea9385c2bec9beb2eaa
readonly SLANG_VERSION=2026.14.1
readonly SLANG_FOLDER=$REPOSITORY/build/tools/slang

is_pinned_slangc() { [[ -x $1 && $("$1" -v 2>&1) == "$SLANG_VERSION" ]]; }

# fetch_slang: unpacks the pinned wheel into SLANG_FOLDER, which appears complete or not at all.
fetch_slang() {
    local part=$SLANG_FOLDER.part
    python_environment
    say "Fetching the Slang compiler $SLANG_VERSION ($SLANG_WHEEL, 15 MB) into build/tools/slang."
    rm -rf -- "$part"
    mkdir -p "$part/wheel"
    printf '%s --hash=sha256:%s\n' "$SLANG_WHEEL" "$SLANG_WHEEL_SHA256" >"$part/requirements.txt"
    "$PYTHON" -m pip download --quiet --no-deps --only-binary :all: --require-hashes \
        --requirement "$part/requirements.txt" --dest "$part/wheel" ||
        fail "pip could not fetch $SLANG_WHEEL; its message is above. Another copy of slangc $SLANG_VERSION is used" \
            'when REKINDLE_SLANGC names it; with REKINDLE_SPIRV_DIR none is needed (kernels/README.md).'
    "$PYTHON" -m zipfile -e "$part"/wheel/*.whl "$part"
    chmod +x "$part/slangtorch/bin/slangc"
    is_pinned_slangc "$part/slangtorch/bin/slangc" ||
        fail "The fetched slangc is not version $SLANG_VERSION or does not run: $("$part/slangtorch/bin/slangc" -v 2>&1)"
    rm -rf -- "$part/wheel" "$part/requirements.txt" "$SLANG_FOLDER"
    mv -- "$part" "$SLANG_FOLDER"
}

# slang_compiler: provides the build with a compiler: REKINDLE_SLANGC when it is set, otherwise the pinned one in
# build/tools/slang. With REKINDLE_SPIRV_DIR none is needed.
slang_compiler() {
    [[ -z ${REKINDLE_SPIRV_DIR:-} ]] || return 0
    if [[ -n ${REKINDLE_SLANGC:-} ]]; then
        [[ -x $REKINDLE_SLANGC ]] || wrong_use "REKINDLE_SLANGC=$REKINDLE_SLANGC is not an executable file; set it to the path of slangc, or unset it."
        return 0
    fi
    is_pinned_slangc "$SLANG_FOLDER/slangtorch/bin/slangc" || fetch_slang
}
