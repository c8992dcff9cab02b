#!/usr/bin/env bash
# Datatypes of all shapes: what lands in the file is what MPI_Pack takes.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
mpi_quiet 1 "$programs/t_shapes" --all "zcache:$root/all" 1 5000 || fail "types went wrong"
