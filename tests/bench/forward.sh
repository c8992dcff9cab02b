#!/usr/bin/env bash
# forward.sh - large contiguous writes forwarded to a daemon, beside what fi_pingpong moves.
#
#     forward.sh [--repeats N] [--provider P] [--json FILE]
#
# One rank writes 8 x 64 MiB through zcache: to a daemon on this host and reads them back,
# every byte verified; the close waits until the daemon has all of them and counts.
# fi_pingpong moves messages of 4 MiB with the same provider.  The two
# alternate, so that both see the same noise; medians and spread are printed, and the ratio.
# The aggregator has 16 MiB, so that nearly all goes through; the daemon's cache holds
# everything and its write-back waits: this measures the way to
# the daemon, not the store.
set -u
repeats=5 provider='tcp;ofi_rxm' json=
while (($#)); do
    case $1 in
    --repeats) repeats=$2; shift ;;
    --provider) provider=$2; shift ;;
    --json) json=$2; shift ;;
    *) sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2 ;;
    esac
    shift
done
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"
for p in fi_pingpong jq; do
    command -v "$p" >/dev/null || { echo "forward.sh: no $p (Debian: libfabric-bin, jq)" >&2; exit 77; }
done

make_tmp
if [[ -d /dev/shm && -w /dev/shm ]]; then # memory as store, so that no disk is measured
    root=$(mktemp -d /dev/shm/zcache-bench.XXXXXX)
    cleanup_fn "rm -rf '$root'"
else
    root=$tmp
fi

# MB/s of fi_pingpong at 4 MiB, or nothing
pingpong() {
    local server port=$((20000 + RANDOM % 20000)) out

    fi_pingpong -B "$port" -p "$provider" -e rdm -S 4194304 -I 200 >/dev/null 2>&1 &
    server=$!
    wait_for 10 server_listens "$port" || { kill "$server" 2>/dev/null; return 1; }
    out=$(timeout 60 fi_pingpong -P "$port" -p "$provider" -e rdm -S 4194304 -I 200 127.0.0.1 2>&1)
    wait "$server"
    awk '$1 == "4m" { print $6 }' <<<"$out"
}

server_listens() { grep -qi ":$(printf %04X "$1") 00000000:0000 0A" /proc/net/tcp /proc/net/tcp6; }

# MB/s of write and read through the daemon
forwarded() {
    ZCACHE_DAEMONS=$tmp/0.addr LD_PRELOAD=$build/adio_zcache/.libs/libzcache.so \
        timeout -k 5 120 "${MPIEXEC:-mpiexec.mpich}" -n 1 "$build/simpario/simpario" \
        -f "zcache:$root/data" --phases 8 --record 64M --json "$tmp/run.json" --quiet \
        --hint zcache_close_level=staged --hint zcache_cache_size=16M || return 1
    [[ $(jq -r .verification.result "$tmp/run.json") == passed ]] || return 1
    jq -r '.repeats[0] | "\(.write.io_close_bytes_per_second / 1e6) \(.read.io_bytes_per_second / 1e6)"' \
        "$tmp/run.json"
}

# lowest, median and highest of the numbers given
spread() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[1], v[int((NR + 1) / 2)], v[NR] }'; }

export ZCACHE_LOCAL=false # the fabric is what is compared
start_daemon 0 --root "$root" --cache-size 1G --idle-time 10m --provider "$provider"
pings=() writes=() reads=()
for ((i = 0; i < repeats; i++)); do
    p=$(pingpong) && [[ -n $p ]] || { echo "forward.sh: fi_pingpong failed" >&2; exit 1; }
    z=$(forwarded) || { echo "forward.sh: a run through the daemon failed" >&2; exit 1; }
    pings+=("$p") writes+=("${z% *}") reads+=("${z#* }")
done
"$zcachectl" --daemons "$tmp/0.addr" evict >/dev/null
stop_daemon 0 || { echo "forward.sh: the daemon did not drain" >&2; exit 1; }

read -r plo pmid phi < <(spread "${pings[@]}")
read -r wlo wmid whi < <(spread "${writes[@]}")
read -r rlo rmid rhi < <(spread "${reads[@]}")
ratio=$(awk "BEGIN { printf \"%.2f\", $wmid / $pmid }")
printf 'provider %s, %d repetitions in turn, verified\n' "$provider" "$repeats"
printf '%-26s %8s %8s %8s   %s\n' MB/s lowest median highest 'of fi_pingpong'
printf '%-26s %8.0f %8.0f %8.0f\n' 'fi_pingpong 4 MiB' "$plo" "$pmid" "$phi"
printf '%-26s %8.0f %8.0f %8.0f   %s\n' 'write + close, to daemon' "$wlo" "$wmid" "$whi" "$ratio"
printf '%-26s %8.0f %8.0f %8.0f   %s\n' 'read 64 MiB from daemon' "$rlo" "$rmid" "$rhi" \
    "$(awk "BEGIN { printf \"%.2f\", $rmid / $pmid }")"
if [[ -n $json ]]; then
    jq -n --arg provider "$provider" --argjson repeats "$repeats" --argjson ratio "$ratio" \
        --argjson pingpong "[$plo, $pmid, $phi]" --argjson write "[$wlo, $wmid, $whi]" \
        --argjson read "[$rlo, $rmid, $rhi]" \
        '{benchmark: "forward", $provider, $repeats, unit: "MB/s", columns: ["lowest", "median", "highest"],
          $pingpong, $write, $read, write_of_pingpong: $ratio}' >"$json"
fi
