#!/usr/bin/env bash
# The configuration file: values, precedence, and errors that name file and line.
. "$(dirname -- "$0")/functions.sh"

source=$(cd "$(dirname -- "$0")/../.." && pwd)
make_tmp
cd "$tmp" || exit 99
mkdir root

bad() { # PATTERN TEXT
    printf '%b' "$2" >c.conf
    expect 2 "zcached: $1" "$zcached" --config c.conf
}
bad "c.conf:3: cache-size: \"12Q\" is not allowed; *" "# comment\nroot = root\ncache-size = 12Q\n"
bad "c.conf:1: unknown option \"cach_size\"; did you mean cache-size[?]" "cach_size = 1G"
bad "c.conf:2: no \"name = value\" on this line" "\nroot\n"
bad "c.conf:2: only the section \[zcached\] is known here" "[other]\nroot = root\n"
bad "c.conf:1: unknown option \"config\"" "config = d.conf\n"
bad "c.conf:1: page-size: *" "page-size = 5000\ncache-size = 12Q\n"
bad "c.conf:1: line is longer than [0-9]* bytes" "root = $(printf '%9000s' x)\n"
bad "--address-file is missing*" "root = root"
expect 2 "zcached: --config: cannot read none: No such*" "$zcached" --config none
expect 2 "zcached: --config: cannot read root: Is a directory" "$zcached" --config root

# The file is used, either spelling; the command line wins wherever --config stands.
cat >c.conf <<END
; what to serve
root = $tmp/root
[zcached]
cache_size = 8M   ; small
page-size = 64K
provider = tcp;ofi_rxm
END
start_daemon 0 --cache-size 16M --config c.conf
expect 0 "*\"capacity_bytes\": 16777216,*" "$zcachectl" --daemons 0.addr --json status
expect 0 "*root $tmp/root*" cat 0.addr
stop_daemon 0 || fail "status $? of the daemon"

# The example that is installed names what a daemon needs, and nothing that it does not know.
example=$source/packaging/zcached.conf
sed "s|= /scratch|= $tmp/root|" "$example" >c.conf
expect 2 "*--address-file: cannot create files in $tmp/root/.zcache: *" "$zcached" --config c.conf
start_daemon 1 --config c.conf --cache-size 16M --listen loopback
expect 0 "*root $tmp/root*" cat 1.addr
stop_daemon 1 || fail "status $? of the daemon"
