#!/usr/bin/env bash
# Numbers have decimal points, whatever the locale of the program: JSON that is none without them,
# the table of zcache run, the log.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root
localedef -i de_DE -f UTF-8 "$tmp/de_DE.UTF-8" >/dev/null 2>&1
[[ -e $tmp/de_DE.UTF-8/LC_NUMERIC ]] || {
    echo "skipped: no locale with decimal commas can be made here (localedef, and de_DE)"
    exit 77
}
export LOCPATH=$tmp LC_ALL=de_DE.UTF-8 # for all that follows, mpiexec and shells too
# shellcheck disable=SC2016
[[ $(bash -c 'printf %.1f 0,5' 2>/dev/null) == 0,5 ]] || {
    echo "skipped: a locale with decimal commas was made, and is not used"
    exit 77
}

ZCACHE_STATS=json mpi_quiet 2 "$programs/t_streams" "zcache:$root/f" || fail "with statistics"
grep '^{"program"' "$tmp/out" >"$tmp/json" || fail "no statistics: $(cat "$tmp/out")"
jq -e '.write_seconds, .open_seconds' "$tmp/json" >/dev/null || fail "no JSON: $(cat "$tmp/json")"

export XDG_RUNTIME_DIR=$tmp
expect 0 "*summary: *wrote * in [0-9]*.[0-9][0-9][0-9] s*" "$zcache" run --root "$root" --summary -- \
    "$mpiexec" -n 2 "$programs/t_streams" "zcache:$root/f"
[[ ! $output =~ [0-9],[0-9] ]] || fail "commas: $output"
