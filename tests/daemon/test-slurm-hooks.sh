#!/usr/bin/env bash
# Slurm's prolog and epilog, without Slurm: tests/hosts/test-slurm.sh runs one.  A daemon for a job,
# the system's log, and the epilog's exit status to Slurm.
. "$(dirname -- "$0")/functions.sh"
scripts=$(cd "$(dirname -- "$0")/../../packaging/slurm" && pwd)
requires test "$(id -u)" = 0 # as Slurm's are
requires command -v setpriv

make_tmp
chmod 755 "$tmp"
cd "$tmp" || exit 99
mkdir bin
mkdir -m 1777 states root
requires setpriv --reuid=nobody --clear-groups true
copy=$(build_for_others)
for name in prolog epilog; do
    sed -e "s|@sysconfdir@/zcache|$tmp|; s|@bindir@|$copy|; s|^export PATH=|&$tmp/bin:|" \
        "$scripts/$name.in" >$name
done
# shellcheck disable=SC2016
printf '#!/bin/sh\necho "$*" >>%s/syslog\n' "$tmp" >bin/logger
chmod +x bin/logger
printf 'WHEN=all ROOT=%s STATE=%s OPTIONS=(--cache-size 16M)\n' "$tmp/root" "$tmp/states" >slurm.conf
SLURM_JOB_UID=$(id -u nobody) SLURM_JOB_GID=$(id -g nobody) ZCACHE_TIMEOUT=1s
export SLURM_JOB_UID SLURM_JOB_GID ZCACHE_TIMEOUT SLURM_JOB_ID=77 SLURMD_NODENAME=n1
unset XDG_RUNTIME_DIR
state=states/77/n1

up() {
    expect 0 "" bash prolog
    [[ -e $state/0.addr ]] || fail "no daemon: $(cat syslog)"
    pid=$(sed -n 's/^pid //p' $state/0.addr)
    [[ $(stat -c %U "/proc/$pid") == nobody ]] || fail "not the user's: $(ps -fp "$pid")"
    cleanup_fn "kill -KILL $pid 2>/dev/null"
}

# A daemon that shuts down leaves nothing behind.
up
expect 0 "" bash epilog
wait_for 20 gone "$pid" || fail "the daemon stays"
[[ -z $(ls -A states) && ! -e syslog ]] || fail "left: $(find states) $(cat syslog)"

# A dead daemon is reported, and drains no node.
up
kill -KILL "$pid"
wait_for 20 gone "$pid" || fail "it lives"
expect 0 "" bash epilog
grep -q "job 77: daemon on n1: .*process $pid is gone" syslog || fail "not told: $(cat syslog)"

# A hung daemon is still there: the node must not get another job.
up
kill -STOP "$pid"
expect 1 "" bash epilog
kill -CONT "$pid"
expect 0 "" bash epilog
wait_for 20 gone "$pid" || fail "the daemon stays"
