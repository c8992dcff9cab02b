#!/usr/bin/env bash
# Under a service manager: what zcached tells it, and that its unit is one.
. "$(dirname -- "$0")/functions.sh"

command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
grep -q 'define HAVE_LIBSYSTEMD 1' "$build/config.h" ||
    { echo "skipped: built without libsystemd"; exit 77; }
make_tmp
cd "$tmp" || exit 99
mkdir root

# Each datagram a line of notify.log, its lines joined by blanks.
python3 - notify.socket notify.log <<'END' &
import socket
import sys

s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
with open(sys.argv[2], "w", buffering=1) as log:
    while True:
        log.write(s.recv(65536).decode().replace("\n", " ") + "\n")
END
manager=$!
cleanup_fn "kill $manager 2>/dev/null"
wait_for 20 test -S notify.socket || fail "no manager"

told() { grep -qE "$1" notify.log; }
export NOTIFY_SOCKET=$tmp/notify.socket
start_daemon 0 --root root
unset NOTIFY_SOCKET
wait_for 20 told "^READY=1 STATUS=serves .*root" || fail "not told that it is ready"
kill -HUP "${daemon_pids[0]}"
wait_for 20 told "^RELOADING=1 MONOTONIC_USEC=[0-9]+" || fail "not told that it reloads"
stop_daemon 0 || fail "status $? of the daemon"
wait_for 20 told "^STOPPING=1" || fail "not told that it stops"
[[ $(grep -c ^READY=1 notify.log) == 2 ]] || fail "READY: $(cat notify.log)"

if [[ ! -e $build/packaging/systemd/zcached@.service ]]; then
    echo "skipped: no unit in a build for sanitizers"
    exit 0
fi
grep -q '^RestrictSUIDSGID=yes' "$build/packaging/systemd/zcached@.service" &&
    fail "the unit blocks openat2(), without which no file can be opened beneath a root"
# A configuration that is wrong is not tried again and again.
echo "no-such-thing = 1" >wrong.conf
expect 2 "*no-such-thing*" "$zcached" --config "$tmp/wrong.conf"
grep -qx 'RestartPreventExitStatus=2' "$build/packaging/systemd/zcached@.service" ||
    fail "the unit starts it again"
if ! command -v systemd-analyze >/dev/null; then
    echo "skipped: no systemd-analyze: the unit is not checked"
    exit 0
fi
sed "s|^ExecStart=[^ ]*|ExecStart=$zcached|" "$build/packaging/systemd/zcached@.service" \
    >"zcached@.service" || fail "no unit"
expect 0 "" systemd-analyze verify --man=no "$tmp/zcached@.service"
expect 0 "*exposure level*" systemd-analyze security --offline=yes --threshold=50 \
    "$tmp/zcached@.service"
