#!/usr/bin/env bash
# Malicious clients that know the secret: whatever they do, the daemon stays within its cache and 64
# MiB, and serves well-behaved clients.  By both ways to reach it.
. "$(dirname -- "$0")/functions.sh"

CACHE=16 # MiB
SUMS=0   # the same: checksums of what lies in it
make_tmp
[[ -z ${SANITIZED:-} ]] || echo "skipped, with sanitizers: the bound of its memory"
cd "$tmp" || exit 99
mkdir root
mkfifo hold
exec {hold}<>hold
zcput=$build/tests/daemon/zcput

kib() { sed -n "s/^$1:[^0-9]*\([0-9]*\) kB/\1/p" "/proc/${daemon_pids[0]}/status"; }
within_bound() { # WHAT
    local peak

    peak=$(kib VmHWM)
    echo "$1: resident $(($(kib VmRSS) / 1024)) MiB, peak $((peak / 1024)) of $((CACHE + SUMS + 64))"
    [[ -z ${SANITIZED:-} ]] || return 0 # whose own memory is in it
    ((peak <= (CACHE + SUMS + 64) * 1024)) || fail "$1: the daemon took $peak KiB"
}
over() { grep -qsx "done" out || gone "$1"; }
# come NUMBER LOCAL WHAT SESSIONS ENDPOINTS COUNT: returns when all is sent; the sessions stay.
come() {
    local pid

    rm -f out
    ZCACHE_LOCAL=$2 "$build/tests/daemon/zcflood" "$3" 0.addr "$tmp/root" "${@:4}" \
        <&"$hold" {hold}>&- >out 2>&1 &
    pid=$!
    daemon_pids[$1]=$pid # to be ended with us
    wait_for 300 over "$pid" || fail "$3: no end"
    grep -qx "done" out || fail "$3: $(cat out; tail -n 3 0.log)"
    within_bound "local $2, $3"
}
# flood LOCAL WHAT SESSIONS ENDPOINTS COUNT
flood() {
    come 1 "$@"
    stop_daemon 1 KILL
}

# crowd TOTAL: 64 sessions by the fabric, as a test can afford four endpoints of libfabric only, and
# the others by the local socket; sets $let_in and $refused.
crowd() {
    local in out

    come 1 0 crowd 64 4 1
    read -r let_in _ _ refused _ < <(tr -d , <out)
    come 2 1 crowd $(($1 - 64)) 100 1
    read -r in _ _ out _ < <(tr -d , <out)
    let_in=$((let_in + in)) refused=$((refused + out))
    echo "cache ${CACHE}M: of $1 sessions $let_in were let in, $refused refused"
    ((let_in + refused == $1)) || fail "that is not $1"
}
leave() { stop_daemon 2 KILL; stop_daemon 1 KILL; }
has_room() { local now; now=$(stat_of 0 sessions); ((${now:-1000} < 200)); }

start_daemon 0 --root root --cache-size "$CACHE"M
expect 0 written "$zcput" write 0.addr "$tmp/root/f" 40M
within_bound "a full cache"

flood 1 replies 1 1 20000
flood 1 replies 60 6 200
flood 1 lists 40 10 100
flood 1 opens 8 8 1500
flood 1 paths 4 4 500
flood 1 cards 20 10 500
flood 1 infos 200 10 2
flood 1 hellos 1 10 3000
(($(stat_of 0 unread) > 0)) || fail "no client was left unread"
flood 0 replies 4 2 500
flood 0 cards 8 2 200

# More clients than there is memory for, if each gets the minimum: some are refused, and the others
# stay.
crowd 1300
((refused > 0)) || fail "no client was refused"
leave
wait_for 60 has_room || fail "sessions whose clients are gone stay: $(tail -n 3 0.log)"

# The beginning of a message, and nothing after it.
address=$(sed -n 's/^address //p' 0.addr)
port=$((16#${address:4:4}))
for i in {1..200}; do
    exec {fd}<>"/dev/tcp/127.0.0.1/$port" || fail "no connection $i"
    printf '\1\2\3' >&"$fd"
done
within_bound "half messages"

# A well-behaved client is served throughout, and its bytes are there.
expect 0 written "$zcput" write 0.addr "$tmp/root/g" 8M
within_bound "in the end"
stop_daemon 0 || fail "status $? of the daemon: $(cat 0.log)"
expect 0 "" "$zcput" check root/g 8M

# With memory for a thousand clients all are admitted, beside a full cache whose pages have
# checksums.
CACHE=256
SUMS=$((CACHE / 128))
truncate -s 264M root/long # zeros, which take no room in the file system
start_daemon 0 --root root --cache-size "$CACHE"M
ZCACHE_CHECKSUM=on "$zcput" read 0.addr "$tmp/root/long" 264M >/dev/null ||
    fail "cannot fill the cache: $(tail -n 3 0.log)"
sums=$(stat_of 0 checksum_bytes)
((sums >= CACHE << 20)) || fail "it has no checksums: $sums"
(($(kib VmRSS) > CACHE * 1024)) || fail "the cache is not full: $(kib VmRSS) KiB"
crowd 1000
((refused == 0)) || fail "not all were let in"
leave
expect 0 written "$zcput" write 0.addr "$tmp/root/h" 8M
stop_daemon 0 || fail "status $? of the daemon: $(tail -n 5 0.log)"
expect 0 "" "$zcput" check root/h 8M
