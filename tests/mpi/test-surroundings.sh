#!/usr/bin/env bash
# test-surroundings.sh [RUNS]: a small job in surroundings that are drawn at random, over zcache run
# and by mpiexec alone over the MPI library's own driver: if that works, exit status, output, file
# and its mode must be the same with zcache.  Drawn are closed descriptors, ignored and blocked
# signals, limits, shell options, variables, namespaces and folders that are missing.  SEED=N
# test-surroundings.sh 1 repeats the run that has printed it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run"
[[ $ufs ]] || { echo "skipped: Open MPI has no prefix for its own driver"; exit 77; }
runs=${1:-100}
drawn=${SEED:-$RANDOM}
echo "SEED=$drawn"

# maybe N: true in one of N draws.
maybe() { pick "$1"; ((picked == 0)); }
# one_of WORD ...: sets $one.
one_of() {
    pick $#
    shift "$picked"
    one=$1
}

# Lines of a script: what the job's parents have done.
draw_shell() {
    local signal

    ! maybe 2 || { one_of 077 002 027; echo "umask $one"; }
    ! maybe 3 || { one_of 64 100 256 1024; echo "ulimit -n $one"; }
    ! maybe 4 || { one_of 512 4096 unlimited; echo "ulimit -S -s $one"; }
    ! maybe 4 || echo "ulimit -c 0 -l 64"
    for signal in HUP INT QUIT PIPE USR1 USR2 ALRM CHLD TSTP WINCH XCPU 40; do
        ! maybe 6 || echo "trap '' $signal"
    done
    ! maybe 20 || echo "mkdir \$1.gone && cd \$1.gone && rmdir \$1.gone"
}

# Words of env: variables, and signals that are blocked.
draw_env() {
    local signal list=''

    for signal in HUP QUIT PIPE USR1 ALRM WINCH; do ! maybe 6 || list+=,$signal; done
    [[ ! $list ]] || echo "--block-signal=${list#,}" # env's options come first
    ! maybe 3 || echo "SHELLOPTS=noclobber:noglob"
    ! maybe 4 || echo "SHELLOPTS=posix:errexit:nounset"
    ! maybe 4 || echo "BASHOPTS=failglob:nullglob:nocasematch"
    ! maybe 4 || echo "CDPATH=/:/tmp"
    ! maybe 4 || echo "IFS=/"
    ! maybe 6 || echo "POSIXLY_CORRECT=1"
    ! maybe 6 || echo "GREP_OPTIONS=-v"
    ! maybe 4 || { one_of C C.UTF-8 de_DE.UTF-8 nowhere; echo "LC_ALL=$one"; }
    ! maybe 4 || { one_of /nowhere ""; echo "HOME=$one"; }
    ! maybe 4 || echo "USER="
    ! maybe 3 || { one_of /nowhere relative "" /dev/null; echo "XDG_RUNTIME_DIR=$one"; }
    ! maybe 4 || echo "TMPDIR=/nowhere"
    ! maybe 6 || echo "ENV=/nowhere"
    ! maybe 6 || echo "BASH_ENV=/nowhere"
    ! maybe 6 || echo "PS4=\$(exit 3)"
}

# A command before the job's, with namespaces; for root, and where they can be made.
draw_namespaces() {
    local kinds=()

    ((EUID == 0)) && maybe 2 || return 0
    ! maybe 3 || kinds+=(--pid --fork --mount-proc --kill-child)
    ! maybe 3 || kinds+=(--uts)
    ! maybe 3 || kinds+=(--ipc)
    ! maybe 4 || kinds+=(--time)
    ! maybe 4 || kinds+=(--cgroup)
    ! maybe 4 || kinds+=(--user --map-root-user)
    ((${#kinds[@]})) && unshare "${kinds[@]}" true 2>/dev/null || return 0
    printf '%s\n' unshare "${kinds[@]}"
}

draw_descriptors() {
    ! maybe 3 || echo "exec 0<&-"
    ! maybe 12 || echo "exec 1>&-" # MPICH's mpiexec does not start then, nor without
    ! maybe 12 || echo "exec 2>&-" # standard error, nor in a directory that is gone
}

# make_surroundings: the script $tmp/surround, which runs its arguments behind the first, a name.
make_surroundings() {
    local words=() before=()

    mapfile -t words < <(draw_env)
    pick 1000 # what a subshell draws does not move the generator on here
    mapfile -t before < <(draw_namespaces)
    pick 1000
    {
        draw_shell
        echo "name=\$1"
        echo "shift"
        draw_descriptors
        printf 'exec env'
        ((!${#words[@]})) || printf ' %q' "${words[@]}"
        ((!${#before[@]})) || printf ' %q' "${before[@]}"
        # shellcheck disable=SC2016
        echo ' "$@"'
    } >"$tmp/surround"
    pick 1000
}

# ends_as STATUS COMMAND ...: prints words of a command that runs COMMAND, and if that ends with 0,
# ends with STATUS.
ends_as() {
    # shellcheck disable=SC2016
    printf '%s\n' sh -c '"$@" && exit '"$1" job "${@:2}"
}

# run_in NAME COMMAND ...: sets $status; output is in NAME.out.
run_in() {
    stretch "$mpi_timeout"
    timeout -k 5 "$stretched" bash "$tmp/surround" "$tmp/$1" "${@:2}" >"$tmp/$1.out" 2>"$tmp/$1.err" \
        </dev/null
    status=$?
}

differs() { # WHAT
    cat "$tmp/surround" >&2
    tail -n 20 "$tmp/theirs.err" "$tmp/ours.err" "$tmp/theirs.out" "$tmp/ours.out" >&2
    fail "SEED=$seed: $1"
}

one_run() {
    local theirs words code daemons

    seed=$drawn
    make_surroundings
    code=0
    ! maybe 3 || code=7
    pick 2
    daemons=$picked
    rm -f "$root"/*
    mapfile -t words < <(ends_as $code "$mpiexec" -n 2 "$programs/t_tools" "$ufs$root/theirs")
    run_in theirs "${words[@]}"
    theirs=$status
    mapfile -t words < <(ends_as $code "$mpiexec" -n 2 "$programs/t_tools" "zcache:$root/ours")
    run_in ours env LD_PRELOAD="${preload%"$plugin"}" "$zcache" run --root "$root" \
        --daemons "$daemons" --cache-size 16M -- "${words[@]}"
    if ((theirs != code)); then # without zcache it fails: with it either, but it ends
        ((status != 124 && status != 137)) || differs "it does not end; without zcache status $theirs"
        refused=$((refused + 1))
        return
    fi
    ((status == theirs)) || differs "status $status, and without zcache $theirs"
    cmp "$tmp/theirs.out" "$tmp/ours.out" || differs "another output"
    cmp "$root/theirs" "$root/ours" || differs "another file"
    [[ $(stat -c %a "$root/theirs") == $(stat -c %a "$root/ours") ]] ||
        differs "mode $(stat -c %a "$root/ours"), and without zcache $(stat -c %a "$root/theirs")"
}

make_root
refused=0
for ((i = 0; i < runs; i++)); do one_run; done
echo "$runs surroundings, in $refused of which the job does not run without zcache either"
((refused < runs || runs < 4)) || fail "no job has run"
