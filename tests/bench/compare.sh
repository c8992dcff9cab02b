#!/usr/bin/env bash
# compare.sh - MPI-IO as it is beside zcache in all its ways: SimParIO and BTIO.
#
#     compare.sh [--quick | --full] [--results DIR] [--minutes N] [option ...]
#
# A run is one variant (the first table below: an MPI library, daemons, hints) doing one piece
# of work (the plan: SimParIO writing or reading, or BTIO, on a store).  All runs of the plan
# take turns, round after round, until the time is over, at least one round.  Every run
# verifies all of its bytes or leaves no number.  A variant that failed in a piece of work is
# not tried there again.
#
# Each run leaves one JSON object, on a line of its own, in DIR/runs.jsonl; DIR/conditions.json
# names the machine, versions and options.  page/report makes tables and figures of them.
#
#     --minutes N   15 (full 45, quick 1)    --rounds N  5 at most (full 5, quick 1)
#     --stores LIST      slow disk gluster; those that cannot be had are left out, with a reason
#     --ranks N     8    --counts LIST  2 16 (full 2 4 16 32), other numbers of ranks, for --fixed
#     --sizes LIST       4K 128K 1M (full from 1K on), records of one rank and phase
#     --fixed SIZE       128K    --headline SIZE  1M, which all variants do everywhere
#     --phases N    10  --compute SECONDS  0.1 (full 0.2), in each phase, by sleeping
#     --patterns LIST    interleaved irregular (full: all of SimParIO's), collective, with computing
#     --accesses LIST    independent (full: all of SimParIO's), contiguous, with computing
#     --btio LIST        W:1:4 (full also A:5:4), class:steps between dumps:ranks
#     --methods LIST     full (full also simple epio), the ways of BTIO to write; after the first
#                        class of --btio only the first of them
#     --rate N      200, MB/s of the stores slow and gluster
#     --op-us N  50      --latency-us N  200, a request of the slow store, its round trip
#     --timeout SECONDS  60, for one run
#     --settle SECONDS   120 (quick 1), at most, until the load of a build has worn off
set -u
# shellcheck source=tests/bench/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# shellcheck source=tests/bench/stores.sh
. "$bench_dir/stores.sh"
# shellcheck source=tests/bench/openmpi.sh
. "$bench_dir/openmpi.sh"
unset 'opt[repeats]' 'opt[json]' 'quick[repeats]'
opt+=([results]=$build/bench [minutes]=15 [rounds]=5 [stores]='slow disk gluster' [ranks]=8
    [counts]='2 16' [sizes]='4K 128K 1M' [fixed]=128K [headline]=1M [phases]=10 [compute]=0.1
    [patterns]='interleaved irregular' [accesses]=independent [btio]=W:1:4 [methods]=full
    [rate]=200 [op-us]=50 [latency-us]=200 [timeout]=60 [settle]=120)
full=([minutes]=45 [counts]='2 4 16 32' [sizes]='1K 4K 16K 32K 128K 1M' [compute]=0.2
    [btio]='W:1:4 A:5:4'
    [patterns]='interleaved subarray3d subarray4d irregular checkpoint arrays'
    [accesses]='independent split icollective nonblocking' [methods]='full simple epio'
    [timeout]=300)
quick=([minutes]=1 [rounds]=1 [counts]=2 [sizes]='32K 1M' [fixed]=1M [phases]=5 [compute]=0.05
    [stores]='slow disk' [patterns]= [accesses]= [btio]=S:1:4 [settle]=1)

# ---- the variants -------------------------------------------------------------------------
# name       | MPI     | file type | daemons | options of simpario | hints
# What they stand for, the report explains; it has the same names.
#
# The usual tuning: two-phase I/O always, one aggregator a node.  Four or eight aggregators and
# smaller buffers were no faster on one slow server, nor was any of it on BTIO.
tuned='romio_cb_write=enable romio_cb_read=enable cb_nodes=1'
variants=(
    "ufs         | mpich   | ufs:    |         |        |"
    "tuned       | mpich   | ufs:    |         |        | $tuned"
    "ompio       | openmpi |         |         |        |"
    "uncached    | mpich   | zcache: | uncached | --sync | zcache_write_back=none zcache_sync_level=stored zcache_prefetch=false"
    "embedded    | mpich   | zcache: |         |        |"
    "one         | mpich   | zcache: | one     |        |"
    "fabric      | mpich   | zcache: | one     |        | zcache_local=false"
    "two         | mpich   | zcache: | two-a two-b |    |"
    "none        | mpich   | zcache: | one     |        | zcache_write_back=none"
    "aggregator  | mpich   | zcache: | one     |        | zcache_write_back=aggregator"
    "daemon      | mpich   | zcache: | one     |        | zcache_write_back=daemon"
)
zcache_ways='uncached embedded one two'
peers='ufs tuned ompio'

# ---- the plan -----------------------------------------------------------------------------
# One line for each piece of work and variant: program|what|store|ranks|size|compute|how|variant;
# size is the record of SimParIO, the class and interval of BTIO; how is a pattern and an access
# of SimParIO, the method of BTIO.  What is written with a "timeline", of what is dirty at both
# levels, is slowed down by looking, and done once.
plain=contiguous:collective
declare -A planned=()
plan=()

# add PROGRAM WHAT STORE RANKS SIZE COMPUTE HOW VARIANT ...: what is planned already is not again.
add() {
    local work="$1|$2|$3|$4|$5|$6|$7" variant

    shift 7
    for variant; do
        [[ -z ${planned[$work|$variant]:-} && -z ${missing[$variant]:-} ]] || continue
        planned[$work|$variant]=1
        plan+=("$work|$variant")
    done
}

# shellcheck disable=SC2086 # lists of names
make_plan() {
    local record n store work compute method how methods=${opt[methods]}

    for compute in 0 "${opt[compute]}"; do
        add simpario write slow "${opt[ranks]}" "${opt[headline]}" "$compute" $plain $peers \
            $zcache_ways fabric none aggregator daemon
        add simpario read slow "${opt[ranks]}" "${opt[headline]}" "$compute" $plain $peers \
            $zcache_ways fabric
    done
    add simpario timeline slow "${opt[ranks]}" "${opt[headline]}" "${opt[compute]}" \
        $plain none aggregator daemon one
    for work in ${opt[btio]}; do
        for method in $methods; do
            add btio write slow "${work##*:}" "${work%:*}" - "$method" \
                $peers none aggregator daemon one embedded
        done
        methods=${methods%% *}
    done
    for record in ${opt[sizes]}; do plan_curves "${opt[ranks]}" "$record"; done
    for n in ${opt[counts]}; do plan_curves "$n" "${opt[fixed]}"; done
    plan_curves "${opt[ranks]}" "${opt[fixed]}"
    for how in ${opt[patterns]}; do
        if [[ $how == arrays ]]; then
            plan_shape arrays:independent
        else
            plan_shape "$how:collective"
        fi
    done
    for how in ${opt[accesses]}; do plan_shape "contiguous:$how"; done
    for store in disk gluster; do
        add simpario write "$store" "${opt[ranks]}" "${opt[headline]}" "${opt[compute]}" $plain \
            $peers $zcache_ways
    done
    have_stores
}

# One point of the curves: without computing and with it.
# shellcheck disable=SC2046,SC2086
plan_curves() {
    local compute

    for compute in 0 "${opt[compute]}"; do
        add simpario write slow "$1" "$2" "$compute" $plain $peers \
            $([[ $compute != 0 ]] || echo uncached) embedded one two
        add simpario read slow "$1" "$2" "$compute" $plain $peers \
            $([[ $compute != 0 ]] || echo uncached) embedded one
    done
}

# Another pattern or access.
# shellcheck disable=SC2086
plan_shape() {
    add simpario write slow "${opt[ranks]}" "${opt[fixed]}" "${opt[compute]}" "$1" \
        $peers embedded one
}

# Leaves in the plan what is on a store that there is.
have_stores() {
    local line store all=("${plan[@]}")

    plan=()
    for line in "${all[@]}"; do
        IFS='|' read -r _ _ store _ <<<"$line"
        [[ -n ${below[$store]:-} ]] && plan+=("$line")
    done
}

# ---- what is there --------------------------------------------------------------------------
declare -A missing=() # variant or store -> why

set_up() {
    local store

    bench_memory
    stores_create "${opt[results]}"
    for store in ${opt[stores]}; do
        bench_progress "setting up: $store"
        store_up "$store" && continue
        missing[$store]=$store_obstacle
        unset "below[$store]"
    done
    bench_progress "building the benchmarks for Open MPI"
    openmpi_build || missing[ompio]=$openmpi_obstacle
    start_daemon 0 --root "$stores"
    start_daemon 1 --root "$stores"
    start_daemon 2 --root "$stores"
    start_daemon 3 --root "$stores" --cache-size 0
    bench_progress
    for store in "${!missing[@]}"; do echo "left out: $store: ${missing[$store]}"; done
}

declare -A daemon_number=([one]=0 [two-a]=1 [two-b]=2 [uncached]=3)

# addresses NAME ...: as ZCACHE_DAEMONS wants them.
addresses() {
    local name list=

    for name; do list+=${list:+,}$tmp/${daemon_number[$name]}.addr; done
    echo "$list"
}

tear_down() {
    local i

    for i in 0 1 2 3; do
        stop_daemon "$i" || bench_problem "a daemon did not drain: $(tail -n 3 "$tmp/$i.log")"
    done
    slowfs_unmount "$stores/slow" || bench_problem "slowfs ended with status $?"
}

# ---- a run ------------------------------------------------------------------------------
# run LINE: one line of the plan, once; its line of the results.
run() {
    local program what store n size compute how variant type daemons options hints hint
    local preload= before=null after=null alone=null status=1 why bin=$build

    IFS='|' read -r program what store n size compute how variant <<<"$1"
    IFS='|' read -r mpi type daemons options hints < <(variant_row "$variant")
    # shellcheck disable=SC2086 # a list of names
    daemons=$(addresses $daemons)
    if [[ $type == zcache: ]]; then preload=$plugin; fi
    if [[ $mpi == openmpi ]]; then bin=$openmpi; fi
    "command_$program"
    command+=(--json "$tmp/run.json" --quiet)
    for hint in $hints; do command+=(--hint "$hint"); done
    : >"$tmp/run.json"
    : >"$tmp/run.log"
    if "prepare_$what"; then
        if [[ $store == slow ]]; then before=$(<"$stores/slow/.slowfs"); fi
        ZCACHE_DAEMONS=$daemons ranks "$n" "$preload" "${command[@]}" >"$tmp/run.log" 2>&1
        status=$?
    fi
    if [[ $store == slow ]]; then after=$(<"$stores/slow/.slowfs"); fi
    rm -f -- "${below[$store]}"/data*
    ((status == 0)) && line "$1" measured "$before" "$after" "$alone" && return
    why="status $status: $(grep -v '^ *$' "$tmp/run.log" | tail -n 3 | tr '\n' ' ')"
    bench_problem "${1//|/ }: no number: $why"
    line "$1" failed "$why"
    failed[$1]=1
}

# line LINE measured BEFORE AFTER ALONE | failed WHY
line() {
    local report=$tmp/run.json

    if [[ $2 == failed ]]; then report=/dev/null; fi
    jq -L "$bench_dir" -c --slurp --arg work "$1" --argjson round "$round" --arg why "$3" \
        --argjson before "$([[ $2 == failed ]] && echo null || echo "$3")" \
        --argjson after "${4:-null}" \
        --argjson alone "${5:-null}" \
        'include "compare"; line($work; $round; $before; $after; $alone; $why)' "$report" \
        >"$tmp/line" 2>>"$tmp/run.log" && [[ -s $tmp/line ]] && cat "$tmp/line" >>"$runs"
}

# The row of a variant, without its name and the blanks that align it.
variant_row() {
    local row

    for row in "${variants[@]}"; do
        [[ ${row%% *} != "$1" ]] || { sed 's/ *| */|/g; s/^[^|]*|//' <<<"$row"; return; }
    done
}

command_simpario() {
    command=("$bin/simpario/simpario" --phases "${opt[phases]}" --compute "$compute"
        --compute-by sleep --no-reference --pattern "${how%:*}" --access "${how#*:}")
    if [[ $how != arrays:* ]]; then command+=(--record "$size"); fi # they have a size of their own
    if [[ $what == read ]]; then
        command+=(-f "$type$stores/$store/input" --read --keep)
        return
    fi
    # shellcheck disable=SC2206 # options
    command+=(-f "$type$stores/$store/data" --write --posix-verify "${below[$store]}/data" $options)
    if [[ $what == timeline ]]; then command+=(--timeline 0.01); fi
}

command_btio() {
    command=("$bin/btio/btio" -c "${size%%:*}" --interval "${size#*:}" -m "$how"
        -f "$type$stores/$store/data" --posix-verify "${below[$store]}/data")
}

# Each just before the run itself.
prepare_timeline() { :; }

# A rank of a solver that waits for another's writes seems to compute.  So what computing takes is
# what it takes alone, with the same MPI library and, since the machine's speed changes, just now.
prepare_write() {
    [[ $program == btio ]] || return 0
    ranks "$n" '' "$bin/btio/btio" -c "${size%%:*}" -m none --json "$tmp/alone.json" \
        --quiet >"$tmp/run.log" 2>&1 &&
        alone=$(jq -L "$bench_dir" -e 'include "compare"; btio("none").total' "$tmp/alone.json" \
            2>>"$tmp/run.log")
}

# The file to be read is made behind the back of the store, and no daemon has it cached.  Where
# ranks write contiguously, it depends on nothing but its size.
declare -A input=()
prepare_read() {
    local bytes=$((n * opt[phases] * $(numfmt --from=iec "$size")))

    if [[ ${input[$store]:-} != "$bytes" ]]; then
        rm -f -- "${below[$store]}/input"
        mpi=mpich ranks "$n" '' "$build/simpario/simpario" -f "ufs:${below[$store]}/input" \
            --write --keep --quiet \
            --phases "${opt[phases]}" --record "$size" --no-reference >"$tmp/run.log" 2>&1 || return
        input[$store]=$bytes
    fi
    [[ -z $daemons ]] || "$zcachectl" --daemons "$daemons" evict >"$tmp/run.log" 2>&1
}

# ---- all of them --------------------------------------------------------------------------
declare -A failed=()
round=0

# One round, and others until the time is over.
rounds() {
    local began=$EPOCHSECONDS done=0 work

    while ((round < opt[rounds])); do
        round=$((round + 1))
        for work in "${plan[@]}"; do
            if ((round > 1 && EPOCHSECONDS - began >= 60 * opt[minutes])); then return; fi
            [[ -z ${failed[$work]:-} ]] || continue
            [[ $work != *'|timeline|'* ]] || ((round == 1)) || continue
            bench_progress "$(clock $((EPOCHSECONDS - began))) of ${opt[minutes]}:00  round $round, $((done % ${#plan[@]} + 1)) of ${#plan[@]}: ${work//|/ }"
            run "$work"
            done=$((done + 1))
        done
        [[ -t 2 ]] || echo "round $round done after $(clock $((EPOCHSECONDS - began)))" >&2
    done
}

clock() { printf '%d:%02d' $(($1 / 60)) $(($1 % 60)); }

# ---- what it was measured with --------------------------------------------------------------
conditions() {
    local store key

    {
        for store in "${!below[@]}"; do
            jq -n --arg k "$store" --arg v "$(store_about "$store")" '{stores: {($k): $v}}'
        done
        for key in "${!missing[@]}"; do
            jq -n --arg k "$key" --arg v "${missing[$key]}" '{left_out: {($k): $v}}'
        done
        for key in "${!opt[@]}"; do
            [[ $key == results ]] ||
                jq -n --arg k "$key" --arg v "${opt[$key]}" '{options: {($k): $v}}'
        done
        for key in "${variants[@]}"; do
            jq -n --arg k "${key%% *}" --arg v "$(variant_row "${key%% *}")" \
                '{variants: {($k): $v}}'
        done
        jq -n --arg date "$(date -u +'%Y-%m-%d %H:%M UTC')" --arg command "$command_line" \
            --arg processor "$(sed -n 's/^model name[[:space:]]*: //p' /proc/cpuinfo | head -n 1)" \
            --arg cores "$cores" \
            --arg memory \
            "$(awk '/^MemTotal/ { printf "%.0f GiB", $2 / 1048576 }' /proc/meminfo)" \
            --arg kernel "$(uname -sr)" --arg system "$(. /etc/os-release && echo "$PRETTY_NAME")" \
            --arg load "$load" --arg layout "$(bench_layout)" --arg zcache "$(zcache_version)" \
            --arg libfabric "$(pkg-config --modversion libfabric 2>/dev/null)" \
            --arg provider "$(sed -n 's/^provider //p' "$tmp/0.addr")" \
            '{$date, $command, $processor, $cores, $memory, $kernel, $system, $load, $layout,
              $zcache, $libfabric, $provider}'
    } | jq -s 'reduce .[] as $part ({left_out: {}}; . * $part)' >"${opt[results]}/conditions.json"
}

# With the commit of the source tree, where there is one.
zcache_version() {
    local top=$bench_dir/../.. text

    text=$("$zcached" --version | head -n 1)
    git -C "$top" rev-parse --git-dir >/dev/null 2>&1 &&
        text+=", commit $(git -C "$top" describe --always --dirty)"
    echo "$text"
}

# check_names OPTION NAME ...: the words of a list of names.
check_names() {
    local word

    for word in ${opt[$1]}; do
        [[ " ${*:2} " == *" $word "* ]] || bench_misuse "--$1 $word: not one of ${*:2}"
    done
}

# check_square N WHAT: N ranks of BTIO
check_square() {
    awk -v n="$1" 'BEGIN { root = int(sqrt(n) + 0.5); exit root * root != n }' ||
        bench_misuse "$2: $1 ranks are not a square"
}

# ---- main ----------------------------------------------------------------------------------
command_line=${BENCH_COMMAND:-compare.sh $*} # what the user typed
bench_options "$@"
check_names stores slow disk gluster
check_names methods full simple epio
check_names patterns interleaved subarray3d subarray4d irregular checkpoint arrays
check_names accesses independent split icollective nonblocking
mkdir -p "${opt[results]}" && opt[results]=$(cd "${opt[results]}" && pwd) ||
    bench_misuse "--results: no directory"
runs=${opt[results]}/runs.jsonl
most=${opt[ranks]}
for work in ${opt[btio]}; do check_square "${work##*:}" "--btio $work"; done
for work in ${opt[counts]} ${opt[btio]}; do
    if ((${work##*:} > most)); then most=${work##*:}; fi
done

bench_start "$most"
set_up
make_plan
((${#plan[@]})) || fail "nothing can be measured: ${!missing[*]} left out"
bench_await_quiet
bench_keep_earlier "${opt[results]}"
: >"$runs"
conditions
echo "compare: ${#plan[@]} runs a round, ${opt[rounds]} rounds at most, about ${opt[minutes]} minutes; $(bench_layout)"
rounds
bench_progress
tear_down
echo "compare: $(wc -l <"$runs") runs in $round rounds, ${#failed[@]} failed; $runs"
((${#failed[@]} < ${#plan[@]})) || fail "no run has a number"
bench_end
