#!/usr/bin/env bash
# Does tests/layers find what it is for?  Small trees with one thing wrong each, and
# one with nothing.
set -u
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
command -v python3 >/dev/null || {
    echo "skipped: there is no python3"
    exit 77
}
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
failed=0

# file PATH DEFINES [USES ...]: a source with one function, compiled, and in the Makefile.am
# of its folder.
file() {
    local path=$1 function=$2 folder=${1%%/*} inside=${1#*/} use

    shift 2
    mkdir -p "$tmp/$(dirname "$path")"
    {
        for use; do echo "void $use(void);"; done
        echo "void $function(void);"
        echo "void $function(void) {"
        for use; do echo "    $use();"; done
        echo "}"
    } >"$tmp/$path"
    ${CC:-cc} -c -o "$tmp/${path%/*}/lib-$(basename "$path" .c).o" "$tmp/$path" || exit 99
    case $path in
    common/*/*) echo "libzc${inside%%/*}_la_SOURCES += $inside" ;;
    *) echo "x_SOURCES += $inside" ;;
    esac >>"$tmp/$folder/Makefile.am"
}

# new: a tree of three rooms, top sees bottom and middle, middle sees bottom.
new() {
    rm -rf "${tmp:?}"/*
    mkdir "$tmp/common" "$tmp/adio_zcache" "$tmp/iod"
    for room in bottom middle top; do
        echo "$room = -I\$(srcdir)/$room"
    done >"$tmp/common/Makefile.am"
    cat >>"$tmp/common/Makefile.am" <<'END'
libzcbottom_la_CPPFLAGS = $(bottom)
libzcmiddle_la_CPPFLAGS = $(bottom) $(middle)
libzctop_la_CPPFLAGS = $(bottom) \
	$(middle) $(top)
END
    : >"$tmp/adio_zcache/Makefile.am"
    : >"$tmp/iod/Makefile.am"
    file common/bottom/b.c b
    file common/middle/m.c m b
    file adio_zcache/slots.c slots rank_io
    file adio_zcache/rank/io.c rank_io b m
    file iod/d.c d m
}

# expect STATUS WORDS: what layers says of the tree.
expect() {
    local said status

    said=$("$top/tests/layers" "$tmp" "$tmp" 2>&1)
    status=$?
    if ((status != $1)) || [[ $said != *"$2"* ]]; then
        echo "expected status $1 and '$2', found $status and"
        echo "    ${said//$'\n'/$'\n'    }"
        failed=1
    fi
}

new
expect 0 "all downwards"

# The driver's rooms need those below them only.
file adio_zcache/process/p.c p rank_io
expect 1 "that room stands above it"

new
# Two files of one room may need each other; in the driver, three may not.
file common/top/t1.c t1 t2
file common/top/t2.c t2 t1
file adio_zcache/rank/r1.c r1 r2
file adio_zcache/rank/r2.c r2 r1
expect 0 "all downwards"
file adio_zcache/rank/r3.c r3 r4
file adio_zcache/rank/r4.c r4 r5
file adio_zcache/rank/r5.c r5 r3
expect 1 "3 files need each other in a cycle: adio_zcache/rank/r3.c"

new
file adio_zcache/aggregator/a.c a rank_back
file adio_zcache/rank/back.c rank_back a
expect 1 "adio_zcache/aggregator/a.c needs adio_zcache/rank/back.c (rank_back), \
adio_zcache/rank/back.c needs adio_zcache/aggregator/a.c (a)"

# The cycle through two rooms is the one that is shown, though one within a room is shorter.
new
file adio_zcache/rank/p.c p q
file adio_zcache/rank/q.c q p up
file adio_zcache/process/up.c up p
expect 1 "for instance: adio_zcache/process/up.c needs adio_zcache/rank/p.c (p)"

new
file common/bottom/up.c up m
expect 1 "common/Makefile.am does not give common/middle to common/bottom"

new
file common/bottom/up.c up slots
expect 1 "does not give adio_zcache to common/bottom"

new
file iod/bad.c bad slots
expect 1 "iod/bad.c needs adio_zcache/slots.c (slots); neither may know of the other"

new
file adio_zcache/bad.c bad d
expect 1 "adio_zcache/bad.c needs iod/d.c (d); neither may know of the other"

new
: >"$tmp/common/lost.h"
: >"$tmp/common/top.c"
mkdir -p "$tmp/common/top"
: >"$tmp/common/top/forgotten.h"
expect 1 "common/lost.h is in no room"
expect 1 "common/top/forgotten.h is not in common/Makefile.am"

new
rm "$tmp/common/middle/lib-m.o"
expect 2 "build it first"

exit $failed
