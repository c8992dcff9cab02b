# openmpi.sh - the two benchmarks built a second time, for Open MPI.  Sourced by bash.
# shellcheck shell=bash disable=SC2154 # build, bench_dir, tmp

# openmpi_build: leaves simpario/simpario and btio/btio in $openmpi; when that is impossible, the cause is
# in $openmpi_obstacle.
openmpi=$build/bench/openmpi
openmpi_obstacle=

openmpi_build() {
    local program

    openmpi_obstacle=
    for program in mpicc.openmpi mpirun.openmpi; do
        command -v "$program" >/dev/null ||
            { openmpi_obstacle="no $program (Debian: openmpi-bin, libopenmpi-dev)"; return 1; }
    done
    mkdir -p "$openmpi"/{simpario,btio}
    openmpi_compile >"$tmp/openmpi.log" 2>&1 && return
    openmpi_obstacle="the benchmarks do not compile: $(tail -n 1 "$tmp/openmpi.log")"
    return 1
}

# As their Makefile.am do, but for what tests them.
openmpi_compile() (
    cd "$bench_dir/../.." || exit
    shared=(simpario/{args,bench,stamp,table,units,verdict}.c)
    readarray -t simpario_c < <(find simpario -name '*.c' ! -name 'test_*')
    readarray -t btio_c < <(find btio -name '*.c' ! -name 'test_*')
    openmpi_program simpario -ljansson -- "${simpario_c[@]}" &&
        openmpi_program btio -ljansson -lxxhash -lm -- -funroll-loops "${btio_c[@]}" "${shared[@]}"
)

# openmpi_program NAME LIBRARY ... -- SOURCE ...
openmpi_program() {
    local libraries=() file out=$openmpi/$1/$1

    shift
    while [[ $1 != -- ]]; do libraries+=("$1"); shift; done
    shift
    for file in simpario/*.h btio/*.h "$@"; do
        [[ $file == -* || $out -nt $file ]] && continue
        mpicc.openmpi -std=gnu11 -g -O2 -I"$build" -Isimpario "$@" "${libraries[@]}" -o "$out"
        return
    done
}
