#!/usr/bin/env bash
# The log at level info names clients, the files they open, and refusals; its size is limited.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
zcput=$build/tests/daemon/zcput
audited() { grep -qE "info: audit: $1" 0.log; }
has() { audited "$1" || fail "no line \"$1\": $(cut -c1-300 0.log | tail -n 30)"; }

start_daemon 0 --root root --cache-size 16M --log info --timeout 1s
SLURM_JOB_ID=17 SLURM_STEP_ID=3 expect 0 written "$zcput" write 0.addr "$tmp/root/f" 1M
# Each line identifies the client: others may have been left out, or be in an older file.
user="of user $(id -u)"
said="\(uid $(id -u), $(uname -n | cut -c1-40):[0-9]+"
who="client 1 $user, zcput $said, job slurm 17.3\)"
has "$who, begins: by its secret, over the fabric"
has "$who: open $tmp/root/f to read and write"
# It vanished without BYE.
wait_for 60 audited "$who, ends: nothing was heard of it" || fail "no end: $(cat 0.log)"

# A client without the secret, and a path without permission.
sed 's/^secret .*/secret 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff/' \
    0.addr >other.addr
chmod 600 other.addr
expect 1 "*another daemon answers*" "$zcachectl" --daemons other.addr status
expect 1 "*leads outside the root*" "$zcput" read 0.addr /etc/passwd 1K
has "client 2 $user, zcput $said\), may not open /etc/passwd to read: path /etc/passwd leads outside the root"
name=$'a\nerror: forged'
expect 1 "*" "$zcput" read 0.addr "$tmp/root/$name" 1K
has "client 3 $user, zcput $said\), may not open $tmp/root/a\?error: forged to read: "
# 8-bit control characters, alone or in UTF-8, do not reach a terminal either; letters do.
expect 1 "*" "$zcput" read 0.addr "$tmp/root/"$'b\xc2\x9b1mc\x9b2md\x80\x9be\xc3\x9bf\xe2\x80\x9c' 1K
has "client 4 $user, zcput $said\), may not open $tmp/root/b\?\?1mc\?2md\?\?e"$'\xc3\x9bf\xe2\x80\x9c'" to read: "
expect 0 "*" "$zcachectl" --daemons 0.addr flush
has "client 5 $user, zcachectl $said\), begins: by its secret, over a local socket"
has "client 5 $user, zcachectl $said\): flush the daemon"

# The number of lines per minute is limited, for each user and cause.
# By a daemon of its own: it pings rarely, and does not get a processor each second.
start_daemon 1 --root root --cache-size 16M --log info
mkfifo hold
exec {hold}<>hold
began=$SECONDS
ZCACHE_LOCAL=1 "$build/tests/daemon/zcflood" replied 1.addr "$tmp/root" 1 1 600 <&"$hold" \
    {hold}>&- >out 2>&1 &
daemon_pids[2]=$!
wait_for 60 grep -qx "done" out || fail "$(cat out)"
lines=$(grep -cE "audit: client [0-9]+ $user, zcflood: open " 1.log)
# Minutes are the daemon's own: those that have passed, and one that had begun.
most=$((125 * ((SECONDS - began) / 60 + 1)))
((SECONDS - began < 1)) || most=$((most + 125))
((lines >= 100 && lines <= most)) || fail "$lines lines of $(stat_of 1 handles)"
stop_daemon 2 KILL
stop_daemon 1 || fail "status $? of the daemon: $(tail -n 5 1.log)"
grep -qE "info: audit: [0-9]+ more requests, $user" 1.log || fail "what is left out: $(tail -n 5 1.log)"
stop_daemon 0 || fail "status $? of the daemon: $(tail -n 5 0.log)"
