#!/usr/bin/env bash
# Ranks that disagree on the driver (another prefix, ROMIO_FSTYPE_FORCE or no plugin on some) do not
# wait for each other for ever: the open fails on all of them, and says which ranks they are.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
mpi_timeout=${MPI_TIMEOUT:-60}
make_root

for names in "zcache:$root/f $ufs$root/f" "$ufs$root/f zcache:$root/f" "zcache:$root/f $root/f"; do
    # shellcheck disable=SC2086
    mpi 4 "$programs/t_driver" $names fails >"$tmp/out" 2>&1 </dev/null ||
        fail "$names: status $?: $(cat "$tmp/out")"
    grep -Eq "rank 0: .*ranks (0-2|3) open it by zcache and ranks (0-2|3) by another" "$tmp/out" ||
        fail "$names: $(cat "$tmp/out")"
    [[ $(grep -c '^rank .*by zcache and ranks' "$tmp/out") == 4 ]] || fail "$names: $(cat "$tmp/out")"
done
mpi_quiet 3 "$programs/t_driver" "zcache:$root/f" "zcache:$root/f" opens || fail "all by zcache"
mpi_quiet 3 "$programs/t_driver" "$ufs$root/f" "$ufs$root/f" opens || fail "none by zcache"

# mixed: the environment of the last rank is another one.
mixed() {
    timeout -k 5 "$mpi_timeout" "$mpiexec" \
        -n 2 env "$1" "$programs/t_driver" "$root/f" "$root/f" fails : \
        -n 1 env "$2" "$programs/t_driver" "$root/f" "$root/f" fails >"$tmp/out" 2>&1 </dev/null ||
        fail "$1, $2: status $?: $(cat "$tmp/out")"
}
unset ROMIO_FSTYPE_FORCE
LD_PRELOAD=$sanitizer$preload mixed ROMIO_FSTYPE_FORCE=zcache: NOTHING=
grep -q 'ranks 0-1 open it by zcache and ranks 2 by another' "$tmp/out" || fail "$(cat "$tmp/out")"

[[ $plugin ]] || exit 0
export ROMIO_FSTYPE_FORCE=zcache:
timeout -k 5 "$mpi_timeout" "$mpiexec" \
    -n 2 env "LD_PRELOAD=$sanitizer$preload" "$programs/t_driver" "$root/f" "$root/f" fails : \
    -n 1 env -u ROMIO_FSTYPE_FORCE "$programs/t_driver" "$root/f" "$root/f" fails \
    >"$tmp/out" 2>&1 </dev/null || fail "no plugin on one: status $?: $(cat "$tmp/out")"
for rank in 0 1; do
    grep -q "rank $rank opens it with libzcache.so, and at least one rank without" "$tmp/out" ||
        fail "rank $rank says nothing: $(cat "$tmp/out")"
done
