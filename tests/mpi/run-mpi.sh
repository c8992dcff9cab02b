#!/usr/bin/env bash
# run-mpi.sh - runs one MPI program through zcache, from the build tree.
#
#     run-mpi.sh [-n RANKS] [-d DAEMONS] [-t SECONDS] program [argument ...]
#
# The word FILE among the arguments becomes zcache:DIR/file in a new directory, also behind
# a "=".  Without -d, or with -d 0, there is no daemon: zcache reaches the file system itself.
# Fails with the program's status, or with 1 when a daemon could not write everything back.
# Quiet when all is well, but for the program.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

usage() {
    echo "usage: run-mpi.sh [-n RANKS] [-d DAEMONS] [-t SECONDS] program [argument ...]" >&2
    exit 2
}

ranks=2 daemons=0
while getopts n:d:t: option; do
    case $option in
    n) ranks=$OPTARG ;;
    d) daemons=$OPTARG ;;
    t) mpi_timeout=$OPTARG ;;
    *) usage ;;
    esac
done
shift $((OPTIND - 1))
(($#)) || usage
[[ $1 == */* || ! -x $programs/$1 ]] || set -- "$programs/$1" "${@:2}"

make_root
args=()
for a; do args+=("${a/%FILE/zcache:$root/file}"); done
start_daemons "$daemons"
mpi "$ranks" "${args[@]}" </dev/null
status=$?
stop_daemons || ((status)) || status=1
((status == 0)) || echo "run-mpi.sh: status $status: $ranks ranks, $daemons daemons: $*" >&2
exit "$status"
