#!/usr/bin/env bash
# Fortran programs: mpif.h, use mpi, use mpi_f08; also error handlers written in Fortran.
# MPIFORT names the compiler wrapper; without it the one beside mpicc is taken.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

fort=${MPIFORT:-${MPICC/%mpicc/mpifort}}
[[ -n ${MPIFORT:-} || $fort != "$MPICC" ]] || fort=${MPICC/%mpicc.mpich/mpifort.mpich}
[[ $fort != "$MPICC" ]] && command -v "$fort" >/dev/null ||
    { echo "skipped: no mpifort beside $MPICC; MPIFORT can name one"; exit 77; }
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
make_root
printf 'program p\nuse mpi\nend program\n' >"$tmp/p.f90"
"$fort" -o "$tmp/p" "$tmp/p.f90" >"$tmp/out" 2>&1 ||
    { echo "skipped: $fort makes no programs: $(tail -n 1 "$tmp/out")"; exit 77; }

# libzcache-openmpi.so does not see what Fortran makes (doc/install.md).
handlers=()
if [[ ${TEST_MPI:-} == openmpi && $plugin ]]; then
    handlers=(returns)
    echo "skipped: error handlers made in Fortran, which cannot be set on a file of zcache's"
fi
for program in t_fortran77.f t_fortran.f90 t_fortran08.f90; do
    # Module files go where the program goes.
    (cd "$tmp" && "$fort" -o "${program%.*}" "$here/$program") >"$tmp/out" 2>&1 ||
        fail "$program: $(cat "$tmp/out")"
    for daemons in 0 1; do
        start_daemons "$daemons"
        mpi_quiet 3 "$tmp/${program%.*}" "zcache:$root/fortran" "${handlers[@]}" ||
            fail "$program, $daemons daemons"
        stop_daemons || fail "not drained"
    done
done
