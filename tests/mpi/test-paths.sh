#!/usr/bin/env bash
# Files that are zcache's by where they are: ZCACHE_PATHS, zcache run and env with --paths; and what
# zcache run says when no file has come to it.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "the MPI library alone opens files by their names"

make_root
cd "$tmp" || exit 99
unset ROMIO_FSTYPE_FORCE ZCACHE_PATHS PNETCDF_HINTS SLURM_JOB_ID
export XDG_RUNTIME_DIR=$tmp
mkdir root/in root/out root/inside
ln -s in root/link
hint=zcache_block_size

# With an argument: the list on rank 1 alone, which says after 10 s why it waits for rank 0.
if [[ ${1:-} == late ]]; then
    timeout -k 5 "$mpi_timeout" "$mpiexec" -genv LD_PRELOAD "$sanitizer$preload" \
        -n 1 "$programs/t_hints" "$root/in/f" : \
        -n 1 -env ZCACHE_PATHS "$root/in" "$programs/t_hints" "$root/in/f" >out 2>&1 </dev/null &
    job=$!
    told() { grep -q "rank 1 error: open of $root/in/f: rank 0 .* has no ZCACHE_PATHS" out; }
    wait_for 60 told || fail "not told: $(<out)"
    kill "$job"
    wait "$job"
    exit 0
fi

# staged NAME, left NAME: the file is zcache's, or the MPI library's.
staged() { mpi_quiet 2 "$programs/t_hints" "$1" -- $hint=4M || fail "$1: not by zcache"; }
left() { mpi_quiet 2 "$programs/t_hints" "$1" -- $hint= || fail "$1: by zcache"; }

# ---- the variable ---------------------------------------------------------------------
export ZCACHE_PATHS=$root/in
staged "$root/in/f"
staged "root/link/g"
staged "zcache:$root/out/f"
left "$root/inside/f"
left "$root/out/g"
[[ ! $ufs ]] || left "ufs:$root/in/f"
both=1
[[ $ufs && ${TEST_MPI:-} != abi ]] || { echo "left out: t_both, which this library fails"; both=; }
[[ ! $both ]] || mpi_quiet 2 "$programs/t_both" "$root/in/h" "$root/out/h" || fail "both kinds"
[[ ! -e $root/in/h && ! -e $root/out/h ]] || fail "MPI_File_delete leaves files behind"
[[ ! $ufs ]] || ROMIO_FSTYPE_FORCE=ufs: left "$root/in/f"
ROMIO_FSTYPE_FORCE=zcache: staged "$root/out/i"
ZCACHE_PATHS="$root/o*" staged "$root/out/f"
ZCACHE_PATHS="$root/o*" left "$root/in/f"
ZCACHE_PATHS='' left "$root/in/f"

# Rank 0 decides for all.
for case in "$root/in:4M" "/nowhere:"; do
    program=("$programs/t_hints" "$root/in/k" -- "$hint=${case#*:}")
    timeout -k 5 "$mpi_timeout" "$mpiexec" -genv LD_PRELOAD "$sanitizer$preload" \
        -n 1 -env ZCACHE_PATHS "${case%:*}" "${program[@]}" : \
        -n 1 -env ZCACHE_PATHS "$root/out" "${program[@]}" >out 2>&1 </dev/null ||
        fail "ranks differ, $case: $(<out)"
done
for first in ${both:+"$root/in" /nowhere}; do
    timeout -k 5 "$mpi_timeout" "$mpiexec" -genv LD_PRELOAD "$sanitizer$preload" \
        -n 1 -env ZCACHE_PATHS "$first" "$programs/t_both" "$root/in/k" "$root/out/k" : \
        -n 1 -env ZCACHE_PATHS "$root/out" "$programs/t_both" "$root/in/k" "$root/out/k" \
        >out 2>&1 </dev/null || fail "ranks differ, both kinds, $first: $(<out)"
done
ZCACHE_PATHS=in:$root mpi_quiet 2 "$programs/t_open" "$root/in/l" rdwr,create MPI_ERR_ARG \
    ZCACHE_PATHS || fail "a list that is wrong"
[[ ! -e $root/in/l ]] || fail "a list that is wrong: a file was made"
unset ZCACHE_PATHS

# ---- the launcher -----------------------------------------------------------------------
# run OPTION ... -- WORD ...: of zcache run; what it says is in said.
run() { "$zcache" run "$@" >said 2>&1 </dev/null; }
job=("$mpiexec" -n 2 "$programs/t_hints")

run --root root --paths root -- "${job[@]}" "$root/out/m" -- $hint=4M || fail "root: $(<said)"
run --paths "/nowhere:$root/i*" -- "${job[@]}" "$root/in/m" -- $hint=4M || fail "list: $(<said)"
run --daemons 0 --paths="$root/in" -- "${job[@]}" root/link/n -- $hint=4M || fail "none: $(<said)"
# What PnetCDF does with one name: it looks whether there is a file, reads its first bytes, by POSIX
# calls, opens it by MPI-IO; its burst buffer has log files beside it.
cat >library.c <<'END'
#include <fcntl.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OK(ok) ((ok) ? (void)0 : (fprintf(stderr, "line %d: " #ok "\n", __LINE__), exit(1)))

static void log_file(const char *name, int rank)
{
    char path[4096], text[16] = "";
    int fd;

    snprintf(path, sizeof path, "%s_%d.meta", name, rank);
    OK((fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600)) >= 0);
    OK(pwrite(fd, "a log", 6, 0) == 6 && pread(fd, text, 6, 0) == 6 && !strcmp(text, "a log"));
    OK(close(fd) == 0 && unlink(path) == 0);
}

int main(int argc, char **argv)
{
    char text[8] = "";
    int rank, n = 0, fd;
    MPI_File fh;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(access(argv[1], F_OK) < 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(!MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR,
                      MPI_INFO_NULL, &fh));
    log_file(argv[1], rank);
    OK(rank || !MPI_File_write_at(fh, 0, "CDF\1...", 8, MPI_BYTE, MPI_STATUS_IGNORE));
    OK(!MPI_File_write_at_all(fh, 8 + 4 * rank, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
    OK(!MPI_File_close(&fh));
    OK(access(argv[1], F_OK) == 0 && (fd = open(argv[1], O_RDONLY)) >= 0);
    OK(read(fd, text, 8) == 8 && !memcmp(text, "CDF\1...", 8) && !close(fd));
    OK(!MPI_File_open(MPI_COMM_WORLD, argv[1], MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(!MPI_File_read_at_all(fh, 8 + 4 * !rank, &n, 1, MPI_INT, MPI_STATUS_IGNORE) && n == !rank);
    OK(!MPI_File_close(&fh));
    return MPI_Finalize();
}
END
if "${MPICC:-mpicc}" -o library library.c >said 2>&1; then
    for n in 0 1; do
        run --daemons $n --root root --paths root -- "$mpiexec" -n 2 ./library "$root/out/lib$n" ||
            fail "a library with POSIX calls, $n daemons: $(<said)"
        # Nothing is said of a run whose files have come.
        ! grep -q "^zcache:" said || fail "a library with POSIX calls: $(<said)"
    done
else
    echo "skipped: a library with POSIX calls: $(tail -n 1 said)"
fi
printf 'root = %s\n' "$root/in" >conf
run --config conf --paths root -- "${job[@]}" "$root/in/o" -- $hint=4M || fail "conf: $(<said)"
run --paths in:/x -- true && fail "a relative path is taken"
[[ $(<said) == *'--paths: "in" is no absolute path'* ]] || fail "relative: $(<said)"

"$zcache" start --root "$root" || fail "start"
cleanup_fn "'$zcache' stop >/dev/null 2>&1"
(
    eval "$("$zcache" env "${mpi_option[@]}" --paths root)"
    [[ $ZCACHE_PATHS == "$root" && $PNETCDF_HINTS == nc_driver=mpiio ]] ||
        fail "env: $ZCACHE_PATHS, $PNETCDF_HINTS"
    timeout -k 5 "$mpi_timeout" "${job[@]}" "$root/in/p" -- $hint=4M >said 2>&1 </dev/null
) || fail "env: $(<said)"
"$zcache" stop || fail "stop"

# What the user has in PNETCDF_HINTS is kept.
hints() {
    # shellcheck disable=SC2016
    PNETCDF_HINTS=$1 run --daemons 0 -- sh -c 'echo "=$PNETCDF_HINTS="'
    grep -qxF "=$2=" said || fail "PNETCDF_HINTS=$1: $(<said)"
}
hints "" nc_driver=mpiio
hints "nc_var_align_size=512; " "nc_var_align_size=512;nc_driver=mpiio"
hints "a=b; nc_driver = posix" "a=b; nc_driver = posix"

# ---- no file has come ---------------------------------------------------------------------
says() { # PATTERN OPTION ... -- WORD ...
    local pattern=$1

    shift
    run "$@" || fail "$*: $(<said)"
    # shellcheck disable=SC2053
    [[ $(<said) == $pattern ]] || fail "$*: $(<said)"
}
none="zcache: no file was opened through zcache"
says "$none: none below $root/in, *" --paths "$root/in" -- true
says "$none: names of files have to begin with zcache:*" --daemons 0 -- true
for n in 0 1; do
    says "$none*though the command names one*" --daemons $n --root "$root" -- true "zcache:$root/x"
    says "$none*there is a file */zcache:x*" --daemons $n --root "$root" -- touch zcache:x
done
says "$none*though the command names one*" --daemons 0 -- true zcache:x # that file is an old one
