#!/usr/bin/env bash
# SIGTERM and SIGINT end it with status 0, SIGPIPE and SIGHUP do not end it.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
for signal in TERM INT; do
    start_daemon 0 --root root --cache-size 16M
    kill -PIPE "${daemon_pids[0]}"
    kill -HUP "${daemon_pids[0]}"
    expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
    stop_daemon 0 $signal || fail "status $? after SIG$signal: $(cat 0.log)"
    [[ ! -e 0.addr && ! -s 0.log ]] || fail "after SIG$signal: $(ls; cat 0.log)"
done

# While libfabric starts, which takes 0.3 s: at several moments of that.
for ((i = 0; i < 10; i++)); do
    start_daemon 0 --root root --cache-size 16M
    sleep "0.0$((i * 3))"
    stop_daemon 0 || fail "status $? after SIGTERM: $(cat 0.log)"
    [[ ! -e 0.addr && ! -s 0.log ]] || fail "after SIGTERM: $(ls; cat 0.log)"
done
