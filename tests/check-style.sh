#!/usr/bin/env bash
# check-style.sh [FILE ...]: checks the style of the tree, or of these files:
#
#   - C is formatted by clang-format 14; other versions differ;
#   - codespell finds no misspelt word;
#   - no line has more than 100 columns, except those that without_exempt() removes;
#   - scripts are valid shell, and pass shellcheck;
#   - installed code gets its descriptors through zc_fd.h, and waits in shared memory by zc_futex.h;
#   - comments and documents name what acts: not `nobody`, `somebody`, `whoever`, `who`, `he`;
#   - no struct has more than eight bools;
#   - exported names begin with a stem of doc/GLOSSARY.md;
#   - subjects of recent commits have at most 72 characters.
#
# A missing tool is named and its check left out; the status is 77 then.
set -u
shopt -s lastpipe # what is piped to say counts
cd "${top_srcdir:-$(dirname "$0")/..}" || exit 99
export LC_ALL=C.UTF-8
failed=0
missing=

# Words that codespell takes for misspelt ones: the releases of Debian, the plural of a variable
# "with".
words=debians,withs

# Warnings of shellcheck that are no defects here:
#   SC1007, SC2192  "a= b=" sets two variables to nothing, and so do elements of an array;
#   SC2034, SC2154  a sourced file uses variables of its reader, and the other way round;
#   SC2100          a name with a dash is no difference;
#   SC3013          -nt is not in POSIX, but every sh in use has it.
not_wrong=SC1007,SC2034,SC2100,SC2154,SC2192,SC3013

# without_exempt FILE: prints its lines without the parts that may be longer.
without_exempt() {
    case $1 in
    # A table's row is one line, and so is a message of the protocol, indented.
    *.md) expand "$1" | sed 's/^\([|]\|    \).*//' ;;
    # A message is on one line, to be found by grep.
    *) expand "$1" | sed 's/"[^"]*"/""/g' ;;
    esac
}

# Without pages and inputs that are generated.
of_people() {
    grep -vE '^doc/((results|faults)/|programs\.md$)|^tests/fuzz/corpus/|\.(json|png|svg)$'
}

# say WHAT: reports the lines of standard input, if there are any.
say() {
    local lines

    lines=$(cat)
    [[ $lines ]] || return 0
    printf '%s:\n%s\n' "$1" "$lines"
    failed=1
}

# have TOOL PACKAGE: whether it is installed; else notes it as missing.
have() {
    command -v "$1" >/dev/null && return
    missing+=", $1 (Debian: $2)"
    return 1
}

product_files() { c_files | grep -E '(^|/)(common|iod|adio_zcache)/'; }
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

# Files with a line that may be too long, a tab being eight columns at most.
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

opening='open|openat|memfd_create|eventfd|epoll_create1?|socket|accept4?|dup|mkostemp|mkstemp'
opening+='|timerfd_create|signalfd|inotify_init1?|pidfd_open|fopen|opendir|syscall\(SYS_openat2'

# Calls that give a descriptor which may be 0, 1 or 2; comments have "open(2)" and the like.
check_descriptors() {
    product_files | grep -v '/zc_fd\.c$' |
        xargs -r grep -nHE "(^|[^[:alnum:]_.>\"])($opening)\\(" |
        grep -vE '^[^:]*:[0-9]+: *(/?\*|//)|\(2\)' | grep -vE "zc_fd\\((\\(int\\))?($opening)"
}

# The C library's primitives abort a process if another one has overwritten their memory.
check_shared() {
    product_files |
        xargs -r grep -nE '\<sem_(init|wait|post|timedwait)\(|PTHREAD_PROCESS_SHARED'
}

# Prints the comments of programs and scripts, and the text of documents, as "FILE:LINE: text".
prose() {
    c_files | xargs -r awk '
        FNR == 1 { inside = 0 }
        {
            line = $0
            text = ""
            for (;;) {
                at = index(line, inside ? "*/" : "/*")
                if (inside)
                    text = text " " (at ? substr(line, 1, at - 1) : line)
                if (!at)
                    break
                line = substr(line, at + 2)
                inside = !inside
            }
            if (text != "")
                print FILENAME ":" FNR ":" text
        }'
    printf '%s\n' "${files[@]}" | grep -E '\.md$|^(README|CONTRIBUTING)$' |
        xargs -r awk '{ print FILENAME ":" FNR ": " $0 }'
    { shell_files; printf '%s\n' "${files[@]}" | grep -E '\.(am|ac|in|py)$'; } | sort -u |
        xargs -r awk '/^[ \t]*#/ { print FILENAME ":" FNR ": " $0 }'
}

# Lines of prose with a word that names no actor.
check_words() {
    prose | sed "s/\`[^\`]*\`//g" | grep -iwE 'nobody|somebody|whoever|who|he|his|him'
}

# Stems of exported names that the glossary lacks.
check_stems() {
    printf '%s\n' "${files[@]}" | grep -E '^(common|adio_zcache|iod|testlib)/.*\.h$' |
        xargs -r sed 's|/\*.*\*/||; /^ *\/\*/,/\*\//d; s|/\*.*||' |
        grep -oE '\b(zc|zcache|iod)_[a-z0-9]+' | sed 's/^[^_]*_//' | sort -u |
        comm -23 - <(sed -n '/^## Stems/,$s/^    //p' doc/GLOSSARY.md | tr -s ' ' '\n' | sort -u)
}

# Structs with more than eight bools: states of one thing are an enum.  The settings are a list of
# options.
most_bools='zc_settings 16'
check_bools() {
    c_files | xargs -r awk -v most="$most_bools" '
        BEGIN { n = split(most, word); for (i = 1; i < n; i += 2) allowed[word[i]] = word[i + 1] }
        FNR == 1 { name = ""; depth = 0 }
        depth == 0 && /^[a-z ]*struct [a-z0-9_]+ \{$/ {
            name = $(NF - 1)
            depth = 1
            bools = 0
            limit = name in allowed ? allowed[name] : 8
            next
        }
        depth == 0 { next }
        { gsub(/\/\*.*\*\//, ""); depth += gsub(/\{/, "{") - gsub(/\}/, "}") }
        /^ *bool [^()]*;/ { bools += gsub(/,/, ",") + 1 }
        depth == 0 && bools > limit { print FILENAME ":" FNR ": " name " has " bools " bools" }'
}

# Of commits since the glossary.
check_subjects() {
    local first

    first=$(git log --diff-filter=A --format=%H -- doc/GLOSSARY.md 2>/dev/null | tail -n 1)
    [[ ! $first ]] || git log --no-merges --format=%s "$first..HEAD" | grep -E '.{73}'
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
check_descriptors | say "a descriptor that may be 0, 1 or 2 (zc_fd.h)"
check_shared | say "a primitive of the C library that processes share (zc_futex.h)"
check_words | say "words that name no actor (doc/GLOSSARY.md)"
check_bools | say "structs with more than eight bools"
check_stems | say "stems of names that doc/GLOSSARY.md lacks"
(($#)) || check_subjects | say "subjects of commits with more than 72 characters"
shell_files | while read -r file; do
    read -r line <"$file"
    if [[ $line == '#!/bin/sh'* ]]; then sh -n "$file"; else bash -n "$file"; fi
done 2>&1 | say "not shell"
if have shellcheck shellcheck; then
    shell_files | xargs -r -n 12 -P "$(nproc)" shellcheck -S warning -e "$not_wrong" -f gcc |
        say shellcheck
fi

((failed == 0)) || exit 1
[[ ! $missing ]] || {
    echo "skipped: there is no ${missing#, }; the rest is as it should be"
    exit 77
}
echo "check-style: ${#files[@]} files"
