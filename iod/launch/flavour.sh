# shellcheck shell=bash
# flavour.sh - which plugin a program needs: that for the MPI library it is linked with.
#
# A part of the launcher, iod/zcache.in. Names of libraries decide: libmpi.so.12 is MPICH's
# interface, libmpi.so.40 Open MPI's, libmpi_abi.so the standard one of MPI-5.

mpi_flavour= # --mpi

# The plugin for a flavour, beside the one for MPICH.
plugin_of() { # FLAVOUR
    case $1 in
    mpich) echo "${library%/*}/libzcache.so" ;;
    *) echo "${library%/*}/libzcache-$1.so" ;;
    esac
}

# The flavour of the first MPI library in a list of files, one in a line; nothing: there is none.
flavour_among() {
    local file

    while read -r file; do
        case ${file##*/} in
        libmpi.so.12* | libmpich.so.12*) echo mpich ;;
        libmpi_abi.so.*) echo abi ;;
        libmpi.so.[1-9]0* | libopen-pal.so.*) echo openmpi ;;
        *) continue ;;
        esac
        return
    done
}

# Where libraries_of says why it finds nothing.
why_not() { if [[ -n ${scratch:-} ]]; then echo "$scratch/err"; else echo /dev/null; fi; }

# Those of a Python program are in its memory when mpi4py or h5py is loaded.
python_libraries() { # PYTHON
    timeout 60 "$1" -c '
import sys
try:
    import mpi4py
    mpi4py.rc.initialize = False
    from mpi4py import MPI
except ImportError as e:
    try:
        import h5py
    except ImportError:
        sys.exit(str(e))
for line in open("/proc/self/maps"):
    print(line.split()[-1])' 2>"$(why_not)" | sort -u
}

# The interpreter in what follows "#!", which may be one of "/usr/bin/env [-S] [NAME=VALUE ...] X".
interpreter_of() { # LINE
    local words word

    read -ra words <<<"$1"
    word=${words[0]##*/}
    if [[ $word == env ]]; then
        for word in "${words[@]:1}"; do
            [[ $word != -* && $word != *=* ]] || continue
            echo "$word"
            return
        done
    fi
    echo "${words[0]}"
}

# The files that PROGRAM is linked with, one in a line; what is no ELF file is a script.
libraries_of() { # PROGRAM
    local file first

    file=$(type -P -- "$1") || { echo "no such command" >"$(why_not)"; return 1; }
    if [[ ${file##*/} == python* ]]; then
        python_libraries "$file"
        return
    fi
    read -r -N 4 first <"$file" 2>/dev/null
    if [[ $first == $'\x7fELF' ]]; then
        # A script of bash, which would take over the user's options.
        env -u SHELLOPTS -u BASHOPTS ldd "$file" 2>"$(why_not)" |
            sed -n 's/.*=> \(\/[^ ]*\).*/\1/p; s/^[[:space:]]*\([^ ]*\) => not found/\1/p'
    elif [[ $first == '#!'* ]]; then
        read -r first <"$file"
        first=${first#'#!'}
        if [[ $first != *python* ]]; then
            echo "a script: name what it runs" >"$(why_not)"
            return 1
        fi
        python_libraries "$(interpreter_of "$first")"
    else
        echo "no program and no script" >"$(why_not)"
        return 1
    fi
}

# Of the words of a command the first that is a program of MPI; launchers are not. Looked for only
# where there is a choice.
flavour_of_command() { # the command's words
    local word found

    for word; do
        [[ $word != -* ]] && type -P -- "$word" >/dev/null || continue
        found=$(libraries_of "$word" | flavour_among)
        if [[ -n $found ]]; then
            echo "$found"
            return
        fi
    done
}

# Sets library to the plugin that the command needs, or that --mpi names.
choose_plugin() { # the command's words
    local flavour=$mpi_flavour other

    for other in openmpi abi; do
        if [[ -z $flavour && -e $(plugin_of $other) ]]; then
            flavour=$(flavour_of_command "$@")
            : "${flavour:=mpich}"
        fi
    done
    [[ -z $flavour ]] || library=$(plugin_of "$flavour")
}
