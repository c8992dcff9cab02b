#!/usr/bin/env bash
# romio-register: the lines that it puts into ROMIO, once, and what it refuses.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

register=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/../.." && pwd)/adio_zcache/plugin/romio-register
make_tmp
cd "$tmp" || exit 99
mkdir -p romio/adio/include romio/adio/common

# What it looks for in ROMIO's files.
echo '#define ADIO_UFS                 152' >romio/adio/include/adio.h
echo '#define ADIOI_FS_PROTO_H_INCLUDED' >romio/adio/include/adioi_fs_proto.h
printf 'static struct ADIO_FSTypes fstypes[] = {\n    {0, 0, 0}\n};\n' \
    >romio/adio/common/ad_fstype.c
cat >romio/adio/common/ad_init.c <<'END'
MPI_Info ADIOI_syshints = MPI_INFO_NULL;
MPI_Op ADIO_same_amode = MPI_OP_NULL;
MPI_Errhandler ADIOI_DFLT_ERR_HANDLER = MPI_ERRORS_RETURN;
END
# The part of it that MPICH 4.1 and later have, those later than 4.1 with the two declarations.
flatten() { # LINE ...
    cat <<'END'
typedef int MPI_Datatype;
typedef long MPI_Count, ADIO_Offset;
typedef struct { int count; } ADIOI_Flatlist_node;
END
    printf '%s\n' "$@"
    cat <<'END'
static void ADIOI_Optimize_flattened(ADIOI_Flatlist_node * flat_type);
MPI_Count flatten(MPI_Datatype datatype, ADIOI_Flatlist_node * flat);
MPI_Count flatten(MPI_Datatype datatype, ADIOI_Flatlist_node * flat)
{
    MPI_Count curr_index = 0;

    ADIOI_Flatten(datatype, flat, 0, &curr_index);
    ADIOI_Optimize_flattened(flat);
    return ADIOI_Count_contiguous_blocks(datatype, &curr_index);
}
static void ADIOI_Flatten(MPI_Datatype datatype, ADIOI_Flatlist_node * flat,
                          ADIO_Offset st_offset, MPI_Count * curr_index)
{
    flat->count = datatype + (int)st_offset + (int)*curr_index;
}
static MPI_Count ADIOI_Count_contiguous_blocks(MPI_Datatype datatype, MPI_Count * curr_index)
{
    return datatype + *curr_index;
}
static void ADIOI_Optimize_flattened(ADIOI_Flatlist_node * flat_type)
{
    flat_type->count = 0;
}
END
}
compiles() {
    "${CC:-cc}" -Werror -Wall -fsyntax-only romio/adio/common/flatten.c || fail "$1"
}
declared="static MPI_Count ADIOI_Count_contiguous_blocks(MPI_Datatype datatype, MPI_Count * curr_index);"
flatten >romio/adio/common/flatten.c
cp -r romio later
flatten "$declared" 'static void ADIOI_Flatten(MPI_Datatype datatype, ADIOI_Flatlist_node * flat,
                          ADIO_Offset st_offset, MPI_Count * curr_index);' \
    >later/adio/common/flatten.c
cp later/adio/common/flatten.c flatten.c
printf 'static const char *fstype_prefix[] = {\n    "ufs",\n    NULL\n};\n' \
    >>later/adio/common/ad_fstype.c

expect 0 "" "$register" romio
compiles "flatten.c of MPICH 4.1"
grep -q "ADIO_ZCACHE, \"zcache:\"" romio/adio/common/ad_fstype.c || fail "not registered"
(($(grep -c '^#ifdef ZCACHE_HANDLES_FOUND_AT_RUN_TIME' romio/adio/common/ad_init.c) == 3)) ||
    fail "handles: $(<romio/adio/common/ad_init.c)"
cp -r romio once
expect 0 "" "$register" romio
diff -r once romio || fail "the second time changes something"
expect 0 "" "$register" later
cmp flatten.c later/adio/common/flatten.c || fail "flatten.c of MPICH 4.2 is changed"
grep -qx '    "zcache",' later/adio/common/ad_fstype.c || fail "no prefix that MPICH 4.1 knows"

# A place that is not there, or twice; a number that is taken.
sed -i "/^MPI_Op/d; /^#/d" romio/adio/common/ad_init.c
expect 1 "romio-register: error: adio/common/ad_init.c has not the three variables *" \
    "$register" romio
cp -r later twice
sed -i '/ZCACHE/d' twice/adio/common/ad_fstype.c
cat later/adio/common/ad_fstype.c >>twice/adio/common/ad_fstype.c
sed -i '/ZCACHE/d' twice/adio/common/ad_fstype.c
expect 1 "*ad_fstype.c has 2 lines like * where one is expected*" "$register" twice
sed -i '/ZCACHE/d; s/ADIO_UFS .*/&\n#define ADIO_NEW 199/' twice/adio/include/adio.h
expect 1 "*uses the number 199 for something else" "$register" twice
expect 1 "*$tmp is not the src/mpi/romio of an MPICH tree" "$register" "$tmp"
