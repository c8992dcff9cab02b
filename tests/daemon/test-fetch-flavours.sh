#!/usr/bin/env bash
# MPI libraries that cannot be fetched are left out with the reason, and nothing is left of them.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
make_tmp
mkdir "$tmp/bin" "$tmp/build"

# tool NAME TEXT: a NAME that comes before the system's.
tool() {
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}

# left_out APT PIP: what is said of Open MPI, and of the other library.
left_out() {
    PATH=$tmp/bin:$PATH PYTHON=$tmp/bin/python "$here/../mpis/fetch-flavours" "$tmp/build" \
        >"$tmp/out" 2>&1 || fail "status $?: $(<"$tmp/out")"
    grep -q "^skipped: Open MPI: $1" "$tmp/out" || fail "no '$1': $(<"$tmp/out")"
    grep -q "^skipped: mpich-5.0: $2" "$tmp/out" || fail "no '$2': $(<"$tmp/out")"
    [[ -z $(find "$tmp/build" -name 'done') ]] || fail "something was fetched: $(find "$tmp/build")"
}

type -P mpicc.openmpi >/dev/null && { echo "skipped: Open MPI is installed here"; exit 77; }
tool apt-cache 'echo "  Candidate: 4.1.4-3"'
tool dpkg-deb 'exit 1'
tool python 'echo "no module named venv" >&2; exit 1'
# shellcheck disable=SC2016 # apt-get's
tool apt-get 'case $1 in -s) echo "Inst libopenmpi3 (4.1.4-3)" ;;
    *) echo "E: no network" >&2; exit 100 ;; esac'
left_out "apt-get cannot download it: E: no network" "no virtual environment of Python: no module"

# shellcheck disable=SC2016 # pip's
tool python 'case $2 in venv) mkdir -p "$4" ;; *) echo "ERROR: no such package" >&2; exit 1 ;; esac'
tool apt-get 'echo "E: no such package" >&2; exit 100'
left_out "apt-get does not name its packages: E: no such" "pip cannot install .*no such package"

tool apt-cache 'echo "  Candidate: (none)"'
left_out "apt has (none), tests want 4.1" "pip cannot"

tool apt-cache 'echo "  Candidate: 4.1.4-3"'
# shellcheck disable=SC2016 # apt-get's
tool apt-get 'case $1 in -s) echo "Inst libopenmpi3 (4.1.4-3)" ;; *) echo >libopenmpi3.deb ;; esac'
left_out ".*libopenmpi3.deb is not unpacked" "pip cannot"
