#!/usr/bin/env bash
# Log messages of programs: a failed open is logged once, by rank 0, even if logging was not asked
# for; each line has time, host, process and rank.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

origin="[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{4} $(uname -n) zcache\[[0-9]+\]"
make_root
mkdir "$root/dir"

# try FILE WORDS CLASS: three ranks; the log is in $tmp/log
try() {
    rm -f "$tmp/log"
    ZCACHE_LOG_FILE=$tmp/log mpi_quiet 3 "$programs/t_open" "$@" || fail "t_open $*"
    [[ -e $tmp/log ]] || : >"$tmp/log"
}

try "zcache:$root/dir" rdwr,create MPI_ERR_BAD_FILE
grep -qE "^$origin rank 0 warn: cannot open $root/dir: " "$tmp/log" || fail "$(cat "$tmp/log")"
[[ $(wc -l <"$tmp/log") == 1 ]] || fail "more than one line: $(cat "$tmp/log")"

# A missing file is not logged as an error: programs test for files.
try "zcache:$root/absent" rdonly MPI_ERR_NO_SUCH_FILE
[[ ! -s $tmp/log ]] || fail "$(cat "$tmp/log")"
ZCACHE_LOG=info try "zcache:$root/absent" rdonly MPI_ERR_NO_SUCH_FILE
grep -qE "^$origin rank 0 info: cannot open " "$tmp/log" || fail "$(cat "$tmp/log")"
try "zcache:$root/none/x" rdwr,create MPI_ERR_NO_SUCH_FILE
grep -qE "^$origin rank 0 warn: cannot open " "$tmp/log" || fail "$(cat "$tmp/log")"

# Messages of a rank have its number.
ZCACHE_LOG=trace try "zcache:$root/new" rdwr,create MPI_SUCCESS
for rank in 0 1 2; do
    grep -qE "^$origin rank $rank (debug|trace): " "$tmp/log" || fail "rank $rank says nothing"
done
if grep -vE "^$origin rank [0-2] [a-z]+: " "$tmp/log"; then fail "lines of another shape"; fi
