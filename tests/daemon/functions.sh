# functions.sh - what the daemon tests share.  Sourced by bash.
#
# make_tmp gives a directory $tmp; what tests start and leave is ended at exit, by its pid.
# Nothing here sleeps for a result: wait_for polls a condition until a deadline.
# shellcheck shell=bash

# The build tree: given by make check, or one of the places a developer stands in.
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
unset ZCACHE_DAEMONS ZCACHE_PROVIDER ZCACHE_TIMEOUT ZCACHE_STATS

tmp=
daemon_pids=()
cleanup_fns=()

cleanup_fn() { cleanup_fns+=("$*"); }

run_cleanup() {
    local status=$? fn pid

    trap - EXIT
    for fn in "${cleanup_fns[@]}"; do eval "$fn"; done
    for pid in "${daemon_pids[@]}"; do
        [[ -z $pid ]] || kill -KILL "$pid" 2>/dev/null
    done
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
}

# What libfabric's providers allocate as they start, and nobody frees, is not ours.
ignore_leaks_of_libfabric() {
    printf 'leak:libfabric.so\nleak:_dlerror_run\n' >"$tmp/leaks" # of a thread that is just ending
    export LSAN_OPTIONS=suppressions=$tmp/leaks:print_suppressions=0
}

# requires COMMAND ...: skips the test when the command fails.
requires() {
    "$@" >/dev/null 2>&1 && return
    echo "skipped: needs $*"
    exit 77
}

fail() {
    echo "FAILED: $*" >&2
    exit 1
}

# wait_for SECONDS COMMAND ...: until the command succeeds.
wait_for() {
    local end=$((SECONDS + $1))

    shift
    until "$@"; do
        ((SECONDS < end)) || return 1
        sleep 0.02
    done
}

# Also true of a process that has ended and that nobody has waited for.
gone() { ! kill -0 "$1" 2>/dev/null || grep -qs '^State:.Z' "/proc/$1/status"; }

# start_daemon NAME OPTION ...: with $tmp/NAME.addr, .log; returns when it is ready.
# A daemon under valgrind takes its time.
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
    return $status
}

# expect STATUS PATTERN COMMAND ...: its exit status, and its output, both streams, against
# a bash pattern.  The output stays in $output.
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
