#!/usr/bin/env bash
# test-new-inputs.sh: nor does anything that libFuzzer makes up in 20 seconds, in all.
case $("$top_builddir/config.status" --config) in
*--enable-fuzz*) export FUZZ_BUILD=$top_builddir ;;
esac
exec "$top_srcdir/tests/fuzz/run-fuzz" "$top_builddir/fuzz" "${FUZZ_SECONDS:-20}"
