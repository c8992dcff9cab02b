#!/usr/bin/env bash
# An aggregator that is silent in the middle of a transfer is an error of that transfer; what others
# own is read and written as before.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

seconds=3
export ZCACHE_TIMEOUT=${seconds}s
make_root
mpi 3 "$programs/t_bystander" "zcache:$root/f" "$seconds" >"$tmp/out" 2>&1 </dev/null ||
    fail "$(cat "$tmp/out")"
