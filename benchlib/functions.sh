# functions.sh - what the tests of both benchmarks share.  Sourced by sh, with the benchmark's
# name in $program and its command in $bench; of reports, $doc and $schema describe them.
#
# Leaves $dir, a directory for the test, and $file, the name of its data there; $ranks is how many
# ranks run() takes.
# shellcheck shell=sh disable=SC2154 # program, bench, doc, schema

mpiexec=${MPIEXEC:-mpiexec}
validate=$(dirname "$0")/../benchlib/validate_json.sh
command -v "${mpiexec%% *}" >/dev/null || { echo "skipped: no $mpiexec"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/$program.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
file=$dir/data
ranks=1
# Ranks that wait leave the processor to others, where tests/ has been built before.
shim=$PWD/../tests/.libs/yieldshim.so
[ -e "$shim" ] || shim=

fail()
{
    echo "FAILED: $*"
    [ ! -e "$dir/out" ] || cat "$dir/out"
    exit 1
}

# run STATUS [OPTION]...: $ranks ranks, which have to end with STATUS; what they say is in $dir/out.
run()
{
    want=$1
    shift
    status=0
    # shellcheck disable=SC2086
    LD_PRELOAD="${LD_PRELOAD:-} $shim" timeout -k 5 120 $mpiexec -n "$ranks" "$bench" "$@" \
        >"$dir/out" 2>&1 || status=$?
    [ $status -eq "$want" ] || overtaken "$want" || fail "$program $*: status $status, not $want"
}

# MPI_Abort's status 3 is told to Hydra, which says 1, and "Hangup", where it sees first that the
# connection is closed (4.0.2, pmip_cb.c: a temporary erroneous exit status).
overtaken()
{
    [ "$1" -eq 3 ] && [ $status -eq 1 ] && grep -q 'EXIT STRING: Hangup' "$dir/out"
}

says()
{
    grep -q -e "$1" "$dir/out" || fail "does not say: $1"
}

gone()
{
    for f in "$file"*; do
        [ ! -e "$f" ] || fail "$f is there"
    done
}

# bad [OPTION]...: cannot be, which is said in one line, of the first option, before anything is
# created.
bad()
{
    run 2 -f "ufs:$file" --json "$dir/bad.json" "$@"
    [ "$(wc -l <"$dir/out")" -eq 1 ] || fail "not one line"
    [ $# -eq 0 ] || says "$1"
    gone
    [ ! -e "$dir/bad.json" ] || fail "a report is there"
}

# ---- reports -----------------------------------------------------------------------------------

# valid REPORT...: by the schema; where that cannot be looked at, the rest still is.
valid()
{
    status=0
    sh "$validate" "$schema" "$@" || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || fail "$* are not as $schema says"
}

# report [OPTION]...: of one rank, to $dir/json.
report()
{
    # shellcheck disable=SC2086
    timeout -k 5 120 $mpiexec -n 1 "$bench" --quiet --json "$dir/json" "$@"
    valid "$dir/json"
}

# described IN_DOC IN_SCHEMA: it has the keys in these files, one a line, all of them and no others.
# Names of hints and the figures by rank are not described one by one.
described()
{
    jq -r 'del(.hints_in_force, .options.hints, (.. | .over_ranks?))
           | [paths | map(select(type == "string")) | last] | unique | .[]' "$dir/json" |
        sort -u >"$dir/in-json"
    printf 'hints_in_force\nhints\nover_ranks\n' | sort -u - "$dir/in-json" -o "$dir/in-json"
    sort -u "$1" | diff - "$dir/in-json" || fail "$doc (<) and the report (>) differ"
    grep -vx -e min -e avg "$2" | sort -u | diff - "$dir/in-json" ||
        fail "$schema (<) and the report (>) differ"
}

# schema_keys FILTER: the keys of the schema, which is passed through FILTER before.
schema_keys()
{
    jq -r "$1"' | .. | .properties? // empty | to_entries[] | select(.value != false) | .key' \
        "$schema"
}

# doc_keys: the keys in the first column of tables, `key`, `another`.
doc_keys()
{
    sed -n 's/^| \(`[^|]*\) |.*/\1/p' | tr -d '` ' | tr , '\n'
}

# holds FILTER: is true of it.
holds()
{
    jq -e "$1" "$dir/json" >/dev/null || { cat "$dir/json"; fail "not so: $1"; }
}

# report_goes SMALL SEVERAL: a report takes the place of another when it is complete, and never that
# of the data. The options of a run that is small, and of one that has several files.
report_goes()
{
    echo "where the report goes"
    small=$1 several=$2 reports=$dir/reports
    echo old >"$dir/json"
    no_report_in_latin
    [ "$(cat "$dir/json")" = old ] || fail "a report that was not made took the place of another"
    # A run that fails in the middle leaves the report of the one before.
    run 3 -f "ufs:$dir/nowhere/data" --json "$dir/json"
    [ "$(cat "$dir/json")" = old ] || fail "an aborted run took away the report of the one before"
    mkdir "$reports"
    report_beside
    report_in_place
    report_is_no_data
    grep -q '"summary"' "$reports/real" || fail "the report of an earlier run is gone"
    gone
}

# shellcheck disable=SC2086
no_report_in_latin()
{
    latin=$(printf 'a\344')
    run 2 -f "ufs:$file" --json "$dir/json" --label "$latin"
    says "^$program: --label is not UTF-8"
    run 2 -f "ufs:$file$latin" --json "$dir/json"
    says "^$program: --file is not UTF-8"
    run 2 -f "ufs:$file" --json "$dir/json" --hint "a=$latin"
    says "^$program: --hint is not UTF-8"
    run 0 -f "ufs:$file$latin" --label "$latin" $small
}

# shellcheck disable=SC2086
report_beside()
{
    echo old >"$reports/real"
    chmod 640 "$reports/real"
    ln -s real "$reports/link"
    run 0 -f "ufs:$file" $small --json "$reports/link"
    [ "$(ls "$reports")" = "link
real" ] || fail "something is left beside the report"
    [ -L "$reports/link" ] || fail "the link is gone"
    grep -q '"summary"' "$reports/real" || fail "no report"
    [ "$(stat -c %a "$reports/real")" = 640 ] || fail "other permissions"
}

# shellcheck disable=SC2086
report_in_place()
{
    if [ "$(id -u)" -eq 0 ]; then
        echo "not tried: a report in a directory that cannot be written to, which root can"
    else
        echo old >"$reports/real"
        chmod a-w "$reports"
        run 0 -f "ufs:$file" $small --json "$reports/real"
        chmod u+w "$reports"
        grep -q '"summary"' "$reports/real" ||
            fail "no report in a directory that cannot be written to"
    fi
    run 0 -f "ufs:$file" $small --quiet --json /dev/stdout
    says '"summary"'
    run 0 -f "ufs:$file" $small --json /dev/null
    [ -c /dev/null ] || fail "/dev/null is none any more"
    run 2 -f "ufs:$file" --json "$reports"
    says "cannot be written: Is a directory"
    run 1 -f "ufs:$file" $small --json /dev/full
    says "/dev/full cannot be written: No space left"
}

# shellcheck disable=SC2086
report_is_no_data()
{
    for data in "ufs:$reports/real" "$reports/../reports/real" "zcache:$reports/link"; do
        run 2 -f "$data" --json "$reports/real"
        says "is the file with the data"
    done
    run 2 -f "ufs:$dir/new" --json "$dir/./new"
    says "is the file with the data"
    [ ! -e "$dir/new" ] || fail "a report is there"
    run 2 -f "zcache:/elsewhere" --posix-verify "$reports/real" --json "$reports/link"
    says "is the file with the data"
    run 2 -f "ufs:$dir/ck" $several --json "$dir/ck.0000"
    says "is the file with the data"
}
