# shellcheck shell=bash
# remote.sh - "zcache on-host ...": what the launcher has to do on the host of a daemon.
#
# A part of the launcher, iod/zcache.in.  These are its own words between hosts, not commands for
# people:
#
#     serve|stay|detach STATE TOKEN I INTERFACE [NAME=VALUE ...] -- [zcached option ...]
#     judge STATE I               what became of daemon I: see exit_status.sh
#     end STATE I once|now        a signal to it, if it still is that daemon
#
# serve stays until the daemon ends, with its exit status, and ends it when our input ends, which
# is when the process that started it has ended.  stay does the same, whatever the input does.
# detach returns when the daemon is ready.

# The state directory is the one that we were started for; a file server may need a moment.
sees_state() { # STATE TOKEN
    local tries

    for ((tries = 0; tries < 30; tries++)); do
        [[ $(cat -- "$1/zcache.token" 2>/dev/null) == "$2" ]] && return
        sleep 0.1
        compgen -G "$1/*" >/dev/null # looks into it anew
    done
    return 1
}

address_of_interface() {
    local address

    case $1 in fabric | loopback) printf '%s' "$1"; return ;; esac
    address=$(ip -o -4 addr show dev "$1" 2>/dev/null |
        awk '{ sub("/.*", "", $4); print $4; exit }')
    if [[ -z $address ]]; then
        say "--interface: $here has no network interface $1 with an IPv4 address"
        exit "$no_device"
    fi
    printf '%s' "$address"
}

# A signal that Slurm sends to all processes of a step reaches the daemon by itself, and is not
# forwarded: at a second SIGINT the daemon gives up what is not written.
serve_here() { # MODE, zcached option ...
    local mode=$1 watch= status

    shift
    trap : TERM INT HUP
    if [[ $mode == serve ]]; then
        (
            trap - TERM INT HUP
            while read -r _; do :; done
            # It may not be there yet.  SIGTERM would begin its grace time.
            while kill -0 $$ 2>/dev/null; do
                pkill -PWR -P $$ -x zcached
                sleep 0.5
            done
        ) <&0 &
        watch=$!
    fi
    (
        trap - TERM INT HUP
        exec "${ends_with_us[@]}" "$zcached" "$@" --log-file "$state/$i.log" --daemonize=false \
            </dev/null >>"$state/$i.log" 2>&1
    )
    status=$?
    [[ -z $watch ]] || kill "$watch" 2>/dev/null
    exit "$status"
}

start_here() { # MODE STATE TOKEN I INTERFACE [NAME=VALUE ...] -- [zcached option ...]
    local mode=$1 token=$3 i=$4 interface=$5 options=()

    state=$2
    shift 5
    while [[ $1 != -- ]]; do
        export "${1?}"
        shift
    done
    shift
    sees_state "$state" "$token" || exit "$unseen"
    options=("$@" --address-file "$state/$i.addr")
    if [[ -n $interface ]]; then
        interface=$(address_of_interface "$interface") || exit
        options+=(--listen "$interface")
    fi
    unset LD_PRELOAD
    cat /proc/sys/kernel/random/boot_id >"$state/$i.boot"
    if [[ $mode == detach ]]; then
        exec "$zcached" "${options[@]}" --log-file "$state/$i.log" --daemonize
    fi
    serve_here "$mode" "${options[@]}"
}

end_here() { # STATE I once|now
    local file=$1/$2.addr pid tries

    [[ $(judge_here "$file") == runs ]] || return 0
    if ! pid_counts "$file"; then # the number is another process's here
        "$zcachectl" --daemons "$file" stop
        return
    fi
    pid=$(sed -n 's/^pid //p' "$file")
    if [[ $3 != now ]]; then
        kill -PWR "$pid"
        return
    fi
    kill -INT "$pid" || return
    for ((tries = 0; tries < 50; tries++)); do
        sleep 0.2
        [[ $(judge_here "$file") == runs ]] || return 0
        kill -INT "$pid"
    done
}

do_on_host() {
    local word=${1:-}

    case $word in
    serve | stay | detach) start_here "$@" ;;
    judge) judge_here "$2/$3.addr" ;;
    end) end_here "$2" "$3" "$4" ;;
    *) misuse "unknown command \"on-host $word\"" ;;
    esac
}
