#!/usr/bin/env bash
# What creating a file depends on beside its name: the umask, with threads that create others; a
# symbolic link to nothing yet; and a list of daemons that is longer than any hint may be.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
create=$programs/t_create

make_root
for daemons in 0 1; do
    start_daemons "$daemons"
    mpi_quiet 1 "$create" "zcache:$root/f" 100 4 || fail "$daemons daemons"
    (($(find "$root" -name 'f.*' | wc -l) == 400)) || fail "not 400 files"
    open=$(find "$root" -name 'f.*' ! -perm 640)
    [[ -z $open ]] || fail "with umask 027: $(ls -l $open)"
    rm "$root"/f.*

    ln -s target "$root/link.0.0"
    mpi_quiet 1 "$create" "zcache:$root/link" 1 1 || fail "a link to nothing, $daemons daemons"
    [[ -L $root/link.0.0 && $(<"$root/target") == x ]] || fail "the link leads nowhere"
    rm "$root"/*
    stop_daemons || fail "not drained"
done

# Through a daemon as without: the umask is the program's, whatever the daemon's is.
for pair in 002:022:664 077:022:600 022:077:644 000:027:666; do
    IFS=: read -r theirs own want <<<"$pair"
    (
        umask "$own"
        exec "$zcached" --root "$root" --address-file "$tmp/u.addr" --pid-file "$tmp/u.pid" \
            --cache-size 16M 2>"$tmp/u.log"
    ) &
    daemon_pids[0]=$!
    there() { [[ -s $tmp/u.addr ]]; }
    wait_for 60 there || fail "no daemon with umask $own: $(cat "$tmp/u.log")"
    for through in "" "$tmp/u.addr"; do
        rm -f "$root/u"
        (umask "$theirs" && ZCACHE_DAEMONS=$through mpi_quiet 1 "$programs/t_streams" "zcache:$root/u") ||
            fail "umask $theirs, daemon ${through:-none}"
        mode=$(stat -c %a "$root/u")
        [[ $mode == "$want" ]] ||
            fail "umask $theirs, daemon ${through:-none} with $own: mode $mode, not $want"
    done
    mode=$(stat -c %a "$tmp/u.pid")
    ((0$mode == (0666 & ~0$own))) || fail "a pid file of mode $mode with umask $own"
    stop_daemon 0 || fail "status $? of the daemon"
done
unset ZCACHE_DAEMONS

# Each rank of the three must know all of the list, which has a line break in it, too.
list=
for i in 0 1 2; do
    long=$tmp/$(printf "%0200d/" 1 2 3)$'a\nb'
    mkdir -p "$long"
    start_daemon "$i" --root "$root"
    ln -s "$tmp/$i.addr" "$long/$i.addr"
    list+=${list:+,}$long/$i.addr
done
export ZCACHE_DAEMONS=$list
((${#list} > 1024)) || fail "the list is too short to be cut"
mpi_quiet 3 "$build/simpario/simpario" -f "zcache:$root/file" --record 2M --phases 2 \
    --hint cb_nodes=3 --hint 'cb_config_list=*:3' --hint zcache_block_size=1M \
    --posix-verify "$root/file" || fail "three daemons in a long list"
for i in 0 1 2; do
    n=$("$build/iod/zcachectl" --daemons "$tmp/$i.addr" --json stats |
        jq '.. | .written_bytes? // empty' | head -n 1)
    ((n > 0)) || fail "daemon $i was given nothing"
done
stop_daemons || fail "not drained"
