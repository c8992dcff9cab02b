#!/bin/sh
# The JSON report of simpario and its description agree: every key of a report is described, and
# every key described is in a report. Then what some of the values have to be.
set -eu

simpario=${SIMPARIO:-./simpario}
mpiexec=${MPIEXEC:-mpiexec}
doc=${SIMPARIO_JSON_MD:-../../doc/simpario-json.md}
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

# What is true of the report.
holds()
{
    jq -e "$1" "$dir/json" >/dev/null || { cat "$dir/json"; fail "not so: $1"; }
}

# shellcheck disable=SC2086
timeout -k 5 120 $mpiexec -n 1 "$simpario" --quiet --json "$dir/json" -f "ufs:$dir/data" \
    --hint cb_nodes=1 --phases 3 --record 64K --compute 1ms --pattern irregular --seed 5 \
    --access icollective

# Names of hints and the figures by rank are not described one by one.
jq -r 'del(.hints_in_force, .options.hints, (.. | .over_ranks?))
       | [paths | map(select(type == "string")) | last] | unique | .[]' "$dir/json" |
    sort -u >"$dir/in-json"
printf 'hints_in_force\nhints\nover_ranks\n' | sort -u - "$dir/in-json" -o "$dir/in-json"
# In the first column of tables, `key`, `another`; and all that is in quotes among the options, but
# for values.
{
    sed -n 's/^| \(`[^|]*\) |.*/\1/p' "$doc" | tr -d '` ' | tr , '\n'
    sed -n '/^## options/,/^## verification/p' "$doc" | grep -o '`[a-z_]*`' | tr -d '`' |
        grep -vx null
} | sort -u >"$dir/in-doc"
diff "$dir/in-doc" "$dir/in-json" || fail "$doc (<) and the report (>) differ"

holds '.program == "simpario" and .format == 1 and .ranks == 1 and .file_bytes == 3 * 65536'
holds '.options.pattern == "irregular" and .options.seed == 5 and .options.piece_bytes == 0'
holds '.options.access == "icollective" and .options.hints == {cb_nodes: "1"}'
holds '.verification.result == "passed" and .verification.faults == 0'
holds '.verification.mpi_bytes == 3 * .file_bytes'
holds '[.repeats[0] | .write, .read | .phase_io_seconds | length == 3 and min > 0] | all'
holds '.repeats[0] | [.write, .read][] | (.phase_io_seconds | add) / .io_seconds - 1 | fabs < 1e-6'
echo "all well"
