#!/usr/bin/env bash
# striping_factor and start_iodevice: which daemons have the blocks of a file, the same for all jobs
# for as long as the file is there.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "daemons are named to the plugin"
requires command -v python3

make_root
export T_KEEP=1
start=(--page-size 64K)
# echo_of FILE HINT ... -- WANTED ...: what MPI_File_get_info tells of it, on two ranks.
echo_of() {
    mpi_quiet 2 "$programs/t_hints" "zcache:$root/$1" "${@:2}" || fail "hints: $*"
}

# said N PATTERN: in the last output.
said() {
    (($(grep -c -- "$2" "$tmp/out") == $1)) || fail "not said $1 times: $2: $(cat "$tmp/out")"
}

start_daemons 3 "${start[@]}"
echo_of all -- striping_factor=3 start_iodevice=0 zcache_striping_factor=3 zcache_start_iodevice=0
echo_of two striping_factor=2 start_iodevice=2 -- striping_factor=2 start_iodevice=2 \
    zcache_striping_factor=2
said 0 "no effect"
echo_of ours zcache_striping_factor=1 striping_factor=2 start_iodevice=1 -- striping_factor=1 \
    start_iodevice=1
echo_of first start_iodevice=1 -- striping_factor=3 start_iodevice=1
echo_of many striping_factor=7 -- striping_factor=3
said 1 "hint zcache_striping_factor=7 has no effect, 3 is in force: there are no more daemons"
echo_of bad striping_factor=two -- striping_factor=3
said 1 "hint striping_factor ignored: .*two"

# The next job has it as it was made, whatever it asks for.
echo_of two -- striping_factor=2 start_iodevice=2
echo_of two striping_factor=3 start_iodevice=0 -- striping_factor=2 start_iodevice=2
said 1 "hint zcache_striping_factor=3 has no effect, 2 is in force: the file was made with it"
said 1 "hint zcache_start_iodevice=0 has no effect, 2 is in force: the file was made with it"

# Its bytes are at these daemons alone.
before=$(stat_of 1 written_bytes)
mpi_quiet 3 "$build/simpario/simpario" -f "zcache:$root/apart" -p 4 -r 512K --keep \
    --hint striping_factor=2 --hint start_iodevice=2 --hint striping_unit=65536 \
    --hint cb_nodes=3 --hint "cb_config_list=*:3" || fail "it is not written"
(($(stat_of 1 written_bytes) == before)) || fail "a daemon that is not asked for has $(($(stat_of 1 written_bytes) - before)) bytes of it"
for i in 0 2; do
    at_least "$i" written_bytes 3000000 || fail "daemon $i has $(stat_of "$i" written_bytes) bytes"
done

# Where nothing is said of the first, files are spread: of so many not all begin at one daemon.
find_first() { # FILE: the daemon at which it begins, in $first
    for first in 0 1 2; do
        mpi 1 "$programs/t_hints" "zcache:$root/$1" -- "start_iodevice=$first" >/dev/null 2>&1 \
            </dev/null && return
    done
    fail "$1 begins at no daemon"
}
before=
for file in spread{1..20}; do
    mpi_quiet 1 "$programs/t_hints" "zcache:$root/$file" striping_factor=1 -- striping_factor=1 ||
        fail "striping_factor=1"
    find_first "$file"
    ((first == ${before:=$first})) || break
done
((first != before)) || fail "20 files begin at daemon $first"

# Random programs.
mpi_quiet 4 "$programs/t_model" --count 4 \
    --hints "striping_factor=2,start_iodevice=1,zcache_block_size=64K,cb_nodes=4" \
    "zcache:$root/model" || fail "random programs"
stop_daemons || fail "not drained"

# Kept with the file, but for what another program has put there.
# keep FILE NAME VALUE: as an extended attribute.
keep() {
    python3 -c 'import os, sys; os.setxattr(sys.argv[1], sys.argv[2], sys.argv[3].encode())' "$@"
}
if keep "$root/two" user.zcache.test 1 2>/dev/null; then
    start_daemons 3 "${start[@]}"
    echo_of two -- striping_factor=2 start_iodevice=2
    echo_of ours -- striping_factor=1 start_iodevice=1
    keep "$root/first" user.zcache.stripe '2 none' || fail "no attribute is set"
    echo_of first -- striping_factor=3
    stop_daemons || fail "not drained"
    # Other daemons have fewer places.
    start_daemons 2 "${start[@]}"
    echo_of two -- striping_factor=2 start_iodevice=0
    stop_daemons || fail "not drained"
else
    echo "skipped: after a start of daemons: no extended attributes on $root's file system"
fi

# Without daemons these are hints for other file systems.
echo_of none striping_factor=4 start_iodevice=3 -- striping_factor=1 start_iodevice=0
said 0 "no effect"
