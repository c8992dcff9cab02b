#!/usr/bin/env bash
# A daemon in another PID or time namespace is asked before anything is concluded from its process
# id: a second one never puts it out of service, and tools reach it.  The same with users and
# networks.
. "$(dirname -- "$0")/functions.sh"

umask 077
make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root "$tmp/root" --cache-size 16M)

# in_new WHAT COMMAND ...: the command in namespaces of its own.
brief=(timeout -k 1 30) # one that serves after all ends, too
user=(--user --map-root-user)
in_new() {
    local what=$1

    shift
    case $what in
    pid) unshare "${root[@]}" --mount --pid --fork --mount-proc "$@" ;;
    old-proc) unshare "${root[@]}" --pid --fork "$@" ;; # /proc shows the parent's processes
    user) unshare "${user[@]}" --mount --pid --fork --mount-proc "$@" ;;
    time) unshare "${root[@]}" --time --boottime 123456 --monotonic 123456 --fork "$@" ;;
    net) unshare "${root[@]}" --mount --pid --net --fork --mount-proc "$@" ;;
    esac
}
root=()
((EUID == 0)) || root=("${user[@]}")
umount /proc/kallsyms 2>/dev/null # by tests/timed; a user namespace has no /proc but a whole one
ways=()
for way in pid old-proc user time net; do
    if in_new $way true 2>/dev/null; then
        ways+=("$way")
    else
        echo "left out: $way namespaces cannot be made here (unshare)"
    fi
done
((${#ways[@]})) || {
    echo "skipped: no namespaces here (unshare)"
    exit 77
}

# The daemon on the host.
start_daemon 0 "${opts[@]}"
cp 0.addr before
for way in "${ways[@]}"; do
    says='belongs to a daemon that runs'
    [[ $way != net ]] || says='cannot be asked from here'
    expect 1 "*0.addr belongs to a daemon *" \
        in_new "$way" "${brief[@]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr"
    [[ $output == *"$says"* ]] || fail "$way: $output"
    cmp 0.addr before || fail "$way: the address file was changed"
    if [[ $way == net ]]; then
        expect 1 "*loopback interface of another network namespace*" \
            in_new "$way" "$zcachectl" --daemons 0.addr status
    else
        expect 0 "*serving*" in_new "$way" "$zcachectl" --daemons 0.addr status
    fi
done
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status

# One that is stopped does not answer, and is alive all the same: its local socket is there.
kill -STOP "${daemon_pids[0]}"
expect 1 "*0.addr belongs to zcached ${daemon_pids[0]}*does not answer*" \
    in_new "${ways[0]}" "${brief[@]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr"
kill -CONT "${daemon_pids[0]}"
cmp 0.addr before || fail "the address file was changed"

# One that is dead has none; what it left is replaced, from within and from outside.
stop_daemon 0 KILL
in_new "${ways[0]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr" 2>1.log &
inside=$!
daemon_pids[1]=$inside
changed() { # cmp's status 1: in between there is no such file, and that is 2
    cmp -s 0.addr before
    (($? == 1))
}
wait_for 60 changed || fail "not replaced: $(cat 1.log)"

# The daemon in the container, seen from the host.
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
cp 0.addr before
expect 1 "*0.addr belongs to a daemon that runs*" \
    "${brief[@]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr"
cmp 0.addr before || fail "the address file was changed from outside"
for way in "${ways[@]}"; do # another container, in which the number 1 is another process, too
    [[ $way != net ]] || continue
    expect 1 "*0.addr belongs to a daemon that runs*" \
        in_new "$way" "${brief[@]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr"
done
cmp 0.addr before || fail "the address file was changed from another container"
expect 0 "*" "$zcachectl" --daemons 0.addr stop
wait "$inside" || fail "status $? of the daemon in the container: $(cat 1.log)"
daemon_pids=()

# An address file of an older release says nothing of namespaces: its daemon is asked.
start_daemon 0 "${opts[@]}"
sed -i '/^host_boot /d; /^pid_ns /d' 0.addr
cp 0.addr before
expect 1 "*0.addr belongs to a daemon that runs*" \
    in_new "${ways[0]}" "${brief[@]}" "$zcached" "${opts[@]}" --address-file "$tmp/0.addr"
cmp 0.addr before || fail "the address file of an older release was changed"
stop_daemon 0 || fail "status $? of the daemon"

# The launcher does the same, and ends no process that has the number by chance.
export XDG_RUNTIME_DIR=$tmp HOME=$tmp
expect 0 "*" "$zcache" start --state s "${opts[@]}"
cleanup_fn '[[ ! -e s/0.addr ]] || "$zcache" stop --state s'
sed "s/^pid .*/pid $$/" s/0.addr >away
cat away >s/0.addr # the number is this test's
sed -i 's/^pid_ns .*/pid_ns 1/' s/0.addr
expect 0 "*serving*" "$zcache" status --state s
expect 1 "*daemons run already*" "$zcache" start --state s "${opts[@]}"
expect 0 "*" "$zcache" stop --state s
