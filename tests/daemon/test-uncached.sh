#!/usr/bin/env bash
# --cache-size 0: what a client was told is written is in the file, and stays there when the
# daemon is killed.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq

make_tmp
cd "$tmp" || exit 99
mkdir root
start_daemon 0 --root root --cache-size 0
mkfifo fifo
"$zcput" write 0.addr "$tmp/root/f" 100M <fifo >out &
writer=$!
exec {hold}>fifo
wait_for 60 grep -qs written out || fail "cannot write: $(cat 0.log)"
[[ $(stat_of 0 dirty_bytes) == 0 ]] || fail "$(stat_of 0 dirty_bytes) bytes are dirty"
[[ $(stat_of 0 used_bytes) == 0 ]] || fail "$(stat_of 0 used_bytes) bytes are cached"
(($(stat_of 0 capacity_bytes) <= 64 << 20)) || fail "buffers of $(stat_of 0 capacity_bytes) bytes"
stop_daemon 0 KILL
exec {hold}>&-
wait "$writer"
"$zcput" check root/f 100M || fail "not everything is in the file"
