#!/usr/bin/env bash
# zcache start, status, stop: the parts of run.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
export XDG_RUNTIME_DIR=$tmp
opts=(--root root --cache-size 16M)
cleanup_fn '[[ ! -d $tmp/zcache-$(id -un)/default ]] || "$zcache" stop >/dev/null 2>&1'

expect 1 "zcache: nothing was started here: *" "$zcache" status
expect 1 "zcache: nothing was started here: *" "$zcache" stop
expect 0 "" "$zcache" start --daemons 2 "${opts[@]}"
[[ $(stat -c %a "$tmp/zcache-$(id -un)") == 700 ]] || fail "the state directory is open to others"
expect 0 "*
0 *serving*
1 *serving*" "$zcache" status
expect 1 "zcache: daemons run already in *ends them" "$zcache" start "${opts[@]}"
expect 0 "" "$zcache" stop
expect 1 "zcache: nothing was started here: *" "$zcache" status

# What the daemon refuses ends the start, with the daemon's words.
expect 1 "zcached: --cache-size 1M holds*zcache: daemon 0 did not start" \
    "$zcache" start --root root --cache-size 1M
expect 1 "zcache: nothing was started here: *" "$zcache" status

# A daemon that was killed: stop says so, the next start clears up, and says so, too.
expect 0 "" "$zcache" start --state s "${opts[@]}"
kill -KILL "$(sed -n 's/^pid //p' s/0.addr)"
stopped() { [[ $("$zcache" status --state s 2>&1) == *"is gone"* ]]; }
wait_for 60 stopped || fail "status does not notice"
expect 1 "*is gone*not everything was written back and stopped*" "$zcache" stop --state s
expect 0 "zcache: $tmp/s/0.addr is removed: process [0-9]* is gone*" \
    "$zcache" start --state s "${opts[@]}"
expect 0 "" "$zcache" stop --state s
