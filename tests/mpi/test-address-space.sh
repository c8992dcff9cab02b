#!/usr/bin/env bash
# Where the limit on addresses (ulimit -v) is too small for a rank's cache or threads, or for a
# daemon's, the error says so: which limit, what is in use, what is needed, what to do.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

[[ ! $sanitizer ]] || {
    echo "skipped: a sanitizer reserves addresses without end"
    exit 77
}
make_root
said='ulimit -v is [0-9.]* [MG]iB, [0-9.]* [MG]iB are in use and [0-9.]* [MG]iB more are needed'
said+=': raise it, or make the cache smaller'

# limited KIB COMMAND ...: all it says is in $tmp/out.
limited() { (ulimit -v "$1" && exec "${@:2}") >"$tmp/out" 2>&1; }

# The least limit, in MiB, up to this one, with which the command works; what it says below that
# names the limit, unless another library fails first.
named=0
least() {
    local i

    for ((i = 100; i <= $1; i += 100)); do
        limited $((i * 1024)) "${@:2}" && return
        ! grep -q "$said" "$tmp/out" || named=$((named + 1))
        ! grep -q 'ulimit -u' "$tmp/out" || fail "$i MiB: the wrong limit: $(<"$tmp/out")"
    done
    fail "still not with $1 MiB: $(<"$tmp/out")"
}

rank() { LD_PRELOAD=$preload "$programs/t_streams" "zcache:$root/f"; }
export -f rank
export preload programs root
least 4000 bash -c rank
echo "a rank: $named times"
((named > 0)) || fail "the limit is never named: $(<"$tmp/out")"

# One that starts is told to end, and does so with 0.
named=0
daemon() {
    "$zcached" --root "$root" --address-file "$tmp/d.addr" --cache-size 400M --provider tcp &
    local pid=$!

    while [[ ! -s $tmp/d.addr ]] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    kill "$pid" 2>/dev/null
    wait "$pid"
}
export -f daemon
export zcached tmp
least 4000 bash -c daemon
echo "a daemon: $named times"
((named > 0)) || fail "the limit is never named: $(<"$tmp/out")"
