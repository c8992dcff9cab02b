#!/usr/bin/env bash
# Random programs that do what zcache is to do next: see test-model.sh.
exec "$(dirname -- "${BASH_SOURCE[0]}")/test-model.sh" --next
