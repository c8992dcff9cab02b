#!/usr/bin/env bash
# The manual pages: all are made, say what programs say of themselves, refer to pages that exist,
# and have nothing that a formatter warns of.
. "$(dirname -- "$0")/functions.sh"

man=$build/doc/man
pages=(zcache.1 zcache.7 zcachectl.1 zcached.8 zcached.conf.5 simpario.1 btio.1)
[[ -e $man/zcached.8 ]] || { echo "skipped: no manual pages: a build without the programs they are made with"; exit 77; }
command -v mandoc >/dev/null || { echo "skipped: no mandoc (Debian: mandoc)"; exit 77; }
make_tmp

# plain PAGE: its text, a word never cut.
plain() { mandoc -T ascii -O width=1000 "$man/$1" | sed 's/.\x08//g'; }

for page in "${pages[@]}"; do
    warnings=$(mandoc -T lint -W warning "$man/$page") || fail "$page: $warnings"
    grep -q '@[A-Z]' "$man/$page" &&
        fail "$page: something was not filled in: $(grep '@[A-Z]' "$man/$page")"
    plain "$page" >"$tmp/$page"
    for other in $(grep -oE '[a-z.]+\([157-8]\)' "$tmp/$page"); do
        other=${other%)}
        [[ -e $man/${other/\(/.} ]] || fail "$page refers to $other), which does not exist"
    done
done

# every PAGE COMMAND: each long option in COMMAND --help is one in the page.
every() {
    local option

    for option in $("$2" --help | grep -oE '^ +(-., )?--[a-z-]+' | grep -oE -- '--.*'); do
        grep -qE -- "(^|[ ,])$option\b" "$tmp/$1" || fail "$1 does not have $option of $2"
    done
}
every zcache.1 "$zcache"
every zcachectl.1 "$zcachectl"
every zcached.8 "$zcached"
every simpario.1 "$build/simpario/simpario"
every btio.1 "$build/btio/btio"

# Lists stay lists: an item begins a line, and so does what follows the last.
for start in 'btio.1 W +24 x 24' 'btio.1 C +162 x 162' 'btio.1 none +not at all' \
    'simpario.1 subarray3d, subarray4d +blocks' 'simpario.1 with split, icollective'; do
    grep -qE "^ +${start#* }" "$tmp/${start%% *}" || fail "${start%% *}: no line begins with ${start#* }"
done

# The environment of zcached.8 has what the table gives daemons and the environment: options of
# --help of which zcache.7, for whose environment the table is printed, has the variable.
environment() { awk '/^[A-Z]/ { on = $1 == "ENVIRONMENT" } on' "$tmp/$1"; }
shared=0
for option in $("$zcached" --help | grep -oE "^ +(-., )?--[a-z-]+" | sed "s/.*--//"); do
    variable=ZCACHE_${option//-/_} variable=${variable^^}
    environment zcache.7 | grep -qw "$variable" || continue
    shared=$((shared + 1))
    environment zcached.8 | grep -qw "$variable" || fail "zcached.8 does not have $variable"
done
((shared)) || fail "no option of zcached is a variable, too?"

# What the examples of a page call exists.
for word in $(grep -oE '^ +(zcache|zcachectl) [a-z]+' "$tmp/zcache.1" | awk '{print $2}' | sort -u); do
    "$zcache" --help | grep -qE "^  $word |zcache.* $word" ||
        fail "zcache.1: no command zcache $word"
done
