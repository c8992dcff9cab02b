#!/usr/bin/env bash
# debian.sh [SUITE ...] - builds this tree in a Debian of each SUITE (trixie and bookworm, unless
# DEBIANS or arguments say others), and tests it there.
#
# Root makes the system with mmdebstrap, from the mirrors, the keys and the options that apt has on
# this machine, with the name of its own release replaced.  It is kept, with the packages that
# quickstart installs, in ~/.cache/zcache/debian/SUITE (ZCACHE_CACHE_DIR), and brought up to date
# each time; some 2 GB and ten minutes the first time.  A user of that system then runs, in a clean
# copy of this tree's files and without root: ./quickstart build, every warning an error, with the
# plugin for that release's Open MPI, which is installed so that mpicc is Open MPI's; ./quickstart,
# the demonstration; make check-fast, and the tests that DEBIAN_TESTS names on top.  All happens in
# namespaces of its own, and ends with this script.  JOBS is how many compilers run at a time (2).
# What was said: debian/SUITE.log in the build directory.
set -u -o pipefail
srcdir=$(cd "$(dirname -- "$0")/.." && pwd)
build=$(cd "${top_builddir:-$srcdir/build}" && pwd) || exit 2
cache=${ZCACHE_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/zcache}/debian
key=/usr/share/keyrings/debian-archive-keyring.gpg
jobs=${JOBS:-2}
tests=${DEBIAN_TESTS:-daemon/test-manual.sh docs/test-documents.sh mpi/test-fortran.sh
    mpi/test-openmpi.sh mpi/test-stats.sh mpi/test-trace.sh}
failed=0

say() { echo "debian: $*"; }
skip() { echo "skipped: $*"; exit 77; }

# ---- the system -------------------------------------------------------------------
# mirrors SUITE: sources.list of that release, as this machine has them for its own.
mirrors() {
    local own uri release part

    # shellcheck disable=SC1091
    own=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
    [[ $own && -e $key ]] || return 0
    # shellcheck disable=SC2016 # apt's
    apt-get indextargets --format '$(REPO_URI) $(RELEASE) $(COMPONENT)' 'Created-By: Packages' |
        while read -r uri release part; do
            case $release in
            "$own" | "$own-updates" | "$own-security")
                echo "deb [signed-by=$key] $uri ${release/#$own/$1} $part"
                echo "deb-src [signed-by=$key] $uri ${release/#$own/$1} $part"
                ;;
            esac
        done
}

# How apt gets there: proxies, and what else this machine was told.
apt_options() {
    apt-config dump --format '%F "%v";%n' |
        grep -E '^Acquire::((https?|ftp)::|Check-|Retries|ForceIPv)' || :
}

# make_system SUITE DIR
make_system() {
    local list=$2.list

    mirrors "$1" >"$list"
    [[ -s $list ]] || { echo "apt of this machine knows no mirror of Debian's $1"; return 1; }
    apt_options >"$2.apt"
    rm -rf -- "$2"
    mmdebstrap --variant=apt --include=passwd --mode=root --aptopt="$2.apt" "$1" "$2" "$list"
}

# within DIR USER COMMAND ...: there, with kernel file systems, until the command ends.
# shellcheck disable=SC2016 # its own variables
within() {
    unshare --mount --propagation private --pid --ipc --fork --kill-child bash -c '
        dir=$1 user=$2
        shift 2
        mount -t proc proc "$dir/proc" && mount --rbind /sys "$dir/sys" &&
            mount --rbind /dev "$dir/dev" && mount -t tmpfs -o mode=1777 shm "$dir/dev/shm" &&
            mount -t tmpfs -o mode=755 run "$dir/run" || exit 99
        # As systems have them.
        [[ -e $dir/etc/mtab ]] || ln -s ../proc/self/mounts "$dir/etc/mtab"
        [[ ! -e /dev/fuse ]] || [[ -e $dir/fuse ]] || mknod -m 666 "$dir/fuse" c 10 229 || exit 99
        [[ ! -e /dev/fuse ]] || mount --bind "$dir/fuse" "$dir/dev/fuse" || exit 99
        cat /etc/resolv.conf >"$dir/etc/resolv.conf"
        home=/root
        [[ $user == root ]] || home=/home/$user
        exec chroot "$dir" setpriv --reuid "$user" --regid "$user" --init-groups --reset-env \
            env --chdir="$home" HOME="$home" LC_ALL=C.UTF-8 \
            PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin "$@"' - "$@"
}

# ---- the tree ---------------------------------------------------------------------
# The files that git has, or would take, as they are now; without git all but build/.
copy_tree() { # DIR
    if [[ -e $srcdir/.git ]]; then
        git -C "$srcdir" ls-files -z --cached --others --exclude-standard
    else
        (cd "$srcdir" && find . -path ./build -prune -o -type f -print0)
    fi | tar -C "$srcdir" --null --files-from=- --ignore-failed-read -c | tar -x -C "$1"
}

# What root does in the system.
prepare='
    cd /home/builder/zcache
    id builder >/dev/null 2>&1 || useradd --create-home builder
    chown -R builder: /home/builder
    apt-get update -q
    apt-get -q -y dist-upgrade
    ./quickstart packages check
    apt-get install -q -y --no-install-recommends openmpi-bin libopenmpi-dev
    mpicc --showme:version' # fails where it is MPICH's

# settings DIR: config.site.  ROMIO is of the system's own MPICH; where a mirror has the packages
# alone and no source, that of this machine's MPICH has to do.
settings() {
    local home=$1/home/builder

    echo enable_werror=yes >"$home/config.site"
    within "$1" builder zcache/adio_zcache/plugin/source-fetch mpich && return
    [[ -e $home/romio ]] || "$srcdir/adio_zcache/plugin/romio-fetch" "$home/romio" || return
    echo "with_romio=/home/builder/romio" >>"$home/config.site"
    echo "Debian here has no source of MPICH: ROMIO is from the MPICH of this machine"
}

# And what a user does.
# shellcheck disable=SC2016 # its own variables
try='
    cd zcache
    . /etc/os-release
    version() { dpkg-query -W -f "\${Package} \${Version}, " "$@"; }
    echo "$PRETTY_NAME: $(version gcc mpich libfabric1 check) as $(id -un)"
    export CONFIG_SITE=$HOME/config.site JOBS=$1
    ./quickstart build && ./quickstart || exit 1
    make -C build -k -j "$1" check-fast || rc=1
    make -C build/tests -k -j "$1" check check_PROGRAMS="\$(mpi_tests) \$(tools)" TESTS="$2" || rc=1
    tests/summary build || rc=1
    exit ${rc:-0}'

# told FILE: of a log what is worth reading.
told() {
    grep -E '^Debian|verified|^(ufs|zcache): |^SKIP|^FAIL|^ERROR|^skipped|passed, .* failed' "$1" |
        sed 's/^/    /'
}

# one SUITE: 0 when all is well there.
one() {
    local suite=$1 dir=$cache/$1 log=$build/debian/$1.log at=$SECONDS

    mkdir -p -- "$cache" "$build/debian"
    exec 9>"$dir.lock"
    flock -n 9 || { say "waiting for another that uses $dir"; flock 9; }
    : >"$log"
    if [[ ! -e $dir.made ]]; then
        make_system "$suite" "$dir" >>"$log" 2>&1 || {
            tail -n 5 -- "$log"
            say "$suite: cannot be made; all that was said: $log"
            return 1
        }
        touch -- "$dir.made"
    fi
    rm -rf -- "$dir/home/builder/zcache"
    mkdir -p -- "$dir/home/builder/zcache"
    copy_tree "$dir/home/builder/zcache"
    if within "$dir" root bash -euc "$prepare" >>"$log" 2>&1 </dev/null &&
        settings "$dir" >>"$log" 2>&1 </dev/null &&
        within "$dir" builder bash -c "$try" - "$jobs" "$tests" >>"$log" 2>&1 </dev/null; then
        told "$log"
        say "$suite: good, in $((SECONDS - at)) s"
        rm -rf -- "$dir/home/builder/zcache"
        return 0
    fi
    told "$log"
    tail -n 25 -- "$log"
    say "$suite: FAILED after $((SECONDS - at)) s; $log, and what was built is in $dir/home/builder"
    return 1
}

(($(id -u) == 0)) || skip "needs root, for mmdebstrap and chroot"
for tool in apt-get mmdebstrap; do
    command -v $tool >/dev/null || skip "there is no $tool; on a Debian: apt-get install mmdebstrap"
done
unshare --mount --pid --fork true 2>/dev/null || skip "may not make namespaces"
suites=("$@")
(($#)) || read -ra suites <<<"${DEBIANS:-trixie bookworm}"
for suite in "${suites[@]}"; do
    (one "$suite") || failed=1
done
exit $failed
