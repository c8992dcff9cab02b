#!/usr/bin/env bash
# BTIO of class A: as test-btio.sh, with 400 MB in 40 dumps. Then class B, with 1.7 GB, through a
# daemon; class C takes 6.8 GB and half an hour, and is for the patient:
#     build/zcache run mpiexec -n 4 build/btio/btio -c C -f zcache:FILE
set -u
# shellcheck source=tests/mpi/btio.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/btio.sh"

mpi_timeout=${MPI_TIMEOUT:-1800}
make_root
for method in "${methods[@]}"; do
    without_plugin btio 4 -c A -m "$method" -f "ufs:$root/u" --keep
    write_all 4 "$method" "$root/u" -c A
    rm "$root"/*
done

start_daemons 1
btio 4 -c B -f "zcache:$root/b"
stop_daemons || fail "not drained"
