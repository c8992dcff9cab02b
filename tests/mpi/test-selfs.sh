#!/usr/bin/env bash
# Opens of one file by ranks that never open it together: without daemons, with one, with two, by
# way of the host's memory and of libfabric; and over ufs:, or the test is wrong.  Then with the
# rank that had it open first killed: the others are told what of theirs is lost, and open it anew.
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

all_well() { (($(find "$tmp/word" -name 'well.?' | wc -l) == ranks - 1)); }
settled() { all_well || is_dead "$job"; }
is_dead() { grep -qsE '^State:.[ZX]' "/proc/$1/status" || [[ ! -e /proc/$1 ]]; }

# The first one to have it open dies by itself when all have it open.
killed() { # WHERE VICTIM
    local job

    ranks=3
    mkdir "$tmp/word"
    ZCACHE_TIMEOUT=5s timeout -k 5 "$mpi_timeout" "$mpiexec" -disable-auto-cleanup -n "$ranks" \
        -genv LD_PRELOAD "$sanitizer$preload" \
        "$programs/t_selfs" "$file" killed "$tmp/word" "$2" >"$tmp/out" 2>&1 </dev/null &
    job=$!
    wait_for 60 test -e "$tmp/word/dying.$2" && wait_for 60 is_dead "$(<"$tmp/word/dying.$2")"
    touch "$tmp/word/dead.$2"
    wait_for 60 settled
    all_well || {
        failed=1
        echo "FAILED: $1, the first one is rank $2 and killed"
        head -n 20 "$tmp/out"
    }
    touch "$tmp/word/end.$2"
    wait "$job" # its status is that of the one that was killed
    rm -rf -- "$tmp/word"
}

make_root
for where in ufs embedded embedded-fabric one one-fabric two two-fabric; do
    [[ ${1:-$where} == "$where" ]] || continue
    at "$where"
    for ranks in 2 3 4; do together "$where" "$ranks"; done
    for victim in 0 2; do killed "$where" "$victim"; done
    leave "$where"
done
exit "$failed"
