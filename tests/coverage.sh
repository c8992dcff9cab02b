#!/usr/bin/env bash
# coverage.sh DIR: builds into DIR with gcov, runs check-fast there, and says what was run of each
# room: lines and branches.  DIR/coverage.txt has every file.
#
# Only MPICC, MPIEXEC and JOBS are taken from the environment.
set -eu
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
dir=${1:?DIR}
command -v gcovr >/dev/null || {
    echo "coverage: there is no gcovr (Debian: gcovr)" >&2
    exit 1
}
top=$(cd "$top" && pwd)
mkdir -p "$dir"
cd "$dir"
jobs=${JOBS:-$(nproc)}

# Counters are atomic: daemons and ranks have threads.
[[ -e Makefile ]] || "$top/configure" -q ${MPICC:+"MPICC=$MPICC"} \
    CFLAGS='-g -O0 --coverage -fprofile-update=atomic' LDFLAGS=--coverage
make -j "$jobs" >make.log 2>&1 || {
    tail -n 25 make.log >&2
    exit 1
}
find . -name '*.gcda' -not -path './adio_zcache/romio/*' -delete
status=0
make -j "$jobs" check-fast >check.log 2>&1 || status=1
grep -E '^(FAIL|ERROR):' check.log || :

# ROMIO's objects are not ours; the table and the page of numbers come from one reading.
gcovr . --root "$top" --exclude-directories '.*romio.*' \
    --filter "$top/(common|adio_zcache|iod)/" --csv coverage.csv --txt coverage.txt
# filename, lines, those run, %, branches, those taken, %, ...
awk -F, 'NR > 1 {
             room = $1
             sub("/[^/]*$", "", room)
             print room, $2, $3, $5, $6
             print "~", $2, $3, $5, $6
         }' coverage.csv | sort -k 1,1 | awk '
    function row() {
        if (name)
            printf "%-28s %6d %9.1f %% %9d %9.1f %%\n", name == "~" ? "all" : name, lines,
                   100 * run / lines, branches, 100 * taken / (branches ? branches : 1)
        lines = run = branches = taken = 0
    }
    BEGIN { printf "%-28s %6s %11s %9s %11s\n", "room", "lines", "run", "branches", "taken" }
    $1 != name { row(); name = $1 }
    { lines += $2; run += $3; branches += $4; taken += $5 }
    END { row() }'
exit $status
