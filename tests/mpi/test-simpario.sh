#!/usr/bin/env bash
# SimParIO through zcache: ways to access a file and patterns that other tests lack, with a
# daemon and without. Then what only caches have to report.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
simpario=$build/simpario/simpario
top=${top_srcdir:-$(dirname -- "${BASH_SOURCE[0]}")/../..}

# right OPTION ...: three ranks write and read, each what another one wrote; every byte is checked
# through MPI, and by POSIX once the file is closed.
right() {
    mpi_quiet 3 "$simpario" -f "zcache:$root/file" --phases 4 --record 48K --read-shift 1 \
        --posix-verify "$root/file" "$@" || fail "$*"
    grep -q 'verified  576 KiB through MPI-IO, 576 KiB through POSIX' "$tmp/out" ||
        fail "not verified: $*: $(cat "$tmp/out")"
}

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    right --access split --pattern subarray3d
    right --access icollective --pattern subarray4d
    right --access nonblocking --pattern irregular
    right --access collective --pattern irregular
    right --access nonblocking --sync --no-reopen --pattern interleaved --piece 3K
    for align in '' 64K; do
        mpi_quiet 4 "$simpario" -f "zcache:$root/file" --pattern checkpoint --record 100000 \
            ${align:+--align "$align"} --hint zcache_block_size=64K --posix-verify "$root/file" \
            --gaps || fail "checkpoint, aligned to ${align:-nothing}"
    done
    # Dimensions in another order in memory, and in the file another representation of integers.
    for datarep in native external32 ${plugin:+registered}; do
        mpi_quiet 3 "$simpario" -f "zcache:$root/file" --pattern ragged4d --phases 24 \
            --record 4800 --permute all --datarep "$datarep" --posix-verify "$root/file" ||
            fail "ragged blocks, permuted, $datarep"
    done
    # Read back on fewer ranks, each of which has several files.
    written=(-f "zcache:$root/part" --pattern checkpoint --record 60000 --files 4)
    mpi_quiet 4 "$simpario" "${written[@]}" --write --keep || fail "files to read back"
    mpi_quiet 2 "$simpario" "${written[@]}" --writers 4 --read --posix-verify "$root/part" ||
        fail "read back on other ranks"
    grep -q 'verified  705.1 KiB through MPI-IO, 705.1 KiB through POSIX' "$tmp/out" ||
        fail "not verified, read back on other ranks: $(cat "$tmp/out")"
    mpi_quiet 3 "$simpario" -f "zcache:$root/file" --pattern arrays --array 100x70x9 \
        --read-shift 1 --posix-verify "$root/file" || fail "arrays"
    for map in f g; do
        mpi_quiet 4 "$simpario" -f "zcache:$root/file" --pattern climate --map "$map" --phases 2 \
            --record 100K --read-shift 1 --posix-verify "$root/file" || fail "climate, map $map"
    done
    for pattern in blocks lattice; do
        mpi_quiet 4 "$simpario" -f "zcache:$root/file" --pattern "$pattern" --phases 2 \
            --record 192K --read-shift 1 --posix-verify "$root/file" || fail "$pattern"
    done
    stop_daemons || fail "not drained"
done

# holds FILTER: of the report.
holds() { jq -e "$1" "$tmp/json" >/dev/null || { cat "$tmp/json" >&2; fail "not so: $1"; }; }

command -v jq >/dev/null || { echo "skipped: the reports, there is no jq"; exit 0; }
run=(-f "zcache:$root/file" --phases 6 --record 64K --pattern interleaved --compute 20ms
    --compute-by sleep --timeline 2ms --hint zcache_block_size=64K --no-reference)
# Each file has an aggregator of its own, in another process: their counters are added.
mpi_quiet 4 "$simpario" -f "zcache:$root/file" --pattern checkpoint --record 64K --write \
    --json "$tmp/json" || fail "checkpoint"
holds '.caches.aggregators
    | .servers == 2 and .written_bytes == 3 * 4 * (65536 + 2 * 64) + 2 * (64 + 8 * 4 * 3)'
holds '.file_bytes == .caches.aggregators.written_bytes'
grep -Eq '    writes: [0-9]+, 769.8 KiB; written back .* in [0-9]+; 0 B read in 0$' "$tmp/out" ||
    fail "of a run that reads nothing: $(cat "$tmp/out")"

for daemons in 0 1; do
    start_daemons "$daemons"
    mpi_quiet 2 "$simpario" "${run[@]}" --json "$tmp/json" || fail "$daemons daemons"
    sh "$top/benchlib/validate_json.sh" "$top/doc/simpario.schema.json" "$tmp/json" ||
        [[ $? == 77 ]] || fail "schema"
    holds '.caches.aggregators | .servers == 1 and .written_bytes == 6 * 2 * 65536'
    holds '.caches.aggregators | .read_hits + .read_misses + .read_late > 0 and .libfabric != null'
    # On a loaded machine few samples fit, but one after each computing always does.
    holds '.repeats[0].write.timeline | (.seconds | length) >= 6 and .seconds == (.seconds | sort)
           and .phases_written[-1] == 6'
    holds '.repeats[0].write.timeline | [.dirty_bytes, .unstored_bytes] | transpose
           | all(.[0] <= .[1] and .[1] <= 2 * 6 * 2 * 65536)'
    holds '.repeats[0].write.timeline.unstored_bytes | max > 0'
    holds '.hints_in_force | .zcache_counters != "true" and has("zcache_block_size")'
    if ((daemons)); then
        holds '.caches.daemons | .servers == 1 and .written_bytes == 6 * 2 * 65536
               and .store_written_bytes == .written_bytes and .peak_rss_bytes > 0'
        # A close that does not wait: the rest is waited for apart, and then it is in the file.
        mpi_quiet 2 "$simpario" "${run[@]}" --hint zcache_close_level=staged --write \
            --posix-verify "$root/file" --json "$tmp/json" || fail "staged"
        holds '.repeats[0].write | .settle_seconds > 0 and .stored_seconds > .total_seconds'
    else
        holds '.caches.daemons == null'
    fi
    stop_daemons || fail "not drained"
done
