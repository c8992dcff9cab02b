#!/usr/bin/env bash
# Writes behind the end of a file that was cut: the hole is zeros.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

all_ways t_cases truncate
