#!/usr/bin/env bash
# Files that are not zcache's are the MPI library's, with the plugin as without it: both kinds side
# by side in every function; the same system calls on such a file; the same hints.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "both kinds of files"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
make_root
cd "$tmp" || exit 99
unset ROMIO_FSTYPE_FORCE

# without_plugin RANKS PROGRAM [ARG ...]
without_plugin() {
    local n=$1

    shift
    timeout -k 5 "$mpi_timeout" "$mpiexec" -n "$n" "$@" </dev/null
}

# ---- side by side -------------------------------------------------------------------
for daemons in 0 1; do
    start_daemons "$daemons"
    mpi_quiet 3 "$programs/t_both" "zcache:$root/f" "$root/g" || fail "both, $daemons daemons"
    mpi_quiet 1 "$programs/t_both" "ufs:$root/g" "zcache:$root/f" || fail "the other way round"
    stop_daemons || fail "not drained"
done
mpi_quiet 2 "$programs/t_both" "zcache:$root/f" "zcache:$root/g" || fail "two of zcache's"
[[ -z $(ls "$root") ]] || fail "left behind: $(ls "$root")"

fort=${MPIFORT:-${MPICC/%mpicc/mpifort}}
[[ -n ${MPIFORT:-} || $fort != "$MPICC" ]] || fort=${MPICC/%mpicc.mpich/mpifort.mpich}
if [[ $fort != "$MPICC" ]] && command -v "$fort" >/dev/null &&
    "$fort" -o t_both_fortran "$here/t_both_fortran.f90" >out 2>&1; then
    mpi_quiet 2 ./t_both_fortran "zcache:$root/f" "$root/g" || fail "Fortran"
    mpi_quiet 1 ./t_both_fortran "$root/g" "zcache:$root/f" || fail "Fortran, the other way round"
else
    echo "skipped: Fortran: ${fort:-no mpifort} makes no programs"
fi

# ---- without MPI_Init ------------------------------------------------------------------
echo >"$root/g"
for file in "ufs:$root/g" "$root/g"; do
    without_plugin 1 "$programs/t_sessions" "$file" >plain 2>&1 || fail "sessions: $(<plain)"
    mpi 1 "$programs/t_sessions" "$file" >with 2>&1 </dev/null || fail "sessions: $(<with)"
    # Where the library counts that as MPI_COMM_WORLD, the plugin may say what it takes for a slip.
    grep -v "did you mean" with | diff plain - || fail "a program with sessions alone sees the plugin"
done
rm "$root/g"

# ---- hints ----------------------------------------------------------------------------
printf 'cb_buffer_size 1048576\nromio_ds_write disable\nzcache_block_size 1M\n' >hints
export ROMIO_HINTS=$tmp/hints
for file in "ufs:$root/g" "$root/g"; do
    without_plugin 2 "$programs/t_both" "$root/f" "$file" info >plain || fail "hints: $(<plain)"
    mpi 2 "$programs/t_both" "zcache:$root/f" "$file" info >with </dev/null 2>&1 ||
        fail "hints: $(<with)"
    grep '^info' plain >wanted
    grep '^info' with | diff wanted - || fail "hints of $file differ"
    grep -q '^info cb_buffer_size=1048576$' wanted || fail "no hints: $(<plain)"
done
unset ROMIO_HINTS

# ---- system calls -----------------------------------------------------------------------
# traced NAME [VARIABLE]: those of one process that name a file of $root, or a descriptor of one;
# one thread after the other, since calls of two at a time are written in halves.
traced() {
    local name=$1

    shift
    rm -f "$name".strace.*
    strace -ff -y -s 0 -e trace='%file,%desc' -o "$name.strace" env "$@" \
        "$programs/t_both" "$root/f" "$root/g" >out 2>&1 </dev/null || fail "strace: $(<out)"
    find . -name "$name.strace.*" | sort -V | xargs cat |
        sed -n 's/0x[0-9a-f]*/ADDRESS/g; s/([0-9]*</(FD</; s/= [0-9]*</= FD</;
            s/st_[acm]time=[^,}]*//g; s/st_ino=[0-9]*//; s/{f_type=[^}]*}/FS/
            s/\.shfp\.[0-9.]*/.shfp/g
            \|'"$root"'|{ /^exec/d; p; }' >"$name.calls"
    [[ $(wc -l <"$name.calls") -gt 50 ]] || fail "$name: few system calls: $(<"$name.calls")"
}

if [[ -n $sanitizer ]]; then
    echo "skipped: system calls: a sanitizer has its own"
elif command -v strace >/dev/null && strace -o /dev/null true 2>/dev/null; then
    traced plain
    traced plugin LD_PRELOAD="$plugin"
    diff plain.calls plugin.calls >out || fail "system calls differ: $(head -n 20 out)"
else
    echo "skipped: system calls: no strace, or it may not trace"
fi
