#!/usr/bin/env bash
# Blocks smaller than a daemon's pages: daemons do not write each other's blocks.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
for n in 1 2 3; do
    start_daemons "$n" --idle-time 1s # while ranges gather, nothing is written back
    mpi_quiet 2 "$programs/t_blocks" "zcache:$root/blocks" || fail "$n daemons"
    mpi_quiet 2 "$programs/t_model" --count 10 --hints zcache_block_size=4K \
        "zcache:$root/model" || fail "$n daemons: random programs"
    stop_daemons || fail "$n daemons: not drained"
done
