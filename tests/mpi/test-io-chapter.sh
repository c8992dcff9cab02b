#!/usr/bin/env bash
# doc/io-chapter.md says what t_io_chapter prints: of ROMIO and OMPIO in the releases that it names,
# and of zcache under MPICH and, where the plugin for it is built, under Open MPI.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "both kinds of files"

here=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")" && pwd)
table=$here/../../doc/io-chapter.md
openmpi=$here/../openmpi
make_root
cd "$tmp" || exit 99

# cells COLUMN: "row NAME yes" and the like, as the document has them.
cells() {
    awk -F ' *[|] *' -v column="$1" '$2 ~ /^`/ { gsub("`", "", $2); print "row", $2, $column }' \
        "$table"
}

# compare NAME COLUMN COMMAND ...: what the command, with rows to leave out, prints.
compare() {
    local hanging

    cells "$2" >wanted
    [[ $(wc -l <wanted) -gt 50 ]] || fail "few rows in $table"
    hanging=$(sed -n 's/^row \(.*\) hangs$/-\1/p' wanted)
    stretch "$mpi_timeout"
    # shellcheck disable=SC2086
    timeout -k 5 "$stretched" "${@:3}" $hanging >said 2>&1 </dev/null ||
        fail "$1: status $?: $(<said)"
    grep '^row ' said | sed 's/^\(row [^ ]* [a-z]*\).*/\1/' >rows
    grep -v ' hangs$' wanted | diff - rows >differ ||
        fail "$1 is not as in the document: $(<differ)
$(grep -v ' yes$' said)"
}

# Under Open MPI by what run-openmpi uses.
under_openmpi() {
    local library=$build/adio_zcache/.libs/libzcache-openmpi.so version

    export OPENMPI_PREFIX=${OPENMPI_PREFIX-$(sed -n 's/^OPENMPI_PREFIX = *//p' \
        "$build/tests/Makefile")}
    [[ -e $library ]] ||
        { echo "skipped: Open MPI: no libzcache-openmpi.so in this build"; return; }
    "$openmpi/mpicc" -w -D_GNU_SOURCE -o t_openmpi "$here/t_io_chapter.c" >out 2>&1 ||
        { echo "skipped: Open MPI: no programs are made: $(head -n 1 out)"; return; }
    mkdir orte
    export OMPI_MCA_orte_tmpdir_base=$tmp/orte
    compare "zcache under Open MPI" 6 "$openmpi/mpiexec" -n 2 -genv LD_PRELOAD "$library" \
        ./t_openmpi "zcache:$root/f"
    version=$("$openmpi/mpiexec" --version 2>&1 | sed -n 's/.*(Open.*) //p')
    if [[ $version == 4.1.4 ]]; then
        compare OMPIO 5 "$openmpi/mpiexec" -n 2 ./t_openmpi "$root/f"
    else
        echo "skipped: OMPIO: of Open MPI $version, not 4.1.4"
    fi
}

compare "zcache under MPICH" 6 "$mpiexec" -n 2 -genv LD_PRELOAD "$sanitizer$preload" \
    "$programs/t_io_chapter" "zcache:$root/f"
version=$("$mpiexec" --version 2>&1 | sed -n 's/^ *Version: *//p')
if [[ $version == 4.0.2 && -z ${OTHER_MPI:-} ]]; then
    compare ROMIO 4 "$mpiexec" -n 2 "$programs/t_io_chapter" "ufs:$root/f"
else
    echo "skipped: ROMIO: of MPICH ${version:-unknown}, not 4.0.2"
fi
if [[ -n $sanitizer ]]; then echo "skipped: Open MPI: a sanitizer"; else under_openmpi; fi
[[ -z $(ls "$root") ]] || fail "left behind: $(ls "$root")"
