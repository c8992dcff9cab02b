#!/usr/bin/env bash
# The cases of test-steps.sh whose jobs have dedicated aggregators, all of them.
set -u
WAYS=true WAYS_DEDICATED='side_by_side the_reader_dies the_daemon_dies' \
    exec "$(dirname -- "${BASH_SOURCE[0]}")/test-steps.sh"
