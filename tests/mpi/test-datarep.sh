#!/usr/bin/env bash
# Data representations of the program: conversion functions in every access.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "conversion functions"

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    for ranks in 1 3; do
        mpi_quiet "$ranks" "$programs/t_datarep" "zcache:$root/datarep" ||
            fail "$daemons daemons, $ranks ranks"
    done
    stop_daemons || fail "not drained"
done
