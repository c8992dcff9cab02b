#!/usr/bin/env bash
# Dedicated aggregators: processes that own all blocks of files, by "zcache run --aggregators N" and
# by address files.  Ranks take no memory and no threads for what they own; what an aggregator takes
# with it is an error on every rank, and named at the end of the run; ranks that disappear lose
# nothing.  (Random programs over them: test-model.sh, -dedicated2.)
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run preloads it"

make_root
export XDG_RUNTIME_DIR=$tmp
unset SLURM_JOB_ID
# run OPTIONS -- RANKS PROGRAM ARG ...: by zcache run, as mpi() does.
run() {
    local options=()

    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    stretch "$mpi_timeout"
    # shellcheck disable=SC2016 # the program's shell
    LD_PRELOAD=$sanitizer${preload%"$plugin"} timeout -k 5 "$stretched" "$zcache" run "${mpi_option[@]}" \
        --root "$root" "${options[@]}" -- "$mpiexec" -n "$2" "${@:3}" </dev/null >"$tmp/out" 2>&1
}
said() { cat "$tmp/out"; }
nothing_left() {
    [[ -z $(find "$tmp"/zcache-* -mindepth 1 2>/dev/null) ]] || fail "left: $(find "$tmp"/zcache-*)"
}

# ---- what ranks take, compared with ranks that own ----
cost_of() { sed -n "s/.*$1 \([0-9]*\).*/\1/p" "$tmp/out"; }
export ZCACHE_STATS=0
run --daemons 0 -- 2 "$programs/t_dedicated" "zcache:$root/f" cost || fail "ranks own: $(said)"
owned=$(cost_of grown_kib) owned_cpu=$(cost_of cpu_us)
(($(cost_of threads) > 0)) || fail "ranks own without threads: $(said)"
cp "$root/f" "$tmp/reference"
for n in 0 1; do
    rm -f "$root/f"
    run --daemons "$n" --aggregators 2 -- 2 "$programs/t_dedicated" "zcache:$root/f" cost ||
        fail "dedicated, $n daemons: $(said)"
    cmp "$tmp/reference" "$root/f" || fail "dedicated, $n daemons: not what was written"
    (($(cost_of threads) == 0)) || fail "ranks have threads of owners: $(said)"
    echo "memory of a rank grows by $owned KiB if it owns, by $(cost_of grown_kib) KiB with" \
        "dedicated aggregators and $n daemons; processor time $owned_cpu and $(cost_of cpu_us) us"
    # A rank that owns keeps what it wrote, 24 MiB; else there are connections only.
    (($(cost_of grown_kib) < owned / 2)) || fail "ranks take memory: $(said)"
    nothing_left
done

# A hint takes a file back.
run --daemons 0 --aggregators 1 -- 2 "$programs/t_dedicated" "zcache:$root/f" cost \
    none || fail "none: $(said)"
(($(cost_of threads) > 0)) || fail "none is not in force: $(said)"

# ---- an aggregator that dies ----
# What it has is not written back yet; both kinds of owner set: known to all, and by a record.
for n in 0 1; do
    rm -f "$root/f"
    start_daemons "$n"
    start_aggregators 2 --cache-size 64M --idle-time 0
    mpi_quiet 3 "$programs/t_dedicated" "zcache:$root/f" loss "${daemon_pids[101]}" ||
        fail "an aggregator is killed over $n daemons"
    daemon_pids[101]=
    mpi_quiet 2 "$programs/t_dedicated" "zcache:$root/f" absent || fail "an aggregator is missing"
    stop_daemons || fail "$n daemons: not drained"
done
# The run names it, and of which file how much.
printf 'idle-time = 0\ncache-size = 64M\n' >"$tmp/config"
cat >"$tmp/killer" <<END
#!/bin/sh
pid=\$(sed -n 's/^pid //p' "\$ZCACHE_AGGREGATORS/1.addr")
exec "$programs/t_dedicated" "zcache:$root/f" loss "\$pid"
END
chmod +x "$tmp/killer"
rm -f "$root/f"
run --daemons 0 --aggregators 2 --aggregator-config "$tmp/config" -- 2 "$tmp/killer" &&
    fail "a lost aggregator is no error: $(said)"
for text in "aggregator 1 was killed by signal 9" "bytes were lost in the job" \
    "lost: [0-9]* bytes of $root/f "; do
    grep -q "$text" "$tmp/out" || fail "not said: $text: $(said)"
done
rm -rf "$tmp"/zcache-*

# ---- ranks that end without a close ----
# The bytes are the aggregators' already, which write them back before the run ends.
mpi 3 "$programs/t_exits" "$ufs$tmp/ref" finalize >"$tmp/out" 2>&1 </dev/null || fail "ufs: $(said)"
for way in _exit abort kill; do
    n=$((1 - ${n:-0}))
    rm -f "$root/f"
    run --daemons "$n" --aggregators 2 --aggregator-config "$tmp/config" -- 3 \
        "$programs/t_exits" "zcache:$root/f" "$way"
    ! grep -q "lost" "$tmp/out" || fail "$way, $n daemons: $(said)"
    cmp "$tmp/ref" "$root/f" || fail "$way, $n daemons: not what was written: $(said)"
    nothing_left
done

# ---- daemons that end before aggregators ----
# What an aggregator still holds it writes to the file then.
# tell SIGNAL NAME ...
tell() {
    local i

    for i in "${@:2}"; do kill -"$1" "${daemon_pids[i]}"; done
}
# ended NAME ...: each has, and with status 0.
ended() {
    local i

    for i; do
        [[ -n ${daemon_pids[i]} ]] || continue
        wait "${daemon_pids[i]}" || fail "$how: $i: status $?: $(tail -n 3 "$tmp"/[0-9]*.log)"
        daemon_pids[i]=
    done
}
mpi 2 "$programs/t_dedicated" "$ufs$tmp/ref" held >"$tmp/out" 2>&1 </dev/null || fail "ufs: $(said)"
for how in 'daemons first' 'daemons are killed' 'all at once' 'aggregators first'; do
    rm -f "$root/f"
    start_daemons 2
    start_aggregators 2 --cache-size 64M --idle-time 0
    mpi 2 "$programs/t_dedicated" "zcache:$root/f" held "$tmp/note" >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/note" || fail "$how: $(said)"
    at_least 100 dirty_bytes 1 || fail "$how: an aggregator has nothing: $(said)"
    case $how in
    'daemons first')
        tell TERM 0 1
        ended 0 1
        tell TERM 100 101
        ;;
    'daemons are killed')
        for i in 0 1; do stop_daemon "$i" KILL; done
        tell TERM 100 101
        ;;
    'all at once') tell TERM 0 1 100 101 ;;
    *) tell TERM 100 101 0 1 ;;
    esac
    ended "${!daemon_pids[@]}"
    rm "$tmp/note"
    wait "$job"
    cmp "$tmp/ref" "$root/f" || fail "$how: not what was written: $(tail -n 3 "$tmp"/[0-9]*.log)"
done
unset ZCACHE_DAEMONS ZCACHE_AGGREGATORS
daemon_pids=()

# ---- ranks that serve the others ----
for n in 0 1; do
    rm -f "$root/f"
    start_daemons "$n"
    mpi_quiet 4 "$programs/t_dedicated" "zcache:$root/f" split || fail "half of the ranks serve"
    stop_daemons || fail "$n daemons: not drained"
done

# ---- what makes no sense, or fails ----
expect 1 "*aggregator 0 did not start:*--cache-size 1M holds fewer than 2 pages*" \
    "$zcache" run --no-preload --root "$root" --aggregators 2 --aggregator-cache 1M true
rm -rf "$tmp"/zcache-*
mkdir "$tmp/bin"
printf '#!/bin/sh\necho 1\n' >"$tmp/bin/nproc"
chmod +x "$tmp/bin/nproc"
PATH=$tmp/bin:$PATH expect 0 "zcache: run: 2 aggregators on this host have 1 processors between*" \
    "$zcache" run --no-preload --root "$root" --daemons 0 --aggregators 2 --aggregator-cache 8M true
expect 2 "*--aggregators: \"some\" is not allowed*" "$zcache" run --aggregators some true
expect 2 "*no aggregators, for which*" "$zcache" run --aggregator-cache 64M true
expect 2 "*both say how many*" "$zcache" run --aggregators 1 --aggregators-per-node 1 true
expect 2 "*start has no use for --aggregators*" "$zcache" start --aggregators 1
expect 2 "*--store-daemons is for an aggregator*" "$zcached" --store-daemons /nowhere --root "$root" \
    --address-file "$tmp/x.addr"
expect 2 "*only a daemon keeps a --journal*" "$zcached" --aggregator --journal "$tmp" \
    --address-file "$tmp/x.addr"
expect 2 "*--auth has no use*" "$zcached" --aggregator --auth munge --address-file "$tmp/x.addr"
# A daemon in the place of an aggregator, and an aggregator in that of a daemon.
start_daemons 1
start_aggregators 1
ZCACHE_AGGREGATORS=$tmp/0.addr mpi_quiet 2 "$programs/t_dedicated" "zcache:$root/f" absent \
    "0.addr is of a daemon, and not of a dedicated aggregator" || fail "a daemon is named"
ZCACHE_AGGREGATORS='' ZCACHE_DAEMONS=$tmp/100.addr mpi_quiet 2 "$programs/t_dedicated" \
    "zcache:$root/f" absent "100.addr is of a dedicated aggregator, and not of a daemon" ||
    fail "an aggregator is named"
# Ranks that reach them by libfabric alone, with another provider.
ZCACHE_LOCAL=false ZCACHE_PROVIDER='udp;ofi_rxd' mpi_quiet 2 "$programs/t_dedicated" \
    "zcache:$root/f" absent "and this program has udp;ofi_rxd: give it the hint zcache_provider" ||
    fail "another provider"
stop_daemons || fail "not drained"
# Hints for caches of ranks.
run --daemons 0 --aggregators 1 -- 1 "$programs/t_exits" "zcache:$root/f" finalize \
    zcache_cache_size=3M || fail "with a hint: $(said)"
grep -q "zcache_cache_size=3M has no effect, 512M is in force: the dedicated" "$tmp/out" ||
    fail "of a hint without effect: $(said)"
nothing_left
