#!/usr/bin/env bash
# test-examples.sh [NAME ...]
#
# The programs of examples/, each built as its first lines say and run without a daemon and with
# one; each writes, computes, reads back and compares.  NAMEs are of those below; without any, those
# that need nothing beyond what the build needs, and a Fortran compiler.  Says what it leaves out,
# and why.
#
#     c fortran consistency steps   MPI alone: mpich, libmpich-dev, gfortran
#     mpi4py h5py steps_mpi4py   TEST_PYTHON, a Python that has them built for MPICH, or what make
#                                check-programs has made of them (python3-pip, libhdf5-mpich-dev;
#                                Debian's python3-mpi4py and python3-h5py-mpi are for Open MPI)
#     hdf5                       libhdf5-mpich-dev
#     pnetcdf netcdf             made from Debian's source packages by tests/docs/library; netcdf
#                                with libhdf5-mpich-dev (libpnetcdf-dev and libnetcdf-pnetcdf-dev
#                                are for Open MPI)
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../mpi/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
examples=$here/../../examples
everything=(c fortran consistency steps mpi4py h5py steps_mpi4py hdf5 pnetcdf netcdf)
cached=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}/programs
needs_plugin "programs that preload it"
make_root
ran=() left_out=()

# What run_* calls when it cannot run; they return at once then.
leave_out() { left_out+=("$name: $*"); }

# compile OUTPUT COMPILER ARGUMENT ...
compile() { (cd "$tmp" && "${@:2}" -o "$1") >"$tmp/out" 2>&1 || fail "$name: $(cat "$tmp/out")"; }

# both FILE COMMAND ...: without a daemon, then with one.
both() {
    local daemons

    for daemons in 0 1; do
        start_daemons "$daemons"
        mpi_quiet 4 "${@:2}" "zcache:$root/$1" || fail "$name, $daemons daemons"
        stop_daemons || fail "$name: not drained"
        [[ $name == consistency ]] || grep -q ' 0 values are wrong' "$tmp/out" ||
            fail "$name: $(cat "$tmp/out")"
        rm -f "$root/$1"
    done
    ran+=("$name")
}

run_c() {
    compile c "$MPICC" "$examples/write_read.c"
    both steps "$tmp/c"
}

run_consistency() {
    compile consistency "$MPICC" "$examples/consistency.c"
    both file "$tmp/consistency"
}

# two_jobs COMMAND ...: the consumer is there before the file, and reads while the producer writes.
two_jobs() {
    local consumer

    start_daemons 1
    mpi 2 "$@" "zcache:$root/steps" consume 5 >"$tmp/consumer" 2>&1 </dev/null &
    consumer=$!
    mpi_quiet 2 "$@" "zcache:$root/steps" produce 5 || fail "$name: the producer"
    wait "$consumer" || fail "$name: $(cat "$tmp/consumer")"
    grep -q ' 0 values are wrong' "$tmp/consumer" || fail "$name: $(cat "$tmp/consumer")"
    [[ $(stat_of 0 store_reads) == 0 ]] || fail "$name: the daemon has read the file"
    stop_daemons || fail "$name: not drained"
    rm -f "$root/steps"
    ran+=("$name")
}

run_steps() {
    compile steps "$MPICC" "$examples/steps.c"
    two_jobs "$tmp/steps"
}

run_fortran() {
    local fort=${MPIFORT:-${MPICC/%mpicc.mpich/mpifort.mpich}}

    [[ $fort != "$MPICC" ]] || fort=${MPICC/%mpicc/mpifort}
    [[ $fort != "$MPICC" ]] && command -v "$fort" >/dev/null ||
        { leave_out "no mpifort beside $MPICC; MPIFORT can name one (Debian: gfortran)"; return; }
    compile fortran "$fort" "$examples/write_read.f90"
    both steps "$tmp/fortran"
}

# python MODULE: sets `command`; false: it is left out.
find_python() {
    local at

    command=("${TEST_PYTHON:-}")
    if [[ -z ${TEST_PYTHON:-} ]]; then
        at=$(find "$cached" -maxdepth 1 -name "$1-[0-9]*" -type d 2>/dev/null | sort | tail -n 1)
        [[ -n $at && -e $at/done ]] || {
            leave_out "no Python with $1 for MPICH: TEST_PYTHON, or once: make check-programs"
            return 1
        }
        command=(env MPI4PY_MPIABI=mpich "LD_LIBRARY_PATH=$(echo "$cached"/mpi4py-*/lib)"
            "$at/venv/bin/python")
    fi
}

# python MODULE SCRIPT
python() { ! find_python "$1" || both steps "${command[@]}" "$examples/$2"; }

run_mpi4py() { python mpi4py write_read_mpi4py.py; }
run_steps_mpi4py() { ! find_python mpi4py || two_jobs "${command[@]}" "$examples/steps_mpi4py.py"; }
run_h5py() { python h5py write_read_h5py.py; }

run_hdf5() {
    local flags

    flags=$(pkg-config --cflags --libs hdf5-mpich 2>/dev/null) ||
        { leave_out "no HDF5 for MPICH (Debian: libhdf5-mpich-dev)"; return; }
    # shellcheck disable=SC2086 # several words
    compile hdf5 "$MPICC" "$examples/write_read_hdf5.c" $flags
    both steps.h5 "$tmp/hdf5"
}

# library NAME: sets $prefix.
library() {
    prefix=$(MPICC=$MPICC "$here/library" "$1" 2>"$tmp/out") ||
        { leave_out "$(tail -n 1 "$tmp/out")"; return 1; }
}

run_pnetcdf() {
    library pnetcdf || return 0
    compile pnetcdf "$MPICC" "$examples/write_read_pnetcdf.c" "-I$prefix/include" \
        "-L$prefix/lib" -lpnetcdf -lm
    both steps.nc "$tmp/pnetcdf"
}

run_netcdf() {
    local flags

    library netcdf || return 0
    flags="$("$prefix/bin/nc-config" --cflags) $("$prefix/bin/nc-config" --libs --static)"
    # shellcheck disable=SC2086 # several words
    compile netcdf "$MPICC" "$examples/write_read_netcdf.c" $flags
    both steps.nc "$tmp/netcdf"
    cat >"$tmp/classic" <<'EOF'
#!/bin/sh
exec "$1" "$2" classic
EOF
    chmod +x "$tmp/classic"
    name="netcdf classic"
    both classic.nc "$tmp/classic" "$tmp/netcdf"
}

[[ ${1:-} != all ]] || set -- "${everything[@]}"
(($#)) || set -- c fortran consistency steps
for name; do
    declare -F "run_$name" >/dev/null || fail "no example $name; there are ${everything[*]}"
    "run_$name"
done
echo "ran: ${ran[*]}"
((${#left_out[@]} == 0)) || printf 'left out: %s\n' "${left_out[@]}"
((${#ran[@]})) || exit 77
