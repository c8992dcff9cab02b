#!/usr/bin/env bash
# What judges the cells of check-faults sees what is wrong, and quotes what the documents promise.
here=$(cd "$(dirname -- "$0")" && pwd)
export top_srcdir=${top_srcdir:-$here/../..}
command -v python3 >/dev/null || {
    echo "skipped: needs python3"
    exit 77
}
exec python3 "$here/test_judge.py"
