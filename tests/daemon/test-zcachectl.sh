#!/usr/bin/env bash
# zcachectl: tables with a column or line a daemon, JSON, control, exit status.
. "$(dirname -- "$0")/functions.sh"
requires command -v jq

make_tmp
cd "$tmp" || exit 99
mkdir root
for i in 0 1 2; do start_daemon $i --root root --cache-size 16M --log info; done
export ZCACHE_DAEMONS=$tmp
ctl() { "$zcachectl" "$@"; }
json() { # FILTER COMMAND
    ctl --json "$2" | jq -e "$1" >/dev/null || fail "zcachectl --json $2 | jq '$1'"
}

expect 0 "daemon *host*state*dirty*root
0 *serving*16 MiB*$tmp/root
1 *serving*$tmp/root
2 *serving*$tmp/root" ctl status
expect 0 "*version *libfabric *uptime_s*" ctl status -v
# How far locks of the root's file system reach; this one is local.
expect 0 "daemon *hung *locks *root*serving* host *$tmp/root*" ctl status
expect 0 "*locks  * host *locks_why *: local*" ctl status -v
json 'all(.daemons[].status; .locks == "host" and (.locks_why | contains("local")))' status
wait_for 60 grep -q "root $tmp/root: on .*: local; scattered pieces are written together" 0.log ||
    fail "the log does not say how scattered pieces are written: $(cat 0.log)"
expect 0 "counter * 0 * 1 * 2*dirty_bytes * 0 B * 0 B * 0 B*" ctl stats
expect 0 "counter *what it counts*dirty_bytes *not written back*" ctl -v stats
expect 0 "daemon *path" ctl files
expect 0 "1: everything is written back" ctl --daemons 1.addr flush
expect 0 "*2: 0 B dropped from the cache" ctl evict

# Columns line up: all lines of the table end where the widest does.
ends=$(ctl stats | awk '{ print length }' | sort -u)
[[ $ends =~ ^[0-9]+$ ]] || fail "stats does not line up: $ends"

json '.command == "stats" and (.daemons | length) == 3' stats
json 'all(.daemons[]; .stats.capacity_bytes == 16777216 and .stats.dirty_bytes == 0)' stats
json '[.daemons[].name] == ["0", "1", "2"]' status
json 'all(.daemons[]; (.status.boot | type) == "string" and (.status.pid | type) == "number")' \
    status
json 'all(.daemons[]; .files == [])' files
json 'all(.daemons[]; .bytes == 0)' evict
json 'all(.daemons[]; has("error") | not)' flush

# One daemon is gone: the others answer, the status says so.
pid=${daemon_pids[1]}
stop_daemon 1 KILL
expect 1 "*
0 *
2 *
zcachectl: 1: process $pid is gone and left $tmp/1.addr behind" ctl status
ctl --json status | jq -e '.daemons[1].error and .daemons[2].status' >/dev/null ||
    fail "JSON of a failure"
rm 1.addr

# Draining daemons open nothing until they are told to again, and can be asked and stopped.
expect 0 "*opens are refused*" ctl drain
expect 0 "*draining*draining*" ctl status
echo hello >root/f
expect 1 "*opens no more files; zcachectl resume opens files again*" "$build/tests/daemon/zcput" read 0.addr "$tmp/root/f" 5
expect 0 "0: opens files again*2: opens files again" ctl resume
expect 0 "*serving*serving*" ctl status
"$build/tests/daemon/zcput" read 0.addr "$tmp/root/f" 5 >/dev/null || fail "not opened after resume"
expect 0 "*opens are refused*" ctl drain
expect 0 "0: *stopped*2: *stopped" ctl stop
[[ -z $(ls ./*.addr 2>/dev/null) ]] || fail "stop returned too early"
for i in 0 2; do
    wait "${daemon_pids[i]}" || fail "status $? of daemon $i: $(cat $i.log)"
    daemon_pids[i]=
done
