#!/usr/bin/env bash
# zcache run --summary: what became of each file, and of all; nothing without the option; and a
# program that opens nothing through zcache is told so, with daemons and without.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "zcache run preloads it"
requires command -v script
simpario=$build/simpario/simpario

make_root
cd "$tmp" || exit 99
export XDG_RUNTIME_DIR=$tmp
unset SLURM_JOB_ID

# run OPTION ... -- NAME ...: simpario writes these; what zcache says to $tmp/said.
run() {
    local options=()

    while [[ $1 != -- ]]; do options+=("$1"); shift; done
    shift
    # shellcheck disable=SC2016 # the inner shell's
    "$zcache" run --root "$root" "${options[@]}" -- sh -c '
        for name; do
            "$mpiexec" -n 2 "$simpario" -f "$name" --write --keep --quiet --no-reference \
                --phases 2 --record 1M || exit
        done' sh "$@" >"$tmp/out" 2>&1 </dev/null || fail "run $*: $(<"$tmp/out")"
    grep '^zcache:' "$tmp/out" >"$tmp/said"
}
export mpiexec simpario

for daemons in 0 1; do
    run --daemons "$daemons" -- "zcache:$root/a"
    [[ ! -s said ]] || fail "$daemons daemons: said without being asked: $(<said)"

    run --daemons "$daemons" --summary -- "zcache:$root/a b"
    (($(wc -l <said) == 1)) || fail "$daemons daemons: not one line: $(<said)"
    grep -q "^zcache: summary: $root/a b: wrote 4.0 MiB in [0-9.]* s, read 0 B in .*; limited by " \
        said || fail "$daemons daemons: $(<said)"

    run --daemons "$daemons" --summary -- "zcache:$root/a" "zcache:$root/b"
    (($(wc -l <said) == 3)) || fail "$daemons daemons: not three lines: $(<said)"
    grep -q '^zcache: summary: all 2 closes: wrote 8.0 MiB in ' said ||
        fail "$daemons daemons: no sum: $(<said)"

    run --daemons "$daemons" --summary -- "ufs:$root/a"
    grep -q "no file was opened through zcache: .*zcache:$root/x" said ||
        fail "$daemons daemons: nothing of the forgotten prefix: $(<said)"
    grep -q 'summary: no file' said || fail "$daemons daemons: $(<said)"
done
[[ -z $(find "$tmp"/zcache-* -mindepth 1) ]] || fail "left: $(find "$tmp"/zcache-*)"

# A close that takes long says what is left, on a terminal; here, sooner than it would.
requires test -e "$faultshim"
export FAULTSHIM_UNDER=$root FAULTSHIM_DELAY=100:400000 ZCACHE_PROGRESS=300ms LD_PRELOAD=$faultshim
write="'$mpiexec' -n 2 '$simpario' -f 'zcache:$root/f' --write --quiet --no-reference \
    --no-verify --phases 4 --record 4M --hint zcache_block_size=1M --hint zcache_idle_time=0"
LD_PRELOAD='' script -qefc \
    "'$zcache' run --root '$root' --daemons 0 env LD_PRELOAD='$faultshim:$plugin' $write" \
    screen >/dev/null 2>&1 </dev/null || fail "at a terminal: $(<screen)"
grep -q "closing $root/f: [0-9.]* MiB left, [0-9.]* [KM]iB/s, about [0-9]* s" screen ||
    fail "nothing of what is left: $(<screen)"
