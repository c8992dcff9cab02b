#!/usr/bin/env bash
# A journal whose disk has room for one segment of its size only, and one that others fill: writes
# go on, the daemon ends when it is told to, and starts that find no room write back what is there.
if [[ ${JOURNAL_SMALL:-} != inside ]] && unshare -rm true 2>/dev/null; then
    JOURNAL_SMALL=inside exec unshare -rm "$0"
fi
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
faultshim=$build/tests/.libs/faultshim.so
requires test -e "$faultshim"

make_tmp
set_silence
cd "$tmp" || exit 99
mkdir root disk
root=$tmp/root
requires mount -t tmpfs -o size=5M,mode=700 tiny disk
options=(--root "$root" --cache-size 64M --timeout "$silence" --page-size 256K
    --journal "$tmp/disk/j" --journal-size 64M)
export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
daemon_preload=$faultshim

# ---- room for one segment ----
start_daemon 0 "${options[@]}"
expect 0 "written" timeout 60 "$zcput" write 0.addr "$root/f" 40M
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/f 40M || fail "not everything was written back"

# ---- none, and something in the journal, at two starts ----
start_daemon 0 "${options[@]}"
echo ENOSPC >switch
expect 0 "written" "$zcput" write 0.addr "$root/g" 2M
stop_daemon 0 KILL
dd if=/dev/zero of=disk/full bs=64K 2>/dev/null
for start in 1 2; do
    start_daemon 0 "${options[@]}"
    expect 0 "*no room for a segment*2 MiB of 1 file * are written back*" cat 0.log
    ((start == 2)) || stop_daemon 0 KILL
done
rm switch
stop_daemon 0 || fail "status $?: $(cat 0.log)"
"$zcput" check root/g 2M || fail "it was not written back"
umount disk
