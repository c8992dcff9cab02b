# python.sh - a Python for suites of Python programs, and running their tests.  Sourced after
# functions.sh.
#
# TEST_PYTHON, where it is set, names a Python that has mpi4py and pytest already, for an MPI
# library of its own; else one is made for that of the distribution.
# shellcheck shell=bash
# shellcheck disable=SC2154 # what functions.sh sets

mpi4py_version=4.1.2

# get PACKAGE ...: into ./venv, by the pip of the system
get() {
    "${PYTHON:-python3}" -m pip --python "$PWD/venv/bin/python" install \
        --no-compile --disable-pip-version-check "$@"
}

# source_of PACKAGE VERSION: unpacks its source distribution into ./PACKAGE-VERSION, and
# leaves that.
source_of() {
    get --quiet setuptools wheel cython &&
        "${PYTHON:-python3}" -m pip --python "$PWD/venv/bin/python" download \
        --disable-pip-version-check \
            --no-deps --no-build-isolation --no-binary :all: "$1==$2" &&
        tar -xf "$1-$2.tar.gz"
}

# mpi4py for MPICH knows the library by another name than Debian's.
# Without MPI4PY_MPIABI it takes Open MPI's where there is one.
build_mpi4py() {
    local library

    "${PYTHON:-python3}" -m venv --without-pip venv && source_of mpi4py "$mpi4py_version" ||
        return 1
    library=$(gcc -print-file-name=libmpich.so.12)
    mkdir lib && ln -s "$library" lib/libmpi.so.12 && get pytest "mpi4py==$mpi4py_version"
}

# with_mpi4py: sets $python, and $mpi4py to the directory with its sources; skips the suite where
# that cannot be had.
with_mpi4py() {
    once "mpi4py-$mpi4py_version" build_mpi4py ||
        skip_all "pip cannot get mpi4py: $(tail -n 1 "$built/log")"
    mpi4py=$built/mpi4py-$mpi4py_version
    if [[ -n ${TEST_PYTHON:-} ]]; then
        python=("$TEST_PYTHON")
    else
        python=(env MPI4PY_MPIABI=mpich "LD_LIBRARY_PATH=$built/lib" "$built/venv/bin/python")
    fi
}

# run_pytest RANKS DIR FILE [PYTEST-OPTION ...]: the tests of FILE below DIR; prints lines.  After a
# test that does not end, or ends the program, what follows it is run in another launch.
run_pytest() {
    local ranks=$1 dir=$2 file=$3 options=("${@:4}") lines=$work/lines log status name usual=$limit

    log=$work/${file##*/}.log
    limit=600 # for all of them
    while :; do
        rm -f -- "$lines" "$lines.now" "$lines.ids"
        touch "$lines" "$lines.now" "$lines.ids"
        (cd -- "$dir" && TMPDIR=$work LINES=$lines PYTHONPATH=$here PYTHONDONTWRITEBYTECODE=1 \
            mpi "$ranks" "${python[@]}" -m pytest -q -p no:cacheprovider -p pytest_lines \
            "${options[@]}" "$file") >"$log" 2>&1 </dev/null
        status=$?
        while read -r verdict name reason; do
            ! wanted "$name-$ranks" || echo "$verdict $name-$ranks $reason"
        done <"$lines"
        name=$(<"$lines.now")
        if [[ -z $name ]]; then
            # Tests that failed make 1, none at all 5.
            ((status == 0 || status == 1 || status == 5)) ||
                echo "FAIL $file-$ranks status $status: $(telling "$log")"
            break
        fi
        if ((status == 124 || status == 137)); then
            echo "FAIL $name-$ranks no end within $limit s, with those before it"
        else
            echo "FAIL $name-$ranks status $status: $(telling "$log")"
        fi
        while read -r name; do options+=(--deselect "$name"); done <"$lines.ids"
    done
    limit=$usual
}
