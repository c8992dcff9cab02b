#!/usr/bin/env bash
# The data representation external32.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "the sizes of external32"

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    for ranks in 1 3; do
        mpi_quiet "$ranks" "$programs/t_external32" "zcache:$root/external32" ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done
