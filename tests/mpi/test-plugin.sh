#!/usr/bin/env bash
# The plugin around the driver: error handlers, datatypes, threads over zcache:, and every
# way to move data over ufs:, which must work as it does without the plugin.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# run RANKS PROGRAM PREFIX: skipped programs (77) are said and passed over.
run() {
    mpi_quiet "$1" "$programs/$2" "$3:$root/$2"
    case $? in
    0) ;;
    77) echo "skipped: $2 over $3: with $1 ranks: $(tail -n 1 "$tmp/out")" ;;
    *) fail "$2 over $3: with $1 ranks" ;;
    esac
}

make_root
for ranks in 1 2; do
    for prefix in zcache ufs; do
        run "$ranks" t_errhandler "$prefix"
        run "$ranks" t_types "$prefix"
        run "$ranks" t_threads "$prefix"
    done
    run "$ranks" t_io ufs
done
