#!/usr/bin/env bash
# zcachectl --json is JSON, whatever happens: errors, daemons that are gone or stand still, names
# that are not UTF-8.  Tables show nothing that a terminal would obey.
. "$(dirname -- "$0")/functions.sh"
zcput=$build/tests/daemon/zcput
requires test -x "$zcput"
requires command -v jq
requires command -v python3

umask 077 # address files are their owner's
make_tmp
cd "$tmp" || exit 99
commands=$("$zcachectl" --help | awk '/^[^ ]/ { on = /^Commands:/ } on && /^  [a-z]/ { print $1 }')
[[ -n $commands ]] || fail "no commands in --help"

# json STATUS FILTER OPTION ...: one object, for jq and for Python, of which the filter is true.
json() {
    local want=$1 filter=$2 status

    shift 2
    within 60 "$zcachectl" --json "$@" >out 2>err </dev/null
    status=$?
    [[ $status == "$want" ]] || fail "status $status, not $want, of --json $*: $(cat out err)"
    python3 -c 'import json, sys; json.loads(open(sys.argv[1], "rb").read().decode("utf-8"))' out ||
        fail "--json $*: not JSON: $(cat out)"
    jq -es "length == 1 and (.[0] | $filter)" out >/dev/null ||
        fail "--json $* | jq '$filter': $(cat out)"
}

# Wrong use, wherever --json stands, and no daemon at all.
json 2 '.command == null and .daemons == [] and (.error | test("unknown command"))' \
    --daemons x sing
json 2 '.command == "stats" and (.error | test("frob"))' --daemons x --frob stats
json 2 '.error | test("needs a value")' --daemons
json 2 '.error | test("soon")' --timeout soon --daemons x stats
json 2 '.error | test("not|unknown")' $'sing"\n\xff\e[31m'
json 1 '.command == "status" and .daemons == [] and (.error | test("nowhere"))' \
    --daemons nowhere status
json 1 '.error | test("say")' --daemons $'say\xff"x"\n.addr' status

# A file with a name of all kinds, in a directory of the same kind.
odd=$'q"\\ \t\xff\xc3\xa9\xc2\x9b\x1b[31m\x7f\xed\xa0\x80'
mkdir "$odd"
echo x >"$odd/$odd"
cp "$odd/$odd" "$odd/new"$'\n'"line"
start_daemon 0 --root "$tmp" --cache-size 16M
cp 0.addr "$odd"$'\n1.addr'
start_daemon 2 --root "$tmp/$odd" --cache-size 16M
"$zcput" read 0.addr "$tmp/$odd/$odd" 2 >/dev/null || fail "cannot read"
"$zcput" read 0.addr "$tmp/$odd/new"$'\n'"line" 2 >/dev/null || fail "cannot read"
# U+FFFD for each byte that is none, all others as they are.
name='"q\"\\ \t\ufffdé\u009b\u001b[31m\u007f\ufffd\ufffd\ufffd"'
json 0 ".daemons[0].files | length == 2 and any(.path | endswith(\"/\" + $name))" \
    --daemons 0.addr files
json 0 '.daemons[0].files | any(.path | endswith("/new\nline"))' --daemons 0.addr files
json 0 ".daemons[0].name == $name + \"\\n1\"" --daemons "$odd"$'\n1.addr' status
json 0 ".daemons[0].root | endswith($name)" --daemons 2.addr status
json 0 '.daemons[0].files | all(.lost_bytes == 0 and .failed_bytes == 0)' --daemons 0.addr files
for c in status "status -v" files; do
    # shellcheck disable=SC2086 # command and option
    "$zcachectl" --daemons . $c 2>&1 | LC_ALL=C tr -d '\n' >out
    [[ -s out ]] || fail "$c prints nothing"
    LC_ALL=C grep -qP '[\x00-\x1f\x7f\xff]|\xc2[\x80-\x9f]|\xed\xa0' out &&
        fail "$c prints what a terminal obeys: $(cat -v out)"
done

# A name of digits alone is a name.
json 0 'all(.daemons[].status; (.host | type) == "string" and (.pid | type) == "number" and
    (.version | type) == "string")' --daemons . status

# Gone, standing still, no address file: an element with an error for each, and the others'.
start_daemon 3 --root "$tmp" --cache-size 16M
start_daemon 4 --root "$tmp" --cache-size 16M
rm "$odd"$'\n1.addr'
pid=${daemon_pids[3]}
stop_daemon 3 KILL
kill -STOP "${daemon_pids[4]}"
cleanup_fn "kill -CONT ${daemon_pids[4]}"
echo nonsense >5.addr
for c in $commands; do
    case $c in
    stop | journal) continue ;;
    top) more=(-c 1) ;;
    *) more=() ;;
    esac
    json 1 "(.daemons | length) == 5 and .command == \"$c\" and
        [.daemons[] | has(\"error\")] == [false, false, true, true, true] and
        (.daemons[2].error | test(\"process $pid is gone\")) and .daemons[3].pid" \
        --timeout 2s --daemons . "$c" "${more[@]}"
done
json 1 'all(.daemons[]; .name == "0" or has("error"))' --timeout 2s --daemons 0.addr,3.addr stop
