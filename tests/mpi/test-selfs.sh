#!/usr/bin/env bash
# Opens of one file by ranks that never open it together: without daemons, with one, with two, by
# way of the host's memory and of libfabric; and over ufs:, or the test is wrong.
# RANKS: of each job (check-long: '2 4').
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

rounds=${ROUNDS:-3}
failed=0

# at WHERE: starts what it needs; $file is what to open.
at() {
    local daemons=0

    file=zcache:$root/f
    unset ZCACHE_LOCAL
    case $1 in
    ufs) file=ufs:$root/f ;;
    *-fabric) export ZCACHE_LOCAL=false ;;
    esac
    case $1 in
    one*) daemons=1 ;;
    two*) daemons=2 ;;
    esac
    # Pages no larger than the smallest block; nothing is written back before it must be.
    start_daemons "$daemons" --page-size 4K --idle-time 0
}

leave() { # WHERE
    stop_daemons || { echo "$1: not drained" >&2; failed=1; }
    rm -rf -- "${root:?}"/*
}

# together WHERE RANKS
together() {
    mpi "$2" "$programs/t_selfs" "$file" "$rounds" all >"$tmp/out" 2>&1 </dev/null && return
    failed=1
    echo "FAILED: $1, $2 ranks"
    grep 'rounds failed$' "$tmp/out" || head -n 20 "$tmp/out"
}

make_root
for where in $reference embedded embedded-fabric one one-fabric two two-fabric; do
    [[ ${1:-$where} == "$where" ]] || continue
    at "$where"
    case $where in
    embedded | one-fabric | two) few=4 ;;
    *) few=2 ;;
    esac
    for ranks in ${RANKS:-$few}; do together "$where" "$ranks"; done
    leave "$where"
done
exit "$failed"
