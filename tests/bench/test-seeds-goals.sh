#!/usr/bin/env bash
# test-seeds-goals.sh - what seeds_goals.jq says of results: the worst figure counts, a variant that
# failed has not reached its goal, and there is no row for a case that did not run.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
# shellcheck source=tests/daemon/functions.sh
. "$here/../daemon/functions.sh"
requires command -v jq
make_tmp

# goals RESULTS: a line for each row, "result|is|met".
goals() {
    jq -L "$here" -rn --argjson results "$1" 'include "seeds_goals"; $results | goals
        | "\(.result)|\(.is)|\(.met)"' >"$tmp/rows" 2>"$tmp/err" || fail "jq: $(<"$tmp/err")"
}

# says ROW: it is one of them.
says() { grep -qxF -- "$1" "$tmp/rows" || fail "no row '$1': $(<"$tmp/rows")"; }

# one_case NAME VARIANT ...: one with these, as JSON.
one_case() {
    jq -n --arg case "$1" --argjson variants "[$(IFS=,; echo "${*:2}")]" '{$case, $variants}'
}

# variant NAME SEEN BESIDE: as JSON; one without figures has failed.
variant() {
    jq -n --arg variant "$1" --argjson seen "$2" --argjson beside "$3" '{$variant, $beside,
        metrics: (if $seen then {write_mb_s: {median: $seen}} else {} end)}'
}

goals '{"cases": []}'
[[ ! -s $tmp/rows ]] || fail "rows of nothing: $(<"$tmp/rows")"

name='PAIO: arrays of one process, as seen, of direct writing'
fast=$(variant 'zcache: embedded' 900 '{"x_seen": 9}')
slow=$(variant 'zcache: one daemon' 200 '{"x_seen": 2}')
failed=$(variant 'zcache: one daemon' null null)
direct=$(variant 'ufs: default hints' 100 '{"x_seen": 1}')
goals "{\"cases\": [$(one_case arrays "$direct" "$fast")]}"
says "$name|9|true"
goals "{\"cases\": [$(one_case arrays "$direct" "$fast" "$slow")]}"
says "$name|2|false"
goals "{\"cases\": [$(one_case arrays "$direct" "$fast" "$failed")]}"
says "$name|null|false"

# Of the store or of memory: rows with and without computing are judged apart.
name='rbIO: checkpoints without computing, stored, of the store'
with=$(variant 'zcache: embedded' 900 '{"of_memory": 0.5}')
without=$(variant 'zcache: embedded, no computing' 900 '{"of_store": 0.9}')
goals "{\"cases\": [$(one_case 'checkpoint: 1 files, collective' "$with" "$without")]}"
says "$name|0.9|true"
says 'rbIO: checkpoints by ranks, as seen, of memcpy|0.5|true'

# The last of one, 16 and 64 clients, of the first; with one missing there is no figure.
owner() {
    jq -n --arg case "owners: $1 clients" --argjson mb "$2" '{$case, variants: [
        {variant: "zcache: one owner",
            metrics: (if $mb then {owner_mb: {median: $mb}} else {} end)},
        {variant: "ufs: two-phase", metrics: {peak_mb: {median: 1}}}]}'
}
name='PIO: memory of an owner of 64 clients, of one'
goals "{\"cases\": [$(owner 1 50), $(owner 16 90), $(owner 64 60)]}"
says "$name|1.2|true"
goals "{\"cases\": [$(owner 1 50), $(owner 16 60), $(owner 64 null)]}"
says "$name|null|false"

# As fast as the copy, or nearly as fast as without another order.
in_order=$(variant 'zcache: embedded, as in the file' 1000 '{"of_order": 1}')
copy=$(variant 'zcache: embedded, permuted by a copy' 1000 '{"of_order": 1}')
permuted=$(variant 'zcache: embedded, permuted' 850 '{"of_order": 0.85}')
late=$(variant 'zcache: embedded, permuted' 700 '{"of_order": 0.7}')
name="PDS/PIO: permuted blocks, of the program's copy"
goals "{\"cases\": [$(one_case 'permute: blocks' "$in_order" "$permuted" "$copy")]}"
says "$name|0.85|true"
goals "{\"cases\": [$(one_case 'permute: blocks' "$in_order" "$late" "$copy")]}"
says "$name|0.7|false"

# At most: one read too many.
goals '{"cases": [], "handover": {"cases": [{"variants": [{"variant": "zcache: steps, staged",
    "metrics": {"reads": {"median": 1}}}]}]}}'
says 'Producer and consumer: reads of the file system|1|false'
