# shellcheck shell=bash
# exit_status.sh - whether the daemon of an address file still is there.
#
# A part of the launcher, iod/zcache.in.  A process id proves nothing by itself: the process may
# have ended, may have ended and wait for its parent, and the number may be another program's
# by now, or another daemon's, or of the time before the host was started again.

# Whether the process id of an address file is one of this shell's PID namespace, or it says nothing
# of it.
pid_counts() {
    local ns

    ns=$(sed -n 's/^pid_ns //p' "$1" 2>/dev/null)
    [[ -z $ns || $ns == "$(stat -L -c %i /proc/self/ns/pid 2>/dev/null)" ]]
}

# judge_elsewhere FILE: a daemon in another PID namespace is asked; fails if it does not answer.
judge_elsewhere() {
    if "$zcachectl" --daemons "$1" --timeout 3s status >/dev/null 2>&1; then
        echo runs
    else
        echo "it is in another PID namespace, a container's or its host's, and does not answer"
        return 1
    fi
}

# judge_here FILE: "runs", or what became of it; fails, and says why, if that cannot be known.
judge_here() {
    local file=$1 pid boot words word next=0 address=

    pid=$(sed -n 's/^pid //p' "$file" 2>/dev/null)
    if [[ ! $pid =~ ^[1-9][0-9]*$ ]]; then
        echo "$file is not an address file"
        return
    fi
    boot=$(cat "${file%.addr}.boot" 2>/dev/null)
    if [[ -n $boot && $boot != "$(cat /proc/sys/kernel/random/boot_id)" ]]; then
        echo "$here was started again, so process $pid is gone"
    elif ! pid_counts "$file"; then
        judge_elsewhere "$file"
    elif ! kill -0 "$pid" 2>/dev/null && [[ ! -e /proc/$pid ]]; then
        echo "process $pid is gone"
    elif grep -qs '^State:.[ZX]' "/proc/$pid/status"; then
        echo "process $pid is gone; its parent has not taken notice yet"
    elif [[ $(cat "/proc/$pid/comm" 2>/dev/null) != zcached ]]; then
        echo "process $pid is gone; its number is now that of" \
            "\"$(cat "/proc/$pid/comm" 2>/dev/null)\""
    else
        mapfile -d '' -t words < <(cat "/proc/$pid/cmdline" 2>/dev/null)
        for word in "${words[@]}"; do
            if ((next)); then address=$word; fi
            next=0
            case $word in
            --address-file) next=1 ;;
            --address-file=*) address=${word#*=} ;;
            esac
        done
        if [[ $address == /* && -e $address && ! $address -ef $file ]]; then
            echo "process $pid is gone; its number is now that of a daemon with $address"
        else
            echo runs
        fi
    fi
}

# judge FILE: the same of a daemon on any host; fails, and says why, if that host does not answer.
judge() {
    local file=$1 host i answer

    host=$(recall_host "$file")
    if is_here "$host"; then
        judge_here "$file"
        return
    fi
    i=${file##*/}
    if answer=$(ask_host "$host" judge "$state" "${i%.addr}" 2>&1); then
        printf '%s\n' "$answer"
    else
        printf 'host %s does not answer: %s\n' "$host" "$(tail -n 1 <<<"$answer")"
        return 1
    fi
}

# What became of all daemons, each by its address file; hosts are asked at the same time.
files=() verdicts=() known=()
judge_all() {
    local file i dir

    files=() verdicts=() known=()
    for file in "$state"/*.addr; do [[ ! -e $file ]] || files+=("$file"); done
    ((${#files[@]})) || return 0
    dir=$(mktemp -d) || die "cannot make a directory in ${TMPDIR:-/tmp}"
    for i in "${!files[@]}"; do
        (judge "${files[i]}" >"$dir/$i" && : >"$dir/$i.known") &
    done
    wait
    for i in "${!files[@]}"; do
        verdicts[i]=$(cat "$dir/$i")
        [[ ! -e $dir/$i.known ]] || known[i]=1
    done
    rm -rf -- "$dir"
}

# The address files of daemons that run, or may, to `living`; says what became of the others, and
# fails.
living=()
find_living() {
    local i all=0

    living=()
    judge_all
    for i in "${!files[@]}"; do
        if [[ -n ${known[i]:-} && ${verdicts[i]} != runs ]]; then
            say "${files[i]##*/}: ${verdicts[i]}"
            all=1
        else
            living+=("${files[i]}")
        fi
    done
    return $all
}

# Daemons that live are in the way; what others left behind is removed.
clear_stale() {
    local i file

    judge_all
    for i in "${!files[@]}"; do
        file=${files[i]}
        [[ -n ${known[i]:-} ]] ||
            die "$file may belong to a daemon that runs: ${verdicts[i]};" \
                "\"$me stop --state $state\" ends it, or remove the file if it is gone"
        [[ ${verdicts[i]} != runs ]] ||
            die "daemons run already in $state (process $(sed -n 's/^pid //p' "$file") on" \
                "$(recall_host "$file")); \"$me stop --state $state\" ends them"
        say "$file is removed: ${verdicts[i]}"
        rm -f -- "$file" "${file%.addr}".{log,err,boot}
    done
    rm -f -- "$state"/zcache.{hosts,ssh,token}
}
