#!/usr/bin/env bash
# Datatypes of all shapes: what lands in the file is what MPI_Pack takes.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_root
mpi_quiet 1 "$programs/t_shapes" --romio "zcache:$root/romio" 1 3000 || fail "what ROMIO gets right"
# Types that ROMIO flattens wrongly are written wrongly here too; ALL_SHAPES=1 shows them.
[[ -z ${ALL_SHAPES:-} ]] || mpi_quiet 1 "$programs/t_shapes" "zcache:$root/all" 1 3000 ||
    fail "all types"
