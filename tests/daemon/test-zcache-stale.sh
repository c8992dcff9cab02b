#!/usr/bin/env bash
# Address files whose daemon is gone are found out at once, and named with the cause, by status,
# stop and start; no process but the daemon of a file is ever ended.
. "$(dirname -- "$0")/functions.sh"

umask 077 # address files are their owner's
make_tmp
cd "$tmp" || exit 99
mkdir root
export XDG_RUNTIME_DIR=$tmp HOME=$tmp
opts=(--root root --cache-size 16M)

# A file as a daemon leaves it that is killed.
expect 0 "" "$zcache" start --state s "${opts[@]}"
pid=$(daemon_of s/0.addr)
kill -KILL "$pid"
wait_for 60 gone "$pid" || fail "it lives"
cp -r s kept

# stale WORDS: status and stop say so, start removes it and says so.
stale() {
    local began=$SECONDS took

    expect 1 "zcache: 0.addr: $1" "$zcache" status --state s
    expect 1 "zcache: 0.addr: $1*zcache: not everything was written back and stopped*" \
        "$zcache" stop --state s
    took=$((SECONDS - began))
    stretch 5
    ((took < stretched)) || fail "that took $took s"
    expect 0 "zcache: $tmp/s/0.addr is removed: $1" "$zcache" start --state s "${opts[@]}"
    expect 0 "" "$zcache" stop --state s
    cp -r kept s
}
stale "process $pid is gone*"

# The number is another program's, which stays.
sleep 300 &
other=$!
cleanup_fn "kill -KILL $other"
sed -i "s/^pid .*/pid $other/" kept/0.addr s/0.addr
stale "process $other is gone; its number is now that of \"sleep\""
kill -0 "$other" || fail "stop ended another program"

# It has ended, and its parent does not look: it is no shell any more, which would.
# shellcheck disable=SC2016
sh -c 'me=$$; (until grep -q "^sleep" "/proc/$me/comm"; do :; done) & echo $! >zombie; exec sleep 300' &
cleanup_fn "kill -KILL $!"
zombie() { grep -qs '^State:.Z' "/proc/$(cat zombie 2>/dev/null)/status"; }
wait_for 60 zombie || fail "no zombie"
sed -i "s/^pid .*/pid $(cat zombie)/" kept/0.addr s/0.addr
stale "process $(cat zombie) is gone; its parent has not taken notice yet"

# Another daemon's, which stays, too.
expect 0 "" "$zcache" start --state t "${opts[@]}"
cleanup_fn '[[ ! -d t ]] || "$zcache" stop --state t'
other=$(daemon_of t/0.addr)
sed -i "s/^pid .*/pid $other/" kept/0.addr s/0.addr
stale "process $other is gone; its number is now that of a daemon with $tmp/t/0.addr"
expect 0 "*serving*" "$zcache" status --state t

# The host was started again since: whatever has the number now.
echo 01234567-89ab-cdef-0123-456789abcdef | tee kept/0.boot >s/0.boot
stale "$(uname -n) was started again, so process $other is gone"
expect 0 "" "$zcache" stop --state t

# Not an address file at all.
echo nonsense | tee kept/0.addr >s/0.addr
stale "$tmp/s/0.addr is not an address file"

# One of two is gone: the other is shown, and stopped.
rm -r s
expect 0 "" "$zcache" start --state s --daemons 2 "${opts[@]}"
pid=$(daemon_of s/0.addr)
kill -KILL "$pid"
wait_for 60 gone "$pid" || fail "it lives"
expect 1 "*zcache: 0.addr: process $pid is gone*1 *serving*" "$zcache" status --state s
pid=$(daemon_of s/1.addr)
expect 1 "*zcache: 0.addr: process * is gone*" "$zcache" stop --state s
wait_for 60 gone "$pid" || fail "the other was not stopped"
