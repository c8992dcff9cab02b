#!/usr/bin/env bash
# zcache run takes the plugin for the MPI library that the program is linked with; --mpi names one.
. "$(dirname -- "$0")/functions.sh"
requires test -e "$build/adio_zcache/.libs/libzcache.so"

make_tmp
cd "$tmp" || exit 99
export XDG_RUNTIME_DIR=$tmp
cc=${CC:-cc}

# A build with all flavours; what they do is of no interest.
mkdir -p tree/adio_zcache/.libs
cp "$build/zcache" tree
ln -s "$build/iod" tree/iod
echo 'int nothing;' >none.c
for flavour in "" -openmpi -abi; do
    "$cc" -shared -fPIC -o tree/adio_zcache/.libs/libzcache$flavour.so none.c || exit 99
done
run() { tree/zcache run --daemons 0 "$@"; }

# Programs that say what is preloaded, linked with what has the name of an MPI library.
echo 'int MPI_Init(int *n, char ***v) { return !n && !v; }' >mpi.c
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
int MPI_Init(int *, char ***);
int main(void)
{
    puts(getenv("LD_PRELOAD"));
    return MPI_Init(0, (char ***)"");
}
END
for name in libmpi.so.12 libmpi.so.40 libmpi_abi.so.0; do
    "$cc" -shared -fPIC -Wl,-soname,$name -o $name mpi.c &&
        "$cc" -o "with-$name" main.c ./$name -Wl,-rpath,"$tmp" || exit 99
done

for each in libmpi.so.12: libmpi.so.40:-openmpi libmpi_abi.so.0:-abi; do
    plugin=$tmp/tree/adio_zcache/.libs/libzcache${each#*:}.so
    expect 0 "$plugin
*" run "./with-${each%:*}"
    # Behind a launcher, and words that are no programs.
    expect 0 "$plugin
*" run env -u NOTHING "./with-${each%:*}" "zcache:$tmp/x"
done
# A library that only the launcher's environment lets the program find.
mkdir lib
mv libmpi.so.40 lib
expect 0 "*/libzcache-openmpi.so
*" run env LD_LIBRARY_PATH="$tmp/lib" ./with-libmpi.so.40

# ---- scripts -----------------------------------------------------------------------------
# The Python modules that bring an MPI library, which is linked with the name of Open MPI's.
"$cc" -shared -fPIC -Wl,-soname,libmpi.so.40 -o libmpi.so.40.30.4 mpi.c || exit 99
mkdir -p with/mpi4py only/h5py
echo "rc = type('rc', (), {})()" >with/mpi4py/__init__.py
echo "import ctypes; ctypes.CDLL('$tmp/libmpi.so.40.30.4')" >with/mpi4py/MPI.py
echo 'raise ImportError("no mpi4py")' >only/mpi4py.py
echo "import ctypes; ctypes.CDLL('$tmp/libmpi.so.40.30.4')" >only/h5py/__init__.py
script() { # FILE #!
    printf '#!%s\nimport os\nprint(os.environ["LD_PRELOAD"])\n' "$2" >"$1"
    chmod +x "$1"
}
if python=$(type -P python3); then
    script plain "$python"
    script env "/usr/bin/env python3"
    script env-S "/usr/bin/env -S X=1 python3 -u"
    for modules in with only; do
        for each in "python3 plain" ./plain ./env ./env-S "env -u NOTHING ./env"; do
            # shellcheck disable=SC2086
            expect 0 "$tmp/tree/adio_zcache/.libs/libzcache-openmpi.so
*" env PYTHONPATH="$tmp/$modules" PYTHONDONTWRITEBYTECODE=1 tree/zcache run --daemons 0 $each
        done
    done
    # Python without such a module.
    echo 'raise ImportError("no h5py")' >only/h5py/__init__.py
    expect 0 "*/libzcache.so
*" env PYTHONPATH="$tmp/only" PYTHONDONTWRITEBYTECODE=1 tree/zcache run --daemons 0 ./plain
else
    echo "skipped: programs in Python: no python3"
fi
# Of a shell's script the launcher tells it, or --mpi.
# shellcheck disable=SC2016 # the script's own variable
printf '#!/bin/sh\necho "$LD_PRELOAD"\n' >shell
chmod +x shell
expect 0 "*/libzcache.so
*" run ./shell
expect 0 "*/libzcache-openmpi.so
*" run --mpi openmpi ./shell

# ---- the exports -------------------------------------------------------------------------
tree/zcache start || fail "start"
cleanup_fn "'$tmp/tree/zcache' stop >/dev/null 2>&1"
expect 0 "*/libzcache.so" tree/zcache env
expect 0 "*/libzcache-abi.so" tree/zcache env ./with-libmpi_abi.so.0
expect 0 "*/libzcache-openmpi.so" tree/zcache env --mpi openmpi ./with-libmpi_abi.so.0
# ldd is a script of bash, which takes over such options.
expect 0 "*/libzcache-abi.so" env SHELLOPTS=errexit:nounset:posix tree/zcache env \
    ./with-libmpi_abi.so.0
expect 2 "zcache: env: unexpected argument \"b\"*" tree/zcache env a b
tree/zcache stop || fail "stop"

expect 0 "*/libzcache-abi.so
*" run --mpi abi ./with-libmpi.so.12
expect 0 "*/libzcache.so
*" run --mpi=mpich env LD_LIBRARY_PATH="$tmp/lib" ./with-libmpi.so.40
expect 2 "zcache: --mpi: \"lam\" is not allowed; *" run --mpi lam true
rm tree/adio_zcache/.libs/libzcache-openmpi.so
expect 1 "zcache: no plugin */libzcache-openmpi.so: *" run --mpi openmpi true
