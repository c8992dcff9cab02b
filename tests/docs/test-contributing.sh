#!/usr/bin/env bash
# The commands of CONTRIBUTING that stand on lines of their own are run, but for those below, each
# with its reason.  Whether targets, files and options of those exist test-commands.sh looks.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../mpi/functions.sh"

left_out=( # a pattern, and why
    'make *' "make runs this test; the target is there"
    './quickstart *' "installs packages, and builds"
    'mkdir build-tsan *' "only for what follows it"
    '../configure *' "builds for minutes; ./quickstart check does it"
    '*gdb *' "wants a person to debug"
    'tests/docs/run-blocks *' "test-blocks.sh does it"
    'tests/fuzz/run-fuzz *' "wants the build of make check-fuzz; test-new-inputs.sh runs it"
    'tests/faults/check-faults --cell *' "wants the programs of make check-faults, which runs it"
    'tests/faults/soak.py *' "takes a minute; make check-faults runs it"
    'build/tests/faults/sweep *' "wants the programs of make check-faults, which runs it"
    'tests/programs/run-programs *' "builds programs of others; make check-programs runs it"
    'build/programs-results/*' "is what make check-programs has left"
    'tests/intree.sh *' "wants the MPICH of make check-intree, which runs it"
    'tests/mpi/asan.sh *' "wants the build of make check-mpi-asan, which runs it"
    'tests/bench/overlap.sh *' "takes minutes, of a machine that does nothing else"
    'tests/bench/page/report *' "wants figures, which make bench has made"
    'tests/mpi/test-model.sh MODE *' "says what the next line may have"
)

# Debian 12's valgrind does not know all calls that zcached cannot do without.
can_valgrind() {
    command -v valgrind >/dev/null || { echo "no valgrind (Debian: valgrind)"; return 1; }
    ! WRAP="valgrind -q" tests/run-iod true 2>&1 | grep -o 'unhandled .* syscall: .*' |
        sed "s/^/$(valgrind --version) says /" | grep .
}

# Lines that begin with a command, after variables for it; behind two blanks stands what it does.
commands() {
    local variables='([A-Z_]+=("[^"]*"|[^ ]+) )*'

    grep -E "^    $variables(make|mkdir|gdb|../configure|./quickstart|(tests|build)/[^ ]+)( |$)" \
        CONTRIBUTING | sed 's/^ *//; s/  .*//'
}

# what_for COMMAND: why it is left out, or nothing.
what_for() {
    local i

    for ((i = 0; i < ${#left_out[@]}; i += 2)); do
        # shellcheck disable=SC2053 # a pattern
        [[ $1 == ${left_out[i]} ]] || continue
        needed[i]=1
        why=${left_out[i + 1]}
        return
    done
    why=
}

needs_plugin "programs that preload it"
make_tmp
export top_builddir=$build
cd "$(dirname -- "${BASH_SOURCE[0]}")/../.." || exit 99
[[ -x $build/tests/unit/test_rpc ]] ||
    left_out+=('CK_RUN_CASE=*' "no unit tests in this build (Debian: check)")
why=$(can_valgrind) || left_out+=('WRAP="valgrind *' "$why")
inputs=(tests/fuzz/corpus/sessions/*)
needed=()
ran=0
while read -r command; do
    what_for "$command"
    [[ -z $why ]] || { echo "left out: $command: $why"; continue; }
    # Words in capitals stand for something.
    filled=${command// COMMAND/ true} filled=${filled// FILE/ ${inputs[0]}}
    timeout -k 5 120 bash -c "${filled//build\//$build/}" >"$tmp/out" 2>&1 </dev/null
    status=$?
    ! grep -q 'Checks: 0,' "$tmp/out" || status="0, of no case"
    [[ $status == 0 ]] || { cat "$tmp/out" >&2; fail "CONTRIBUTING: $command: status $status"; }
    echo "ran: $command"
    ran=$((ran + 1))
done < <(commands)
for ((i = 0; i < ${#left_out[@]}; i += 2)); do
    [[ ${needed[i]:-} ]] || fail "CONTRIBUTING has no \"${left_out[i]}\" any more"
done
((ran >= 5)) || fail "where are the commands of CONTRIBUTING?"
