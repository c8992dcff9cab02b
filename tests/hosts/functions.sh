# functions.sh - hosts for the tests beside it, played by namespaces.  Sourced by bash.
#
# The test runs again in a process namespace and a network of its own, whose hub is a bridge without
# any link outside: at the test's end all processes it has started, all hosts and the network end.
# Hosts have their own network, name, processes, /run and /dev/shm; the rest of the file system is
# shared, as in a cluster.
#
#     hosts_up N            h0, from where jobs are started, to hN
#     on HOST COMMAND ...   runs it there
#     login COMMAND ...     on h0, for a bounded time
#     $remote               an ssh: $remote HOST LINE-FOR-A-SHELL, for use on h0
#     unreachable HOST      cuts it off: no packet arrives there or leaves it
#     slurm_up N            hosts_up N, and Slurm on them: h0 controls, h1 to hN compute
# shellcheck shell=bash

# Only root may switch users and make a network.
if [[ -z ${ZC_HOSTS_WORLD:-} ]]; then
    for tool in unshare nsenter ip; do
        command -v $tool >/dev/null || { echo "skipped: there is no $tool"; exit 77; }
    done
    world=(unshare --mount --propagation private --net --ipc --pid --fork --mount-proc --kill-child)
    "${world[@]}" ip link add zc0 type bridge 2>/dev/null || {
        echo "skipped: needs root, and may not be kept from making namespaces and bridges"
        exit 77
    }
    ZC_HOSTS_WORLD=1 exec "${world[@]}" -- "${BASH:-bash}" "$0" "$@"
fi
unset ZC_HOSTS_WORLD
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"
unset "${!SLURM_@}" XDG_RUNTIME_DIR

declare -A holder=() # the first process of a host, as it is seen here
net=10.99.0

# The first process of a host: sets up its namespaces, and adopts orphans.
# shellcheck disable=SC2016
host_script='
    dir=$1 name=$2
    hostname "$name"
    ip link set lo up
    mount --bind "$dir/hosts" /etc/hosts
    echo "$name" >"$dir/$name.name"
    [ ! -e /etc/hostname ] || mount --bind "$dir/$name.name" /etc/hostname
    # /sys shows the network interfaces of the namespace that mounts it.
    mkdir -p "$dir/cgroup.$name"
    mount --rbind /sys/fs/cgroup "$dir/cgroup.$name"
    mount -t sysfs "$name" /sys && mount --move "$dir/cgroup.$name" /sys/fs/cgroup
    for place in /dev/shm /run; do mount -t tmpfs -o mode=1777 "$name" "$place"; done
    mkdir -p /run/lock /run/user
    : >"$dir/$name.ready"
    trap : CHLD
    while :; do sleep 3600 & wait $!; done'

host_up() { # NAME NUMBER
    local name=$1 number=$2 own=(--pid --fork --mount-proc --kill-child) pid

    [[ $name != h0 ]] || own=() # it sees the others
    unshare --net --uts --ipc --mount --propagation slave "${own[@]}" \
        bash -c "$host_script" "host $name" "$tmp/net" "$name" </dev/null >"$tmp/net/$name.log" 2>&1 &
    pid=$!
    wait_for 30 test -e "$tmp/net/$name.ready" || fail "$name: $(cat "$tmp/net/$name.log")"
    if ((${#own[@]})); then read -r pid _ <"/proc/$pid/task/$pid/children"; fi
    holder[$name]=$pid
    echo "$pid" >"$tmp/net/$name.pid"
    ip link add eth0 netns "$pid" type veth peer name "p$number"
    ip link set "p$number" master zc0 up
    on "$name" ip addr add "$net.$((number + 1))/24" dev eth0
    on "$name" ip link set eth0 up
}

on() { # HOST COMMAND ...
    local own=(-p)

    [[ $1 != h0 ]] || own=()
    nsenter -t "${holder[$1]}" -m -u -i -n "${own[@]}" --wd="$PWD" -- "${@:2}"
}

# login COMMAND ...: on h0; what has not ended after 90 seconds is listed and killed.
login() {
    local pid

    on h0 timeout -k 5 100 "$@" </dev/null &
    pid=$!
    wait_for 90 gone "$pid" || ps -eo pid,ppid,stat,wchan:24,args --forest >&2
    wait "$pid"
}

unreachable() { ip link set "p${1#h}" nomaster; }

hosts_up() { # N
    local i

    [[ -n $tmp ]] || make_tmp
    chmod 755 "$tmp"
    cd "$tmp" || exit 99
    mkdir net
    export HOME=$tmp/home
    mkdir -p "$HOME"
    {
        echo "127.0.0.1 localhost"
        for ((i = 0; i <= $1; i++)); do echo "$net.$((i + 1)) h$i"; done
    } >net/hosts
    ip link set lo up
    ip link add zc0 type bridge forward_delay 0 stp_state 0
    ip link set zc0 up
    for ((i = 0; i <= $1; i++)); do host_up "h$i" "$i"; done
    remote=$tmp/net/remote
    cat >"$remote" <<END
#!/bin/sh
pid=\$(cat "$tmp/net/\$1.pid") || exit 255
exec nsenter -t "\$pid" -m -u -i -n -p --wd=/ -- /bin/sh -c "\$2"
END
    chmod +x "$remote"
    export ZCACHE_SSH=$remote
}

# ---- Slurm ------------------------------------------------------------------------------------
# Debian's packages; nothing of the system's own configuration is used or changed.
# slurm_more: lines of slurm.conf, with @TMP@ for the test's directory.
slurm_more=
slurm_up() { # N
    local i tool

    for tool in munged slurmctld slurmd srun sbatch; do
        command -v $tool >/dev/null || {
            echo "skipped: no $tool (Debian: munge slurmctld slurmd slurm-client" \
                "slurm-wlm-basic-plugins)"
            exit 77
        }
    done
    hosts_up "$1"
    mkdir -p slurm/state
    head -c 128 /dev/urandom >slurm/munge.key
    chmod 400 slurm/munge.key
    cat >slurm/slurm.conf <<END
ClusterName=zcache
SlurmctldHost=h0
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=/run/munge.socket
StateSaveLocation=$tmp/slurm/state
SlurmdSpoolDir=$tmp/slurm/spool.%n
SlurmctldPidFile=$tmp/slurm/slurmctld.pid
SlurmdPidFile=$tmp/slurm/slurmd.%n.pid
SlurmctldLogFile=$tmp/slurm/slurmctld.log
SlurmdLogFile=$tmp/slurm/slurmd.%n.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=pmi2
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
PropagateResourceLimits=NONE
ReturnToService=2
KillWait=30
SlurmdParameters=config_overrides
${slurm_more//@TMP@/$tmp}
NodeName=h[1-$1] CPUs=4 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
    export SLURM_CONF=$tmp/slurm/slurm.conf
    for ((i = 0; i <= $1; i++)); do
        on "h$i" munged --force --key-file="$tmp/slurm/munge.key" --socket=/run/munge.socket \
            --pid-file=/run/munged.pid --log-file=/run/munged.log --seed-file=/run/munge.seed \
            --num-threads=2 || fail "munged on h$i"
    done
    on h0 slurmctld || fail "slurmctld"
    nodes=()
    for ((i = 1; i <= $1; i++)); do
        nodes+=("h$i")
        mkdir -p "slurm/spool.h$i"
        on "h$i" slurmd || fail "slurmd on h$i"
    done
    wait_for 60 slurm_ready "$1" ||
        fail "Slurm: $(on h0 sinfo -N -l 2>&1; tail -n 5 slurm/*.log)"
}

slurm_ready() { [[ $(on h0 sinfo -h -t idle -o %D 2>/dev/null) == "$1" ]]; }

# job SECONDS [sbatch option ...] SCRIPT [ARGUMENT ...]: runs it to its end; its output is in
# $tmp/job.out, its state in $job_state.
job() {
    local seconds=$1

    shift
    submit "$@"
    wait_for "$seconds" job_ended ||
        fail "job $job_id does not end: $(on h0 scontrol show job "$job_id"; cat "$tmp/job.out")"
    wait_for 60 slurm_ready "${#nodes[@]}" || fail "nodes are not free again: $(on h0 sinfo -N -l)"
}

submit() {
    rm -f "$tmp/job.out"
    job_id=$(on h0 "${as_user[@]}" sbatch --parsable --output="$tmp/job.out" "$@") ||
        fail "sbatch $*"
}
as_user=()

job_ended() {
    job_state=$(on h0 scontrol show job "$job_id" | sed -n 's/.*JobState=\([A-Z]*\).*/\1/p')
    [[ $job_state == @(COMPLETED|FAILED|CANCELLED|TIMEOUT|NODE_FAIL) ]]
}
