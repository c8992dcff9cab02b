#!/usr/bin/env bash
# Beside a profiler of MPI-IO that is preloaded, such as Darshan (profiler.c stands for it): zcache
# run, zcache env and the plugin behind it leave it all calls of the program, with the names that
# the program has given; what it writes when MPI ends is written.  In front of it the plugin takes
# those on zcache's files, and leaves it those on others.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "a profiler finds MPI-IO behind it"

make_root
cd "$tmp" || exit 99
profiler=$build/tests/.libs/profiler.so
[[ -e $profiler ]] || fail "no $profiler: make check_LTLIBRARIES"
unset SLURM_JOB_ID ROMIO_FSTYPE_FORCE
top=${top_srcdir:-$(dirname -- "${BASH_SOURCE[0]}")/../..}
if [[ ${TEST_MPI:-} ]]; then # of another interface
    "$MPICC" -shared -fPIC -o profiler.so "$top/tests/mpi/profiler.c" || exit 99
    profiler=$tmp/profiler.so
fi
export XDG_RUNTIME_DIR=$tmp PROFILE=$root/profile
"${MPICC:-mpicc.mpich}" -o write_read "$top/examples/write_read.c" || exit 99
bytes=$((8 * 256 * (96 / 2) * 8)) # of two ranks, each

# seen NAME: all that each of both ranks has done was noticed.
seen() {
    local rank

    for rank in 0 1; do
        grep -qE "^rank $rank: 2 opens, 8 reads of $bytes bytes, 8 writes of $bytes bytes, \
0 syncs, 2 closes, [0-9]* below: $1\$" "$PROFILE" ||
            fail "rank $rank: $(cat "$PROFILE" out)"
    done
    rm -f "$PROFILE"
}
ranks() { timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 "$@" >out 2>&1 </dev/null; }
good() { grep -q ': 0 values are wrong$' out || fail "$1: $(<out)"; }

# As the module of a site has it: in the environment, before zcache is.
job=("$zcache" run --summary --root "$root" --)
LD_PRELOAD=$sanitizer$profiler "${job[@]}" "$mpiexec" -n 2 ./write_read "zcache:$root/f" \
    >out 2>&1 </dev/null || fail "run: $(<out)"
good run
grep -qE '^zcache: summary: .*/f: wrote ' out || fail "not through zcache: $(<out)"
seen "zcache:$root/f"
# Other files are the MPI library's.
LD_PRELOAD=$sanitizer$profiler "${job[@]}" "$mpiexec" -n 2 ./write_read "$ufs$root/g" \
    >out 2>&1 </dev/null || fail "ufs: $(<out)"
seen "$ufs$root/g"
# With the prefix forced on all names, the profiler's file is zcache's, too: a place below the root.
ROMIO_FSTYPE_FORCE=zcache: LD_PRELOAD=$sanitizer$profiler "${job[@]}" "$mpiexec" -n 2 \
    ./write_read "$root/h" >out 2>&1 </dev/null || fail "forced: $(<out)"
seen "$root/h"

# Several commands.
LD_PRELOAD=$sanitizer$profiler
export LD_PRELOAD
"$zcache" start --root "$root" || fail "start"
cleanup_fn "LD_PRELOAD= '$zcache' stop >/dev/null 2>&1"
(
    eval "$("$zcache" env "${mpi_option[@]}")"
    ranks ./write_read "zcache:$root/i"
) || fail "env: $(<out)"
unset LD_PRELOAD
seen "zcache:$root/i"
"$zcache" stop || fail "stop"

# By hand, without a daemon, in both orders.
ranks -genv LD_PRELOAD "$sanitizer$profiler:$preload" ./write_read "zcache:$root/k" ||
    fail "embedded: $(<out)"
good embedded
seen "zcache:$root/k"
ranks -genv LD_PRELOAD "$sanitizer$preload:$profiler" ./write_read "zcache:$root/l" ||
    fail "the other order: $(<out)"
good "the other order"
grep -q '^rank 0: 0 opens' "$PROFILE" ||
    fail "this order works, too, and doc/observing.md says that it does not: $(<"$PROFILE")"
rm -f "$PROFILE"
ranks -genv LD_PRELOAD "$sanitizer$preload:$profiler" ./write_read "$ufs$root/o" ||
    fail "the other order, ufs: $(<out)"
seen "$ufs$root/o"

# Linked with the program, it comes behind all that is preloaded, unless it is preloaded as well.
"${MPICC:-mpicc.mpich}" -o linked "$top/examples/write_read.c" "$profiler" || exit 99
rm -f "$PROFILE"
ranks -genv LD_PRELOAD "$sanitizer$profiler:$preload" ./linked "zcache:$root/m" ||
    fail "linked: $(<out)"
seen "zcache:$root/m"
