#!/usr/bin/env bash
# Gigabytes in one access: 5 GiB by each of the ways to say so, and 2 GiB by every function with
# a large count; without daemons and through one. Some minutes, 8 GiB of memory, 12 GiB of disk.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
gib=$((1 << 20)) # KiB
memory=$(awk '/^MemAvailable:/ { print $2 }' /proc/meminfo)
((memory > 8 * gib)) || { echo "skipped: needs 8 GiB of memory, has $((memory / gib))"; exit 77; }
disk=$(df -k --output=avail "$root" | tail -n 1)
((disk > 12 * gib)) || {
    echo "skipped: needs 12 GiB in ${TMPDIR:-/tmp}, has $((disk / gib))"
    exit 77
}

mpi_timeout=${MPI_TIMEOUT:-1800}
for daemons in 0 1; do
    start_daemons "$daemons"
    began=$SECONDS
    mpi_quiet 2 "$programs/t_huge" "zcache:$root/huge" || fail "5 GiB, $daemons daemons"
    echo "5 GiB, $daemons daemons: $((SECONDS - began)) s"
    [[ ! -e $root/huge ]] || fail "the file is left"
    began=$SECONDS
    # The cache holds what the next function writes over: 2 GiB 28 times are much for a disk.
    mpi_quiet 1 "$programs/t_counts" "zcache:$root/counts" $(((1 << 31) + 4104)) \
        zcache_cache_size=3G ||
        fail "2 GiB by every function, $daemons daemons"
    echo "2 GiB by every function, $daemons daemons: $((SECONDS - began)) s"
    stop_daemons || fail "not drained"
done
