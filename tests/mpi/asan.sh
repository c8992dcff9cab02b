#!/usr/bin/env bash
# asan.sh - the model test and the main MPI tests under address sanitizer.
#
#     asan.sh DIR [TEST ...]
#
# Builds everything of ours a second time, in DIR, with gcc's address sanitizer; MPICH and ROMIO are
# as they always are. The sanitizer's library has to be the first that a program loads, so it is
# preloaded before the shims and the plugin (functions.sh). UCX does not watch memory meanwhile,
# which it does by functions that are the sanitizer's now. Leaks are looked for elsewhere: those of
# the MPI library are none of ours.
# Environment: MPICC, MPIEXEC
set -u
(($#)) || { sed -n '2,/^set/s/^# \{0,1\}//p' "${BASH_SOURCE[0]}" >&2; exit 2; }
mkdir -p "$1" || exit 99
dir=$(cd "$1" && pwd)
top=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)
shift
tests=("$@")
((${#tests[@]})) || tests=(
    mpi/test-{model,modes,nonblocking,counts,plugin,shapes,hints,open-errors,long-paths}.sh
    mpi/test-{posix,collective,sharing,truncate,delete,flush,finalize,kill,stopped,rank-killed}.sh)
flags="-g -O1 -fsanitize=address -fno-omit-frame-pointer"
unset MAKEFLAGS MFLAGS MAKELEVEL

build() {
    cd "$dir" || return
    [[ -e Makefile ]] ||
        "$top/configure" -q --enable-debug CC=gcc ${MPICC:+"MPICC=$MPICC"} CFLAGS="$flags" \
        LDFLAGS=-fsanitize=address || return
    make -j2 && make -C tests -j2 programs
}
echo "building in $dir (log: asan.log)"
build >"$dir/asan.log" 2>&1 || { tail -n 20 "$dir/asan.log" >&2; exit 1; }

SANITIZER=$(readlink -f "$(gcc -print-file-name=libasan.so)")
export SANITIZER UCX_MEM_EVENTS=n UCX_MEMTYPE_CACHE=n
rm -rf "$dir/asan-reports"
mkdir "$dir/asan-reports"
export ASAN_OPTIONS=detect_leaks=0:log_path=$dir/asan-reports/asan top_builddir=$dir

# What is not seen shows nothing: a buffer that is too short, read by the plugin.
cat >"$dir/short.c" <<'END'
#include <mpi.h>
#include <stdlib.h>
int main(int argc, char **argv)
{
    MPI_File fh;

    MPI_Init(&argc, &argv);
    MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    return MPI_File_write_at(fh, 0, malloc(1000), 1001, MPI_BYTE, MPI_STATUS_IGNORE);
}
END
"${MPICC:-mpicc.mpich}" -o "$dir/short" "$dir/short.c" || exit 1
"$top/tests/mpi/run-mpi.sh" -n 1 "$dir/short" FILE >"$dir/short.out" 2>&1
cat "$dir"/asan-reports/* 2>/dev/null | grep -q 'heap-buffer-overflow' &&
    cat "$dir"/asan-reports/* | grep -q 'in zcache_transfer' ||
    { cat "$dir/short.out" >&2; echo "FAILED: the sanitizer does not see the plugin" >&2; exit 1; }
rm -f "$dir"/asan-reports/*

failed=0
make -C "$dir/tests" check TESTS="${tests[*]}" TESTS_ENVIRONMENT="ASAN_OPTIONS='$ASAN_OPTIONS'" ||
    failed=1
for report in "$dir"/asan-reports/*; do
    [[ -e $report ]] || continue
    cat "$report" >&2
    failed=1
done
exit "$failed"
