#!/usr/bin/env bash
# All ranks write bytes of their own in one page, again and again.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

all_ways t_cases sharing
