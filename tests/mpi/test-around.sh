#!/usr/bin/env bash
# A file that no open can write to, and that the kernel has in memory, is read by each rank itself,
# past its owner's cache; any other one by the owner.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root

# reads_around N PROGRAM ARGUMENT ...: on 3 ranks; N times a rank begins to read a file itself.
reads_around() {
    local n=$1 got

    shift
    ZCACHE_LOG=debug mpi 3 "$@" >"$tmp/out" 2>&1 || fail "$*: $(tail -n 5 "$tmp/out")"
    got=$(grep -o 'is read past its owners' "$tmp/out" | wc -l)
    [[ $got == "$n" ]] || fail "$*: read around $got times, not $n"
}

known=1
if ! "$programs/t_around" "$root/told"; then
    echo "the kernel does not tell what it has of a file here (cachestat(2)): owners read everything"
    known=0
fi
reads_around $((3 * known)) "$programs/t_around" "zcache:$root/same" same
reads_around $((6 * known)) "$programs/t_around" "zcache:$root/replaced" replaced
reads_around 0 "$programs/t_around" "zcache:$root/off" same zcache_read_around=false
# While it is read around, one rank opens it for writing: what that writes is seen at once.
reads_around $((3 * known)) "$programs/t_opens_file" "zcache:$root/reader_first" 1 reader_first
if [[ $(stat -f -c %T "$root") == tmpfs ]]; then
    echo "tmpfs is in memory: no case without the page cache"
else
    reads_around 0 "$programs/t_around" "zcache:$root/dropped" dropped
fi
