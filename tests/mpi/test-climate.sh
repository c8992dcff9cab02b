#!/usr/bin/env bash
# A climate model's maps: 24 ranks, a million elements of 8 bytes each, none beside the other.  The
# bytes are right, an owner's memory keeps its bound, and writing takes no longer than ROMIO's
# two-phase I/O does beside it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

ranks=24 elements=1000000
mpi_timeout=900

# took SCHEME LIMIT-MIB [hint=value ...]: milliseconds for writing, in $ms
took() {
    mpi "$ranks" "$programs/t_views" "$1:$root/f" "$elements" 1 "${@:2}" </dev/null >"$tmp/out" 2>&1 ||
        fail "$1: $(cat "$tmp/out")"
    echo "$1: $(grep MB "$tmp/out")"
    ms=$(sed -n 's/.* MB in \([0-9]*\)\.\([0-9]*\) s written.*/\1\20/p' "$tmp/out")
    rm -f -- "$root/f"
}

needs_plugin "another library's MPI-IO is compared with"
make_root
took zcache 160
zcache=$ms
took ufs 0 romio_cb_write=enable romio_cb_read=enable
((10#$zcache <= 10#$ms)) || fail "$zcache ms, and ROMIO took $ms"
