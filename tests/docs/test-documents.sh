#!/usr/bin/env bash
# Links, fragments and messages of the documents are what they say: check-documents; and it notices
# when one is not.
set -u
here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
"$here/check-documents" "$top" || exit 1

# Installed, they lead to each other as well.
if [[ -e ${top_builddir:-}/Makefile ]]; then
    make -s -C "$top_builddir" install-nobase_dist_docDATA install-dist_examplesDATA \
        docdir="$tmp/installed" examplesdir="$tmp/installed/examples" >"$tmp/out" 2>&1 &&
        "$here/check-documents" --links "$tmp/installed" || { cat "$tmp/out"; exit 1; }
else
    echo "skipped: what is installed, for there is no top_builddir"
fi

# spoil FILE SED-SCRIPT WORDS: with that change there is a line with WORDS.
spoil() {
    rm -rf "$tmp/tree"
    mkdir "$tmp/tree"
    (cd "$top" && cp -r --parents README LICENSE CONTRIBUTING doc/*.md doc/*.json doc/*.svg \
        doc/faults doc/results examples common adio_zcache iod tests/mpi tests/unit tests/daemon \
        "$tmp/tree") || exit 99
    chmod -R u+w "$tmp/tree"
    sed -i "$2" "$tmp/tree/$1"
    if "$here/check-documents" "$tmp/tree" >"$tmp/out"; then
        echo "not noticed: $2 in $1"
        exit 1
    fi
    grep -qF -- "$3" "$tmp/out" || { echo "$2 in $1, and it says:"; cat "$tmp/out"; exit 1; }
}
spoil README 's|(doc/guide.md)|(doc/guides.md)|' 'README: doc/guides.md is no file'
spoil doc/guide.md 's|#exit-status-4|#exit-status-5|' 'has no such heading'
spoil doc/driver-tests.md 's|(programs.md)|(nothing.md)|' \
    'doc/driver-tests.md: nothing.md is no file'
spoil doc/consistency.md 's|MPI_Barrier(MPI_COMM_WORLD)|MPI_Barrier(MPI_COMM_SELF)|' \
    '"neighbour" is not what'
spoil doc/operations.md 's|is the daemon running?`|does the daemon run?`|' 'does the daemon run'
spoil doc/guide.md 's|(../examples/write_read_h5py.py)|(../examples/write_read.c)|' \
    'examples/write_read_h5py.py is in neither'
spoil doc/tuning.md 's/0.50 s (OMPIO)/0.2718 s (OMPIO)/' '0.2718 is in no published result'
spoil doc/SEMANTICS.md 's|`test-kill.sh`|`test-killed.sh`|' 'test-killed.sh is no test'
spoil doc/SEMANTICS.md 's|`one_of_two_names_is_deleted`|`one_of_three`|' \
    'test_wb_errors has no case one_of_three'
spoil doc/SEMANTICS.md 's|t_opens: newer_wins|t_opens: older_wins|' 't_opens has no case older_wins'
spoil doc/ARCHITECTURE.md 's/^| `zc-watchdog`/| `zc-slower`/' \
    'the table of threads lacks zc-watchdog'
spoil doc/ARCHITECTURE.md 's/coord, cache, client_views/cache, coord, client_views/' \
    'the locks are tool,'
spoil common/Makefile.am 's/^libzcview_la_CPPFLAGS = /&$(wire) /' 'room view sees util wire'
spoil doc/SEMANTICS.md 's|`-budget`|`-budgets`|' 'no mode with -budgets'
