#!/usr/bin/env bash
# A collective fill, then writes by single ranks, then close.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

all_ways t_cases collective
