#!/usr/bin/env bash
# zcache run puts the plugin behind what is preloaded already, but before an MPI library; zcache env
# prints it.
. "$(dirname -- "$0")/functions.sh"
library=$build/adio_zcache/.libs/libzcache.so
requires test -e "$library"

make_tmp
cd "$tmp" || exit 99
export XDG_RUNTIME_DIR=$tmp
# shellcheck disable=SC2016
expect 0 "*libzcache.so
zcache: no file was opened through zcache: *zcache:$tmp/x" "$zcache" run sh -c 'echo $LD_PRELOAD'
other=$(ldconfig -p | sed -n 's/.*libm.so.6 .*=> //p' | head -n 1)
# shellcheck disable=SC2016
expect 0 "$other:*libzcache.so
*" env LD_PRELOAD="$other" "$zcache" run sh -c 'echo $LD_PRELOAD'
# What counts is the name.
for mpi in libmpi.so.12 libmpich.so.12 libpmpi.so libmpifort.so.12 libmpi_abi.so.0; do
    ln -sf "$other" $mpi
    # shellcheck disable=SC2016
    expect 0 "$other:*libzcache.so:$tmp/$mpi:$other
*" env LD_PRELOAD="$other $tmp/$mpi $other" "$zcache" run sh -c 'echo $LD_PRELOAD'
done
ln -sf "$other" libmpiP.so
# shellcheck disable=SC2016
expect 0 "$tmp/libmpiP.so:*libzcache.so
*" env LD_PRELOAD="$tmp/libmpiP.so" "$zcache" run sh -c 'echo $LD_PRELOAD'

expect 0 "" "$zcache" start
expect 0 "export ZCACHE_DAEMONS=*
export LD_PRELOAD=/*libzcache.so" "$zcache" env
expect 0 "*
export LD_PRELOAD=$other:/*libzcache.so" env LD_PRELOAD="$other" "$zcache" env
# shellcheck disable=SC2016
expect 0 "*serving*" bash -c 'eval "$("$1" env)"; "$2" status' - "$zcache" "$zcachectl"
expect 0 "" "$zcache" stop
