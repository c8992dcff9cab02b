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
