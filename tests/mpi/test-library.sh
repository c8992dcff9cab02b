#!/usr/bin/env bash
# Which MPI library the plugin finds in a program: one that was opened privately, as Python does;
# none; one with other handles, which is refused in words.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

needs_plugin "how the plugin finds the MPI library"
make_root
cat >"$tmp/program.c" <<'END'
#include <mpi.h>
#include <stdio.h>

int run(char *name);
int run(char *name)
{
    MPI_File fh;
    MPI_Request request;
    int rc, n = 7, back = 0;

    MPI_Init(NULL, NULL);
    rc = MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);
    if (rc == MPI_SUCCESS)
        rc = MPI_File_iwrite_at(fh, 0, &n, 1, MPI_INT, &request);
    if (rc == MPI_SUCCESS)
        rc = MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = MPI_File_read_at(fh, 0, &back, 1, MPI_INT, MPI_STATUS_IGNORE);
    if (rc == MPI_SUCCESS)
        rc = MPI_File_close(&fh);
    MPI_Finalize();
    return rc != MPI_SUCCESS || back != n;
}

int main(int argc, char **argv)
{
    return argc < 2 || run(argv[1]);
}
END
cat >"$tmp/opens.c" <<'END'
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    void *module = argc < 3 ? NULL : dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*run)(char *) = NULL;

    if (module)
        *(void **)&run = dlsym(module, "run");
    else
        fprintf(stderr, "%s\n", dlerror());
    return !run || run(argv[2]);
}
END
cat >"$tmp/none.c" <<'END'
typedef int handle;
int MPI_File_delete(const char *name, handle info);
int main(void)
{
    return MPI_File_delete("x", 0);
}
END
cc=${CC:-cc}
"$MPICC" -shared -fPIC -o "$tmp/module.so" "$tmp/program.c" &&
    "$cc" -o "$tmp/opens" "$tmp/opens.c" -ldl &&
    "$cc" -o "$tmp/none" "$tmp/none.c" "$plugin" "-Wl,-rpath,${plugin%/*}" \
    -Wl,--unresolved-symbols=ignore-in-shared-libs ||
    fail "the programs of this test cannot be built"
! grep -q libmpi <<<"$(ldd "$tmp/opens")" ||
    fail "the MPI library is not private: this shows nothing"

for prefix in ufs zcache; do
    mpi_quiet 1 "$tmp/opens" "$tmp/module.so" "$prefix:$root/private" ||
        fail "a private library, $prefix:"
done
[[ $(od -An -td4 "$root/private") -eq 7 ]] || fail "a private library: wrong bytes in the file"

expect 1 "*zcache: no MPI library is found in this program; *" "$tmp/none"

# ---- the plugin for another library ------------------------------------------------------
# Libraries that have of each interface what tells it from the others.
cat >"$tmp/mpich.c" <<'END'
int PMPI_Init(int *n, char ***v) { return !n && !v; }
int MPI_File_delete(const char *name, void *info) { return !name && !info; }
END
{ cat "$tmp/mpich.c" && echo 'int ompi_mpi_comm_world;'; } >"$tmp/openmpi.c"
{ cat "$tmp/mpich.c" &&
    echo 'int MPI_Abi_get_version(int *a, int *b) { *a = 1; return *b = 0; }'; } >"$tmp/abi.c"
cat >"$tmp/deletes.c" <<'END'
int PMPI_Init(int *n, char ***v);
int MPI_File_delete(const char *name, void *info);
int main(int argc, char **argv)
{
    return PMPI_Init(&argc, &argv) || MPI_File_delete("zcache:/x", 0);
}
END
file_of() { # FLAVOUR
    if [[ $1 == mpich ]]; then echo libzcache.so; else echo "libzcache-$1.so"; fi
}
for flavour in mpich openmpi abi; do
    "$cc" -shared -fPIC -o "$tmp/libmpi_$flavour.so" "$tmp/$flavour.c" &&
        "$cc" -o "$tmp/deletes-$flavour" "$tmp/deletes.c" -L"$tmp" -lmpi_$flavour \
            -Wl,-rpath,"$tmp" || exit 99
    for other in mpich openmpi abi; do
        [[ $other != "$flavour" ]] || continue
        file=${plugin%/*}/$(file_of $other)
        if [[ ! -e $file ]]; then
            echo "skipped: ${file##*/} under another library: it is not built"
            continue
        fi
        right=$(file_of $flavour)
        expect 1 "zcache: this program uses *; ${file##*/} is for *: $right is the one to preload, *" \
            env LD_PRELOAD="$sanitizer$file" "$tmp/deletes-$flavour"
    done
done
