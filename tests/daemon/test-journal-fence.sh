#!/usr/bin/env bash
# A journal does not revert what a later writer has written, and destroys nothing: another daemon
# has served the seat or the file meanwhile, another program has rewritten the file, the file system
# is not mounted, a directory is moved away, one of two names is deleted.
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

# What is below root can be written to, or not.
export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
daemon_preload=$faultshim
refuse() { echo ENOSPC >switch; }
allow() { rm -f switch; }
kill_daemon() { stop_daemon "$1" KILL || true; }

# staged FILE: 4M of a finished job that are in no file when the daemon is killed.
staged() {
    start_daemon 0 "${with[@]}"
    refuse
    expect 0 "written" "$zcput" write 0.addr "$root/$1" 4M
    wait_for 60 at_least 0 failed_bytes 1000000 || fail "nothing is refused"
    kill_daemon 0
    allow
}

# rewritten_by DAEMON FILE: another job writes other bytes through it, and they are in the file.
rewritten_by() {
    ZCPUT_SALT=7 expect 0 "written" "$zcput" write "$1.addr" "$root/$2" 4M
    stop_daemon "$1" || fail "status $?: $(cat "$1.log")"
    is_new "$2"
}
is_new() { ZCPUT_SALT=7 "$zcput" check "root/$1" 4M || fail "$1 does not have the later bytes"; }

# keeps_back FILE WHY: the start with the journal names what it does not write; it is set aside.
keeps_back() {
    start_daemon 0 "${with[@]}"
    local what="of $root/$1 that an earlier daemon had taken: bytes 0-4194303"

    expect 0 "*kept back: 4 MiB * $what: $2" cat 0.log
    stop_daemon 0
    local status=$?
    ((status == 4)) || fail "status $status, not 4: $(cat 0.log)"
    compgen -G "j/set-aside.*/segment.*" >/dev/null || fail "nothing is set aside: $(ls -R j)"
    rm -r j/set-aside.*
}

# ---- 1: a spare has taken over ----
staged f
start_daemon 0 "${plain[@]}"
rewritten_by 0 f
keeps_back f "*a later daemon has served*"
is_new f

# The same of a file of several daemons, whose times say nothing.
export ZCPUT_SET=2
staged f
start_daemon 0 "${plain[@]}"
rewritten_by 0 f
keeps_back f "*a later daemon has served*"
is_new f
unset ZCPUT_SET

# ---- 2: a daemon without that journal, of another seat; another program ----
staged f
start_daemon 1 "${plain[@]}"
rewritten_by 1 f
keeps_back f "*was opened for writing elsewhere*"
is_new f

export ZCPUT_SET=2
staged f
unset ZCPUT_SET
start_daemon 1 "${plain[@]}"
rewritten_by 1 f
keeps_back f "*was opened for writing elsewhere*"
is_new f

staged f
ZCPUT_SALT=7 "$zcput" print 4M >new
cat new >root/f
keeps_back f "*was changed by others*"
is_new f

# The same daemon, again and again, is no later writer.
staged f
start_daemon 0 "${with[@]}" --idle-time 0
kill_daemon 0
start_daemon 0 "${with[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "f is not there after two deaths"

# ---- 3: the file system is not mounted; a directory is moved away ----
staged f
mv root mounted
mkdir root
expect 1 "*--root $root is not the directory that the journal $tmp/j has bytes for: *" \
    "$zcached" "${with[@]}" --address-file 0.addr
[[ -z $(ls -A root) ]] || fail "something was made on the mount point: $(ls -A root)"
rmdir root
mv mounted root
start_daemon 0 "${with[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 4M || fail "f is not there once the root is"
expect 0 "lock" ls j

# An empty journal says so, too.
mv root mounted
mkdir root
expect 1 "*--root $root is not the directory that the journal $tmp/j *" \
    "$zcached" "${with[@]}" --address-file 0.addr
rmdir root
mv mounted root

mkdir root/d
staged d/f
mv root/d elsewhere
keeps_back d/f "*is not there*"
mv elsewhere root/d

# Another root is taken when that is asked for, and gets nothing.
staged f
mv root mounted
mkdir root
start_daemon 0 "${with[@]}" --new-root
expect 0 "*kept back: 4 MiB * of $root/f *" cat 0.log
stop_daemon 0
[[ ! -e root/f ]] || fail "the other root has the file"
rm -r root j
mv mounted root

# A record that was copied with its root is not the copy's.
start_daemon 0 "${with[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
cp -a root copy
mv root first
mv copy root
rm -r j
expect 1 "*$root/.zcache-root was made for another directory*--new-root*" \
    "$zcached" "${with[@]}" --address-file 0.addr
rm -r root
mv first root

# ---- 4: one of two names is deleted ----
rm -f root/f
staged f
start_daemon 0 "${with[@]}"
stop_daemon 0
ln root/f root/g
start_daemon 0 "${with[@]}"
refuse
ZCPUT_SALT=7 expect 0 "written" "$zcput" write 0.addr "$root/f" 4M
wait_for 60 at_least 0 failed_bytes 1000000 || fail "nothing is refused"
expect 0 "" "$zcput" unlink 0.addr "$root/f" 1
kill_daemon 0
allow
start_daemon 0 "${with[@]}"
stop_daemon 0 || fail "status $?: $(cat 0.log)"
is_new g

# ---- 5: other programs, where the times of the file say nothing ----
# held FILE: the same as staged, but the daemon is killed in the middle of a write to the file.
held() {
    : >hold
    FAULTSHIM_HOLD=$tmp/hold start_daemon 0 "${with[@]}" --idle-time 0
    expect 0 "written" "$zcput" write 0.addr "$root/$1" 4M
    wait_for 60 compgen -G "hold.*" >/dev/null || fail "nothing is written back"
    kill_daemon 0
    rm -f hold hold.*
}
# rewritten FILE: at once, by another program, with its old size.
rewritten() { dd if=new of="root/$1" conv=notrunc status=none || fail "dd"; }
# comes_back FILE: nothing has changed it.
comes_back() {
    start_daemon 0 "${with[@]}"
    stop_daemon 0 || fail "status $?: $(cat 0.log)"
    "$zcput" check "root/$1" 4M || fail "$1 did not come back"
}
for set in 1 2; do # of one daemon, and of two
    export ZCPUT_SET=$set
    rm -f root/h
    held h # a new file
    comes_back h
    rewritten h
    held h # over what it had
    comes_back h
    rewritten h
    head -c 1000 new >root/h
    held h # over a file that ends within what was written
    comes_back h
    rm -f root/h
    held h
    rewritten h
    keeps_back h "*others may have written*"
    is_new h
    "$zcput" print 4M >root/h
    held h
    rewritten h
    keeps_back h "*others may have written*"
    is_new h
done
ZCPUT_SALT=9 "$zcput" print 4M >before # as the replay without a daemon sees it
cp before root/h
held h
rewritten h
expect 1 "*are kept: *others may have written*" "$zcachectl" journal replay j
is_new h
dd if=before of=root/h conv=notrunc status=none
expect 0 "*are written*" "$zcachectl" journal replay j
staged f # in no change when it was killed, and with times that another daemon may have changed
rewritten f
keeps_back f "*others may have written*"
unset ZCPUT_SET
