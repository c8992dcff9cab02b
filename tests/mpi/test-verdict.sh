#!/usr/bin/env bash
# A full file system: every rank is told the same, though a sync waits for no other rank; and a
# program that ignores what it is told is not a job that went well.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

(($(id -u) == 0)) || { echo "skipped: only root can mount a small file system"; exit 77; }
needs_plugin "zcache run preloads it"
make_root
requires mount -t tmpfs -o size=24m none "$root"
cleanup_fn "umount -l '$root'"

for n in 0 1 2; do
    start_daemons "$n" --page-size 64K
    for owners in 1 4; do
        rm -f "$root/f"
        head -c 16M /dev/zero >"$root/room"
        mpi_quiet 4 "$programs/t_verdict" "zcache:$root/f" rounds "$root/room" \
            zcache_block_size=64K "cb_nodes=$owners" "cb_config_list=*:$owners" ||
            fail "$n daemons, $owners aggregators: not the same on all ranks"
        (($(stat -c %s "$root/f") == 16 << 20)) || fail "$n daemons: not all is written"
    done
    stop_daemons || fail "$n daemons: not drained"
done

# A daemon is killed: what is given up at the close is named, all of it.
start_daemons 1 --page-size 64K
rm -f "$root/f" "$tmp/losses"
ZCACHE_LOSSES=$tmp/losses mpi 4 "$programs/t_verdict" "zcache:$root/f" killed "${daemon_pids[0]}" \
    zcache_block_size=64K cb_nodes=2 "cb_config_list=*:2" >"$tmp/out" 2>&1 </dev/null ||
    fail "the daemon is killed: $(cat "$tmp/out")"
grep -q "$root/f: [0-9]* bytes are lost, .* within bytes " "$tmp/out" ||
    fail "not named: $(cat "$tmp/out")"
(($(awk '{ n += $1 } END { print n }' "$tmp/losses") == 16 << 20)) ||
    fail "not all of 16 MiB: $(cat "$tmp/losses")"
wait "${daemon_pids[0]}" 2>/dev/null
daemon_pids=()
unset ZCACHE_DAEMONS

# 40 MB onto 24: without a daemon the aggregators have lost what did not fit, with one it has.
rm -f "$root/f"
export XDG_RUNTIME_DIR=$tmp
run=("$zcache" run --root "$root" --state "$tmp/state")
job=(timeout -k 5 "$mpi_timeout" "$mpiexec" -n 4 "$programs/t_verdict" "zcache:$root/f" deaf -)
expect 1 "*zcache: bytes were lost in the job:
    lost: * bytes of $root/f (*): *No space left on device*
zcache: the logs are kept in $tmp/state" "${run[@]}" --daemons 0 "${job[@]}"
[[ $(grep -c "are lost" <<<"$output") == 1 ]] || fail "not once: $output"
[[ -s $(echo "$tmp"/state/zcache.run.*/losses) ]] || fail "no list of losses"
rm -f "$root/f"
expect 1 "*zcache: daemon 0 has lost bytes:
    lost: * of $root/f: *No space left on device*
zcache: the logs are kept in $tmp/state" "${run[@]}" "${job[@]}"

# The file is removed, or has room in the end: nothing is lost.
rm -f "$root/f"
# shellcheck disable=SC2016
expect 0 "*" "${run[@]}" bash -c '"${@:2}"; rm -f "$1"' - "$root/f" "${job[@]}"
[[ ! -e $tmp/state ]] || fail "old lists of losses stay: $(find "$tmp/state")"
