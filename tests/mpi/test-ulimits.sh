#!/usr/bin/env bash
# A limit on the size of files (ulimit -f) that a file passes: an error of the access, sync or close
# that says so, and no end by SIGXFSZ in what was written back meanwhile.
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run"

make_root
simpario=$build/simpario/simpario # MPICH's own shared memory takes 4 MiB
for daemons in 0 1; do
    status=0
    stretch "$mpi_timeout"
    (
        ulimit -f 12000
        LD_PRELOAD=${preload%"$plugin"} exec timeout -k 5 "$stretched" "$zcache" run \
            --root "$root" --daemons $daemons -- "$mpiexec" -n 2 "$simpario" \
            -f "zcache:$root/f.$daemons" -p 8 -r 2M --keep
    ) >"$tmp/out" 2>&1 </dev/null || status=$?
    ((status > 0 && status < 124)) || fail "$daemons daemons: status $status: $(cat "$tmp/out")"
    expect 0 "*File too large*" cat "$tmp/out"
    [[ $(stat -c %s "$root/f.$daemons") == $((12000 << 10)) ]] ||
        fail "$daemons daemons: what is within the limit is not in the file: $(ls -l "$root")"
done
