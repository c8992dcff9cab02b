#!/usr/bin/env bash
# A bit flips between a rank and an aggregator, with zcache_checksum=on: the bytes are transferred
# again, and if that fails, too, the error names the range. Without checksums it goes undetected.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
requires test -e "$faultshim"

make_root
preload=$faultshim:$preload
export FAULTSHIM_UNDER=$root FAULTSHIM_FLIP=$tmp/flip
# flipped RANKS HINT ...
flipped() {
    mpi "$1" "$programs/t_flipped" "zcache:$root/f" "$tmp/flip" "${@:2}" zcache_block_size=256K \
        cb_nodes=1 >"$tmp/out" 2>&1 </dev/null
}

flipped 2 zcache_checksum=off && fail "nothing flips: $(cat "$tmp/out")"
grep -q "rank 1: what was read: [12] of .* bytes are wrong" "$tmp/out" ||
    fail "not what flips do: $(cat "$tmp/out")"
rm -f "$root/f" "$tmp/flip" "$tmp/flip.all"
flipped 2 zcache_checksum=on || fail "bits that flip: $(cat "$tmp/out")"
# At most once a second.
grep -q "payload came damaged: wrong checksum of handle" "$tmp/out" ||
    fail "the aggregator does not say so: $(cat "$tmp/out")"
