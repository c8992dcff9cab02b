#!/usr/bin/env bash
# Every function with a large count that mpi.h declares, with and without daemons.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
echo '#include <mpi.h>' >"$tmp/t.c"
"${MPICC:-mpicc.mpich}" -E "$tmp/t.c" |
    grep -oE '\bMPI_(File|Register)[A-Za-z0-9_]*_c[[:space:]]*\(' |
    sed 's/[[:space:](]*$//' | sort -u >"$tmp/declared"
(($(wc -l <"$tmp/declared") >= 30)) || fail "mpi.h declares few functions: $(cat "$tmp/declared")"
"$programs/t_counts" --list | sort >"$tmp/tried"
diff "$tmp/declared" "$tmp/tried" >"$tmp/diff" ||
    fail "declared (<) and tried (>): $(cat "$tmp/diff")"

limit=()
if [[ ! $plugin ]]; then
    echo "skipped: counts beyond int: without the plugin they are the MPI library's affair"
    limit=(int)
fi
for daemons in 0 2; do
    start_daemons "$daemons"
    for ranks in 1 3; do
        mpi_quiet "$ranks" "$programs/t_counts" "zcache:$root/c" "${limit[@]}" ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done
