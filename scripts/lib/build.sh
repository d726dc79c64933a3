# shellcheck shell=bash
# Configuring and building with the presets. Sourced after common.sh.

# With ccache, another copy of the tree reuses what this one compiled.
export CCACHE_BASEDIR=$REPOSITORY CCACHE_NOHASHDIR=1

# compiler_arguments: CMake arguments that choose g++ 12 when the default compiler is older.
compiler_arguments() {
    local version=0
    command -v g++ >/dev/null && version=$(g++ -dumpversion)
    if [[ ${version%%.*} -lt 12 ]]; then
        command -v g++-12 >/dev/null || fail "g++ 12 or newer is missing; ./scripts/set-up installs it."
        printf '%s\n' -DCMAKE_C_COMPILER=gcc-12 -DCMAKE_CXX_COMPILER=g++-12
    fi
}

# configure PRESET [CMAKE_ARGUMENT…]: quiet unless it fails.
configure() {
    local preset=$1 folder=$REPOSITORY/build/$1 arguments=() compiler
    shift
    # A build folder of another copy of the tree cannot be reused.
    if [[ -f $folder/CMakeCache.txt ]] &&
        ! grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$REPOSITORY" "$folder/CMakeCache.txt"; then
        rm -rf -- "$folder"
    fi
    if [[ $preset != fuzz ]]; then
        compiler=$(compiler_arguments)
        [[ -z $compiler ]] || mapfile -t arguments <<<"$compiler"
    fi
    # The release build compiles the kernels; with REKINDLE_SPIRV_DIR, the others can take its results.
    [[ $preset == release ]] || arguments+=("-DREKINDLE_SPIRV_DIR=${REKINDLE_SPIRV_DIR:-}")
    mkdir -p "$folder"
    (cd "$REPOSITORY" && cmake --preset "$preset" "${arguments[@]}" "$@") >"$folder/configure.log" 2>&1 || {
        cat "$folder/configure.log" >&2
        fail "CMake could not configure the preset '$preset'."
    }
}

# build PRESET [TARGET…]: shows Ninja's progress line on a terminal, and only failures otherwise.
build() {
    local folder=$REPOSITORY/build/$1
    shift
    if [[ -t 1 ]]; then
        ninja -C "$folder" "$@" || fail "The build failed; the compiler's messages are above."
    else
        ninja -C "$folder" "$@" >"$folder/build.log" 2>&1 || {
            grep -vE '^\[[0-9]+/[0-9]+\] |^ninja: Entering' "$folder/build.log" | tail -60 >&2
            fail "The build failed; the complete log is in $folder/build.log."
        }
    fi
}

# compiled_kernels: sets REKINDLE_SPIRV_DIR to the kernels of the release build, which compiles them if needed, so that
# several other builds need not; one that is set already stays.
compiled_kernels() {
    [[ -z ${REKINDLE_SPIRV_DIR:-} ]] || return 0
    configure release
    build release rekindle_kernels
    export REKINDLE_SPIRV_DIR=$REPOSITORY/build/release/kernels/slang
}
