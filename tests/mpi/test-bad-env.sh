#!/usr/bin/env bash
# A bad value in the environment is an error of the open, on every rank, and not a reason to
# go on without the daemons that were asked for.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
start_daemons 1
export ZCACHE_TIMEOUT=soon
mpi_quiet 2 "$programs/t_open" "zcache:$root/a" rdwr,create MPI_ERR_ARG ZCACHE_TIMEOUT soon ||
    fail "ZCACHE_TIMEOUT=soon"
[[ ! -e $root/a ]] || fail "a file was left behind"
