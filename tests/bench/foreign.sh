#!/usr/bin/env bash
# foreign.sh - what the plugin costs files that are not zcache's.
#
#     foreign.sh [RUNS]
#
# One process writes and reads 4 KiB of a file of the MPI library's, again and again, without the
# plugin and with it: instructions of a write and a read in the process, counted by valgrind, as the
# difference of a long run and a short one; and the least processor time of RUNS (default 11) runs
# of 50,000, which take turns.  With libzcache.so, and with libzcache-openmpi.so where it is built.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../mpi/functions.sh"
# shellcheck source=tests/openmpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../openmpi/functions.sh"
bench_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
runs=${1:-11}
make_tmp
file=$tmp/file
[[ ! -w /dev/shm ]] || file=$(mktemp /dev/shm/zcache-foreign.XXXXXX)
unset ROMIO_FSTYPE_FORCE ZCACHE_PATHS

# refs COUNT [VARIABLE]: instructions of a run.
refs() {
    env "${@:2}" valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null \
        "$program" "$file" "$1" 4096 2>&1 | sed -n 's/.*I *refs: *//p' | tr -d ,
}

# each COUNT [VARIABLE]: instructions of one write and one read.
each() {
    local few many

    few=$(refs 500 "${@:2}") many=$(refs "$((500 + $1))" "${@:2}")
    [[ $few && $many ]] || fail "valgrind counts nothing"
    echo $(((many - few) / $1))
}

# compare NAME PLUGIN: a row of the table.
compare() {
    local plain="" with="" each_plain each_with i

    [[ -e $2 ]] || fail "there is no $2" # the linker would go on without it
    for ((i = 0; i < runs; i++)); do
        plain+=$("$program" "$file" 50000 4096)$'\n' || fail "$1, without the plugin"
        with+=$(LD_PRELOAD=$2 "$program" "$file" 50000 4096)$'\n' || fail "$1, with the plugin"
    done
    each_plain=$(each 2000) each_with=$(each 2000 "LD_PRELOAD=$2")
    printf '%s %s %s %s %s\n' "$1" "$each_plain" "$each_with" \
        "$(sort -n <<<"$plain" | sed '/^$/d' | head -n 1)" \
        "$(sort -n <<<"$with" | sed '/^$/d' | head -n 1)" |
        awk '{ printf "%-10s %12d %12d %7.1f%% %10.2f %10.2f %7.1f%%\n", $1, $2, $3,
               100 * ($3 / $2 - 1), $4 / 5e4, $5 / 5e4, 100 * ($5 / $4 - 1) }'
}

printf '%-10s %12s %12s %8s %10s %10s %8s\n' library "instructions" "with" "" "us CPU" "with" ""
program=$tmp/foreign
"${MPICC:-mpicc.mpich}" -O2 -o "$program" "$bench_dir/foreign.c" || exit 1
compare MPICH "$build/adio_zcache/.libs/libzcache.so"

openmpi=$build/adio_zcache/.libs/libzcache-openmpi.so
OPENMPI_PREFIX=${OPENMPI_PREFIX-$(sed -n 's/^OPENMPI_PREFIX = *//p' "$build/tests/Makefile")}
export OPENMPI_PREFIX
if [[ -e $openmpi ]] && use_openmpi; then
    # shellcheck disable=SC2086
    "${CC:-cc}" -O2 -o "$program" "$bench_dir/foreign.c" $openmpi_compile || exit 1
    export OMPI_ALLOW_RUN_AS_ROOT=1
    compare OpenMPI "$openmpi"
else
    echo "skipped: Open MPI: no libzcache-openmpi.so, or no Open MPI"
fi
rm -f "$file"
