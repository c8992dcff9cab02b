#!/usr/bin/env bash
# A rank that becomes undumpable after its open (prctl) goes on: what the kernel does not copy any
# more goes by messages.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
make_root
less=()
if ((EUID == 0)); then
    less=(setpriv --bounding-set -sys_ptrace --inh-caps -sys_ptrace)
    "${less[@]}" true 2>/dev/null || {
        echo "skipped: root reaches all memory, and there is no setpriv"
        exit 77
    }
fi
for daemons in 0 1; do
    start_daemons "$daemons"
    for which in 0 1 -1; do
        timeout -k 5 "$mpi_timeout" "$mpiexec" -n 3 -genv LD_PRELOAD "$sanitizer$preload" \
            "${less[@]}" "$programs/t_undumpable" "zcache:$root/f" "$which" \
            >"$tmp/out" 2>&1 </dev/null ||
            fail "rank $which, $daemons daemons: status $?: $(cat "$tmp/out")"
        if grep -q "no process is shut" "$tmp/out"; then
            echo "skipped: undumpable processes can be reached here"
            exit 77
        fi
    done
    stop_daemons || fail "not drained"
done
