#!/usr/bin/env bash
# The model of a journal (journal.pml) has no schedule that loses or reverts what was acknowledged;
# each of its variants, which lacks one rule, has one.
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"
requires command -v spin
requires command -v gcc

model=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/journal.pml
make_tmp
cd "$tmp" || exit 99

# search [-DNAME...]: its figures, in `out`.
search() {
    spin "$@" -a "$model" >spin.out 2>&1 || fail "spin $*: $(cat spin.out)"
    gcc -O2 -w -DSAFETY -DCOLLAPSE -DMEMLIM=3000 -o pan pan.c || fail "it does not compile"
    ./pan -E -m20000 >out 2>&1
    grep -q 'errors: ' out || fail "$*: $(cat out)"
}

# sound [-DNAME...]
sound() {
    search "$@"
    grep -q 'errors: 0$' out || fail "$*: a schedule loses or reverts bytes: $(cat out)"
    grep -Eq 'Search not completed|max search depth|reached -DMEMLIM' out &&
        fail "$*: not all: $(cat out)"
    grep -E 'states, stored|total actual memory|elapsed time' out
}

sound
sound -DMARKS_ONLY

# faulty [-DNAME...]
faulty() {
    search "$@"
    grep -q 'errors: 1$' out || fail "$*: nothing is found: $(cat out)"
}

faulty -DNO_CONTENTS
for rule in NO_SEAT NO_MARK LATE_RAISE VOID_FIRST BLIND_BYPASS RAISE_LAST; do
    faulty -DMARKS_ONLY -D$rule
done
faulty -DMARKS_ONLY -DLATE_NAME -DSTARTS=3
