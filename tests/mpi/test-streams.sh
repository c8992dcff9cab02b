#!/usr/bin/env bash
# Programs and daemons whose standard streams are closed, every subset of the three: no descriptor
# of zcache's takes their place, so neither the log nor the program writes into one.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root

# A shell's redirections that close those of the bits of a number.
closed() {
    local fd words=

    for fd in 0 1 2; do
        (($1 >> fd & 1)) && words+=" $fd>&-"
    done
    echo "$words"
}

run() { # BITS [BITS]: of ranks, closed when they begin, and by themselves later
    # shellcheck disable=SC2016
    ZCACHE_LOG=trace timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 \
        -genv LD_PRELOAD "$sanitizer$preload" sh -c 'exec "$@"'"$(closed "$1")" sh \
        "$programs/t_streams" "zcache:$root/f" "${2:-0}" >"$tmp/out" 2>&1 </dev/null
}

for bits in 0 1 2 3 4 5 6 7; do
    run "$bits" || fail "status $? with$(closed "$bits"): $(tail -n 5 "$tmp/out")"
    if ((bits & 4)); then
        ! grep -q "trace: " "$tmp/out" || fail "a log without standard error: $(tail -n 5 "$tmp/out")"
    else
        grep -q "trace: " "$tmp/out" || fail "no log with$(closed "$bits")"
    fi
done

# Closed later, standard error still is where the log goes.
for bits in 1 2 3 4 5 6 7; do
    run 0 "$bits" || fail "status $? with $bits closed later: $(tail -n 5 "$tmp/out")"
    grep -q "trace: .*close" "$tmp/out" || fail "no log with $bits closed later"
done

# A daemon's.
for bits in 4 7; do
    rm -f "$tmp/0.addr"
    eval '"$zcached" --root "$root" --address-file "$tmp/0.addr" --cache-size 16M' \
        "$(closed "$bits")" '&'
    daemon_pids[0]=$!
    wait_for 60 has_written 0 || fail "no daemon with$(closed "$bits")"
    for link in 0 1 2; do
        at=$(readlink "/proc/${daemon_pids[0]}/fd/$link")
        [[ -z $at || $at == /dev/null || ! $((bits >> link & 1)) == 1 ]] ||
            fail "descriptor $link of a daemon is $at"
    done
    ZCACHE_DAEMONS=$tmp/0.addr run "$bits" || fail "with a daemon, and$(closed "$bits")"
    stop_daemon 0 || fail "status $? of a daemon with$(closed "$bits")"
done
