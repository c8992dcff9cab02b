#!/usr/bin/env bash
# zcache run: environment, standard streams, exit status; nothing stays behind.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
export XDG_RUNTIME_DIR=$tmp
run() { "$zcache" run --no-preload --cache-size 16M --root root "$@"; }
nothing_left() {
    [[ -z $(find "$tmp"/zcache-* -mindepth 1 2>/dev/null) ]] || fail "left: $(find "$tmp"/zcache-*)"
}

# Status and output are the command's; nothing is added.
expect 0 "" run true
expect 7 "out
err" run -- sh -c 'echo out; echo err >&2; exit 7'
expect 143 "" run sh -c 'kill -TERM $$'
nothing_left
[[ $(echo in | "$zcache" run --no-preload --root root cat) == in ]] || fail "standard input"

# The command finds its daemons, in order, and mpiexec keeps its interrupts.
# shellcheck disable=SC2016
expect 0 "*
0 *serving*$tmp/root
1 *serving*$tmp/root" run --daemons 2 "$zcachectl" status
ignored=$(awk '/^SigIgn/ { print $2 }' /proc/self/status) # by what started this test
expect 0 "$ignored" run sh -c "awk '/^SigIgn/ { print \$2 }' /proc/self/status"
nothing_left

# The default root is the current directory; --keep keeps, --state chooses.
expect 0 "*serving*$tmp" "$zcache" run --no-preload "$zcachectl" status
expect 0 "*" run --state "$tmp/state" --keep ls "$tmp/state"
[[ -e state/0.log ]] || fail "--keep did not keep"
expect 0 "" run --state "$tmp/state" true
[[ ! -e state ]] || fail "the state directory was kept"

# In a directory with other files these stay: only our own are removed, before and after.
mkdir -p mine/trace
touch mine/{losses,used,summary,trace/all,2026-11-25.log,1.old.log}
find mine | sort >before
expect 0 "*" run --state "$tmp/mine" --trace "$tmp/trace.json" true
find mine | sort | diff before - || fail "--state: what was another's is gone"
expect 0 "" "$zcache" start --cache-size 16M --root root --state "$tmp/mine"
expect 0 "" "$zcache" stop --state "$tmp/mine"
find mine | sort | diff before - || fail "start, stop: what was another's is gone"

# Two runs without daemons in one directory: one does not delete the other's report of losses.
# shellcheck disable=SC2016
"$zcache" run --daemons 0 --no-preload --state "$tmp/mine" -- sh -c '
    printf "4096\\t/file\\tbytes 0-4095\\tcause\\n" >>"$ZCACHE_LOSSES"
    touch up
    until [ -e go ]; do sleep 0.05; done' >out 2>&1 &
first=$!
wait_for 60 test -e up || fail "it does not begin: $(<out)"
expect 0 "" "$zcache" run --daemons 0 --no-preload --state "$tmp/mine" true
touch go
wait $first && fail "bytes were lost, and the status is 0"
grep -q "lost: 4096 bytes of /file (bytes 0-4095): cause" out || fail "not named: $(<out)"
expect 0 "" "$zcache" run --daemons 0 --no-preload --state "$tmp/mine" true
find mine | sort | diff before - || fail "left, or gone"
rm up go

# A configuration file names the root, unless --root does; its settings for the log and the
# background are for daemons that are started separately.
printf 'root = %s\nlog-file = %s\ndaemonize = true\n' "$tmp/root" "$tmp/own.log" >c.conf
expect 0 "*serving*$tmp/root" "$zcache" run --no-preload --cache-size 16M --config c.conf \
    "$zcachectl" status
expect 0 "*serving*$tmp" "$zcache" run --no-preload --cache-size 16M --config c.conf --root "$tmp" \
    "$zcachectl" status
[[ ! -e own.log ]] || fail "the log is somewhere else: $(<own.log)"
nothing_left
rm c.conf

# A daemon that does not start is explained, wherever programs log.
for log in '' ZCACHE_LOG_FILE=elsewhere; do
    expect 1 "zcache: daemon 0 did not start:*--cache-size 1M holds fewer than 2 pages*" \
        env $log "$zcache" run --no-preload --cache-size 1M true
done
[[ ! -e elsewhere ]] || fail "a daemon of ours has another log: $(cat elsewhere)"

# By root, as in a container: a daemon of the run itself, not one that others can reach.
if [[ $(id -u) == 0 ]]; then
    run_as_root() { env -u ZCACHE_ALLOW_ROOT "$zcache" "$@"; }
    expect 0 "*serving*$tmp/root" run_as_root run --no-preload --cache-size 16M --root root \
        "$zcachectl" status
    expect 1 "*as root, a daemon would hand out root's files*" \
        run_as_root run --no-preload --cache-size 16M --root root --interface fabric true
    expect 1 "*as root, a daemon would hand out root's files*" \
        run_as_root start --cache-size 16M --root root --state "$tmp/as-root"
else
    echo "not tested: run by root"
fi
