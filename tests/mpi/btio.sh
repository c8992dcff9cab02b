# btio.sh - what the tests that run btio share, on top of what the MPI tests share.
# shellcheck shell=bash
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

btio=$build/btio/btio
methods=(full simple epio)

# without_plugin COMMAND ...: MPI's own MPI-IO.
without_plugin() {
    local preload=${preload%"$plugin"}

    preload=${preload%:} "$@"
}

# btio RANKS OPTION ...: verified, or the test fails.
btio() {
    local n=$1

    shift
    mpi_quiet "$n" "$btio" --quiet "$@" || fail "$n ranks, ${ZCACHE_DAEMONS:+a daemon, }btio $*"
}

# same FILE FILE: by plain reads.
same() { cmp "$1" "$2" >&2 || fail "$1 and $2 differ"; }

# write_all RANKS METHOD FILE OPTION ...: through zcache, with and without a daemon; what FILE, or
# FILE.0000 and so on, have is what plain reads find in the others.
write_all() {
    local n=$1 method=$2 file=$3 daemons other

    shift 3
    for daemons in 0 1; do
        start_daemons "$daemons"
        btio "$n" -m "$method" -f "zcache:$root/z" --keep "$@"
        stop_daemons || fail "not drained"
        for other in "$file"*; do same "$other" "$root/z${other#"$file"}"; done
        rm "$root"/z*
    done
}
