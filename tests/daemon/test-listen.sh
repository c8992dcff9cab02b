#!/usr/bin/env bash
# Where a daemon can be reached from: this host only, unless told otherwise.
. "$(dirname -- "$0")/functions.sh"

make_tmp
cd "$tmp" || exit 99
mkdir root
opts=(--root root --cache-size 16M --log info)
zcput=$build/tests/daemon/zcput

# TCP sockets that a process listens at: addresses as the kernel prints them, 127.0.0.1 reversed.
listening() { # PID
    local inodes

    inodes=$(find "/proc/$1/fd" -lname 'socket:*' -printf '%l\n' 2>/dev/null | tr -dc '0-9\n')
    awk -v inodes="$inodes" 'BEGIN { n = split(inodes, a, "\n"); for (i in a) own[a[i]] = 1 }
        $4 == "0A" && $10 in own { sub(":.*", "", $2); print $2 }' \
        "/proc/$1/net/tcp" "/proc/$1/net/tcp6" | sort -u
}
# starts LISTENS-AT [OPTION ...]: starts a daemon, which programs of this host use.
starts() {
    local where=$1

    shift
    start_daemon 0 "${opts[@]}" "$@"
    grep -qE "info: ready: process [0-9]+ serves .* listens at $where:[0-9]+ and a local socket, boot" \
        0.log || fail "does not listen at $where: $(cat 0.log)"
    expect 0 "written" "$zcput" write 0.addr "$tmp/root/f" 1M
}
# The implementation of its MACs: a line of the log before it serves.
sums_with() { # PATTERN
    grep -qE "info: MACs are made with $1\$" 0.log || fail "not with $1: $(cat 0.log)"
}
stops() { stop_daemon 0 || fail "status $? of the daemon: $(cat 0.log)"; }

starts 127.0.0.1
listens() { [[ -n $(listening "${daemon_pids[0]}") ]]; }
wait_for 20 listens || fail "libfabric does not listen: $(cat 0.log)"
[[ $(listening "${daemon_pids[0]}") == 0100007F ]] ||
    fail "it listens at $(listening "${daemon_pids[0]}")"
# The error on other hosts, which see the file and cannot reach the daemon.
sed '/^local /d; s/^host .*/host elsewhere/' 0.addr >far.addr
chmod 600 far.addr
expect 1 "*the daemon of far.addr (pid *) can be reached on its host elsewhere only, and this is \
$(uname -n): start it with --listen *" "$zcachectl" --daemons far.addr stats
# Its place is not taken by a daemon that cannot ask it.
sed -i "s/^pid .*/pid $$/" far.addr
expect 1 "*--address-file: *far.addr belongs to a daemon of host elsewhere that cannot be asked \
from here; if it runs no more, remove the file*" "$zcached" "${opts[@]}" --address-file far.addr
if ! grep -q 'define HAVE_LIBCRYPTO 1' "$build/config.h"; then
    sums=without
    sums_with "libsodium: it was built without libcrypto"
    ! readelf -d "$zcached" | grep 'NEEDED.*libcrypto' || fail "it needs libcrypto all the same"
elif [[ $(uname -m) == ppc* ]] && grep -q 'CVE-2023-6129' 0.log; then
    sums=without
else
    sums=with
    [[ $("$build/config.status" --config) != *--with-libcrypto=no* ]] || fail "it has libcrypto"
    sums_with "libcrypto 3\.[0-9.]+"
fi
stops

# Processes of this host are served before libfabric has started, by the local socket; a client that
# connects by libfabric from the first moment on, at the file's address, is served, too.
start_daemon 0 "${opts[@]}"
cp 0.addr first.addr
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
expect 0 "written" "$zcput" write 0.addr "$tmp/root/f" 1M
wait_for 20 listens || fail "libfabric does not listen: $(cat 0.log)"
cmp 0.addr first.addr || fail "another address file"
expect 0 "*serving*" "$zcachectl" --daemons 0.addr status
stops
# In FIPS mode, libcrypto has no Poly1305.
cat >fips.cnf <<'END'
openssl_conf = all
[all]
alg_section = algorithms
[algorithms]
default_properties = fips=yes
END
OPENSSL_CONF=$tmp/fips.cnf starts 127.0.0.1 --listen lo
[[ $sums == without ]] || sums_with "libsodium: libcrypto 3[0-9.]+ has no Poly1305 here, as .* FIPS"
stops
starts 127.0.0.2 --listen 127.0.0.2
stops
starts 127.0.0.1 --listen localhost
stops
starts "[0-9.]+" --listen fabric
stops
printf 'listen = lo\n' >c.conf
starts 127.0.0.1 --config c.conf
stops

bad() { # WHERE PATTERN
    expect 1 "*--listen: $2*" timeout -k 5 30 "$zcached" "${opts[@]}" --address-file bad.addr \
        --listen "$1"
}
bad nosuch0 '"nosuch0" is neither an interface nor an IPv4 address or host name; *here: *lo*'
bad 0.0.0.0 '"0.0.0.0" is not one address; give *'
bad 224.0.0.1 '"224.0.0.1" is not one address; give *'
bad 255.255.255.255 '"255.255.255.255" is not one address; give *'
bad 192.0.2.77 "192.0.2.77 is no address of this host*"
