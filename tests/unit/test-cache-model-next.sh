#!/bin/sh
# The engine's model, with what it is to promise next (model_next in test_cache_model.h).
model=${top_builddir:-.}/tests/unit/test_cache_model
[ -x "$model" ] || {
    echo "skipped: there are no unit tests in this build"
    exit 77
}
ZC_TEST_NEXT=1 exec "$model"
