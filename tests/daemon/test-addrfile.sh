#!/usr/bin/env bash
# The address file appears whole, keeps a second daemon off, and goes; stale ones are replaced.
. "$(dirname -- "$0")/functions.sh"

umask 077 # address files are their owner's
make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root root --cache-size 16M)

# At no moment is there a file without its last line.
"$zcached" "${opts[@]}" --address-file 0.addr --pid-file 0.pid 2>0.log &
daemon_pids[0]=$!
whole() {
    [[ -e 0.addr ]] || return 1
    [[ $(tail -n 1 0.addr) == "root $tmp/root" ]] || fail "partial address file: $(cat 0.addr)"
}
wait_for 60 whole || fail "no address file: $(cat 0.log)"
expect 0 "${daemon_pids[0]}" cat 0.pid
[[ $(sed -n 's/^pid //p' 0.addr) == "${daemon_pids[0]}" ]] || fail "other pid in 0.addr"

# A second one is told how to stop the first, which is not disturbed.
cp 0.addr before
expect 1 "*0.addr belongs to a daemon that runs*zcachectl --daemons $tmp/0.addr stop" \
    "$zcached" "${opts[@]}" --address-file 0.addr
cmp 0.addr before || fail "the address file was changed"
expect 1 "*--pid-file: $tmp/0.pid belongs to zcached ${daemon_pids[0]}*" \
    "$zcached" "${opts[@]}" --address-file 1.addr --pid-file 0.pid
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status

# A daemon that is stopped does not answer, but is not overrun either.
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

# Stale: the process id belongs to somebody else now.
sed "s/^pid .*/pid $$/" stale.addr >0.addr
start_daemon 0 "${opts[@]}"
expect 0 "*was left by process $$ *" cat 0.log
stop_daemon 0 || fail "status $? of the daemon"

# Something else is not overwritten; an empty file, made to reserve the name, is.
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

# Another daemon has its place, which was started on another host while this one was cut off: this
# one writes nothing any more of what it has, and says so.
zcput=$build/tests/daemon/zcput
[[ -x $zcput ]] || exit 0
opts+=(--listen fabric) # elsewhere it could not be asked else
start_daemon 0 "${opts[@]}" --idle-time 0
"$zcput" write 0.addr "$tmp/root/f" 4M </dev/null >/dev/null || fail "cannot write: $(cat 0.log)"
sed 's/^boot .*/boot 00000000deadbeef/; s/^host .*/host elsewhere/' 0.addr >other.addr
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

# Who takes the place of such a one says so, and serves when that one begins no write any more.
before=${EPOCHREALTIME/./}
start_daemon 0 "${opts[@]}"
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
((${EPOCHREALTIME/./} - before >= 2000000)) || fail "it serves at once"
stop_daemon 0 || fail "status $? of the daemon"
