#!/usr/bin/env bash
# Does check-style.sh find what it is for?  Small files with one thing wrong each, or none.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

# expect STATUS WORDS NAME: what it says of the file that is standard input.  A tool that is missing
# makes it 77, of a file with nothing wrong, too.
expect() {
    local said status

    mkdir -p "$tmp/$(dirname "$3")"
    cat >"$tmp/$3"
    said=$("$top/tests/check-style.sh" "$tmp/$3" 2>&1)
    status=$?
    ((status == $1)) && [[ $said == *"$2"* ]] && return
    ((status == 77)) && { echo "not tried: $3: $said"; return; }
    echo "$3: expected status $1 and '$2', found $status and: $said"
    failed=1
}

long='a line that is longer than it may be, since it does not end where a hundred columns do'
expect 0 'check-style' good.c <<<'int x = 1;'
expect 1 'clang-format' bad.c <<<'int  x=1 ;'
# The word is in two parts here: this file is looked at, too.
expect 1 'codespell' word.c <<<"/* rec""ieve */"
expect 1 'more than 100 columns' long.sh <<<"# $long, $long"
expect 1 'more than 100 columns' tabs.am <<<$'\t\t\t'"# ${long:0:90}"
expect 0 'check-style' text.sh <<<$'#!/bin/sh\n'"echo \"$long, $long\""
expect 1 'more than 100 columns' prose.md <<<"$long, $long"
expect 0 'check-style' table.md <<<"| $long, $long |"
expect 1 'zc_fd.h' common/a/open.c <<<'int fd = open(path, O_RDONLY);'
expect 1 'zc_fd.h' iod/file.c <<<'FILE *f = fopen(path, "re");'
expect 0 'check-style' common/a/fd.c <<<'int fd = zc_fd(open(path, O_RDONLY)); /* open(2) */'
expect 0 'check-style' other/open.c <<<'int fd = open(path, O_RDONLY);'
expect 1 'zc_futex.h' common/a/sem.c <<<'sem_wait(&board->bell);'
expect 1 'name no actor' actor.c <<<'/* Somebody waits. */'
expect 1 'name no actor' actor.md <<<'The thread waits until he is woken.'
expect 0 'check-style' actor.sh <<<$'#!/bin/sh\necho who'
expect 1 'eight bools' bools.h <<'END'
struct many {
    bool a, b, c, d;
    bool e; /* with a comment */
    bool f, g, h, i;
};
END
expect 0 'check-style' enough.h <<'END'
struct enough {
  bool a, b, c, d, e, f, g, h;
};
struct more {
  bool (*i)(bool j, bool k);
};
END
expect 1 'not shell' syntax.sh <<<'if true; then'
expect 1 'shellcheck' sc.sh <<<$'#!/bin/sh\nrm $*'
exit $failed
