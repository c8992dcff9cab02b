#!/usr/bin/env bash
# With zcache_local=false no rank lets other processes look into its memory (doc/SECURITY.md).
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root
run() { mpi_quiet 3 "$programs/t_unseen" "zcache:$root/f" "zcache:$root/missing" "$@"; }
ZCACHE_LOCAL=false run || fail "not wanted"
run seen || fail "wanted: the test sees nothing"
