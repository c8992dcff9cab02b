#!/usr/bin/env bash
# SimParIO through zcache: ways to access a file and patterns that other tests lack, with a
# daemon and without.
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
    right --access split --pattern subarray3d
    right --access icollective --pattern subarray4d
    right --access nonblocking --pattern irregular
    right --access collective --pattern irregular
    right --access nonblocking --sync --no-reopen --pattern interleaved --piece 3K
    stop_daemons || fail "not drained"
done
