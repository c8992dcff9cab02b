# shellcheck shell=bash
# doctor.sh - "zcache doctor": whether programs can use zcache here, and why not.
#
# A part of the launcher, iod/zcache.in. Each check prints one finding: "ok"; "note", which may
# matter; "problem", with its cause and a remedy. Nothing is changed: what is tried is a file and a
# daemon in a temporary directory, or a file below --root, which are removed again.

findings=() # STATUS, NAME, TEXT, REMEDY, in turn
problems=0
scratch=    # the temporary directory

finding() { # STATUS NAME TEXT [REMEDY]
    [[ $1 != problem ]] || problems=$((problems + 1))
    findings+=("$1" "$2" "$3" "${4-}")
}

# The first line of a file that says something.
cause_in() { grep -m 1 . "$1" 2>/dev/null || echo "no word about it"; }

# ---- what is installed --------------------------------------------------------------------
check_versions() {
    local tool version bad=0

    for tool in "$zcached" "$zcachectl"; do
        version=$("$tool" --version 2>&1 | head -n 1)
        [[ " $version," == *" $release,"* ]] && continue
        finding problem versions "zcache is $release, $tool says: $version" \
            "install all parts of one release"
        bad=1
    done
    ((bad)) || finding ok versions "zcache, zcached and zcachectl are $release"
}

check_plugin() {
    local text

    if ((!preload_plugin)); then
        finding note plugin "not to be preloaded (--no-preload, or built with --disable-plugin)"
    elif [[ ! -e $library ]]; then
        finding problem plugin "there is no $library" "build or install it: doc/install.md"
    elif ! text=$(LD_PRELOAD=$library /bin/true 2>&1) || [[ -n $text ]]; then
        finding problem plugin "$library cannot be preloaded: ${text%%$'\n'*}" \
            "a path without blanks and colons; the plugin of this system"
    else
        finding ok plugin "$library can be preloaded"
        return 0
    fi
    return 1
}

# ---- the MPI library ----------------------------------------------------------------------
# Those of this system, for the case that no program is named.
libraries_here() {
    local dir

    dir=$(type -P mpiexec) && dir=$(dirname -- "$(readlink -f -- "$dir")")/../lib &&
        ls "$dir"/libmpi{,ch}.so.12 2>/dev/null
    { ldconfig -p || /sbin/ldconfig -p; } 2>/dev/null |
        sed -n 's/.*=> \(.*\/libmpi[a-z_]*\.so\..*\)/\1/p'
}

# How texts name the MPI libraries of a flavour.
interface_of() { # FLAVOUR
    case $1 in
    mpich) echo "MPICH's interface" ;;
    openmpi) echo "Open MPI" ;;
    abi) echo "MPI-5's standard binary interface" ;;
    esac
}

# The first of those files, one in a line, that is an MPI library of this flavour.
library_among() { # FLAVOUR
    local file

    while read -r file; do
        [[ ${file##*/} != libopen-pal.so.* ]] || continue
        if [[ $(flavour_among <<<"$file") == "$1" ]]; then
            echo "$file"
            return
        fi
    done
}

mpi_library= # its file
mpi_door=    # its flavour
# Sets them, and library to the plugin that is for it.
find_mpi() { # [PROGRAM]
    local what=${1:-this system} list

    if (($#)); then list=$(libraries_of "$1"); else list=$(libraries_here); fi
    mpi_door=$(flavour_among <<<"$list")
    if [[ -z $mpi_door ]]; then
        if (($#)); then
            finding problem "MPI library" "$1 is linked with no shared MPI library: $(cause_in \
                "$scratch/err")" \
                "name the program itself; one that has MPI inside cannot use a plugin"
        else
            finding note "MPI library" "none is found" "name a program: zcache doctor PROGRAM"
        fi
        return
    fi
    mpi_library=$(library_among "$mpi_door" <<<"$list")
    what+=": ${mpi_library:+$mpi_library, }$(interface_of "$mpi_door")"
    if [[ $mpi_door != mpich && ! -e $(plugin_of "$mpi_door") ]]; then
        finding problem "MPI library" "$what, for which this build has no plugin" \
            "configure it with the headers of that MPI library (doc/install.md)"
        mpi_library=
        return
    fi
    library=$(plugin_of "$mpi_door")
    finding ok "MPI library" "$what, for which $library is"
}

# Opens a file with the plugin before that library, writes, reads, closes, removes it.
check_open() {
    local status text program=$probe

    [[ $mpi_door == mpich ]] || program=$probe-$mpi_door
    [[ -x $program ]] || return 0
    env -u ZCACHE_DAEMONS -u ROMIO_FSTYPE_FORCE LD_PRELOAD="$library" timeout 60 \
        "$program" "$mpi_library" "zcache:$scratch/file" >"$scratch/out" 2>"$scratch/err" </dev/null
    status=$?
    text=$(cause_in "$scratch/out")
    if ((status == 0)); then
        finding ok "a file" "opened, written, read and closed by the plugin, under $text"
    else
        ((status != 124)) || echo "not done within 60 s" >"$scratch/err"
        finding problem "a file" "cannot be used through the plugin: $(cause_in "$scratch/err")" \
            "see doc/operations.md for what it says; ZCACHE_LOG=debug says more"
    fi
}

# ---- the environment ------------------------------------------------------------------------
check_environment() { # LD_PRELOAD
    local each list before=$problems

    IFS=': ' read -ra list <<<"$1"
    for each in "${list[@]}"; do
        [[ $each != */* || -e $each ]] ||
            finding problem environment "LD_PRELOAD names $each, which is not there" \
                "unset it, or eval \"\$(zcache env)\" again"
        [[ ${each##*/} != libzcache*.so || ! -e $each || $each -ef $library ]] ||
            finding problem environment "LD_PRELOAD names $each, another plugin than $library" \
                "unset it: zcache run and zcache env name the right one"
    done
    IFS=: read -ra list <<<"${ZCACHE_PATHS:-}"
    for each in "${list[@]}"; do
        [[ -z $each || $each == /* ]] ||
            finding problem environment "ZCACHE_PATHS: \"$each\" is no absolute path" \
                "absolute paths with colons between"
    done
    each=${ROMIO_FSTYPE_FORCE-zcache:}
    [[ ${each,,} == zcache:* ]] ||
        finding problem environment "ROMIO_FSTYPE_FORCE=$each: no file is zcache's" "unset it"
    ((problems > before)) || finding ok environment "nothing in it is against zcache"
}

# ---- files, daemons --------------------------------------------------------------------------
check_files() {
    local dir=$1 type file locks=no

    if [[ ! -d $dir ]]; then
        finding problem "file system" "there is no directory $dir" "--root DIR names another"
        return
    fi
    type=$(stat -f -c %T -- "$dir" 2>/dev/null || echo unknown)
    if ! file=$(mktemp "$dir/.zcache-doctor.XXXXXX" 2>/dev/null); then
        finding problem "file system" "$dir ($type) cannot be written" \
            "permissions, free space, or another --root"
        return
    fi
    ! flock -n "$file" true 2>/dev/null || locks=yes
    rm -f -- "$file"
    finding ok "file system" "$dir is on $type, can be written, $(df -h --output=avail -- "$dir" |
        tail -n 1 | tr -d ' ') free, locks by flock: $locks"
}

# A daemon that other hosts could reach: that is what takes libfabric.
check_provider() {
    local began=${EPOCHREALTIME/[.,]/} pid took

    env -u LD_PRELOAD -u ZCACHE_LOG_FILE "$zcached" "${daemon_options[@]}" --log info \
        --root "$scratch" --listen "${interface:-fabric}" --address-file "$scratch/addr" \
        --log-file "$scratch/log" --daemonize=false >"$scratch/err" 2>&1 </dev/null &
    pid=$!
    while [[ ! -e $scratch/addr ]] && kill -0 "$pid" 2>/dev/null; do
        ((${EPOCHREALTIME/[.,]/} - began < start_time * 1000000)) || break
        sleep 0.02
    done
    took=$(((${EPOCHREALTIME/[.,]/} - began) / 1000))
    if [[ -e $scratch/addr ]]; then
        finding ok "a daemon" "starts in $took ms, by $(provider_name)"
    else
        cat "$scratch/log" >>"$scratch/err" 2>/dev/null
        finding problem "a daemon" "does not start, after $took ms: $(cause_in "$scratch/err")" \
            "as it says; another --provider or --interface (fi_info lists them)"
    fi
    kill "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
}

provider_name() {
    local i

    for ((i = 0; i < ${#daemon_options[@]}; i++)); do
        [[ ${daemon_options[i]} != --provider ]] || { echo "${daemon_options[i + 1]}"; return; }
    done
    echo "tcp;ofi_rxm"
}

check_running() {
    local daemons=${ZCACHE_DAEMONS:-}

    [[ -n $daemons ]] || ! has_address_files || daemons=$state
    if [[ -z $daemons ]]; then
        finding ok daemons "none are named or started: programs run embedded, or by zcache run"
    elif "$zcachectl" --daemons "$daemons" --timeout 5s status >/dev/null 2>"$scratch/err"; then
        finding ok daemons "$daemons: all answer"
    else
        finding problem daemons "$daemons: $(cause_in "$scratch/err")" \
            "start them (zcache start), or unset ZCACHE_DAEMONS; doc/operations.md has what it says"
    fi
}

# ---- the host -----------------------------------------------------------------------------
check_identity() {
    if ! type -P munge >/dev/null; then
        finding ok identity "uid $(id -u); by the secrets of address files, without MUNGE"
    elif munge -n 2>"$scratch/err" | unmunge >/dev/null 2>&1; then
        finding ok identity "uid $(id -u); MUNGE works, for daemons of many users"
    else
        finding note identity "uid $(id -u); MUNGE does not work: $(cause_in "$scratch/err")" \
            "start munged, where daemons of many users are wanted"
    fi
}

# What the daemon that was tried has said of the limits on its memory.
least_limit() {
    sed -n 's/.* memory limit: the least is //p' "$scratch/log" 2>/dev/null | head -n 1
}

check_memory() {
    local free locked=$1 descriptors=$2 least

    least=$(least_limit)
    [[ -z $least ]] || finding ok memory "the least limit is ${least/cache size/a daemon takes}"

    free=$(df -k --output=avail /dev/shm 2>/dev/null | tail -n 1)
    if [[ ! -w /dev/shm ]]; then
        finding problem "shared memory" "/dev/shm cannot be written" \
            "mount it (docker: --shm-size); until then zcache_local=false"
    elif ((${free:-0} < 65536)); then
        finding note "shared memory" "/dev/shm has $((${free:-0} / 1024)) MiB free" \
            "64 MiB and more (docker: --shm-size)"
    else
        finding ok "shared memory" "/dev/shm has $((free / 1024)) MiB free"
    fi
    if [[ $locked != unlimited && $(provider_name) != tcp* && $(provider_name) != net* ]]; then
        finding note "locked memory" \
            "$locked KiB (ulimit -l), and $(provider_name) registers memory" \
            "unlimited in limits.conf, for daemons LimitMEMLOCK=infinity"
    else
        finding ok "locked memory" "$locked KiB (ulimit -l); $(provider_name) registers none"
    fi
    if [[ $descriptors != unlimited ]] && ((descriptors < 1024)); then
        finding note descriptors "$descriptors (ulimit -n)" "1024 and more"
    else
        finding ok descriptors "$descriptors (ulimit -n)"
    fi
}

check_container() {
    local kind=

    kind=$(systemd-detect-virt --container 2>/dev/null) && [[ $kind != none ]] || kind=
    [[ ! -e /.dockerenv ]] || kind=docker
    [[ ! -e /run/.containerenv ]] || kind=podman
    [[ -z ${APPTAINER_CONTAINER:-${SINGULARITY_CONTAINER:-}} ]] || kind=apptainer
    if [[ -n $kind ]]; then
        finding note container \
            "$kind: programs and daemons in different containers share no memory" \
            "start daemons where programs run, or have them listen (--interface)"
    else
        finding ok container "none"
    fi
}

# ---- what is printed ---------------------------------------------------------------------
json_text() {
    local s=${1//\\/\\\\}

    s=${s//\"/\\\"}
    s=${s//[$'\x01'-$'\x1f']/ }
    printf '"%s"' "$s"
}

print_json() {
    local i comma=

    printf '{\n  "version": %s,\n  "problems": %d,\n  "checks": [' "$(json_text "$release")" \
        "$problems"
    for ((i = 0; i < ${#findings[@]}; i += 4)); do
        printf '%s\n    {"check": %s, "status": %s, "text": %s, "remedy": %s}' "$comma" \
            "$(json_text "${findings[i + 1]}")" "$(json_text "${findings[i]}")" \
            "$(json_text "${findings[i + 2]}")" "$(json_text "${findings[i + 3]}")"
        comma=,
    done
    printf '\n  ]\n}\n'
}

print_text() {
    local i

    for ((i = 0; i < ${#findings[@]}; i += 4)); do
        printf '%-8s %-14s %s\n' "${findings[i]}" "${findings[i + 1]}" "${findings[i + 2]}"
        [[ -z ${findings[i + 3]} ]] || printf '%-8s %-14s do: %s\n' '' '' "${findings[i + 3]}"
    done
}

do_doctor() {
    local plugin_loads=0 preloaded=${LD_PRELOAD:-}

    (($# <= 1)) || misuse "doctor: unexpected argument \"$2\""
    unset LD_PRELOAD # what the linker says of it would be taken for the words of each command
    scratch=$(mktemp -d) || die "cannot make a temporary directory"
    trap 'rm -rf -- "$scratch"' EXIT
    choose_state
    check_versions
    find_mpi "$@"
    ! check_plugin || plugin_loads=1
    if [[ -n $mpi_library ]] && ((plugin_loads)); then check_open; fi
    check_environment "$preloaded"
    check_files "$(absolute "$root")"
    check_provider
    check_running
    check_identity
    check_memory "$(ulimit -l)" "$(ulimit -n)"
    check_container
    if ((json)); then print_json; else print_text; fi
    ((problems == 0))
}
