#!/usr/bin/env bash
# test-micro.sh - what the benchmarks share: options, the marks of runs that failed, and one
# benchmark of which a run fails.
set -u
here=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=tests/daemon/functions.sh
. "$here/../daemon/functions.sh"
requires command -v jq
make_tmp

# ---- options: --help is on stdout, and a wrong value is named before anything runs ----
for name in bench clients compare demo drain forward handover hits hosts idle overlap pieces \
    ranks readahead scattered seals seeds shares small smallest syncs; do
    "$here/$name.sh" --help >"$tmp/help" 2>"$tmp/err" || fail "$name.sh --help: status $?"
    [[ $(head -n 1 "$tmp/help") == "$name.sh - "* && ! -s $tmp/err ]] ||
        fail "$name.sh --help: $(<"$tmp/err")"
    expect 2 "$name.sh: no option --no-such;*" "$here/$name.sh" --no-such 1
done

# refused SCRIPT OPTION VALUE
refused() { expect 2 "$1.sh: $2 $3: not *; see --help" "$here/$1.sh" "$2" "$3"; }
refused forward --repeats two
refused forward --large 0
expect 2 '*--repeats wants a value*' "$here/forward.sh" --repeats
refused overlap --compute abc
refused overlap --compute 1,5
refused overlap --write-rate fast
refused overlap --cache-size little
refused pieces --record 4Q
refused hosts --rate fast
refused hosts --delay 50
refused ranks --ranks '2 many'
refused ranks --ranks 0
refused compare --sizes '4K big'
refused compare --sizes '64k 1M'
refused compare --btio W:1
refused compare --btio X:1:4
refused compare --settle soon
expect 2 'compare.sh: --btio W:1:8: 8 ranks are not a square; *' "$here/compare.sh" --btio W:1:8
expect 2 'compare.sh: --accesses collective: not one of independent *' "$here/compare.sh" \
    --accesses collective
expect 2 'compare.sh: --patterns stripes: not one of interleaved *' "$here/compare.sh" \
    --patterns stripes
refused compare --stores '/ disk'
expect 2 'small.sh: --cases closes: not one of records *' "$here/small.sh" --cases closes
expect 2 'scattered.sh: --cases h: not one of f *' "$here/scattered.sh" --cases h
expect 2 'seeds.sh: --cases h: not one of burst *' "$here/seeds.sh" --cases h

# What is taken; the kind is that of the plain default, also with --quick and --full.
cat >"$tmp/options.sh" <<'SCRIPT'
#!/usr/bin/env bash
# options.sh - has one of each
. "$BENCH/functions.sh"
opt+=([number]=8 [decimal]=0.1 [size]=1M [numbers]='2 16' [sizes]='512 4K' [works]=W:1:4
    [names]='slow disk' [text]='tcp;ofi_rxm' [path]='/a b/c' [empty]= [op-us]=50 [read-rate]=200M)
quick+=([numbers]=2 [sizes]=1K [names]=disk [decimal]=1)
full=([works]='W:1:4 A:5:4')
bench_options "$@"
echo "${opt[number]},${opt[decimal]},${opt[size]},${opt[numbers]},${opt[sizes]},${opt[works]},${opt[names]},${opt[text]},${opt[path]},${opt[empty]},${opt[op-us]},${opt[read-rate]}"
SCRIPT
export BENCH=$here
taken() { expect 0 "$1" bash "$tmp/options.sh" "${@:2}"; }
taken '8,0.1,1M,2 16,512 4K,W:1:4,slow disk,tcp;ofi_rxm,/a b/c,,50,200M'
taken '8,1,1M,2,1K,W:1:4,disk,*' --quick
taken '9,0.25,4096,4,64K 1M,S:1:4 W:2:4,gluster,any thing,x,y,0,1.5G' --op-us 0 --read-rate 1.5G \
    --number 9 --decimal 0.25 --size 4096 --numbers 4 \
    --sizes '64K 1M' --works 'S:1:4 W:2:4' --names gluster --text 'any thing' --path x --empty y
taken '8,0.5,1M,2 4 8,4K 8K,*,disk gluster,*' --numbers '2 4 8' --sizes '4K 8K' \
    --quick --names 'disk gluster' --decimal 0.5
taken '8,0,1M,2 16,512 4K,A:1:1,*' --full --decimal 0 --works A:1:1

# ---- cells: what is not of all runs says so ----
cells=$(jq -n -r -L "$here" 'include "bench";
    [range(5) | {case: "a", variant: "sound", metrics: {x: (10 + .)}},
                {case: "a", variant: "lame"} +
                    (if . == 1 then {failed: true} else {metrics: {x: .}} end),
                {case: "a", variant: "dead", failed: true}]
    | results("cells"; {}).cases[0].variants
    | . as $all | .[]
    | [.runs, .failed, (.metrics.x | s(1)), (.metrics.x | m(0)),
       (ratio($all; "sound"; "x") | n(2))] | join("|")')
[[ $cells == '5|0|12.0 (10.0-14.0)|12|1.00
5|1|2.5 (0.0-4.0), 1 of 5 failed|3, 1 of 5 failed|0.21
5|5|failed|failed|-' ]] || fail "cells: $cells"

# ---- curves: a figure of each case that has several points, and of no other ----
if command -v python3 >/dev/null; then
    jq -n '[0.5, 1, 4] | {cases: ([.[] | {case: "memory: \(.) of the cache", variants: [
            {variant: "zcache: one daemon", metrics: {write_mb_s: {median: (900 / .)}}},
            {variant: "lame", metrics: {}}]}]
        + [{case: "prefetch", variants: [
            {variant: "zcache: 1 aggregators", metrics: {seen_mb_s: {median: 7}}}]}])}' \
        >"$tmp/curves.json"
    python3 "$here/page/curves.py" "$tmp/curves.json" "$tmp" >"$tmp/out" 2>&1 ||
        fail "curves.py: $(<"$tmp/out")"
    [[ $(<"$tmp/out") == '{"memory": "seeds-memory.svg"}' && ! -e $tmp/seeds-prefetch.svg ]] ||
        fail "curves.py: $(<"$tmp/out")"
    (($(grep -c '<circle' "$tmp/seeds-memory.svg") == 3)) &&
        grep -q '>zcache: one daemon, seen</text>' "$tmp/seeds-memory.svg" ||
        fail "curves.py: $(<"$tmp/seeds-memory.svg")"
fi

# ---- limits: what is beyond one fails, and so does what was not measured ----
cat >"$tmp/limits.sh" <<'SCRIPT'
#!/usr/bin/env bash
# limits.sh - judges what it is given
. "$BENCH/functions.sh"
opt+=([most]=1.3)
bench_options "$@"
results=$RESULTS
bench_judge "${opt[most]}" 'times as long' '.cases[] | [.case, .ratio]'
bench_end
SCRIPT
# judged STATUS PATTERN RESULTS [OPTION ...]
judged() { RESULTS=$3 expect "$1" "$2" bash "$tmp/limits.sh" "${@:4}"; }
judged 0 '' '{"cases": [{"case": "a", "ratio": 1.3}, {"case": "b", "ratio": 0.2}]}'
judged 1 $'limits.sh: b: 1.301 times as long, and the limit is 1.3\nlimits.sh: 1 problems*' \
    '{"cases": [{"case": "a", "ratio": 1.3}, {"case": "b", "ratio": 1.301}]}'
judged 0 '' '{"cases": [{"case": "b", "ratio": 1.301}]}' --most 2
judged 1 'limits.sh: a: nothing to compare with the limit, 1.3 times as long*' \
    '{"cases": [{"case": "a", "ratio": null}]}'
judged 1 'limits.sh: all: nothing to compare with the limit*' '{"cases": []}'
judged 1 '*limits.sh: all: nothing to compare with the limit*' 'no object'
refused shares --most much
refused seals --most 5%

# ---- the first run of fi_pingpong fails: it is counted, it stays the base, the others go on ----
command -v fi_pingpong >/dev/null &&
    [[ -e $build/adio_zcache/.libs/libzcache.so && -w /dev/shm ]] ||
    { echo "skipped: a run that fails; no fi_pingpong, plugin or /dev/shm"; exit 0; }
cat >"$tmp/fi_pingpong" <<SCRIPT
#!/bin/sh
case "\$*" in *127.0.0.1) [ -e $tmp/once ] || { touch $tmp/once; echo "no luck"; exit 3; } ;; esac
exec $(command -v fi_pingpong) "\$@"
SCRIPT
chmod +x "$tmp/fi_pingpong"
PATH=$tmp:$PATH "$here/forward.sh" --repeats 2 --large 10 --json "$tmp/forward.json" >"$tmp/out" \
    2>"$tmp/err"
[[ $? == 1 ]] || fail "forward.sh does not fail: $(<"$tmp/err")"
grep -q 'no luck' "$tmp/err" || fail "not said why: $(<"$tmp/err")"
grep -q '^fi_pingpong 4 MiB .*, 1 of 2 failed' "$tmp/out" || fail "not marked: $(<"$tmp/out")"
jq -e '.cases[0].variants | map([.variant, .runs, .failed]) == [["fi_pingpong 4 MiB", 2, 1],
    ["write + close, to daemon", 2, 0], ["read 64 MiB from daemon", 2, 0]]
    and all(.[]; .of_pingpong > 0)' \
    "$tmp/forward.json" >/dev/null || fail "not the right results: $(<"$tmp/forward.json")"
