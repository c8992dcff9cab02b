# stores.sh - the file systems that benchmarks write to.  Sourced by bash, after functions.sh.
#
#     slow      slowfs: a modelled network file system; the files are in memory
#     disk      a directory of the plain disk, through the page cache
#     gluster   GlusterFS, a real parallel file system: one brick in memory, behind a network
#               of limited rate; needs root, and no other glusterd
#
# All of them appear below one directory, $stores, so that one daemon serves them all.
# shellcheck shell=bash disable=SC2154 # tmp, memory, opt, build, stores

# store_up NAME: makes $stores/NAME and $below/NAME, the same behind the back of the file
# system; when it cannot, the cause is in $store_obstacle.
declare -A below=()
store_obstacle=

# stores_create DIRECTORY: where $stores is to be; it goes at exit, with all that is mounted there.
stores_create() {
    mkdir -p "$1" && stores=$(mktemp -d "$1/stores.XXXXXX") || fail "no directory for the files"
    cleanup_fn stores_remove
}

stores_remove() {
    slowfs_unmount "$stores/slow"
    [[ -z $gluster_dir ]] || gluster_down
    rm -rf --one-file-system -- "$stores"
}

store_up() {
    store_obstacle=
    mkdir -p "$stores/$1"
    below[$1]=$stores/$1
    "store_up_$1"
}

# store_about NAME: what it is, in words.
store_about() {
    case $1 in
    slow)
        echo "slowfs, a modelled network file system: one server of $((opt[rate])) MB/s," \
            "${opt[op-us]} us per request, ${opt[latency-us]} us round trip," \
            "nothing cached by its clients"
        ;;
    disk)
        echo "the disk of this machine, $(findmnt -n -o FSTYPE -T "$stores/disk")," \
            "through the page cache"
        ;;
    gluster)
        echo "GlusterFS $(gluster --version | awk 'NR == 1 { print $2 }'), one brick in memory" \
            "behind a network of $((opt[rate])) MB/s; what its clients do by default to cache," \
            "read ahead and write behind is switched off, files are opened for direct I/O"
        ;;
    esac
}

store_up_slow() {
    store_obstacle=$(slowfs_obstacle)
    [[ -z $store_obstacle ]] || return 1
    below[slow]=$memory/slow
    mkdir "$memory/slow"
    slowfs_mount "$memory/slow" "$stores/slow" --write-rate "${opt[rate]}M" \
        --read-rate "${opt[rate]}M" \
        --op-us "${opt[op-us]}" --latency-us "${opt[latency-us]}" && return
    store_obstacle=$(tail -n 1 "$tmp/slowfs.log")
    return 1
}

store_up_disk() { :; }

# ---- GlusterFS --------------------------------------------------------------------------
# Its server lives in a network namespace; what leads there is limited in rate both ways.
gluster_dir=
gluster_ns=zcache-bench
gluster_link=zcbench
gluster_net=10.79.117

store_up_gluster() {
    store_obstacle=$(gluster_obstacle)
    [[ -z $store_obstacle ]] || return 1
    gluster_dir=$(mktemp -d /dev/shm/zcache-gluster.XXXXXX)
    gluster_start >"$tmp/gluster.log" 2>&1 && return
    store_obstacle="it did not start: $(tail -n 1 "$tmp/gluster.log")"
    gluster_down
    return 1
}

gluster_obstacle() {
    local program

    for program in glusterd gluster ip tc nsenter; do
        command -v "$program" >/dev/null ||
            { echo "no $program (Debian: glusterfs-server, glusterfs-client, iproute2)"; return; }
    done
    if ((EUID)); then
        echo "only root can set it up"
    elif [[ -e /run/netns/$gluster_ns ]]; then
        echo "the network namespace $gluster_ns is in use; ip netns del $gluster_ns"
    elif gluster_runs; then
        echo "another glusterd is running"
    fi
}

gluster_runs() { gluster --mode=script --timeout=5 pool list >/dev/null 2>&1; }
gluster_within() { nsenter --net="/run/netns/$gluster_ns" "$@"; }

gluster_start() {
    local dir=$gluster_dir end rate=$((opt[rate] * 8))mbit option off=()

    mkdir -p "$dir/brick" "$dir/glusterd" && below[gluster]=$dir/brick
    ip netns add $gluster_ns && ip link add ${gluster_link}0 type veth peer name ${gluster_link}1 &&
        ip link set ${gluster_link}1 netns $gluster_ns &&
        ip addr add $gluster_net.1/24 dev ${gluster_link}0 && ip link set ${gluster_link}0 up &&
        gluster_within ip addr add $gluster_net.2/24 dev ${gluster_link}1 &&
        gluster_within ip link set ${gluster_link}1 up && gluster_within ip link set lo up || return
    for end in 'tc qdisc add dev zcbench0' 'gluster_within tc qdisc add dev zcbench1'; do
        $end root tbf rate "$rate" burst 256kb latency 50ms || return
    done
    sed "s#/var/lib/glusterd#$dir/glusterd#" /etc/glusterfs/glusterd.vol >"$dir/glusterd.vol" ||
        return
    gluster_within glusterd --volfile="$dir/glusterd.vol" -p "$dir/pid" -l "$dir/glusterd.log" \
        -L WARNING || return
    wait_for 30 gluster_runs || return
    gluster --mode=script volume create zcache $gluster_net.2:"$dir/brick" force || return
    for option in write-behind quick-read io-cache read-ahead stat-prefetch open-behind; do
        off+=("performance.$option" off)
    done
    gluster --mode=script volume set zcache "${off[@]}" || return
    gluster --mode=script volume start zcache || return
    mount -t glusterfs -o "direct-io-mode=enable,log-file=$dir/client.log" $gluster_net.2:/zcache \
        "$stores/gluster" || return
    gluster_check "$stores/gluster/check"
}

# An instance can be much slower than its network, for no visible cause; better none than that.
gluster_check() {
    local began=$EPOCHREALTIME status

    timeout 60 dd if=/dev/zero of="$1" bs=1M count=64 2>&1
    status=$?
    rm -f "$1"
    ((status == 0)) || return
    awk -v bytes=$((64 << 20)) -v from="$began" -v to="$EPOCHREALTIME" \
        -v rate="${opt[rate]}" 'BEGIN {
        mb = bytes / 1e6 / (to - from)
        printf "a plain write reaches %.0f MB/s of %d\n", mb, rate
        exit mb < rate / 3 }'
}

# All of it goes, so there is nothing to be stopped with care.
gluster_down() {
    local pid

    umount -l "$stores/gluster"
    for pid in $(ip netns pids $gluster_ns); do kill -KILL "$pid"; done
    rm -f /var/run/glusterd.socket
    ip link del ${gluster_link}0
    ip netns del $gluster_ns
    rm -rf -- "$gluster_dir"
    gluster_dir=
} >>"$tmp/gluster.log" 2>&1
