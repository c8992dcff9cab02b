#!/usr/bin/env bash
# Every block of commands in the documents is run, but those that a comment beside them leaves out.
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
cd "$here/../.." || exit 99
mapfile -t with_commands < <(grep -l '^```sh' README doc/*.md doc/*/*.md doc/results/full/*.md)
exec "$here/run-blocks" "${with_commands[@]}"
