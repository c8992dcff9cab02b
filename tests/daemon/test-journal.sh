#!/usr/bin/env bash
# --journal: acknowledged bytes survive the daemon.  It is killed, and the next one writes back what
# was not stored; not into a file that has been replaced; writers wait while the journal is full.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
faultshim=$build/tests/.libs/faultshim.so
requires test -e "$faultshim"

make_tmp
set_silence
cd "$tmp" || exit 99
mkdir root
root=$tmp/root
small=(--root "$root" --cache-size 64M --journal "$tmp/j" --timeout "$silence")

# Controls whether files below root can be written.
export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
daemon_preload=$faultshim
refuse() { echo ENOSPC >switch; }
allow() { rm -f switch; }
kill_daemon() { stop_daemon 0 KILL || true; }

# put FILE SIZE: a client writes it and ends.
put() {
    expect 0 "written" "$zcput" write 0.addr "$root/$1" "$2"
}

# staged FILE: 4M of a finished job that are in no file when the daemon is killed.
staged() {
    rm -f "root/$1"
    start_daemon 0 "${small[@]}"
    refuse
    put "$1" 4M
    wait_for 60 at_least 0 failed_bytes 1000000 || fail "nothing is refused"
    at_least 0 journal_bytes 4000000 || fail "the journal has $(stat_of 0 journal_bytes) bytes"
    expect 0 "*journal_bytes*4* MiB*" "$zcachectl" --daemons 0.addr -v status
    kill_daemon
    allow
    "$zcput" check "root/$1" 4M 2>/dev/null && fail "all of it is stored"
}

# ---- killed, and started again ----
staged f
start_daemon 0 "${small[@]}"
expect 0 "*journal: * of 1 file that an earlier daemon had taken and not stored are written back*" \
    cat 0.log
"$zcput" read 0.addr "$root/f" 4M >out || fail "it cannot be read"
"$zcput" check out 4M || fail "it is not what the next daemon has"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "it was not written back"
expect 0 "lock" ls j

# Killed again before anything is written back: the new journal and the old one.
staged f
start_daemon 0 "${small[@]}" --idle-time 0
put g 1M
kill_daemon
start_daemon 0 "${small[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "f is not there after two deaths"
"$zcput" check root/g 1M || fail "g is not there"

# Killed in the middle of writes; a small journal, whose segments come and go.
rm -f root/f
for _ in 1 2 3; do
    start_daemon 0 "${small[@]}" --page-size 256K --journal-size 8M
    "$zcput" forever 0.addr "$root/f" 6M >/dev/null 2>&1 </dev/null &
    writer=$!
    wait_for 60 at_least 0 written_bytes 20000000 || fail "too little is written"
    kill_daemon
    wait "$writer"
    start_daemon 0 "${small[@]}" --page-size 256K --journal-size 8M
    stop_daemon 0 || fail "status $?: $(cat 0.log)"
    "$zcput" check root/f 6M || fail "it is not all there"
done

# ---- not into another file ----
gives_up() { # WHY
    start_daemon 0 "${small[@]}"
    expect 0 "*kept back: * of $root/f that an earlier daemon had taken: bytes *: $1*" cat 0.log
    stop_daemon 0
    local status=$?
    ((status == 4)) || fail "status $status, not 4"
    expect 0 $'lock\nset-aside.1' ls j
    rm -r j/set-aside.1
}
staged f
echo new >root/new
mv root/new root/f
gives_up "the file was replaced meanwhile"
expect 0 new cat root/f
staged f
rm root/f
gives_up "the file is not there: it was deleted or renamed, or its directory was"
[[ ! -e root/f ]] || fail "it is there again"

# ---- a shutdown with unstored bytes: they stay in the journal ----
start_daemon 0 "${small[@]}"
refuse
put f 4M
stop_daemon 0
status=$?
allow
((status == 4)) || fail "status $status, not 4: $(cat 0.log)"
expect 0 "*what is not written back is in the journal $tmp/j: the next start tries again*" cat 0.log
start_daemon 0 "${small[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "the next start has not written it back"

# ---- full ----
rm root/f
start_daemon 0 "${small[@]}" --page-size 256K --journal-size 4M --idle-time 0 --high-watermark 100%
put f 40M
(($(stat_of 0 journal_full) > 0)) || fail "it was never full"
(($(stat_of 0 journal_bytes) <= 4 << 20)) || fail "it has $(stat_of 0 journal_bytes) bytes"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 40M || fail "not everything was written back"

# ---- permissions and locking ----
start_daemon 0 "${small[@]}"
expect 1 "*journal $tmp/j is in use by another daemon (process ${daemon_pids[0]} on *" \
    "$zcached" "${small[@]}" --address-file 1.addr
kill_daemon
mkdir other
expect 1 "*journal $tmp/j has bytes of files below $root, and this daemon serves $tmp/other: *" \
    "$zcached" --root other --journal j --address-file 1.addr
expect 1 "*journal $tmp/no/j: cannot be made: No such file*" \
    "$zcached" --root root --journal no/j --address-file 1.addr
expect 2 "zcached: --journal: with --cache-size 0 *" \
    "$zcached" --root root --journal j --cache-size 0 --address-file 1.addr
expect 2 "zcached: --journal-size 2M: give at least 16 pages of --page-size 1M" \
    "$zcached" --root root --journal j --journal-size 2M --address-file 1.addr
if unshare -rm true 2>/dev/null; then
    mkdir tiny
    # shellcheck disable=SC2016
    expect 1 "*journal *tiny: no room for a segment of *: No space left *--journal-size*" \
        unshare -rm bash -c 'mount -t tmpfs -o size=1M,mode=700 tiny tiny && exec "$@"' x \
        "$zcached" --root root --journal tiny --address-file 1.addr
fi
