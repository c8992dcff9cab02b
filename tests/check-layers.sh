#!/bin/sh
# check-layers.sh: the objects of this build need each other downwards only; tests/layers says how.
set -eu
command -v python3 >/dev/null || {
    echo "skipped: there is no python3"
    exit 77
}
exec "${top_srcdir:-$(dirname "$0")/..}/tests/layers" "${top_srcdir:-$(dirname "$0")/..}" \
    "${top_builddir:-$(dirname "$0")/../build}"
