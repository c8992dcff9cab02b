#!/usr/bin/env bash
# Ranks of a host that are told a range of ports for libfabric, as behind a firewall, and look for a
# free one at the same time.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
ports=$("$(dirname -- "${BASH_SOURCE[0]}")/../ports")
[[ $ports ]] || { echo "skipped: no range of ports outside those that the kernel gives out"; exit 77; }
export ZCACHE_LOCAL=false FI_TCP_PORT_LOW_RANGE=${ports%%:*} FI_TCP_PORT_HIGH_RANGE=${ports##*:}
# Ranks of MPI itself have others.
unset MPIEXEC_PORT_RANGE
for i in 1 2 3 4 5 6; do
    mpi_quiet 8 "$programs/t_io" "zcache:$root/f$i" || fail "job $i"
done
