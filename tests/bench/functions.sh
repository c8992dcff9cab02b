# functions.sh - what the benchmarks share.  Sourced by bash.
#
# A benchmark measures cases (a file system, a number of ranks), and in each of them variants,
# the ways to do the same thing: a table of lines
#
#     label | file type | daemon, or nothing | hints, separated by blanks | options of simpario
#
# whose first word of the label is "ufs:" where it is what a user has without zcache.  The last
# column may be missing; the file type ompio is Open MPI's own, of files without a prefix
# (openmpi.sh).  Every
# run verifies all bytes, from behind MPI, or gives no number; the variants take turns, so that
# all see the same noise.  Runs leave one JSON object each in $samples; what is printed, and
# written by --json, is made of these.
#
# All ranks run in one cpu cgroup where that is possible, and with yieldshim where there are
# more ranks than cores; daemons and stores stay outside.  The output says what was used:
# figures from different layouts do not compare.
# shellcheck shell=bash disable=SC2154 # build, tmp
bench_dir=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
bench_name=$(basename -- "$0")

# The script's leading comment is its --help, which does not need a build.
bench_usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }
for arg; do
    if [[ $arg == --help ]]; then bench_usage; exit 0; fi
done
unset arg

# shellcheck source=tests/daemon/functions.sh
. "$bench_dir/../daemon/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$bench_dir/../slowfs/functions.sh"
plugin=$build/adio_zcache/.libs/libzcache.so
simpario=$build/simpario/simpario
cores=$(nproc)
samples=
shim=
also= # more to preload into ranks of MPICH
cgroup=
job=
problems=0

# ---- options ------------------------------------------------------------------------------
# bench_options "$@": fills in opt, which names all options there are and their defaults.
# --quick takes the values of quick instead, and --full those of full, where there are any.
# What a value has to look like, its default tells, or kinds where that says too little.
declare -A opt=([repeats]=5 [json]= [timeout]=120) quick=([repeats]=2) full=()
declare -A kinds=([op-us]=count [latency-us]=count [settle]=count [write-rate]=rate
    [read-rate]=rate [most]=limit)

bench_options() {
    local arg key
    local -A kind=()

    for key in "${!opt[@]}"; do kind[$key]=${kinds[$key]:-$(bench_kind "${opt[$key]}")}; done
    for arg; do
        case $arg in
        --quick) for key in "${!quick[@]}"; do opt[$key]=${quick[$key]}; done ;;
        --full) for key in "${!full[@]}"; do opt[$key]=${full[$key]}; done ;;
        esac
    done
    while (($#)); do
        key=${1#--}
        case $1 in
        --quick) ;;
        --full) ((${#full[@]})) || bench_misuse "no option --full" ;;
        --?*)
            [[ -v opt[$key] ]] || bench_misuse "no option $1"
            (($# > 1)) && [[ -n $2 ]] || bench_misuse "$1 wants a value"
            bench_check "$1" "$2" "${kind[$key]}"
            opt[$key]=$2
            shift
            ;;
        *) bench_misuse "what is '$1'?" ;;
        esac
        shift
    done
}

# The kinds of values: what each looks like, and what to say of one that does not.  A list has
# blanks between its elements, which are of one kind.  A rate is as slowfs takes it.
declare -A bench_like=([number]='[1-9][0-9]*' [decimal]='[0-9]+(\.[0-9]+)?'
    [size]='[1-9][0-9]*[KMG]?'
    [work]='[SWABC]:[1-9][0-9]*:[1-9][0-9]*' [names]='[a-z][a-z0-9-]*' [count]='[0-9]+'
    [rate]='[0-9]+(\.[0-9]+)?[kKMG]?' [limit]='[0-9]+(\.[0-9]+)?')
declare -A bench_unlike=([number]='a number from 1 up' [decimal]='a number of seconds'
    [count]='a number from 0 up' [rate]='a rate such as 200M, or 0 for no limit'
    [limit]='a number such as 1.3'
    [size]='a size such as 64K' [numbers]='a list of numbers from 1 up'
    [decimals]='a list of numbers of seconds' [sizes]='a list of sizes such as 64K'
    [works]='a list of CLASS:STEPS:RANKS' [names]='a list of names')

# bench_kind DEFAULT: prints the kind of an option's values; nothing for a text such as a path.
# CLASS:STEPS:RANKS is always a list, even of one element.
bench_kind() {
    local word first=

    for word in number size decimal work; do
        if [[ ${1%% *} =~ ^(${bench_like[$word]})$ ]]; then first=$word; break; fi
    done
    case $first,$1 in
    work,*) echo works ;;
    ?*,*' '*) if [[ $first == number && $1 == *[KMG]* ]]; then first=size; fi; echo "${first}s" ;;
    ?*,*) echo "$first" ;;
    ,*' '*) if bench_all names "$1"; then echo names; fi ;;
    esac
}

# bench_all KIND LIST: whether all elements are of this kind, and there are any.
bench_all() {
    local word words

    read -ra words <<<"$2"
    for word in "${words[@]}"; do
        [[ $word =~ ^(${bench_like[$1]})$ ]] || return
    done
    ((${#words[@]}))
}

# bench_check OPTION VALUE KIND
bench_check() {
    case $3 in
    '') return ;;
    names) bench_all names "$2" ;;
    *s) bench_all "${3%s}" "$2" ;;
    *) [[ $2 =~ ^(${bench_like[$3]})$ ]] ;;
    esac || bench_misuse "$1 $2: not ${bench_unlike[$3]}"
}

# bench_keep_earlier DIRECTORY: what an earlier comparison left there took as long as this one
# will, and may not be this one's.
bench_keep_earlier() {
    local file

    for file in runs.jsonl conditions.json README.md; do
        if [[ -e $1/$file ]]; then mv -f "$1/$file" "$1/$file.old"; fi
    done
}

bench_misuse() { echo "$bench_name: $*; see --help" >&2; exit 2; }
bench_skip() { echo "$bench_name: skipped: $*" >&2; exit 77; }

# bench_begin: to be called once, after the options.
bench_begin() {
    command -v jq >/dev/null || bench_skip "no jq (Debian: jq)"
    make_tmp
    samples=$tmp/samples
    : >"$samples"
    cleanup_fn end_job
    trap 'exit 1' HUP
}

# ---- the layout of the ranks -----------------------------------------------------------------
# bench_start MOST-RANKS: instead, where ranks are measured.
bench_start() {
    bench_begin
    [[ -x $simpario && -e $plugin ]] || bench_skip "this build has no simpario or no plugin"
    find_shim "$1"
    make_cgroup
}

find_shim() {
    local file

    (($1 > cores)) || return
    for file in "$build"/tests/{,.libs/}{,lib}yieldshim.so; do
        if [[ -e $file ]]; then shim=$file; fi
    done
    [[ -n $shim ]] || echo "$bench_name: no yieldshim in the build: more ranks than cores will" \
        "wait for each other most of the time" >&2
}

# Version 1 or 2.  Without, each process that a launcher starts in a session of its own
# is scheduled as a group of its own, which makes yields do little.
make_cgroup() {
    local top

    for top in /sys/fs/cgroup/cpu /sys/fs/cgroup; do
        [[ -e $top/cpu.shares || -e $top/cgroup.controllers ]] || continue
        cgroup=$(mktemp -d "$top/zcache-bench.XXXXXX" 2>/dev/null) || continue
        if [[ -e $cgroup/cpu.shares || -e $cgroup/cpu.weight ]]; then
            cleanup_fn remove_cgroup
            return
        fi
        rmdir "$cgroup"
        cgroup=
    done
}

# With what a launcher that had to be killed left in it.
remove_cgroup() {
    local pid

    while read -r pid; do kill -KILL "$pid" 2>/dev/null; done <"$cgroup/cgroup.procs"
    wait_for 10 rmdir "$cgroup" 2>/dev/null
}

bench_layout() {
    printf '%s, %s, %d cores' "$([[ -n $shim ]] && echo "with yieldshim" || echo "no yieldshim")" \
        "$([[ -n $cgroup ]] && echo "ranks in one cpu cgroup" || echo "no cgroup")" "$cores"
}

# Ranks that compute by spinning leave no core to what works behind their backs, where there
# are more of them than cores; on a machine that has the cores, they would.
bench_compute_by() { if (($1 > cores)); then echo sleep; else echo spin; fi; }

# ---- stores ----------------------------------------------------------------------------------
# bench_memory: a directory $memory in memory, so that no disk is measured.
bench_memory() {
    [[ -d /dev/shm && -w /dev/shm ]] || bench_skip "no /dev/shm to put files in"
    memory=$(mktemp -d /dev/shm/zcache-bench.XXXXXX)
    cleanup_fn "rm -rf '$memory'"
}

# bench_slowfs OPTION ...: mounts a slow store $slow whose files are in $memory/slow.
bench_slowfs() {
    local obstacle

    obstacle=$(slowfs_obstacle)
    [[ -z $obstacle ]] || bench_skip "$obstacle"
    slow=$tmp/slow
    mkdir -p "$slow" "$memory/slow"
    slowfs_mount "$memory/slow" "$slow" "$@" || fail "slowfs: $(<"$tmp/slowfs.log")"
}

# ---- running --------------------------------------------------------------------------------
# ranks N PRELOAD COMMAND ...: in the background, so that an interrupt need not wait for it.
# mpi names the MPI library to start the ranks of; Open MPI yields by itself.  touched: bytes of
# memory that a virtual machine is made to have before (touch.c).
mpi=mpich
touched=0
ranks() {
    local n=$1 preload=$2 join='[[ -z $1 ]] || echo $$ >"$1/cgroup.procs"; shift; exec "$@"' status
    local launch

    shift 2
    ((touched == 0)) || "$build/tests/bench/touch" "$touched" ||
        bench_problem "memory is not touched before a run"
    case $mpi in
    mpich)
        preload=${shim:+$shim:}${also:+$also:}$preload
        preload=${preload%:}
        launch=("${MPIEXEC:-mpiexec.mpich}" -n "$n" ${preload:+-genv LD_PRELOAD "$preload"})
        ;;
    openmpi)
        launch=("${openmpi_run[@]}" -n "$n" --mca mpi_yield_when_idle 1 --mca io ompio)
        ;;
    esac
    bash -c "$join" - "$cgroup" timeout -k 5 "${opt[timeout]}" "${launch[@]}" "$@" </dev/null &
    job=$!
    wait "$job"
    status=$?
    job=
    return "$status"
}

end_job() {
    if [[ -n $job ]]; then kill -TERM "$job" 2>/dev/null && wait "$job" 2>/dev/null; fi
}

# bench_await_quiet: waits, for opt[settle] seconds at most, until the load of what was built just
# before has worn off; $load is then that of the last minute, for the page.
bench_await_quiet() {
    local end=$((EPOCHSECONDS + opt[settle]))

    while
        load=$(cut -d' ' -f1 /proc/loadavg)
        awk -v load="$load" -v cores="$cores" 'BEGIN { exit load <= cores / 4 }' &&
            ((EPOCHSECONDS < end))
    do
        bench_progress "waiting until the machine is quiet: a load of $load on $cores cores"
        sleep 1
    done
}

# bench_variant ROW: of one row of the table; sets what the caller has as local: label, type,
# daemon, program, preload, prefix (of file names), mpi, and extra, hints and options of
# simpario.
bench_variant() {
    local words options hint

    IFS='|' read -r label type daemon words options <<<"$1"
    label=$(trim "$label") type=$(trim "$type") daemon=$(trim "$daemon")
    read -ra extra <<<"$options"
    for hint in $words; do extra+=(--hint "$hint"); done
    program=$simpario preload='' prefix=$type: mpi=mpich
    case $type in
    zcache) preload=$plugin ;;
    ompio) program=$openmpi/simpario/simpario prefix='' mpi=openmpi ;;
    esac
}

# bench_read FILE RANKS OPTION ...: reads a file once by simpario, as bench_variant has said, with
# cold caches.  The report is $tmp/run.json; messages are in $tmp/run.log.
bench_read() {
    [[ -z $daemon ]] || "$zcachectl" --daemons "$tmp/$daemon.addr" evict >/dev/null ||
        fail "zcachectl evict"
    ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} \
        ranks "$2" "$preload" "$program" -f "$prefix$1" "${extra[@]}" --read --keep --quiet \
        --no-reference --json "$tmp/run.json" "${@:3}" >"$tmp/run.log" 2>&1
}

# bench_run CASE VARIANT DIRECTORY BELOW RANKS OPTION ...: simpario once, writing a file in
# DIRECTORY and checking it as BELOW shows it; adds a sample, or says what went wrong.
bench_run() {
    local case=$1 label type daemon program preload prefix mpi extra status name=data.$RANDOM
    local dir=$3 below=$4 n=$5 before=null

    bench_variant "$2"
    shift 5
    if [[ -e $dir/.slowfs ]]; then before=$(<"$dir/.slowfs"); fi
    ZCACHE_DAEMONS=${daemon:+$tmp/$daemon.addr} \
        ranks "$n" "$preload" "$program" -f "$prefix$dir/$name" "${extra[@]}" --write --quiet \
        --no-reference --posix-verify "$below/$name" --json "$tmp/run.json" \
        "$@" >"$tmp/run.log" 2>&1
    status=$?
    rm -f -- "$below/$name"
    if ((status == 2)); then fail "$(<"$tmp/run.log")"; fi # a bad option
    if ((status == 0)) && bench_sample "$case" "$label" "$before" "$dir"; then return; fi
    bench_failed "$case" "$label" "status $status, no number: $(tail -n 5 "$tmp/run.log")"
}

# bench_failed CASE VARIANT WHY: the sample of a run without a number.
bench_failed() {
    bench_problem "$1, $2: $3"
    jq -nc --arg case "$1" --arg variant "$2" '{$case, $variant, failed: true}' >>"$samples"
}

# Goes on, but will not end well.
bench_problem() {
    echo "$bench_name: $*" >&2
    problems=$((problems + 1))
}

trim() { sed 's/^ *//; s/ *$//' <<<"$1"; }

# Adds what the run reported to $samples; fails when it did not verify every byte.
bench_sample() {
    local after=null

    if [[ -e $4/.slowfs ]]; then after=$(<"$4/.slowfs"); fi
    jq -L "$bench_dir" -ec --arg case "$1" --arg variant "$2" --argjson before "$3" \
        --argjson after "$after" \
        'include "bench"; sample($case; $variant; $before; $after)' "$tmp/run.json" >>"$samples" \
        2>>"$tmp/run.log"
}

# bench_turns CASE DIRECTORY BELOW RANKS OPTION ...: all variants in turn, over and over.
bench_turns() {
    local i variant case=$1

    shift
    for ((i = 1; i <= opt[repeats]; i++)); do
        for variant in "${variants[@]}"; do
            bench_progress "$case, repetition $i: ${variant%%|*}"
            bench_run "$case" "$variant" "$@"
        done
    done
    bench_progress
}

# What goes on, on one line of a terminal: that of BENCH_TERMINAL, a descriptor, where what is
# said goes elsewhere.
bench_progress() {
    local fd=${BENCH_TERMINAL:-2}

    if [[ -t $fd ]]; then printf '\r\033[K%s' "$*" >&"$fd"; fi
}

# ---- fi_pingpong ------------------------------------------------------------------------------
# It has no warm-up: making its connection and touching its buffers are on its clock, and take
# some twentieth of a second.  With so many messages of 4 KiB and of 4 MiB that is little of
# it, and a run takes about a second; what is beside it connects before its own clock starts.
small_messages=20000
large_messages=1000

# bench_pingpong SIZE COUNT: "microseconds of a round trip, MB/s one way" with the provider of the
# options; what fi_pingpong prints is half a round trip.
bench_pingpong() {
    local server port=$((20000 + RANDOM % 20000)) out status limit=(timeout -k 5 "${opt[timeout]}")
    local program=(fi_pingpong -p "${opt[provider]}" -e rdm -S "$1" -I "$2")

    "${limit[@]}" "${program[@]}" -B "$port" >/dev/null 2>&1 &
    server=$!
    if wait_for 10 bench_listens "$port"; then
        out=$("${limit[@]}" "${program[@]}" -P "$port" 127.0.0.1 2>&1)
        status=$?
    else
        out='its server does not listen' status=1
    fi
    if ((status)); then kill "$server" 2>/dev/null; fi
    wait "$server"
    ((status == 0)) &&
        awk '$1 ~ /^[0-9]+[km]$/ { print 2 * $7, $6; ok = 1 } END { exit !ok }' <<<"$out" && return
    echo "fi_pingpong: status $status: $(tail -n 3 <<<"$out")" >&2
    return 1
}

bench_listens() { grep -qi ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# ---- results --------------------------------------------------------------------------------
# bench_results NAME=TEXT ...: $results, the JSON object of everything measured:
#   benchmark
#   conditions those given, the layout, all options
#   cases[]    case, variants[]
#   variants[] variant, hints, ranks, bytes, runs, failed, metrics (lowest, median, highest,
#              samples of each, and runs, of which there may be more than samples),
#              of_best_ufs: ratios of median bandwidths
bench_results() {
    local pair key conditions

    conditions=$(
        for pair; do jq -n --arg k "${pair%%=*}" --arg v "${pair#*=}" '{($k): $v}'; done
        for key in "${!opt[@]}"; do
            jq -n --arg k "$key" --arg v "${opt[$key]}" '{options: {($k): $v}}'
        done
    )
    conditions=$(jq -s --arg layout "$(bench_layout)" 'reduce .[] as $c ({$layout}; . * $c)' \
        <<<"$conditions")
    results=$(jq -L "$bench_dir" -s --arg benchmark "${bench_name%.sh}" \
        --argjson conditions "$conditions" \
        'include "bench"; results($benchmark; $conditions)' "$samples")
    bench_add .
}

# bench_add FILTER: puts into $results what only this benchmark has.
bench_add() {
    results=$(jq -L "$bench_dir" "include \"bench\"; $1" <<<"$results")
    if [[ -n ${opt[json]} ]]; then printf '%s\n' "$results" >"${opt[json]}"; fi
}

# bench_table HEADING FILTER: rows of text from $results, the columns aligned.
bench_table() {
    {
        printf '%s\n' "$1"
        jq -L "$bench_dir" -r "include \"bench\"; $2 | @tsv" <<<"$results" | tr '\t' '|'
    } | awk -F'|' '
        { for (i = 1; i <= NF; i++) { cell[NR, i] = $i
              if (length($i) > width[i]) width[i] = length($i) }
          if (NF > columns) columns = NF }
        END { for (r = 1; r <= NR; r++) {
            line = sprintf("%-" width[1] "s", cell[r, 1])
            for (i = 2; i <= columns; i++) line = line sprintf("  %" width[i] "s", cell[r, i])
            sub(/ +$/, "", line); print line } }'
}

# bench_judge LIMIT WHAT FILTER: FILTER gives [name, figure] of $results, once or more.  A figure
# beyond the limit is a problem, and so is one that there is none of.
bench_judge() {
    local name figure

    while IFS='|' read -r name figure; do
        if [[ $figure == - ]]; then
            bench_problem "$name: nothing to compare with the limit, $1 $2"
        else
            bench_problem "$name: $figure $2, and the limit is $1"
        fi
    done < <(jq -L "$bench_dir" -r --argjson limit "$1" "include \"bench\"; [$3]"'
        | if length == 0 then [["all", null]] else . end
        | .[] | select(.[1] == null or .[1] > $limit) | "\(.[0])|\(.[1] | n(3))"' \
        <<<"$results" || echo "all|-")
}

# The exit status of the benchmark.
bench_end() {
    ((problems == 0)) || { echo "$bench_name: $problems problems, see above" >&2; exit 1; }
}
