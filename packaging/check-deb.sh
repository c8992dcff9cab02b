#!/usr/bin/env bash
# check-deb.sh DIR: are the Debian packages in DIR sound, and do they work where they are unpacked?
set -u
cd "${1:?the directory of the packages}" || exit 99
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
debs=(zcache_ zcache-plugin_ zcache-dev_ zcache-benchmarks_ zcache-doc_)
for deb in "${debs[@]}"; do
    compgen -G "$deb*.deb" >/dev/null || fail "no package $deb"
done
if command -v lintian >/dev/null; then
    # Who maintains them, and why they are uploaded, is for who uploads them to say.
    found=$(lintian --allow-root --tag-display-limit 0 --fail-on none --suppress-tags \
        bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs \
        zcache_*.changes)
    [[ -z $found ]] || fail "lintian:
$found"
else
    echo "skipped: no lintian: nobody looks at the packages"
fi

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
for deb in "${debs[@]}"; do dpkg-deb -x "$deb"*.deb "$tmp/root" || fail "$deb cannot be unpacked"; done
plugin=$(echo "$tmp"/root/usr/lib/*/libzcache.so)
zcache=$tmp/root/usr/bin/zcache
mkdir "$tmp/data"
"$zcache" --version >/dev/null || fail "zcache --version"
# The launcher finds the others beside itself; the plugin's place is the system's, so it is named.
LD_PRELOAD=$plugin "$zcache" run --no-preload --root "$tmp/data" -- mpiexec.mpich -n 2 \
    "$tmp/root/usr/bin/simpario" -f "zcache:$tmp/data/x" -p 4 -r 64K -q || fail "simpario"
for page in 1/zcache 1/simpario 5/zcached.conf 7/zcache 8/zcached; do
    [[ -e $tmp/root/usr/share/man/man$page.${page%%/*}.gz ]] || fail "no manual page $page"
done
echo "packages: ${#debs[@]}, clean and of use"
