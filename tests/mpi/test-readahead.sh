#!/usr/bin/env bash
# Reading ahead at each level: it happens, it can be switched off, and what is used is counted.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
simpario=$build/simpario/simpario

# reads OPTION ...: two ranks read 64 records of 64 KiB each, in order, in pieces; from cold caches.
reads() {
    [[ -z ${ZCACHE_DAEMONS:-} ]] || "$zcachectl" --daemons "$tmp/0.addr" evict >/dev/null ||
        fail "evict"
    ZCACHE_STATS=1 mpi_quiet 2 "$simpario" -f "zcache:$root/file" --phases 64 --record 64K \
        --pattern interleaved --piece 4K --read --keep --quiet --hint zcache_block_size=64K "$@" ||
        fail "reading with $*"
}

# of WORD: the number behind it in the first line about reading ahead, "read ahead N pages"
of() {
    sed -n "s/.*zcache: .*: \(read ahead\)/\1/p" "$tmp/out" | sed -n "s/.*$1 \([0-9]*\).*/\1/p" |
        head -n 1
}

expect() { (($2)) || fail "$1: $(cat "$tmp/out")"; }

make_root
mpi_quiet 2 "$simpario" -f "ufs:$root/file" --phases 64 --record 64K --pattern interleaved \
    --piece 4K --write --keep --quiet --no-reference || fail "no file"

reads
expect "most of 128 pages are read ahead and used" "$(of used) >= 100"
reads --hint zcache_prefetch=false
expect "nothing is read ahead" "$(of 'read ahead') == 0"
reads --hint zcache_prefetch_depth=1
expect "one page is read ahead at a time" "$(of used) >= 10"

start_daemons 1 --page-size 64K
reads --hint zcache_prefetch=false
expect "the daemon alone reads ahead" "$(of 'read ahead') == 0"
at_least 0 prefetch_used_pages 100 ||
    fail "the daemon: $("$zcachectl" --daemons "$tmp/0.addr" stats)"
stop_daemons || fail "not drained"

start_daemons 1 --page-size 64K --prefetch=off
reads
expect "the aggregator alone reads ahead" "$(of used) >= 100"
[[ $(stat_of 0 prefetched_pages) == 0 ]] || fail "the daemon reads ahead"
stop_daemons || fail "not drained"
