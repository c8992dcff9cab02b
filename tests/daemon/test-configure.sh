#!/usr/bin/env bash
# configure refuses what was named and is not there, in words: nothing else is taken in its place.
. "$(dirname -- "$0")/functions.sh"
top=$(cd "$(dirname -- "$0")/../.." && pwd)
[[ -x $top/configure ]] || fail "no $top/configure"
[[ ! -e $top/config.status ]] || { echo "skipped: the source directory is configured itself"; exit 77; }

make_tmp
cd "$tmp" || exit 99
unset CONFIG_SITE MPICC CC CFLAGS
refused() { # MESSAGE ARGUMENT ...
    expect 1 "*configure: error: $1*" "$top/configure" -q "${@:2}"
    [[ ! -e Makefile ]] || fail "configured all the same: ${*:2}"
}
refused "MPICC=/nowhere/mpicc: there is no such program" MPICC=/nowhere/mpicc
refused "--with-romio=/nowhere is not a directory" --with-romio=/nowhere
