#!/usr/bin/env bash
# zcache run does what the command alone does: signals reach the command, closed descriptors, shell
# options and a useless XDG_RUNTIME_DIR of the user change nothing.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
run=("$zcache" run --no-preload --cache-size 16M --root root)

# ---- signals ----
# The job tells which it gets, and ends after one that its parent has not to do with.
cat >job <<'END'
for signal in USR1 USR2 QUIT ALRM WINCH CONT 34 64; do
    trap "echo $signal >>got" $signal
done
trap 'exit 7' TERM
echo $$ >pid
while :; do sleep 0.05; done
END
got() { grep -qsx "$1" got; }
state_of() { sed -n 's/^State:.\(.\).*/\1/p' "/proc/$1/status"; }
in_state() { [[ $(state_of "$1") == ["$2"] ]]; }

# In a process group of its own, which SIGTSTP stops only where another one of the session is above.
set -m
"${run[@]}" --state "$tmp/state" bash job 2>err &
pid=$!
set +m
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
job=$(<pid)
for signal in USR1 USR2 QUIT ALRM WINCH CONT 34 64; do
    kill -"$signal" "$pid"
    wait_for 60 got "$signal" || fail "signal $signal does not reach the job: $(cat got err)"
done
kill -TSTP "$pid"
wait_for 60 in_state "$pid" T || fail "SIGTSTP: zcache is $(state_of "$pid")"
wait_for 60 in_state "$job" T || fail "SIGTSTP: the job is $(state_of "$job")"
rm -f got
kill -CONT "$pid"
wait_for 60 got CONT || fail "SIGCONT does not reach the job: $(cat err)"
wait_for 60 in_state "$pid" RSD || fail "SIGCONT: zcache is $(state_of "$pid")"
kill -USR1 "$pid"
wait_for 60 got USR1 || fail "nothing reaches the job after it was stopped"
kill -TERM "$pid"
wait "$pid"
status=$?
((status == 7)) || fail "status $status, not the job's: $(cat err)"
[[ ! -s err ]] || fail "said: $(cat err)"

# One that the command does not expect ends it, as without zcache; the launcher tells its status.
rm -f pid
"${run[@]}" sh -c 'echo $$ >pid; exec sleep 60' 2>err &
pid=$!
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 test -s pid || fail "the job did not start: $(cat err)"
kill -USR1 "$pid"
wait "$pid"
status=$?
((status == 128 + 10)) || fail "status $status, not that of SIGUSR1: $(cat err)"

# One that comes in the moment in which the launcher knows the process of the command, or before.
# shellcheck disable=SC2034 # what supervise() wants
supervised() (
    . "$top_srcdir/iod/launch/job.sh"
    own_options=() count=0 aggregators=0 work=$tmp paths='' trace='' summary=0 preload=''
    early=$1
    exec {hold}</dev/null {in}<&0 {out}>&1 {err}>&2
    pnetcdf_hints() { :; }
    echo() {
        [[ ! $early || $1 != command* ]] || kill -TERM "$BASHPID"
        builtin echo "$@"
        sleep 0.3
    }
    supervise sleep 60
)
exec {report}< <(supervised "")
read -r word pid <&"$report"
[[ $word == command ]] || fail "supervise: $word $pid"
kill -USR1 "$pid"
read -r status <&"$report"
[[ $status == "status $((128 + 10))" ]] || fail "SIGUSR1 as the command starts: $status"
exec {report}< <(supervised early)
read -r status <&"$report"
[[ $status == "status $((128 + 15))" ]] || fail "SIGTERM before the command starts: $status"

# One that dies before it has told its number: what it tells is no process.  After its end signals
# are not forwarded; an interrupt is answered when what is left is written back, SIGHUP is ignored.
(
    . "$top_srcdir/iod/launch/job.sh"
    # shellcheck disable=SC2034 # what run_job() wants
    preload_plugin=0 early=(USR1)
    supervise() { echo "status 9"; }
    kill() { fail "signals are sent: kill $*"; }
    run_job true
    status=$?
    ((status == 9)) || fail "run_job: status $status"
    pass_on USR2
    on_signal HUP
    ((interrupts == 0)) || fail "SIGHUP is an interrupt after the command"
    on_signal TERM
    on_signal INT
    ((interrupts == 1)) || fail "$interrupts interrupts before the writing back"
) || fail "a command that dies at once: status $?"

# ---- closed descriptors ----
"${run[@]}" sh -c 'echo ran' >out 2>&1 <&- || fail "standard input is closed: $(cat out)"
[[ $(<out) == ran ]] || fail "standard input is closed: $(cat out)"
rm -f ran
"${run[@]}" sh -c ': >ran' <&- >&- 2>&- || fail "all is closed: status $?"
[[ -e ran ]] || fail "all is closed: the command was not run"

# ---- the shell of the user ----
# shellcheck disable=SC2016
own='[[ -o noclobber && -o nounset ]] && shopt -q failglob && helper && cd elsewhere &&
    [[ $PWD == */root/elsewhere ]]'
mkdir root/elsewhere
helper() { true; }
export -f helper
env SHELLOPTS=noclobber:nounset BASHOPTS=failglob CDPATH="$tmp/root" IFS=x \
    "${run[@]}" bash -c "$own" >out 2>&1 || fail "options of the shell: status $?: $(cat out)"
POSIXLY_CORRECT=y "${run[@]}" sh -c 'echo "$POSIXLY_CORRECT"' >out 2>&1 <&- ||
    fail "POSIXLY_CORRECT, and standard input is closed: status $?: $(cat out)"
[[ $(<out) == y ]] || fail "POSIXLY_CORRECT is not the job's: $(cat out)"
echo 'exit 5' >startup
BASH_ENV=$tmp/startup expect 5 "" sh -c 'exec bash -c true' # what it does
# shellcheck disable=SC2016
expect 0 "nounset is off" "${run[@]}" bash -c '[[ -o nounset ]] || echo nounset is off'

# ---- a runtime directory that is none ----
mkdir a,b closed
chmod 555 closed
dirs=("$tmp/nowhere" "$tmp/a,b" relative /dev/null)
((EUID == 0)) || dirs+=("$tmp/closed")
if ((EUID == 0)); then
    mkdir theirs
    chown nobody theirs
    dirs+=("$tmp/theirs")
fi
for dir in "${dirs[@]}"; do
    # shellcheck disable=SC2016
    XDG_RUNTIME_DIR=$dir expect 0 "/tmp/zcache-*serving*" \
        "${run[@]}" sh -c 'echo "$ZCACHE_DAEMONS"; "$0" --daemons "$ZCACHE_DAEMONS" status' "$zcachectl"
done
