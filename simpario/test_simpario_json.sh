#!/bin/sh
# The JSON report of simpario and its description agree: every key of a report is described, and
# every key described is in a report, and so with its schema. Then what some of the values have to
# be. What only caches tell is in tests/mpi/test-simpario.sh.
set -eu

simpario=${SIMPARIO:-./simpario}
mpiexec=${MPIEXEC:-mpiexec}
doc=${SIMPARIO_JSON_MD:-../../doc/simpario-json.md}
schema=${doc%/*}/simpario.schema.json
validate=$(dirname "$0")/../benchlib/validate_json.sh
command -v "${mpiexec%% *}" >/dev/null || { echo "skipped: no $mpiexec"; exit 77; }
command -v jq >/dev/null || { echo "skipped: no jq"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/simpario.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM

fail()
{
    echo "FAILED: $*"
    exit 1
}

# valid REPORT...: by the schema; where that cannot be looked at, the rest still is.
valid()
{
    status=0
    sh "$validate" "$schema" "$@" || status=$?
    [ $status -eq 0 ] || [ $status -eq 77 ] || fail "$* are not as $schema says"
}

# What is true of the report.
holds()
{
    jq -e "$1" "$dir/json" >/dev/null || { cat "$dir/json"; fail "not so: $1"; }
}

# shellcheck disable=SC2086
timeout -k 5 120 $mpiexec -n 1 "$simpario" --quiet --json "$dir/json" -f "ufs:$dir/data" \
    --hint cb_nodes=1 --phases 3 --record 64K --compute 1ms --pattern irregular --seed 5 \
    --access icollective --sync --label 'a name' --timeline 1ms
valid "$dir/json"

# What only caches tell, in the file given.
cached()
{
    case $1 in
    *.md) sed '/^## caches/,/^## verification/d; /^## timeline/,/^## summary/d' "$1" ;;
    *)
        jq '.properties.caches = {} | ."$defs".counters = {}
            | ."$defs".times.properties.timeline = {}' "$1"
        ;;
    esac
}

# Names of hints and the figures by rank are not described one by one.
jq -r 'del(.hints_in_force, .options.hints, (.. | .over_ranks?))
       | [paths | map(select(type == "string")) | last] | unique | .[]' "$dir/json" |
    sort -u >"$dir/in-json"
printf 'hints_in_force\nhints\nover_ranks\n' | sort -u - "$dir/in-json" -o "$dir/in-json"
# In the first column of tables, `key`, `another`; and all that is in quotes among the options, but
# for values.
{
    cached "$doc" | sed -n 's/^| \(`[^|]*\) |.*/\1/p' | tr -d '` ' | tr , '\n'
    sed -n '/^## options/,/^## caches/p' "$doc" | grep -o '`[a-z_]*`' | tr -d '`' | grep -vx null
} | sort -u >"$dir/in-doc"
diff "$dir/in-doc" "$dir/in-json" || fail "$doc (<) and the report (>) differ"
cached "$schema" |
    jq -r '.. | .properties? // empty | to_entries[] | select(.value != false) | .key' |
    grep -vx -e min -e avg | sort -u >"$dir/in-schema"
diff "$dir/in-schema" "$dir/in-json" || fail "$schema (<) and the report (>) differ"

holds '.program == "simpario" and .format == 1 and .ranks == 1 and .file_bytes == 3 * 65536'
holds '.options.pattern == "irregular" and .options.seed == 5 and .options.piece_bytes == 0'
holds '.options.access == "icollective" and .options.hints == {cb_nodes: "1"}'
holds '.verification.result == "passed" and .verification.faults == 0'
holds '.verification.mpi_bytes == 3 * .file_bytes'
holds '[.repeats[0] | .write, .read | .phase_io_seconds | length == 3 and min > 0] | all'
holds '.repeats[0] | [.write, .read][] | (.phase_io_seconds | add) / .io_seconds - 1 | fabs < 1e-6'
holds '.repeats[0].write | (.phase_sync_seconds | add) / .sync_seconds - 1 | fabs < 1e-6'
holds '.repeats[0].write | .sync_seconds > 0 and .sync_seconds < .io_seconds'
holds '.repeats[0].write | .settle_seconds == 0 and .stored_seconds == .total_seconds'
holds '.repeats[0] | (.hidden_write_fraction <= 1) and (.hidden_read_fraction <= 1)'
# With one rank there is nothing else in it.
holds '. as $r | .repeats[0] | .hidden_write_fraction
       - (1 - .write.io_close_seconds / $r.reference.write.io_close_seconds) | fabs < 1e-9'
# Each of the two is measured once: a machine that stood still in the reference makes it
# more than 1.
holds '. as $r | .repeats[0]
       | (.write | [.compute_seconds, $r.reference.write.io_close_seconds] | min) as $most
       | .overlap_write_fraction
       - ($r.reference.write.io_close_seconds - .write.io_close_seconds) / $most | fabs < 1e-6'
holds '.caches == null and .repeats[0].write.timeline == null'
holds '.summary.label == "a name" and .summary.verified and .summary.bytes == .file_bytes'
holds '.summary.write_seconds == .repeats[0].write.io_seconds'
holds '.summary.record_bytes == 65536 and .summary.phases == 3 and .summary.ranks == 1'

# Times add up to the total, whatever asking for the size costs: that is not asked while they run.
slow=$PWD/.libs/slowsize.so
for pass in "--write --keep" --read ""; do
    # A sanitizer's library would have to be the first.
    if [ ! -e "$slow" ] || ldd "$slow" | grep -q 'lib[at]san'; then
        echo "left out: adding up the times, $slow cannot be preloaded"
        break
    fi
    # shellcheck disable=SC2086
    timeout -k 5 120 $mpiexec -n 1 env LD_PRELOAD="$slow" "$simpario" --quiet --json "$dir/json" \
        -f "ufs:$dir/sized" --phases 2 --record 4K $pass
    holds '[.repeats[0][["write", "read"][]] | values |
           .total_seconds - .open_seconds - .compute_seconds - .wait_seconds - .io_seconds
             - .close_seconds]
           | length > 0 and max < 0.4'
done

# Verified is what was checked in both directions.
# part RESULT [OPTION]...
part()
{
    result=$1
    shift
    # shellcheck disable=SC2086
    timeout -k 5 120 $mpiexec -n 1 "$simpario" --quiet --json "$dir/json" -f "ufs:$dir/part" \
        --phases 2 --record 4K --keep "$@"
    valid "$dir/json"
    holds ".verification.result == \"$result\" and .summary.verified == (\"$result\" == \"passed\")"
}
part skipped --no-verify
part skipped --no-verify --posix-verify "$dir/part"
holds '.verification.mpi_bytes == 0 and .verification.posix_bytes == .file_bytes'
part skipped --write
part passed --write --posix-verify "$dir/part"
part passed --write --no-verify --posix-verify "$dir/part"
part passed
part passed --read
part skipped --read --no-verify --posix-verify "$dir/part"

# Other reports: nothing to read, nothing verified; wrong data.
small="-f ufs:$dir/data --phases 2 --record 4K --quiet"
# shellcheck disable=SC2086
timeout -k 5 120 $mpiexec -n 1 "$simpario" $small --write --keep --json "$dir/write"
# shellcheck disable=SC2086
! timeout -k 5 120 $mpiexec -n 1 "$simpario" $small --read --generation 9 --json "$dir/wrong" \
    2>"$dir/err" || fail "wrong data is right"
valid "$dir/write" "$dir/wrong"

# Without the module that is said, and no success.
mkdir "$dir/bin"
printf '#!/bin/sh\nexit 1\n' >"$dir/bin/python3"
chmod +x "$dir/bin/python3"
status=0
PATH=$dir/bin:$PATH sh "$validate" "$schema" "$dir/write" >"$dir/err" || status=$?
[ $status -eq 77 ] && grep -q '^skipped: .*no python3-jsonschema' "$dir/err" ||
    fail "validate_json.sh without jsonschema: status $status"
echo "all well"
