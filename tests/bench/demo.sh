#!/usr/bin/env bash
# demo.sh - what zcache is for, in three runs and a table; ./quickstart ends with it.
#
#     demo.sh [--ranks N] [--store any|slow|disk] [option ...]
#
# Ranks compute and write in turn, collectively, to a store that takes time, through MPI-IO as it
# is and through zcache.  The store is slow: slowfs, as for the other benchmarks; disk: that of the
# build tree, where syncshim.c has each write followed by fdatasync; or any: slow where this user
# can mount it, else disk, with the reason.  All bytes are compared behind MPI's back; a run that
# failed, or of which a byte is wrong, has no numbers, and the exit status is 1.
#
#     --phases N          10           --compute SECONDS   0.2, in each phase
#     --bytes SIZE        8M, in each phase, of all ranks together
#     --write-rate RATE   50M, of the slow store
#     --timeout SECONDS   300, for one run
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
unset 'opt[repeats]' 'opt[json]' 'quick[repeats]'
opt+=([ranks]=2 [phases]=10 [bytes]=8M [compute]=0.2 [write-rate]=50M [store]=any
    [timeout]=300)
bench_options "$@"
case ${opt[store]} in
any | slow | disk) ;;
*) bench_misuse "--store ${opt[store]}: not any, slow or disk" ;;
esac

# What a shell has set for programs of its own would make other rows of these.
unset LD_PRELOAD ROMIO_FSTYPE_FORCE ROMIO_HINTS
for name in "${!ZCACHE_@}"; do
    [[ $name == ZCACHE_ALLOW_ROOT ]] || unset "$name"
done

# ---- the store ------------------------------------------------------------------------------
# The files lie in $below, and are written as $store/NAME.

# slow_store: mounts it; or fails, and $why says why.  Nothing is mounted in a subshell, from where
# an interrupt would not end it.
slow_store() {
    why="not asked for"
    [[ ${opt[store]} != disk ]] || return
    slowfs_obstacle >"$tmp/why"
    why=$(<"$tmp/why")
    [[ -z $why ]] || return
    store=$tmp/slow
    mkdir "$store"
    slowfs_mount "$below" "$store" --write-rate "${opt[write-rate]}" --latency-us 200 && return
    why="slowfs: $(tail -n 1 "$tmp/slowfs.log")"
    return 1
}

choose_store() {
    below=$(cd -- "$build" && pwd -P)/demo
    rm -rf -- "$below"
    mkdir -- "$below" || exit 1
    cleanup_fn "rm -rf -- '$below'"
    if slow_store; then
        where="a modelled slow store"
        note="tests/slowfs, by FUSE: ${opt[write-rate]/%M/ MB}/s, and 0.2 ms for a round trip"
        return
    fi
    [[ ${opt[store]} != slow ]] || bench_skip "$why"
    store=$below
    where="the local disk, with fsync"
    note="each write is followed by that; no modelled slow store here: $why"
    sync=$build/tests/.libs/syncshim.so
    [[ -e $sync ]] || bench_skip "no syncshim in the build: make -C build/tests syncshim.la"
    export SYNCSHIM_UNDER=$below
    daemon_preload=$sync
}

# ---- the runs -------------------------------------------------------------------------------
# step NAME COMMAND ...: as quickstart's.
step() {
    local at=$SECONDS word=s status

    printf '  %-12s' "$1"
    "${@:2}"
    status=$?
    ((status == 0)) || word="s, failed"
    printf '%5d %s\n' $((SECONDS - at)) "$word"
    return "$status"
}

# run NAME TYPE PRELOAD ADDRESS-FILE: simpario once; $tmp/NAME.json when all bytes are right.
run() {
    local preload=$sync${3:+${sync:+:}$3} status

    ZCACHE_DAEMONS=$4 ranks "${opt[ranks]}" "$preload" "$simpario" -f "$2:$store/$1" --write \
        --phases "${opt[phases]}" --record "$record" --compute "${opt[compute]}" \
        --compute-by "$(bench_compute_by "${opt[ranks]}")" --no-reference --quiet \
        --posix-verify "$below/$1" --json "$tmp/run.json" >"$tmp/run.log" 2>&1
    status=$?
    rm -f -- "$below/$1"
    if ((status == 0)) && jq -e "$complete" "$tmp/run.json" >/dev/null 2>>"$tmp/run.log"; then
        mv "$tmp/run.json" "$tmp/$1.json"
        return
    fi
    said="status $status: $(tail -n 5 "$tmp/run.log")"
    return 1
}

run_with_daemon() {
    local status

    start_daemon 0 --root "$store"
    run daemon zcache "$plugin" "$tmp/0.addr"
    status=$?
    kill -TERM "${daemon_pids[0]}"
    if wait_for "${opt[timeout]}" gone "${daemon_pids[0]}" && stop_daemon 0; then return "$status"; fi
    end_daemon
    said="the daemon has not written everything: $(tail -n 3 "$tmp/0.log")"
    rm -f -- "$tmp/daemon.json"
    return 1
}

end_daemon() {
    if [[ -n ${daemon_pids[0]:-} ]]; then stop_daemon 0 KILL; fi
}

# try NAME COMMAND ...: goes on without that row when it fails.
try() {
    said=
    step "$@" || bench_problem "$1: ${said:-no reason is known}"
}

# ---- the table ------------------------------------------------------------------------------
# What of a run is not computing.
io='def io: .total_seconds - .compute_seconds;'

# row LABEL NAME FILTER WHAT: FILTER gives run, I/O, hidden and MiB of the report of NAME; $ufs is
# the I/O of ufs:.
# shellcheck disable=SC2016 # variables of jq
row() {
    local cells run spent hidden mib

    cells=$(jq -L "$bench_dir" -er --argjson ufs "$ufs" "include \"bench\"; $io
        .repeats[0].write as \$w | $3 | @tsv" "$tmp/$2.json" 2>/dev/null) ||
        cells=$'failed\t-\t-\t-'
    IFS=$'\t' read -r run spent hidden mib <<<"$cells"
    printf '%-22s%6s %6s %7s %9s  %s\n' "$1" "$run" "$spent" "$hidden" "$mib" "$4"
}

# shellcheck disable=SC2016
table() {
    local ufs=null of_run='[($w.total_seconds | n(2)), ($w | io | n(2)), '
    local of_ufs='(if $ufs then "\((1 - ($w | io) / $ufs) * 100 | n(0)) %" else "-" end)'
    local mib='"\(.verification.posix_bytes / 1048576 | n(0)) MiB"]'

    [[ ! -e $tmp/ufs.json ]] || ufs=$(jq "$io .repeats[0].write | io" "$tmp/ufs.json")
    printf '%-22s%6s %6s %7s %9s\n' seconds run I/O hidden verified
    row "computing alone" ufs '[($w.compute_seconds | n(2)), "-", "-", "-"]' "the least there is"
    row "ufs:" ufs "$of_run\"-\", $mib" "MPI-IO as it is: it waits"
    row "zcache: embedded" embedded "$of_run$of_ufs, $mib" "ranks store meanwhile"
    row "zcache: with a daemon" daemon "$of_run$of_ufs, $mib" "a daemon stores meanwhile"
}

# What this store or this machine cannot show.
say_if_odd() {
    jq -se 'any(.[].repeats[0].write; .compute_seconds
        > 0.3 + 1.2 * '"${opt[phases]} * ${opt[compute]}"')' "$tmp"/{ufs,embedded,daemon}.json \
        >/dev/null 2>&1 &&
        echo "Ranks waited for cores that others had: on a quiet machine figures are others."
    jq -e "$io"' .repeats[0].write | io < .compute_seconds / 10' "$tmp/ufs.json" \
        >/dev/null 2>&1 &&
        echo "This store takes next to no time: there is next to nothing to hide."
}

bench_begin
[[ -x $simpario && -e $plugin ]] || bench_skip "this build has no simpario or no plugin"
find_shim "${opt[ranks]}"
cleanup_fn end_daemon
sync=
record=$(($(numfmt --from=iec "${opt[bytes]}") / opt[ranks] / 4096 * 4096))
((record)) || record=4096
complete=".verification.result == \"passed\" and .verification.posix_bytes == .file_bytes
    and .file_bytes == $((record * opt[ranks] * opt[phases]))"
choose_store

echo "SimParIO, ${opt[ranks]} ranks: ${opt[phases]} times ${opt[compute]} s of computing, then" \
    "$((record * opt[ranks] / 1048576)) MiB to $where"
echo "($note)"
try ufs: run ufs ufs "" ""
try embedded run embedded zcache "$plugin" ""
try daemon run_with_daemon
if [[ $store != "$below" ]]; then
    slowfs_unmount "$store" || bench_problem "slowfs ended with status $?"
fi
echo
table
cat <<END

I/O: what of the run is not computing: the open, writes, the close. Hidden: how much
less that is than with ufs:; the last write has no computing to hide behind.
Verified: compared behind MPI's back. zcache cannot help where nothing is computed
between writes, or where the store is as fast as memory.
END
say_if_odd
cat <<END

Your own program: build/zcache run -- mpiexec -n 4 ./program, with file names zcache:/path/file
END
bench_end
