#!/usr/bin/env bash
# Completion in bash: commands, options, what an option takes.
. "$(dirname -- "$0")/functions.sh"

PATH=$build:$build/iod:$PATH
for script in zcache zcached zcachectl; do
    # shellcheck disable=SC1090 # each in turn
    . "$(dirname -- "$0")/../../packaging/completion/$script" || fail "$script does not load"
done

# completes "WORDS" PATTERN: what the last word could become.
completes() {
    local -a COMP_WORDS COMPREPLY=()
    local COMP_CWORD

    read -ra COMP_WORDS <<<"$1"
    [[ $1 != *' ' ]] || COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "_${COMP_WORDS[0]}"
    # shellcheck disable=SC2053 # a pattern
    [[ "${COMPREPLY[*]}" == $2 ]] || fail "\"$1\" completes to \"${COMPREPLY[*]}\", not \"$2\""
}

make_tmp
mkdir "$tmp/directory"
cd "$tmp" || exit 99
completes "zcache st" "st*"
completes "zcache ru" run
completes "zcache run --ro" --root
completes "zcache run --root dir" directory
completes "zcache run --daemons " ""
completes "zcache run --per" --per-node
completes "zcache run --trace dir" directory
completes "zcache start --hosts dir" directory
completes "zcache run --interface lo" "lo*"
completes "zcached --high" --high-watermark
completes "zcached --flush-order o" oldest
completes "zcached --address-file dir" directory
completes "zcached --cache-size " ""
completes "zcachectl stat" "stats status"
completes "zcachectl --js" --json
completes "zcachectl --daemons dir" directory
completes "zcachectl stats --te" --textfile
completes "zcachectl stats --textfile dir" directory
completes "zcachectl to" top
completes "zcachectl top --count " ""
completes "zcachectl top -n " ""
