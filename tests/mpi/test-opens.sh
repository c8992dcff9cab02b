#!/usr/bin/env bash
# Several opens of one file in one job, by 1 to 4 ranks: without daemons, with one, with two; and
# over ufs:, where the same cases pass, or the test is wrong.  Without daemons once more with
# libfabric between ranks, and with hosts that number the file's device each in its own way.
#
#     test-opens.sh                                what make check runs
#     test-opens.sh --each [WHERE [RANKS [CASE]]]  every case by itself: which fail, and how often;
#                                                  WHERE is ufs, embedded, one or two
# ROUNDS: of each case (3: every one with other hints); RANKS: of each job (check-long: '1 2 3 4');
# VERBOSE=1 shows what --each has seen.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

rounds=${ROUNDS:-3}
# shellcheck disable=SC2206 # none or one
wheres=($reference embedded one two)

# at WHERE: starts what it needs; $file is what to open.
at() {
    local daemons=0

    file=zcache:$root/f
    case $1 in
    ufs) file=ufs:$root/f ;;
    embedded) ;;
    one) daemons=1 ;;
    two) daemons=2 ;;
    *) fail "no such place: $1" ;;
    esac
    # Pages no larger than the smallest block; nothing is written back before it must be.
    start_daemons "$daemons" --page-size 4K --idle-time 0
}

leave() {
    stop_daemons || { echo "$1: not drained" >&2; failed=1; }
    rm -rf -- "${root:?}"/*
}

# cases PROGRAM: their names.
cases() {
    mpi 1 "$programs/$1" "$ufs$root/f" 0 list </dev/null
    [[ $1 != t_opens ]] || echo in_finalize
}

# ranks_at WHERE: jobs of so many ranks; --each has all of them.
ranks_at() {
    case $1 in
    embedded) echo "${RANKS:-1 4}" ;;
    one) echo "${RANKS:-2}" ;;
    *) echo "${RANKS:-3}" ;;
    esac
}

# Everything in few launches; which cases failed is enough to know.
everything() {
    local where ranks

    for where in "${wheres[@]}"; do
        at "$where"
        for ranks in $(ranks_at "$where"); do
            all_of "$where" "$ranks" t_opens "$rounds" all
            all_of "$where" "$ranks" t_opens_file "$rounds" all
            all_of "$where" "$ranks" t_opens 1 in_finalize
        done
        leave "$where"
    done
    at embedded
    for ranks in ${RANKS:+3} 4; do # with opens that no owner, or not the first one, is among
        ZCACHE_LOCAL=false all_of "embedded, libfabric" "$ranks" t_opens 3 all
    done
    for name in self_reads self_writes newer_wins subset same_ranks netcdf apart_first; do
        across_hosts "$name"
    done
    # On NFS version 3, where no lock keeps a rank of another host out.
    FAULTSHIM_FS=26985 across_hosts apart_scattered
    leave embedded
}

# across_hosts CASE: each rank sees the file on a device of another number.
across_hosts() {
    # shellcheck disable=SC2016 # for the ranks' shells
    ZCACHE_LOCAL=false FAULTSHIM_UNDER=$root preload=$faultshim${preload:+:$preload} \
        mpi 3 sh -c 'rank=${PMI_RANK-$OMPI_COMM_WORLD_RANK}
            export FAULTSHIM_DEV=$((7 * rank)) MPI_LOCALNRANKS=1; exec "$@"' sh \
        "$programs/t_opens" "$file" "$rounds" "$1" >"$tmp/out" 2>&1 </dev/null && return
    failed=1
    echo "FAILED: embedded, each rank on a host of its own: t_opens $1"
    head -n 20 "$tmp/out"
}

# all_of WHERE RANKS PROGRAM ROUNDS CASE
all_of() {
    mpi "$2" "$programs/$3" "$file" "$4" "$5" >"$tmp/out" 2>&1 </dev/null && return
    failed=1
    echo "FAILED: $1, $2 ranks: $3"
    grep 'rounds failed$' "$tmp/out" || head -n 20 "$tmp/out"
}

# one_case WHERE RANKS PROGRAM CASE
one_case() {
    local status said

    mpi "$2" "$programs/$3" "$file" "$rounds" "$4" >"$tmp/out" 2>&1 </dev/null
    status=$?
    ((status)) || return 0
    failed=1
    said=$(sed -n "s/^$4: \(.*rounds failed\)$/\1/p" "$tmp/out")
    case $status in
    124 | 137) said=${said:-hangs} ;;
    *) said=${said:-ends with status $status} ;;
    esac
    echo "$1, $2 ranks: $3 $4: $said"
    [[ ! ${VERBOSE:-} ]] || head -n 20 "$tmp/out"
}

# each [WHERE [RANKS [CASE]]]
each() {
    local where ranks program name

    mpi_timeout=${MPI_TIMEOUT:-30}
    [[ ! ${1:-} ]] || wheres=("$1")
    for where in "${wheres[@]}"; do
        at "$where"
        for ranks in ${2:-1 2 3 4}; do
            for program in t_opens t_opens_file; do
                for name in $(cases "$program"); do
                    [[ ${3:-$name} == "$name" ]] || continue
                    one_case "$where" "$ranks" "$program" "$name"
                done
            done
        done
        leave "$where"
    done
}

make_root
failed=0
case ${1:-} in
--each) each "${@:2}" ;;
*) everything ;;
esac
exit "$failed"
