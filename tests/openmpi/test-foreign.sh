#!/usr/bin/env bash
# Files that are not zcache's are Open MPI's, with the plugin as without it: the same results in
# every function of the I/O chapter, the same hints, the same system calls.  Run by run-openmpi, for
# the library and for the component.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../mpi/functions.sh"

make_root
cd "$tmp" || exit 99
strace=(strace -ff -y -s 0 -e 'trace=%file,%desc')
strace -o /dev/null true 2>/dev/null || strace=()

# Representations of the program's own are known to the library's files alone (doc/install.md).  The
# other row does not end.
left_out=(-datarep -datarep_registered -datarep_native -end_of_file_nonblocking)

# run_chapter NAME VARIABLE: the rows, the hints and the system calls of one process.
run_chapter() {
    local trace=() name=$1

    ((!${#strace[@]})) || trace=("${strace[@]}" -o "$name.strace")
    stretch "$mpi_timeout"
    timeout -k 5 "$stretched" "$mpiexec" -n 1 "${trace[@]}" env "${@:2}" \
        "$programs/t_io_chapter" "$root/f" "${left_out[@]}" >"$name.out" 2>&1 </dev/null ||
        fail "$name: status $?: $(<"$name.out")"
    grep -E '^(row|hint) ' "$name.out" >"$name.rows"
    [[ $(grep -c ' yes$' "$name.rows") -gt 40 ]] || fail "$name: $(<"$name.out")"
    [[ -z $(ls "$root") ]] || fail "$name: left behind: $(ls "$root")"
}

# calls NAME: those that name a file of $root, or a descriptor of one, without what differs from run
# to run; one thread after the other.
calls() {
    find . -name "$1.strace.*" | sort -V | xargs cat |
        sed -n 's/0x[0-9a-f]*/ADDRESS/g; s/([0-9]*</(FD</; s/= [0-9]*</= FD</
            s/st_[acm]time=[^,}]*//g; s/st_ino=[0-9]*//; s/{f_type=[^}]*}/FS/
            \|'"$root"'|{ /^exec/d; p; }' >"$1.calls"
    [[ $(wc -l <"$1.calls") -gt 50 ]] || fail "$1: few system calls: $(<"$1.calls")"
}

run_chapter plain "OMPI_MCA_mca_base_component_path=SYSTEM_DEFAULT"
if [[ $plugin ]]; then
    run_chapter with "LD_PRELOAD=$plugin"
else
    run_chapter with ZCACHE_LOG=warn # the component is in the environment
fi
diff plain.rows with.rows >out || fail "results or hints differ: $(<out)"
if ((${#strace[@]})); then
    calls plain
    calls with
    diff plain.calls with.calls >out || fail "system calls differ: $(head -n 20 out)"
else
    echo "skipped: system calls: no strace, or it may not trace"
fi
