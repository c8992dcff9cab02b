# shellcheck shell=bash
# hosts.sh - daemons on several hosts: which hosts, and how a command gets there.
#
# A part of the launcher, iod/zcache.in; uses what that sets.
#
# What runs on another host is this program again ("on-host", see remote.sh).  It gets there by
# srun, where the host is one of this Slurm job's, else by ssh, its words quoted once for the remote
# shell.  A state directory remembers its hosts and the remote shell, for later commands:
#
#     zcache.hosts    a line a daemon: its number, its host as the user wrote it
#     zcache.ssh      the remote shell, a word a line
#     zcache.token    tells this directory from another of the same name on another host
#
# Exit statuses that are ours, not a daemon's, when a daemon was to be started on another host:
unseen=66   # the state directory cannot be seen there
no_device=67 # the host has no such network interface; it has said so

hosts=()        # --hosts, each once
aggregator_hosts=()
hosts_option=--hosts
host_of=()      # by number of the daemon; empty: here
id_of=()        # likewise: what its files in the state directory begin with
ssh=()          # the remote shell
start_time=60   # seconds that daemons get to be ready
export -n ZCACHE_SSH 2>/dev/null # daemons and programs would ask what it means

need_host_name() {
    [[ $1 =~ ^[A-Za-z0-9]([A-Za-z0-9._-]{0,252}[A-Za-z0-9])?$ ]] ||
        misuse "$hosts_option: \"$1\" is not the name of a host; it takes names or addresses," \
            "separated by commas, or a file with one in a line"
}

# One of each; h1:4 and "h1 slots=4" are h1, so that an MPI library's host file will do.
add_host() {
    local name=${1%%:*} host

    need_host_name "$name"
    for host in "${hosts[@]}"; do [[ $host != "$name" ]] || return 0; done
    hosts+=("$name")
}

read_hosts() { # LIST or FILE
    local line name list=()

    if [[ $1 == */* || -f $1 ]]; then
        [[ -r $1 && ! -d $1 ]] || misuse "$hosts_option: cannot read the file $1"
        while read -r line || [[ -n $line ]]; do
            line=${line%%#*}
            read -r name _ <<<"$line"
            [[ -z $name ]] || add_host "$name"
        done <"$1"
    else
        IFS=, read -ra list <<<"$1"
        for name in "${list[@]}"; do add_host "$name"; done
    fi
    ((${#hosts[@]})) || misuse "$hosts_option: \"$1\" names no host"
}

read_aggregator_hosts() { # LIST or FILE
    local hosts=() hosts_option=--aggregator-hosts

    read_hosts "$1"
    aggregator_hosts=("${hosts[@]}")
}

# ---- Slurm ------------------------------------------------------------------------
in_slurm() { [[ -n ${SLURM_JOB_ID:-} && -n ${SLURM_JOB_NODELIST:-} ]]; }

job_nodes=()
read_job_nodes() {
    ((${#job_nodes[@]})) && return
    mapfile -t job_nodes < <(scontrol show hostnames "$SLURM_JOB_NODELIST" 2>/dev/null)
    ((${#job_nodes[@]})) ||
        die "job $SLURM_JOB_ID: scontrol does not say which hosts $SLURM_JOB_NODELIST are"
}

# A remote shell that was named has precedence.
by_srun() { # HOST
    local node

    [[ -z $ssh_option ]] && in_slurm && command -v srun >/dev/null || return 1
    read_job_nodes
    for node in "${job_nodes[@]}"; do [[ $node != "$1" ]] || return 0; done
    return 1
}

# ---- getting there ----------------------------------------------------------------------
here=$(uname -n)

is_here() {
    [[ -z $1 || $1 == "$here" || $1 == localhost || $1 == "${SLURMD_NODENAME:-}" ]] && return
    # One of them may have its domain.
    [[ $1 == "${here%%.*}" || ${1%%.*} == "$here" ]]
}

# ssh does not ask, for it is not at the terminal, and notices when the other side is gone.
choose_ssh() {
    if [[ -n $ssh_option ]]; then
        read -ra ssh <<<"$ssh_option"
    elif [[ -s $state/zcache.ssh ]]; then
        mapfile -t ssh <"$state/zcache.ssh"
    elif [[ -n ${ZCACHE_SSH:-} ]]; then
        read -ra ssh <<<"$ZCACHE_SSH"
    else
        ssh=(ssh -T -x -o BatchMode=yes -o ConnectTimeout=10 -o ServerAliveInterval=15)
    fi
    ((${#ssh[@]})) || misuse "--ssh: the name of a command is missing"
    type -P -- "${ssh[0]}" >/dev/null || die "--ssh: ${ssh[0]}: no such command"
}

quoted() {
    local word text=

    for word; do text+=" '${word//\'/\'\\\'\'}'"; done
    printf '%s' "${text# }"
}

# to_host HOST WORD ...: sets `there` to the command that runs "zcache on-host WORD ..." on HOST.
there=()
to_host() {
    local host=$1

    shift
    if by_srun "$host"; then
        there=(srun --jobid="$SLURM_JOB_ID" --overlap --nodes=1 --ntasks=1 --ntasks-per-node=1
            --cpus-per-task=1 --mem=0 --nodelist="$host" --mpi=none --chdir=/ --quiet
            --export=ALL "$self" on-host "$@")
    else
        ((${#ssh[@]})) || choose_ssh
        there=("${ssh[@]}" "$host" "$(quoted "$self" on-host "$@")")
    fi
}

# ask_host HOST WORD ...: runs it, and is not waited for longer than is bearable.
ask_host() {
    to_host "$@"
    timeout -k 2 20 "${there[@]}" </dev/null
}

# What a daemon there needs of our environment.
settings_to_send() {
    local name

    for name in $(compgen -e); do
        case $name in
        FI_* | LD_LIBRARY_PATH | ZCACHE_LOG | ZCACHE_PROVIDER | ZCACHE_TIMEOUT | ZCACHE_LOCAL | \
            ZCACHE_HANG_REPORT | ZCACHE_ALLOW_ROOT | ZCACHE_MUNGE_SOCKET | ZCACHE_DUMP_CACHES)
            printf '%s=%s\0' "$name" "${!name}"
            ;;
        esac
    done
}

# ---- which daemon is where ---------------------------------------------------------------
elsewhere=0 # a daemon is on another host
ours=1      # a daemon is on this host

# Alone on a host daemons need no network.  Where others are to reach them, and neither --interface
# nor the configuration file says how, the provider's first address has to do.
choose_listen() {
    local address

    if [[ -z $interface ]] && several_hosts && ! in_config listen; then interface=fabric; fi
    [[ -n $interface && $ours != 0 ]] || return 0
    address=$(address_of_interface "$interface") || exit 1
    listen=(--listen "$address")
}

several_hosts() {
    ((${#hosts[@]} || ${#aggregator_hosts[@]})) ||
        { in_slurm && ((${SLURM_JOB_NUM_NODES:-${SLURM_NNODES:-1}} > 1)); }
}

# Daemons go round the hosts: neighbouring blocks of a file are on different ones.  So do
# aggregators, whose numbers are those behind.
spread_daemons() {
    local i

    host_of=() id_of=() elsewhere=0 ours=0
    for ((i = 0; i < count; i++)); do
        put_on "$i" "$i" "${hosts[@]}"
        id_of[i]=$i
    done
    for ((i = count; i < count + aggregators; i++)); do
        put_on "$i" $((i - count)) "${aggregator_hosts[@]}"
    done
}

# put_on I N HOST ...: I, the N-th of them that go round these hosts.
put_on() {
    local i=$1 n=$2 host=

    shift 2
    if (($#)); then
        shift $((n % $#))
        host=$1
    fi
    if is_here "$host"; then
        host=
        ours=1
    else
        elsewhere=1
    fi
    host_of[i]=$host
}

is_aggregator() { (($1 >= count)); }

short_name_of() {
    if is_aggregator "$1"; then echo "aggregator $(($1 - count))"; else echo "daemon $1"; fi
}

name_of() { echo "$(short_name_of "$1")${host_of[$1]:+ on ${host_of[$1]}}"; }

remember_hosts() {
    local i

    for ((i = 0; i < count; i++)); do
        printf '%s %s\n' "$i" "${host_of[i]:-$here}"
        if [[ -z ${host_of[i]} ]]; then cat /proc/sys/kernel/random/boot_id >"$state/$i.boot"; fi
    done >"$state/zcache.hosts"
    ((elsewhere)) || return 0
    for i in "${!host_of[@]}"; do
        if [[ -z ${host_of[i]} ]] || by_srun "${host_of[i]}"; then continue; fi
        choose_ssh
        printf '%s\n' "${ssh[@]}" >"$state/zcache.ssh"
        break
    done
    token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
    printf '%s\n' "$token" >"$state/zcache.token"
}

# The host of an address file, as the user wrote it; else as the daemon did.
recall_host() { # FILE
    local i=${1##*/} number host

    i=${i%.addr}
    while read -r number host; do
        if [[ $number == "$i" ]]; then
            printf '%s' "$host"
            return
        fi
    done < <(cat "$state/zcache.hosts" 2>/dev/null)
    sed -n 's/^host //p' "$1"
}

# ---- daemons on other hosts ---------------------------------------------------------------
# launch_there I MODE: as a child of ours, which ends when the daemon does ("serve", "stay") or
# when it is ready ("detach").  A daemon that serves for us ends when its input does: `hold`, which
# we alone have open.
launch_there() {
    local i=$1 settings=() options=("${daemon_options[@]}") errors=$state/${id_of[$1]}.err

    mapfile -d '' -t settings < <(settings_to_send)
    if is_aggregator "$i"; then
        options=("${aggregator_options[@]}")
        settings+=("ZCACHE_UNWRITTEN=$work/unwritten")
    fi
    to_host "${host_of[i]}" "$2" "$state" "$token" "${id_of[i]}" "$interface" "${settings[@]}" -- \
        "${options[@]}"
    if [[ $2 == serve ]]; then
        setsid env -u LD_PRELOAD "${there[@]}" <"$fifo" >"$errors" 2>&1 {err}>&- {hold}>&- &
    else
        setsid env -u LD_PRELOAD "${there[@]}" </dev/null >"$errors" 2>&1 &
    fi
    pids[i]=$!
}

# "start": srun's child stays with its daemon, ssh's ends when it is ready.
start_there() {
    if by_srun "${host_of[$1]}"; then
        launch_there "$1" stay
    else
        detached=1
        launch_there "$1" detach
    fi
}

# Remote shells of daemons that are not ready, when the others will not be used.
drop_unready() {
    local i

    for i in "${!pids[@]}"; do
        [[ -z ${host_of[i]} || -z ${pids[i]} || -e $state/${id_of[i]}.addr ]] ||
            kill -TERM "${pids[i]}" 2>/dev/null
    done
}

# start: one that goes to the background behind our back would stay.
await_unready() {
    local i

    for i in "${!pids[@]}"; do
        while ((SECONDS <= start_time)) && alive "$i" && [[ ! -e $state/$i.addr ]]; do
            sleep 0.1
            has_address_files
        done
    done
}

make_hold() {
    local dir

    dir=$(mktemp -d) || die "cannot make a directory in ${TMPDIR:-/tmp}"
    fifo=$dir/hold
    mkfifo -m 600 -- "$fifo" || die "cannot make a pipe in $dir"
    exec {hold}<>"$fifo"
}

drop_hold() {
    [[ -n ${fifo:-} ]] || return 0
    exec {hold}>&-
    rm -f -- "$fifo"
    rmdir -- "${fifo%/*}"
    fifo=
}

# Why a daemon on another host did not start.  By ssh's custom 255 is its own failure; a shell says
# 126, 127 of a program that is not there.
explain_start() { # I STATUS
    local host=${host_of[$1]}

    case $2 in
    "$unseen")
        say "$(short_name_of "$1"): the state directory $state is not visible on host $host;" \
            "use --state on a shared directory"
        ;;
    126 | 127) say "$(short_name_of "$1"): host $host has no $self: zcache must be where it is here" ;;
    255) say "$(short_name_of "$1"): no way to host $host:" ;;
    *) say "$(name_of "$1") did not start:" ;;
    esac
    (($2 == unseen)) || show_log "$1"
}

# An address that only its own host reaches; the file begins it with AF_INET and the port.
check_reach() { # FIRST END: by number
    local i

    ((elsewhere || ${#hosts[@]} > 1 || ${#aggregator_hosts[@]} > 1)) || return 0
    for ((i = $1; i < $2; i++)); do
        grep -q '^address 0200....7f' "$state/${id_of[i]}.addr" || continue
        say "$(name_of "$i") listens at 127.0.0.1, which other hosts do not reach; give" \
            "--interface, the network interface that hosts reach each other by"
        return 1
    done
}

# Asks a daemon on another host to stop, in the background: by its own protocol, or, if it does not
# answer, by a signal to the process of its address file.
stop_there() {
    local i=$1

    [[ -e $state/${id_of[i]}.addr ]] || return 0
    to_host "${host_of[i]}" end "$state" "${id_of[i]}" once
    (
        trap '' INT
        "$zcachectl" --daemons "$state/${id_of[i]}.addr" stop || timeout -k 2 30 "${there[@]}"
    ) </dev/null >"$state/${id_of[i]}.err" 2>&1 {err}>&- {hold}>&- &
}

# Second interrupt: whatever is not written yet is given up.
give_up_there() {
    to_host "${host_of[$1]}" end "$state" "${id_of[$1]}" now
    (
        trap '' INT
        timeout -k 2 30 "${there[@]}"
    ) </dev/null >"$state/${id_of[$1]}.err" 2>&1 {err}>&- {hold}>&- &
}
