#!/usr/bin/env bash
# The ranks of a job derive the same key without communication; other jobs, at the same time, later,
# or inside it, have other keys; so has a process without a launcher.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

program=$programs/t_job_key
preload= # nothing of the driver is needed but what is in the program

# job RANKS FILE [WHAT ...]: writes its key to FILE.
job() {
    mpi "$1" "${@:3}" >"$tmp/$2" 2>&1 </dev/null || fail "$2: $(cat "$tmp/$2")"
}

# differ FILE FILE ...: no two lines of them are equal, and none is empty.
differ() {
    local n

    n=$(cat "${@/#/$tmp/}" | sort -u | grep -c .)
    [[ $n == "$(cat "${@/#/$tmp/}" | wc -l)" ]] ||
        fail "the same key: $(grep . "${@/#/$tmp/}")"
}

make_tmp
job 4 first "$program"
job 4 second "$program" &
one=$!
job 4 third "$program" &
wait "$one" || exit 1
wait $! || exit 1
[[ $(wc -l <"$tmp/third") == 1 ]] || fail "not one key: $(cat "$tmp/third")"
differ first second third

# Started by scripts.
cat >"$tmp/in-between" <<END
#!/bin/sh
sh -c '"\$0" && true' "$program"
END
chmod +x "$tmp/in-between"
job 3 by-script "$tmp/in-between"
differ first by-script

# A job inside a job.
job 1 outer sh -c "'$program' apart; unset PMI_RANK; '$mpiexec' -n 2 '$program'"
job 1 alone sh -c "unset PMI_FD PMI_PORT PMI_RANK PMI_SIZE PMIX_NAMESPACE; '$program'; '$program'"
[[ $(wc -l <"$tmp/outer") == 2 && $(wc -l <"$tmp/alone") == 2 ]] ||
    fail "not two keys: $(cat "$tmp/outer" "$tmp/alone")"
differ outer alone

if mpi 2 "$program" able >"$tmp/able" 2>&1 </dev/null; then
    job 2 spawn "$program" spawn
else
    echo "skipped: this MPI library spawns nothing: $(grep -m 1 '[[:alpha:]]' "$tmp/able")"
fi
exit 0
