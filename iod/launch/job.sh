# shellcheck shell=bash
# job.sh - "zcache run": the command, interrupts, and what is said at the end.
#
# A part of the launcher, iod/zcache.in.

# ---- the job ------------------------------------------------------------------------
job=
early=() # signals for it that came before it was there

# Those that end the job, and those that are between its sender and it: batch systems send USR1 or
# USR2 before a time limit.  A terminal sends some to all that it has in the foreground.
ending_signals=(INT TERM HUP)
mapfile -t other_signals < <(printf '%s\n' QUIT USR1 USR2 ALRM VTALRM PROF WINCH URG IO PWR XCPU \
    XFSZ CONT; seq "$(kill -l RTMIN)" "$(kill -l RTMAX)")
typed_signals=' INT QUIT WINCH '

# Whether an interrupt typed at the terminal reaches the job without us.
in_foreground() {
    local stat pgrp tpgid _

    { read -r stat <"/proc/$$/stat"; } 2>/dev/null || return 1
    read -r _ _ pgrp _ _ tpgid _ <<<"${stat##*) }"
    [[ $pgrp == "$tpgid" ]]
}

# Daemons give up what is left at the second SIGINT, or SIGTERM where there is no grace time.  Equal
# signals that are pending are one, so they get one of each kind.  A daemon with a grace time that
# is stopping ignores SIGTERM; leave(), called while it is waited for, sends SIGINT again.
given_up= # when, by SECONDS
give_up() {
    local i

    : "${given_up:=$SECONDS}"
    [[ -z $flusher ]] || kill -TERM "$flusher" 2>/dev/null
    for i in "${!pids[@]}"; do
        [[ -n ${pids[i]} ]] || continue
        if [[ -z ${host_of[i]} ]]; then
            kill -TERM "${pids[i]}" 2>/dev/null
            kill -INT "${pids[i]}" 2>/dev/null
        elif ((interrupts == 2)); then
            give_up_there "$i"
        else
            kill -KILL "${pids[i]}" 2>/dev/null
        fi
    done
}

# The first interrupt of the draining is a question, the second gives up what is left, and from the
# third on remote shells are not waited for either.  The question is not put by the trap: what
# arrives while bash runs a trap can be lost, and the answer to the question may be quick.
interrupts=0 asked=0
ask() {
    ((interrupts == 1 && !asked)) || return 0
    asked=1
    say "writing back; interrupt once more to give up what is not written yet"
}

# Forwards signal $1 to the job, until it has ended: its number may be another process's then.
# What a terminal may have sent waits for pass_typed(): in_foreground() calls "read", which a trap
# that has interrupted a "read" must not do.
typed=()
pass_on() {
    if [[ $phase == ended || $phase == drain ]]; then
        return
    elif [[ $typed_signals == *" $1 "* ]]; then
        typed+=("$1")
    elif [[ -z $job ]]; then
        early+=("$1")
    else
        kill -"$1" "$job" 2>/dev/null
    fi
}

pass_typed() {
    local signals=("${typed[@]}") signal

    ((${#signals[@]})) || return 0
    typed=("${typed[@]:${#signals[@]}}")
    for signal in "${signals[@]}"; do in_foreground || kill -"$signal" "$job" 2>/dev/null; done
}

# Stops with the job; CONT is passed on.
on_stop() {
    [[ $phase != job || -z $job ]] || kill -TSTP "$job" 2>/dev/null
    trap - TSTP
    kill -TSTP "$BASHPID"
    trap on_stop TSTP
}

catch_signals() {
    local signal

    for signal in "${ending_signals[@]}"; do
        # shellcheck disable=SC2064 # now
        trap "on_signal $signal" "$signal"
    done
    for signal in "${other_signals[@]}"; do
        # shellcheck disable=SC2064 # now
        trap "pass_on $signal" "$signal"
    done
    trap on_stop TSTP
}

on_signal() {
    case $phase in
    job) pass_on "$1" ;;
    ended) [[ $1 == HUP ]] || interrupts=1 ;; # asked in the drain
    drain)
        interrupts=$((interrupts + 1))
        ((interrupts == 1)) || give_up
        ;;
    *)
        exit $((128 + $(kill -l "$1")))
        ;;
    esac
}

# Runs the command as a child of a process between us and it, which prints "command" and the
# command's process number, unless it dies before, and "status" and its exit status in the end.
# "wait" of bash forgets a child that ends in the moment of a signal, and stands for ever; to read
# from a pipe does not.  This process ignores signals, the command does not: what bash does to
# background commands is undone.
supervise() {
    exec {hold}>&-
    trap - EXIT TSTP
    trap '' "${ending_signals[@]}" "${other_signals[@]}"
    (
        trap - "${ending_signals[@]}" "${other_signals[@]}"
        echo "command $BASHPID" # signals are sent to it from now on
        unset ZCACHE_DAEMONS ZCACHE_AGGREGATORS
        if ((count)); then export ZCACHE_DAEMONS=$state; fi
        if ((aggregators)); then
            export ZCACHE_AGGREGATORS=$work/aggregators
            if [[ -n $provider ]]; then export ZCACHE_PROVIDER=${ZCACHE_PROVIDER-$provider}; fi
        fi
        export ZCACHE_LOSSES=$work/losses ZCACHE_USED=$work/used ZCACHE_UNWRITTEN=$work/unwritten
        if [[ -n $paths ]]; then export ZCACHE_PATHS=$paths; fi
        PNETCDF_HINTS=$(pnetcdf_hints)
        export PNETCDF_HINTS
        if [[ -n $trace ]]; then export ZCACHE_TRACE=$work/trace; fi
        if ((summary)); then export ZCACHE_SUMMARY=$work/summary; fi
        if [[ -t $err ]]; then export ZCACHE_PROGRESS=${ZCACHE_PROGRESS-5s}; fi
        if [[ -n $preload ]]; then export LD_PRELOAD=$preload; fi
        exec "${own_options[@]}" "$@" <&"$in" >&"$out" 2>&"$err" {in}<&- {out}>&- {err}>&-
    )
    echo "status $?"
}

run_job() {
    local preload=${LD_PRELOAD:-} in out report status='' signal word='' value

    if ((preload_plugin)); then preload=$(with_plugin "$preload"); fi
    exec {in}<&0 {out}>&1
    phase=job
    exec {report}< <(supervise "$@")
    until [[ -n $word ]]; do read -r -t 1 -u "$report" word value || (($? > 128)) || return 1; done
    if [[ $word == status ]]; then # it died before it told its number
        phase=ended
        return "$value"
    fi
    job=$value
    for signal in "${early[@]}"; do kill -"$signal" "$job" 2>/dev/null; done
    until [[ -n $status ]]; do
        pass_typed
        read -r -t 1 -u "$report" word status || (($? > 128)) || status=1
        [[ -z $status ]] || phase=ended
        check_daemons
    done
    return "$status"
}

# What programs tell this run alone, for others may use the same state directory, by --state.
# Those of runs that are no more are removed, but not at once: "the logs are kept".
work=
make_work() {
    local old

    for old in "$state/zcache.run.$here".*; do
        [[ -d $old ]] && ! kill -0 "${old##*.}" 2>/dev/null && rm -rf -- "$old"
    done
    work=$state/zcache.run.$here.$$
    rm -rf -- "$work"
    mkdir -m 700 -- "$work" "$work/unwritten" || die "cannot make the directory $work"
}

# Aggregators are this run's alone, so their files are as well.
make_aggregators() {
    local i here_too=0

    ((aggregators)) || return 0
    mkdir -m 700 -- "$work/aggregators" || die "cannot make the directory $work/aggregators"
    ((!count)) || aggregator_options+=(--store-daemons "$state")
    [[ -z $aggregator_cache ]] || aggregator_options+=(--cache-size "$aggregator_cache")
    for ((i = 0; i < aggregators; i++)); do
        id_of[count + i]=${work#"$state"/}/aggregators/$i
        [[ -n ${host_of[count + i]} ]] || here_too=$((here_too + 1))
    done
    ((here_too <= $(nproc))) ||
        say "run: $here_too aggregators on this host have $(nproc) processors between them and" \
            "the ranks: fewer are as fast"
}

# ---- what is easily done wrong ----------------------------------------------------------
# With the statuses of a shell.
need_command() {
    ! type -P -- "$1" >/dev/null || return 0
    [[ $1 == */* && -e $1 ]] || { say "run: $1: no such command"; exit 127; }
    if [[ -d $1 ]]; then
        say "run: $1 is a directory"
    else
        say "run: $1 is there, and may not be executed: chmod +x, if it is a program"
    fi
    exit 126
}

# The plugin sees no name that does not begin with zcache:, so only we can tell.
named=0 # one of the command's words has it
check_names() { # the command's words
    local word prefix

    for word; do
        [[ $word != *zcache:* ]] || named=1
        if [[ $word == *zcache:'~'* ]]; then
            misuse "run: the shell does not replace ~ in \"$word\"; write zcache:\$HOME/... instead"
        fi
        prefix=${word%%:/*}
        [[ $prefix != "$word" && $prefix =~ ^[a-z]{4,8}$ && $prefix != zcache ]] || continue
        case $prefix in
        z*c*h*e | z*a*c*h | zc*a*h[!e] | zcac[!h]e | [!z]cache)
            say "run: $word: did you mean zcache:${word#*:}?"
            ;;
        esac
    done
}

# Whether a list of variables that a launcher hands on has LD_PRELOAD.
hands_on_preload() { # LIST
    [[ ",$1," == *,LD_PRELOAD[,=]* || ",$1," == *,ALL,* ]]
}

# Says so when the command gives programs an LD_PRELOAD that leaves the plugin out, or none.
check_preload() { # the command's words
    local value kept_back='' given='' slurm=''

    while (($#)); do
        value=''
        case $1 in
        srun | */srun) slurm=1 ;;
        -env | -genv | --env) [[ ${2-} != LD_PRELOAD ]] || value=${3-} ;;
        LD_PRELOAD=*) value=${1#*=} ;;
        -envnone | -genvnone) kept_back=$1 ;;
        -envlist | -genvlist) hands_on_preload "${2-}" || kept_back="$1 ${2-}" ;;
        --export=*) [[ ! $slurm ]] || hands_on_preload "${1#*=}" || kept_back=$1 ;;
        esac
        [[ $value != *libzcache* ]] || given=1
        if [[ -n $value && $value != *libzcache* ]]; then
            say "run: the command sets LD_PRELOAD to \"$value\", without the plugin: what it starts" \
                "opens no file through zcache; set LD_PRELOAD before zcache run, which adds to it"
        fi
        shift
    done
    [[ -z $kept_back || -n $given ]] ||
        say "run: the command's \"$kept_back\" keeps LD_PRELOAD back: what it starts opens no" \
            "file through zcache"
}

# A file with the prefix in its name: what made it knows no prefixes. Those of before do not count.
stray_name() {
    local file

    for file in "$PWD"/zcache:* "${root:-$PWD}"/zcache:*; do
        if [[ -e $file && ! $file -ot $work ]]; then
            echo "$file"
            return
        fi
    done
}

# The plugin makes a file when a program opens one.  Where it could not, as on a host that does not
# see the state directory, daemons know: programs connect when they open their first file, and a
# daemon that had one session, ours, served no program.  Without daemons only programs of this host
# are known.  Nothing is said where run does not preload the plugin.
check_use() {
    local n lines=0 where='' stray asked=$state among=$count

    [[ ! -e $work/used ]] && ((preload_plugin)) || return 0
    if ((aggregators)); then asked=$work/aggregators among=$aggregators; fi
    while read -r n; do
        lines=$((lines + 1))
        ((n <= 1)) || return 0
    done < <(((among)) && "$zcachectl" --daemons "$asked" --timeout 3s --json stats 2>/dev/null |
        sed -n 's/^ *"sessions_opened": \([0-9]*\),*$/\1/p; s/^ *"error":.*/2/p')
    ((lines == among)) || return 0
    ((among || !named)) || where=' on this host'
    stray=$(stray_name)
    if [[ -n $stray ]]; then
        say "no file was opened through zcache$where, and there is a file $stray: it was not made" \
            "through MPI-IO, or by a library that knows no prefix; --paths does without one"
    elif [[ -n $paths ]]; then
        say "no file was opened through zcache$where: none below $paths, and none with the prefix" \
            "zcache:, was opened through MPI-IO"
    elif ((named)); then
        say "no file was opened through zcache$where, though the command names one: is what opens" \
            "it an MPI program, and does it use MPI-IO?"
    else
        say "no file was opened through zcache$where: names of files have to begin with zcache:" \
            "where --paths does not select them, such as zcache:$(absolute "${root:-/path}")/x"
    fi
}

# ---- what became of the files -------------------------------------------------------------
# A line of JSON each (doc/observing.md), in which no quote stands within a text.
show_summary() {
    ((summary)) || return 0
    if [[ ! -s $work/summary ]]; then
        say "summary: no file that was read or written through zcache has been closed"
        return
    fi
    LC_ALL=C awk -v me="$me" -v most="$summary_most" '
        BEGIN { split("B KiB MiB GiB TiB PiB", unit) }
        function number(key) {
            if (!match($0, "\"" key "\": [0-9.]+"))
                return 0
            return substr($0, RSTART + length(key) + 4, RLENGTH - length(key) - 4) + 0
        }
        function text(key) {
            if (!match($0, "\"" key "\": \"[^\"]*"))
                return ""
            return substr($0, RSTART + length(key) + 5, RLENGTH - length(key) - 5)
        }
        function size(bytes, i) {
            for (i = 1; bytes >= 1024 && i < 6; i++)
                bytes /= 1024
            return sprintf(i > 1 ? "%.1f %s" : "%d %s", bytes, unit[i])
        }
        {
            written += number("written_bytes"); wrote += number("write_seconds")
            read += number("read_bytes"); took += number("read_seconds")
            rest = number("sync_seconds") + number("close_seconds"); rests += rest
            if (NR > most)
                next
            advice = text("advice")
            if (advice != "")
                advice = "; " advice
            printf "%s: summary: %s: wrote %s in %.3f s, read %s in %.3f s, sync and close %.3f s%s\n",
                me, text("file"), size(number("written_bytes")), number("write_seconds"),
                size(number("read_bytes")), number("read_seconds"), rest, advice
        }
        END {
            if (NR > most)
                printf "%s: summary: and %d more\n", me, NR - most
            if (NR > 1)
                printf "%s: summary: all %d closes: wrote %s in %.3f s, read %s in %.3f s, sync and close %.3f s\n",
                    me, NR, size(written), wrote, size(read), took, rests
        }' "$work/summary" >&"$err"
}

# What processes took along that disappeared, by _exit, a signal or a crash, to the losses: of each
# there is a table of what it has not written back, and a text that says of which file
# (common/options/zc_unwritten.h).  One that is only just ending is waited for.
collect_unwritten() {
    local table text pid host lines i

    for table in "$work"/unwritten/*.bytes; do
        text=${table%.bytes}.paths
        { read -r pid host <"$text"; } 2>/dev/null || continue
        lines=$(wc -l <"$text")
        for ((i = 0; i < 50; i++)); do
            [[ -n $(unwritten_in) && $host == "$HOSTNAME" ]] && runs_yet "$pid" || break
            sleep 0.1
        done
        unwritten_in >>"$work/losses"
    done
}

# Lines of the losses, of $table and $text.
unwritten_in() {
    paste <(od -An -v -w8 -t u8 -N $((8 * lines)) -- "$table") "$text" |
        awk -F '\t' -v pid="$pid" -v host="$host" 'NR > 1 && $1 > 0 {
            printf "%.0f\t%s\tsomewhere in it\tprocess %s on %s, which had cached them, has disappeared; a file has to be closed, or synced\n",
                $1, $2, pid, host
        }'
}

# Its main thread alone may have ended.
runs_yet() { grep -qs '^State:.[^ZX]' "/proc/$1"/task/*/status; }

# ---- the trace ---------------------------------------------------------------------------
# Every process has a file of its own; when all have ended, they become one.
check_trace() {
    [[ -n $trace ]] || return 0
    { : >"$trace"; } 2>/dev/null ||
        misuse "--trace: $trace cannot be written; name a file in a directory that is there"
}

begin_trace() {
    [[ -n $trace ]] || return 0
    mkdir -m 700 -- "$work/trace" || die "cannot make the directory $work/trace"
    daemon_options+=(--trace "$work/trace")
    aggregator_options+=(--trace "$work/trace")
}

end_trace() {
    [[ -n $trace && -d $work/trace ]] || return 0
    if [[ -z $unready ]]; then
        "$merge_trace" "$work/trace" "$trace" 2>&"$err" || failed=1
    fi
    rm -rf -- "$work/trace"
}

# ---- the end --------------------------------------------------------------------------------
flusher=

# Of daemons and aggregators, as zcachectl takes it.
all_of_them() {
    local list=

    ((!aggregators)) || list=$work/aggregators
    ((!count)) || list+=${list:+,}$state
    echo "$list"
}

# What all of them together have not written, in bytes; nothing if one does not answer.
unwritten() {
    "$zcachectl" --daemons "$(all_of_them)" --timeout 3s --json stats 2>/dev/null |
        LC_ALL=C awk '/"error":/ { bad = 1 }
            /"dirty_bytes":/ { n += $2 }
            END { if (!bad) printf "%.0f", n }'
}

# The time for writing back at the end is over (--timeout): as if interrupted twice.
late() {
    ((drain_time && interrupts < 2 && SECONDS - drain_since >= drain_time)) || return 1
    say "not written back within $drain_time s (see --timeout): what is left is given up"
    failed=1
    interrupts=2
    give_up
}

# ", 25 MiB/s, about 7 s", of what was left in the beginning and is left now.
rate() { # BYTES BYTES MICROSECONDS
    local done_each_s=$((($1 - $2) * 1000000 / ($3 + 1)))

    ((done_each_s > 0)) || return 0
    echo ", $(((done_each_s + 524288) / 1048576)) MiB/s, about $(($2 / done_each_s + 1)) s"
}

# On a terminal: how much there still is to be written.  Daemons that stop answer no requests, so
# they are made to write first.
show_progress() {
    local left shown=0 first=0 since=0 now

    [[ -t $err && -z $unready ]] && ((count || aggregators)) || return 0
    setsid "$zcachectl" --daemons "$(all_of_them)" flush </dev/null >/dev/null 2>&1 {err}>&- {hold}>&- &
    flusher=$!
    sleep 0.1 {err}>&- {hold}>&-
    while kill -0 "$flusher" 2>/dev/null && ((interrupts < 2)); do
        left=$(unwritten)
        now=${EPOCHREALTIME/[.,]/}
        if [[ -n $left && $left != 0 ]]; then
            if ((!shown)); then first=$left since=$now; fi
            printf '\r%s: writing back: %s MiB left%s \e[K' "$me" \
                $(((left + 1048575) / 1048576)) "$(rate "$first" "$left" $((now - since)))" >&"$err"
            shown=1
        fi
        ask
        ! late || break
        sleep 0.5 {err}>&- {hold}>&-
    done
    ((!shown)) || printf '\r\e[K' >&"$err"
    flusher=
}

# Whatever happens, no daemon stays behind.
finish() {
    local status=$?

    trap '' HUP
    if [[ -n $unready || ($phase == job && -z $job) ]]; then
        tail -n 10 -- "$work/err" 2>/dev/null | sed 's/^/    /' >&"$err"
    fi
    if [[ -n $unready ]]; then
        drop_hold
        drop_unready
    fi
    if [[ $phase == ended ]]; then
        if ((status == 0 && !failed)); then check_use; fi
        show_summary
    fi
    stop_children
    drop_hold
    end_trace
    collect_unwritten
    check_losses
    if ((failed)); then
        say "the logs are kept in $state"
        ((status)) || status=1
    elif ((!keep)); then
        rm -rf -- "$work"
        if ((count || elsewhere)); then
            remove_state
        else
            rmdir --ignore-fail-on-non-empty -- "$state" 2>/dev/null
        fi
    fi
    trap - EXIT
    exit "$status"
}

do_run() {
    (($#)) || misuse "run: a command is missing, for instance mpiexec -n 4 ./a.out"
    need_command "$1"
    check_names "$@"
    check_trace
    if ((preload_plugin)); then
        choose_plugin "$@"
        check_library
        check_preload "$@"
    fi
    spread_daemons
    choose_listen
    choose_state
    choose_paths
    clear_stale
    make_work
    make_aggregators
    begin_trace
    unready=1
    catch_signals
    trap finish EXIT
    # What bash has to say of its children and of itself is of interest when nothing starts.
    exec {err}>&2 {hold}</dev/null 2>"$work/err"
    ((count == 0 && !elsewhere)) || remember_hosts
    start_children || exit 1
    unready=
    run_job "$@"
}
