#!/usr/bin/env bash
# Files without the prefix: with the plugin preloaded a program has the file, the hints, the errors
# and the threads that it has without, and no libfabric.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

needs_plugin "what the plugin leaves as it is"
make_root
with=$preload
without=${preload%"$plugin"} # the shim alone
without=${without%:}

# run PRELOAD FILE OUTPUT
run() { preload=$1 mpi_quiet 2 "$programs/t_unused" "$2" && cp "$tmp/out" "$3"; }

for prefix in '' $ufs; do
    run "$without" "$prefix$root/plain" "$tmp/plain" || fail "$prefix without the plugin"
    run "$with" "$prefix$root/preloaded" "$tmp/preloaded" || fail "$prefix with the plugin"
    diff "$tmp/plain" "$tmp/preloaded" >"$tmp/diff" ||
        fail "without (<) and with (>): $(cat "$tmp/diff")"
    cmp "$root/plain" "$root/preloaded" || fail "$prefix: not the same bytes"
    ! grep -q '^libfabric: loaded' "$tmp/plain" ||
        echo "left out: whether the plugin loads libfabric, which this MPI library does"
    rm -f "$root"/*
done

# What would be seen otherwise.
ZCACHE_LOCAL=false run "$with" "zcache:$root/staged" "$tmp/staged" || fail "zcache:"
grep -q '^libfabric: loaded' "$tmp/staged" || fail "libfabric is not seen: $(cat "$tmp/staged")"
grep -q '^zcache_block_size = ' "$tmp/staged" || fail "hints are not seen: $(cat "$tmp/staged")"
