#!/usr/bin/env bash
# Limits of the shell that starts processes: on the size of files, which memory that is shared must
# not be taken for, and on processor time, near which a daemon writes back and ends.
. "$(dirname -- "$0")/functions.sh"

zcput=$build/tests/daemon/zcput
size=4M

make_tmp
cd "$tmp" || exit 99
mkdir root
quiet=(--root root --cache-size 64M --high-watermark 100 --low-watermark 99 --idle-time 0)

# ---- ulimit -f ----
# A client's own files may be small only; what it writes is the daemon's. (An error of the daemon's
# files is in test-fence.)
start_daemon 0 "${quiet[@]}"
(ulimit -f 16 && exec "$zcput" leave 0.addr "$tmp/root/large" $size) >out 2>&1 </dev/null ||
    fail "a client with ulimit -f 16: status $?: $(cat out)"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/large $size || fail "it has written something else"

# ---- ulimit -t ----
soft_of() { awk '/^Max cpu time/ { print $4, $5 }' "/proc/$1/limits"; }
for limits in "1000 950 1000" "10 9 10" "unlimited unlimited unlimited"; do
    read -r given want <<<"$limits"
    (
        [[ $given == unlimited ]] || ulimit -t "$given"
        start_daemon 0 "${quiet[@]}"
        [[ $(soft_of "${daemon_pids[0]}") == "$want" ]] ||
            fail "with ulimit -t $given the limits are $(soft_of "${daemon_pids[0]}")"
        stop_daemon 0
    ) || exit 1
done

# As the kernel sends it near the limit, each second.
start_daemon 0 "${quiet[@]}" --grace 1h
mkfifo in
"$zcput" leave 0.addr "$tmp/root/last" $size <in >out 2>&1 &
client=$!
cleanup_fn "kill -KILL $client 2>/dev/null"
exec {client_in}>in
wait_for 60 grep -qs written out || fail "the client: $(cat out)"
for ((i = 0; i < 3; i++)); do kill -XCPU "${daemon_pids[0]}" || break; done
wait_for 60 gone "${daemon_pids[0]}" || fail "SIGXCPU does not end it: $(cat 0.log)"
stop_daemon 0 || fail "status $? after SIGXCPU: $(cat 0.log)"
expect 0 "*the limit on processor time (ulimit -t) is almost reached*" cat 0.log
"$zcput" check root/last $size || fail "not all is written back before its end"
exec {client_in}>&-
wait "$client"
