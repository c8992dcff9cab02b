#!/usr/bin/env bash
# Limits of the tests stretch where the machine is busy, and tests of rates are skipped there:
# functions.sh, measured beside processes that spin, and with a slowness that is made up.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# Beside three spinning processes for each processor it takes twice as long at least.
spinners=()
end_spinners() { ((${#spinners[@]} == 0)) || kill -KILL "${spinners[@]}" 2>/dev/null; spinners=(); }
cleanup_fn end_spinners
for ((i = 0; i < 3 * $(nproc); i++)); do
    # shellcheck disable=SC2064 # a loop without an end, in a process of its own
    bash -c 'while :; do :; done' &
    spinners+=($!)
done
beside() { measure_slowness; ((slowness > 200)); }
wait_for 30 beside || fail "beside $((3 * $(nproc))) spinning processes the slowness is $slowness"
is_busy || fail "with as many it is not busy"
rates_are_skipped() { # a single measurement may have had a processor for itself
    output=$(skip_unless_quiet "this test" 2>&1)
    status=$?
    [[ $status == 77 && $output == "skipped: this test: "*" times as long"* ]]
}
wait_for 30 rates_are_skipped || fail "a test of rates goes on: $status, $output"
wait_for 30 beside
slowness_at=$EPOCHSECONDS # this measurement counts for a while
stretch 10
((stretched > 20 && stretched <= 200)) || fail "10 s stretch to $stretched"
end_spinners
wait 2>/dev/null

# Made up.
is_busy() { ((made_up > 100)); }
measure_slowness() { slowness=$made_up; }
after() { ((EPOCHSECONDS >= $1)); }
made_up=100 slowness_at=0
wait_for 1 after $((EPOCHSECONDS + 3)) && fail "a limit of 1 s was 3 s without load"
made_up=500 slowness_at=0
wait_for 1 after $((EPOCHSECONDS + 3)) || fail "a limit of 1 s was not 5 s with load"
made_up=120 slowness_at=0
stretch 10
((stretched == 12)) || fail "10 s stretch to $stretched, not to 12"
(made_up=150 slowness_at=0; skip_unless_quiet rates) || fail "skipped with a slowness of 1.5"
