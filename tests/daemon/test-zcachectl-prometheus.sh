#!/usr/bin/env bash
# zcachectl stats --prometheus: the exact text format, every counter with a type, labels of all
# kinds; --textfile: complete, or the file is unchanged; the units that write it for a collector.
. "$(dirname -- "$0")/functions.sh"
requires command -v jq
requires command -v python3

source=$(cd "$(dirname -- "$0")/../.." && pwd)
make_tmp
cd "$tmp" || exit 99
mkdir one two
odd=$'q"\\\t\xff\xc3\xa9'
mkdir "$odd"
start_daemon 0 --root "$tmp" --cache-size 16M
start_daemon 1 --root "$tmp/$odd" --cache-size 16M
ctl() { within 60 "$zcachectl" "$@"; }

# Every line has the format; the lines of a metric are together, and no series occurs twice.  Prints
# the samples, sorted, as NAME{LABELS} VALUE.
cat >grammar.py <<'END'
import re
import sys

NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
LABEL = r'[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\[\\"n])*"'
SAMPLE = re.compile(rf"({NAME})(?:\{{({LABEL}(?:,{LABEL})*)\}})? (-?[0-9]+(?:\.[0-9]+)?)")
text = open(sys.argv[1], "rb").read().decode("utf-8")
assert text.endswith("\n"), "the last line does not end"
types, helps, series, current = {}, set(), {}, None
for line in text[:-1].split("\n"):
    if m := re.fullmatch(rf"# HELP ({NAME}) ((?:[^\\]|\\\\|\\n)+)", line):
        current = m[1]
        assert current not in helps, f"again: {line}"
        helps.add(current)
    elif m := re.fullmatch(rf"# TYPE ({NAME}) (counter|gauge|untyped)", line):
        assert m[1] == current and current not in types, f"not behind its HELP: {line}"
        types[current] = m[2]
        assert (m[2] == "counter") == current.endswith("_total"), f"name and type: {line}"
    else:
        m = SAMPLE.fullmatch(line)
        assert m, f"not a sample: {line}"
        assert m[1] == current and current in types, f"not with its metric: {line}"
        key = f"{m[1]}{{{m[2] or ''}}}"
        assert key not in series, f"twice: {key}"
        series[key] = m[3]
untyped = [n for n, t in types.items() if t == "untyped"]
assert not untyped, f"neither GAUGE nor COUNTER in its row: {untyped}"
for key in sorted(series):
    print(key, series[key])
END
cat >parser.py <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families

text = open(sys.argv[1], encoding="utf-8").read()
print(sum(len(f.samples) for f in text_string_to_metric_families(text)))
END
parser=
for python in python3 /usr/bin/python3; do
    "$python" -c 'import prometheus_client' 2>/dev/null && parser=$python
done
[[ -n $parser ]] ||
    echo "skipped: no prometheus_client (Debian: python3-prometheus-client): our own grammar alone"

# valid FILE: writes its samples to `samples`.
valid() {
    python3 grammar.py "$1" >samples || fail "not the format: $(cat "$1")"
    [[ -z $parser ]] && return
    [[ $("$parser" parser.py "$1") == "$(wc -l <samples)" ]] || fail "not for prometheus_client: $1"
}
sample() { grep -qFx -- "$1" samples || fail "no sample: $1 -- $(cat samples)"; }

ctl --daemons 0.addr,1.addr stats --prometheus >out || fail "status $?"
valid out
host=$(awk '$1 == "host" { print $2 }' 0.addr)
labels="daemon=\"0\",host=\"$host\",root=\"$tmp\""
sample "zcache_capacity_bytes{$labels} 16777216"
sample "zcache_capacity_bytes{daemon=\"1\",host=\"$host\",root=\"$tmp/q\\\"\\\\"$'\t\xef\xbf\xbd\xc3\xa9"} 16777216'
sample "zcache_up{$labels} 1"
sample "zcache_daemons{} 2"
sample "zcache_state{$labels,state=\"serving\"} 1"
sample "zcache_state{$labels,state=\"draining\"} 0"
sample "zcache_high_watermark_ratio{$labels} 0.75"
grep -q "^zcache_daemon_info{$labels,version=\".*\",protocol=\"[0-9]*\",.*} 1$" samples ||
    fail "no info"
grep -q "^zcache_written_bytes_total{$labels} 0$" samples || fail "no counter"

# All counters of stats are there.
ctl --daemons 0.addr --json stats | jq -r '.daemons[0].stats | keys[]' >names
[[ -s names ]] || fail "stats counts nothing"
while read -r name; do
    grep -qE "^zcache_$name(_total)?\{$labels\} [0-9]+$" samples || fail "$name is missing"
done <names

# Other daemons of the same name, the same file twice.
cp 0.addr one/0.addr
ctl --daemons 0.addr,one,0.addr stats --prometheus >out || fail "status $?"
valid out
sample "zcache_up{daemon=\"one/0.addr\",host=\"$host\",root=\"$tmp\"} 1"
rm one/0.addr

# A dead daemon is down, under the same labels; the other answers.
cp 0.addr two
start_daemon 2 --root "$tmp" --cache-size 16M
stop_daemon 2 KILL
ctl --daemons 0.addr,2.addr stats --prometheus >out 2>err
status=$?
[[ $status == 1 && $(cat err) == "zcachectl: 2: process "*" is gone"* ]] ||
    fail "status $status of a daemon that is gone: $(cat err)"
valid out
sample "zcache_up{$labels} 1"
sample "zcache_up{daemon=\"2\",host=\"$host\",root=\"$tmp\"} 0"
grep -q '^zcache_capacity_bytes{daemon="2"' samples && fail "bytes of a daemon that is gone"

# ---- into a file ----
mkdir textfile
umask 022
expect 0 "" ctl --daemons 0.addr stats --textfile textfile/zcache.prom
valid textfile/zcache.prom
sample "zcache_up{$labels} 1"
[[ $(stat -c %a textfile/zcache.prom) == 644 ]] || fail "not readable for the collector"
# It is replaced, never written to: a process that has it open sees all of the old one.
ln textfile/zcache.prom before
cp before copy
expect 1 "zcachectl: 2: process *" ctl --daemons 2.addr stats --textfile textfile/zcache.prom
cmp -s before copy || fail "the file was written to"
valid textfile/zcache.prom
sample "zcache_up{daemon=\"2\",host=\"$host\",root=\"$tmp\"} 0"
# If it cannot be written it is unchanged, and nothing is left beside it.
cp textfile/zcache.prom copy
limited() (
    trap '' XFSZ
    ulimit -f 0
    ctl --daemons 0.addr stats --textfile "$1" 2>&1 | cat
    exit "${PIPESTATUS[0]}"
)
expect 1 "zcachectl: cannot write textfile/zcache.prom: File too large" limited textfile/zcache.prom
cmp -s textfile/zcache.prom copy || fail "the file was destroyed"
[[ $(ls -A textfile) == zcache.prom ]] || fail "left behind: $(ls -A textfile)"
# No daemon: nothing of the last one stays.
expect 1 "zcachectl: no address file *" ctl --daemons one stats --textfile textfile/zcache.prom
valid textfile/zcache.prom
[[ $(cat samples) == "zcache_daemons{} 0" ]] || fail "of no daemon: $(cat samples)"
expect 1 "zcachectl: cannot write nowhere/x: No such file*" \
    ctl --daemons 0.addr stats --textfile nowhere/x
ln -s textfile/zcache.prom link
for bad in link textfile; do
    expect 1 "zcachectl: cannot replace $bad: it is not a regular file" \
        ctl --daemons 0.addr stats --textfile $bad
done

expect 2 "zcachectl: --prometheus is for stats; *" ctl --daemons x status --prometheus
expect 2 "zcachectl: --textfile is for stats; *" ctl --daemons x files --textfile f
expect 2 "*zcachectl: --prometheus is another format than --json; *" \
    ctl --daemons x --json --prometheus stats
expect 2 "zcachectl: --textfile needs a value; *" ctl --daemons x stats --textfile ''

# ---- the units ----
units=$build/packaging/systemd
if [[ ! -e $units/zcache-textfile.service ]]; then
    echo "skipped: no unit in a build for sanitizers"
    exit 0
fi
# Runs the service's command.
line=$(sed -n 's/^ExecStart=[^ ]* //p' "$units/zcache-textfile.service")
[[ -n $line ]] || fail "the service runs nothing"
rm textfile/zcache.prom
export ZCACHE_DAEMONS=$tmp/0.addr
# shellcheck disable=SC2086,SC2312 # several words
expect 0 "" ctl ${line/'${TEXTFILE}'/textfile/zcache.prom}
valid textfile/zcache.prom
sample "zcache_up{$labels} 1"

# As root it asks root's daemons only; with User=, as its text says, another user's.
if [[ $(id -u) == 0 ]] && as_other true 2>/dev/null; then
    grep -q '^# *User=' "$units/zcache-textfile.service" || fail "the unit does not speak of User="
    chmod 711 "$tmp"
    theirs=$(for_others "$zcachectl")
    mkdir theirs
    cp 0.addr theirs/0.addr
    chown -R nobody:nogroup theirs
    export ZCACHE_DAEMONS=$tmp/theirs/0.addr
    # shellcheck disable=SC2086,SC2312 # several words
    {
        line=${line/'${TEXTFILE}'/$tmp/theirs/zcache.prom}
        expect 1 "*belongs to another user*run this as that user*" ctl $line
        grep -q '^zcache_up{.*} 0$' theirs/zcache.prom || fail "$(cat theirs/zcache.prom)"
        stretch 60
        expect 0 "" as_other timeout "$stretched" "$theirs" $line
    }
    grep -q '^zcache_up{.*} 1$' theirs/zcache.prom || fail "$(cat theirs/zcache.prom)"
else
    echo "skipped: another user's daemon; only root can be two users"
fi
if ! command -v systemd-analyze >/dev/null; then
    echo "skipped: no systemd-analyze: the units are not checked"
    exit 0
fi
sed "s|^ExecStart=[^ ]*|ExecStart=$zcachectl|" "$units/zcache-textfile.service" \
    >zcache-textfile.service
cp "$source/packaging/systemd/zcache-textfile.timer" . || fail "no timer"
expect 0 "" systemd-analyze verify --man=no "$tmp/zcache-textfile.service" \
    "$tmp/zcache-textfile.timer"
expect 0 "*exposure level*" systemd-analyze security --offline=yes --threshold=50 \
    "$tmp/zcache-textfile.service"
