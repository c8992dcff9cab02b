#!/usr/bin/env bash
# What the file system forbids is MPI_ERR_ACCESS on every rank.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# root may do everything: as somebody else then.
as=()
if (($(id -u) == 0)); then
    requires setpriv --reuid 65534 --regid 65534 --clear-groups true
    as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
fi

forbidden() { # FILE WORDS TEXT
    "${as[@]}" env HOME="$tmp" timeout -k 5 "$mpi_timeout" "$mpiexec" -n 2 \
        -genv LD_PRELOAD "$preload" "$programs/t_open" "$1" "$2" MPI_ERR_ACCESS "$3" \
        >"$tmp/out" 2>&1 </dev/null || fail "$1 $2: $(cat "$tmp/out")"
}

make_root
chmod 755 "$tmp" "$root"
"${as[@]}" test -x "$programs/t_open" -a -r "$plugin" ||
    { echo "skipped: others cannot read the build tree"; exit 77; }
echo secret >"$root/secret"
chmod 000 "$root/secret"
echo fixed >"$root/fixed"
chmod 444 "$root/fixed"
mkdir -m 555 "$root/closed"
forbidden "zcache:$root/secret" rdonly "$root/secret"
forbidden "zcache:$root/fixed" rdwr "$root/fixed"
forbidden "zcache:$root/closed/new" rdwr,create "$root/closed/new"
[[ ! -e $root/closed/new ]] || fail "a file was left behind"
chmod 755 "$root/closed"
touch "$tmp/unreadable.addr"
chmod 000 "$tmp/unreadable.addr"
export ZCACHE_DAEMONS=$tmp/unreadable.addr
forbidden "zcache:$root/x" rdwr,create "$tmp/unreadable.addr"
