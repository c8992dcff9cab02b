#!/usr/bin/env bash
# An unreachable aggregator is waited for once, not by every call.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_mpi_across_networks

# A network of its own that routes everywhere, without any host.
new=(unshare --net)
((EUID == 0)) || new=(unshare --map-root-user --net)
up='ip link set lo up && ip link add z0 type veth peer name z1 &&
    ip addr add 198.51.100.1/24 dev z0 && ip link set z0 up && ip link set z1 up &&
    ip route add default dev z0'
"${new[@]}" sh -c "$up" 2>/dev/null || {
    echo "skipped: no network namespaces here (unshare --net), or no ip"
    exit 77
}

seconds=4
export ZCACHE_TIMEOUT=${seconds}s
make_root
begin=("$programs/t_unreachable" "zcache:$root/f" "$seconds")
timeout -k 5 "$mpi_timeout" "$mpiexec" -genv LD_PRELOAD "$sanitizer$preload" \
    -n 1 "${begin[@]}" : \
    -n 1 "${new[@]}" sh -c "$up && exec \"\$@\"" sh "${begin[@]}" \
    >"$tmp/out" 2>&1 </dev/null || fail "$(cat "$tmp/out")"
