#!/usr/bin/env bash
# zcache run when something dies: the daemon, the job, or zcache itself.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
export XDG_RUNTIME_DIR=$tmp tmp
daemon_of() { sed -n 's/^pid //p' "$tmp/state/$1.addr"; }
run=("$zcache" run --no-preload --cache-size 16M --root root --state "$tmp/state")

# The daemon dies during the job: said at once, the job ends as it likes.
# shellcheck disable=SC2016
killer='kill -KILL "$(sed -n "s/^pid //p" "$tmp/state/$0.addr")"; exit 0'
expect 1 "zcache: daemon 0 was killed by signal 9; its log*
zcache: what daemon 0 had not written of files *zcache_close_level=staged* is lost*
zcache: the logs are kept in $tmp/state" \
    "${run[@]}" sh -c "$killer" 0
# shellcheck disable=SC2016
expect 5 "zcache: $tmp/state/0.addr is removed: process [0-9]* is gone
zcache: daemon 1 was killed by signal 9*" \
    "${run[@]}" --daemons 2 sh -c "${killer/exit 0/exit 5}" 1
# The stale address files do not hinder the next run, which says what becomes of them.
expect 0 "zcache: $tmp/state/1.addr is removed: process [0-9]* is gone" "${run[@]}" true
expect 0 "" "${run[@]}" true

# zcache is told to end: the job gets the signal, the daemon is stopped.
# A command in the background of a script ignores SIGINT, unless told otherwise.
job='trap "echo ended >job; exit 3" TERM INT; echo $$ >pid; while :; do sleep 0.1; done'
for signal in TERM INT; do
    (
        trap - INT
        exec "${run[@]}" sh -c "$job"
    ) 2>err &
    pid=$!
    cleanup_fn "kill -KILL $pid 2>/dev/null"
    wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
    daemon=$(daemon_of 0)
    kill -$signal "$pid"
    wait "$pid"
    status=$?
    ((status == 3)) || fail "SIG$signal: status $status: $(cat err)"
    [[ -e job ]] || fail "SIG$signal did not reach the job"
    gone "$daemon" || fail "the daemon stayed"
    rm -f job pid
done

# zcache is killed: the daemon notices and stops by itself.
requires command -v setpriv
"${run[@]}" sh -c 'echo $$ >pid; exec sleep 60' 2>err &
pid=$!
wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
cleanup_fn "kill -KILL $(cat pid) 2>/dev/null"
daemon=$(daemon_of 0)
kill -KILL "$pid"
wait_for 30 gone "$daemon" || fail "the daemon stayed"

# It is killed before the daemon has asked to be told.
mkdir bin
cat >bin/setpriv <<'END'
#!/bin/sh
echo $$ >"$tmp/begun"
while [ ! -e "$tmp/go" ]; do sleep 0.02; done
exec "$setpriv" "$@"
END
chmod +x bin/setpriv
setpriv=$(command -v setpriv)
export setpriv
: >go
PATH=$tmp/bin:$PATH expect 0 "" "${run[@]}" true
rm go begun || fail "setpriv is not called"
PATH=$tmp/bin:$PATH "${run[@]}" true 2>err &
pid=$!
wait_for 60 test -s begun || fail "no daemon is started: $(cat err)"
daemon=$(<begun)
kill -KILL "$pid"
cleanup_fn "kill -KILL $daemon 2>/dev/null"
wait "$pid" 2>/dev/null
: >go
wait_for 30 gone "$daemon" || fail "a daemon that began after its launcher had ended stayed"
