#!/usr/bin/env bash
# Under an MPI library with the standard binary interface of MPI-5, with the plugin for it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
prefix=${ABI_PREFIX-$(sed -n 's/^ABI_PREFIX = *//p' "$build/tests/Makefile")}
abi=$build/adio_zcache/.libs/libzcache-abi.so
[[ -e $abi ]] || {
    echo "skipped: this build has no libzcache-abi.so (configure --with-mpi-abi=DIR)"
    exit 77
}
[[ -e $prefix/lib/libmpi_abi.so.1 ]] || {
    echo "skipped: no library with the standard interface in ${prefix:-no directory}"
    exit 77
}
make_root
cd "$tmp" || exit 99

# Programs see the standard's header by the name of every MPI library's. Not t_errhandler: a program
# that closes MPI_FILE_NULL through this interface of mpich 5.0.2 crashes, without the plugin, too.
mkdir include
echo '#include <mpi_abi.h>' >include/mpi.h
for each in t_io t_modes t_nonblocking t_types t_datarep t_external32 t_hints; do
    "${CC:-cc}" -w -D_GNU_SOURCE -Iinclude -I"$prefix/include" -I"$here" -I"$build" -o "$each" \
        "$here/$each.c" -L"$prefix/lib" -lmpi_abi "-Wl,-rpath,$prefix/lib" -lpthread -lm ||
        fail "$each.c is not compiled"
done

mpiexec=$prefix/bin/mpiexec.hydra
[[ -x $mpiexec ]] || mpiexec="bash $prefix/bin/mpiexec"
preload=${preload/%$plugin/$abi}
for each in t_io t_modes t_nonblocking t_types t_datarep t_external32; do
    within "$mpi_timeout" $mpiexec -n 2 -genv LD_PRELOAD "$sanitizer$preload" "./$each" \
        "zcache:$root/$each" >out 2>&1 </dev/null || fail "$each: status $?: $(<out)"
done
# HDF5 asks whether it may do without a sync.
within "$mpi_timeout" $mpiexec -n 2 -genv LD_PRELOAD "$sanitizer$preload" ./t_hints \
    "zcache:$root/h" -- romio_visibility_immediate=true >out 2>&1 </dev/null ||
    fail "t_hints: status $?: $(<out)"

# zcache doctor finds the plugin by the program, and opens a file with both.
if [[ ! $sanitizer ]]; then
    (
        unset ROMIO_FSTYPE_FORCE ZCACHE_PATHS ZCACHE_DAEMONS
        "$zcache" doctor --root "$root" ./t_io >out 2>&1 </dev/null
    ) || fail "doctor: $(<out)"
    grep -qE "^ok +a file +opened, written, read and closed .* under MPICH" out ||
        fail "doctor opens no file: $(<out)"
fi

# Another plugin names the right one.
within "$mpi_timeout" $mpiexec -n 1 -genv LD_PRELOAD "$sanitizer$plugin" ./t_io \
    "zcache:$root/x" >out 2>&1 </dev/null && fail "libzcache.so is not refused: $(<out)"
grep -q "libzcache-abi.so is the one to preload" out || fail "no plugin is named: $(<out)"

# ---- constants that differ ---------------------------------------------------------------
# impi-rt 2021.19.0 has the numbers of an earlier state of the standard's header.  Played here by
# the library that there is: older.c exchanges the numbers of two handlers, and programs are
# compiled with all that differs.
sed -e 's/\(MPI_ERRORS_ABORT .*\)0x00000142/\10x00000143/; t' \
    -e 's/\(MPI_ERRORS_RETURN .*\)0x00000143/\10x00000142/' \
    -e 's/\(MPI_SEEK_SET *= \)40./\1401/; s/\(MPI_SEEK_CUR *= \)40./\1402/' \
    -e 's/\(MPI_SEEK_END *= \)40./\1403/' "$prefix/include/mpi_abi.h" >older.h
mkdir older
echo '#include "../older.h"' >older/mpi.h
cat >older.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi_abi.h>
static MPI_Errhandler other(MPI_Errhandler e)
{
    if (e == MPI_ERRORS_RETURN)
        return MPI_ERRORS_ABORT;
    return e == MPI_ERRORS_ABORT ? MPI_ERRORS_RETURN : e;
}
#define SET_GET(prefix, object)                                                                    \
    int prefix##_##object##_set_errhandler(MPI_##object o, MPI_Errhandler e)                       \
    {                                                                                              \
        int (*next)(MPI_##object, MPI_Errhandler) =                                                \
            dlsym(RTLD_NEXT, #prefix "_" #object "_set_errhandler");                               \
        return next(o, other(e));                                                                  \
    }                                                                                              \
    int prefix##_##object##_get_errhandler(MPI_##object o, MPI_Errhandler *e)                      \
    {                                                                                              \
        int (*next)(MPI_##object, MPI_Errhandler *) =                                              \
            dlsym(RTLD_NEXT, #prefix "_" #object "_get_errhandler");                               \
        int rc = next(o, e);                                                                       \
        *e = other(*e);                                                                            \
        return rc;                                                                                 \
    }
SET_GET(MPI, File) SET_GET(PMPI, File) SET_GET(MPI, Comm) SET_GET(PMPI, Comm)
int PMPI_Init(int *argc, char ***argv) /* where the plugin looks for the library */
{
    int (*next)(int *, char ***) = dlsym(RTLD_NEXT, "PMPI_Init");
    return next(argc, argv);
}
END
"${CC:-cc}" -shared -fPIC -w -I"$prefix/include" -o libolder.so older.c -L"$prefix/lib" -lmpi_abi \
    "-Wl,-rpath,$prefix/lib" || fail "older.c is not compiled"
"${CC:-cc}" -w -D_GNU_SOURCE -Iolder -I"$here" -I"$build" -o t_modes_older "$here/t_modes.c" -L. \
    -Wl,--no-as-needed -lolder -L"$prefix/lib" -lmpi_abi "-Wl,-rpath,$tmp:$prefix/lib" -lpthread ||
    fail "t_modes.c is not compiled with other numbers"
within "$mpi_timeout" $mpiexec -n 2 -genv LD_PRELOAD "$sanitizer$preload" ./t_modes_older \
    "zcache:$root/older" >out 2>&1 </dev/null || fail "other numbers: status $?: $(<out)"

# A library with numbers that the plugin does not know, or that it knows but are not asked for until
# MPI is initialized: the program's first call, which the standard allows before that, is none that
# needs them.
cat >other.c <<'END'
#include <mpi_abi.h>
#include <stdint.h>
#include <stdlib.h>
static int begun;
int PMPI_Init(int *argc, char ***argv) { return begun = 1, MPI_SUCCESS; }
int MPI_Abi_get_version(int *major, int *minor) { *major = 1; *minor = 0; return MPI_SUCCESS; }
int PMPI_Initialized(int *flag) { *flag = begun; return MPI_SUCCESS; }
int PMPI_File_get_errhandler(MPI_File file, MPI_Errhandler *errhandler)
{
    if (!begun)
        exit(9);
    *errhandler = (MPI_Errhandler)(intptr_t)strtol(getenv("HANDLER"), NULL, 0);
    return MPI_SUCCESS;
}
int MPI_File_c2f(MPI_File file) { return 0; }
int MPI_File_open(MPI_Comm comm, const char *name, int amode, MPI_Info info, MPI_File *fh)
{
    return MPI_SUCCESS;
}
END
cat >opens.c <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <mpi_abi.h>
int main(int argc, char **argv)
{
    int (*c2f)(MPI_File) = dlsym(RTLD_DEFAULT, "MPI_File_c2f"); /* the plugin's */
    MPI_File fh;
    c2f(MPI_FILE_NULL);
    PMPI_Init(&argc, &argv);
    return MPI_File_open(MPI_COMM_SELF, argv[1], MPI_MODE_RDONLY, MPI_INFO_NULL, &fh) ? 4 : 3;
}
END
"${CC:-cc}" -w -shared -fPIC -I"$prefix/include" -o libmpi_other.so other.c &&
    "${CC:-cc}" -w -I"$prefix/include" -o opens opens.c -L. -lmpi_other -Wl,-rpath,"$tmp" ||
    fail "no library with other constants is made"
HANDLER=0x141 LD_PRELOAD=$sanitizer$abi ./opens "$root/x" >out 2>&1 </dev/null
status=$?
((status == 1)) && grep -q "other constants than those that this plugin knows" out ||
    fail "other constants are not refused: status $status: $(<out)"
for each in 0x142 0x143; do
    HANDLER=$each LD_PRELOAD=$sanitizer$abi ./opens "$root/x" >out 2>&1 </dev/null
    status=$?
    ((status == 3)) || fail "handler $each of MPI_FILE_NULL: status $status: $(<out)"
done

# ---- Fortran and Python ------------------------------------------------------------------
fortran=$prefix/lib/libmpifort_abi.so.1
if [[ ! -e $fortran ]]; then
    echo "skipped: Fortran: there is no $fortran"
elif ! nm -D "$fortran" | grep -q ' mpi_file_open_$'; then
    echo "skipped: Fortran: $fortran has no MPI_File_open"
else
    "${FC:-gfortran}" -w -I"$prefix/include" -o t_fortran77 "$here/t_fortran77.f" \
        -L"$prefix/lib" -lmpifort_abi -lmpi_abi "-Wl,-rpath,$prefix/lib" >out 2>&1 &&
        within "$mpi_timeout" $mpiexec -n 2 -genv LD_PRELOAD "$sanitizer$preload" \
            ./t_fortran77 "zcache:$root/f" >>out 2>&1 </dev/null || fail "Fortran: $(<out)"
fi
python=$prefix/bin/python
if ! module=$("$python" -c 'import mpi4py; print(*mpi4py.__path__)' 2>/dev/null); then
    echo "skipped: mpi4py: there is none in $prefix"
elif ! compgen -G "$module/MPI.mpiabi.*" >/dev/null; then
    echo "skipped: mpi4py: $module is not built for the standard interface"
else
    MPI4PY_MPIABI=mpiabi within "$mpi_timeout" $mpiexec -n 2 -genv LD_PRELOAD \
        "$sanitizer$preload" "$python" "$here/../mpis/t_io.py" "zcache:$root/f" >out 2>&1 \
        </dev/null || fail "mpi4py: $(<out)"
fi
