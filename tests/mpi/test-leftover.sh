#!/usr/bin/env bash
# Bytes that an aggregator could not write back before the last close of their file are visible to
# the next open in the job, and are never written over newer ones: without a daemon, and with one
# that writes through.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

requires test -e "$faultshim"
make_root
export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
preload=$faultshim:$preload daemon_preload=$faultshim
for n in 0 1; do
    start_daemons "$n" --cache-size 0
    for who in alone both; do
        mpi_quiet 3 "$programs/t_leftover" "zcache:$root/$who" "$tmp/switch" "$who" "$tmp/image" ||
            fail "$n daemons: $who"
        cmp "$root/$who" "$tmp/image" || fail "$n daemons: $who: not the newer bytes"
        rm "$root/$who"
    done
    stop_daemons || fail "$n daemons: not drained"
done

# Only rank 1 cannot write: the other owner, which does not take part in the close, does.
# shellcheck disable=SC2016 # for the ranks' shells
mpi_quiet 3 sh -c '[ "${PMI_RANK-$OMPI_COMM_WORLD_RANK}" = 1 ] || unset FAULTSHIM_SWITCH; exec "$@"' sh \
    "$programs/t_leftover" "zcache:$root/elsewhere" "$tmp/switch" elsewhere - || fail "elsewhere"
