#!/usr/bin/env bash
# A file that is created through a daemon has the group that the program runs with, as after newgrp,
# and not the daemon's; a group that the daemon's user is not in is not given, and that is said.
. "$(dirname -- "$0")/functions.sh"

[[ $(id -u) == 0 ]] || {
    echo "skipped: only root can run programs with other groups"
    exit 77
}
# user GROUP OTHER-GROUPS COMMAND ...: in a process of its own.
user() { (exec setpriv --reuid=20001 --regid="$1" --groups="$2" -- "${@:3}"); }
requires user 20001 20010 true

make_tmp
chmod 755 "$tmp"
zcuser=$(for_others "$build/tests/daemon/zcuser")
zcached=$(for_others "$zcached")
mkdir -m 777 "$tmp/root" "$tmp/team"
chgrp 20011 "$tmp/team"
cd "$tmp/team" || exit 99
exec_as() { exec setpriv --reuid=20001 --regid=20001 --groups=20010 -- "$@"; }
exec_as "$zcached" --root "$tmp/root" --address-file "$tmp/team/addr" --cache-size 16M \
    --provider "tcp;ofi_rxm" 2>"$tmp/log" &
daemon_pids[0]=$!
there() { [[ -s $tmp/team/addr ]]; }
wait_for 60 there || fail "no daemon: $(<"$tmp/log")"

# is NAME GROUP: the file has it, and MODE.
is() { [[ $(stat -c '%g %a' "$tmp/root/$1") == "$2 640" ]] || fail "$1: $(stat "$tmp/root/$1")"; }
write() { # NAME AS-GROUP OTHER-GROUPS
    user "$2" "$3" env ZCACHE_LOCAL=1 "$zcuser" write "$tmp/team/addr" "$tmp/root/$1" x || fail "$1"
}
write own 20001 20010
is own 20001
write teams 20010 20001
is teams 20010
[[ ! -s $tmp/log ]] || fail "$(<"$tmp/log")"

mkdir -m 2777 "$tmp/root/d"
chgrp 20012 "$tmp/root/d"
chmod 2777 "$tmp/root/d"
write d/inherited 20010 20001
is d/inherited 20012

write foreign 20013 20001
is foreign 20001
grep -q "root/foreign keeps the group 20001 of this process: .*Operation not permitted" "$tmp/log" ||
    fail "it is not said: $(<"$tmp/log")"
stop_daemon 0 || fail "status $? of the daemon"
