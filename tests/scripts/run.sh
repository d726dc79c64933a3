#!/usr/bin/env bash
# Tests of the scripts, with fake package tools instead of the real ones: nothing is installed.
repository=$(cd -- "$(dirname -- "$0")/../.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf -- "$folder"' EXIT
failures=0

# A system with three packages: 'there' is installed, 'offered' can be installed, 'unknown' cannot.
cat >"$folder/system.sh" <<'END'
dpkg-query() { if [[ ${*: -1} == there || -e $SYSTEM/${*: -1} ]]; then printf installed; else return 1; fi; }
apt-cache() { if [[ $2 == offered ]]; then printf '%s:\n  Candidate: 1.0\n' "$2"; else printf '%s:\n  Candidate: (none)\n' "$2"; fi; }
apt-get() {
    case " $* " in
        *' update '*) printf 'update\n' >>"$SYSTEM/calls" ;;
        *' -s '*) printf 'Inst offered (1.0)\nInst dependency (1.0)\nInst upgraded [0.9] (1.0)\n' ;;
        *' --print-uris '*) printf 'Need to get 12.3 MB of archives.\nAfter this operation, 45.6 MB of additional disk space will be used.\n' ;;
        *' install '*) printf 'install %s\n' "${*: -1}" >>"$SYSTEM/calls" && touch "$SYSTEM/offered" ;;
    esac
}
as_root() { if [[ $1 == env ]]; then "${@:3}"; else "$@"; fi; }
END

# install YES PACKAGE…: runs install_packages on a new such system; output in $folder/output, status in $status.
install() {
    rm -rf -- "$folder/system" "$folder/state"
    mkdir "$folder/system"
    status=0
    SYSTEM=$folder/system XDG_STATE_HOME=$folder/state bash -c '
        source "$1/scripts/lib/common.sh"; source "$1/scripts/lib/packages.sh"; source "$2/system.sh"
        install_packages "${@:3}"' - "$repository" "$folder" "$@" </dev/null >"$folder/output" 2>&1 || status=$?
}

check() {
    if [[ $2 == "$3" ]]; then
        printf 'ok: %s\n' "$1"
    else
        printf 'FAILED: %s: expected "%s", got "%s"\n' "$1" "$3" "$2"
        sed 's/^/    /' "$folder/output"
        failures=$((failures + 1))
    fi
}
calls() { cat "$folder/system/calls" 2>/dev/null; }
says() { grep -cF -- "$1" "$folder/output"; }

install 0 there
check 'nothing happens when everything is installed: status' "$status" 0
check 'nothing happens when everything is installed: output' "$(cat "$folder/output")" ''
check 'nothing happens when everything is installed: apt-get' "$(calls)" ''

install 0 there offered
check 'without a terminal and without --yes: status' "$status" 2
check 'without a terminal and without --yes: apt-get' "$(calls)" ''
check 'without a terminal and without --yes: names the option' "$(says 'run it again with --yes')" 1

install 1 there offered
check 'with --yes: status' "$status" 0
check 'with --yes: only missing packages are installed' "$(calls)" 'install offered'
check 'with --yes: names the size' "$(says 'fetches 12.3 MB and uses 45.6 MB of disk space')" 1
check 'with --yes: records new packages, not upgraded ones' \
    "$(tr '\n' ' ' <"$folder/state/rekindle/installed-packages")" 'dependency offered '

install 1 unknown
check 'an unavailable package: status' "$status" 1
check 'an unavailable package: the lists are fetched once' "$(calls)" 'update'
check 'an unavailable package: is named' "$(says 'do not have: unknown.')" 1

# python_with_torch_and in a separate tree where the environment cannot be created.
status=0
mkdir -p "$folder/tree/scripts"
cp -r "$repository/scripts/lib" "$folder/tree/scripts/"
bash -c 'source "$1/scripts/lib/common.sh"; source "$1/scripts/lib/pytorch.sh"
    python_with_torch() { PYTHON=false; }
    python_with_torch_and python-device "25 MB" one two three' - "$folder/tree" >"$folder/output" 2>&1 || status=$?
check 'packages for the tests: a failure ends the script' "$status" 1
check 'packages for the tests: are named in words' "$(says 'Fetching the packages one, two and three for the tests')" 1
words() { bash -c 'source "$1/scripts/lib/common.sh"; in_words "${@:2}"' - "$repository" "$@"; }
check 'in_words: one' "$(words a)" 'a'
check 'in_words: two' "$(words a b)" 'a and b'
check 'in_words: three' "$(words a b c)" 'a, b and c'
check 'counted: one' "$(bash -c 'source "$1/scripts/lib/common.sh"; counted 1 package' - "$repository")" '1 package'
check 'counted: two' "$(bash -c 'source "$1/scripts/lib/common.sh"; counted 2 package' - "$repository")" '2 packages'

# slang [NAME=VALUE…]: runs slang_compiler in a separate tree, with a fake pip.
slang() {
    rm -rf -- "$folder/tree"
    mkdir -p "$folder/tree/scripts"
    cp -r "$repository/scripts/lib" "$folder/tree/scripts/"
    status=0
    (
        [[ $# == 0 ]] || export "${@?}"
        bash -c 'source "$1/scripts/lib/common.sh"; source "$1/scripts/lib/python.sh"; source "$1/scripts/lib/slang.sh"
            pip() { echo "pip $*"; return 1; }
            python_environment() { PYTHON=pip; }
            slang_compiler' - "$folder/tree"
    ) >"$folder/output" 2>&1 || status=$?
}
slang REKINDLE_SLANGC="$folder/none"
check 'a REKINDLE_SLANGC that is not executable: status' "$status" 2
slang REKINDLE_SLANGC=/bin/true
check 'REKINDLE_SLANGC is used, nothing is fetched' "$status $(cat "$folder/output")" '0 '
slang REKINDLE_SPIRV_DIR="$folder"
check 'precompiled SPIR-V needs no compiler' "$status $(cat "$folder/output")" '0 '
slang REKINDLE_SLANGC=
check 'the Slang compiler cannot be fetched: status' "$status" 1
check 'the Slang compiler cannot be fetched: it was requested with its hash' "$(says '--require-hashes')" 1
check 'the Slang compiler cannot be fetched: says what to do' "$(says 'REKINDLE_SLANGC names it')" 1
check 'the Slang compiler cannot be fetched: no part of it remains' "$([[ -e $folder/tree/build/tools/slang ]] || echo none)" none

# isa_table SPILLED_VGPRS SCRATCH CASE…: checks one family's rows, one for each CASE, against the two cases 'a' and
# 'b' of one kernel. KEEP=1 keeps the previous table, so that only cases with another digest count as changed.
isa_table() {
    local spilled=$1 scratch=$2 case
    shift 2
    [[ -n ${KEEP:-} ]] || rm -rf -- "$folder/isa"
    mkdir -p "$folder/isa"
    printf 'family\t%s\ta\td1\t1024\t\nfamily\t%s\t%s\t%s\t%s\t%s\n' "${KERNEL:-kernel}" "${KERNEL:-kernel}" "${SECOND:-b}" "${DIGEST:-d2}" "${SHARED:-1024}" \
        "${NEEDS:-float64}" >"$folder/isa/kernels.tsv"
    {
        printf 'kernel\tcase\tvgprs\tsgprs\tspilled_vgprs\tspilled_sgprs\tscratch_bytes\tlds_bytes\tcode_bytes\t'
        printf 'subgroups_per_simd\tlatency_cycles\n'
        for case in "$@"; do
            printf '%s\t%s\t24\t128\t%s\t0\t%s\t1024\t960\t32\t360\n' "${KERNEL:-kernel}" "$case" "$spilled" "$scratch"
        done
    } >"$folder/isa/navi10.tsv"
    {
        printf 'kernel\tcase\tlanes\tshare\taround\tlimit\toperations\n'
        for case in "$@"; do
            [[ $case == "${NO_SHARE:-}" ]] || printf '%s\t%s\t64\t0.83\t0.50\talu\t512 v_fmac_f32\n' "${KERNEL:-kernel}" "$case"
        done
    } >"$folder/isa/navi10.shares.tsv"
    status=0
    python3 "$repository/scripts/lib/isa_changed.py" "$folder/isa/kernels.tsv" "$folder/isa/isa.tsv" "navi10=${MESA:-25.0}" \
        >"$folder/isa/changed.tsv"
    python3 "$repository/scripts/lib/isa_table.py" "$folder/isa" "$folder/isa/isa.md" "$folder/isa/isa.tsv" "navi10=${MESA:-25.0}" \
        >"$folder/output" 2>&1 || status=$?
}
isa_table 0 0 a b
check 'ISA audit, nothing wrong: status' "$status" 0
check 'ISA audit, nothing wrong: a row in the table' "$(grep -c $'^family\tkernel\ta\td1\t1024\t960\t24 128 32 360 64 0.83 0.50 alu$' "$folder/isa/isa.tsv")" 1
NO_SHARE=b isa_table 0 0 a b
check 'ISA audit, a pipeline without a share that the page does not show' "$status $(grep -c $'^family\tkernel\tb\td2\t1024\t960\t24 128 32 360$' "$folder/isa/isa.tsv")" '0 1'
KERNEL=product_64x64 SECOND='float16, plain' NO_SHARE='float16, plain' isa_table 0 0 a 'float16, plain'
check 'ISA audit, a pipeline that the model misses: status' "$status $(says 'navi10: product_64x64 (float16, plain): the model has no row')" '1 1'
isa_table 3 0 a b
check 'ISA audit, a spill: status' "$status" 1
check 'ISA audit, a spill: is named' "$(says 'navi10: kernel (a): spilled_vgprs 3')" 1
check 'ISA audit, a spill: the page begins with it' "$(grep -c '^\* navi10: kernel (a): spilled_vgprs 3' "$folder/isa/isa.md")" 1
isa_table 0 16 a b
check 'ISA audit, scratch: status' "$status $(says 'scratch_bytes 16')" '1 2'
SHARED=1000 isa_table 0 0 a b
check 'ISA audit, too much shared memory: status' "$status $(says 'kernel (b): 1024 bytes of shared memory')" '1 1'
isa_table 0 0 a
check 'ISA audit, a case that no family compiled: status' "$status $(says 'kernel (b): not audited for any family')" '1 1'
NEEDS='float64, matrix_quads' isa_table 0 0 a
check 'ISA audit, a case that no AMD GPU can run: status' "$status" 0
changed() { tail -n +2 "$folder/isa/changed.tsv" | cut -f 2 | xargs; }
isa_table 0 0 a b
KEEP=1 DIGEST=d3 isa_table 0 0 b
check 'ISA audit, code that has changed: is compiled again, and the other row is kept' \
    "$status $(changed) $(grep -c $'^family\tkernel\t\(a\td1\|b\td3\)\t1024\t960\t24 128 32 360' "$folder/isa/isa.tsv")" '0 b 2'
KEEP=1 DIGEST=d3 isa_table 0 0
check 'ISA audit, nothing has changed: nothing is compiled' \
    "$status $(changed) $(grep -c $'^family\tkernel\t\(a\td1\|b\td3\)\t1024\t960\t24 128 32 360' "$folder/isa/isa.tsv")" '0  2'
KEEP=1 DIGEST=d3 MESA=26.0 isa_table 0 0 a b
check 'ISA audit, another version of Mesa: everything is compiled again' "$status $(changed)" '0 a b'
KEEP=1 DIGEST=d4 MESA=26.0 isa_table 3 0 b
KEEP=1 DIGEST=d4 MESA=26.0 isa_table 3 0 b
check 'ISA audit, a spill: is compiled again the next time' "$status $(changed)" '1 b'
isa_table 0 0
check 'ISA audit, an empty list: status' "$status $(says 'no pipeline was audited')" '1 1'

status=0
python3 "$repository/tests/scripts/isa_model_test.py" >"$folder/output" 2>&1 || status=$?
check 'the model of AMD GPUs: loops counted by hand' "$status" 0

status=0
python3 "$repository/tests/scripts/plurals.py" "$repository" >"$folder/output" 2>&1 || status=$?
check 'every count agrees with its noun' "$status" 0
status=0
python3 "$repository/tests/scripts/durations.py" "$repository" >"$folder/output" 2>&1 || status=$?
check 'no test compares measured times' "$status" 0
mkdir -p "$folder/slow/tests"
cat >"$folder/slow/tests/slow_test.cpp" <<'END'
const auto begun = std::chrono::steady_clock::now();
run();
const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - begun;
EXPECT_LT(spent.count(), 5.0);
EXPECT_GE(spent.count(), 0);
END
cat >"$folder/slow/tests/slow_test.py" <<'END'
def measured(count):
    return begin.elapsed_time(end)
small, large = measured(1), measured(100)
self.assertGreater(large, small)
self.assertGreaterEqual(small, 0)
END
python3 "$repository/tests/scripts/durations.py" "$folder/slow" >"$folder/output" 2>&1
check 'comparisons of measured times are found' \
    "$(says 'slow_test.cpp:4: EXPECT_LT') $(says 'slow_test.py:4: self.assertGreater') $(grep -c '^tests/' "$folder/output")" '1 1 2'
status=0
python3 "$repository/tests/scripts/architecture.py" "$repository" >"$folder/output" 2>&1 || status=$?
check 'ARCHITECTURE.md matches the build' "$status" 0
status=0
python3 "$repository/tests/scripts/environment_page.py" "$repository" >"$folder/output" 2>&1 || status=$?
check 'docs/environment.md lists what the sources read' "$status" 0
status=0
python3 "$repository/tests/doctor/confirmed/report_test.py" >"$folder/output" 2>&1 || status=$?
check 'the report on confirmed runs' "$status" 0

status=0
python3 "$repository/tests/package/test_wheels.py" >"$folder/output" 2>&1 || status=$?
check 'the wheels that the packaging writes' "$status" 0

for script in set-up test test-gpu demo package build-wheels isa-audit sample-data uninstall; do
    status=0
    "$repository/scripts/$script" --no-such-option >"$folder/output" 2>&1 </dev/null || status=$?
    check "$script refuses an unknown option" "$status" 2
    status=0
    "$repository/scripts/$script" --help >"$folder/output" 2>&1 </dev/null || status=$?
    check "$script --help" "$status $(says "Usage: ./scripts/$script")" '0 1'
done
exit $((failures > 0))
