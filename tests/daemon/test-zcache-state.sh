#!/usr/bin/env bash
# State directories that others own or may write to are refused.
. "$(dirname -- "$0")/functions.sh"
requires test "$(id -u)" = 0

make_tmp
cd "$tmp" || exit 99
mkdir foreign open
chown nobody foreign
chmod 777 open
ln -s open link
run() { "$zcache" run --no-preload --cache-size 16M "$@" true; }

expect 1 "zcache: $tmp/foreign belongs to another user; *" run --state foreign
expect 1 "zcache: others may write to $tmp/open; *" run --state open
expect 1 "zcache: $tmp/link is a symbolic link; *" run --state link
expect 1 "zcache: --state: a comma cannot be part of *" run --state a,b
export XDG_RUNTIME_DIR=$tmp
mkdir "zcache-$(id -un)"
chown nobody "zcache-$(id -un)"
expect 1 "zcache: $tmp/zcache-* belongs to another user; *" run
expect 1 "zcache: $tmp/zcache-* belongs to another user; *" "$zcache" start
expect 1 "zcache: $tmp/zcache-* belongs to another user; *" "$zcache" status

# Without any privilege all works as well.
requires command -v setpriv
mkdir mine
chown nobody mine
chmod 755 "$tmp"
as_nobody() { setpriv --reuid=nobody --clear-groups env -u XDG_RUNTIME_DIR "$@"; }
copy=$(build_for_others)
zcache=$copy/zcache zcached=$copy/iod/zcached zcachectl=$copy/iod/zcachectl
requires as_nobody test -w mine
expect 0 "*serving*" as_nobody "$zcache" run --no-preload --state mine/state --root mine \
    --cache-size 16M "$zcachectl" status
expect 2 "zcached: --root: user [0-9]* may not read in /root: *" \
    as_nobody "$zcached" --root /root --address-file mine/0.addr

# As in a container: a user without a name, and without a home.
! id -un 54321 >/dev/null 2>&1 || { echo "skipped: here user 54321 has a name"; exit 0; }
mkdir nameless
chown 54321 nameless
as_nameless() {
    setpriv --reuid=54321 --clear-groups env -u HOME XDG_RUNTIME_DIR="$tmp/nameless" "$@"
}
expect 0 "" as_nameless "$zcache" run --no-preload --root mine --cache-size 16M true
expect 1 "zcache: HOME is not set: name a directory with --state" \
    as_nameless "$zcache" start --root mine --hosts elsewhere --ssh true
