#!/usr/bin/env bash
# A program that loads MPI by dlopen (Julia): through a library that needs the plugin and MPI, as
# doc/guide.md has it; preloading alone does nothing for it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "a library with plugin and MPI"
command -v "${MPICC:-mpicc}" >/dev/null || {
    echo "skipped: no mpicc"
    exit 77
}
[[ -z ${SANITIZER:-} ]] || {
    echo "skipped: a sanitizer's library has to be the first"
    exit 77
}
make_root
"${MPICC:-mpicc}" -shared -o "$tmp/libmpi_zcache.so" -Wl,--no-as-needed "$plugin" \
    "-Wl,-rpath,${plugin%/*}" || fail "cannot link"
expect 0 "*libzcache.so*" ldd "$tmp/libmpi_zcache.so"
ZCACHE_STATS=1 mpi_timeout=60 timeout -k 5 60 "$mpiexec" -n 1 "$programs/t_dlopen" \
    "$tmp/libmpi_zcache.so" "zcache:$root/f" >"$tmp/out" 2>&1 </dev/null ||
    fail "status $?: $(cat "$tmp/out")"
[[ $(od -An -tx4 "$root/f") == *0000002a ]] || fail "other bytes: $(od -An -tx4 "$root/f")"
