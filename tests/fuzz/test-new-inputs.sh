#!/usr/bin/env bash
# test-new-inputs.sh: nor does anything that libFuzzer makes up in twelve seconds, in all.
exec "$top_srcdir/tests/fuzz/run-fuzz" "$top_builddir/fuzz" "${FUZZ_SECONDS:-12}"
