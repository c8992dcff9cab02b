#!/usr/bin/env bash
# However long its path, an error names the file, the bytes, the cause and the daemon: MPICH shows
# 239 bytes of what it is given.  And settings may be long, too.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

# says RANKS FILE WORDS CLASS TEXT ...
says() {
    mpi_quiet "$1" "$programs/t_open" "zcache:$2" "${@:3}" || fail "$n daemons, $1 ranks: $3"
}

requires test -e "$faultshim"
make_root
deep=$root
for name in a_first b_second c_third d_fourth; do
    deep+=/${name}_directory_with_a_long_name_of_its_own
done
mkdir -p "$deep"
name=n_$(printf 'ame%.0s' {1..80}) # one that does not fit itself
export FAULTSHIM_UNDER=$root FAULTSHIM_SWITCH=$tmp/switch
preload=$faultshim:$preload daemon_preload=$faultshim
touch "$tmp/switch"
for n in 0 1; do
    start_daemons "$n"
    who=()
    ((n == 0)) || who=("zcached on " "(pid ${daemon_pids[0]})")
    for ranks in 1 2; do
        says "$ranks" "$deep/absent.7" rdonly MPI_ERR_NO_SUCH_FILE \
            "cannot open $tmp" /.../absent.7: \
            "No such file or directory" "${who[@]}"
        says "$ranks" "$deep/$name" rdonly MPI_ERR_NO_SUCH_FILE "cannot open /" "ameame: " \
            "No such file or directory" "${who[@]}"
        echo EIO >"$tmp/switch"
        says "$ranks" "$deep/file.7" rdwr,create,write,sync MPI_ERR_IO "cannot write" /.../file.7: \
            "write of " "/.../file.7, " " bytes " "Input/output error" "${who[@]}"
        : >"$tmp/switch"
        rm -f "$deep/file.7"
    done
    stop_daemons || fail "$n daemons: not drained"
done

# Settings that are longer than the message in which they go to all ranks: each of these owns
# blocks, and finds both daemons, by address files with paths of some 4000 bytes.
start_daemons 2
long=$tmp
while ((${#long} < 3800)); do long+=/$(printf 'd%.0s' {1..200}); done
mkdir -p "$long" && cp -p "$tmp/0.addr" "$tmp/1.addr" "$long" || fail "no directory with a long path"
printf 'cb_nodes 3\ncb_config_list *:*\n' >"$tmp/hints"
ROMIO_HINTS=$tmp/hints ZCACHE_DAEMONS=$long/0.addr,$long/1.addr \
    mpi_quiet 3 "$programs/t_open" "zcache:$root/long" rdwr,create,write,sync MPI_SUCCESS ||
    fail "a long list of daemons"
stop_daemons || fail "a long list of daemons: not drained"
[[ -s $root/long ]] || fail "a long list of daemons: nothing is written"
