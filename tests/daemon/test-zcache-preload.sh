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
# Another plugin of zcache goes: it would refuse the program, or is of an earlier release.
mkdir earlier
for each in earlier/libzcache.so libzcache-openmpi.so libzcache-abi.so; do
    ln -sf "$other" $each
    # shellcheck disable=SC2016
    expect 0 "$other:$library
*" env LD_PRELOAD="$tmp/$each $other" "$zcache" run sh -c 'echo $LD_PRELOAD'
done

# A command that leaves the plugin out.
gone='zcache: run: the command sets LD_PRELOAD to "/x.so", without the plugin: *'
for words in "-n 1 -genv LD_PRELOAD /x.so" "LD_PRELOAD=/x.so"; do
    # shellcheck disable=SC2086
    expect 0 "$gone" "$zcache" run --daemons 0 true $words
done
expect 0 "zcache: no file was opened *" "$zcache" run --daemons 0 true -genv LD_PRELOAD "$library"
# One that hands no LD_PRELOAD on.
ln -s "$(type -P true)" srun
for words in -genvnone -envnone "-genvlist HOME,PATH" "-envlist PATH" --export=NONE \
    --export=PATH,MY_LD_PRELOAD; do
    # shellcheck disable=SC2086
    expect 0 "zcache: run: the command's \"$words\" keeps LD_PRELOAD back: *" \
        "$zcache" run --daemons 0 ./srun $words
done
for words in "-genvlist PATH,LD_PRELOAD" --export=ALL,X=1 --export=LD_PRELOAD,PATH -genvall \
    "-genvnone -genv LD_PRELOAD $library"; do
    # shellcheck disable=SC2086
    expect 0 "zcache: no file was opened *" "$zcache" run --daemons 0 ./srun $words
done
# An option of a program, which may mean anything.
expect 0 "zcache: no file was opened *" "$zcache" run --daemons 0 true --export=csv

expect 0 "" "$zcache" start
expect 0 "export ZCACHE_DAEMONS=*
export LD_PRELOAD=/*libzcache.so" "$zcache" env
expect 0 "*
export LD_PRELOAD=$other:/*libzcache.so" env LD_PRELOAD="$other" "$zcache" env
# shellcheck disable=SC2016
expect 0 "*serving*" bash -c 'eval "$("$1" env)"; "$2" status' - "$zcache" "$zcachectl"
expect 0 "" "$zcache" stop
