#!/usr/bin/env bash
# check-style.sh [FILE ...]: is the tree (are these files) written as the rest of it is?
#
#   - C is as clang-format 14 has it, which other versions differ from;
#   - no word is one that codespell knows to be misspelt;
#   - no line has more than 100 columns, but for those that without_exempt() takes away;
#   - scripts are shell, and shellcheck has nothing against them.
#
# A tool that is missing is named, and what it looks at is left out; the status is 77 then.
set -u
shopt -s lastpipe # what is piped to say counts
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
export LC_ALL=C.UTF-8
failed=0
missing=

# Words of ours that are others misspelt: the releases of Debian, the plural of a variable "with".
words=debians,withs

# What shellcheck says that is not a defect here:
#   SC1007, SC2192  "a= b=" sets two variables to nothing, and so do elements of an array;
#   SC2034, SC2154  a sourced file uses what its reader sets, and the other way round;
#   SC2100          a name with a dash is no difference;
#   SC3013          -nt is not of POSIX, but every sh we meet has it.
not_wrong=SC1007,SC2034,SC2100,SC2154,SC2192,SC3013

# without_exempt FILE: its lines without what may be longer.
without_exempt() {
    case $1 in
    # A table's row is one line, and so is a message of the protocol, indented.
    *.md) expand "$1" | sed 's/^\([|]\|    \).*//' ;;
    # A text for people is on one line, to be found by grep.
    *) expand "$1" | sed 's/"[^"]*"/""/g' ;;
    esac
}

# Pages and inputs that a program wrote are as it wrote them.
of_people() {
    grep -vE '^doc/((results|faults)/|programs\.md$)|^tests/fuzz/corpus/|\.(json|png|svg)$'
}

# say WHAT: complains of the lines of standard input, if there are any.
say() {
    local lines

    lines=$(cat)
    [[ $lines ]] || return 0
    printf '%s:\n%s\n' "$1" "$lines"
    failed=1
}

# have TOOL PACKAGE: is it there?
have() {
    command -v "$1" >/dev/null && return
    missing+=", $1 (Debian: $2)"
    return 1
}

c_files() { printf '%s\n' "${files[@]}" | grep '\.[ch]$'; }

shell_files() {
    local file line

    for file in "${files[@]}"; do
        line=
        read -r line <"$file"
        case $file in
        *.sh | *.suite) echo "$file" ;;
        *) [[ ! $line =~ ^'#!'.*[/\ ](ba)?sh($|\ ) ]] || echo "$file" ;;
        esac
    done
}

# Those with a line that may be too long, a tab being eight columns at most.
long_files() {
    printf '%s\n' "${files[@]}" |
        xargs awk 'length($0) + 7 * gsub(/\t/, "\t") > 100 { print FILENAME; nextfile }'
}

check_lines() {
    local file

    long_files | while read -r file; do
        case $file in
        # Rows of a table, one each; programs for jq and awk; Fortran.
        tests/programs/differences | *.jq | *.awk | *.f | *.f90 | LICENSE) continue ;;
        esac
        without_exempt "$file" | grep -nE '^.{101,}' | sed "s|^|$file:|"
    done
}

clang_format=$(command -v clang-format-14 || echo clang-format)
if (($#)); then
    files=("$@")
else
    git ls-files -co --exclude-standard 2>/dev/null | while read -r file; do
        [[ ! -f $file ]] || echo "$file"
    done | of_people | mapfile -t files
fi
((${#files[@]})) || {
    echo "skipped: not a git checkout, so the files are not known"
    exit 77
}

if have "$clang_format" clang-format; then
    if [[ $("$clang_format" --version) == *' 14.'* ]]; then
        c_files | xargs -r "$clang_format" --dry-run 2>&1 | say "clang-format -i would change"
    else
        missing+=", clang-format 14 ($("$clang_format" --version))"
    fi
fi
if have codespell codespell; then
    printf '%s\n' "${files[@]}" | xargs codespell -L "$words" 2>&1 | say codespell
fi
check_lines | say "more than 100 columns"
shell_files | while read -r file; do
    read -r line <"$file"
    if [[ $line == '#!/bin/sh'* ]]; then sh -n "$file"; else bash -n "$file"; fi
done 2>&1 | say "not shell"
if have shellcheck shellcheck; then
    shell_files | xargs -r -n 12 -P "$(nproc)" shellcheck -x -S warning -e "$not_wrong" -f gcc |
        say shellcheck
fi

((failed == 0)) || exit 1
[[ ! $missing ]] || {
    echo "skipped: there is no ${missing#, }; the rest is as it should be"
    exit 77
}
echo "check-style: ${#files[@]} files"
