#!/usr/bin/env bash
# Hints that are unknown or wrong are said once, by rank 0, and change nothing.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# said_once HINT PATTERN
said_once() {
    local n

    mpi 3 "$programs/t_model" --ops 1 --no-subsets --hints "$1" "zcache:$root/h" \
        >"$tmp/out" 2>&1 </dev/null || fail "$1: $(cat "$tmp/out")"
    n=$(grep -c -- "$2" "$tmp/out")
    ((n == 1)) || fail "$1: said $n times: $(cat "$tmp/out")"
}

make_root
for n in 0 1; do
    start_daemons "$n"
    said_once zcache_blok_size=1M "zcache_blok_size.*did you mean zcache_block_size"
    said_once zcache_nonsense=7 "unknown hint zcache_nonsense=7"
    said_once zcache_block_size=12345 "zcache_block_size ignored.*12345.*power of two"
    said_once zcache_sync_level=soon "zcache_sync_level ignored.*soon"
    said_once zcache_flush=now "zcache_flush ignored.*now.*start or wait"
    said_once zcache_flush=start "zcache_flush ignored.*MPI_File_set_info"
    mpi_quiet 2 "$programs/t_model" --ops 5 --hints zcache_sync_level=stored "zcache:$root/h" ||
        fail "a good hint"
    ! grep -q hint "$tmp/out" || fail "a good hint is complained about: $(cat "$tmp/out")"
    stop_daemons || fail "not drained"
done

# echo_of RANKS WORD ...: what t_hints says to them.
echo_of() {
    local ranks=$1

    shift
    mpi_quiet "$ranks" "$programs/t_hints" "zcache:$root/e" "$@" || fail "hints: $*"
    ! grep "unknown hint" "$tmp/out" || fail "what get_info tells is complained about"
}

echo_of 1 -- "romio_filesystem_type=zcache: staged through aggregators and I/O nodes" \
    romio_visibility_immediate=true
# So many processes are aggregators, and where the hint wants them.
echo_of 3 zcache_counters=true cb_nodes=3 "cb_config_list=*:*" -- cb_nodes=3 zcache_agg_servers=3
echo_of 3 zcache_counters=true cb_nodes=3 "cb_config_list=*:1" -- cb_nodes=1 zcache_agg_servers=1
echo_of 3 zcache_counters=true cb_nodes=3 "cb_config_list=*:2" -- cb_nodes=2 zcache_agg_servers=2
# The unit of the file system, not that of ours; or what was asked for.
touch "$root/unit"
unit=$(stat -c %o "$root/unit")
echo_of 3 -- "striping_unit=$unit" zcache_block_size=4M striping_factor=1 romio_cb_write=enable \
    romio_ds_write=disable cb_buffer_size=
echo_of 3 striping_unit=65536 cb_nodes=2 "cb_config_list=*:*" romio_synchronized_flush=enable -- \
    striping_unit=65536 zcache_block_size=64K cb_nodes=2 "cb_config_list=*:*" \
    romio_synchronized_flush=enable
echo_of 2 striping_unit=65536 zcache_block_size=128K romio_cb_write=disable romio_cb_read=disable \
    romio_ds_write=enable romio_no_indep_rw=true cb_buffer_size=1048576 -- striping_unit=65536 \
    zcache_block_size=128K \
    romio_cb_write=enable romio_cb_read=enable romio_ds_write=disable romio_no_indep_rw=false \
    cb_buffer_size=
start_daemons 2
echo_of 4 cb_nodes=3 "cb_config_list=*:*" -- cb_nodes=2 striping_factor=2 "striping_unit=$unit"
echo_of 2 striping_unit=131072 -- striping_unit=131072
echo_of 2 zcache_counters=true -- zcache_counters=true zcache_agg_servers=1 zcache_iod_servers=2
# Connections are the process's: the first open decides, and that is said once.
echo_of 2 zcache_timeout=40s + zcache_timeout=50s + zcache_timeout=60s -- zcache_timeout=40s
(($(grep -c "hint zcache_timeout=50s has no effect, 40s is in force" "$tmp/out") == 1 &&
    $(grep -c "zcache_timeout" "$tmp/out") == 1)) ||
    fail "the time-out in force is not said once: $(cat "$tmp/out")"
stop_daemons || fail "not drained"

# ROMIO's own environment.
printf 'zcache_block_size 256K\ncb_nodes 1\n' >"$tmp/hints"
ROMIO_HINTS=$tmp/hints echo_of 2 -- zcache_block_size=256K cb_nodes=1
# The site's, in /etc/romio-hints: in a mount namespace with an /etc of its own.
site_hints() {
    cp -a /etc "$tmp/etc" 2>/dev/null || [[ -d $tmp/etc ]] # files may come and go
    printf 'zcache_block_size 1M\n' >"$tmp/etc/romio-hints" &&
        mount --bind "$tmp/etc" /etc && echo_of 2 -- zcache_block_size=1M
}
if (($(id -u) == 0)) && unshare -m mount --bind /etc /etc 2>/dev/null; then
    export -f site_hints echo_of mpi_quiet mpi fail stretch is_busy measure_slowness fixed_work
    export slowness slowness_at slowness_most slowness_age
    export tmp root programs preload sanitizer mpiexec mpi_timeout
    unshare -m bash -c site_hints || fail "/etc/romio-hints"
else
    echo "skipped: /etc/romio-hints: only root can have an /etc for itself"
fi
ROMIO_PRINT_HINTS=1 echo_of 2 zcache_block_size=512K --
grep -q "key = zcache_block_size .*value = 512K" "$tmp/out" ||
    fail "ROMIO_PRINT_HINTS does not show zcache's: $(cat "$tmp/out")"
ROMIO_FSTYPE_FORCE=zcache: mpi_quiet 2 "$programs/t_hints" "$root/plain" -- \
    zcache_block_size=4M "striping_unit=$unit" || fail "ROMIO_FSTYPE_FORCE"
