#!/usr/bin/env bash
# The plugin around the driver: error handlers, datatypes, threads.
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
[[ $plugin ]] ||
    echo "skipped: error handlers, and threads in collective calls: without the plugin these are MPI's own"
for ranks in 1 2; do
    [[ ! $plugin ]] || run "$ranks" t_errhandler zcache
    run "$ranks" t_types zcache
    [[ ! $plugin ]] || run "$ranks" t_threads zcache
done

# Handlers that end the program do so, and say why.
if [[ $plugin ]]; then
    for way in fatal abort; do
        mpi 1 "$programs/t_errhandler" "zcache:$root/fatal" $way >"$tmp/out" 2>&1 </dev/null &&
            fail "a fatal error ends no program ($way): $(cat "$tmp/out")"
        grep -q "Fatal error in MPI_File_read_at: .*" "$tmp/out" &&
            ! grep -q "came back" "$tmp/out" || fail "a fatal error ($way): $(cat "$tmp/out")"
    done
    rm -f "$root/fatal"
fi

start_daemons 1
run 2 t_io zcache
[[ ! $plugin ]] || run 2 t_threads zcache
stop_daemons || fail "not drained"
