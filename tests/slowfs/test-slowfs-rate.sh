#!/usr/bin/env bash
# slowfs takes the time that its model says, within a tenth.
#
# Each case has an expected time, by the formulas of model.h, which the client's own work does
# not matter much in.  Other load makes things slower, so that the best of a few tries counts;
# somewhat too slow proves nothing about slowfs, and skips the test, but twice as slow is wrong, as
# it is where latencies are not beside each other.  Too fast is always wrong.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
requires command -v jq
skip_unless_quiet "what takes time"

# In memory, so that no disk is measured.
if [[ -d /dev/shm && -w /dev/shm ]] &&
    (($(df -k --output=avail /dev/shm | tail -n 1) > 200000)); then
    below=$(mktemp -d /dev/shm/zcache-test.XXXXXX)
    cleanup_fn "rm -rf '$below'"
else
    below=$tmp/below
    mkdir "$below"
fi
m=$tmp/m
mkdir "$m"
missed=

# Four clients at a time: dd of their files with these arguments, %s being the file.
four() {
    local i pids=() status=0

    for i in 1 2 3 4; do
        # shellcheck disable=SC2046,SC2059 # a format, of words
        dd $(printf "$1" "$m/f$i") status=none &
        pids+=($!)
    done
    for i in "${pids[@]}"; do wait "$i" || status=1; done
    return $status
}

one() {
    # shellcheck disable=SC2059,SC2046
    dd $(printf "$1" "$m/f1") status=none
}

makes() {
    local i

    for ((i = 0; i < $1; i++)); do : >"$m/new$try.$i"; done
}

# measure NAME EXPECTED-MILLISECONDS COMMAND ...
measure() {
    local name=$1 want=$2 try start took best=

    shift 2
    for ((try = 0; try < 8; try++)); do
        start=${EPOCHREALTIME/[.,]/}
        "$@" || fail "$name: $*"
        took=$(((${EPOCHREALTIME/[.,]/} - start) / 10))
        [[ -n $best ]] && ((took >= best)) || best=$took
        if ((best <= want * 110)); then break; fi
    done
    printf '%-44s expected %5d ms, took %5d ms\n' "$name" "$want" $((best / 100))
    ((best >= want * 90)) || fail "$name is too fast by more than a tenth"
    ((best <= want * 200)) || fail_unless_busy "$name takes more than twice as long"
    ((best <= want * 110)) || missed=$name
}

mounted() {
    slowfs_mount "$below" "$m" "$@" || fail "mount: $(<"$tmp/slowfs.log")"
}

done_with() { slowfs_unmount "$m" || fail "slowfs ended with status $?"; }

mounted # 200 MB/s, 50 us, 200 us: 5.293 ms for 1 MiB
measure "4 writers, 128 x 1 MiB, by default" 678 four 'if=/dev/zero of=%s bs=1M count=32'
measure "4 readers, 128 x 1 MiB, by default" 678 four 'if=%s of=/dev/null bs=1M'
done_with

mounted --write-rate 100M --read-rate 50M --op-us 2000 --latency-us 8000 --meta-us 10000
# and 10 ms more for each file; those of four are beside each other
measure "4 writers, 40 x 1 MiB, 10.5 + 2 ms" 518 four 'if=/dev/zero of=%s bs=1M count=10'
measure "4 readers, 40 x 1 MiB, 21.0 + 2 ms" 937 four 'if=%s of=/dev/null bs=1M'
# the last write, then the sync, then their latency
measure "1 write, 16 MiB, and a sync" 348 one 'if=/dev/zero of=%s bs=16M count=1 conv=fsync'
measure "30 new files, 10 ms" 300 makes 30
done_with

mounted --op-us 2000 --latency-us 30000 --meta-us 0
measure "1 writer, 20 x 4 KiB, latency not hidden" 641 one 'if=/dev/zero of=%s bs=4K count=20'
measure "1 reader, 20 x 4 KiB, latency not hidden" 641 one 'if=%s of=/dev/null bs=4K count=20'
done_with

# a server that is free takes latencies beside each other: 4 x 25 x 0.5 ms of service
mounted --write-rate 0 --op-us 500 --latency-us 20000 --meta-us 0
measure "4 writers, 100 x 4 KiB, overlapping latency" 515 four 'if=/dev/zero of=%s bs=4K count=25'
done_with

[[ -z $missed ]] || {
    echo "skipped: the machine is too busy to tell: $missed took too long"
    exit 77
}
