# openmpi.sh - the two benchmarks built a second time, for Open MPI.  Sourced by bash.
# shellcheck shell=bash disable=SC2154 # build, bench_dir, tmp

# openmpi_build: leaves simpario/simpario and btio/btio in $openmpi; when that is impossible, the
# cause is in $openmpi_obstacle.
openmpi=$build/bench/openmpi
openmpi_obstacle=
openmpi_cc=mpicc.openmpi
openmpi_run=()
openmpi_unpacked= # where one is unpacked that will do where none is installed

# openmpi_find: the one that is installed, else that in $openmpi_unpacked.
openmpi_find() {
    local program

    openmpi_run=(mpirun.openmpi --oversubscribe --bind-to none)
    if ((EUID == 0)); then openmpi_run+=(--allow-run-as-root); fi
    for program in mpicc.openmpi mpirun.openmpi; do
        command -v "$program" >/dev/null && continue
        openmpi_obstacle="no $program (Debian: openmpi-bin, libopenmpi-dev)"
        [[ -d $openmpi_unpacked ]] || return
        export OPENMPI_PREFIX=$openmpi_unpacked
        openmpi_obstacle=
        openmpi_cc=$bench_dir/../openmpi/mpicc
        openmpi_run=("$bench_dir/../openmpi/mpiexec")
        return
    done
}

openmpi_build() {
    openmpi_obstacle=
    openmpi_find || return
    mkdir -p "$openmpi"/{simpario,btio}
    openmpi_compile >"$tmp/openmpi.log" 2>&1 && return
    openmpi_obstacle="the benchmarks do not compile: $(tail -n 1 "$tmp/openmpi.log")"
    return 1
}

# From the sources that their Makefile.am name.
openmpi_compile() (
    cd "$bench_dir/../.." || exit
    readarray -t shared < <(openmpi_sources benchlib libbench_la)
    readarray -t simpario_files < <(openmpi_sources simpario simpario)
    readarray -t btio < <(openmpi_sources btio libbt_la btio)
    openmpi_program simpario -ljansson -lm -- "${simpario_files[@]}" "${shared[@]}" &&
        openmpi_program btio -ljansson -lxxhash -lm -- -funroll-loops "${btio[@]}" "${shared[@]}"
)

# openmpi_sources DIRECTORY PREFIX ...: of PREFIX_SOURCES
openmpi_sources() {
    local prefix

    for prefix in "${@:2}"; do
        sed -n "/^${prefix}_SOURCES/,/[^\\\\]$/p" "$1/Makefile.am" | grep -o '[a-z_]*\.c' |
            sed "s#^#$1/#"
    done
}

# openmpi_program NAME LIBRARY ... -- SOURCE ...
openmpi_program() {
    local libraries=() file out=$openmpi/$1/$1

    shift
    while [[ $1 != -- ]]; do libraries+=("$1"); shift; done
    shift
    for file in benchlib/*.h simpario/*.h btio/*.h "$build/config.h" "$bench_dir/openmpi.sh" \
        "$@"; do
        [[ $file == -* || $out -nt $file ]] && continue
        "$openmpi_cc" -std=gnu11 -g -O2 -I"$build" -Ibenchlib "$@" "${libraries[@]}" \
            -o "$out.new" &&
            mv "$out.new" "$out"
        return
    done
}
