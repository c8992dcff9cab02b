#!/usr/bin/env bash
# Dirty data at the end of the daemon: written back, or named; a second signal gives it up.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq

make_tmp
cd "$tmp" || exit 99
mkdir root
# Nothing is written back before it must be.
lazy=(--root root --cache-size 128M --idle-time 0 --high-watermark 100% --low-watermark 99%)

writer=
# dirty SIZE: a client writes to root/f and keeps it open.
dirty() {
    local n

    rm -f fifo out
    mkfifo fifo
    "$zcput" write 0.addr "$tmp/root/f" "$1" <fifo >out &
    writer=$!
    exec {hold}>fifo
    wait_for 60 grep -qs written out || fail "cannot write: $(cat 0.log)"
    n=$("$zcachectl" --daemons 0.addr --json stats | jq '.daemons[0].stats.dirty_bytes')
    ((n > 0)) || fail "nothing is dirty"
}
release() {
    exec {hold}>&-
    wait "$writer"
}

for signal in TERM INT; do
    rm -f root/f
    start_daemon 0 "${lazy[@]}"
    dirty 5M
    stop_daemon 0 $signal || fail "SIG$signal: status $?: $(cat 0.log)"
    release
    "$zcput" check root/f 5M || fail "SIG$signal: not everything was written back"
done

rm -f root/f
start_daemon 0 "${lazy[@]}"
dirty 5M
expect 0 "0: everything is written back" "$zcachectl" --daemons 0.addr flush
"$zcput" check root/f 5M || fail "not everything was flushed"
expect 0 "0: 5 MiB dropped from the cache" "$zcachectl" --daemons 0.addr evict
expect 0 "*
0 * 1 * 5 MiB * 0 B * 0 B * 0 B * 0 B * - * $tmp/root/f" "$zcachectl" --daemons 0.addr files
release
stop_daemon 0 || fail "status $?: $(cat 0.log)"

# A client is killed, or as good as dead, while its data is on the way: nothing of that is
# waited for.
written() { "$zcachectl" --daemons 0.addr --json stats | jq '.daemons[0].stats.rma_in_bytes'; }
enough() { (($(written) > 64 << 20)); }
for i in KILL KILL STOP; do
    rm -f root/f
    start_daemon 0 --root root --cache-size 128M --timeout 6s
    "$zcput" forever 0.addr "$tmp/root/f" 32M &
    writer=$!
    wait_for 60 enough || fail "cannot write: $(cat 0.log)"
    kill -$i "$writer"
    kill -TERM "${daemon_pids[0]}"
    wait_for 60 gone "${daemon_pids[0]}" ||
        fail "$i: the daemon does not stop: $(cat 0.log)"
    stop_daemon 0 || fail "$i: status $?: $(cat 0.log)"
    kill -KILL "$writer" 2>/dev/null
    wait "$writer" 2>/dev/null
done

# What cannot be written is named, and the status says so.
rm -f root/f
(ulimit -f 1000 && start_daemon 0 "${lazy[@]}" && echo "${daemon_pids[0]}" >pid && daemon_pids=() &&
    trap - EXIT && dirty 5M && kill -TERM "$(cat pid)" && wait "$(cat pid)"; echo $? >status)
expect 0 4 cat status
expect 0 "*not everything could be written back*lost: * of $tmp/root/f: *" cat 0.log
[[ ! -e 0.addr ]] || fail "the address file stayed"

# Two signals at once: it ends with 4 and says what is lost.  It goes on writing until it is gone,
# so that some of it may not be.
rm -f root/f
start_daemon 0 "${lazy[@]}"
dirty 64M
kill -STOP "${daemon_pids[0]}"
kill -INT "${daemon_pids[0]}"
kill -TERM "${daemon_pids[0]}"
stop_daemon 0 CONT
status=$?
release
((status == 4)) || fail "status $status, not 4: $(cat 0.log)"
expect 0 "*second signal: exiting at once, * MiB not written back are lost
*lost: * MiB (* bytes) of *root/f: within bytes *" cat 0.log
[[ ! -e 0.addr ]] || fail "the address file stayed"
