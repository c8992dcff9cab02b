#!/usr/bin/env bash
# zcache run, start, status, stop with daemons on other hosts, simulated by a remote shell of ours:
# it runs on this host what it is given, as the shell of that host would.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir "a root" home
export XDG_RUNTIME_DIR=$tmp HOME=$tmp/home tmp
unset SLURM_JOB_ID
cat >rsh <<'END'
#!/bin/sh
# rsh HOST COMMAND: "dead" cannot be reached, "mute" never answers, "bare" has no zcache, "blind"
# sees another directory.
echo "$1" >>"$tmp/asked"
case $1 in
dead) echo "rsh: no route to dead" >&2; exit 255 ;;
mute) exec sleep 300 ;;
bare) exec sh -c "PATH=/nowhere exec /nowhere/zcache" ;;
blind) exec unshare -m sh -c 'mount -t tmpfs t "$1" && exec sh -c "$2"' - "$tmp/state" "$2" ;;
esac
exec /bin/sh -c "$2"
END
chmod +x rsh
export ZCACHE_SSH="$tmp/rsh"
opts=(--cache-size 16M --root "a root")
run() { "$zcache" run --no-preload "${opts[@]}" "$@"; }
nothing_left() {
    [[ -z $(find "$tmp"/zcache-* home state -mindepth 1 -not -name .zcache 2>/dev/null) ]] ||
        fail "left: $(find "$tmp"/zcache-* home)"
}

# One daemon per host, in order; a file of hosts as for MPI libraries; K on each.
expect 0 "*
0 *serving*$tmp/a root
1 *serving*$tmp/a root" run --hosts a,b "$zcachectl" status
nothing_left
printf '# hosts\na:4\nb slots=2\n\nb\n' >"host file"
expect 0 "*
3 *serving*" run --hosts "./host file" --per-node 2 "$zcachectl" status
expect 0 "a b a 0
0 a
1 b
2 a" run --hosts a,b --daemons 3 --state "$tmp/state" \
    bash -c 'sed "s/^[^ ]* //" state/zcache.hosts | tr "\n" " "; echo 0; cat state/zcache.hosts'
nothing_left
# Blanks in names, also of the directory that others see.
expect 0 "*
1 *serving*$tmp/a root" run --hosts a,b --state "$tmp/a state's" "$zcachectl" status
[[ ! -e "a state's" ]] || fail "left: $(ls "a state's")"
# Aggregators go round hosts of their own, with daemons or without, and end before these.
# shellcheck disable=SC2016
expect 0 "*
0 *serving*
1 *serving*
2 *serving*" run --hosts a --aggregator-hosts b,c --aggregators 3 \
    sh -c '"$0" --daemons "$ZCACHE_AGGREGATORS" status' "$zcachectl"
[[ $(sort -u asked) == "a
b
c" ]] || fail "asked $(cat asked)"
nothing_left
# shellcheck disable=SC2016
expect 1 "zcache: aggregator 1 on c was killed by signal 9; its log*what aggregator 1 on c had*" \
    run --daemons 0 --aggregator-hosts b,c \
    sh -c 'kill -KILL "$(sed -n "s/^pid //p" "$ZCACHE_AGGREGATORS/1.addr")"'
rm -rf home/.zcache/*
expect 1 "zcache: aggregator 1: no way to host dead:*no route to dead*" \
    run --aggregator-hosts a,dead true
rm -rf home/.zcache/*
# This host needs no remote shell.
rm asked
expect 0 "" run --hosts "$(uname -n)" true
[[ ! -e asked ]] || fail "asked $(cat asked)"
# Internal variables are not passed on to daemons and programs.
# shellcheck disable=SC2016
expect 0 "none" run --hosts a sh -c 'cat "$ZCACHE_DAEMONS"/*.log; echo ${ZCACHE_SSH-none}'

# The exit status is the job's; messages and losses of daemons are reported.
expect 7 "" run --hosts a,b sh -c 'exit 7'
# shellcheck disable=SC2016
expect 1 "zcache: daemon 1 on b was killed by signal 9; its log*logs are kept in *" \
    run --hosts a,b sh -c 'kill -KILL "$(sed -n "s/^pid //p" "$ZCACHE_DAEMONS/1.addr")"'
rm -rf home/.zcache/*
expect 1 "zcache: daemon 0 on a did not start:*--cache-size 1M holds fewer than 2 pages*" \
    "$zcache" run --no-preload --hosts a,b --cache-size 1M true
rm -rf home/.zcache/*

# Errors of a host.
expect 1 "zcache: daemon 1: no way to host dead:*no route to dead*" run --hosts a,dead true
expect 1 "zcache: daemon 0: host bare has no $zcache: zcache must be where it is here*" \
    run --hosts bare true
expect 1 "zcache: daemon 0 on mute has not started within 1 s*" \
    run --hosts mute --wait 1 true
rm -rf home/.zcache/*
expect 1 "zcache: --interface: * has no network interface nosuch0*" \
    run --interface nosuch0 true
expect 1 "zcache: daemon 0 on a did not start:*no network interface nosuch0*" \
    run --hosts a --interface nosuch0 true
expect 1 "zcache: daemon 0 on a listens at 127.0.0.1, which other hosts do not reach; *" \
    run --hosts a --interface lo true
# The configuration file is not overruled; a daemon alone on a host listens locally only.
printf 'listen = lo\n' >lo.conf
expect 1 "zcache: daemon 0 on a listens at 127.0.0.1, which other hosts do not reach; *" \
    run --hosts a --config lo.conf true
# shellcheck disable=SC2016
expect 0 "*address 0200????7f000001*" run sh -c 'cat "$ZCACHE_DAEMONS/0.addr"'
rm -rf home/.zcache/*
if unshare -m true 2>/dev/null; then
    expect 1 "zcache: daemon 1: the state directory $tmp/state is not visible on host blind; use *" \
        run --hosts a,blind --state state true
    rm -rf state
fi
expect 0 "" run --hosts a true

# start, status, stop: in a directory that other hosts see, which need not be named.
expect 0 "" "$zcache" start --hosts a,b "${opts[@]}"
expect 0 "*
0 *serving*
1 *serving*" "$zcache" status
unset ZCACHE_SSH # is remembered
expect 1 "zcache: daemons run already in *ends them" "$zcache" start --ssh "$tmp/rsh" --hosts a "${opts[@]}"
expect 0 "" "$zcache" stop
expect 1 "zcache: nothing was started here: *" "$zcache" status
nothing_left
export ZCACHE_SSH="$tmp/rsh"

# If one does not start the others are stopped.
expect 1 "zcache: daemon 1: no way to host dead:*" "$zcache" start --hosts a,dead "${opts[@]}"
expect 1 "zcache: nothing was started here: *" "$zcache" status

# A daemon that does not answer gets a signal on its host, and no other process does.
expect 0 "" "$zcache" start --hosts a --state state "${opts[@]}"
pid=$(daemon_of state/0.addr)
cleanup_fn "kill -KILL $pid 2>/dev/null"
cp state/0.addr kept
sed -i 's/^boot .*/boot 0123456789abcdef/' state/0.addr
expect 1 "zcachectl: 0: another daemon answers*" "$zcache" stop --state state
wait_for 30 gone "$pid" || fail "it runs on"

# Interrupted: the job ends, what it wrote is written back, and nothing stays.
job='trap "exit 3" INT; echo $$ >pid; while :; do sleep 0.1; done'
rm -rf state pid
(
    trap - INT
    exec "$zcache" run --no-preload "${opts[@]}" --hosts a,b --state state sh -c "$job"
) 2>err &
pid=$!
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
daemon=$(daemon_of state/1.addr)
kill -INT "$pid"
wait "$pid"
status=$?
((status == 3)) || fail "status $status: $(cat err)"
gone "$daemon" || fail "the daemon stayed"
[[ ! -e state ]] || fail "left: $(ls state)"

# zcache itself is killed: the daemons notice, wherever they are.
rm -f pid
"$zcache" run --no-preload "${opts[@]}" --hosts a,b --state state \
    sh -c 'echo $$ >pid; exec sleep 60' 2>err &
pid=$!
wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
cleanup_fn "kill -KILL $(cat pid) 2>/dev/null"
daemon=$(daemon_of state/1.addr)
kill -KILL "$pid"
wait_for 30 gone "$daemon" || fail "the daemon stayed"

# Usage errors.
expect 2 "zcache: --hosts: \"-oProxy\" is not the name of a host; *" run --hosts a,-oProxy true
expect 2 "zcache: --hosts: \"a;b\" is not the name of a host; *" run --hosts 'a;b' true
expect 2 "zcache: --hosts: cannot read the file ./nowhere*" run --hosts ./nowhere true
expect 2 "zcache: --hosts: \"\" is not the name of a host*" run --hosts a,,b true
: >empty
expect 2 "zcache: --hosts: \"empty\" names no host*" run --hosts empty true
expect 2 "zcache: --daemons 0 is no daemon, for which --hosts has no use*" \
    run --hosts a --daemons 0 true
expect 2 "zcache: --daemons and --per-node both say how many*" \
    run --hosts a --daemons 2 --per-node 2 true
expect 2 "zcache: --per-node: \"0\" is not allowed*" run --per-node 0 true
expect 1 "zcache: --ssh: nosuch: no such command" run --hosts a --ssh nosuch true
expect 2 "zcache: --root: the shell has not replaced ~ in *" run --root='~/x' true
expect 2 "zcache: --root: there is no directory nowhere; make it*" run --root nowhere true
expect 2 "zcache: --root: rsh is not a directory*" run --root rsh true
expect 2 "zcache: run: the shell does not replace ~ in \"zcache:~/x\"*" run true 'zcache:~/x'
expect 0 "zcache: run: zchache:/x: did you mean zcache:/x[?]" run true zchache:/x
expect 0 "" run true ufs:/x zcache:/x http://x cache:x
