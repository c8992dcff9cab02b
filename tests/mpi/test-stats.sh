#!/usr/bin/env bash
# ZCACHE_STATS: what limited a run is said of runs that are limited by just that, for people and
# for programs alike; and nothing of files that were not used.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
requires test -e "$faultshim"
requires command -v jq
skip_unless_quiet "what limits a run is a matter of rates"
top=${top_srcdir:-$(dirname -- "${BASH_SOURCE[0]}")/../..}
simpario=$build/simpario/simpario
schema=$top/doc/stats.schema.json

# writes RANKS OPTION ...: the file is written, in phases; to $tmp/out what was said.
writes() {
    mpi_quiet "$1" "$simpario" -f "zcache:$root/file" --write --quiet --no-reference --no-verify \
        --compute-by sleep "${@:2}" || fail "$*"
}

# again RANKS: the same bytes are written many times.
again() {
    mpi_quiet "$1" "$programs/t_stats" "zcache:$root/file" again || fail "again: $(<"$tmp/out")"
}

# limited WORD TEXT RUN ...: by that, which is said so; RUN makes the accesses.
limited() {
    local word=$1 text=$2

    shift 2
    ZCACHE_STATS=1 "$@"
    grep -q "^zcache: $root/file: limited by $text" "$tmp/out" ||
        fail_unless_busy "not limited by $text: $* says $(<"$tmp/out")"
    ZCACHE_STATS=json "$@"
    grep '^{' "$tmp/out" >"$tmp/json"
    jq -es 'length == 1' "$tmp/json" >/dev/null || fail "not one line of JSON: $(<"$tmp/out")"
    jq -e --arg word "$word" --arg file "$root/file" '.limit == $word and .file == $file' \
        "$tmp/json" >/dev/null || fail_unless_busy "not limited by $word: $(<"$tmp/json")"
    jq -e --arg text "limited by $text" '.advice | startswith($text)' "$tmp/json" >/dev/null ||
        fail_unless_busy "the advice is another one: $(<"$tmp/json")"
    "$top/benchlib/validate_json.sh" "$schema" "$tmp/json" || (($? == 77)) ||
        fail "not as $schema says: $(<"$tmp/json")"
}

# slow US: calls of the file system take that long.
slow() { export FAULTSHIM_UNDER=$root FAULTSHIM_DELAY=100:$1; }

make_root
fast=$preload
preload=$faultshim:$preload daemon_preload=$faultshim

# Every write takes a tenth of a second, which the program computes for, too.
slow 100000
limited cache "the cache, which is too small" writes 1 --phases 6 --record 2M --compute 0.2 \
    --hint zcache_block_size=64K --hint zcache_cache_size=512K
jq -e '.write_back.requests > 0' "$tmp/json" >/dev/null ||
    fail "writes of rank 0 are not counted: $(<"$tmp/json")"
limited no_computing "having no computing" writes 1 --phases 6 --record 2M \
    --hint zcache_block_size=64K --hint zcache_cache_size=512K
limited nothing "nothing of zcache" writes 1 --phases 3 --record 64K --compute 3

# 3 MiB/s at most for the daemon, and the program writes more.
slow 20000
start_daemons 1 --page-size 64K --max-io 64K --cache-size 1M --flushers 1
limited store "the file system" writes 1 --phases 6 --record 1M --compute 0.1 \
    --hint zcache_block_size=64K --hint zcache_cache_size=512K
jq -e '.daemons.count == 1 and .daemons.store_written_bytes > 5e6' "$tmp/json" >/dev/null ||
    fail "the daemon's counters are missing: $(<"$tmp/json")"
stop_daemons || fail "not drained"
unset FAULTSHIM_UNDER FAULTSHIM_DELAY
preload=$fast

# By messages, which take longer than what is stored in the close.
limited small_accesses "small accesses" writes 2 --phases 4000 --record 64 --access independent \
    --no-barrier --hint cb_nodes=1 --hint zcache_checksum=on
limited network "the network" again 4

ZCACHE_STATS=1 mpi_quiet 3 "$programs/t_stats" "zcache:$root/file" late || fail "t_stats late"
grep -q "limited by ranks that waited for each other" "$tmp/out" ||
    fail_unless_busy "late: $(<"$tmp/out")"

# Rank 0 does not wait for ever for figures, and says so.
ZCACHE_STATS=1 ZCACHE_TIMEOUT=500ms mpi_quiet 2 "$programs/t_stats" "zcache:$root/file" absent ||
    fail "t_stats absent"
grep -q "no statistics of $root/file: not all ranks have answered" "$tmp/out" ||
    fail "absent: $(<"$tmp/out")"

# A file that is only opened is not worth a word; without the variable none is.
ZCACHE_STATS=1 mpi_quiet 2 "$programs/t_stats" "zcache:$root/none" unused || fail "t_stats"
! grep -q 'limited by' "$tmp/out" || fail "said of a file that was not used: $(<"$tmp/out")"
writes 2 --phases 2 --record 1M
! grep -q 'zcache:' "$tmp/out" || fail "said without being asked: $(<"$tmp/out")"

# Names that JSON has to escape; and a word that is none.
mkdir "$root/a\"b"$'\n'"c"
ZCACHE_STATS=json mpi_quiet 1 "$simpario" -f "zcache:$root/a\"b"$'\n'"c/"$'\xff'"d" --write --quiet \
    --no-reference --phases 1 --record 64K || fail "an odd name"
grep '^{' "$tmp/out" >"$tmp/json"
jq -es --arg name "$root/a\"b"$'\n'"c/�d" 'length == 1 and .[0].file == $name' "$tmp/json" \
    >/dev/null || fail "an odd name: $(<"$tmp/json")"
if ZCACHE_STATS=much mpi 1 "$simpario" -f "zcache:$root/file" --write >"$tmp/out" 2>&1; then
    fail "ZCACHE_STATS=much is taken"
fi
grep -q 'ZCACHE_STATS: "much" is not allowed; it takes 0, 1 or json' "$tmp/out" ||
    fail "ZCACHE_STATS=much: $(<"$tmp/out")"
