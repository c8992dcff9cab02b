# functions.sh - mounts of slowfs for tests and benchmarks.  Sourced by bash, after
# tests/daemon/functions.sh, whose clean-up ends what is still mounted.
# shellcheck shell=bash disable=SC2154 # build, tmp

slowfs=$build/tests/slowfs/slowfs
declare -A slowfs_pids=()

# Why slowfs cannot be used here; nothing when it can.
slowfs_obstacle() {
    if [[ ! -x $slowfs ]]; then
        echo "no slowfs in the build (it needs fuse3: Debian libfuse3-dev, fuse3)"
    elif [[ ! -r /dev/fuse || ! -w /dev/fuse ]]; then
        echo "no access to /dev/fuse"
    elif (($(id -u))) && ! command -v fusermount3 >/dev/null; then
        echo "neither root nor fusermount3 (Debian: fuse3)"
    elif ! slowfs_try; then
        echo "mounting is not allowed here: $(tail -n 1 "$tmp/slowfs.log")"
    fi
}

slowfs_try() {
    mkdir -p "$tmp/try.below" "$tmp/try"
    slowfs_mount "$tmp/try.below" "$tmp/try" && slowfs_unmount "$tmp/try" && return
    ! grep -Eqi 'not permitted|denied' "$tmp/slowfs.log" # what is really wrong shall be seen
}

# slowfs_mount DIRECTORY MOUNTPOINT OPTION ...: returns when it is mounted.
slowfs_mount() {
    local below=$1 at=$2

    shift 2
    "$slowfs" "$@" "$below" "$at" </dev/null >"$tmp/slowfs.log" 2>&1 &
    slowfs_pids[$at]=$!
    cleanup_fn "slowfs_unmount '$at'"
    wait_for 20 slowfs_up_or_gone "$at"
    [[ -e $at/.slowfs ]]
}

slowfs_up_or_gone() { [[ -e $1/.slowfs ]] || gone "${slowfs_pids[$1]}"; }

# slowfs_unmount MOUNTPOINT: also when it is in use or slowfs has died; returns its status.
slowfs_unmount() {
    local pid=${slowfs_pids[$1]:-} status

    [[ -n $pid ]] || return 0
    slowfs_pids[$1]=
    kill -TERM "$pid" 2>/dev/null
    wait_for 10 gone "$pid" || kill -KILL "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    status=$?
    if grep -q "[ /]$1 fuse" /proc/self/mounts; then
        umount -l "$1" 2>/dev/null || fusermount3 -uz "$1"
        ((status)) || status=1
    fi
    return "$status"
}

# slowfs_count MOUNTPOINT WORD ...: counters, e.g. write.requests read.busy_seconds
slowfs_count() {
    local at=$1 word

    shift
    for word; do jq -r ".$word" "$at/.slowfs"; done | paste -sd' '
}
