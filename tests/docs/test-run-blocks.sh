#!/usr/bin/env bash
# run-blocks runs blocks, notices one that fails, and says what it leaves out.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../mpi/functions.sh"

needs_plugin "run-blocks"
make_tmp
run_blocks=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)/run-blocks

# document WORDS: its blocks are told from the rest by fences, which are in no other file like that.
document() { sed "s/^'''/\`\`\`/" >"$tmp/a.md"; }

document <<'EOF'
'''sh
x=kept
'''
Text, and '''no block.
'''sh
[ "$x" = kept ] && [ -x build/zcache ] && [ -e examples/write_read.c ]
'''
<!-- not run: it's a test -->
'''sh
exit 9
'''
<!-- needs: false -->
'''sh
exit 9
'''
<!-- needs: test -x build/zcache -->
'''sh
touch needed
'''
<!-- fails: no such thing -->
'''sh
echo "there is no such thing"; exit 3
'''
'''c
exit(9);
'''
'''sh
[ -e needed ]
'''
EOF
expect 0 "*a.md:9: it's a test*a.md:13: needs: false*5 of 7 blocks ran" "$run_blocks" "$tmp/a.md"

document <<'EOF'
'''sh
true
'''
'''sh
echo "what it said"
false | cat
'''
EOF
expect 1 "*FAILED: *a.md:4, with status 1*what it said*" "$run_blocks" "$tmp/a.md"

# Of manual pages.
cat >"$tmp/page.1.in" <<'EOF'
.SH EXAMPLES
.\" first: there=yes
.nf
.RS
[ "$there" = yes ] && [ \-d /scratch ] && echo \(aqwhat it said\(aq >/scratch/x
zcachectl \-\-version
.RE
.fi
.PP
.\" not run: another host
.nf
exit 9
.fi
.nf \" ini
root = /scratch
.fi
.nf
cat scratch/x >&2; exit 3
.fi
EOF
expect 1 "*page.1.in:11: another host*FAILED: *page.1.in:17, with status 3*what it said*" \
    "$run_blocks" "$tmp/page.1.in"

document <<'EOF'
<!-- fails: no such thing -->
'''sh
echo "there is no such thing"
'''
EOF
expect 1 "*FAILED: *a.md:2*did not fail*" "$run_blocks" "$tmp/a.md"

document <<'EOF'
<!-- fails: no such thing -->
'''sh
echo "something else"; exit 1
'''
EOF
expect 1 "*does not say*something else*" "$run_blocks" "$tmp/a.md"

document <<'EOF'
'''
rm nothing
'''
EOF
expect 1 "*a block needs a name*" "$run_blocks" "$tmp/a.md"
