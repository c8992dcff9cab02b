#!/usr/bin/env bash
# Opens that have to fail do so on every rank, with the right class and a text that helps,
# and leave no file behind.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

ranks=3 bad=0

# try FILE WORDS CLASS [TEXT ...]
try() {
    mpi_quiet "$ranks" "$programs/t_open" "$@" && return
    echo "FAILED ($what): t_open $*" >&2
    bad=1
}

# nothing_at PATH
nothing_at() {
    [[ ! -e $1 ]] || { echo "FAILED ($what): $1 was left behind" >&2; bad=1; }
}

names() {
    local z=zcache:$root

    try "$z/absent" rdonly MPI_ERR_NO_SUCH_FILE "$root/absent"
    try "$z/absent" rdwr MPI_ERR_NO_SUCH_FILE
    nothing_at "$root/absent"
    try "$z/none/x" rdwr,create MPI_ERR_NO_SUCH_FILE "$root/none/x"
    # The remedy is of the case: a directory is missing, or the file alone.
    try "$z/none/y/x" rdwr,create MPI_ERR_NO_SUCH_FILE "; there is no directory $root/none"
    try "$z/absent" rdwr MPI_ERR_NO_SUCH_FILE "; check the path, or open with create"
    try "$z/~/x" rdwr,create MPI_ERR_NO_SUCH_FILE \
        "there is no directory $root/~: no shell replaces ~ here, write \$HOME"
    try "$z/new" rdwr,create,excl MPI_SUCCESS
    try "$z/new" rdwr,create,excl MPI_ERR_FILE_EXISTS "$root/new"
    try "$z/new" rdwr,create MPI_SUCCESS
    try "$z/dir" rdwr MPI_ERR_BAD_FILE "$root/dir"
    try "$z/dir" rdwr,create MPI_ERR_BAD_FILE
    try "$z/new/x" rdonly MPI_ERR_BAD_FILE
    ranks=1 try "$z/new" delete MPI_SUCCESS
    ranks=1 try "$z/new" delete MPI_ERR_NO_SUCH_FILE "$root/new"
    nothing_at "$root/new"
}

outside() {
    try "zcache:$tmp/outside" rdwr,create MPI_ERR_ACCESS "$root" "$tmp/outside" "another --root"
    nothing_at "$tmp/outside"
    ln -sfn "$tmp" "$root/out"
    try "zcache:$root/out/escape" rdwr,create MPI_ERR_ACCESS "$root"
    nothing_at "$tmp/escape"
}

# What is no file with offsets has ROMIO's class for that.
special() {
    mkfifo "$root/fifo" 2>/dev/null
    try "zcache:$root/fifo" rdwr MPI_ERR_IO "$root/fifo" "only regular files"
    try zcache:/proc/self/status rdonly MPI_ERR_"${1:-IO}"
}

# The root was given by its real path, and files are named through a link to it, and the reverse.
linked() {
    ln -sfn "$root" "$tmp/link"
    try "zcache:$tmp/link/new" rdwr,create MPI_SUCCESS
    [[ -e $root/new ]] || { echo "FAILED ($what): not below the root" >&2; bad=1; }
    try "zcache:$tmp/link/new" rdwr MPI_SUCCESS
    try "zcache:$tmp/link/none" rdwr MPI_ERR_NO_SUCH_FILE "/none"
    ranks=1 try "zcache:$tmp/link/new" delete MPI_SUCCESS
    nothing_at "$root/new"
}

make_root
mkdir "$root/dir"
for n in 0 1 2; do
    what="$n daemons"
    start_daemons "$n"
    names
    if ((n == 0)); then special; else special ACCESS; fi
    linked
    ((n == 0)) || outside
    stop_daemons || bad=1
done

# Below the root / are files that are none.
what="the root /"
saved=$root
root=/ start_daemons 1
try zcache:/proc/self/status rdonly MPI_ERR_IO /proc/self/status "only regular files"
try zcache:/sys/kernel/notes rdonly MPI_ERR_IO
try zcache:/dev/null rdwr MPI_ERR_IO /dev/null "only regular files"
try zcache:/dev/stdout rdwr MPI_ERR_IO /dev/stdout
try "zcache:$saved/new" rdwr,create MPI_SUCCESS
ranks=1 try "zcache:$saved/new" delete MPI_SUCCESS
stop_daemons || bad=1

# Address files that are of no use, and daemons that are not there any more.
what="address files"
umask 077 # others may not read them
z=zcache:$root/a
start_daemons 1
good=$tmp/0.addr
cp "$good" "$tmp/copy"
for n in 2 3; do
    ranks=$n
    ZCACHE_DAEMONS=$tmp/nowhere.addr try "$z" rdwr,create MPI_ERR_IO "$tmp/nowhere.addr"
    mkdir -p "$tmp/empty"
    ZCACHE_DAEMONS=$tmp/empty try "$z" rdwr,create MPI_ERR_IO "$tmp/empty"
    head -c 3000 /dev/urandom >"$tmp/garbage"
    ZCACHE_DAEMONS=$tmp/garbage try "$z" rdwr,create MPI_ERR_ARG "$tmp/garbage"
    head -n 3 "$good" >"$tmp/part"
    ZCACHE_DAEMONS=$tmp/part try "$z" rdwr,create MPI_ERR_ARG "$tmp/part"
    sed 's/^protocol .*/protocol 99/' "$good" >"$tmp/newer"
    ZCACHE_DAEMONS=$tmp/newer try "$z" rdwr,create MPI_ERR_IO "protocol 99" "$tmp/newer"
    # The second of two: nothing may be left of the first's work.
    ZCACHE_DAEMONS=$good,$tmp/newer try "$z" rdwr,create MPI_ERR_IO "protocol 99"
    nothing_at "$root/a"
done
stop_daemons || bad=1
ranks=2
what="stale address file"
export ZCACHE_TIMEOUT=2s
ZCACHE_DAEMONS=$tmp/copy try "$z" rdwr,create MPI_ERR_IO "$tmp/copy" "not running"
sed 's/^host .*/host elsewhere/' "$tmp/copy" >"$tmp/far"
ZCACHE_DAEMONS=$tmp/far try "$z" rdwr,create MPI_ERR_IO elsewhere
nothing_at "$root/a"
exit $bad
