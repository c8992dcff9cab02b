#!/usr/bin/env bash
# Stale cached bytes are detected: the set of daemons changes between jobs, a job is killed and its
# file rewritten while the daemon still has it open, an address file is older than its daemon.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
export ZCACHE_TIMEOUT=20s

# through DAEMONS COMMAND ...: uses these daemons, by number.
through() {
    local i list=

    for i in $1; do list+=${list:+,}$tmp/$i.addr; done
    shift
    ZCACHE_DAEMONS=$list "$@"
}

make_root
start_daemons 2 --page-size 64K --timeout 6s
unset ZCACHE_DAEMONS

# Jobs through different daemons, one after the other: each finds the bytes of the previous one.
number=1
for set in 0 "0 1" 0 1 "1 0" "0 1" 0; do
    through "$set" mpi_quiet 2 "$programs/t_jobs" "zcache:$root/f" "$number" \
        zcache_block_size=128K || fail "job $number, daemons $set"
    number=$((number + 1))
done
mpi_quiet 1 "$programs/t_jobs" "zcache:$root/f" 0 last=7 || fail "without daemons"

# The same daemon again has its bytes cached.
before=$(stat_of 0 store_reads)
through 0 mpi_quiet 2 "$programs/t_jobs" "zcache:$root/f" 8 || fail "the same daemons again"
[[ $(stat_of 0 store_reads) == "$before" ]] ||
    fail "$(($(stat_of 0 store_reads) - before)) reads of what was cached"

# A second set is refused while the file is open; after the job is killed it is accepted, at the
# latest when the daemon's silence limit has passed.
through 0 mpi 1 "$programs/t_fault" write "zcache:$root/g" 100 "$tmp" >"$tmp/bg" 2>&1 </dev/null &
job=$!
wait_for 60 test -e "$tmp/begun.0" || fail "the program did not begin: $(cat "$tmp/bg")"
through "0 1" mpi_quiet 2 "$programs/t_open" "zcache:$root/g" rdwr MPI_ERR_FILE_IN_USE \
    "another set of daemons" ZCACHE_DAEMONS || fail "two sets of daemons at a time"
ranks() {
    local pid

    for pid in /proc/[0-9]*; do
        [[ $(readlink "$pid/exe" 2>/dev/null) == "$(readlink -f "$programs/t_fault")" ]] &&
            grep -qs -F "$tmp" "$pid/cmdline" && echo "${pid#/proc/}"
    done
}
for pid in $(ranks); do kill -KILL "$pid"; done
wait "$job"
through "0 1" mpi_quiet 2 "$programs/t_open" "zcache:$root/g" rdwr MPI_SUCCESS ||
    fail "the set of the dead"

# A client reads and is killed, which over libfabric goes unnoticed for a while.
mkfifo "$tmp/fifo"
"$zcput" write "$tmp/0.addr" "$root/h" 1M <"$tmp/fifo" >"$tmp/put" &
client=$!
exec 5>"$tmp/fifo"
wait_for 60 grep -q written "$tmp/put" || fail "zcput did not write"
"$zcachectl" --daemons "$tmp/0.addr" flush >"$tmp/out" || fail "flush: $(cat "$tmp/out")"
kill -KILL "$client"
exec 5>&-
wait "$client" 2>/dev/null
newer() { touch "$tmp/tick" && [[ $tmp/tick -nt $root/h ]]; }
wait_for 60 newer || fail "times of files stand still" # changes within a tick of it may have one
head -c 1M /dev/zero | tr '\0' o >"$root/h" || fail "cannot rewrite the file"
[[ $(stat_of 0 handles) == 1 ]] || fail "the daemon knows already: this shows nothing"
"$zcput" read "$tmp/0.addr" "$root/h" 1M >"$tmp/got" || fail "zcput cannot read"
cmp "$tmp/got" "$root/h" || fail "a daemon gives bytes that are older than the file"

# Another daemon answers at the address.
(umask 077 && sed "s/^boot .*/boot 0123456789abcdef/" "$tmp/0.addr" >"$tmp/old.addr")
through old mpi_quiet 2 "$programs/t_open" "zcache:$root/i" rdwr,create MPI_ERR_IO \
    "another daemon answers" old.addr || fail "an address file of another daemon is taken"
[[ ! -e $root/i ]] || fail "a file was made through another daemon"
stop_daemons || fail "not drained"
