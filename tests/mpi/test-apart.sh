#!/usr/bin/env bash
# A file that is open in a process which cannot be reached is not opened beside it: the error says
# what to do, and nothing stays of the open.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_mpi_across_networks

new=(unshare --net)
((EUID == 0)) || new=(unshare --map-current-user --net)
"${new[@]}" true 2>/dev/null || {
    echo "skipped: no network namespaces here (unshare --net)"
    exit 77
}
make_root
begin=("$programs/t_apart" "zcache:$root/f")
timeout -k 5 "$mpi_timeout" "$mpiexec" -genv LD_PRELOAD "$sanitizer$preload" \
    -n 1 "${begin[@]}" : -n 1 "${new[@]}" "${begin[@]}" >"$tmp/out" 2>&1 </dev/null ||
    fail "$(cat "$tmp/out")"
