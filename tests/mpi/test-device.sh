#!/usr/bin/env bash
# Memory that the kernel cannot pin is written where write(2) would write it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    mpi 2 "$programs/t_device" "zcache:$root/f" >"$tmp/out" 2>&1 </dev/null ||
        fail "$daemons daemons: $(cat "$tmp/out")"
    ! grep '^skipped' "$tmp/out" || exit 77
    stop_daemons || fail "not drained"
done
