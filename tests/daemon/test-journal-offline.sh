#!/usr/bin/env bash
# zcachectl journal: what a daemon that was killed has left is listed, shown, written to its files,
# and given up, without a daemon; the same of what a start has set aside.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
faultshim=$build/tests/.libs/faultshim.so
requires test -e "$faultshim"

make_tmp
set_silence
cd "$tmp" || exit 99
mkdir root
root=$tmp/root
plain=(--root "$root" --cache-size 64M --timeout "$silence")
with=("${plain[@]}" --journal "$tmp/j")

export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
daemon_preload=$faultshim
refuse() { echo ENOSPC >switch; }
allow() { rm -f switch; }
journal() { "$zcachectl" journal "$@"; }
# A figure of journal list, of the N-th directory.
listed() { journal list j --json | jq -r ".journals[$1].$2"; }

# staged: 4M of f that are in no file when the daemon is killed.
staged() {
    start_daemon 0 "${with[@]}"
    refuse
    expect 0 "written" "$zcput" write 0.addr "$root/f" 4M
    wait_for 60 at_least 0 failed_bytes 1000000 || fail "nothing is refused"
    expect 1 "*in use*" journal list j
    expect 1 "*in use*" journal drop j
    stop_daemon 0 KILL || true
    allow
}

# ---- a journal ----
staged
expect 0 "*root $root,*not stored: 4 MiB of 1 file*" journal list j
expect 0 "$root/f: 4194304 bytes: 0-4194303" journal show j
[[ $(journal show j --json | jq -c '.files[0].ranges') == '[{"offset":0,"length":4194304}]' ]] ||
    fail "$(journal show j --json)"
expect 0 "$root/f: 4194304 bytes are written" journal replay j
"$zcput" check root/f 4M || fail "it was not written"
expect 0 "*empty*" journal list j
start_daemon 0 "${with[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
grep -q "earlier daemon" 0.log && fail "the next start has something left: $(cat 0.log)"

# Another file has the name: it is not touched, and nothing is deleted.
staged
echo new >root/new
mv root/new root/f
expect 1 "*are kept: the file was replaced meanwhile*" journal replay j
expect 1 "*are kept: the file was replaced meanwhile*" journal replay j --force
expect 0 new cat root/f
[[ $(listed 0 unstored_bytes) == 4194304 ]] || fail "$(journal list j)"
expect 0 "*4 MiB of 1 file are given up" journal drop j
[[ $(listed 0 segments) == 0 ]] || fail "$(journal list j)"
rm root/f

# Another writer of zcache has opened it: as for a daemon that starts, unless it is forced.
staged
start_daemon 1 "${plain[@]}"
ZCPUT_SALT=7 expect 0 "written" "$zcput" write 1.addr "$root/f" 4M
stop_daemon 1 || fail "status $?: $(cat 1.log)"
expect 1 "*are kept: the file was changed by others meanwhile*" journal replay j
ZCPUT_SALT=7 "$zcput" check root/f 4M || fail "older bytes are back"

# ---- what a start has set aside ----
start_daemon 0 "${with[@]}"
stop_daemon 0
[[ $(listed 1 set_aside) == true && $(listed 1 unstored_bytes) == 4194304 ]] ||
    fail "$(journal list j)"
[[ $(listed 1 reason) ]] || fail "$(journal list j)"
expect 0 "$root/f: 4194304 bytes: 0-4194303" journal show j/set-aside.1
expect 1 "*are kept: *--force writes*" journal replay j/set-aside.1
ZCPUT_SALT=7 "$zcput" check root/f 4M || fail "it was written all the same"
expect 0 "*are written*" journal replay --force j/set-aside.1
"$zcput" check root/f 4M || fail "it was not written"
[[ ! -e j/set-aside.1 ]] || fail "it is still there"

# ---- wrong use ----
expect 2 "*list, show, replay or drop*" journal look j
expect 2 "*needs a directory*" journal drop
expect 2 "*--force is for journal replay*" journal drop --force j
expect 1 "*is no journal*" journal list root
