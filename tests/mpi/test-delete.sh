#!/usr/bin/env bash
# A file is deleted while this job, or another one, has it dirty: late write-back does not
# bring it back, and does not go into a new file of that name.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# Nothing is written back before it must be: all of it is late.
lazy=(--idle-time 0 --high-watermark 100% --low-watermark 99%)

delete() { mpi_quiet 2 "$programs/t_delete" "zcache:$root/f" "$@" || fail "$n daemons: $*"; }

make_root
for n in 0 1 2; do
    start_daemons "$n" "${lazy[@]}"
    delete here zcache_write_back=none zcache_block_size=256K
    delete here zcache_block_size=256K

    rm -f "$tmp/held" "$tmp/go"
    mpi 2 "$programs/t_delete" "zcache:$root/f" hold "$tmp" >"$tmp/hold.out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/held" || fail "the program did not begin: $(cat "$tmp/hold.out")"
    delete replace
    touch "$tmp/go"
    wait "$job" || fail "$n daemons: hold: $(cat "$tmp/hold.out")"
    delete look
    stop_daemons || fail "$n daemons: not drained"
    delete look # with no daemon at all
    rm -f "$root/f"
done
