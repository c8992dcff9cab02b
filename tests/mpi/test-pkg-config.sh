#!/usr/bin/env bash
# Programs that are linked with the plugin, as pkg-config says, need no preload: with the build
# tree's, and with what make install puts somewhere.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
needs_plugin "programs that are linked with the plugin"
requires pkg-config --version
make_root
if [[ $preload == *:* ]]; then preload=${preload%%:*}; else preload=; fi # the shim alone

# A program that calls MPI-IO itself, and one whose library does, as with HDF5.
cat >"$tmp/main.c" <<'END'
int t_posix_main(int argc, char **argv);
int main(int argc, char **argv)
{
    return t_posix_main(argc, argv);
}
END
source=$here/t_posix.c
"$MPICC" -shared -fPIC -Dmain=t_posix_main -o "$tmp/libdoes.so" "$source" >"$tmp/out" 2>&1 ||
    fail "a library that calls MPI-IO: $(cat "$tmp/out")"

link() { # NAME OBJECT ...: link it with what pkg-config says
    local flags

    flags=$(pkg-config --libs zcache) || fail "pkg-config does not know zcache"
    # shellcheck disable=SC2086
    "$MPICC" -Wl,--as-needed -o "$tmp/$1" "${@:2}" $flags >"$tmp/out" 2>&1 ||
        fail "$1 does not link with $flags: $(cat "$tmp/out")"
    readelf -d "$tmp/$1" | grep -q 'NEEDED.*libzcache' || fail "$1 is not linked with libzcache.so"
}

try() { # WHAT
    link direct "$source"
    link indirect "$tmp/main.c" "$tmp/libdoes.so" "-Wl,-rpath,$tmp"
    for n in 0 1; do
        start_daemons "$n"
        for program in direct indirect; do
            mpi_quiet 2 "$tmp/$program" "zcache:$root/f" || fail "$1: $program, $n daemons"
        done
        stop_daemons || fail "$1: not drained"
    done
}

# Without it this shows nothing.
"$MPICC" -o "$tmp/without" "$source" || fail "a program without the plugin"
! mpi 1 "$tmp/without" "zcache:$root/f" >"$tmp/out" 2>&1 </dev/null ||
    fail "a program without the plugin opens zcache: files"

export PKG_CONFIG_PATH=$build
try "the build tree"

# Nothing of make that may run us.
env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$build" install-pkgconfigDATA DESTDIR="$tmp/dest" \
    >"$tmp/out" 2>&1 &&
    env -u MAKEFLAGS -u MAKELEVEL -u MFLAGS make -C "$build/adio_zcache" install-libLTLIBRARIES \
        DESTDIR="$tmp/dest" >>"$tmp/out" 2>&1 || fail "make install: $(cat "$tmp/out")"
pc=$(find "$tmp/dest" -name zcache.pc)
so=$(find "$tmp/dest" -name libzcache.so)
[[ -n $pc && -n $so ]] || fail "not installed: $(find "$tmp/dest")"
export PKG_CONFIG_PATH=${pc%/*} PKG_CONFIG_SYSROOT_DIR=$tmp/dest LD_LIBRARY_PATH=${so%/*}
version=$("$build/zcache" --version | sed 's/zcache //; s/ .*//')
[[ $(pkg-config --modversion zcache) == "$version" ]] ||
    fail "zcache.pc has another version than zcache"
try "installed"
