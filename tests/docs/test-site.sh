#!/usr/bin/env bash
# The site can be made, every page is in its navigation, and no link in it is dead.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
top=$(cd "$here/../.." && pwd)
for tool in mkdocs mandoc python3; do
    command -v "$tool" >/dev/null || { echo "skipped: no $tool (Debian: $tool)"; exit 77; }
done
[[ -e $build/doc/man/zcached.8 ]] ||
    { echo "skipped: no manual pages: a build without the programs they are made with"; exit 77; }
make_tmp
"$top/doc/make-site" "$build" "$tmp/site" || fail "the site cannot be made"
"$here/check-site" "$tmp/site/html" || fail "dead links"
for page in index.html doc/operations.html man/zcached.8.html examples.html; do
    [[ -s $tmp/site/html/$page ]] || fail "no $page"
done

# It would notice.
sed -i 's|href="guide.html"|href="guide.html#nowhere"|; s|architecture.svg|picture.svg|' \
    "$tmp"/site/html/doc/*.html
sed -i 's|<pre>|<p>|g; s|</pre>|</p>|g; s|</*code>||g' "$tmp"/site/html/index.html
expect 1 "*guide.html#nowhere: there is no such place*" "$here/check-site" "$tmp/site/html"
[[ $output == *"ARCHITECTURE.html: picture.svg: there is no such file"* ]] ||
    fail "a picture that is not there: $output"
[[ $output == *"index.html: a drawing as text"* ]] || fail "a drawing as text: $output"
mkdir -p "$tmp/tree"
cp -r "$top/README" "$top/CONTRIBUTING" "$top/mkdocs.yml" "$top/doc" "$top/examples" "$tmp/tree"
chmod -R u+w "$tmp/tree"
cp "$top/doc/guide.md" "$tmp/tree/doc/forgotten.md"
expect 1 '*not included in the "nav"*doc/forgotten.md*' \
    "$tmp/tree/doc/make-site" "$build" "$tmp/other"
