#!/usr/bin/env bash
# A job reaches daemons by the provider that they have, whatever its ranks use among themselves.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
export ZCACHE_LOCAL=false # ranks use libfabric, too
for provider in net tcp; do # names of one protocol, in old and new releases of libfabric
    start_daemons 1 --provider "$provider"
    mpi_quiet 2 "$programs/t_posix" "zcache:$root/f" || fail "a daemon with --provider $provider"
    ZCACHE_PROVIDER=net mpi_quiet 2 "$programs/t_posix" "zcache:$root/f" ||
        fail "a daemon with --provider $provider, ranks with net"
    stop_daemons || fail "--provider $provider: not drained"
done
if [[ ${TEST_DAEMON_OPTIONS:-} == *--provider* ]]; then
    echo "skipped: the default provider: daemons are to have $TEST_DAEMON_OPTIONS"
    exit 0
fi
start_daemons 1
ZCACHE_PROVIDER=tcp mpi_quiet 2 "$programs/t_posix" "zcache:$root/f" ||
    fail "a daemon with the default provider, ranks with tcp"
stop_daemons || fail "not drained"

# Each daemon of a job is reached by its own.
start_daemon 0 --root "$root" --provider net
start_daemon 1 --root "$root"
ZCACHE_DAEMONS=$tmp/0.addr,$tmp/1.addr mpi_quiet 2 "$programs/t_model" --count 5 \
    --hints zcache_block_size=64K "zcache:$root/model" || fail "daemons with different providers"

# One that is not to be had is an error at once.
(umask 077 && sed 's/^provider .*/provider nosuch/' "$tmp/1.addr" >"$tmp/2.addr")
ZCACHE_DAEMONS=$tmp/2.addr mpi 1 "$programs/t_open" "zcache:$root/x" rdwr,create MPI_ERR_IO \
    'provider "nosuch"' >"$tmp/out" 2>&1 </dev/null || fail "no such provider: $(cat "$tmp/out")"
stop_daemons || fail "different providers: not drained"
