#!/usr/bin/env bash
# MPI_File_get_info tells what is in force: for each hint of the option table, when several files
# ask for different things, and ranks do; what is not done as asked is said once, by rank 0.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
bad=0
names=$("$programs/t_echo" --names) || fail "a hint of the table is not tested"
for daemons in 0 1; do
    start_daemons "$daemons"
    while read -r name number times; do
        mpi 3 "$programs/t_echo" "zcache:$root/$name$number" "$name" "$number" \
            >"$tmp/out" 2>&1 </dev/null
        status=$?
        said=$(grep -c "hint.*zcache_$name" "$tmp/out")
        ((status == 0 && said == times)) || {
            echo "$daemons daemons, $name, case $number: status $status, said $said times:"
            cat "$tmp/out"
            bad=1
        }
    done <<<"$names"
    stop_daemons || fail "not drained"
done
((bad == 0)) || fail "see above"
