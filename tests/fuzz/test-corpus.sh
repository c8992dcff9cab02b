#!/usr/bin/env bash
# test-corpus.sh: nothing ends a fuzz target of what has been kept of all inputs there ever were.
set -eu
cd "$top_builddir/tests/fuzz"
for target in messages views texts sessions; do
    echo "$target:"
    "./fuzz_$target" "$top_srcdir/tests/fuzz/corpus/$target"
done
