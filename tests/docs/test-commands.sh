#!/usr/bin/env bash
# Commands, options, targets, variables and hints that the documents name are there, in what the
# programs say of themselves, too: check-commands; and it notices one that is not.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
command -v python3 >/dev/null || { echo "skipped: no python3 (Debian: python3)"; exit 77; }
[[ -x $build/doc/man/options-man && -x $build/btio/btio ]] ||
    { echo "skipped: a build without the programs that documents speak of"; exit 77; }
make_tmp
export top_builddir=$build
cd "$here/../.." || exit 99

programs=("$zcache" "$zcached" "$zcachectl" "$build/simpario/simpario" "$build/btio/btio")
for program in "${programs[@]}"; do "$program" --help >"$tmp/${program##*/}--help" || exit 99; done
"$here/check-commands" README CONTRIBUTING doc/*.md doc/*/*.md doc/results/full/*.md \
    doc/man/*.[1-8].in "$tmp"/*--help || fail "see above"

# good, wrong REASON: standard input is a document of which nothing is told, or a line, with REASON.
reasons=()
name=.md
good() { wrong ''; }
wrong() {
    sed "s/^'''/\`\`\`/" >"$tmp/${#reasons[@]}$name"
    reasons+=("$1")
}

good <<'EOF'
Run `zcache run --root DIR --timeout SECONDS`, `zcachectl -v status`, `make check`, or `zcached`
with `--listen ib0`; `zcache: any words`, `ls --frob`, `ZCACHE_TIMEOUT=3`, `zcache_replay=strict`.

'''sh
./configure --prefix=$HOME/zcache --with-romio=DIR
'''
'''c
zcache --frob
'''
'''ini
cache-size = 4G
journal-sync = true
'''

    make -C build -j2 check           what --frob does not say
EOF
name=.help good <<'EOF'
    zcache run --root /scratch -- mpiexec -n 4 btio -c W -f zcache:/scratch/x; ls
EOF
wrong 'unknown option "--rot"' <<<'See `zcache run --rot DIR`.'
wrong 'unknown command "frob"' <<<'See `zcache frob`.'
wrong 'unknown option "--cach-size"' <<<'See `zcached --cach-size SIZE`.'
wrong '"4Q" is not allowed' <<<'See `zcached --cache-size 4Q`.'
wrong 'unknown option "--frob"' <<<'See `zcachectl stats --frob`.'
wrong 'unknown command "stauts"' <<<'| `zcachectl stauts` | in a table |'
wrong 'option --frob is not known' <<<'See `simpario --frob 3`.'
wrong '--method all is not known' <<<'See `btio -m all`.'
wrong 'no target chekc' <<<'See `make chekc`.'
wrong 'quickstart does not know chekc' <<<'See `./quickstart chekc`.'
wrong 'configure does not know --with-rommio' <<<'See `./configure --with-rommio=DIR`.'
wrong 'no program here has this option' <<<'With `--page-szie`.'
wrong 'no such file' <<<'See `tests/mpi/test-nothing.sh`.'
wrong 'nothing reads this variable' <<<'Plain text with ZCACHE_TIMOUT in it.'
wrong 'no hint and no counter' <<<'The hint `zcache_cash_size`.'
wrong 'unknown option "cash-size"; did you mean cache-size' <<'EOF'
'''ini
root = /scratch
cash-size = 4G
'''
EOF
wrong '--class Q is not known' <<'EOF'
<!-- not run: another host -->
'''sh
zcache run --root /scratch \
    -- mpiexec -n 4 btio -c Q -f zcache:/scratch/x
'''
EOF
wrong 'a command belongs in a block' <<<$'Text:\n\n    zcache start --root /scratch'
name=.help
wrong 'unknown option "--rot"' <<<$'Text:\n\n    zcache start --rot /scratch && eval "$(zcache env)"'
wrong 'unknown option "--frob"' <<<$'Text:\n\n    zcache start && eval "$(zcache env --frob)"'
wrong 'nothing reads FUZZ_SECOND' <<<'    make -C build check-fuzz FUZZ_SECOND=60  text'
wrong 'there is no tests/unit/test_frob' <<<'    make -C build/tests check TESTS=unit/test_frob'
name=.1.in
wrong 'unknown command "stauts"' <<<'.B zcachectl stauts'
wrong 'no program here has this option' <<<'.BR \-\-page\-szie ,'
wrong 'unknown option "--frob"' <<<$'.nf\n.RS\nzcachectl \\-\\-frob status\n.RE\n.fi'

(cd "$tmp" && "$here/check-commands" ./[0-9]*) >"$tmp/said" && fail "nothing was noticed"
for i in "${!reasons[@]}"; do
    said=$(grep "^./$i\." "$tmp/said")
    if [[ -z ${reasons[i]} ]]; then
        [[ -z $said ]] || fail "not wrong: $said"
    elif [[ $said != *"${reasons[i]}"* || $said == *$'\n'* ]]; then
        fail "of this it says \"$said\", not \"${reasons[i]}\": $(cat "$tmp/$i".*)"
    fi
done
