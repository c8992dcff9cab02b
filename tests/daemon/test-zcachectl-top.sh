#!/usr/bin/env bash
# zcachectl top: its output on a terminal of any size and elsewhere; that it ends when told to and
# restores the terminal; daemons that go away, come back, hang.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
requires command -v python3

# Threads that wait for a silent daemon are left behind, on purpose.
export TSAN_OPTIONS=${TSAN_OPTIONS:-}:report_thread_leaks=0
make_tmp
cd "$tmp" || exit 99
mkdir root
for i in 0 1; do start_daemon $i --root root --cache-size 64M; done
export ZCACHE_DAEMONS=$tmp/0.addr,$tmp/1.addr TERM=xterm
unset NO_COLOR
head -c 3M /dev/zero >root/quiet
"$zcput" read 0.addr "$tmp/root/quiet" 3M >/dev/null || fail "cannot read"
mkfifo fifo
ZCPUT_PAUSE_MS=20 "$zcput" forever 0.addr "$tmp/root/busy" 8M <fifo >written 2>&1 &
writer=$!
cleanup_fn '[[ -z $writer ]] || kill -KILL $writer 2>/dev/null'
exec {hold}>fifo
is_written() {
    "$zcachectl" --json stats | jq -e '.daemons[0].stats.written_bytes > 0' >/dev/null
}
wait_for 60 is_written || fail "cannot write: $(cat written)"

# ---- output that is no terminal ----
within 60 "$zcachectl" top -n 2s -c 3 >out 2>err </dev/null || fail "status $?: $(cat err)"
[[ ! -s err ]] || fail "says $(cat err)"
grep -q $'\033' out && fail "escape sequences in a file"
[[ $(grep -c "zcachectl top, every 2s$" out) == 3 ]] || fail "not three pictures: $(cat out)"
# Blocks are separate; the first has no rates, later ones do, for the writer's daemon.
awk '
    /zcachectl top/ { n++; if (NR > 1 && last != "") bad = "no blank before " $0 }
    $1 == "0" && $2 == "serving" { rate[n] = $7; lines++ }
    $1 == "sum" && $2 == "2" && $4 == "2" { sums++ }
    $NF ~ /\/root\/busy$/ { busy[n] = NR }
    $NF ~ /\/root\/quiet$/ { if (!busy[n]) bad = "the quiet file is first" }
    { last = $0 }
    END {
        if (rate[1] != "-") bad = "a rate of nothing: " rate[1]
        if (rate[2] !~ /^[0-9.]+$/ || rate[3] !~ /^[0-9.]+$/) bad = "rates " rate[2] ", " rate[3]
        if (lines != 3 || sums != 3) bad = lines " lines, " sums " sums"
        if (bad) { print bad; exit 1 }
    }' out >why || fail "$(cat why): $(cat out)"
# Columns line up.
ends=$(grep -E '^(daemon|0|1|sum) ' out | tail -4 | awk '{ print length }' | sort -u)
[[ $ends =~ ^[0-9]+$ ]] || fail "does not line up: $ends: $(cat out)"

# Output for programs: one line per sample.
within 60 "$zcachectl" --json top -n 1s -c 4 >out || fail "status $?"
jq -es 'length == 4 and all(.command == "top" and (.daemons | length) == 2)' out >/dev/null ||
    fail "not four lines: $(cat out)"
jq -es '.[0].daemons[0].top.written_bytes_per_s == null and
    .[0].sum.cached_bytes >= 11 * 1048576 and
    any(.[].daemons[0].top; .written_bytes_per_s > 0 and .sessions >= 2) and
    all(.[].daemons[1].top; .written_bytes_per_s == 0 or .written_bytes_per_s == null) and
    all(.[]; .sum.written_bytes_per_s == .daemons[0].top.written_bytes_per_s) and
    .[3].files[0].path == $busy and (.[3].files | map(.path) | contains([$quiet]))' \
    --arg busy "$tmp/root/busy" --arg quiet "$tmp/root/quiet" out >/dev/null ||
    fail "figures: $(cat out)"

# The fraction of reads that were cached: all of a file that was read before, and no byte of a new
# one.
kill -KILL $writer
wait $writer 2>/dev/null
writer=
# hits FILE SIZE: of the first sample after it was read.
hits() {
    local ratio=null line

    rm -f steps && mkfifo steps
    within 60 "$zcachectl" --json --daemons 0.addr top -n 200ms >steps &
    exec {pictures}<steps
    read -r line <&$pictures
    "$zcput" read 0.addr "$tmp/root/$1" "$2" >/dev/null || fail "cannot read $1"
    while [[ $ratio == null ]] && read -r line; do ratio=$(jq .sum.hit_ratio <<<"$line"); done \
        <&$pictures
    exec {pictures}<&-
    wait $!
    echo "$ratio"
}
head -c 3M /dev/zero >root/new
ratio=$(hits quiet 3M)
[[ $ratio == 1 || $ratio == 1.0 ]] || fail "hits of what is there: $ratio"
ratio=$(hits new 512K)
[[ $ratio == 0 || $ratio == 0.0 ]] || fail "hits of what is not: $ratio"

# ---- on a terminal ----
# Runs a command on a terminal of its own: `out` is its output, lines of `keys` are inputs to it,
# `end` is how it ended, and whether the terminal was restored.
cat >screen.py <<'END'
import fcntl, os, pty, select, signal, struct, sys, termios

def resize(columns, lines):
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", int(lines), int(columns), 0, 0))

def tell(what):
    same = termios.tcgetattr(slave) == before
    with open("end", "a") as end:
        end.write(f"{what} {'restored' if same else 'not restored'}\n")

master, slave = pty.openpty()
resize(*sys.argv[1:3])
before = termios.tcgetattr(slave)
pid = os.fork()
if pid == 0:
    os.setsid()
    fcntl.ioctl(slave, termios.TIOCSCTTY, 0)
    for fd in 0, 1, 2:
        os.dup2(slave, fd)
    for s in signal.SIGINT, signal.SIGQUIT, signal.SIGTSTP:
        signal.signal(s, signal.SIG_DFL)
    os.execvp(sys.argv[3], sys.argv[3:])
out = open("out", "wb", buffering=0)
keys = os.open("keys", os.O_RDWR)
while True:
    ready = select.select([master, keys], [], [], 0.05)[0]
    if master in ready:
        out.write(os.read(master, 65536))
        continue
    if keys in ready:
        for line in os.read(keys, 4096).decode().splitlines():
            what, *rest = line.split()
            if what == "key":
                os.write(master, rest[0].encode().decode("unicode_escape").encode())
            elif what == "size":
                resize(*rest)
            else:
                os.kill(pid, getattr(signal, "SIG" + rest[0]))
    done, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED)
    if done and os.WIFSTOPPED(status):
        tell("stopped")
    elif done:
        while select.select([master], [], [], 0)[0]:
            out.write(os.read(master, 65536))
        tell(f"exit {os.WEXITSTATUS(status)}" if os.WIFEXITED(status)
             else f"signal {os.WTERMSIG(status)}")
        sys.exit(0)
END
# The last complete screen.
cat >frame.py <<'END'
import re

text = open("out", "rb").read().decode()
frames = re.findall(r"\x1b\[H(.*?)\x1b\[J", text, re.S)
if frames:
    print(re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", frames[-1]).replace("\r", ""))
END
frame() { python3 frame.py; }
shows() { frame | grep -qE -- "$1"; }
sees() { wait_for 60 shows "$1" || fail "$2 -- $(frame)"; }
terminal=
cleanup_fn '[[ -z $terminal ]] || kill $terminal 2>/dev/null'
run_top() { # COLUMNS LINES OPTION ...
    rm -f out end keys
    mkfifo keys
    touch out
    timeout 300 python3 screen.py "$1" "$2" "$zcachectl" --timeout 100s top -n 200ms "${@:3}" &
    terminal=$!
    exec {tell}<>keys
}
tell() { echo "$*" >&$tell; }
has_ended() { grep -qs "$1" end; }
ended() {
    wait_for 60 has_ended "exit\|signal" || fail "does not end: $(frame)"
    exec {tell}>&-
    wait $terminal
    terminal=
}
ends() { # HOW
    ended
    [[ $(tail -1 end) == "$1 restored" ]] || fail "ended as \"$(tail -1 end)\", not \"$1\""
    # The other screen is left for good, the cursor shown, with the last picture.
    python3 -c '
text = open("out", "rb").read().decode()
left = text.rfind("\x1b[?25h\x1b[?1049l")
assert text.find("\x1b[?1049h\x1b[?25l") >= 0 and left > text.rfind("\x1b[?1049h")
assert "zcachectl top" in text[left:]' || fail "the screen is not left: $(cat -v out)"
}

run_top 140 30
sees "^0  *serving " "no picture"
sees "^sum  *2 of 2 " "no sum"
grep -q $'\033\[1m' out || fail "no colours on a terminal"
# A narrow one: columns are dropped, lines cut, nothing wraps.
widest() { frame | awk '{ if (length > n) n = length } END { print n + 0 }'; }
tell size 60 30
fits() { (($(widest) <= $1)); }
wait_for 60 fits 60 || fail "too wide: $(frame)"
sees "^0  *serving .*B" "nothing left of daemon 0"
sees "/quiet$" "the end of a path is what tells"
tell size 20 5
wait_for 60 fits 20 || fail "too wide: $(frame)"
(($(frame | wc -l) <= 5)) || fail "too long: $(frame)"
tell size 1 1
wait_for 60 fits 1 || fail "too wide: $(frame)"
tell size 140 30
sees "^daemon .* lost$" "does not become wide again"
# Ctrl-Z and back.
tell key '\x1a'
wait_for 60 has_ended "^stopped restored" || fail "does not stop: $(cat end)"
pictures() { grep -ao 'zcachectl top' out | wc -l; }
more_than() { (($(pictures) > $1)); }
were=$(pictures)
tell signal CONT
wait_for 60 more_than $((were + 2)) || fail "does not go on"
tell key q
ends "exit 0"

NO_COLOR=1 run_top 140 30
sees "^0  *serving " "no picture"
tell key '\x03'
ends "exit 0"
grep -aq $'\033\[[0-9;]*m' out && fail "colours with NO_COLOR"

run_top 140 30
sees "^0  *serving " "no picture"
tell signal TERM
ends "signal 15"

run_top 140 30 -n 2s -c 2
ends "exit 0"

# A terminal without capabilities.
TERM=dumb run_top 140 30 -c 1
ended
has_ended "exit 0" || fail "ended as $(cat end) on a dumb terminal"
grep -q "^0  *serving " out || fail "no picture on a dumb terminal"
grep -q $'\033' out && fail "escape sequences on a dumb terminal"

# ---- daemons go away, come back, hang ----
run_top 140 30
sees "^sum  *2 of 2 " "no sum"
pid=${daemon_pids[1]}
stop_daemon 1 KILL
sees "^1  *no answer " "a daemon is gone"
sees "^1: process $pid is gone" "why is not said"
sees "^sum  *1 of 2 " "the sum has one that is gone"
sees "^0  *serving .* [0-9.]+ *[KMG]?i?B " "the other one is not shown"
start_daemon 1 --root root --cache-size 64M
sees "^1  *serving " "a daemon is back"
sees "^sum  *2 of 2 " "the sum misses the one that is back"
stop_daemon 1
sees "^1  *no answer " "a daemon has stopped"
start_daemon 1 --root root --cache-size 64M
sees "^sum  *2 of 2 " "a daemon is back"
# One hangs: the others go on, and the end does not wait for it.
kill -STOP "${daemon_pids[1]}"
cleanup_fn "kill -CONT ${daemon_pids[1]}"
sees "^1  *silent [0-9]+s " "a daemon stands still"
were=$(pictures)
wait_for 60 more_than $((were + 3)) || fail "one that stands still holds up all"
kill -CONT "${daemon_pids[1]}"
sees "^1  *serving " "it goes on"
kill -STOP "${daemon_pids[1]}"
sees "^1  *silent [0-9]+s " "a daemon stands still"
tell key q
ends "exit 1"
kill -CONT "${daemon_pids[1]}"

# A reader of the output that leaves, and a full device.
within 60 "$zcachectl" top -n 200ms | head -1 >out
[[ -s out ]] || fail "nothing for a reader that leaves"
expect 1 "zcachectl: cannot write: No space left on device" \
    bash -c 'timeout 60 "$1" top -n 200ms >/dev/full' - "$zcachectl"

expect 2 "zcachectl: --interval is for top; *" "$zcachectl" status -n 1
expect 2 "zcachectl: --count is for top; *" "$zcachectl" files -c 1
expect 2 "zcachectl: --interval: \"0\" is not allowed; *" "$zcachectl" top -n 0
expect 2 "zcachectl: --count: \"-1\" is not allowed; *" "$zcachectl" top -c -1
expect 1 "zcachectl: no address file nowhere*" "$zcachectl" --daemons nowhere top
