#!/usr/bin/env bash
# test-new-inputs.sh: nor does anything that libFuzzer makes up in half a minute, in all.
exec "$top_srcdir/tests/fuzz/run-fuzz" "$top_builddir/fuzz" "${FUZZ_SECONDS:-30}"
