#!/usr/bin/env bash
# BTIO through zcache: its norms are those published, and its files those that MPI's own MPI-IO
# makes, for all methods, with 1 and 4 ranks, with and without a daemon.
set -u
# shellcheck source=tests/mpi/btio.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/btio.sh"

make_root
for n in 1 4; do
    for method in "${methods[@]}"; do
        without_plugin btio "$n" -m "$method" -f "ufs:$root/u-$method-$n" --keep
        [[ $method == epio || $method$n == full1 ]] || same "$root/u-full-1" "$root/u-$method-$n"
        write_all "$n" "$method" "$root/u-$method-$n"
    done
done

# Read with other ranks, another method and another path to the file than written.
start_daemons 1
btio 1 -m simple -f "zcache:$root/u-full-4" --no-write
btio 4 -c W -f "zcache:$root/w" --keep --hint zcache_block_size=1M
stop_daemons || fail "not drained"
without_plugin btio 1 -c W -m simple -f "ufs:$root/w" --no-write

# Cells of different sizes, blocks that end anywhere.
without_plugin btio 9 -n 20 -s 5 -i 2 -f "ufs:$root/u" --keep
btio 9 -n 20 -s 5 -i 2 -f "zcache:$root/z" --keep --hint zcache_block_size=64K
same "$root/u" "$root/z"
