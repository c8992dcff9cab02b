#!/usr/bin/env bash
# Under Open MPI, with the plugin for it: the quick part of make check-openmpi.
exec "$(dirname -- "${BASH_SOURCE[0]}")/../openmpi/run-openmpi" fast
