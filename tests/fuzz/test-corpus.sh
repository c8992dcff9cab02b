#!/usr/bin/env bash
# test-corpus.sh: no input ends a fuzz target: neither those that make_seeds makes of today's
# messages, views, files and sessions, nor those that have been kept.
set -eu
cd "$top_builddir/tests/fuzz"
seeds=$(mktemp -d)
trap 'rm -rf "$seeds"' EXIT
mkdir "$seeds"/{messages,views,texts,sessions}
./make_seeds "$seeds"
for target in messages views texts sessions; do
    echo "$target:"
    "./fuzz_$target" "$seeds/$target" "$top_srcdir/tests/fuzz/corpus/$target"
done
