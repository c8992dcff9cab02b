#!/usr/bin/env bash
# tests/run-iod itself: environment, options, statuses.
here=$(dirname -- "$0")
. "$here/functions.sh"
run_iod=$(cd "$here/.." && pwd)/run-iod
export top_builddir=$build

# shellcheck disable=SC2016
expect 0 "*serving*/root" "$run_iod" "$zcachectl" status
# shellcheck disable=SC2016
expect 3 "/*/root" "$run_iod" sh -c 'echo $IOD_ROOT; exit 3'
expect 0 "*16 MiB*" "$run_iod" --cache-size 16M -- "$zcachectl" status
expect 1 "*fewer than 2 pages*" "$run_iod" --cache-size 1M -- true
expect 2 "usage: *" "$run_iod"
# A daemon that dies is noticed.
# shellcheck disable=SC2016
expect 1 "*the daemon ended with status 137" \
    "$run_iod" sh -c 'kill -KILL "$(sed -n "s/^pid //p" "$ZCACHE_DAEMONS")"'
