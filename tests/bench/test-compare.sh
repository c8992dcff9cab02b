#!/usr/bin/env bash
# test-compare.sh - a small comparison: all variants have verified numbers; one that fails has
# none, is named, and does not stop the others; the page names figures that are there, and gives
# no number for what failed once.
set -u
here=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=tests/daemon/functions.sh
. "$here/../daemon/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$here/../slowfs/functions.sh"
requires command -v jq
make_tmp

# compare NAME STATUS STORES: into $tmp/NAME
compare() {
    "$here/compare.sh" --results "$tmp/$1" --stores "$3" --ranks 2 --counts 2 --sizes 64K \
        --fixed 64K --headline 64K \
        --phases 2 --compute 0.01 --btio S:10:1 --patterns 'interleaved checkpoint' --rounds 1 \
        --timeout 120 --settle 1 \
        >"$tmp/$1.log" 2>&1
    [[ $? == "$2" ]] || fail "$1: status is not $2: $(<"$tmp/$1.log")"
}

# runs NAME FILTER: how many of its lines the filter takes
runs() { jq -s "map(select($2)) | length" "$tmp/$1/runs.jsonl"; }

# Without slowfs, on the disk alone, which needs nothing special.
names=(well ill)
obstacle=$(slowfs_obstacle)
if [[ -z $obstacle ]]; then
    names+=(slow spoilt)
    compare slow 0 slow
    for work in write/simpario read/simpario timeline/simpario write/btio; do
        is=".what == \"${work%/*}\" and .program == \"${work#*/}\""
        (($(runs slow "$is and .seconds.total > 0") > 0)) || fail "no $work"
    done
    [[ $(runs slow '.program == "btio" and (.seconds.compute > 0 | not)') == 0 ]] ||
        fail "computing alone was not measured"
    (($(runs slow '.how == "checkpoint:collective" and .seconds.bytes > 0') > 0)) ||
        fail "no checkpoint"
    mkdir "$tmp/spoilt" && cp "$tmp"/slow/*.json* "$tmp/spoilt"
    # one more round, in which one of them goes wrong
    jq -c 'select(.program == "btio" and .variant == "one")
           | del(.seconds) | .round = 2 | .failed = "gone"' \
        "$tmp/slow/runs.jsonl" >>"$tmp/spoilt/runs.jsonl"
else
    echo "not tried on a slow store: $obstacle"
fi

compare well 0 disk
all=$(wc -l <"$tmp/well/runs.jsonl")
((all >= 6)) || fail "$all runs, not one of each variant"
[[ $(runs well '.seconds.total > 0 and .seconds.bytes == 262144') == "$all" ]] ||
    fail "not every run has a number"
[[ -z $(compgen -G "$tmp/well/stores.*") ]] || fail "files are left"

# An MPI library that cannot start ranks with the plugin.
cat >"$tmp/mpiexec" <<'SCRIPT'
#!/bin/sh
case "$*" in *zcache:*) echo "no such thing" >&2; exit 3 ;; esac
exec "${REAL_MPIEXEC:-mpiexec.mpich}" "$@"
SCRIPT
chmod +x "$tmp/mpiexec"
# shellcheck disable=SC2097,SC2098 # the one before
REAL_MPIEXEC=${MPIEXEC:-} MPIEXEC=$tmp/mpiexec compare ill 1 disk
[[ $(runs ill '.failed and .seconds == null and (.failed | contains("no such thing"))') == 4 ]] ||
    fail "not the four variants of zcache have failed: $(<"$tmp/ill.log")"
[[ $(runs ill '.seconds') == $((all - 4)) ]] || fail "others have no number: $(<"$tmp/ill.log")"

/usr/bin/env python3 -c 'import matplotlib' 2>/dev/null ||
    /usr/bin/python3 -c 'import matplotlib' 2>/dev/null ||
    { echo "skipped: the page, which needs python3-matplotlib"; exit 0; }
for name in "${names[@]}"; do
    "$here/page/report" "$tmp/$name" "$tmp/$name.page" >"$tmp/report.log" 2>&1 ||
        fail "report: $(<"$tmp/report.log")"
    while read -r file; do
        [[ -s $tmp/$name.page/$file && -s $tmp/$name.page/${file%.svg}.png ]] ||
            fail "$name: no $file"
    done < <(grep -o '[a-z-]*\.svg' "$tmp/$name.page/README.md")
done
grep -q '^Failed: .*no such thing' "$tmp/ill.page/README.md" ||
    fail "the page does not say what failed"
[[ -n $obstacle ]] || grep -q '^| both levels | failed | - |' "$tmp/spoilt.page/README.md" ||
    fail "what failed once has a number"
"$here/page/report" "$tmp/well" "$tmp/again" >/dev/null 2>&1 &&
    diff -r "$tmp/well.page" "$tmp/again" ||
    fail "the same runs do not give the same page"
