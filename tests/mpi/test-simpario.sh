#!/usr/bin/env bash
# SimParIO through zcache: every way to access a file, with a daemon and without one.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
simpario=$build/simpario/simpario

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
    for access in split icollective nonblocking; do
        right --access "$access" --pattern interleaved --piece 3K
    done
    right --access nonblocking --sync --no-reopen
    stop_daemons || fail "not drained"
done
