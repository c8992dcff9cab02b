#!/bin/sh
# check-exports.sh [LIBZCACHE]
#
# What the plugin shows to a program, and what it asks of it:
#   - exported: exactly the functions that mpi.h declares for files, data representations, the
#     status of requests and the end of a program, and those of libc that execute another one;
#   - undefined: functions of the MPI standard that the MPI library has, and libc;
#   - linked with: libc and its parts only. Never libmpi, nor libfabric, of which the MPI library
#     may bring another version.
#
# Environment: MPICC, the compiler wrapper of the MPI library that the plugin was configured with;
# ZCACHE_CHECK_LIBS, further MPI libraries (paths) that must have what the plugin asks for.
set -eu
export LC_ALL=C

lib=${1:-${LIBZCACHE:-../adio_zcache/.libs/libzcache.so}}
mpicc=${MPICC:-$(command -v mpicc.mpich || command -v mpicc || echo mpicc)}
nm=${NM:-nm}
[ -f "$lib" ] || {
    echo "check-exports: no $lib; build it first" >&2
    exit 99
}

tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
failed=0
fail()
{
    echo "check-exports: $1" >&2
    sed 's/^/    /' "$2" >&2
    failed=1
}

# ---- exported -----------------------------------------------------------------
# A declaration is a name before a parenthesis; a function type is not.
echo '#include <mpi.h>' >"$tmp/t.c"
$mpicc -E "$tmp/t.c" >"$tmp/t.i"
grep -oE '(^|[^A-Za-z0-9_(])P?MPI_[A-Za-z0-9_]+[[:space:]]*\(' "$tmp/t.i" |
    sed 's/[^A-Za-z0-9_]//g' | sort -u >"$tmp/mpi"
grep -E '^P?MPI_(File|Register_datarep|Request_get_status|Abort$)' "$tmp/mpi" >"$tmp/declared"
n=$(wc -l <"$tmp/declared")
[ "$n" -gt 150 ] || {
    echo "check-exports: only $n functions found in mpi.h; is $mpicc right?" >&2
    exit 99
}
$nm -D --defined-only "$lib" | awk '{ print $NF }' | sort -u >"$tmp/exported"

comm -23 "$tmp/declared" "$tmp/exported" >"$tmp/missing"
[ ! -s "$tmp/missing" ] || fail "declared in mpi.h, not exported:" "$tmp/missing"

# Functions of MPI-4 and 5 that the plugin has for newer MPI libraries than mpi.h may be of.
comm -13 "$tmp/declared" "$tmp/exported" |
    grep -vE '^P?MPI_(File_(toint|fromint)|(File|Register_datarep)[a-z_]*_c)$' |
    grep -vE '^P?MPI_Request_get_status_(all|any|some)$' |
    grep -vE '^f?exec(l|le|lp|v|ve|veat|vp|vpe)$' >"$tmp/extra" || :
[ ! -s "$tmp/extra" ] || fail "exported, but not declared in mpi.h:" "$tmp/extra"

# ---- undefined ------------------------------------------------------------------
# Those of libc have a version; sanitizers bring their own.
$nm -D --undefined-only "$lib" | grep -v '@' |
    awk '{ print $(NF - 1), $NF }' |
    grep -vE ' __(asan|tsan|ubsan|lsan|sanitizer)_' >"$tmp/undefined" || :
awk '$1 == "U" { print $2 }' "$tmp/undefined" | sort -u >"$tmp/strong"
awk '$1 != "U" { print $2 }' "$tmp/undefined" | sort -u >"$tmp/weak"
[ -s "$tmp/strong" ] || echo "PMPI_*: none at all" >"$tmp/strong"

comm -23 "$tmp/strong" "$tmp/mpi" >"$tmp/foreign"
[ ! -s "$tmp/foreign" ] || fail "undefined, and not a function of MPI:" "$tmp/foreign"

grep -vE "^(_ITM_|__gmon_start__|__cxa_finalize)" "$tmp/weak" >"$tmp/odd" || :
[ ! -s "$tmp/odd" ] || fail "weak:" "$tmp/odd"

# The linker's word: with this MPI library every strong symbol is found.
echo 'int main(void) { return 0; }' >"$tmp/main.c"
$mpicc -o "$tmp/main" "$tmp/main.c" "$lib" -Wl,--no-allow-shlib-undefined >"$tmp/ld" 2>&1 ||
    case $(cat "$tmp/ld") in
    *san_* | *__sanitizer*) ;; # a sanitized plugin needs a sanitized program
    *) fail "does not link with $mpicc:" "$tmp/ld" ;;
    esac

for other in ${ZCACHE_CHECK_LIBS:-}; do
    $nm -D --defined-only "$other" | awk '{ print $NF }' | sed 's/@.*//' | sort -u >"$tmp/theirs"
    comm -23 "$tmp/strong" "$tmp/theirs" >"$tmp/lacking"
    [ ! -s "$tmp/lacking" ] || fail "not in $other:" "$tmp/lacking"
done

# ---- linked with ------------------------------------------------------------------
readelf -d "$lib" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' >"$tmp/needed"
grep -vE '^(libc|libm|libdl|libpthread|librt|libgcc_s|lib[atlu]+b?san|ld-linux.*)\.so' \
    "$tmp/needed" >"$tmp/unwanted" || :
[ ! -s "$tmp/unwanted" ] || fail "linked with:" "$tmp/unwanted"

# A program without MPI must not mind having it preloaded.
case $(cat "$tmp/needed") in
*san.so*) ;;
*)
    LD_PRELOAD=$(readlink -f "$lib") /bin/true 2>"$tmp/preload" && [ ! -s "$tmp/preload" ] ||
        fail "cannot be preloaded into a program without MPI:" "$tmp/preload"
    ;;
esac

[ "$failed" = 0 ] || exit 1
needed=$(wc -l <"$tmp/strong")
echo "check-exports: $n functions of mpi.h and nothing else; $needed MPI functions needed"
