#!/usr/bin/env bash
# check-analysis.sh: what two programs that read C have against ours.  Neither runs anything.
#
#   cppcheck    all it warns of; where it is wrong, a comment beside the line says why
#   clang-tidy  bugprone-*, but for what is a matter of taste, see below
#
# A tool that is missing is named, and the status is 77.
set -u
shopt -s lastpipe
top=${top_srcdir:-$(cd "$(dirname "$0")/.." && pwd)}
build=${top_builddir:-$top/build}
failed=0
missing=
jobs=$(nproc)

# Not against us:
#   branch-clone                 the order of cases is what is meant;
#   easily-swappable-parameters  offset and length are both numbers of bytes, everywhere;
#   macro-parentheses            of arguments that are types or names;
#   sizeof-expression            arrays of pointers have elements of that size;
#   suspicious-string-compare    strcmp() without == 0 is true where they differ, as in all of C;
#   implicit-widening-*, misplaced-widening-cast, narrowing-conversions
#                                of small constants; -Wall has those that matter;
#   reserved-identifier          __wrap_ is the linker's, _GNU_SOURCE that of libc.
checks='-*,bugprone-*'
for noise in branch-clone easily-swappable-parameters macro-parentheses sizeof-expression \
    suspicious-string-compare implicit-widening-of-multiplication-result \
    misplaced-widening-cast narrowing-conversions reserved-identifier; do
    checks+=,-bugprone-$noise
done

have() {
    command -v "$1" >/dev/null && return
    missing+=", $1 (Debian: $1)"
    return 1
}

# say WHAT: complains of the lines of standard input, if there are any.
say() {
    local lines

    lines=$(cat)
    [[ $lines ]] || return 0
    printf '%s:\n%s\n' "$1" "$lines"
    failed=1
}

"$top/tests/compile-commands" "$build" || exit 99
commands=$build/compile_commands.json
grep -oE '"file": "[^"]*"' "$commands" | cut -d '"' -f 4 |
    grep -E "/(common|adio_zcache|iod|benchlib|simpario|btio|testlib)/" | mapfile -t files
((${#files[@]})) || exit 99

includes=("$top"/common/*/ "$top"/adio_zcache/ "$top"/adio_zcache/*/ "$top"/benchlib/ "$top"/iod/ "$top"/testlib/)
includes=("${includes[@]/#/-I}")
if have cppcheck; then
    # Attributes are not of the language that it knows; headers are read with what includes them.
    # legacyUninitvar: a variable that a function fills when it returns 0 is not known to be filled.
    # nullPointerRedundantCheck: bench_abort() does not return, which it does not see either.
    cppcheck -q -j "$jobs" --std=c11 --enable=warning,performance,portability \
        --inline-suppr --suppress=missingIncludeSystem --suppress=legacyUninitvar \
        --suppress=nullPointerRedundantCheck \
        -D'__attribute__(x)=' -I"$build" "${includes[@]}" \
        --template='{file}:{line}: {message} [{id}]' "${files[@]}" 2>&1 | say cppcheck
fi
if have clang-tidy; then
    tidy() {
        clang-tidy -p "$build" --quiet --checks="$checks" \
            --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-error "$@" 2>/dev/null
    }
    export -f tidy
    export build checks
    printf '%s\n' "${files[@]}" | xargs -P "$jobs" -n 4 bash -c 'tidy "$@" || echo "error: $*"' tidy |
        grep -E 'warning:|error:' | say clang-tidy
    # One that says nothing of this says nothing of anything.
    tmp=$(mktemp -d) || exit 99
    trap 'rm -rf "$tmp"' EXIT
    echo 'int f(char *p); int f(char *p) { return sizeof(p) / sizeof(p[0]) == 1; }' >"$tmp/bad.c"
    clang-tidy --quiet --checks='-*,bugprone-sizeof-expression' "$tmp/bad.c" -- 2>/dev/null |
        grep -q 'warning:' || {
        echo "clang-tidy does not see what is wrong with a file that is"
        failed=1
    }
fi

((failed == 0)) || exit 1
[[ ! $missing ]] || {
    echo "skipped: there is no ${missing#, }; the rest is as it should be"
    exit 77
}
echo "check-analysis: ${#files[@]} sources"
