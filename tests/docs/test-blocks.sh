#!/usr/bin/env bash
# Every command of the documents for users is run, but those that a comment beside them leaves out.
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.." || exit 99
exec "$here/run-blocks" README doc/guide.md doc/install.md doc/operations.md doc/consistency.md \
    doc/observing.md doc/tuning.md doc/comparison.md doc/benchmarks.md
