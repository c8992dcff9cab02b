#!/usr/bin/env bash
# ulimit -f: a file that passes it is an error of the access, sync or close, and no end by SIGXFSZ;
# shared memory that would pass it is done without.
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run"

make_root
simpario=$build/simpario/simpario # MPICH's own shared memory takes 4 MiB
limited() { # DAEMONS SIMPARIO-OPTION ...
    status=0
    stretch "$mpi_timeout"
    (
        ulimit -f 12000
        LD_PRELOAD=${preload%"$plugin"} exec timeout -k 5 "$stretched" "$zcache" run \
            --root "$root" --daemons "$1" -- "$mpiexec" -n 2 "$simpario" \
            -f "zcache:$root/f.$1" --keep "${@:2}"
    ) >"$tmp/out" 2>&1 </dev/null || status=$?
}
for daemons in 0 1; do
    limited $daemons -p 8 -r 2M
    ((status > 0 && status < 124)) && ! grep -q 'limit exceeded' "$tmp/out" || fail "$daemons daemons: status $status: $(cat "$tmp/out")"
    expect 0 "*File too large*" cat "$tmp/out"
    [[ $(stat -c %s "$root/f.$daemons") == $((12000 << 10)) ]] ||
        fail "$daemons daemons: what is within the limit is not in the file: $(ls -l "$root")"
done

# Descriptors of so many small pages take more than 12000 KiB, by the host's memory.
limited 0 -p 2 -r 64K --hint zcache_block_size=4K
((status == 0)) || fail "small pages: status $status: $(cat "$tmp/out")"
