#!/usr/bin/env bash
# BTIO of class A: as test-btio.sh, with 400 MB in 40 dumps.
set -u
# shellcheck source=tests/mpi/btio.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/btio.sh"

mpi_timeout=${MPI_TIMEOUT:-900}
make_root
for method in "${methods[@]}"; do
    without_plugin btio 4 -c A -m "$method" -f "ufs:$root/u" --keep
    write_all 4 "$method" "$root/u" -c A
    rm "$root"/*
done
