#!/usr/bin/env bash
# Ranks that wait in MPI_File_close for the one that writes back have the file open until it is
# done, also where nothing but what they know themselves leads to it: there is no place for records.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
requires test -e "$faultshim"
make_root
export XDG_RUNTIME_DIR=$tmp
: >"$tmp/zcache"
export FAULTSHIM_UNDER=$root/f FAULTSHIM_HOLD=$tmp/hold
preload=$faultshim${preload:+:$preload}
touch "$tmp/hold"
mpi_quiet 2 "$programs/t_parting" "zcache:$root/f" "$tmp/hold" || fail "$(cat "$tmp/out")"
