#!/usr/bin/env bash
# Which level writes back: every value of zcache_write_back, and daemons that cache nothing.  If
# writes go through the daemon, `staged` means `stored`; random programs work with all.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# An open file is not written back before it must be.
lazy=(--page-size 64K --idle-time 0 --high-watermark 100% --low-watermark 99%)

flush() { mpi_quiet 3 "$programs/t_flush" "zcache:$root/f" "$@" || fail "$what: $*"; }
model() {
    mpi_quiet 3 "$programs/t_model" --romio --count 4 "$@" "zcache:$root/m" || fail "$what: $*"
}

through() { flush through zcache_sync_level=staged zcache_close_level=staged "$@"; }

make_root
for who in none aggregator daemon both; do
    what=zcache_write_back=$who
    start_daemons 1 "${lazy[@]}"
    [[ $who == daemon || $who == both ]] || through "$what"
    model --hints "$what"
    stop_daemons || fail "$what: not drained"
done

what="--cache-size 0"
start_daemons 2 --cache-size 0 --page-size 4K
model
through
[[ $(stat_of 0 used_bytes) == 0 ]] || fail "$what: $(stat_of 0 used_bytes) bytes are cached"
stop_daemons || fail "$what: not drained"
