#!/usr/bin/env bash
# A daemon that is stopping and has not written everything back yet keeps others off its address
# file, also those of other hosts: what it still writes would come after what they write.
. "$(dirname -- "$0")/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "$0")/../slowfs/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"

umask 077 # address files are their owner's
make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
cd "$tmp" || exit 99
mkdir below root
fs=
cleanup_fn '[[ -z $fs ]] || kill -CONT "$fs" 2>/dev/null'
slowfs_mount below root || fail "no slowfs: $(cat slowfs.log)"
fs=${slowfs_pids[root]}
opts=(--root "$tmp/root" --cache-size 64M --idle-time 0 --timeout 1h --listen fabric)

start_daemon 0 "${opts[@]}"
"$zcput" write 0.addr "$tmp/root/f" 4M </dev/null >/dev/null || fail "cannot write: $(cat 0.log)"
kill -STOP "$fs"
kill -TERM "${daemon_pids[0]}"
wait_for 60 grep -q "stopping: writing back: 4 MiB left" 0.log || fail "not said: $(cat 0.log)"

# As another host sees it.
sed 's/^host .*/host elsewhere/' 0.addr >1.addr
cp 1.addr before
expect 1 "*1.addr belongs to a daemon that is stopping*process ${daemon_pids[0]} on elsewhere*" \
    timeout 60 "$zcached" --root "$tmp/below" --cache-size 16M --address-file 1.addr
cmp 1.addr before || fail "the address file was changed"

kill -CONT "$fs"
wait_for 60 gone "${daemon_pids[0]}" || fail "it does not end: $(cat 0.log)"
"$zcput" check root/f 4M || fail "not everything was written back"

# Now it may be replaced.
start_daemon 1 --root "$tmp/root" --cache-size 16M
expect 0 "*was left by process ${daemon_pids[0]} on elsewhere, which is gone; replacing it" cat 1.log
stop_daemon 1 || fail "status $? of the daemon"
