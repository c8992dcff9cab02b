# functions.sh - what the daemon tests share.  Sourced by bash.
#
# make_tmp makes a directory $tmp; daemons that a test has started are killed at exit, by pid.
# Daemons are named by numbers, from 0: their files are $tmp/NUMBER.addr and $tmp/NUMBER.log.
# Nothing here sleeps for a result: wait_for polls a condition until a deadline.
# shellcheck shell=bash

# The build tree: given by make check, or found from the usual working directories.
find_build() {
    local dir

    for dir in "${top_builddir:-}" . .. ../.. build; do
        if [[ -n $dir && -x $dir/iod/zcached ]]; then
            (cd "$dir" && pwd)
            return
        fi
    done
    echo "no iod/zcached: build it, or set top_builddir" >&2
    return 1
}

build=$(find_build) || exit 99
zcached=$build/iod/zcached
zcachectl=$build/iod/zcachectl
zcache=$build/zcache
export LC_ALL=C
export ZCACHE_ALLOW_ROOT=true # tests may be run by root, as whom daemons do not start unasked
unset ZCACHE_DAEMONS ZCACHE_AGGREGATORS ZCACHE_PROVIDER ZCACHE_TIMEOUT ZCACHE_STATS

MPIEXEC_PORT_RANGE=${MPIEXEC_PORT_RANGE:-$("$(dirname -- "${BASH_SOURCE[0]}")/../ports")}
if [[ $MPIEXEC_PORT_RANGE ]]; then export MPIEXEC_PORT_RANGE; else unset MPIEXEC_PORT_RANGE; fi

tmp=
daemon_pids=()
cleanup_fns=()

cleanup_fn() { cleanup_fns+=("$*"); }

# No log of a process has a sanitizer's report, whatever the test made of its exit status.
no_sanitizer_reported() {
    local log reports='ERROR: (Address|Leak)Sanitizer|WARNING: ThreadSanitizer|: runtime error:'

    log=$(grep -lsE "$reports" "$tmp"/*.log | head -n 1)
    [[ -n $log ]] || return 0 # in a trap, return alone is the status before it
    echo "FAILED: ${log##*/}:" >&2
    grep -E -A 30 "$reports" "$log" | head -n 60 >&2
    return 1
}

run_cleanup() {
    local status=$? fn pid

    trap - EXIT
    for fn in "${cleanup_fns[@]}"; do eval "$fn"; done
    for pid in "${daemon_pids[@]}"; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done
    [[ -z $tmp ]] || no_sanitizer_reported || status=1
    if [[ -n $tmp && -n ${IOD_KEEP:-} ]]; then
        echo "kept: $tmp" >&2
    elif [[ -n $tmp ]]; then
        rm -rf -- "$tmp"
    fi
    exit "$status"
}
trap run_cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

make_tmp() {
    tmp=$(mktemp -d "${TMPDIR:-/tmp}/zcache-test.XXXXXX") || exit 99
    ignore_leaks_of_libfabric
}

# Ignores allocations that libfabric's providers make at start and never free.
ignore_leaks_of_libfabric() {
    printf 'leak:libfabric.so\nleak:_dlerror_run\n' >"$tmp/leaks" # of a thread that is just ending
    export LSAN_OPTIONS=suppressions=$tmp/leaks:print_suppressions=0
}

# requires COMMAND ...: skips the test if the command fails.
requires() {
    "$@" >/dev/null 2>&1 && return
    echo "skipped: needs $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# ---- a busy machine ----
# Time limits are meant for an idle machine.  They stretch by the time that a fixed piece of work
# takes now, in percent of the processor time that it needs: $slowness.
slowness=100 slowness_at=0
slowness_most=2000 # percent
slowness_age=10    # seconds that a measurement counts for

fixed_work() {
    local i

    for ((i = 0; i < 40000; i++)); do :; done
    for ((i = 0; i < 5; i++)); do env true; done
}

measure_slowness() {
    local TIMEFORMAT='%3R %3U %3S' real user system

    read -r real user system < <({ time fixed_work; } 2>&1)
    user=$((10#${user/./} + 10#${system/./}))
    slowness=$((100 * 10#${real/./} / (user ? user : 1)))
    ((slowness >= 100)) || slowness=100
    ((slowness <= slowness_most)) || slowness=$slowness_most
}

# More threads are runnable than there are processors, now or in the last minute.
is_busy() {
    local minute running _

    read -r minute _ _ running _ 2>/dev/null </proc/loadavg || return 1
    ((${running%/*} > $(nproc) || ${minute%.*} >= $(nproc)))
}

# stretch SECONDS: sets $stretched.  Measures only on a busy machine, and not each time.
stretch() {
    if ! is_busy; then
        slowness=100 slowness_at=0
    elif ((EPOCHSECONDS - slowness_at >= slowness_age)); then
        measure_slowness
        slowness_at=$EPOCHSECONDS
    fi
    stretched=$((($1 * slowness + 99) / 100))
}

# set_silence: sets $silence, a --timeout for daemons whose clients are killed: short, for the test
# waits until it is over, and longer than a living one is silent on a busy machine.
set_silence() {
    stretch 1
    silence=500ms
    ((slowness_at == 0)) || silence=$((slowness < 300 ? 10 * slowness : 3000))ms
}

# skip_unless_quiet WHAT: for tests of rates, which are meaningless beside other work.
skip_unless_quiet() {
    stretch 1
    ((slowness > 200)) || return 0
    echo "skipped: $*: a fixed piece of work takes" \
        "$((slowness / 100)).$((slowness / 10 % 10)) times as long as on a quiet machine"
    exit 77
}

# fail_unless_busy WHAT: a rate, or a limit that depends on other processes, was missed: skips the
# test on a busy machine, else fails.
fail_unless_busy() {
    (skip_unless_quiet "$*") || exit 77
    fail "$*"
}

# within SECONDS COMMAND ...: timeout(1) with a limit that stretches; 124 if it is exceeded.
within() {
    local seconds=$1

    shift
    stretch "$seconds"
    timeout -k 5 "$stretched" "$@"
}

# wait_for SECONDS COMMAND ...: waits until the command succeeds.  The limit stretches as above when
# it is reached.
wait_for() {
    local limit=$1 begun=$SECONDS end=$((SECONDS + $1)) tries=0 pause=0.02

    shift
    until "$@"; do
        if ((SECONDS >= end)); then
            stretch "$limit"
            end=$((begun + stretched))
            ((SECONDS < end)) || return 1
        fi
        sleep "$pause"
        ((++tries < 10)) || pause=0.1
        ((tries < 50)) || pause=0.3
    done
}

# Also true for a zombie.
gone() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; }

# start_daemon NAME OPTION ...: with $tmp/NAME.addr, .log; returns when it is ready.  A daemon under
# valgrind is slow.
start_daemon() {
    local name=$1

    shift
    # shellcheck disable=SC2086 # WRAP is a command with arguments, and options are several words
    LD_PRELOAD=${daemon_preload:+${SANITIZER:+$SANITIZER:}$daemon_preload} ${WRAP:-} "$zcached" \
        --address-file "$tmp/$name.addr" ${TEST_DAEMON_OPTIONS:-} \
        "$@" </dev/null >"$tmp/$name.log" 2>&1 &
    daemon_pids[name]=$!
    wait_for 60 ready_or_gone "$name"
    has_written "$name" && return
    cat "$tmp/$name.log" >&2
    fail "daemon $name did not start"
}

has_written() { grep -qs "^pid ${daemon_pids[$1]}$" "$tmp/$1.addr"; }
ready_or_gone() { has_written "$1" || gone "${daemon_pids[$1]}"; }

# stop_daemon NAME [SIGNAL]: returns its exit status.
stop_daemon() {
    local pid=${daemon_pids[$1]} status

    kill -"${2:-TERM}" "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    status=$?
    daemon_pids[$1]=
    case $status in
    # Of signals other than SIGKILL and SIGTERM; of Leak- and ThreadSanitizer.
    132 | 134 | 135 | 136 | 139 | 23 | 66)
        fail "it crashed, or a sanitizer reported: daemon $1 ended with status $status: $(
            tail -n 40 "$tmp/$1.log"
        )"
        ;;
    esac
    return $status
}

# daemon_of FILE: the process id in an address file.
daemon_of() { sed -n 's/^pid //p' "$1"; }

# stat_of NAME COUNTER: as zcachectl prints it; nothing where the daemon does not answer.  Asked by
# the zcachectl of a build without sanitizers, if one is given, as tests ask often.
stat_of() {
    "${PLAIN_ZCACHECTL:-$zcachectl}" --daemons "$tmp/$1.addr" --json stats 2>/dev/null |
        sed -n "s/.*\"$2\": *\([0-9]*\).*/\1/p" | head -n 1
}

# at_least NAME COUNTER N
at_least() {
    local now

    now=$(stat_of "$1" "$2")
    [[ -n $now ]] && ((now >= $3))
}

# as_other COMMAND ...: by another user; for root.
as_other() { setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$@"; }

# Other users may not reach the tree, such as one in root's home, or may not run what a umask of 077
# has made.  They get copies, in a directory that they may enter.
others=for-others

# for_others FILE: prints the path of a copy that other users can run.
for_others() {
    local copy=$tmp/$others/${1##*/}

    [[ -e $copy ]] || { chmod a+x "$tmp" && install -d -m 755 "${copy%/*}" &&
        install -m 755 "$1" "$copy"; } || exit 99
    echo "$copy"
}

# build_for_others: prints a directory with the launcher and what it starts, as in $build, but for
# the plugin.
build_for_others() {
    local copy=$tmp/$others/build

    [[ -e $copy ]] || { chmod a+x "$tmp" && install -d -m 755 "${copy%/*}" "$copy" "$copy/iod" &&
        cp "$build/zcache" "$copy" &&
        cp -rL "$build/iod/"{zcached,zcachectl,zcache-merge-trace,launch} "$copy/iod" &&
        chmod -R a+rX "$copy"; } || exit 99
    echo "$copy"
}

# expect STATUS PATTERN COMMAND ...: compares its exit status, and its output, both streams, with a
# bash pattern.  The output stays in $output.
expect() {
    local want=$1 pattern=$2 status

    shift 2
    output=$("$@" 2>&1 </dev/null)
    status=$?
    [[ $status == "$want" ]] || fail "status $status, not $want, of: $* -- $output"
    # shellcheck disable=SC2053 # a pattern
    [[ $output == $pattern ]] || fail "unexpected output of: $*
--- expected
$pattern
--- got
$output"
}
