# steps.sh - what runners of tests/mpi under other MPI libraries share.  Sourced by bash after
# functions.sh, with $here, the directory of the runner.
# shellcheck shell=bash
# shellcheck disable=SC2154 # build, here, tmp

# Scripts that run programs which the build has linked with MPICH.
# shellcheck disable=SC2034 # used by the runners
declare -A linked_with_mpich=(
    [test-create]="one of its programs is linked with MPICH"
    [test-dlopen]="its program is linked with MPICH"
    [test-btio]="its program is linked with MPICH"
    [test-simpario]="its program is linked with MPICH"
    [test-memory-limit]="one of its programs, simpario, is linked with MPICH"
    [test-open-costs]="its program is linked with MPICH"
    [test-readahead]="its program, simpario, is linked with MPICH"
    [test-stats]="its program, simpario, is linked with MPICH"
    [test-striping]="one of its programs, simpario, is linked with MPICH"
    [test-summary]="its program, simpario, is linked with MPICH"
    [test-trace]="its program, simpario, is linked with MPICH"
    [test-traffic]="its program, simpario, is linked with MPICH"
)

# compile_program NAME FLAG ...: tests/mpi/NAME.c, or NAME.c from $here, to $TEST_PROGRAMS/NAME,
# with the flags of an MPI library; again when its source is newer.
compile_program() {
    local source=$here/../mpi/$1.c out=$TEST_PROGRAMS/$1 sources flags=() libraries=()

    [[ -e $source ]] || source=$here/$1.c
    sources=("$source")
    case $1 in
    t_model) sources+=("$here"/../mpi/tm_*.c) ;;
    t_shapes) sources+=("$here"/../mpi/tm_{shape,type}.c) ;;
    t_echo | t_job_key)
        flags=(-I"$here"/../../common/{options,util} -I"$here/../../adio_zcache/process")
        libraries=("$build/common/.libs/libzccommon.a" -lsodium)
        ;;
    esac
    [[ ! $out -nt $source ]] || return 0
    "${CC:-cc}" -O2 -w -D_GNU_SOURCE -DTOP_SRCDIR="\"$(cd "$here/../.." && pwd)\"" \
        -I"$build" -I"$here/../mpi" "${flags[@]}" -o "$out" "${sources[@]}" "${@:2}" \
        "${libraries[@]}" -lm -lpthread \
        >"$out.log" 2>&1 || echo "skipped: $1 is not compiled: $(grep -m 1 error "$out.log")"
}

passed=0 failed=0 skipped=0
step() { # NAME COMMAND ...: what came of it, and what it skipped
    local name=$1 began=$SECONDS status

    shift
    "$@" >"$tmp/step" 2>&1 </dev/null
    status=$?
    case $status in
    0)
        passed=$((passed + 1))
        echo "PASS $name ($((SECONDS - began)) s)"
        sed -n 's/^skipped: /    a part was skipped: /p' "$tmp/step"
        ;;
    77)
        skipped=$((skipped + 1))
        echo "SKIP $name: $(sed -n 's/^skipped: //p' "$tmp/step" | tail -n 1)"
        ;;
    *)
        failed=$((failed + 1))
        echo "FAIL $name ($((SECONDS - began)) s), status $status"
        sed 's/^/    /' "$tmp/step"
        ;;
    esac
}
