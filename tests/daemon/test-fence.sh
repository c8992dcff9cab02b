#!/usr/bin/env bash
# Bytes that cannot be written back: kept and shown while the daemon lives, retried at its end, and
# then reported by path and amount, with an exit status of zcached, zcache run and zcache stop.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
requires prlimit --pid $$ --fsize

make_tmp
set_silence
cd "$tmp" || exit 99
mkdir root
export XDG_RUNTIME_DIR=$tmp
root=$tmp/root
small=(--root "$root" --cache-size 64M)

# refuse PID, allow PID: writes beyond the first megabyte of a file.
refuse() { prlimit --pid "$1" --fsize=1000000:unlimited; }
allow() { prlimit --pid "$1" --fsize=unlimited:unlimited; }

# put_and_die ADDRESS FILE SIZE: a client writes, and is killed before it closes the file.
put_and_die() {
    local pid

    rm -f fifo out
    mkfifo fifo
    "$zcput" write "$1" "$root/$2" "$3" <fifo >out 2>&1 &
    pid=$!
    exec {hold}>fifo
    wait_for 60 grep -qs written out || fail "cannot write: $(cat out)"
    kill -KILL "$pid"
    wait "$pid" 2>/dev/null
    exec {hold}>&-
}

# ---- a daemon ----
status_of() { "$zcachectl" --daemons 0.addr --json status | jq ".daemons[0].status.$1"; }
some_failed() { (($(status_of failed_bytes) > 0)); }

start_daemon 0 "${small[@]}" --timeout "$silence"
refuse "${daemon_pids[0]}"
put_and_die 0.addr f 4M
wait_for 60 some_failed || fail "nothing is refused"
# The client is gone, its handle closed; then a STAT and a reader.
no_client() { (($(status_of sessions) == 1)); }
wait_for 60 no_client || fail "the dead client stays"
failed=$(status_of failed_bytes)
((failed > 2 << 20)) || fail "$failed bytes are refused of 4M"
expect 0 "daemon *failed*lost*root
0 * $root" "$zcachectl" --daemons 0.addr status
expect 0 "*failed*lost*error*
0 * 0 * MiB *File too large* $root/f" "$zcachectl" --daemons 0.addr files
lost=$("$zcachectl" --daemons 0.addr --json files | jq '.daemons[0].files[0].lost_bytes')
[[ $lost == 0 ]] || fail "lost: $lost"
stop_daemon 0
status=$?
((status == 4)) || fail "status $status, not 4: $(cat 0.log)"
expect 0 "*lost: * of $root/f: *File too large*" cat 0.log

# The cause is removed: everything is stored, and the shutdown succeeds.
rm -f root/f
start_daemon 0 "${small[@]}" --timeout "$silence"
refuse "${daemon_pids[0]}"
put_and_die 0.addr f 4M
wait_for 60 some_failed || fail "nothing is refused"
wait_for 60 no_client || fail "the dead client stays"
allow "${daemon_pids[0]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "not everything was written back"

# Deleted by another process while dirty: no loss, but a message.
rm -f root/f
start_daemon 0 "${small[@]}" --timeout "$silence"
refuse "${daemon_pids[0]}"
put_and_die 0.addr f 4M
wait_for 60 some_failed || fail "nothing is refused"
wait_for 60 no_client || fail "the dead client stays"
rm root/f
stop_daemon 0 || fail "status $?: $(cat 0.log)"
expect 0 "*$root/f: * bytes that were not written back are dropped: another program has deleted*" \
    cat 0.log

# ---- zcache run and stop ----

rm -f root/f
export root zcput
# shellcheck disable=SC2016
job='prlimit --pid "$(sed -n "s/^pid //p" "$ZCACHE_DAEMONS/0.addr")" --fsize=1000000:unlimited
    "$zcput" write "$ZCACHE_DAEMONS/0.addr" "$root/f" 4M </dev/null; exit 0'
expect 1 "*zcache: daemon 0 has lost bytes:
    lost: * of $root/f: *File too large*
zcache: the logs are kept in $tmp/state" \
    "$zcache" run --no-preload --root "$root" --state "$tmp/state" bash -c "$job"
[[ -s $tmp/state/0.log ]] || fail "the log is gone"
expect 7 "*zcache: daemon 0 has lost bytes:*" \
    "$zcache" run --no-preload --root "$root" --state "$tmp/state" bash -c "${job/exit 0/exit 7}"

rm -f root/f
cleanup_fn '[[ ! -d s ]] || "$zcache" stop --state s >/dev/null 2>&1'
expect 0 "" "$zcache" start --state s --root "$root"
refuse "$(daemon_of s/0.addr)"
put_and_die s/0.addr f 4M
expect 0 "*failed*lost*" "$zcache" status --state s
expect 1 "zcachectl: 0: *
    lost: * of $root/f: *File too large*
zcache: not everything was written back and stopped; the logs are kept in $tmp/s" \
    "$zcache" stop --state s
[[ -s s/0.log ]] || fail "the log is gone"

# Nothing lost: nothing printed, nothing kept.
rm -f root/f
# shellcheck disable=SC2016
expect 0 "written" "$zcache" run --no-preload --root "$root" --state "$tmp/state" \
    bash -c '"$zcput" write "$ZCACHE_DAEMONS/0.addr" "$root/f" 4M </dev/null'
[[ ! -e $tmp/state/0.log ]] || fail "the log stays"

# Losses reported by programs themselves.
# shellcheck disable=SC2016
expect 1 "zcache: bytes were lost in the job:
    lost: 12 bytes of /a b (0-9 20-21): no space
zcache: the logs are kept in $tmp/state" \
    "$zcache" run --no-preload --daemons 0 --state "$tmp/state" \
    bash -c '[[ -z ${ZCACHE_DAEMONS+x} ]] || exit 9
        printf "12\t/a b\t0-9 20-21\tno space\n" >>"$ZCACHE_LOSSES"'
