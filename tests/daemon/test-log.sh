#!/usr/bin/env bash
# What daemons and programs say, where, and how much of it.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root root --cache-size 16M)
origin="[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}\.[0-9]{3}[+-][0-9]{4} $(uname -n) zcached\[%s\]"
# says FILE PID LEVEL TEXT
says() {
    # shellcheck disable=SC2059 # the format
    grep -qE "^$(printf "$origin" "$2") $3: $4" "$1"
}

# Each line has time, host, process and level.
expect 2 "*--log: \"loud\" is not allowed; it takes error, warn, info, debug or trace*" "$zcached" --log loud \
    --address-file a "${opts[@]}"
(umask 022 && exec "$zcached" --address-file a "${opts[@]}" --log info --log-file log) &
pid=$!
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 test -e a || fail "no daemon"
says log "$pid" info ".*" || fail "$(cat log)"
[[ $(stat -c %a log) == 640 ]] || fail "the log has mode $(stat -c %a log)" # names of others' files
if grep -q debug: log; then fail "debug messages at level info"; fi

# More, and less, while it runs.
kill -USR1 "$pid"
wait_for 60 says log "$pid" warn "log level is debug from now on" || fail "$(cat log)"
for level in info warn error; do
    kill -USR2 "$pid"
    wait_for 60 says log "$pid" warn "log level is $level from now on" || fail "$(cat log)"
done
kill -TERM "$pid"
wait "$pid" || fail "ended with $?"

# The environment is the default; a file that cannot be opened is no reason to say nothing.
ZCACHE_LOG=debug ZCACHE_LOG_FILE=elsewhere "$zcached" --address-file b "${opts[@]}" 2>err &
pid=$!
cleanup_fn "kill -KILL $pid 2>/dev/null"
wait_for 60 test -e b || fail "no daemon"
kill -TERM "$pid"
wait "$pid" || fail "ended with $?"
says elsewhere "$pid" info ".*" || fail "$(cat elsewhere)"
[[ ! -s err ]] || fail "standard error has $(cat err)"
expect 2 "*ZCACHE_LOG_FILE=/nowhere/x cannot be opened: No such file*" \
    env ZCACHE_LOG_FILE=/nowhere/x "$zcached" --bogus

# To syslog, whose socket is ours in a namespace of its own, by option and by environment.
within=(unshare --mount)
((EUID == 0)) || within=(unshare --map-root-user --mount)
command -v python3 >/dev/null && "${within[@]}" true 2>/dev/null ||
    { echo "skipped: syslog is not looked at: needs python3, and to make namespaces"; exit 0; }
cat >in_syslog <<'END'
dev=$(mktemp -d "$PWD/dev.XXXXXX") && mkdir "$dev/shm" && rm -f c || exit 99
for name in null zero random urandom; do
    : >"$dev/$name"
    mount --bind "/dev/$name" "$dev/$name" || exit 99
done
mount --rbind /dev/shm "$dev/shm" && ln -s /proc/self/fd "$dev/fd" && mount --rbind "$dev" /dev ||
    exit 99
python3 - "$1" <<'LISTEN' &
import socket
import sys

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind("/dev/log")
with open(sys.argv[1], "wb", buffering=0) as log:
    while True:
        log.write(s.recv(65536) + b"\n")
LISTEN
listener=$!
until [[ -S /dev/log ]]; do kill -0 $listener || exit 99; sleep 0.02; done
shift
"$@" & # a daemon, with address file c
echo $! >pid
until [[ -e c ]]; do kill -0 $! || exit 1; sleep 0.02; done
kill -TERM $!
wait $!
status=$?
kill $listener
exit $status
END
syslog() { # ENVIRONMENT, zcached OPTION ...
    timeout 60 "${within[@]}" bash in_syslog "$tmp/log" env "$1" "$zcached" --address-file c \
        "${opts[@]}" --log info "${@:2}" 2>err || fail "syslog: $? $(cat err)"
    grep -qE "^<30>.* zcached\[$(cat pid)\]: ready: " log || fail "not in syslog: $(cat log err)"
    [[ ! -s err ]] || fail "standard error has $(cat err)"
}
syslog X= --log-file syslog
syslog ZCACHE_LOG_FILE=syslog
