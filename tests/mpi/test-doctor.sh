#!/usr/bin/env bash
# zcache doctor: no problem here; and what it says, with its exit status, where there is one.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
needs_plugin "whether the plugin loads"

make_root
cd "$tmp" || exit 99
unset ROMIO_FSTYPE_FORCE ZCACHE_PATHS ZCACHE_DAEMONS LD_PRELOAD SLURM_JOB_ID
export XDG_RUNTIME_DIR=$tmp
cc=${CC:-cc}

# doctor STATUS OPTION ...: its exit status; what it says is in said.
doctor() {
    local wanted=$1 status

    shift
    "$zcache" doctor --root "$root" "$@" >said 2>&1 </dev/null
    status=$?
    ((status == wanted)) || fail "doctor $*: status $status: $(<said)"
}
# says STATUS CHECK PATTERN
says() {
    grep -qE "^$1 +$2 +.*$3" said || fail "no \"$1 $2 $3\": $(<said)"
}

# ---- nothing is wrong -----------------------------------------------------------------
if [[ ! $sanitizer ]]; then
    doctor 0 "$programs/t_both"
    says ok versions "zcache, zcached and zcachectl are"
    says ok "MPI library" "t_both: /.*/libmpi"
    says ok "a file" "opened, written, read and closed by the plugin, under .*MPI"
    says ok "file system" "$root is on"
    says ok "a daemon" "starts in [0-9]+ ms, by tcp;ofi_rxm"
    says ok daemons "none are named"
    says ok memory "the least limit is [0-9.]* [MGT]iB \(.*\); a daemon takes [0-9]*M"
fi
[[ -z $(ls -A root) ]] || fail "left behind: $(ls -A root)"
[[ -z $(ls -d "$tmp"/tmp.* 2>/dev/null) ]] || fail "left behind: $(ls "$tmp")"

# ---- the program ----------------------------------------------------------------------
echo 'int MPI_Init(int *n, char ***v) { return !n && !v; }' >mpi.c
echo 'int MPI_Init(int *, char ***); int main(void) { return MPI_Init(0, 0); }' >main.c
for name in libmpi.so.40 libmpi_abi.so.0; do
    "$cc" -shared -fPIC -Wl,-soname,$name -o $name mpi.c &&
        "$cc" -o "with-$name" main.c "$tmp/$name" -Wl,-rpath,"$tmp" || exit 99
done
# What only has the name of an MPI library opens no file.
doctor 1 ./with-libmpi.so.40
if [[ -e ${plugin%.so}-openmpi.so ]]; then
    says ok "MPI library" "with-.*: /.*/libmpi.so.40, Open MPI, for which /.*/libzcache-openmpi.so is"
    says ok plugin "/.*/libzcache-openmpi.so can be preloaded"
    says problem "a file" "cannot be used through the plugin: .* no such function"
else
    says problem "MPI library" "with-.*: .*, Open MPI, for which this build has no plugin"
fi
doctor 1 ./with-libmpi_abi.so.0
if [[ -e ${plugin%.so}-abi.so ]]; then
    says ok "MPI library" "with-.*: /.*/libmpi_abi.so.0, MPI-5's .*/libzcache-abi.so is"
    says problem "a file" "cannot be used through the plugin: .* no such function"
else
    says problem "MPI library" "with-.*: .*, MPI-5's standard .*, for which this build has no plugin"
fi
doctor 1 true
says problem "MPI library" "true is linked with no shared MPI library"
doctor 1 ./not-there
says problem "MPI library" "no such command"

# ---- what is around it ------------------------------------------------------------------
ZCACHE_PATHS=scratch LD_PRELOAD='' ROMIO_FSTYPE_FORCE=ufs: ZCACHE_DAEMONS=$tmp/none.addr doctor 1
says problem environment 'ZCACHE_PATHS: "scratch" is no absolute path'
says problem environment "ROMIO_FSTYPE_FORCE=ufs:"
says problem daemons "no address file $tmp/none.addr"
doctor 1 --provider nonsense
says problem "a daemon" 'does not start, .*nonsense'
doctor 1 --root "$tmp/nowhere"
says problem "file system" "there is no directory $tmp/nowhere"

# ---- a host and an installation with much against them ------------------------------------
# tool NAME TEXT: a command that comes before the system's.
mkdir bin
tool() {
    printf '#!/bin/sh\n%s\n' "$2" >"bin/$1"
    chmod +x "bin/$1"
}
# A tree with a tool of another release and what is no plugin.
mkdir -p tree/iod tree/adio_zcache/.libs
cp "$build/zcache" tree
ln -s "$build/iod/launch" "$build/iod/zcached" tree/iod
printf '#!/bin/sh\necho "zcachectl 0.0.1"\n' >tree/iod/zcachectl
chmod +x tree/iod/zcachectl
echo nothing >tree/adio_zcache/.libs/libzcache.so
"$cc" -shared -fPIC -o libzcache-x.so mpi.c || exit 99
tool munge 'echo "munge: no socket" >&2; exit 6'
tool unmunge 'cat >/dev/null; exit 6'
tool df 'echo Avail; echo 2048'
(
    ulimit -S -n 256 -l 64
    zcache=$tmp/tree/zcache PATH=$tmp/bin:$PATH LD_PRELOAD=$tmp/libzcache-x.so:/no/such.so \
        APPTAINER_CONTAINER=image doctor 1 --root /proc --provider verbs
)
says problem versions "zcachectl says: zcachectl 0.0.1"
says problem plugin "/.*/tree/.*/libzcache.so cannot be preloaded: .*ld.so"
says problem environment "LD_PRELOAD names $tmp/libzcache-x.so, another plugin than /"
says problem environment "LD_PRELOAD names /no/such.so, which is not there"
says problem "file system" "/proc \(proc\) cannot be written"
says problem "a daemon" "does not start, .*verbs"
says note identity "uid .*; MUNGE does not work: munge: no socket"
says note "shared memory" "/dev/shm has 2 MiB free"
says note "locked memory" "64 KiB \(ulimit -l\), and verbs registers memory"
says note descriptors "256 \(ulimit -n\)"
says note container "apptainer: "
remedies=$(grep -c ' do: ' said)
((remedies == $(grep -cE '^(problem|note) ' said))) || fail "$remedies remedies: $(<said)"
rm tree/adio_zcache/.libs/libzcache.so
tool munge 'echo MUNGE'
tool unmunge 'cat >/dev/null'
zcache=$tmp/tree/zcache PATH=$tmp/bin:$PATH doctor 1
says problem plugin "there is no /.*/tree/.*/libzcache.so"
says ok identity "uid .*; MUNGE works"

# ---- JSON, and a daemon that runs ---------------------------------------------------------
"$zcache" start --root "$root" || fail "start"
cleanup_fn "'$zcache' stop >/dev/null 2>&1"
# shellcheck disable=SC1003 # a quote and a backslash
ROMIO_FSTYPE_FORCE='"\' doctor 1 --json
if command -v python3 >/dev/null; then
    python3 - said <<'END' || fail "JSON: $(<said)"
import json, sys
d = json.load(open(sys.argv[1]))
assert d["problems"] == sum(c["status"] == "problem" for c in d["checks"]) > 0
by = {c["check"]: c for c in d["checks"]}
assert 'ROMIO_FSTYPE_FORCE="\\:' in by["environment"]["text"] and by["environment"]["remedy"]
assert by["daemons"]["status"] == "ok" and "all answer" in by["daemons"]["text"]
END
fi
"$zcache" stop || fail "stop"
expect 2 "zcache: doctor has no use for --daemons*" "$zcache" doctor --daemons 2
expect 2 "zcache: doctor: unexpected argument \"b\"*" "$zcache" doctor a b
expect 2 "zcache: run has no use for --json*" "$zcache" run --json true
