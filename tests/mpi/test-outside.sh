#!/usr/bin/env bash
# A file is changed, replaced or deleted between two opens by somebody else: what the
# caches know of it is forgotten.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

all_ways t_cases outside
