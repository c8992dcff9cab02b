#!/usr/bin/env bash
# What the file system forbids is MPI_ERR_ACCESS on every rank.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# root may do everything, so another user is used.
as=()
if (($(id -u) == 0)); then
    requires setpriv --reuid 65534 --regid 65534 --clear-groups true
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi

opens() { # FILE WORDS CLASS [TEXT]
    "${as[@]}" env HOME="$tmp" timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 \
        -genv LD_PRELOAD "$preload" "$t_open" "$@" \
        >"$tmp/out" 2>&1 </dev/null || fail "$1 $2: $(cat "$tmp/out")"
}
forbidden() { opens "$1" "$2" MPI_ERR_ACCESS "$3"; } # FILE WORDS TEXT

make_root
cd "$tmp" || exit 99 # ranks are started in the working directory
chmod 755 "$tmp" "$root"
t_open=$(for_others "$programs/t_open")
preload=$(preload_for_others)
"${as[@]}" ldd "$t_open" | grep -q 'not found' &&
    { echo "skipped: others cannot read the MPI library"; exit 77; }
echo secret >"$root/secret"
chmod 000 "$root/secret"
echo fixed >"$root/fixed"
chmod 444 "$root/fixed"
mkdir -m 555 "$root/closed"
forbidden "zcache:$root/secret" rdonly "$root/secret"
forbidden "zcache:$root/fixed" rdwr "$root/fixed"
opens "zcache:$root/fixed" rdonly MPI_SUCCESS
# A file without read permission is never read.
: >"$root/letterbox"
chmod 222 "$root/letterbox"
opens "zcache:$root/letterbox" wronly,write MPI_SUCCESS
[[ $(stat -c %s "$root/letterbox") == $((2 * 64 << 20)) ]] ||
    fail "not written: $(stat "$root/letterbox")"
forbidden "zcache:$root/letterbox" rdwr "$root/letterbox"
forbidden "zcache:$root/closed/new" rdwr,create "$root/closed/new"
[[ ! -e $root/closed/new ]] || fail "a file was left behind"
chmod 755 "$root/closed"
touch "$tmp/unreadable.addr"
chmod 000 "$tmp/unreadable.addr"
export ZCACHE_DAEMONS=$tmp/unreadable.addr
forbidden "zcache:$root/x" rdwr,create "$tmp/unreadable.addr"
