#!/usr/bin/env bash
# A file system that hangs: the log names the path, once, and says when it answers again; status
# counts the calls; other files are served; zcachectl --timeout is kept and says what it waited for;
# a second signal ends the daemon at once, and what is left is named.
. "$(dirname -- "$0")/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "$0")/../slowfs/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
requires command -v script

make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
cd "$tmp" || exit 99
mkdir below root root/slow
fs=
cleanup_fn '[[ -z $fs ]] || kill -CONT "$fs" 2>/dev/null'
slowfs_mount below root/slow || fail "no slowfs: $(cat slowfs.log)"
fs=${slowfs_pids[root/slow]}
mkdir root/slow/addresses
hang() { kill -STOP "$fs"; }
answer() { kill -CONT "$fs"; }
export ZCACHE_DAEMONS=$tmp/0.addr
# Also the client's silence, after which it would be dropped and its file written back, is long.
lazy=(--root root --cache-size 64M --idle-time 0 --hang-report 1s --timeout 1h)

status_of() { "$zcachectl" --json status | jq ".daemons[0].status.$1"; }
is() { (($(status_of "$1") == $2)); }
write_slow() { "$zcput" write 0.addr "$tmp/root/slow/f" 16M </dev/null >/dev/null; }
# expect_late PATTERN COMMAND ...: in time, with status 3
expect_late() {
    local since=$SECONDS

    expect 3 "$@"
    ((SECONDS - since < 20)) || fail "it took $((SECONDS - since)) s"
}
said() { grep -c -- "$1" 0.log; }

start_daemon 0 "${lazy[@]}"
write_slow || fail "cannot write: $(cat 0.log)"
hang

# What is waited for has a limit, and a name.
expect_late "zcachectl: 0: not done within 3s: waiting for it to write everything back" \
    "$zcachectl" --timeout 3s flush
expect_late "*\"error\": \"not done within 3s: waiting for it to write everything back\"*" \
    "$zcachectl" --timeout 3s --json evict
expect_late "zcachectl: not done within 3s: waiting for the file system" \
    "$zcachectl" --daemons root/slow/addresses --timeout 3s status
expect_late "*\"error\": \"not done within 3s: waiting for the file system\"*" \
    "$zcachectl" --daemons root/slow/addresses --timeout 3s --json status
# Calls that hang: one that looks the file up, which others wait for, or also one that writes it.
counted() {
    local n

    n=$(status_of store_hung)
    ((n > 0)) && "$zcachectl" status >table && [[ $(<table) == "daemon "*hung*0\ *" $n "* ]]
}
wait_for 60 counted || fail "hung: $(status_of store_hung), $(cat table)"
expect 0 "*store_longest_ms*" "$zcachectl" status -v

# The log, and a terminal.
# Of the file's calls, which are writes for the most part, whichever began first.
wait_for 60 grep -q "root/slow/f: a call to the store ([a-z]*) has taken 1 s and goes on" 0.log ||
    fail "not said: $(cat 0.log)"
script -qefc "$zcachectl flush" screen </dev/null >/dev/null 2>&1 &
flusher=$!
wait_for 60 grep -qs "writing back: 16 MiB left, nothing moves" screen ||
    fail "not shown: $(tr '\r' '\n' <screen | uniq -c | cat -A) $(cat 0.log)"

# Other files are served meanwhile.
"$zcput" write 0.addr "$tmp/root/g" 1M </dev/null >/dev/null || fail "another file is not written"
other_stored() { "$zcput" check root/g 1M 2>/dev/null; }
wait_for 60 other_stored || fail "another file is not stored"

answer
wait "$flusher" || fail "flush: $(cat -A screen)"
shown=$(tr '\r' '\n' <screen)
[[ $shown == *$'left'*$'\e[K\n\e[K0: everything is written back'* ]] ||
    fail "the line stays: $(cat -A screen)"
wait_for 60 grep -q "root/slow/f: the store answers again, after [0-9]* s" 0.log ||
    fail "not said: $(cat 0.log)"
(($(said "goes on") == 1 && $(said "answers again") == 1)) || fail "said too often: $(cat 0.log)"
is store_hung 0 || fail "it hangs still"
"$zcput" check root/slow/f 16M || fail "not everything was written back"

# It ends while the file system hangs: the log says how far it is, the second signal is the end.
# Another daemon: to this one zcachectl's requests of before may still be under way, and write.
stop_daemon 0 || fail "status $?: $(cat 0.log)"
rm root/slow/f
start_daemon 0 "${lazy[@]}"
write_slow || fail "cannot write: $(cat 0.log)"
hang
expect_late "zcachectl: 0: not done within 3s: waiting for it to write everything back" \
    "$zcachectl" --timeout 3s stop
kill -TERM "${daemon_pids[0]}"
wait_for 60 grep -q "stopping: writing back: 16 MiB left, nothing moves" 0.log ||
    fail "not said: $(cat 0.log)"
kill -INT "${daemon_pids[0]}"
wait_for 60 gone "${daemon_pids[0]}" || fail "the second signal does not end it: $(cat 0.log)"
answer # without which a process cannot end one of whose calls the file system has taken
stop_daemon 0 CONT
status=$?
((status == 4)) || fail "status $status, not 4: $(cat 0.log)"
expect 0 "*second signal: exiting at once, 16 MiB not written back are lost
*lost: 16 MiB (16777216 bytes) of *root/slow/f: within bytes 0-16777215" cat 0.log

# zcached at a terminal.
rm -f screen
script -qefc "echo \$\$ >pid; exec $zcached --address-file 0.addr ${lazy[*]}" screen </dev/null >/dev/null 2>&1 &
terminal=$!
cleanup_fn "kill -KILL $terminal 2>/dev/null"
wait_for 60 test -e 0.addr || fail "it does not start: $(cat -A screen)"
write_slow || fail "cannot write"
hang
kill -TERM "$(cat pid)"
wait_for 60 grep -qs "zcached: writing back: 16 MiB left" screen || fail "$(cat -A screen)"
answer
wait_for 60 gone "$terminal" || fail "it does not end: $(cat -A screen)"
wait "$terminal" || fail "status $?: $(cat -A screen)"
shown=$(tr '\r' '\n' <screen)
[[ $shown == *$'left'*$'\e[K\n\e[K'* ]] || fail "the line stays: $(cat -A screen)"
