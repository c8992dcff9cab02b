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
prefixes=(zcache)
if [[ $plugin ]]; then
    prefixes+=(ufs)
else
    echo "skipped: ufs:, error handlers, and threads in collective calls: without the plugin these are MPI's own"
fi
for ranks in 1 2; do
    for prefix in "${prefixes[@]}"; do
        [[ ! $plugin ]] || run "$ranks" t_errhandler "$prefix"
        run "$ranks" t_types "$prefix"
        [[ ! $plugin ]] || run "$ranks" t_threads "$prefix"
    done
    [[ ! $plugin ]] || run "$ranks" t_io ufs
done

# A handler that ends the program does so, and says why.
if [[ $plugin ]]; then
    mpi 1 "$programs/t_errhandler" "zcache:$root/fatal" fatal >"$tmp/out" 2>&1 </dev/null &&
        fail "a fatal error ends no program: $(cat "$tmp/out")"
    grep -q "Fatal error in MPI_File_read_at: .*" "$tmp/out" && ! grep -q "came back" "$tmp/out" ||
        fail "a fatal error: $(cat "$tmp/out")"
    rm -f "$root/fatal"
fi

start_daemons 1
run 2 t_io zcache
[[ ! $plugin ]] || run 2 t_threads zcache
stop_daemons || fail "not drained"
