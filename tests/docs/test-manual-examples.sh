#!/usr/bin/env bash
# The examples of the manual pages are run, but those that a comment beside them leaves out.
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.." || exit 99
exec "$here/run-blocks" doc/man/*.[1-8].in
