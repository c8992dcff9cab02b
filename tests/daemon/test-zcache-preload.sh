#!/usr/bin/env bash
# zcache run puts the plugin before what is preloaded already; zcache env prints it.
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
expect 0 "*libzcache.so:$other
*" env LD_PRELOAD="$other" "$zcache" run sh -c 'echo $LD_PRELOAD'

expect 0 "" "$zcache" start
expect 0 "export ZCACHE_DAEMONS=*
export LD_PRELOAD=*libzcache.so*" "$zcache" env
# shellcheck disable=SC2016
expect 0 "*serving*" bash -c 'eval "$("$1" env)"; "$2" status' - "$zcache" "$zcachectl"
expect 0 "" "$zcache" stop
