# functions.sh - MPI libraries from Python packages, below the build directory.  Sourced by bash
# after ../mpi/functions.sh.
# shellcheck shell=bash

skip() { # REASON
    echo "skipped: $*"
    exit 77
}

# What Python programs need in every environment.
python_packages="mpi4py==4.1.2"
[[ ${RUN_MPIS:-} != full ]] || python_packages+=" pytest"

# use_mpi NAME [PACKAGE ...]: makes the environment if it is not there, with the options of pip in
# $pip_options, and sets
#     MPIEXEC      its mpiexec, behind a script that lets programs find its library
#     TEST_PYTHON  a Python with mpi4py that uses it
use_mpi() {
    local env=$build/mpis/$1 wanted="${*:2} $python_packages"

    # What full needs is enough for fast.
    if [[ ! -e $env/done || " $(<"$env/done") " != " $wanted "* ]]; then
        make_env "$env" "$@"
        echo "$wanted" >"$env/done"
    fi
    export MPIEXEC=$env/mpiexec TEST_PYTHON=$env/bin/python
    mpiexec=$MPIEXEC
}

# The pip of the system, so that none has to be made for each environment.
make_env() { # ENV NAME [PACKAGE ...]
    local env=$1 packages=("${@:3}") python=${PYTHON:-python3} lib

    rm -rf -- "$env"
    mkdir -p "$build/mpis"
    "$python" -m venv --without-pip "$env" >"$tmp/venv" 2>&1 ||
        skip "$2: no virtual environment of Python: $(tail -n 1 "$tmp/venv")"
    # shellcheck disable=SC2086
    "$python" -m pip --python "$env/bin/python" install \
        --quiet --no-compile --no-cache-dir --disable-pip-version-check \
        --only-binary :all: ${pip_options:-} "${packages[@]}" $python_packages >"$tmp/pip" 2>&1 ||
        skip "$2: pip cannot install ${packages[*]} $python_packages: $(grep -v '^WARNING' "$tmp/pip" | tail -n 1)"
    # Programs were linked with the name that Debian gave the library, mpi4py knows the other one.
    if ((${#packages[@]})); then
        ln -sf libmpi.so.12 "$env/lib/libmpich.so.12"
        wrap "$env" "$env/bin/mpiexec"
    else
        lib=$(ldd "$programs/t_io" |
            sed -n 's/^[[:space:]]*libmpi[a-z]*\.so\.12 => \([^ ]*\).*/\1/p' | head -n 1)
        [[ -n $lib ]] || skip "$2: t_io is not linked with a shared MPI library"
        ln -sf "$lib" "$env/lib/libmpi.so.12"
        wrap "$env" "$mpiexec"
    fi
}

# Only what mpiexec starts uses the environment's libraries; daemons stay as they were built.
wrap() { # ENV MPIEXEC
    cat >"$1/mpiexec" <<END
#!/bin/sh
LD_LIBRARY_PATH='$1/lib'\${LD_LIBRARY_PATH:+:\$LD_LIBRARY_PATH} exec '$2' "\$@"
END
    chmod +x "$1/mpiexec"
}
