#!/usr/bin/env bash
# zcache run at a terminal: what is still to be written is shown; an interrupt ends the job and
# loses nothing; two more while it writes back give up what is left, and name it.
. "$(dirname -- "$0")/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "$0")/../slowfs/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v script

make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
cd "$tmp" || exit 99
mkdir below root home
export XDG_RUNTIME_DIR=$tmp HOME=$tmp/home tmp zcput
unset SLURM_JOB_ID
# What is written stays in the daemon until it has to go, and goes slowly then.
slowfs_mount below root --write-rate 8M || fail "no slowfs: $(cat slowfs.log)"
printf 'idle-time = 0\n' >lazy.conf
printf '#!/bin/sh\nexec /bin/sh -c "$2"\n' >rsh
chmod +x rsh
run="'$zcache' run --no-preload --cache-size 128M --root root --state state --config lazy.conf"

# at_terminal COMMAND: in the background, at a terminal of its own that `keys` types at.  What runs
# in the background of a script ignores SIGINT, unless told otherwise.
at_terminal() {
    rm -f typed screen up
    mkfifo typed
    (
        trap - INT
        exec script -qefc "$1" screen <typed >/dev/null 2>&1
    ) &
    terminal=$!
    cleanup_fn "kill -KILL $terminal 2>/dev/null"
    exec {keys}>typed
}
shown() { grep -qs "$1" screen; }
see() { wait_for 60 shown "$1" || fail "\"$1\" is not shown: $(cat -A screen)"; }
press() { printf '\003' >&"$keys"; }
ends() { # STATUS
    local status

    wait_for 60 gone "$terminal" || fail "it does not end: $(cat -A screen)"
    wait "$terminal"
    status=$?
    exec {keys}>&-
    ((status == $1)) || fail "status $status, not $1: $(cat -A screen)"
}
# shellcheck disable=SC2016
fill="sh -c '\"\$zcput\" write \"\$ZCACHE_DAEMONS/0.addr\" \"\$tmp/root/f\" \$0 </dev/null; eval \"\$1\"'"

# It shows how far it is, and leaves nothing of that on the line.
at_terminal "$run $fill 24M :"
see "writing back: [0-9]* MiB left, [0-9]* MiB/s, about [0-9]* s"
ends 0
"$zcput" check root/f 24M || fail "not everything was written back"
[[ $(tail -c 100 screen) != *left* || $(tail -c 100 screen) == *$'\r\e[K'* ]] ||
    fail "the line stays: $(cat -A screen)"
[[ ! -e state ]] || fail "left: $(ls state)"

for hosts in "" "--hosts a,b --ssh '$tmp/rsh'"; do
    # Once: the job ends, what it wrote is written back.
    rm -f root/f
    at_terminal "$run $hosts $fill 16M 'trap \"exit 130\" INT; echo u\"\"p; while :; do sleep 0.1; done'"
    see "^up"
    press
    ends 130
    "$zcput" check root/f 16M || fail "$hosts: not everything was written back"
    [[ ! -e state ]] || fail "$hosts: left: $(ls state)"

    # While it writes back: a question, and the answer.
    rm -f root/f
    at_terminal "$run $hosts $fill 64M 'trap \"exit 130\" INT; echo u\"\"p; while :; do sleep 0.1; done'"
    see "^up"
    press
    see "left"
    press
    see "interrupt once more to give up what is not written yet"
    press
    see "lost: .* of .*root/f"
    ends 130
    shown "the logs are kept in $tmp/state" || fail "not said: $(cat -A screen)"
    [[ ! -e state/0.addr ]] || fail "$hosts: the daemon did not end"
    rm -rf state
done
