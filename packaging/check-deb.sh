#!/usr/bin/env bash
# check-deb.sh DIR: checks the Debian packages in DIR, and that they work where they are unpacked.
set -u
top=$(cd "$(dirname -- "$0")/.." && pwd)
cd "${1:?the directory of the packages}" || exit 99
fail() {
    echo "FAILED: $*" >&2
    exit 1
}
debs=(zcache_ zcache-plugin_ zcache-dev_ zcache-benchmarks_ zcache-doc_)
for deb in "${debs[@]}"; do
    compgen -G "$deb*.deb" >/dev/null || fail "no package $deb"
done
[[ -e $(echo zcache_*.changes) ]] || fail "no zcache_*.changes, which says what belongs together"
if command -v lintian >/dev/null; then
    # The maintainer and the reason of an upload are the uploader's to set.
    found=$(lintian --allow-root --tag-display-limit 0 --fail-on none --suppress-tags \
        bogus-mail-host,bogus-mail-host-in-debian-changelog,initial-upload-closes-no-bugs \
        zcache_*.changes)
    [[ -z $found ]] || fail "lintian:
$found"
else
    echo "skipped: no lintian: the packages are not checked"
fi

tmp=$(mktemp -d) || exit 99
trap 'rm -rf "$tmp"' EXIT
for deb in "${debs[@]}"; do dpkg-deb -x "$deb"*.deb "$tmp/root" || fail "$deb cannot be unpacked"; done
plugin=$(echo "$tmp"/root/usr/lib/*/libzcache.so)
# The packages contain the flavours of the plugin that the build has.
for each in ../adio_zcache/.libs/libzcache-*.so ../adio_zcache/.libs/mca_io_zcache.so; do
    [[ ! -e $each ]] || [[ $(find "$tmp/root/usr/lib" -name "$(basename "$each")") ]] ||
        fail "no package has $(basename "$each")"
done
zcache=$tmp/root/usr/bin/zcache
mkdir "$tmp/data"
"$zcache" --version >/dev/null || fail "zcache --version"
# The launcher finds the other programs beside itself; the plugin is in the system's directory, so
# it is named.
export ZCACHE_ALLOW_ROOT=true # of root's own
LD_PRELOAD=$plugin "$zcache" run --no-preload --root "$tmp/data" -- mpiexec.mpich -n 2 \
    "$tmp/root/usr/bin/simpario" -f "zcache:$tmp/data/x" -p 4 -r 64K -q || fail "simpario"
for page in 1/zcache 1/simpario 5/zcached.conf 7/zcache 8/zcached; do
    [[ -e $tmp/root/usr/share/man/man$page.${page%%/*}.gz ]] || fail "no manual page $page"
done

# The packages contain all documents that make install installs.
documents=$(sed -n '/^documents = /,/[^\\]$/p' "$top/Makefile.am" | grep -oE 'doc/[^ ]+')
[[ $documents ]] || fail "Makefile.am lists no documents"
for document in README NEWS $documents; do
    name=${document##*/}
    [[ $(find "$tmp/root/usr/share/doc" -name "$name" -o -name "$name.gz") ]] ||
        fail "no package has $document: packaging/debian/*.docs"
done

# The packages contain all paths that the module file names.
module=$tmp/root/usr/share/zcache/modulefiles/zcache
places=$(awk '/^(prepend-path|setenv)/ { print $3 }' "$module")
[[ $places ]] || fail "no module file, or no paths in it: $module"
for place in $places; do
    [[ -e $tmp/root$place ]] || fail "the module file names $place, which no package has"
done

# Installed by dpkg, used by an ordinary user, and removed again, in a file system over this one
# that disappears with the namespace.
cat >"$tmp/over-this" <<'END'
over=$1
mount -t tmpfs tmpfs "$over"
mkdir "$over/upper" "$over/work" "$over/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$over/upper,workdir=$over/work" "$over/root"
for at in sys dev; do mount --rbind "/$at" "$over/root/$at"; done
mount -t proc proc "$over/root/proc"
exec chroot "$over/root" bash -eux "$2" "${@:3}"
END
cat >"$tmp/install" <<'END'
export DEBIAN_FRONTEND=noninteractive
dpkg -i "$@"
home=$(mktemp -d)
chown nobody "$home"
cd "$home"
runuser -u nobody -- env -u XDG_RUNTIME_DIR HOME="$home" bash -eux "${0%install}use"
dpkg --purge zcache zcache-plugin zcache-dev zcache-benchmarks zcache-doc
hash -r
for program in zcache zcached zcachectl simpario btio; do
    ! command -v "$program" || exit 1
done
END
cat >"$tmp/use" <<'END'
zcache --version
zcache run --root "$HOME" --summary -- mpiexec.mpich -n 2 simpario -f "zcache:$HOME/x" -p 4 \
    -r 64K -q
pkg-config --exists --print-errors zcache
systemd-analyze verify zcached@.service
END
chmod 755 "$tmp"
if unshare --mount true 2>/dev/null && grep -qw overlay /proc/filesystems; then
    mkdir "$tmp/over"
    files=()
    for deb in "${debs[@]}"; do files+=("$PWD/$deb"*.deb); done
    unshare --mount --propagation private --pid --ipc --fork --kill-child \
        bash -eu "$tmp/over-this" "$tmp/over" "$tmp/install" "${files[@]}" \
        >"$tmp/out" 2>&1 </dev/null ||
        fail "installed: $(cat "$tmp/out")"
    grep -q '^zcache: summary: .*/x: wrote ' "$tmp/out" || fail "not used: $(cat "$tmp/out")"
else
    echo "skipped: installing them needs root and overlayfs"
fi
echo "packages: ${#debs[@]}, clean and of use"
