#!/usr/bin/env bash
# Two jobs of one user at a time: messages of a rank of one to an aggregator of the other have no
# effect, by the local socket and by libfabric, and neither job notices.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

zcuser=$build/tests/daemon/zcuser
zcbarge=$build/tests/daemon/zcbarge
make_root
chmod 711 "$tmp"
export XDG_RUNTIME_DIR=$tmp/run # where jobs leave records with the ways to their aggregators
mkdir -m 700 "$XDG_RUNTIME_DIR"
declare -A job address secret

# begins JOB: in the background; returns after its first turn.
begins() {
    rm -f "$tmp/$1.out" # that of the round before is not what is waited for
    mpi 2 "$programs/t_besieged" "zcache:$root/$1" >"$tmp/$1.out" 2>&1 </dev/null &
    job[$1]=$!
    wait_for 60 has_gone_round "$1" || fail "job $1 does not begin: $(cat "$tmp/$1.out")"
}
has_gone_round() { grep -qs '^round ' "$tmp/$1.out" || gone "${job[$1]}"; }
rounds() { grep -c '^round ' "$tmp/$1.out"; }
goes_on() { (($(rounds "$1") > $2)); }

# finds JOB NEAR: the address of its first aggregator, and the secret behind it: in the rendezvous
# record at the job's file, where the length of the address precedes it.
finds() {
    local card like

    card=$(printf '%s/zcache/card*-%x' "$XDG_RUNTIME_DIR" "$(stat -c %i "$root/$1")")
    # shellcheck disable=SC2086 # a pattern
    card=$(cat -- $card | od -An -v -tx1 | tr -d ' \n')
    like='(7a636c6f63613200[0-9a-f]{160})([0-9a-f]{64})'
    if ((!$2)); then like='0000000030000000(0200[0-9a-f]{12}0{16})([0-9a-f]{64})'; fi
    [[ $card =~ $like ]] || fail "no way to an aggregator on the card of job $1: $card"
    address[$1]=${BASH_REMATCH[1]} secret[$1]=${BASH_REMATCH[2]}
}

# leads FILE ADDRESS SECRET: writes an address file for the test programs.
leads() {
    rm -f "$1"
    printf '%s\n' "zcache-daemon 1" "protocol $protocol" "provider $provider" "address $2" \
        "local $2" "host $(uname -n)" "pid $$" "boot 0123456789abcdef" "secret $3" "root $root" \
        >"$1"
    chmod 600 "$1"
}

# tries JOB OTHER NEAR: as a rank of OTHER, at an aggregator of JOB.
tries() {
    local before

    before=$(rounds "$1")
    leads "$tmp/led.addr" "${address[$1]}" "${secret[$2]}"
    expect 1 "*another process answers at its address, and does not know its secret*" \
        env ZCACHE_LOCAL="$3" "$zcuser" write "$tmp/led.addr" "$root/$1" x
    expect 0 "tried *, answered 0" \
        env ZCACHE_LOCAL="$3" "$zcbarge" "$tmp/led.addr" "$root/$1"
    echo "local $3: a rank of job $2 at an aggregator of job $1: $output"
    wait_for 60 goes_on "$1" "$before" || fail "job $1 does not go on: $(cat "$tmp/$1.out")"
}

# another_user JOB NEAR: the same, by another user.
another_user() {
    local theirs

    theirs=$(for_others "$zcbarge")
    chown nobody:nogroup "$tmp/led.addr"
    if (($2)); then
        expect 1 "*connection lost*" as_other env ZCACHE_LOCAL=1 "$theirs" "$tmp/led.addr" x
    else
        expect 0 "tried *, answered 0" as_other env ZCACHE_LOCAL=0 "$theirs" "$tmp/led.addr" x
    fi
    echo "local $2: another user at an aggregator of job $1: $output"
}

ends() {
    touch "$root/$1.over"
    wait "${job[$1]}" || fail "job $1: $(cat "$tmp/$1.out")"
    grep -q "message thrown away .*: AUTH by a client that does not know the secret" "$tmp/$1.out" ||
        fail "job $1 did not say that a client was refused: $(cat "$tmp/$1.out")"
    rm -f "$root/$1" "$root/$1.over"
}

start_daemon 0 --root "$root" --cache-size 2M
protocol=$(sed -n 's/^protocol //p' "$tmp/0.addr")
provider=$(sed -n 's/^provider //p' "$tmp/0.addr") # of ranks, too
stop_daemon 0 || fail "status $? of a daemon"
for near in 1 0; do
    export ZCACHE_LOCAL=$near
    begins one
    begins two
    finds one "$near"
    finds two "$near"
    [[ ${secret[one]} != "${secret[two]}" ]] || fail "the secrets of two jobs are the same"
    tries one two "$near"
    tries two one "$near"
    if [[ $(id -u) == 0 ]] && as_other true 2>/dev/null; then
        another_user two "$near"
    else
        echo "skipped: another user; only root can be two"
    fi
    ends one
    ends two
done
