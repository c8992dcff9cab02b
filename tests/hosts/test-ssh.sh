#!/usr/bin/env bash
# zcache run, start, stop with daemons on other hosts, over a network.
. "$(dirname -- "$0")/functions.sh"
hosts_up 3
on h0 true || fail "no h0"
mkdir root
opts=(--no-preload --cache-size 16M --root "$tmp/root")
daemon_host() { sed -n 's/^host //p' "$1"; }
daemon_of() { sed -n 's/^pid //p' "$1"; }
zcput=$build/tests/daemon/zcput

# Each daemon runs on its host and listens where others reach it; so do programs.
expect 0 "*
0 *h1 *serving*
1 *h2 *serving*
2 *h3 *serving*" login "$zcache" run "${opts[@]}" --hosts h1,h2,h3 "$zcachectl" status
# shellcheck disable=SC2016
expect 0 "written" login "$zcache" run "${opts[@]}" --hosts h1,h2 --state "$tmp/state" \
    sh -c '"$0" write "$ZCACHE_DAEMONS/1.addr" "$1" 4M' "$zcput" "$tmp/root/f"
[[ $(stat -c %s root/f) == $((4 << 20)) ]] || fail "it is not in the file"
# The requested network is used.
expect 0 "*serving*" login "$zcache" run "${opts[@]}" --hosts h1 --interface eth0 "$zcachectl" status
expect 1 "*zcache: daemon 0 on h1 listens at 127.0.0.1*" \
    login "$zcache" run "${opts[@]}" --hosts h1 --interface lo true
# A daemon that listens on its own host only is reported as such to other hosts.
expect 0 "" login "$zcache" start "${opts[@]}" --state "$tmp/near" --interface loopback
expect 0 "*serving*" login "$zcachectl" --daemons "$tmp/near" status
expect 1 "*listens on the loopback interface of another network namespace*: start it with --listen *" \
    on h1 "$zcachectl" --daemons "$tmp/near" stats
expect 0 "" login "$zcache" stop --state "$tmp/near"

# A directory that only h0 sees cannot be the state directory for h1: /run is each host's own.
expect 1 "zcache: daemon 0: the state directory /run/state is not visible on host h1; use --state*" \
    login "$zcache" run "${opts[@]}" --hosts h1 --state /run/state true

# The connection to a host breaks: its daemon ends by itself, and the run fails.
(login "$zcache" run "${opts[@]}" --hosts h1,h2 --state "$tmp/state" --keep \
    sh -c 'echo >up; while [ ! -e over ]; do sleep 0.1; done') >err 2>&1 &
run=$!
wait_for 60 test -e up || fail "no job: $(cat err)"
pid=$(daemon_of state/1.addr)
mapfile -t shells < <(pgrep -f "^[^ ]*bash .*/zcache on-host serve $tmp/state [0-9a-f]+ 1 ")
((${#shells[@]})) || fail "no shell of daemon 1: $(ps ax)"
on h2 test -d "/proc/$pid" || fail "no daemon on h2"
kill -KILL "${shells[@]}"
touch over
wait "$run"
status=$?
((status == 1)) || fail "status $status: $(cat err)"
grep -q "daemon 1 on h2" err || fail "not named: $(cat err)"
h2_daemon() { on h2 pgrep -x zcached; }
none_on_h2() { ! h2_daemon >/dev/null; }
wait_for 30 none_on_h2 || fail "a daemon stays"
rm -rf state up over

# start and stop; another host needs the state directory only.
expect 0 "" login "$zcache" start "${opts[@]}" --hosts h1,h2
[[ $(daemon_host "$HOME/.zcache/default/1.addr") == h2 ]] || fail "not on h2"
expect 0 "*
0 *h1 *serving*
1 *h2 *serving*" login "$zcache" status
# A process with that number on this host is not mistaken for the daemon.
pid=$(daemon_of "$HOME/.zcache/default/0.addr")
on h1 kill -KILL "$pid"
expect 1 "*zcache: 0.addr: process $pid is gone*1 *h2 *serving*" login "$zcache" status
expect 1 "*zcache: 0.addr: process $pid is gone*" login "$zcache" stop
none_on_h2 || fail "it was not stopped"
expect 0 "*is removed: process $pid is gone*" login "$zcache" start "${opts[@]}" --hosts h1
expect 0 "" login "$zcache" stop

# An unreachable host: reported, without waiting for ever.
expect 0 "" login "$zcache" start "${opts[@]}" --hosts h3
unreachable h3
began=$SECONDS
expect 1 "*zcachectl: 0: *not everything was written back*" login "$zcache" stop
((SECONDS - began < 60)) || fail "that took $((SECONDS - began)) s"
