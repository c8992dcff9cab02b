#!/usr/bin/env bash
# intree.sh - builds the driver into an MPICH, and runs the MPI tests with that: without a plugin,
# nothing is preloaded.
#
#     intree.sh [test ...]       for instance mpi/test-modes.sh; all of tests/mpi by default
#
# The MPICH is the distribution's source package in its smallest configuration (ch3:sock, no
# Fortran, no C++).  It is kept in ~/.cache/zcache/intree (ZCACHE_CACHE_DIR) and used again by all
# build trees, one at a time: as it is while neither its configuration nor the driver's source has
# changed, after a change to the driver with only ROMIO built anew.  zcache itself is configured for
# it, without the plugin, in intree/ of the build directory, which is kept, too.  JOBS is how many
# compilers, and then tests, run at a time (2).
set -u
srcdir=$(cd "$(dirname -- "$0")/.." && pwd)
build=$(cd "${top_builddir:-$srcdir/build}" && pwd) || exit 2
plugin=$srcdir/adio_zcache/plugin
dir=$build/intree
log=$dir/log
jobs=${JOBS:-2}
began=$SECONDS

say() { echo "intree: $*"; }
die() { echo "intree: error: $*" >&2; exit 1; }

# step NAME COMMAND ...: its output goes to a log.
step() {
    local at=$SECONDS

    "${@:2}" >"$log/$1.log" 2>&1 </dev/null || {
        tail -n 25 -- "$log/$1.log" >&2
        die "$1 failed; all it said: $log/$1.log"
    }
    say "$1: $((SECONDS - at)) s"
}

# ---- MPICH ------------------------------------------------------------------------
# Tests have more ranks than there are cores. A rank that waits blocks in poll() with ch3:sock; with
# ch3:nemesis it polls without pause, since MPICH's configure takes every way to yield on Linux for
# useless and leaves none (--enable-yield=nothing; then MPIR_CVAR_POLLS_BEFORE_YIELD does nothing).
configuration=(--with-device=ch3:sock --with-datatype-engine=dataloop --disable-fortran
    --disable-cxx --disable-static --disable-dependency-tracking --disable-doc --without-hwloc
    --enable-fast=none
    --with-file-system=ufs+zcache CFLAGS=-w)

# unpack DIR [MEMBER]: the package, or a part of it, into DIR.
unpack() {
    mkdir -p -- "$1"
    tar -xf "$tarball" -C "$1" --strip-components=1 --no-same-owner --anchored --wildcards "${2:-*}"
}

# What decides how ROMIO looks: then it is made anew from the package.
shape() {
    (cd "$srcdir" &&
        cat "$plugin"/romio-register "$plugin"/intree/* adio_zcache/ad_zcache_seams.h | sha256sum &&
        find common adio_zcache -name '*.[ch]' | LC_ALL=C sort)
}
# And what the driver is made of.
content() {
    (cd "$srcdir" && find common adio_zcache -name '*.[ch]' -print0 | LC_ALL=C sort -z |
        xargs -0 cat configure.ac | sha256sum)
}

register() { "$plugin/romio-register" --in-tree "$romio"; }

fresh_romio() {
    [[ ! -e $mpich/obj/src/mpi/romio/Makefile ]] || make -C "$mpich/obj/src/mpi/romio" clean
    rm -rf -- "$romio"
    unpack "$mpich/src" '*/src/mpi/romio' && register
}

# Objects do not know what headers they include.
driver_again() { rm -f -- "$mpich"/obj/src/mpi/romio/adio/ad_zcache/*.*o && register; }

configure_mpich() {
    cd "$mpich/obj" && "$mpich/src/configure" --prefix="$mpich/inst" "${configuration[@]}"
}
make_mpich() { make -C "$mpich/obj" -j "$jobs"; }
install_mpich() { make -C "$mpich/obj" install; }

build_mpich() {
    local cache=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}/intree

    tarball=$("$plugin/source-fetch" mpich) || die "no source package of MPICH"
    mpich=$(basename -- "$tarball")
    mpich=${mpich%.orig.tar.*}
    mpich=$cache/${mpich/_/-}
    romio=$mpich/src/src/mpi/romio
    mkdir -p -- "$mpich/obj"
    # Until the tests are done, since another build tree may have another driver.
    exec 9>"$mpich.lock"
    flock -n 9 || { say "waiting for another that uses $mpich"; flock 9; }

    say "MPICH in $mpich"
    [[ -x $mpich/src/configure ]] || step unpack unpack "$mpich/src"
    if [[ ${configuration[*]} != "$(cat -- "$mpich/configuration" 2>/dev/null)" ]]; then
        rm -rf -- "$mpich"/{made,obj,inst}
        mkdir -- "$mpich/obj"
        echo "${configuration[*]}" >"$mpich/configuration"
    fi
    if [[ $(shape) != "$(cat -- "$mpich/shape" 2>/dev/null)" ]]; then
        rm -f -- "$mpich"/{shape,content,made}
        step register fresh_romio
        shape >"$mpich/shape"
        content >"$mpich/content"
    elif [[ $(content) != "$(cat -- "$mpich/content" 2>/dev/null)" ]]; then
        rm -f -- "$mpich"/{content,made}
        step driver driver_again
        content >"$mpich/content"
    fi
    [[ -e $mpich/obj/Makefile ]] || step configure configure_mpich
    if [[ ! -e $mpich/made ]]; then
        step make make_mpich
        step install install_mpich
        touch -- "$mpich/made"
    fi
}

# ---- what it is -------------------------------------------------------------------------
# It is in the library that programs are linked with, and loads libfabric only when it is used.
check_library() {
    local lib=$mpich/inst/lib/libmpi.so missing

    nm "$lib" >"$log/symbols" || die "no $lib"
    grep -qi ' d ADIO_ZCACHE_operations$' "$log/symbols" ||
        die "$lib has no driver"
    missing=$(grep -iE ' U (zcache|zc|adio[a-z]*|__wrap|__real)_' "$log/symbols")
    [[ ! $missing ]] || die "$lib lacks $missing"
    ! ldd "$lib" | grep libfabric >&2 || die "$lib needs libfabric before the first open"
}

# The driver compiles with both kinds of ROMIO: this one's, and one that counts otherwise, as those
# after MPICH 4.0 do (and those until then, if this is a newer one). The other kind's headers are
# made from this one's: the type of the slots' count in struct ADIOI_Fns_struct is all that differs.
check_counts() {
    local other=$dir/other-count header=adio/include/adioi.h driver=$romio/adio/ad_zcache kind f

    rm -rf -- "$other"
    mkdir -p -- "$other"
    cp -r -- "$romio/adio/include/." "$other"
    if sed -n '/^struct ADIOI_Fns_struct/,/^};/p' "$romio/$header" | grep -q '\bint count'; then
        kind=MPI_Aint
        sed -i '/^struct ADIOI_Fns_struct/,/^};/s/\<int count/MPI_Aint count/' "$other/adioi.h"
    else
        kind=int
        sed -i '/^struct ADIOI_Fns_struct/,/^};/s/\<MPI_Aint count/int count/' "$other/adioi.h"
    fi
    (($(diff "$romio/$header" "$other/adioi.h" | grep -c '^>') >= 12)) ||
        die "the slots of ROMIO do not count as this test knows it"
    for f in "$driver"/ad_zcache*.c "$driver/zcache_seams.c"; do
        "$mpich/inst/bin/mpicc" -std=gnu11 -Wall -Wextra -Werror -fsyntax-only \
            -DHAVE_ROMIOCONF_H -I"$driver" \
            -isystem "$other" -isystem "$mpich/obj/src/mpi/romio/adio/include" \
            -isystem "$mpich/src/src/mpi/romio/include" \
            -isystem "$mpich/obj/src/mpi/romio/include" \
            -isystem "$mpich/src/src/mpl/include" -isystem "$mpich/obj/src/mpl/include" \
            -isystem "$mpich/src/src/include" -isystem "$mpich/obj/src/include" "$f" || return 1
    done
    echo "compiled with slots that take $kind count"
}

# ---- the tests --------------------------------------------------------------------------
configure_zcache() {
    cd "$dir" &&
        "$srcdir/configure" --disable-plugin --enable-werror MPICC="$mpich/inst/bin/mpicc" \
        MPIEXEC="$mpich/inst/bin/mpiexec"
}

make_zcache() { make -C "$dir" -j "$jobs"; }

# results: what each test came to, in how long.
results() {
    local result test

    grep -E '^(PASS|FAIL|ERROR|SKIP|XPASS):' "$log/tests.log" | while read -r result test; do
        echo "$result $test $(sed -n 's/^took //p' "$dir/tests/${test%.sh}.log" | tail -n 1)"
    done
}

run_tests() {
    export MPI_CHANNEL=sock # for those that it cannot run
    find "$dir/tests" -name '*.trs' -delete
    # shellcheck disable=SC2016 # variables of make
    local all='$(MPI)'

    # shellcheck disable=SC2016
    make -C "$dir/tests" -k -j "$jobs" check AM_COLOR_TESTS=no \
        check_PROGRAMS='$(mpi_tests) daemon/zcload' \
        TESTS="${*:-$all}" >"$log/tests.log" 2>&1 </dev/null 9>&-
    results
    "$srcdir/tests/summary" "$dir"
}

mkdir -p -- "$log"
build_mpich
check_library
step counts check_counts
tail -n 1 "$log/counts.log"
if [[ ! -e $dir/config.status || $srcdir/configure -nt $dir/config.status ]]; then
    step zcache-configure configure_zcache
fi
step zcache-make make_zcache
run_tests "$@"
status=$?
say "$((SECONDS - began)) s in all; logs in $log and $dir/tests"
exit "$status"
