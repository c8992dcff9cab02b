#!/usr/bin/env bash
# --daemonize: returns when ready, or fails in front of the user; relative paths; the log.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root root --cache-size 16M --daemonize)

# Reading its output to the end does not hang: nothing of ours stays open.
expect 0 "" "$zcached" "${opts[@]}" --address-file 0.addr --pid-file 0.pid
[[ -e 0.addr && -e 0.addr.log ]] || fail "not ready, or no log: $(ls)"
pid=$(cat 0.pid)
daemon_pids[0]=$pid
[[ $(ps -o sid= -p "$pid") -eq $pid ]] || fail "not in a session of its own"
[[ $(readlink "/proc/$pid/cwd") == / ]] || fail "keeps its directory busy"
expect 0 "*serving*$tmp/root" "$zcachectl" --daemons 0.addr status

# SIGHUP: a log that was moved away is made anew.
mv 0.addr.log old.log
kill -HUP "$pid"
wait_for 10 test -e 0.addr.log || fail "SIGHUP did not reopen the log"
expect 0 "*stopped" "$zcachectl" --daemons 0.addr stop
wait_for 10 gone "$pid" || fail "still there"
daemon_pids[0]=
[[ ! -e 0.addr && ! -e 0.pid ]] || fail "files left behind: $(ls)"

# Failures: message and status at the parent, nothing left.
expect 1 "*no provider \"nosuch\"*" "$zcached" "${opts[@]}" --address-file 1.addr --provider nosuch
expect 2 "zcached: --root: nowhere: *" "$zcached" --root nowhere --address-file 1.addr --daemonize
[[ ! -e 1.addr ]] || fail "address file of a daemon that did not start"
