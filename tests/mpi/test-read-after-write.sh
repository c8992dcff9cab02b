#!/usr/bin/env bash
# Collective reads right behind writes of the same open, all ways by all ways, without a barrier;
# and over ufs:, where ROMIO's two-phase reads wait, too.
#
#     test-read-after-write.sh [WRITE [READ]]      all, or some (see t_read_after_write.c)
# ROUNDS: of each pair (2).
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
failed=0
if [[ ${TEST_MPI:-} == abi && ! $* ]]; then
    echo "left out: nonblocking reads, which are made at once with this interface"
    set -- '' -iread
fi
for where in $reference 0 1 2; do # daemons
    file=zcache:$root/f
    [[ $where != ufs ]] || file=ufs:$root/f
    start_daemons "${where/ufs/0}" --page-size 16K
    for ranks in 1 2 3 4; do
        mpi_quiet "$ranks" "$programs/t_read_after_write" "$file" "${ROUNDS:-2}" "$@" || {
            echo "FAILED: $where, $ranks ranks" >&2
            failed=1
        }
    done
    stop_daemons || { echo "not drained" >&2; failed=1; }
done
exit "$failed"
