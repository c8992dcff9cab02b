# functions.sh - what the MPI tests share, on top of what the daemon tests share.
#
# Daemons serve $root, below the temporary directory $tmp; zcache:$root/x is a file there.
# shellcheck shell=bash
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"

# Empty in a build without it (--disable-plugin): the MPI library has the driver built in.
# TEST_PLUGIN and TEST_PROGRAMS: those of another MPI library (tests/openmpi).
plugin=${TEST_PLUGIN:-$build/adio_zcache/.libs/libzcache.so}
[[ -e $plugin ]] || plugin=
programs=${TEST_PROGRAMS:-$build/tests/mpi}
mpi_timeout=${MPI_TIMEOUT:-120}
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || echo mpiexec)}

# The prefix of the MPI library's own file system, where zcache is compared with that. Open MPI has
# no prefixes: OMPIO takes bare names, and is no reference for what not every MPI-IO does.
# Nor is a ROMIO of another release than that of the build.
ufs=ufs: reference=ufs
[[ ! ${OTHER_MPI:-} ]] || reference=''
[[ ${TEST_MPI:-} != openmpi ]] || ufs='' reference=''

# For zcache run and env, where they cannot tell the MPI library of a program: of scripts.
mpi_option=()
[[ ! ${TEST_MPI:-} || ! $plugin ]] || mpi_option=(--mpi "$TEST_MPI")

# More ranks than cores: tests also pass without it, in a multiple of the time.
preload=$plugin
for shim in "$build/tests/.libs/yieldshim.so" "$build/tests/yieldshim.so"; do
    [[ ! -e $shim || -n ${NO_YIELDSHIM:-} || ! $plugin ]] || preload=$shim:$plugin
done

# A sanitizer's library, with which all of this was built, comes before everything (asan.sh).
sanitizer=${SANITIZER:+$SANITIZER:}

faultshim=$build/tests/.libs/faultshim.so

# needs_plugin WHAT: for tests of what an MPI library with the driver built in has not.
needs_plugin() {
    [[ ! $plugin ]] || return 0
    echo "skipped: $*, and this build has no plugin"
    exit 77
}

# needs_mpi_across_networks: for tests whose ranks are in networks that do not reach each other.
needs_mpi_across_networks() {
    [[ ${MPI_CHANNEL:-} == sock ]] || return 0
    echo "skipped: ranks of this MPI library reach each other by TCP alone"
    exit 77
}

# preload_for_others: $preload as other users can load it.
preload_for_others() {
    local part list=

    for part in ${preload//:/ }; do list+=${list:+:}$(for_others "$part"); done
    echo "$list"
}

make_root() {
    make_tmp
    root=$tmp/root
    mkdir "$root"
}

# start_daemons N [OPTION ...]: N of them, 0 for none (embedded mode).
start_daemons() {
    local n=$1 i list=

    shift
    for ((i = 0; i < n; i++)); do
        start_daemon "$i" --root "$root" "$@"
        list+=${list:+,}$tmp/$i.addr
    done
    if ((n)); then export ZCACHE_DAEMONS=$list; else unset ZCACHE_DAEMONS; fi
}

# start_aggregators N [OPTION ...]: N dedicated aggregators over these daemons, daemons 100 and up
# for what has a number; 0 for none: ranks own the blocks.
first_aggregator=100
start_aggregators() {
    local n=$1 i list=

    shift
    [[ ! ${ZCACHE_DAEMONS:-} ]] || set -- --store-daemons "$ZCACHE_DAEMONS" "$@"
    for ((i = first_aggregator; i < first_aggregator + n; i++)); do
        start_daemon "$i" --aggregator --root "$root" "$@"
        list+=${list:+,}$tmp/$i.addr
    done
    if ((n)); then export ZCACHE_AGGREGATORS=$list; else unset ZCACHE_AGGREGATORS; fi
}

# Each must drain and exit with 0, before what is below it.
stop_aggregators() {
    local i bad=0

    unset ZCACHE_AGGREGATORS
    for i in "${!daemon_pids[@]}"; do
        ((i >= first_aggregator)) && [[ -n ${daemon_pids[i]} ]] || continue
        stop_daemon "$i" && continue
        cat "$tmp/$i.log" >&2
        bad=1
    done
    return "$bad"
}

# All must drain and exit with 0.
stop_daemons() {
    local i status bad=0

    stop_aggregators || bad=1
    for i in "${!daemon_pids[@]}"; do
        [[ -n ${daemon_pids[i]} ]] || continue
        stop_daemon "$i"
        status=$?
        ((status == 0)) || {
            echo "daemon $i ended with status $status" >&2
            cat "$tmp/$i.log" >&2
            bad=1
        }
    done
    daemon_pids=()
    unset ZCACHE_DAEMONS
    return "$bad"
}

# ports_of_one: sets $ports to ten of the test's, which are not those of an mpiexec that was started
# just before: two that bind the same port at a time both end.  PORTS_OF_ONE=all: the
# whole range.
ports_of_one() {
    local first last lock n

    ports=${MPIEXEC_PORT_RANGE:-}
    [[ $ports && -d $tmp && ${PORTS_OF_ONE:-} != all ]] || return 0
    first=${ports%%:*} last=${ports##*:}
    ((last - first >= 99)) || return 0
    exec {lock}>>"$tmp/.mpiexecs"
    flock "$lock"
    echo >&"$lock"
    n=$(wc -l <"$tmp/.mpiexecs")
    exec {lock}>&-
    first=$((first + n % 10 * 10))
    ports=$first:$((first + 9))
}

# mpi RANKS PROGRAM [ARG ...]
mpi() {
    local n=$1 ports

    shift
    stretch "$mpi_timeout"
    ports_of_one
    env ${ports:+"MPIEXEC_PORT_RANGE=$ports"} timeout -k 5 "$stretched" \
        "$mpiexec" -n "$n" -genv LD_PRELOAD "$sanitizer$preload" "$@"
}

# A proxy of an mpiexec that was killed may connect to its port, now another mpiexec's, which gives
# up; and so does one that binds a port together with another.  Neither is a failure of zcache.
met_another_mpiexec() {
    grep -qs -e 'cannot find proxy with ID' -e 'unable to create PMI port' "$1"
}

# mpi_quiet ...: the same, output only when it fails.
mpi_quiet() {
    local status

    mpi "$@" >"$tmp/out" 2>&1 </dev/null
    status=$?
    if ((status)) && met_another_mpiexec "$tmp/out"; then
        echo "once more: mpiexec met another one" >&2
        mpi "$@" >"$tmp/out" 2>&1 </dev/null
        status=$?
    fi
    ((status == 0)) || cat "$tmp/out" >&2
    return $status
}

# all_ways PROGRAM CASE: without daemons, with one and with two, over caches that hold next to
# nothing of the file; and over caches that hold all of it.
all_ways() {
    local n

    make_root
    for n in 0 1 2; do
        start_daemons "$n" --page-size 64K --cache-size 256K
        mpi_quiet 3 "$programs/$1" "zcache:$root/f" "$2" zcache_block_size=64K \
            zcache_cache_size=256K cb_nodes=2 "cb_config_list=*:2" ||
            fail "$n daemons, small caches: $2"
        stop_daemons || fail "$n daemons, small caches: not drained"
    done
    start_daemons 1
    mpi_quiet 4 "$programs/$1" "zcache:$root/f" "$2" || fail "one daemon: $2"
    stop_daemons || fail "one daemon: not drained"
}

# pick N: 0 to N-1, in $picked; the same ones after the same start of $drawn, a number.
pick() {
    local z

    drawn=$((drawn + 0x1e3779b97f4a7c15))
    z=$(((drawn ^ (drawn >> 30 & 0x3ffffffff)) * 0x3f58476d1ce4e5b9))
    z=$(((z ^ (z >> 27 & 0x1fffffffff)) * 0x14d049bb133111eb))
    picked=$(((z >> 33 & 0x3fffffff) % $1))
}
