#!/usr/bin/env bash
# Where a limit on addresses (ulimit -v, or ulimit -d for what is private and can be written) is too
# small for a rank's cache or threads, or for a daemon's, the error says so: which limit, what is in
# use, what is needed, what to do.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

[[ ! $sanitizer ]] || {
    echo "skipped: a sanitizer reserves addresses without end"
    exit 77
}
make_root
said='ulimit -% is [0-9.]* [MG]iB, [0-9.]* [MG]iB are in use and [0-9.]* [MG]iB more are needed'
said+=': raise it, or make the cache smaller'

# limited LETTER KIB COMMAND ...: all it says is in $tmp/out.
limited() { (ulimit -"$1" "$2" && exec "${@:3}") >"$tmp/out" 2>&1; }

# least LETTER COMMAND ...: finds the least limit with which the command works; what it says below
# that names the limit, unless another library fails first.
least() {
    local i step=100 named=0

    [[ $1 == v ]] || step=20
    for ((i = step; i <= 4000; i += step)); do
        ! limited "$1" $((i * 1024)) "${@:2}" || break
        ! grep -q "${said/\%/$1}" "$tmp/out" || named=$((named + 1))
        ! grep -q 'into memory$' "$tmp/out" || fail "$i MiB: which limit?: $(<"$tmp/out")"
        ! grep -q 'ulimit -u' "$tmp/out" || fail "$i MiB: the wrong limit: $(<"$tmp/out")"
    done
    ((i <= 4000)) || fail "ulimit -$1: still not with $i MiB: $(<"$tmp/out")"
    echo "ulimit -$1, $4: works with $i MiB, named $named times"
    ((named > 0)) || fail "ulimit -$1 is never named"
}

rank() { LD_PRELOAD=$preload "$programs/t_streams" "zcache:$root/f"; }
export -f rank
export preload programs root

# One that starts is told to end, and does so with 0.
daemon() {
    "$zcached" --root "$root" --address-file "$tmp/d.addr" --cache-size 400M --provider tcp &
    local pid=$!

    while [[ ! -s $tmp/d.addr ]] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
    kill "$pid" 2>/dev/null
    wait "$pid"
}
export -f daemon
export zcached tmp
for letter in v d; do
    least "$letter" bash -c rank
    least "$letter" bash -c daemon
done
