#!/usr/bin/env bash
# romios.sh DIR ... - builds the plugin with the ROMIO of each DIR, an unpacked release of MPICH or
# the src/mpi/romio in it, and tests it with the MPI library that this build was configured with.
#
# Each is configured and built in romios/NAME of the build directory, and kept there until it
# passes; NAME is that of MPICH's directory.
# The tests are those of what a ROMIO does differently from another one (TESTS names others), the
# functions that the plugin must have, and random programs.  JOBS is how many compilers, and then
# tests, run at a time (2).  Prints a line for each DIR; what was said is in romios/NAME.log.
set -u -o pipefail
srcdir=$(cd "$(dirname -- "$0")/.." && pwd)
build=$(cd "${top_builddir:-$srcdir/build}" && pwd) || exit 2
jobs=${JOBS:-2}
tests=${TESTS:-check-exports.sh mpi/test-plugin.sh mpi/test-modes.sh mpi/test-nonblocking.sh
    mpi/test-views.sh mpi/test-shapes.sh mpi/test-both.sh mpi/test-driver.sh mpi/test-delete.sh
    mpi/test-read-after-write.sh mpi/test-get-status.sh mpi/test-resize.sh mpi/test-hints.sh
    mpi/test-blocks.sh}
failed=0

# try DIR BUILD: everything of one, in words.
try() {
    local mpicc

    mpicc=$(sed -n 's/^ZC_MPICC = //p' "$build/tests/Makefile")
    rm -rf -- "$2"
    mkdir -p -- "$2"
    (cd "$2" && "$srcdir/configure" --quiet --with-romio="$1" --without-openmpi --without-mpi-abi \
        MPICC="$mpicc") &&
        make -s -C "$2" -j "$jobs" &&
        make -C "$2/tests" -k -j "$jobs" check AM_COLOR_TESTS=no \
            check_PROGRAMS='$(mpi_tests) $(tools)' TESTS="$tests" &&
        grep -q '^PASS: mpi/test-plugin' "$2.log" &&
        top_builddir=$2 "$srcdir/tests/mpi/test-model.sh" embedded 3 1-20 &&
        top_builddir=$2 "$srcdir/tests/mpi/test-model.sh" one-fabric 4 1-8
}

(($#)) || { echo "romios: usage: romios.sh DIR ..., each an unpacked release of MPICH" >&2; exit 2; }
mkdir -p -- "$build/romios"
for dir; do
    at=$SECONDS
    name=$(realpath -- "$dir")
    name=$(basename -- "${name%/src/mpi/romio}")
    log=$build/romios/$name.log
    if [[ ! -d $dir ]]; then
        result="is not a directory"
    elif try "$(realpath -- "$dir")" "$build/romios/$name" >"$log" 2>&1 </dev/null; then
        result="$(grep -c '^PASS: ' "$log") tests and random programs pass"
        result+=", $(grep -c '^SKIP: ' "$log") skipped"
        rm -rf -- "${build:?}/romios/$name"
        echo "romios: $name: $result, in $((SECONDS - at)) s"
        continue
    else
        result="FAILED: $log"
        grep -E '^(FAIL|ERROR): ' "$log"
        tail -n 5 -- "$log"
    fi
    echo "romios: $name: $result"
    failed=1
done
exit $failed
