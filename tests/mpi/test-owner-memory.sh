#!/usr/bin/env bash
# The memory of an owner of blocks stays within its limit, whatever many clients send at a time: a
# dedicated aggregator with a cache of 8 MiB takes 48 MiB, from one rank and from twelve.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "its ranks write through it"
iotasks=$build/tests/bench/iotasks
[[ -x $iotasks ]] || { echo "skipped: this build has no $iotasks"; exit 77; }
[[ ! ${TEST_PROGRAMS:-} ]] || { echo "skipped: $iotasks is for MPICH"; exit 77; }
[[ ! ${SANITIZER:-} ]] || { echo "skipped: a sanitizer takes memory of its own"; exit 77; }

make_root
# KiB.  Its limit: pages; as much again for ranges of scattered pages; what clients may make it hold
# (iod/zcached.c); tables, stacks of threads, and what the heap keeps.
cache=$((8 << 10))
limit=$((2 * cache + (12 << 10) + (8 << 10)))
peak() { awk '/^VmHWM:/ { print $2 }' "/proc/${daemon_pids[100]}/status"; }
for n in 1 12; do
    rm -f "$root/f"
    start_aggregators 1 --cache-size "${cache}K" --page-size 256K
    before=$(peak)
    mpi_quiet "$n" "$iotasks" filetype 1 $(((6 << 20) / n)) "zcache:$root/f" "$root/f" ||
        fail "$n clients"
    at_least 100 written_bytes $((48 << 20)) || fail "$n clients: not all went to the owner"
    grown=$(($(peak) - before))
    echo "$n clients: the owner's memory grows by $grown KiB at most"
    ((grown <= limit)) || fail "$n clients: $grown KiB"
    stop_aggregators || fail "$n clients: not drained"
done
