#!/usr/bin/env bash
# A bit flips in a cache, of a daemon or of an aggregator without daemons, with zcache_checksum=on:
# unwritten bytes are lost, by path and range, for the program, in the log and in exit statuses, and
# never reach the file; clean bytes are read again.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

kib=66560-67583 # the one that rots
hints=(zcache_block_size=64K cb_nodes=2 "cb_config_list=*:2")

# rotten DAEMON-PID MODE: the output of these launches is shown only on a failure.
rotten() {
    mpi 3 "$programs/t_rotten" "zcache:$root/f" "$@" "${hints[@]}" >"$tmp/out" 2>&1 </dev/null
    local status=$?

    grep '^skipped: ' "$tmp/out" && exit 77
    return "$status"
}

make_root
start_daemons 1 --page-size 64K --idle-time 0
rotten "${daemon_pids[0]}" dirty || fail "dirty bytes: $(cat "$tmp/out")"
stop_daemon 0
status=$?
((status == 4)) || fail "status $status of the daemon, not 4: $(cat "$tmp/0.log")"
grep -q " lost: .*(1024 bytes) of $root/f: within bytes $kib: .*damaged in memory" "$tmp/0.log" ||
    fail "the daemon does not name it: $(cat "$tmp/0.log")"
daemon_pids=()

rm "$root/f"
start_daemons 1 --page-size 64K --idle-time 0
rotten 0 write || fail "clean bytes are not written: $(cat "$tmp/out")"
rotten "${daemon_pids[0]}" read || fail "clean bytes: $(cat "$tmp/out")"
seen=$(stat_of 0 damaged_bytes)
((seen == 1024)) || fail "$seen bytes were seen to be damaged: $(cat "$tmp/0.log")"
grep -q "$root/f, bytes $kib: damaged in memory: read again" "$tmp/0.log" ||
    fail "the log does not say so: $(cat "$tmp/0.log")"
stop_daemons || fail "clean bytes were lost"

# Without a daemon the bytes are in the aggregators' caches.
lazy=(zcache_idle_time=0 zcache_high_watermark=100% zcache_low_watermark=99%)
rm "$root/f"
rotten self dirty "${lazy[@]}" || fail "dirty bytes of an aggregator: $(cat "$tmp/out")"
rm "$root/f"
rotten self clean || fail "clean bytes of an aggregator: $(cat "$tmp/out")"
grep -q "$root/f, bytes $kib: damaged in memory: read again" "$tmp/out" ||
    fail "an aggregator does not say so: $(cat "$tmp/out")"

# Under the launcher: the program, having been told, succeeds, and the job does not.
needs_plugin "zcache run preloads it"
rm "$root/f"
export XDG_RUNTIME_DIR=$tmp
printf 'page-size = 64K\nidle-time = 0\n' >"$tmp/lazy.conf"
# run MODES OPTION ...
# shellcheck disable=SC2016 # the inner shell's
run() {
    "$zcache" run --root "$root" --state "$tmp/state" "${@:2}" bash -c '
        pid=self
        [[ -z ${ZCACHE_DAEMONS:-} ]] || pid=$(sed -n "s/^pid //p" "$ZCACHE_DAEMONS/0.addr")
        for mode in $1; do
            "${@:4}" "$2" "$pid" "$mode" zcache_block_size=64K $3 || exit 9
        done' - "$1" "zcache:$root/f" "${lazy[*]}" \
        timeout -k 5 "$mpi_timeout" "$mpiexec" -n 3 "$programs/t_rotten"
}
expect 1 "*zcache: daemon 0 has lost bytes:
    lost: * (1024 bytes) of $root/f: within bytes $kib: *damaged in memory*
zcache: the logs are kept in $tmp/state" run dirty --config "$tmp/lazy.conf"
[[ -s $tmp/state/0.log ]] || fail "the log is gone"
rm "$root/f"
expect 0 "*t_rotten: ok*t_rotten: ok*" run "write read" --config "$tmp/lazy.conf"
rm "$root/f"
expect 1 "*zcache: bytes were lost in the job:
    lost: 1024 bytes of $root/f ($kib): *damaged in memory*
zcache: the logs are kept in $tmp/state" run dirty --daemons 0
rm "$root/f"
expect 0 "*t_rotten: ok*" run clean --daemons 0
