#!/usr/bin/env bash
# Two users of one host: a user cannot reach another one's daemon, and no client is led to a foreign
# daemon.
. "$(dirname -- "$0")/functions.sh"

[[ $(id -u) == 0 ]] || {
    echo "skipped: only root can be two users"
    exit 77
}
requires setpriv --reuid=nobody --regid=nogroup --clear-groups true

umask 077 # address files are their owner's
make_tmp
chmod 711 "$tmp"
zcachectl=$(for_others "$zcachectl")
cd "$tmp" || exit 99
mkdir root theirs
chown nobody:nogroup theirs
start_daemon 0 --root "$tmp/root" --cache-size 16M
address=$tmp/0.addr
zcuser=$(for_others "$build/tests/daemon/zcuser")
zcforger=$(for_others "$build/tests/daemon/zcforger")
zcput=$build/tests/daemon/zcput

count() { "$zcachectl" --daemons "$address" --json stats | sed -n "s/^ *\"$1\": \([0-9]*\),*$/\1/p"; }

# The file is readable for its owner only, whatever the umask; so is a copy.
[[ $(stat -c %a "$address") == 600 ]] || fail "mode $(stat -c %a "$address")"
cp "$address" theirs/copy.addr
for file in "$address" "$tmp/theirs/copy.addr"; do
    expect 1 "*cannot read $file: Permission denied*" \
        as_other "$zcachectl" --daemons "$file" status
    expect 1 "*" as_other "$zcachectl" --daemons "$file" stop
done

# Meanwhile the owner has a job running.
mkfifo hold
"$zcput" write "$address" "$tmp/root/kept" 4M <hold >kept.out 2>&1 &
kept=$!
exec 9>hold
wait_for 60 grep -q written kept.out || fail "$(cat kept.out)"

# Everything but the secret, which cannot be guessed.
sed "s/^secret .*/secret $(printf '%064d' 1)/" "$address" >theirs/forged.addr
chown nobody:nogroup theirs/forged.addr
chmod 600 theirs/forged.addr
for command in status files flush evict drain stop; do
    expect 1 "*another daemon answers*" \
        as_other "$zcachectl" --daemons "$tmp/theirs/forged.addr" --timeout 30s "$command"
done
expect 0 "*serving*" "$zcachectl" --daemons "$address" status
[[ $(count sessions) == 2 ]] || fail "$(count sessions) sessions"
echo "handshakes that came to nothing: $(($(count handshakes) + $(count handshakes_lapsed)))"
(($(count handshakes) + $(count handshakes_lapsed) >= 6)) || fail "not all were counted"

# All operations, by either way: they are refused, by the local socket even before the handshake.
before=$(count sessions_opened) tried=0
for local in 0 1; do
    for what in "read $tmp/root/kept" "write $tmp/root/kept x" "write $tmp/root/new x" \
        "truncate $tmp/root/kept 0" "stat $tmp/root/kept" "unlink $tmp/root/kept" ping; do
        # shellcheck disable=SC2086 # words
        expect 1 "*" as_other env ZCACHE_LOCAL=$local "$zcuser" ${what%% *} theirs/forged.addr \
            ${what#* }
        if ((local)); then
            [[ $output == *"connection lost"* ]] || fail "by the local socket: $output"
        else
            [[ $output == *"another process answers at its address"* ]] || fail "by the fabric: $output"
        fi
        tried=$((tried + 1))
    done
done
echo "refused: $tried of $tried, 7 by the fabric and 7 by the local socket"
(($(count sessions_opened) == before + 1)) || fail "a client was let in" # who counts
# The log is not flooded: one line a minute, with a count.
for ((i = 0; i < 20; i++)); do
    expect 1 "*connection lost*" as_other env ZCACHE_LOCAL=1 "$zcuser" ping theirs/forged.addr
done
lines=$(grep -c "connection of another user (uid $(id -u nobody)) refused" 0.log)
((lines >= 1 && lines <= SECONDS / 60 + 1)) || fail "$lines lines after $SECONDS s: $(cat 0.log)"
[[ ! -e root/new ]] || fail "a file was created"
"$zcput" read "$address" "$tmp/root/kept" 4M >kept.read || fail "the owner cannot read"
expect 0 "" "$zcput" check kept.read 4M
exec 9>&-
wait "$kept" || fail "the owner's job: $(cat kept.out)"

# An address file by which another user tries to get our data.
theirs=$(for_others "$zcached")
setpriv --reuid=nobody --regid=nogroup --clear-groups -- "$theirs" --root "$tmp/theirs" \
    --cache-size 16M --address-file "$tmp/theirs/1.addr" 2>1.log &
daemon_pids[1]=$!
wait_for 60 test -s theirs/1.addr || fail "their daemon did not start: $(cat 1.log)"
expect 0 "*serving*" as_other "$zcachectl" --daemons "$tmp/theirs/1.addr" status
expect 1 "*theirs/1.addr belongs to another user*" \
    "$zcachectl" --daemons "$tmp/theirs/1.addr" status
# The same with our daemon's boot id: the file's owner counts.
boot=$(grep '^boot ' "$address")
sed "s/^boot .*/$boot/" theirs/1.addr >theirs/2.addr
grep -qx "$boot" theirs/2.addr || fail "no boot id in it"
chown nobody:nogroup theirs/2.addr
chmod 600 theirs/2.addr
expect 1 "*theirs/2.addr belongs to another user*" \
    "$zcachectl" --daemons "$tmp/theirs/2.addr" status
expect 1 "*theirs/2.addr belongs to another user*" "$zcput" read "$tmp/theirs/2.addr" /x 1K
cp theirs/1.addr mine.addr
chmod 644 mine.addr
expect 1 "*mine.addr may be read or written by others (mode 0644)*" \
    "$zcachectl" --daemons "$tmp/mine.addr" status
stop_daemon 1 || fail "status $? of their daemon"

# A daemon of another user that has taken over our daemon's address, by either way, and claims our
# boot id: nothing but HELLO reaches it.
sed "s/^secret .*/secret $(printf '%064d' 2)/" "$address" >theirs/claimed.addr
chown nobody:nogroup theirs/claimed.addr
chmod 600 theirs/claimed.addr
mkfifo claim
as_other "$zcforger" theirs/claimed.addr theirs/none <claim >forger.out 2>&1 &
forger=$!
exec 8>claim
wait_for 60 grep -q '^ready ' forger.out || fail "the forger: $(cat forger.out)"
read -r _ far near <forger.out
sed "s/^address .*/address $far/; s/^local .*/local $near/" "$address" >led.addr
chmod 600 led.addr
tried=0
for command in status files flush evict drain stop; do
    expect 1 "*another daemon answers at the address in led.addr*" \
        "$zcachectl" --daemons led.addr --timeout 30s "$command"
    tried=$((tried + 1))
done
for what in "read $tmp/root/kept" "write $tmp/root/kept x" ping; do
    # shellcheck disable=SC2086 # words
    expect 1 "*another process answers at its address, and does not know its secret*" \
        "$zcuser" ${what%% *} led.addr ${what#* }
    tried=$((tried + 1))
done
exec 8>&-
wait "$forger" || fail "the forger: $(cat forger.out)"
echo "led to a forger who claims our boot id: $tried, refused: $tried; sent to him: $(tail -n 1 forger.out)"
[[ $(tail -n 1 forger.out) == "HELLO $tried, AUTH 0, CREDENTIAL 0, others 0" ]] ||
    fail "more than HELLO was sent to him"

# Without a secret, as older releases wrote it.
sed '/^secret /d' "$address" >old.addr
chmod 600 old.addr
expect 1 "*old.addr has no secret*" "$zcachectl" --daemons "$tmp/old.addr" status

expect 0 "*serving*" "$zcachectl" --daemons "$address" status
stop_daemon 0 || fail "status $? of the daemon"
