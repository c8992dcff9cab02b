#!/usr/bin/env bash
# SIGTERM to ranks, daemons and dedicated aggregators at once, as a batch system sends it at a time
# limit: the last checkpoint is written, whose file was not open before.
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run"

ranks=3
all_wait() { [[ $(grep -c waits out) == "$ranks" ]]; }
# Daemons and aggregators, as many as the run has.
served_by() { find "$tmp/state" -name '*.addr' -exec sed -n 's/^pid //p' {} +; }

# last_checkpoint N OPTION ...: of zcache run, which then has N daemons and aggregators.
last_checkpoint() {
    local pid n=$1 serving

    shift
    : >out
    LD_PRELOAD=$sanitizer${preload%"$plugin"} "$zcache" run --state "$tmp/state" --root root \
        --grace 600s --cache-size 16M "$@" -- "$mpiexec" -n $ranks "$programs/t_last" "zcache:$tmp/root/f" \
        >out 2>err </dev/null &
    pid=$!
    cleanup_fn "kill -KILL $pid 2>/dev/null"
    wait_for 120 all_wait || fail "$*: the job does not wait: $(cat out err)"
    mapfile -t serving < <(served_by)
    ((${#serving[@]} == n)) || fail "$*: ${#serving[@]} daemons, not $n"
    # shellcheck disable=SC2046 # process ids
    kill -TERM "${serving[@]}" $(sed -n 's/ waits$//p' out) || fail "$*: no process to signal"
    wait $pid || fail "$*: status $?: $(cat out err)"
    mpi_quiet $ranks "$programs/t_last" "$ufs$tmp/root/f" check || fail "$*: not what was written"
    rm -rf root/f root/f.open state
}

make_root
cd "$tmp" || exit 99
last_checkpoint 1
last_checkpoint 2 --daemons 2
last_checkpoint 2 --aggregators 1
