#!/usr/bin/env bash
# An open finds the daemon that is in the place of one that has gone, and was waited for in vain.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

marked() { [[ -e $tmp/mark.$1 ]] || gone "$job"; }

make_root
start_daemons 1
export ZCACHE_TIMEOUT=3s
mpi 2 "$programs/t_gone" "zcache:$root/f" "$tmp/mark" >"$tmp/out" 2>&1 </dev/null &
job=$!
wait_for 60 marked 0
stop_daemon 0 KILL
rm -f "$tmp/mark.0"
wait_for 60 marked 1
start_daemon 0 --root "$root"
rm -f "$tmp/mark.1"
wait "$job" || { cat "$tmp/out" >&2; fail "t_gone"; }
stop_daemons || fail "not drained"
[[ $(<"$root/f.1") == xx ]] || fail "not what was written"
