#!/usr/bin/env bash
# What a slow store moves when many variables of a climate model are written in a call, by maps that
# deal elements of 8 bytes to the ranks: about the file, and next to nothing is read, with a daemon
# and without.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../slowfs/functions.sh"
requires command -v jq
make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || {
    echo "skipped: $obstacle"
    exit 77
}

simpario=$build/simpario/simpario
below=$tmp/traffic.below
mkdir "$below"

# moves DAEMONS MAP: written and read as parts of the file.
moves() {
    local at=$tmp/slow.$1.$2 size written read root

    mkdir "$at"
    root=$at # of the daemon
    slowfs_mount "$below" "$at" --write-rate 200M --read-rate 200M || fail "no slow store"
    start_daemons "$1"
    mpi_quiet 4 "$simpario" -f "zcache:$at/file" --write --keep --no-reference --quiet \
        --pattern climate --map "$2" --phases 1 --record 2M || fail "$1 daemons, map $2"
    stop_daemons || fail "not drained"
    size=$(stat -c %s "$at/file")
    read -r written read < <(slowfs_count "$at" write.bytes read.bytes)
    echo "$1 daemons, map $2: file $size, written $written, read $read"
    ((written * 10 <= size * 11)) || fail "$written bytes were written of a file of $size"
    ((read * 10 <= size)) || fail "$read bytes were read of a file of $size"
    rm -f -- "$at/file"
    slowfs_unmount "$at" || fail "slowfs has failed"
}

moves 0 f
moves 1 f
