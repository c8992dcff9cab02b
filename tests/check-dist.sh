#!/bin/sh
# check-dist.sh DIR: has DIR, made by make dist, every file of the repository but those named here?
# In a release, which is no checkout, there is nothing to compare with.
set -eu
top=${top_srcdir:-$(dirname "$0")/..}
[ -e "$top/.git" ] || exit 0

# Of use in a checkout only.
left_out='^\.gitignore$'

forgotten=$(git -C "$top" ls-files | grep -vE "$left_out" | while read -r file; do
    [ ! -e "$top/$file" ] || [ -e "$1/$file" ] || echo "    $file"
done)
[ -z "$forgotten" ] || {
    echo "check-dist: make dist forgets (EXTRA_DIST, or _SOURCES of a Makefile.am):" >&2
    echo "$forgotten" >&2
    exit 1
}
