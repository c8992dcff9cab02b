# functions.sh - what the suites of third-party programs share.  Sourced by bash.
#
# A suite is an executable NAME.suite, run by run-programs as
#
#     NAME.suite WORK MODE [PATTERN]
#
# WORK is an empty directory for its files, MODE how the programs reach them:
#
#     plain      file names ufs:WORK/..., the MPI library as it is: the reference
#     ufs        the same names, the plugin preloaded
#     embedded   zcache:WORK/..., the plugin preloaded, no daemon
#     zcache     the same, with a daemon that serves WORK (ZCACHE_DAEMONS is set)
#
# It fetches and builds what it needs by itself, in a cached directory, and prints on standard
# output one line for each test whose name matches PATTERN, and one for the version under test:
#
#     VERSION what and which
#     PASS name
#     FAIL name reason
#     SKIP name reason
#
# Its exit status is 0 if it could do that, whatever the results are.  A suite that cannot run at
# all (no network, a package is missing) prints SKIP all reason.
#
# A suite in bash sources this file, which gives it
#     $work $mode $prefix (ufs: or zcache:) $preload (for LD_PRELOAD, empty in mode plain)
#     cached, once, version, skip, skip_all, run_test, mpi
# Suites in other languages get the same from the environment: TEST_PREFIX, TEST_PRELOAD.
# shellcheck shell=bash
set -u

here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
srcdir=$(cd "$here/../.." && pwd)
mpiexec=${MPIEXEC:-$(command -v mpiexec.mpich || echo mpiexec)}
mpicc=${MPICC:-$(command -v mpicc.mpich || echo mpicc)}

(($# >= 2)) && [[ -d $1 ]] || { echo "usage: ${0##*/} WORK MODE [PATTERN]" >&2; exit 2; }
work=$(cd "$1" && pwd)
mode=$2
pattern=${3:-*}
limit=${TEST_LIMIT:-120} # seconds a test may take
suite=$(basename -- "$0" .suite)

case $mode in
plain | ufs) prefix=ufs: ;;
embedded | zcache) prefix=zcache: ;;
*) echo "$suite: unknown mode $mode" >&2; exit 2 ;;
esac

# More ranks than cores: the same shim in every mode.
find_preload() {
    local build=${top_builddir:-} shim

    [[ -n $build ]] || build=$srcdir/build
    plugin=$build/adio_zcache/.libs/libzcache.so
    shim=$build/tests/.libs/yieldshim.so
    [[ -e $shim && -z ${NO_YIELDSHIM:-} ]] || shim=
    preload=$shim
    [[ $mode == plain ]] || preload=$shim${shim:+:}$plugin
    [[ $mode == plain || -e $plugin ]] || { echo "$suite: no plugin $plugin" >&2; exit 2; }
}
find_preload
[[ $mode == zcache ]] || unset ZCACHE_DAEMONS
export TEST_PREFIX=$prefix TEST_PRELOAD=$preload

version() { echo "VERSION $*"; }
skip() { echo "SKIP $1 ${*:2}"; }
# For a suite that cannot run.
skip_all() { skip all "$@"; exit 0; }

wanted() {
    # shellcheck disable=SC2053 # a pattern it is
    [[ $1 == $pattern ]]
}

# cached: prints the directory for what is built once and kept.
cached() {
    local base=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}

    echo "$base/programs"
}

# once NAME FUNCTION [ARG ...]: runs FUNCTION in the new directory $(cached)/NAME unless that has
# been done, and sets $built to it.  On failure $built/log has the reason, and the next call tries
# again.  NAME contains versions, so that other versions get another directory.
once() {
    built=$(cached)/$1
    mkdir -p -- "$(cached)" || return 1
    (
        flock 9
        [[ -e $built/done ]] && exit 0
        rm -rf -- "$built"
        mkdir -p -- "$built" && cd -- "$built" || exit 1
        echo "$suite: building in $built (log: $built/log)" >&2
        ("${@:2}") >log 2>&1 </dev/null && touch 'done'
    ) 9>"$built.lock"
}

# source_package NAME: sets $tarball to the upstream tarball of a source package of the
# distribution, $upstream to its version.
source_package() {
    tarball=$("$srcdir/adio_zcache/plugin/source-fetch" "$1") || return 1
    upstream=${tarball##*/"$1"_}
    upstream=${upstream%.orig.tar.*}
}

# mpi RANKS COMMAND ...: within the test's time; file names without a prefix get one.
mpi() {
    local set=(-genv ROMIO_FSTYPE_FORCE "$prefix")

    [[ -z $preload ]] || set+=(-genv LD_PRELOAD "$preload")
    timeout -k 5 "$limit" "$mpiexec" -n "$1" "${set[@]}" "${@:2}"
}

# Prints the most informative line of a log, as a reason.
telling() {
    {
        grep -aiE 'assert|abort|fatal|mismatch' "$1" ||
            grep -aiE 'error|differ|fail|wrong|expected|should' "$1" ||
            grep -a . "$1"
    } | grep -avE '^ *(No Errors|Application terminated|=+|YOUR APPL)' | head -n 1 | tr '\t' ' ' |
        cut -c 1-160
}

# run_test NAME [--judge FUNCTION] COMMAND ...: runs COMMAND in a new directory $dir of WORK and
# prints the result.  It passes if its status is 0 and, with --judge, FUNCTION LOG agrees.
run_test() {
    local name=$1 judge=true log status why

    shift
    wanted "$name" || return 0
    if [[ $1 == --judge ]]; then
        judge=$2
        shift 2
    fi
    dir=$work/${name//\//_}
    log=$dir.log
    rm -rf -- "$dir"
    mkdir -- "$dir"
    (cd -- "$dir" && "$@") >"$log" 2>&1 </dev/null
    status=$?
    rm -rf -- "$dir"
    if ((status == 124 || status == 137)); then
        echo "FAIL $name no end after $limit s"
    elif ((status)); then
        why=$(telling "$log")
        echo "FAIL $name status $status${why:+: $why}"
    elif ! "$judge" "$log"; then
        why=$(telling "$log")
        echo "FAIL $name ${why:-no output}"
    else
        echo "PASS $name"
    fi
}
