#!/usr/bin/env bash
# Input on a file system that is mounted read-only, or without write permission: it is served for
# reading, with readahead; opens for writing say what to do instead.
set -u
# Mounts need a namespace of this script's own.
if [[ -z ${READ_ONLY_INSIDE:-} ]]; then
    new=(unshare --mount)
    ((EUID == 0)) || new=(unshare --map-root-user --mount)
    if "${new[@]}" true 2>/dev/null; then
        exec env READ_ONLY_INSIDE=yes "${new[@]}" "$0"
    fi
    READ_ONLY_INSIDE=no
fi
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

as=() t_open=$programs/t_open t_read_only=$programs/t_read_only
opens() { # FILE WORDS CLASS [TEXT]
    "${as[@]}" env HOME="$tmp" timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 \
        -genv LD_PRELOAD "$sanitizer$preload" "$t_open" "$@" \
        >"$tmp/out" 2>&1 </dev/null || fail "$what: $1 $2: $(cat "$tmp/out")"
}
reads() {
    "${as[@]}" env HOME="$tmp" timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 \
        -genv LD_PRELOAD "$sanitizer$preload" "$t_read_only" "zcache:$root/in" \
        >"$tmp/out" 2>&1 </dev/null || fail "$what: $(cat "$tmp/out")"
}

# CLASS TEXT: of opening for writing
input() {
    local words

    reads
    for words in rdwr wronly rdwr,create; do
        opens "zcache:$root/in" "$words" "$1" "$2"
    done
    opens "zcache:$root/new" rdwr,create "$3" "$4"
    opens "zcache:$root/in" delete "$3" "$4"
}

# Checks the daemon's message, and that it reads ahead.
daemon() { # TEXT ARGUMENTS-OF-INPUT ...
    local text=$1

    shift
    ZCACHE_LOG=info WRAP="${as[*]}" start_daemons 1 --page-size 64K --cache-size 8M
    input "$@"
    grep -q "may not create files in $root: $text" "$tmp/0.log" ||
        fail "$what: the log says $(cat "$tmp/0.log")"
    at_least 0 prefetch_used_pages 1 || fail "$what: nothing is read ahead"
    stop_daemons || fail "$what: the daemon did not drain"
}

make_root
cd "$tmp" || exit 99 # ranks are started in the working directory
cleanup_fn 'umount "$root" 2>/dev/null; chmod 755 "$root"'
mpi_quiet 2 "$programs/t_read_only" "zcache:$root/in" write || fail "the file is not made"

if [[ $READ_ONLY_INSIDE == yes ]] && mount --bind "$root" "$root"; then
    mount -o remount,bind,ro "$root" || fail "no read-only mount"
    remedy="for reading only"
    what="mounted read-only, no daemon"
    input MPI_ERR_READ_ONLY "$remedy" MPI_ERR_READ_ONLY "$root"
    what="mounted read-only, a daemon"
    daemon "Read-only" MPI_ERR_READ_ONLY "$remedy" MPI_ERR_READ_ONLY "$root"
    umount "$root"
else
    echo "not tried: no mounts here (unshare --mount)"
fi

# As a user other than root.
chmod 444 "$root/in"
chmod 555 "$root"
chmod 777 "$tmp"
if [[ -w $root ]]; then
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
    t_open=$(for_others "$t_open") t_read_only=$(for_others "$t_read_only")
    preload=$(preload_for_others) zcached=$(for_others "$zcached")
    requires "${as[@]}" test -x "$(command -v "$mpiexec")"
    printf '#!/bin/sh\nexec %s "%s" "$@"\n' "${as[*]}" "$(for_others "$zcachectl")" >"$tmp/ctl"
    chmod 755 "$tmp/ctl"
    zcachectl=$tmp/ctl
fi
what="not writable, no daemon"
input MPI_ERR_ACCESS permissions MPI_ERR_ACCESS "$root"
what="not writable, a daemon"
daemon "Permission" MPI_ERR_ACCESS permissions MPI_ERR_ACCESS "$root"
chmod 755 "$root"
