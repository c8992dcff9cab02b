#!/usr/bin/env bash
# A file is changed, replaced or deleted by another process between two opens: cached bytes are
# dropped.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

all_ways t_cases outside

# Through a mapping, which changes no time.
start_daemons 2
mpi_quiet 2 "$programs/t_cases" "zcache:$root/f" mapped zcache_drop_clean=true ||
    fail "a mapping"
stop_daemons || fail "a mapping: not drained"
