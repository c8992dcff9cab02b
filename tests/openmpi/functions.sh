# functions.sh - the Open MPI of the tests.  Sourced by bash; OPENMPI_PREFIX says where it is.
# shellcheck shell=bash

# flags_of COMPILER: all on one line; one call for both does not do with Open MPI 5.
flags_of() {
    local compile link

    compile=$("$1" --showme:compile 2>/dev/null) && link=$("$1" --showme:link 2>/dev/null) &&
        echo "$compile $link"
}

# use_openmpi: sets $openmpi_exec, its mpiexec; $openmpi_compile, the flags for programs;
# $openmpi_fortran, those for programs in Fortran; and what it needs in the environment.  Fails
# where it is not there.
use_openmpi() {
    local p=${OPENMPI_PREFIX:-} lib each

    # The messages of more ranks than cores: through shared memory, and waiting ranks yield.
    export OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_pml=ob1 OMPI_MCA_btl=${OMPI_MCA_btl:-self,vader}
    # Where Open MPI is moved it does not find the texts of a message about compression.
    export PMIX_MCA_pcompress_base_silence_warning=1
    if [[ -z $p ]]; then
        openmpi_exec=$(type -P mpiexec.openmpi) || return 1
        openmpi_compile=$(flags_of mpicc.openmpi) || return 1
        openmpi_fortran=$(flags_of mpifort.openmpi)
        return
    fi
    for each in "$p"/usr/lib/*/openmpi/lib "$p"/lib/*/openmpi/lib "$p"/lib; do
        [[ -e $each/libmpi.so ]] || continue
        lib=$each
        break
    done
    [[ ${lib:-} ]] || return 1
    case $lib in
    */openmpi/lib) # of Debian
        export OPAL_PREFIX=${lib%/lib/*/openmpi/lib} OPAL_LIBDIR=$lib
        export LD_LIBRARY_PATH=${lib%/openmpi/lib}:$lib:${lib%/openmpi/lib}/pmix2/lib
        openmpi_exec=$OPAL_PREFIX/bin/orterun
        openmpi_compile="-I${lib%/lib}/include"
        for each in "$OPAL_PREFIX"/lib/*/fortran/gfortran-mod-*/openmpi; do
            openmpi_fortran="-I$each -lmpi_usempif08 -lmpi_usempi_ignore_tkr -lmpi_mpifh"
        done
        PATH=$OPAL_PREFIX/bin:$PATH
        ;;
    *)
        export OPAL_PREFIX=$p LD_LIBRARY_PATH=$lib
        openmpi_exec=$p/bin/mpiexec
        openmpi_compile="-I$p/include"
        openmpi_fortran="-I$p/include -I$p/lib -lmpi_usempif08 -lmpi_usempi_ignore_tkr -lmpi_mpifh"
        ;;
    esac
    each="-L$lib -lmpi -Wl,-rpath-link,$lib:${lib%/openmpi/lib}"
    openmpi_compile+=" $each"
    openmpi_fortran="-L$lib $openmpi_fortran $each"
    [[ -x $openmpi_exec ]]
}
