#!/usr/bin/env bash
# zcached --grace: after SIGTERM it serves on, new opens too, and writes back, until its last client
# has left, the time is over, or SIGINT ends it.  zcache run ends its daemons with the job.
. "$(dirname -- "$0")/functions.sh"

zcput=$build/tests/daemon/zcput
size=4M

make_tmp
cd "$tmp" || exit 99
mkdir root
# Nothing is written back by watermarks, or because it is idle.
quiet=(--root root --cache-size 64M --high-watermark 100 --low-watermark 99 --idle-time 0)

# start_client MODE FILE: writes it, and keeps it open until end_client.
clients=0
start_client() {
    clients=$((clients + 1))
    rm -f "in.$clients" "out.$clients"
    mkfifo "in.$clients"
    "$zcput" "$1" 0.addr "$tmp/root/$2" $size <"in.$clients" >"out.$clients" 2>&1 &
    client=$!
    cleanup_fn "kill -KILL $client 2>/dev/null"
    exec {client_in}>"in.$clients"
    wait_for 60 grep -qs written "out.$clients" || fail "the client: $(cat "out.$clients")"
}
end_client() {
    exec {client_in}>&-
    wait "$client" || fail "the client: status $?"
}
# in_mask FIELD SIGNAL PID: whether the mask of signals in /proc/PID/status has it.
in_mask() {
    local mask

    mask=$(sed -n "s/^$1:[^0-9a-f]*//p" "/proc/$3/status" 2>/dev/null)
    [[ $mask ]] && ((16#$mask >> ($(kill -l "$2") - 1) & 1))
}
is_written() { "$zcput" check "root/$1" $size 2>/dev/null; }
says_grace() { grep -qs "SIGTERM: serving on" 0.log; }

# leave_daemon OPTION ...: starts one with a client that has $file open, and tells it to leave.
leave_daemon() {
    start_daemon 0 "${quiet[@]}" "$@"
    start_client leave "$file"
    ! is_written "$file" || fail "$file is written back before anything asked for it"
    kill -TERM "${daemon_pids[0]}"
    wait_for 60 says_grace || fail "SIGTERM: the log has $(cat 0.log)"
}

# ---- it serves on, and ends with the last client ----
file=one
leave_daemon --grace 600s --grace-alone 100ms
wait_for 60 is_written one || fail "not written back in the grace time"
kill -TERM "${daemon_pids[0]}" # batch systems repeat it
kill -XCPU "${daemon_pids[0]}" # not from the kernel
"$zcput" print $size >want
"$zcput" read 0.addr "$tmp/root/one" $size >got || fail "a new client cannot open one"
cmp want got || fail "a new client reads something else"
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
client_one=$client client_one_in=$client_in
start_client leave two
kill -TERM "${daemon_pids[0]}"
wait_for 60 is_written two || fail "what a new client writes is not written back"
end_client
client=$client_one client_in=$client_one_in
end_client
wait_for 60 gone "${daemon_pids[0]}" || fail "its clients have left, and it does not end"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
[[ ! -e 0.addr ]] || fail "the address file is still there"

# ---- the time is over, whatever signals come meanwhile ----
file=three
leave_daemon --grace 1s --grace-alone 24h
has_ended() { kill -HUP "$1" 2>/dev/null; gone "$1"; } # more often than it looks at the time
wait_for 60 has_ended "${daemon_pids[0]}" || fail "the grace time is over, and it does not end"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
is_written three || fail "not all is written back at its end"
end_client

# SIGPWR however often, and the first SIGINT, after the grace time has ended, give up nothing; nor
# does SIGXCPU of a batch system where there is no grace time: the store takes no write until the
# daemon has them.
faultshim=$build/tests/.libs/faultshim.so
if [[ -e $faultshim ]]; then
    export FAULTSHIM_UNDER=$tmp/root FAULTSHIM_HOLD=$tmp/hold
    : >hold
    taken() { ! in_mask ShdPnd "$1" "${daemon_pids[0]}"; }
    # holds SIGNAL ...: the daemon takes these while the store holds what it writes back.
    holds() {
        local signal

        for signal; do
            kill -"$signal" "${daemon_pids[0]}"
            wait_for 60 taken "$signal" || fail "it does not take SIG$signal"
        done
        rm hold
        wait_for 60 gone "${daemon_pids[0]}" || fail "$*: it does not end"
        stop_daemon 0 || fail "$*: status $?: $(cat 0.log)"
        is_written held || fail "$*: not all is written back"
        end_client
        rm root/held
    }
    file=held
    daemon_preload=$faultshim leave_daemon --grace 100ms --grace-alone 24h --log info
    wait_for 60 grep -q "stopping: writing back" 0.log || fail "the grace time does not end"
    holds PWR PWR INT PWR
    : >hold
    daemon_preload=$faultshim start_daemon 0 "${quiet[@]}" --grace 0
    start_client leave held
    holds XCPU XCPU XCPU
    unset FAULTSHIM_UNDER FAULTSHIM_HOLD
fi

# ---- SIGINT ends it at once: in the grace time, and without ----
file=four
for signal in TERM ""; do
    start_daemon 0 "${quiet[@]}" --grace 600s --grace-alone 24h
    if [[ $signal ]]; then
        kill -TERM "${daemon_pids[0]}"
        wait_for 60 says_grace || fail "SIGTERM: the log has $(cat 0.log)"
    fi
    start_client write four
    kill -INT "${daemon_pids[0]}"
    wait_for 60 gone "${daemon_pids[0]}" || fail "SIGINT does not end it"
    stop_daemon 0 INT || fail "status $? after SIGINT: $(cat 0.log)"
    end_client
    is_written four || fail "not all is written back after SIGINT"
    rm -f root/four
done

# ---- SIGTERM before the daemon is ready: it ends, without a grace time ----
# It is in open() of its log, a FIFO without a reader, while the signal is pending.  SIGTERM alone
# is blocked by bash before it becomes the daemon, too.
blocks_signals() { gone "$1" || in_mask SigBlk PWR "$1"; }
mkfifo log
"$zcached" "${quiet[@]}" --grace 600s --grace-alone 24h --address-file 1.addr --log-file log 2>err &
pid=$!
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 blocks_signals $pid || fail "it does not block signals"
kill -TERM $pid
cat log >said &
reader=$!
wait_for 60 gone $pid || fail "SIGTERM before it is ready: it goes on: $(cat said err)"
wait $pid || fail "SIGTERM before it is ready: status $?: $(cat said err)"
wait $reader
[[ ! -s said ]] || fail "SIGTERM before it is ready: it says $(cat said)"

# ---- zcache run ----
# The daemon gets SIGTERM before the job has opened a file.
cat >job <<'END'
kill -TERM "$(sed -n 's/^pid //p' "$ZCACHE_DAEMONS/0.addr")"
while ! grep -q "SIGTERM: serving on for $4" "$ZCACHE_DAEMONS/0.log"; do sleep 0.02; done
"$1" leave "$ZCACHE_DAEMONS/0.addr" "$3/five" "$2" </dev/null
END
SECONDS=0
"$zcache" run --no-preload --cache-size 16M --grace 600s --root root \
    bash job "$zcput" $size "$tmp/root" 10m >out 2>&1 || fail "zcache run: status $?: $(cat out)"
((SECONDS < 300)) || fail "zcache run waits for the grace time: $SECONDS s"
is_written five || fail "what the job wrote after SIGTERM is lost"
# The file's time counts, as the daemon reads it.
printf 'cache-size = 16M\r\nGrace = 40s ; KillWait is 45 s \r\n' >config
"$zcache" run --no-preload --config config --root root \
    bash job "$zcput" $size "$tmp/root" 40s >out 2>&1 || fail "zcache run --config: status $?: $(cat out)"
expect 2 "*--grace*" "$zcache" stop --grace 5s
