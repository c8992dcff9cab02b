#!/usr/bin/env bash
# Help, versions, and each way to use the tools wrongly: message and exit status.
. "$(dirname -- "$0")/functions.sh"

for tool in "$zcached" "$zcachectl" "$zcache"; do
    expect 0 "*Usage:*Example*" "$tool" --help
    long=$(awk 'length > 100' <<<"$output")
    [[ -z $long ]] || fail "long lines in $tool --help: $long"
    expect 0 "zcached (zcache) [0-9]*, protocol [0-9]*" "$zcached" --version
done
expect 0 "*--cache-size SIZE*(default 512M)*--high-watermark*75%*ZCACHE_LOG*" "$zcached" --help
expect 0 "zcachectl (zcache) *" "$zcachectl" --version
expect 0 "zcache-merge-trace (zcache) *" "$build/iod/zcache-merge-trace" --version
expect 0 "Usage: zcache-merge-trace *" "$build/iod/zcache-merge-trace" --help
expect 0 "zcache [0-9]*" "$zcache" --version

# The launcher is a script and has its own words for what zcached does when not told.
default_of() { # TOOL OPTION
    "$1" --help | tr -s ' \n' ' ' | sed -n "s/.* $2 [A-Z]* [^(]*(default \([^)]*\)).*/\1/p"
}
for option in --cache-size --provider; do
    default=$(default_of "$zcached" $option)
    [[ -n $default && $(default_of "$zcache" $option) == "$default" ]] ||
        fail "zcache --help: the default of $option is not zcached's, $default"
done

make_tmp
cd "$tmp" || exit 99
mkdir root
ok=(--root root --address-file 0.addr)
bad() { # PATTERN OPTION ...
    local pattern=$1

    shift
    expect 2 "zcached: $pattern" "$zcached" "$@"
}
bad "--root is missing*zcached --help"
bad "--address-file is missing*" --root root
bad "--root: nowhere: No such file*" --root nowhere --address-file 0.addr
bad "--root: /dev/null is not a directory" --root /dev/null --address-file 0.addr
bad "--address-file: cannot create files in $tmp/nowhere: *" --root root --address-file nowhere/a
bad "--address-file: $tmp/root is a directory*" --root root --address-file root
bad "--log-file: cannot create files in /nowhere: *" "${ok[@]}" --log-file /nowhere/log
bad "--pid-file: cannot create files in /nowhere: *" "${ok[@]}" --pid-file /nowhere/pid
bad "unknown option \"--cach-size\"; did you mean --cache-size[?]" "${ok[@]}" --cach-size 1G
bad "unknown option \"--frobnicate\"" --frobnicate=3
bad "unknown option \"-x\"" -x
bad "more than one option begins with --l" --l 3
bad "unexpected argument \"extra\"" "${ok[@]}" extra
bad "--root needs a value" --root
bad "--help takes no value" --help=3
bad "--cache-size: \"lots\" is not allowed; it takes a size from 0 to 1P" --cache-size lots
bad "--page-size: \"5000\" is not allowed; *power of two" --page-size 5000
bad "--flush-order: \"random\" is not allowed; it takes oldest or newest" --flush-order random
bad "--cache-size 1M holds fewer than 2 pages*at least 2M*" "${ok[@]}" --cache-size 1M
bad "--cache-size 1P is more than this host's memory*" "${ok[@]}" --cache-size 1P
bad "--low-watermark 80% must be below --high-watermark 75%*" "${ok[@]}" --low-watermark 80%
bad "--max-io 64K is smaller than a page*1M" "${ok[@]}" --max-io 64K
expect 2 "zcached: ZCACHE_TIMEOUT: \"soon\" is not allowed; *" env ZCACHE_TIMEOUT=soon "$zcached"
expect 1 "*no provider \"nosuch\"*" "$zcached" "${ok[@]}" --provider nosuch
[[ ! -e 0.addr ]] || fail "an address file of a daemon that did not start"
expect 1 "*ZCACHE_DAEMON means nothing to zcache; did you mean ZCACHE_DAEMONS[?]*" \
    env ZCACHE_DAEMON=x "$zcached" "${ok[@]}" --provider nosuch

expect 2 "zcachectl: a command is missing; see zcachectl --help" "$zcachectl"
expect 2 "zcachectl: unknown command \"sing\"*" "$zcachectl" --daemons x sing
expect 2 "zcachectl: unknown option \"--frob\"*" "$zcachectl" --frob status
expect 2 "zcachectl: unexpected argument \"more\"*" "$zcachectl" --daemons x status more
expect 2 "zcachectl: no daemon to ask: give --daemons or set ZCACHE_DAEMONS*" "$zcachectl" status
expect 2 "zcachectl: --timeout: \"0\" is not allowed; *" "$zcachectl" --timeout 0 status
expect 1 "zcachectl: no address file nowhere: *" "$zcachectl" --daemons nowhere status
expect 1 "zcachectl: no address file (\*.addr) in root: *" "$zcachectl" --daemons root status

expect 2 "zcache: a command is missing*" "$zcache"
expect 2 "zcache: unknown command \"walk\"*" "$zcache" walk
expect 2 "zcache: run: a command is missing*" "$zcache" run
expect 2 "zcache: run: unknown option \"--frob\"*" "$zcache" run --frob true
expect 2 "zcache: --daemons: \"0\" is not allowed*" "$zcache" start --daemons 0
expect 2 "zcache: --daemons: \"many\" is not allowed*" "$zcache" run --daemons many true
expect 2 "zcache: --root needs a value*" "$zcache" run --root
for option in "start --trace t.json" "start --timeout=3" "start --keep" "stop --summary" \
    "stop --root root" "status --timeout 3" "env --daemons 2" "stop --cache-size=1G"; do
    # shellcheck disable=SC2086 # words
    expect 2 "zcache: ${option%% *} has no use for --[a-z-]*; see zcache --help" "$zcache" $option
done
expect 127 "zcache: run: no-such-command: no such command" "$zcache" run no-such-command
touch program
expect 126 "zcache: run: ./program is there, and may not be executed: chmod +x, *" \
    "$zcache" run ./program
expect 126 "zcache: run: ./root is a directory" "$zcache" run ./root
