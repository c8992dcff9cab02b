#!/usr/bin/env bash
# Random programs against the model, without daemons, with one, and with three.
#
#     MODEL_SEEDS=N   so many of each kind (default 3, without daemons 20; 1000 for a night)
#     MODEL_FIRST=N   from this one on (default 1)
#     MODEL_OPS=N     steps of each (default 60)
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# run RANKS DAEMONS
run() {
    local seeds=${MODEL_SEEDS:-$(($2 ? 3 : 20))}

    mpi_timeout=$((60 + 20 * seeds))
    mpi_quiet "$1" "$programs/t_model" --seed "${MODEL_FIRST:-1}" --count "$seeds" \
        --ops "${MODEL_OPS:-60}" "zcache:$root/file" || fail "$2 daemons, $1 ranks"
}

make_root
for n in 0 1 3; do
    # Pages no larger than the smallest block: see test-blocks.sh.
    start_daemons "$n" --page-size 4K
    for ranks in 1 2 4 7; do
        run "$ranks" "$n"
    done
    stop_daemons || fail "$n daemons: not drained"
done

# Little memory in the daemon: pages come and go all the time.
start_daemons 1 --page-size 4K --cache-size 64K
run 3 1
stop_daemons || fail "a small cache: not drained"
