#!/bin/sh
# The JSON report of btio and its description agree: every key of a report is described, and every
# key described is in a report, and so with its schema. Then what the numbers have to be.
set -eu

btio=${BTIO:-./btio}
mpiexec=${MPIEXEC:-mpiexec}
doc=${BTIO_JSON_MD:-../../doc/btio-json.md}
schema=${doc%/*}/btio.schema.json
common=${doc%/*}/simpario-json.md
validate=$(dirname "$0")/../benchlib/validate_json.sh
command -v "${mpiexec%% *}" >/dev/null || { echo "skipped: no $mpiexec"; exit 77; }
command -v jq >/dev/null || { echo "skipped: no jq"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/btio.XXXXXX")
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

report()
{
    timeout -k 5 120 "$mpiexec" -n 1 "$btio" --quiet --json "$dir/json" "$@"
    valid "$dir/json"
}

# What is true of every report that is not a failure.
holds()
{
    jq -e "$1" "$dir/json" >/dev/null || { cat "$dir/json"; fail "not so: $1"; }
}

report -f "ufs:$dir/data" --hint cb_nodes=1 -m simple --label 'a name' --posix-verify "$dir/data"

# Names of hints and the figures by rank are not described one by one.
jq -r 'del(.hints_in_force, .options.hints, (.. | .over_ranks?))
       | [paths | map(select(type == "string")) | last] | unique | .[]' "$dir/json" |
    sort -u >"$dir/in-json"
printf 'hints_in_force\nhints\nover_ranks\n' | sort -u - "$dir/in-json" -o "$dir/in-json"
# In the first column of tables: `key`, `another`. The summary is described with that of simpario.
{ cat "$doc"; sed -n '/^## summary/,$p' "$common"; } |
    sed -n 's/^| \(`[^|]*\) |.*/\1/p' | tr -d '` ' | tr , '\n' | sort -u >"$dir/in-doc"
diff "$dir/in-doc" "$dir/in-json" || fail "$doc (<) and the report (>) differ"
jq -r '.properties.caches = {} | .. | .properties? // empty | to_entries[]
       | select(.value != false) | .key' "$schema" |
    grep -vx -e min -e avg | sort -u >"$dir/in-schema"
diff "$dir/in-schema" "$dir/in-json" || fail "$schema (<) and the report (>) differ"

holds '.program == "btio" and .format == 1 and .ranks == 1'
holds '.problem == {class: "S", points_per_edge: 12, steps: 60, dt: 0.01, dt_class: "S"}'
holds '.dumps == 12 and .file_bytes == 12 * 12 * 12 * 12 * 5 * 8'
holds '.options.method == "simple" and .options.hints == {cb_nodes: "1"}'
holds '.hints_in_force.cb_nodes == "1"'
holds '.verification.result == "passed" and .verification.read_bytes == .file_bytes'
holds '.verification.posix_bytes == .file_bytes'
holds '.verification.faults == 0 and .verification.first_faults == []'
holds '.verification.norms | keys == ["error", "mean_error", "residual"]'
holds '[.verification.norms[].difference[]] | length == 15 and max < 1e-8 and min >= 0'
holds '[.verification.norms[] | [.computed, .published] | transpose[] | (.[0] / .[1] - 1) | fabs]
       | max < 1e-8'
holds '.compute | .compute_seconds > 0 and .total_seconds >= .compute_seconds and .mops > 0'
holds '.compute.total_seconds >= .compute.compute_seconds + .write.write_close_seconds'
holds '(.write.write_bytes_per_second * .write.write_seconds / .file_bytes - 1) | fabs < 1e-6'
holds '[.write, .read][].dump_seconds | length == 12 and min > 0'
holds '(.read.dump_seconds | add) / .read.read_seconds - 1 | fabs < 1e-6'
holds '(.compute.dump_compute_seconds | length == 12) and
       ((.compute.dump_compute_seconds | add) / .compute.compute_seconds - 1 | fabs < 1e-6)'
holds '.summary.label == "a name" and .summary.phases == 12 and .summary.verified'
holds '.summary.write_close_seconds == .write.write_close_seconds'
holds '.summary.record_bytes == 12 * 12 * 12 * 5 * 8 and .summary.pattern == "simple"'
holds '.write.over_ranks.write_seconds.min <= .write.write_seconds'

report -m none
holds '.write == null and .read == null and .dumps == 0 and .options.file == null'
holds '.verification.norms | keys == ["error", "residual"]'
holds '.verification.posix_bytes == 0 and .options.posix_verify == null'
report -f "$dir/data" --grid 25 --steps 1
holds '.problem == {class: null, points_per_edge: 25, steps: 1, dt: 0.0008, dt_class: "A"}'
report -f "$dir/data" --steps 1 --dt 0.02
holds '.problem == {class: null, points_per_edge: 12, steps: 1, dt: 0.02, dt_class: null}'
report -f "$dir/data" --grid 8 --steps 4
holds '.problem.class == null and .verification.norms.error.published == null'
holds '.verification.result == "passed"'
echo "all well"
