#!/usr/bin/env bash
# zcache stop and run --timeout, over a file system that hangs: stop returns and the daemon goes on,
# run gives up what is left and names it, and leaves a daemon behind that cannot end.
. "$(dirname -- "$0")/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "$0")/../slowfs/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"

make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
cd "$tmp" || exit 99
mkdir below root
fs=
cleanup_fn '[[ -z $fs ]] || kill -CONT "$fs" 2>/dev/null'
slowfs_mount below root || fail "no slowfs: $(cat slowfs.log)"
fs=${slowfs_pids[root]}
printf 'idle-time = 0\ntimeout = 1h\n' >lazy.conf
export XDG_RUNTIME_DIR=$tmp tmp zcput fs
options=(--root root --state state --cache-size 64M --config lazy.conf)

# stop: what is waited for is said, and can be waited for again.
"$zcache" start "${options[@]}" || fail "it does not start"
pid=$(sed -n 's/^pid //p' state/0.addr)
cleanup_fn "kill -KILL $pid 2>/dev/null"
"$zcput" write state/0.addr "$tmp/root/f" 8M </dev/null >/dev/null || fail "cannot write"
kill -STOP "$fs"
expect 1 "*0: not done within 1s: waiting for it to write everything back
*zcache: not everything was written back and stopped; the logs are kept in $tmp/state" \
    "$zcache" stop --state state --timeout 1
gone "$pid" && fail "the daemon is gone"
sessions() { "$zcachectl" --daemons state --json status | sed -n 's/^ *"sessions": \([0-9]*\),*$/\1/p'; }
before=$(sessions)
more() { (($(sessions) > before)); }
"$zcache" stop --state state >out 2>&1 &
stop=$!
wait_for 60 more || fail "it is not asked: $before sessions"
kill -CONT "$fs"
wait "$stop" || fail "status $?: $(cat out)"
"$zcput" check root/f 8M || fail "not everything was written back"

# run: the time is over, what is left is lost, and that is said.
cat >job <<'END'
"$zcput" write "$ZCACHE_DAEMONS/0.addr" "$tmp/root/g" 8M </dev/null
kill -STOP "$fs"
END
expect 1 "*zcache: not written back within 1 s (see --timeout): what is left is given up
*lost: 8 MiB (8388608 bytes) of $tmp/root/g: within bytes 0-8388607
zcache: the logs are kept in $tmp/state" \
    "$zcache" run --no-preload --timeout 1 "${options[@]}" -- sh job
kill -CONT "$fs"

# A daemon cannot even be killed while a write of its is with a process that serves files: it is
# left behind, and named.
mkdir stuck
slowfs_mount below stuck --write-rate 1 --op-us 0 || fail "no slowfs: $(cat slowfs.log)"
options=(--root stuck --state state --cache-size 64M --config lazy.conf)
cat >job <<'END'
"$zcput" write "$ZCACHE_DAEMONS/0.addr" "$tmp/stuck/h" 8M </dev/null
sed -n 's/^pid //p' "$ZCACHE_DAEMONS/0.addr" >left
END
left_behind() { grep -qs '^State:.[DZ]' "/proc/$(cat left)/status"; }
expect 1 "*zcache: not written back within 1 s (see --timeout): what is left is given up
zcache: daemon 0 cannot end: process [0-9]* waits for a file system*; its log ends:
*lost: 8 MiB (8388608 bytes) of $tmp/stuck/h: within bytes 0-8388607
zcache: the logs are kept in $tmp/state" \
    "$zcache" run --no-preload --timeout 1 "${options[@]}" -- sh job
left_behind || fail "the daemon was not left behind"
slowfs_unmount stuck
wait_for 60 gone "$(cat left)" || fail "the daemon stays for good"
