#!/usr/bin/env bash
# Programs under valgrind, strace, gdb and address sanitizer, as doc/guide.md says: a correct one
# causes no report, a faulty one exactly its own.
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "programs that preload it"
[[ ! $sanitizer ]] || {
    echo "skipped: this build has a sanitizer itself"
    exit 77
}
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
done=0

# have COMMAND ...: whether the tool works here; if not says so, and what it is for is left out.
have() {
    if "$@" >tried 2>&1 </dev/null; then
        done=$((done + 1))
        return
    fi
    echo "without $1: $(tail -n 1 tried)"
    return 1
}

# run_as DAEMONS COMMAND ...: by zcache run, with 2 ranks; all it says is in out.
run_as() {
    stretch "$mpi_timeout"
    LD_PRELOAD=${preload%"$plugin"} timeout -k 5 "$stretched" "$zcache" run --root root \
        --cache-size 32M --daemons "$1" -- "$mpiexec" -n 2 "${@:2}" >out 2>&1 </dev/null
}
right() { run_as "$@" || fail "$*: status $?: $(cat out)"; }
reported() { # PATTERN DAEMONS COMMAND ...
    ! run_as "${@:2}" || fail "not reported: ${*:2}: $(cat out)"
    grep -qE "$1" out || fail "reported otherwise: ${*:2}: $(cat out)"
}

make_root
cd "$tmp" || exit 99
program=("$programs/t_tools" "zcache:$root/f")

# The loader compares a run path of a library in words, which may end behind it.
printf '{\n loader\n Memcheck:Addr8\n fun:strncmp\n fun:is_dst\n}\n' >loader.supp
checked=(valgrind -q --error-exitcode=9 --suppressions="$PWD/loader.supp")
# Other MPI libraries than that of the build may have reports of their own, without zcache.
without_zcache() {
    [[ ${OTHER_MPI:-}${TEST_MPI:-} ]] || return 0
    stretch "$mpi_timeout"
    timeout -k 5 "$stretched" "$mpiexec" -n 2 "${checked[@]}" "$programs/t_tools" "$ufs$root/g"
}
if have valgrind -q true && have without_zcache; then
    right 1 "${checked[@]}" "${program[@]}"
    export ZCACHE_LOCAL=false
    reported 'depends on uninitialised' 0 "${checked[@]}" "${program[@]}" undefined
    unset ZCACHE_LOCAL
    reports=$(grep -oE '==[0-9]+==    at 0x' out | wc -l) # the program's own, of two ranks
    ((reports == 2)) || fail "valgrind has $reports reports, not 2: $(cat out)"
fi

if have strace -o /dev/null true; then
    right 1 strace -ff -o "$tmp/calls" "${program[@]}"
    grep -q 'exited with 0' calls.* || fail "strace: no end: $(ls)"
fi

if have gdb -q -batch -ex run --args true; then
    right 1 gdb -q -batch -ex run --args "${program[@]}"
    [[ $(grep -o 'exited normally' out | wc -l) == 2 ]] || fail "gdb: $(cat out)"
fi

if "$MPICC" -g -fsanitize=address -o program "$here/t_tools.c" >out 2>&1; then
    done=$((done + 1))
    export ASAN_OPTIONS=verify_asan_link_order=0:detect_leaks=0
    right 1 ./program "zcache:$root/f"
    reported 'AddressSanitizer: heap-buffer-overflow' 1 ./program "zcache:$root/f" overflow
else
    echo "without address sanitizer: $(head -n 1 out)"
fi

((done)) || {
    echo "skipped: none of these tools is installed"
    exit 77
}
