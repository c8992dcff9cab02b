#!/usr/bin/env bash
# bench.sh - all benchmarks, and the page with their results.
#
#     bench.sh [--quick | --full] [--results DIR]
#
# Runs the comparison (compare.sh), then the benchmarks of one property each; page/report makes
# DIR/README.md and its figures of them, by default in the build's bench/.  About 20 minutes;
# --full: an hour; --quick: two, to see that everything works.  Figures want a quiet machine.  Goes
# on when a part fails; its text on the page then ends with the reason, and the status is 1.
set -u
here=$(dirname -- "${BASH_SOURCE[0]}")
# shellcheck source=tests/bench/functions.sh
. "$here/functions.sh"
unset 'opt[repeats]' 'opt[json]' 'opt[timeout]' 'quick[repeats]'
opt+=([results]=$build/bench [profile]=) # the last is not for users
full=([profile]=--full)
quick=([profile]=--quick)
bench_options "$@"

case ${opt[profile]} in
--quick) announced='two minutes' parts=(hits) ;;
--full) announced='an hour'
    parts=(overlap pieces ranks readahead hits forward small smallest syncs drain clients) ;;
*) announced='20 minutes' parts=(pieces ranks hits forward small smallest syncs drain clients) ;;
esac
# Except with --full, slow parts are measured roughly: the comparison takes most of the time.
brief=' small smallest syncs drain clients '
status=0
started=$EPOCHSECONDS

# part NAME OPTION ...: runs it in the background, so that an interrupt ends it in its own way.
part() {
    local rc

    "$here/$1.sh" "${@:2}" </dev/null &
    job=$!
    wait "$job"
    rc=$?
    job=
    ((rc == 0 || rc == 77)) || status=1
    return "$rc"
}
cleanup_fn end_job

# micro NAME: runs a benchmark of one property into the results.  Its messages are kept beside its
# figures, as the page has nothing but the text: if figures are missing, the reason must be there.
micro() {
    local out=${opt[results]}/micro/$1 said=${opt[results]}/micro/$1.said rc why rough=(--quick)

    if [[ ${opt[profile]} == --full || $brief == *" $1 "* ]]; then rough=(); fi
    BENCH_TERMINAL=3 part "$1" "${rough[@]}" --json "$out.json" 3>&2 >"$out.txt" 2>"$said"
    rc=$?
    cat "$said" >&2
    if ((rc)); then
        rm -f "$out.json"
        why=$(grep -av 'problems, see above' "$said" | tail -n 3 | paste -sd ' ')
        why=${why#"$1.sh: "}
        case $rc in
        77) echo "skipped: ${why#skipped: }" ;;
        *) echo "failed: ${why:-status $rc}" ;;
        esac >>"$out.txt"
    fi
    rm -f "$said"
    cat "$out.txt"
}

echo "all benchmarks; about $announced"
bench_keep_earlier "${opt[results]}"
rm -rf -- "${opt[results]}/micro"
mkdir -p "${opt[results]}/micro" || exit 1
if [[ -n ${opt[profile]} ]]; then set -- "${opt[profile]}"; else set --; fi
export BENCH_COMMAND=${BENCH_COMMAND:-bench.sh${1:+ $1}}
part compare "$@" --results "${opt[results]}"
for name in "${parts[@]}"; do
    echo "== $name"
    micro "$name"
done
"$here/page/report" "${opt[results]}"
rc=$?
((rc == 0 || rc == 77)) || status=1
echo "benchmarks ended after $(((EPOCHSECONDS - started) / 60)) minutes$( ((status == 0)) ||
    echo ", not all is well")"
exit "$status"
