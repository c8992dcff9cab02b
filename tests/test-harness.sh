#!/usr/bin/env bash
# What the suite says of faults that are planted here: a race that thread sanitizer reports, a
# crash, a lost byte, a hang, a failure that comes once.  And the surroundings that timed gives a
# test.
set -u
here=$(cd "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/zcache-test.XXXXXX") || exit 99
trap 'rm -rf "$tmp"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
timed=$here/timed

plant() { # NAME: what stdin says
    { echo '#!/bin/bash'; cat; } >"$tmp/build/tests/$1.sh"
    chmod +x "$tmp/build/tests/$1.sh"
}

# A build directory with the harness's files and target.
mkdir -p "$tmp/build/tests"
cat >"$tmp/build/tests/Makefile" <<END
check-TESTS:
	@for test in \$(TESTS); do \\
	    name=\$\${test%.sh}; result=FAIL; \\
	    rm -f \$\$name.trs; \\
	    if $timed ./\$\$test >\$\$name.log 2>&1; then result=PASS; \\
	    elif [ \$\$? -eq 77 ]; then result=SKIP; fi; \\
	    [ -e \$\$name.none ] || echo ":test-result: \$\$result" >\$\$name.trs; \\
	    echo "\$\$result: \$\$test"; \\
	done
END
export TEST_TIMEOUT=60
suite() { # NAME ...: runs them, those that failed again, and the summary, in $output and $status
    rm -rf "$tmp/build/tests/"*.trs "$tmp/kept"
    make -s -C "$tmp/build/tests" check-TESTS TESTS="${*/%/.sh}" >/dev/null 2>&1
    output=$(TOP_SRCDIR=$tmp/build "$here/again" "$tmp/kept" "$tmp/build" 2>&1
        "$here/summary" --unstable "$tmp/kept/list" "$tmp/build")
    status=$?
}
says() { # STATUS PATTERN
    # shellcheck disable=SC2053 # a pattern
    [[ $status == "$1" && $output == $2 ]] || fail "status $status, should be $1 and like $2:
$output"
}

# ---- faults ----
plant good <<<'exit 0'
suite good
says 0 "*1 passed, 0 failed, 0 skipped"

plant once <<END
[ -e $tmp/was ] && exit 0
touch $tmp/was
echo "no answer in time"
exit 1
END
suite good once
says 0 "*unstable build/tests/once: *no answer in time*2 passed, 0 failed, 0 skipped, 1 unstable"
[[ $(<"$tmp/kept/build-tests-once.log") == *"no answer in time"* ]] || fail "its log is not kept"

plant always <<<'echo "no answer in time"; exit 1'
suite good always
says 1 "*FAIL: build/tests/always: again, alone*FAILED build/tests/always:*1 passed, 1 failed, *"

# Neither is taken for passed.
plant skips <<END
[ -e $tmp/skips ] && echo "skipped: nothing to see" && exit 77
touch $tmp/skips
echo "no answer in time"
exit 1
END
suite good skips
says 1 "*FAIL: build/tests/skips: again, alone*FAILED build/tests/skips:*1 passed, 1 failed, *"

plant vanishes <<END
[ ! -e $tmp/vanishes ] || touch $tmp/build/tests/vanishes.none
touch $tmp/vanishes
echo "no answer in time"
exit 1
END
suite good vanishes
says 1 "*FAIL: build/tests/vanishes: again, alone*FAILED build/tests/vanishes:*1 failed, *"

plant busy <<END
echo run >>$tmp/busy
[ \$(wc -l <$tmp/busy) -gt 2 ] && exit 0
[ \$(wc -l <$tmp/busy) -gt 1 ] && echo "skipped: too busy" && exit 77
exit 1
END
suite good busy
says 0 "*2 passed, 0 failed, 0 skipped, 1 unstable"

# Each passes the second time; none gets one.
never_excused() { # NAME WHY; stdin: what it says
    plant "$1" <<END
[ -e $tmp/was-$1 ] && exit 0
touch $tmp/was-$1
cat <<'SAID'
$(cat)
SAID
exit 1
END
    suite good "$1"
    says 1 "*FAIL: build/tests/$1: not tried again, for $2*1 passed, 1 failed, *"
}
never_excused race "a sanitizer reported" <<<"WARNING: ThreadSanitizer: data race (pid=1)"
never_excused leak "a sanitizer reported" <<<"SUMMARY: AddressSanitizer: 8 byte(s) leaked"
never_excused crash "it crashed" <<<"x.c:1:E:core:core:0: (after this point) Received signal 11 (Segmentation fault)"
never_excused lost "it lost bytes" <<<"x.c:1:F:core:core:0: piece 6868 of cache 2 was lost"
never_excused wrong "it saw wrong bytes" <<<"byte 12 is 3, should be 4"
never_excused stale "it saw wrong bytes" <<<"stale bytes at 4096"
never_excused short "it lost bytes" <<<"cmp: EOF on f after byte 4096, line 3"
never_excused other "it saw wrong bytes" <<<"zcheal: /f: other bytes"
never_excused compared "it saw wrong bytes" <<<"x.c:1:F:c:c:0: Assertion '!memcmp(a, b, n)' failed"
never_excused count "it saw wrong bytes" <<<"read: 4095 bytes, not 4096"
never_excused size "it saw wrong bytes" <<<"the size is 10, not 20"
never_excused heap "it crashed" <<<"free(): invalid pointer"
never_excused libc "it crashed" <<<"zcached: x.c:3: main: Assertion \`0' failed."
never_excused status "it crashed" <<<"FAILED: status 66 of the daemon"
never_excused exits "it crashed" <<<"x.c:1:E:c:c:0: (after this point) Early exit with return value 66"

# What a test does not look at itself: a daemon's crash, a report in a process's log.
mkdir "$tmp/build/iod"
printf '#!/bin/sh\n' >"$tmp/build/iod/zcached"
chmod +x "$tmp/build/iod/zcached"
unseen() { # NAME WHY; stdin: what the test does
    plant "$1" <<END
top_builddir=$tmp/build
. $here/daemon/functions.sh
make_tmp
$(cat)
exit 0
END
    suite good "$1"
    says 1 "*FAIL: build/tests/$1: not tried again, for $2*1 passed, 1 failed, *"
}
unseen crashed "it crashed" <<'END'
echo "its last words" >"$tmp/0.log"
bash -c 'ulimit -c 0; kill -SEGV $$' &
daemon_pids[0]=$!
stop_daemon 0 CONT
END
plant status <<END
top_builddir=$tmp/build
. $here/daemon/functions.sh
make_tmp
echo "skipped: nothing to see"
exit 77
END
suite good status
says 0 "*skipped tests/status: nothing to see*1 passed, 0 failed, 1 skipped"
unseen reported "a sanitizer reported" <<'END'
echo "WARNING: ThreadSanitizer: data race (pid=1)" >"$tmp/0.log"
END

for name in 1 2 3 4 5 6; do
    plant "once$name" <<END
[ -e $tmp/was$name ] && exit 0
touch $tmp/was$name
exit 1
END
done
suite good once1 once2 once3 once4 once5 once6
says 1 "*7 passed, 0 failed, 0 skipped, 6 unstable"

plant hang <<<'sleep 1000 & sleep 2000'
TEST_TIMEOUT=1 suite good hang
says 1 "*FAILED build/tests/hang:*it did not end within its limit of 1 s*1 passed, 1 failed, *"

# ---- what make says ----
cat >"$tmp/log" <<'END'
FAIL: unit/test_x
make[4]: *** [Makefile:5732: test-suite.log] Error 1
make[3]: *** [Makefile:5840: check-TESTS] Error 2
make[2]: *** [Makefile:6543: check-am] Error 2
make: *** [Makefile:1146: check-nompi] Error 2
END
"$here/only-tests-failed" "$tmp/log" || fail "a failed test alone is taken for something else"
for line in 'make[3]: *** [Makefile:12: unit/x.o] Error 1' 'make: *** [Makefile:9: all] Error 2' \
    "make: *** No rule to make target 'x'.  Stop." 'make[1]: *** [Makefile:7: dist] Error 1' \
    'fatal: making test-suite.log: failed to create unit/x.trs'; do
    { cat "$tmp/log" && echo "$line"; } >"$tmp/more"
    ! "$here/only-tests-failed" "$tmp/more" || fail "taken for a failed test: $line"
done
grep -v ^FAIL "$tmp/log" >"$tmp/none"
! "$here/only-tests-failed" "$tmp/none" || fail "no test failed, and it is taken for that"

# ---- surroundings ----
plant around <<'END'
[ "$(umask)" = 0022 ] || { echo "umask $(umask)"; exit 1; }
[ -d "$HOME" ] || { echo "HOME $HOME"; exit 1; }
[ ${#TMPDIR} -lt 50 ] || { echo "TMPDIR $TMPDIR"; exit 1; }
! read -r line || { echo "input: $line"; exit 1; }
trap 'exit 0' INT
kill -INT $$
echo "SIGINT is ignored"
exit 1
END
long=$tmp/$(printf '%060d' 0)
mkdir -p "$long"
output=$(
    trap '' INT
    umask 077
    unset HOME
    export TMPDIR=$long
    "$timed" "$tmp/build/tests/around.sh" <<<text 2>&1
) || fail "surroundings: $output"

# Ranges of ports of tests that are run at a time are different ones.
if [[ $(top_builddir=$tmp/build "$here/ports") && $(command -v flock) ]]; then
    for _ in {1..30}; do
        top_builddir=$tmp/build "$here/ports" >>"$tmp/ranges" &
    done
    wait
    [[ $(wc -l <"$tmp/ranges") == 30 && ! $(sort "$tmp/ranges" | uniq -d) ]] ||
        fail "ranges of ports: $(sort "$tmp/ranges" | uniq -dc)"
fi

# What a test leaves running ends with it, also in a session of its own; another's does not.
sleep 300 &
mine=$!
plant leaves <<END
setsid sleep 300 >/dev/null 2>&1 &
echo \$! >$tmp/left
exit 0
END
output=$("$timed" "$tmp/build/tests/leaves.sh") || fail "a test that leaves something: $output"
[[ $output == *"left running, ended: $(<"$tmp/left") "*"sleep 300"* ]] || fail "not said: $output"
for ((i = 0; i < 500; i++)); do # it is killed, and init takes its time to notice
    grep -qs '^State:.[^Z]' "/proc/$(<"$tmp/left")/status" || break
    sleep 0.02
done
((i < 500)) || fail "what it left runs on"
kill "$mine" || fail "a process that is not the test's was ended"

output=$("$here/stable" 2 good 2>&1) && fail "stable runs what is not there: $output"
cd "$tmp/build/tests" || exit 99
output=$("$here/stable" 3 good.sh) || fail "$output"
[[ $output == *"3 of 3 passed"* ]] || fail "$output"
output=$("$here/stable" 2 always.sh) && fail "stable says nothing of failures: $output"
[[ $output == *"0 of 2 passed"* ]] || fail "$output"
