#!/usr/bin/env bash
# A daemon of many users, with a munged of our own: each user has the rights that it has without the
# daemon, owns the files it creates, and reads cached bytes only of files it may open; operations on
# the whole daemon are root's.
. "$(dirname -- "$0")/functions.sh"

[[ $(id -u) == 0 ]] || {
    echo "skipped: only root can serve many users"
    exit 77
}
requires command -v munged
requires setpriv --reuid=20001 --regid=20001 --clear-groups true
alice() { setpriv --reuid=20001 --regid=20001 --groups=20010 -- "$@"; }
bob() { setpriv --reuid=20002 --regid=20002 --clear-groups -- "$@"; }

make_tmp
chmod 755 "$tmp"
zcuser=$(for_others "$build/tests/daemon/zcuser")
zcached=$(for_others "$zcached")
zcachectl=$(for_others "$zcachectl")
cd "$tmp" || exit 99
umask 022
mkdir munge root root/private
chmod 1777 root
chmod 700 root/private
echo secret >root/private/file
head -c 128 /dev/urandom >munge/key
chmod 600 munge/key
export ZCACHE_MUNGE_SOCKET=$tmp/munge/sock
stop_munged() { munged --stop --socket="$ZCACHE_MUNGE_SOCKET" >/dev/null 2>&1; }
start_munged() { # without the end of a pipe that another process reads from
    munged --force --key-file="$tmp/munge/key" --socket="$ZCACHE_MUNGE_SOCKET" \
        --pid-file="$tmp/munge/pid" --log-file="$tmp/munge/log" --seed-file="$tmp/munge/seed" \
        --num-threads=2 >/dev/null 2>&1 9>&-
}
cleanup_fn stop_munged
start_munged || fail "munged did not start: $(cat munge/log)"
wait_for 20 test -S munge/sock || fail "no socket of munged"

if "$zcached" --auth munge --root root --address-file x.addr --provider nosuch 2>&1 |
    grep -q 'built without munge'; then
    echo "skipped: built without munge.h (libmunge-dev)"
    exit 77
fi

# Messages about the requirements of a daemon of many users, and of root's for one user.
expect 2 "zcached: --auth munge serves all users, for which the daemon has to be root*" \
    bob "$zcached" --auth munge --root "$tmp/root" --address-file /tmp/zcache-not-there.addr
expect 2 "zcached: --auth munge: a daemon of many users keeps no --journal*" \
    "$zcached" --auth munge --root root --address-file x.addr --journal j
expect 2 "zcached: as root, a daemon would hand out root's files*--auth munge*--allow-root*" \
    env -u ZCACHE_ALLOW_ROOT "$zcached" --root root --address-file x.addr

one=$tmp/1.addr
count() { "$zcachectl" --daemons "$one" --json stats | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"; }

users() { # PROVIDER
    local name kept

    start_daemon 1 --auth munge --root "$tmp/root" --cache-size 16M --log info --provider "$1"
    [[ $(stat -c %a "$one") == 644 ]] || fail "mode $(stat -c %a "$one") of the address file"
    ! grep -q '^secret' "$one" || fail "there is a secret in it"

    # A user's files are its own, and the kernel decides about others.
    expect 0 "" alice "$zcuser" write "$one" "$tmp/root/hers" alices
    [[ $(stat -c '%u %g %a' root/hers) == "20001 20001 640" ]] || fail "$(stat root/hers)"
    [[ $(<root/hers) == alices ]] || fail "other content"
    expect 0 alices alice "$zcuser" read "$one" "$tmp/root/hers"
    for name in "read $tmp/root/hers" "write $tmp/root/hers x" "truncate $tmp/root/hers 0" \
        "stat $tmp/root/hers" "read $tmp/root/private/file" "write $tmp/root/private/new x" \
        "unlink $tmp/root/private/file" "stat $tmp/root/private/file"; do
        # shellcheck disable=SC2086 # words
        expect 1 "*Permission denied*" bob "$zcuser" ${name%% *} "$one" ${name#* }
    done
    expect 1 "*Operation not permitted*" bob "$zcuser" unlink "$one" "$tmp/root/hers"
    expect 1 "*outside the root*" bob "$zcuser" read "$one" "$tmp/root/../munge/key"
    ln -sf /etc/shadow root/out
    expect 1 "*outside the root*" alice "$zcuser" read "$one" "$tmp/root/out"
    [[ $(<root/hers) == alices ]] || fail "changed"

    # A new permission takes effect at once.
    chmod 644 root/hers
    expect 0 alices bob "$zcuser" read "$one" "$tmp/root/hers"
    expect 0 "" alice "$zcuser" truncate "$one" "$tmp/root/hers" 3
    expect 0 3 bob "$zcuser" stat "$one" "$tmp/root/hers"

    # Cached bytes that are not in the file yet are for users that may open the file.
    mkfifo go."$1"
    rm -f kept.out
    alice "$zcuser" cached "$one" "$tmp/root/kept" 0123456789 <go."$1" >kept.out 2>&1 &
    kept=$!
    exec 9>go."$1"
    wait_for 60 grep -q written kept.out || fail "$(cat kept.out)"
    expect 1 "*Permission denied*" bob "$zcuser" read "$one" "$tmp/root/kept"
    expect 0 0123456789 alice "$zcuser" read "$one" "$tmp/root/kept"

    # Operations on the whole daemon.
    for name in stop drain flush evict; do
        expect 1 "*for its owner and for root only*" \
            bob timeout 60 "$zcachectl" --timeout 1h --daemons "$one" "$name" # none waits for more
    done
    output=$(bob "$zcachectl" --daemons "$one" files 2>&1)
    [[ $output != *kept* ]] || fail "bob sees $output"
    expect 0 "*/root/kept*" alice "$zcachectl" --daemons "$one" files
    expect 0 "*/root/kept*" "$zcachectl" --daemons "$one" files
    expect 0 "*serving*" bob "$zcachectl" --daemons "$one" status
    expect 0 "*" "$zcachectl" --daemons "$one" flush
    exec 9>&-
    wait "$kept" || fail "$(cat kept.out)"
    [[ $(<root/kept) == 0123456789 ]] || fail "kept: $(<root/kept)"

    # Credentials of another handshake, used before, changed.  Other sessions go on.
    expect 0 "*another's: *another handshake*once more: *Replayed*changed: *munge cannot*" \
        alice "$zcuser" other "$one"
    echo "refused: $(count handshakes_refused) of 3"
    (($(count handshakes_refused) == 3)) || fail "not all were counted"
    expect 0 0123456789 alice "$zcuser" read "$one" "$tmp/root/kept"

    # The local socket is root's; other users are led to the fabric.
    expect 1 "*" env ZCACHE_LOCAL=1 bash -c 'exec "$@"' - setpriv --reuid=20002 --regid=20002 \
        --clear-groups -- "$zcuser" ping "$one"
    expect 0 "" env ZCACHE_LOCAL=1 "$zcuser" ping "$one"
    grep -q 'audit: client .* of user 20001, zcuser (uid 20001, .*), begins: by munge, ' 1.log ||
        fail "no audit of alice: $(cat 1.log)"
    grep -qE "of user 20002, zcuser .*, may not open $tmp/root/hers to read: .*denied" 1.log ||
        fail "no audit of what bob may not: $(cat 1.log)"
    grep -qE 'audit: host [0-9.]+, zcuser .*, is refused, .* another handshake' 1.log ||
        fail "no audit of a wrong credential: $(cat 1.log)"
    expect 0 "" alice "$zcuser" unlink "$one" "$tmp/root/hers"
    expect 0 "" alice "$zcuser" unlink "$one" "$tmp/root/kept"
    [[ ! -e root/hers && ! -e root/kept ]] || fail "not deleted"
    stop_daemon 1 || fail "status $? of the daemon"
}

users "tcp;ofi_rxm"
users net

# Names that are exchanged all the time by a user that may rename them: a directory of hers, one of
# the other user, links to root's files and out of the root.  No user reads or writes another's
# files.
renames() {
    local names=("$tmp"/root/open/{d,e,p,o}) swapping plucking her his

    start_daemon 1 --auth munge --root "$tmp/root" --cache-size 16M
    mkdir root/open outside
    chmod 777 root/open outside
    alice mkdir root/open/d
    bob mkdir root/open/e
    ln -s ../private root/open/p
    ln -s "$tmp/outside" root/open/o
    alice sh -c 'umask 077; : >root/open/d/data; echo hers >root/open/d/other'
    bob sh -c 'umask 077; : >root/open/e/data'
    echo of root | tee root/private/data >root/private/other
    echo outside | tee outside/data >outside/other
    chmod 666 outside/*
    mkfifo swap
    bob "$build/tests/daemon/zcswap" "${names[@]}" <swap >swap.out 2>&1 &
    swapping=$!
    bob "$zcuser" pluck "$one" "$tmp/root/open/d/other" <swap >pluck.out 2>&1 &
    plucking=$!
    exec 8>swap
    alice "$zcuser" again "$one" "$tmp/root/open/d/data" alice >her.out 2>&1 8>&- &
    her=$!
    bob "$zcuser" again "$one" "$tmp/root/open/d/data" bob >his.out 2>&1 8>&- &
    his=$!
    wait "$her" || fail "alice: $(cat her.out swap.out)"
    wait "$his" || fail "bob: $(cat his.out swap.out)"
    exec 8>&-
    wait "$swapping" || fail "$(cat swap.out)"
    wait "$plucking" || fail "$(cat pluck.out)"
    stop_daemon 1 || fail "status $? of the daemon: $(tail -n 5 1.log)"
    echo "names exchanged $(<swap.out); alice: $(<her.out); bob: $(<his.out), unlink $(<pluck.out)"
    is_full_of 20001 alice her.out
    is_full_of 20002 bob his.out
    [[ $(cat root/private/{data,other}) == $'of root\nof root' ]] || fail "root's files were changed"
    [[ $(cat outside/{data,other}) == $'outside\noutside' ]] || fail "files out of the root were"
    [[ $(cat root/open/*/other) == *hers* ]] || fail "alice's other file was"
}

# is_full_of UID TEXT OUTPUT: the file in this user's directory has what the user wrote last.
is_full_of() {
    local dir last line

    dir=$(find root/open -mindepth 1 -maxdepth 1 -type d -uid "$1")
    last=$(sed 's/.*last //' "$3")
    printf -v line '%-7s%08d' "$2" "$last"
    [[ $(stat -c '%u %a %s' "$dir/data") == "$1 600 24000" ]] || fail "$(stat "$dir/data")"
    [[ $(sort -u "$dir/data") == "$line" ]] || fail "$2: not all \"$line\": $(sort -u "$dir/data")"
}

renames

# Groups are those that the daemon's host has for a user, not those of its process.
cp /etc/passwd passwd
cp /etc/group group
echo "zcalice:x:20001:20001::/:/bin/false" >>passwd
echo "zcgroup:x:20010:zcalice" >>group
cat >with-groups <<'SCRIPT'
#!/bin/sh
mount --bind "$TMP/passwd" /etc/passwd && mount --bind "$TMP/group" /etc/group && exec "$@"
SCRIPT
chmod 755 with-groups
echo ours >root/ours
chgrp 20010 root/ours
chmod 660 root/ours
export TMP=$tmp
if unshare -m ./with-groups true 2>/dev/null; then
    WRAP="unshare -m ./with-groups" start_daemon 1 --auth munge --root "$tmp/root" --cache-size 16M
    expect 0 ours setpriv --reuid=20001 --regid=20001 --clear-groups -- \
        "$zcuser" read "$one" "$tmp/root/ours"
    expect 1 "*Permission denied*" setpriv --reuid=20002 --regid=20002 --groups=20010 -- \
        "$zcuser" read "$one" "$tmp/root/ours"
    stop_daemon 1 || fail "status $? of the daemon"
else
    echo "skipped: groups of the daemon's host; no file of our own can stand in for /etc/group here"
fi

# Another user's address file misleads no client.
start_daemon 1 --auth munge --root "$tmp/root" --cache-size 16M --user-sessions 1
cp 1.addr forged.addr
chown 20002:20002 forged.addr
expect 1 "*belongs to another user*" alice "$zcuser" ping "$tmp/forged.addr"
chown 0:0 forged.addr
chmod 666 forged.addr
expect 1 "*may be written by others*" alice "$zcuser" ping "$tmp/forged.addr"

# Nor does a daemon of bob's with the address, number and boot id of root's, which are public: it
# cannot decrypt what munge made for root, and root's daemon does not accept it from bob.
mkfifo claim
: >credential
chown 20002:20002 credential
bob "$build/tests/daemon/zcforger" "$one" credential <claim >forger.out 2>&1 &
forger=$!
exec 8>claim
wait_for 60 grep -q '^ready ' forger.out || fail "the forger: $(cat forger.out)"
read -r _ far near <forger.out
sed "s/^address .*/address $far/; s/^local .*/local $near/" 1.addr >led.addr
chmod 644 led.addr
for what in "write $tmp/root/new text" "read $tmp/root/new" ping; do
    # shellcheck disable=SC2086 # words
    expect 1 "*another process answers at its address, and cannot read what munge made for root*" \
        alice "$zcuser" ${what%% *} "$tmp/led.addr" ${what#* }
done
exec 8>&-
wait "$forger" || fail "the forger: $(cat forger.out)"
echo "led to a forger who claims root's boot id: 3, refused: 3; sent to him: $(tail -n 1 forger.out)"
[[ $(tail -n 1 forger.out) == "HELLO 3, AUTH 0, CREDENTIAL 3, others 0" ]] ||
    fail "more than credentials was sent to him"
(($(grep -c "^credential: .*munge cannot vouch" forger.out) == 3)) || fail "$(cat forger.out)"
[[ ! -e root/new ]] || fail "something was written"
before=$(count handshakes_refused)
expect 0 "another's: *another handshake*" bob "$zcuser" relay "$one" "$tmp/credential"
(($(count handshakes_refused) == before + 1)) || fail "it was not refused"

# A user has a limit; without munged no client is admitted, and the daemon says why.
mkfifo go
rm -f kept.out
alice "$zcuser" cached "$one" "$tmp/root/kept" 1 <go >kept.out 2>&1 &
kept=$!
exec 9>go
wait_for 60 grep -q written kept.out || fail "$(cat kept.out)"
expect 1 "*--user-sessions*" alice "$zcuser" ping "$one"
expect 0 "" bob "$zcuser" ping "$one"
stop_munged
expect 1 "*is munged running on this host*" bob "$zcuser" ping "$one"
start_munged || fail "munged did not start again"
expect 0 "" bob "$zcuser" ping "$one"
exec 9>&-
wait "$kept" || fail "$(cat kept.out)"
expect 0 "*" "$zcachectl" --daemons "$one" stop
