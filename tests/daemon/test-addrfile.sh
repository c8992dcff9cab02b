#!/usr/bin/env bash
# The address file appears complete, refuses a second daemon, and is removed; stale ones are
# replaced.
. "$(dirname -- "$0")/functions.sh"

umask 077 # address files are their owner's
make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root root --cache-size 16M)

# There is never a file without its last line.
"$zcached" "${opts[@]}" --address-file 0.addr --pid-file 0.pid 2>0.log &
daemon_pids[0]=$!
whole() {
    [[ -e 0.addr ]] || return 1
    [[ $(tail -n 1 0.addr) == "root $tmp/root" ]] || fail "partial address file: $(cat 0.addr)"
}
wait_for 60 whole || fail "no address file: $(cat 0.log)"
expect 0 "${daemon_pids[0]}" cat 0.pid
[[ $(sed -n 's/^pid //p' 0.addr) == "${daemon_pids[0]}" ]] || fail "other pid in 0.addr"

# A second daemon is told how to stop the first, which is not disturbed.
cp 0.addr before
expect 1 "*0.addr belongs to a daemon that runs*zcachectl --daemons $tmp/0.addr stop" \
    "$zcached" "${opts[@]}" --address-file 0.addr
cmp 0.addr before || fail "the address file was changed"
expect 1 "*--pid-file: $tmp/0.pid belongs to zcached ${daemon_pids[0]}*" \
    "$zcached" "${opts[@]}" --address-file 1.addr --pid-file 0.pid
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status

# A stopped daemon does not answer, but is not replaced either.
kill -STOP "${daemon_pids[0]}"
expect 1 "*belongs to zcached ${daemon_pids[0]}*does not answer*" \
    "$zcached" "${opts[@]}" --address-file 0.addr
kill -CONT "${daemon_pids[0]}"

stop_daemon 0 || fail "status $? of the daemon"
[[ ! -e 0.addr && ! -e 0.pid ]] || fail "files left behind: $(ls)"

# Stale: the process is gone.
start_daemon 0 "${opts[@]}"
pid=${daemon_pids[0]}
stop_daemon 0 KILL
[[ -e 0.addr ]] || fail "a killed daemon removed its address file"
expect 1 "zcachectl: 0: process $pid is gone and left 0.addr behind" \
    "$zcachectl" --daemons 0.addr status
cp 0.addr stale.addr
start_daemon 0 "${opts[@]}"
expect 0 "*was left by process $pid on *, which is gone; replacing it" cat 0.log
stop_daemon 0 || fail "status $? of the daemon"

# Stale: the process id belongs to another process now.
sed "s/^pid .*/pid $$/" stale.addr >0.addr
start_daemon 0 "${opts[@]}"
expect 0 "*was left by process $$ *" cat 0.log
stop_daemon 0 || fail "status $? of the daemon"

# Other files are not overwritten, except an empty one, made to reserve the name.
echo precious >0.addr
expect 1 "*0.addr exists and cannot be replaced*" "$zcached" "${opts[@]}" --address-file 0.addr
expect 0 precious cat 0.addr
: >0.addr
start_daemon 0 "${opts[@]}"
stop_daemon 0 || fail "status $? of the daemon"

# A file that another daemon wrote meanwhile is not removed.
start_daemon 0 "${opts[@]}"
cp stale.addr 0.addr
stop_daemon 0 || fail "status $? of the daemon"
cmp 0.addr stale.addr || fail "removed another daemon's address file"

# Another daemon has taken its place, started on another host while this one was cut off: this one
# does not write its bytes any more, and reports that.
zcput=$build/tests/daemon/zcput
[[ -x $zcput ]] || exit 0
opts+=(--listen fabric) # elsewhere it could not be asked else
start_daemon 0 "${opts[@]}" --idle-time 0 --timeout 1h
"$zcput" write 0.addr "$tmp/root/f" 4M </dev/null >/dev/null || fail "cannot write: $(cat 0.log)"
sed 's/^boot .*/boot 00000000deadbeef/; s/^host .*/host elsewhere/
    s/^host_boot .*/host_boot another/' 0.addr >other.addr
cp other.addr 0.new
mv 0.new 0.addr
replaced=${EPOCHREALTIME/./}
looks_again() { ((${EPOCHREALTIME/./} - replaced > 1100000)); }
wait_for 60 looks_again
stop_daemon 0
status=$?
((status == 4)) || fail "status $status, not 4, of a daemon that was replaced: $(cat 0.log)"
expect 0 "*another daemon was started in the place of this one*" cat 0.log
[[ ! -s root/f ]] || fail "it has written after all"
cmp 0.addr other.addr || fail "removed another daemon's address file"

# A daemon that takes such a place reports it, and serves when the other one begins no write any
# more.
before=${EPOCHREALTIME/./}
start_daemon 0 "${opts[@]}"
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
((${EPOCHREALTIME/./} - before >= 2000000)) || fail "it serves at once"
stop_daemon 0 || fail "status $? of the daemon"
