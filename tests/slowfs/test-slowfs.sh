#!/usr/bin/env bash
# slowfs shows the directory below it as it is, whatever is done to it.
set -u
# shellcheck source=tests/daemon/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/../daemon/functions.sh"
# shellcheck source=tests/slowfs/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"

make_tmp
obstacle=$(slowfs_obstacle)
[[ -z $obstacle ]] || { echo "skipped: $obstacle"; exit 77; }
requires command -v jq

below=$tmp/below m=$tmp/m
fast=(--write-rate 0 --op-us 0 --latency-us 0 --meta-us 0)
mkdir -m 755 "$below" "$m"
chmod 711 "$tmp"

check_options() {
    expect 0 'Usage: slowfs*--write-rate*' "$slowfs" --help
    expect 2 '*--op-us 5x: not a number*' "$slowfs" --op-us 5x "$below" "$m"
    expect 2 '*give a directory and a mount point*' "$slowfs" "$below"
    expect 2 '*--bogus*' "$slowfs" --bogus "$below" "$m"
    expect 1 "*$tmp/nowhere: No such file*" "$slowfs" "$tmp/nowhere" "$m"
}

check_data() {
    head -c 5000011 /dev/urandom >"$tmp/data"
    cp "$tmp/data" "$m/a" && cmp "$tmp/data" "$below/a" && cmp "$tmp/data" "$m/a" ||
        fail "a copy differs"
    dd if="$tmp/data" of="$m/b" bs=3M oflag=direct conv=fsync status=none &&
        cmp "$tmp/data" "$below/b" || fail "large requests"
    printf 'end' >>"$m/b"
    [[ $(tail -c 3 "$below/b") == end ]] || fail "append"
    printf 'XY' | dd of="$m/b" bs=1 seek=1000 conv=notrunc status=none
    [[ $(dd if="$below/b" bs=1 skip=1000 count=2 status=none) == XY ]] || fail "write in place"
    printf 'far' | dd of="$m/large" bs=1 seek=6442450944 status=none
    [[ $(stat -c %s "$below/large") == 6442450947 && $(tail -c 3 "$m/large") == far ]] ||
        fail "a file of more than 4 GiB"
    [[ $(dd if="$m/large" bs=1M skip=3000 count=1 status=none | tr -d '\0' | wc -c) == 0 ]] ||
        fail "a hole is not zero"
    rm "$m/large"
}

check_size() {
    truncate -s 1000 "$m/a"
    cmp <(head -c 1000 "$tmp/data") "$m/a" || fail "truncate"
    truncate -s 3000 "$m/a"
    [[ $(stat -c %s "$m/a") == 3000 && $(stat -c %s "$below/a") == 3000 ]] || fail "lengthen"
    : >"$m/a"
    [[ $(stat -c %s "$below/a") == 0 ]] || fail "open with O_TRUNC"
    fallocate -l 1M "$m/a"
    [[ $(stat -c '%s %b' "$m/a") == "1048576 2048" ]] || fail "fallocate: $(stat -c '%s %b' "$m/a")"
    fallocate -p -o 64K -l 64K "$m/a" || fail "punch a hole"
    [[ $(stat -f -c %b "$m") == "$(stat -f -c %b "$below")" ]] || fail "statfs"
}

check_names() {
    local fd

    expect 1 '*File exists*' mkdir "$m/a"
    (set -C && : >"$m/a") 2>/dev/null && fail "O_EXCL made a file that was there"
    (set -C && : >"$m/new") || fail "O_EXCL did not make a file"
    ln "$m/a" "$m/hard" && ln -s a "$m/soft" || fail "links"
    [[ $(stat -c '%h %i' "$m/a") == "$(stat -c '%h %i' "$m/hard")" ]] || fail "hard links differ"
    [[ $(readlink "$m/soft") == a && $(stat -L -c %i "$m/soft") == "$(stat -c %i "$m/a")" ]] ||
        fail "symbolic link"
    echo one >"$m/one"
    echo two >"$m/two"
    exec {fd}<>"$m/two"
    mv "$m/one" "$m/two" && [[ $(<"$m/two") == one ]] || fail "rename over a file"
    echo more >&"$fd" || fail "write to a file that lost its name"
    [[ $(stat -L -c '%s %h' "/proc/self/fd/$fd") == "5 0" ]] || fail "stat of an unlinked file"
    [[ $(cat "/proc/self/fd/$fd") == more ]] || fail "read of an unlinked file"
    exec {fd}>&-
    mv -n "$m/a" "$m/two" 2>/dev/null
    [[ -e $m/a && $(<"$m/two") == one ]] || fail "rename that must not replace"
    mkdir "$m/dir" && mv "$m/two" "$m/dir/" || fail "rename into a directory"
    expect 1 '*not empty*' rmdir "$m/dir"
    rm -r "$m/dir" && [[ ! -e $below/dir ]] || fail "remove"
    expect 1 '*No such file*' cat "$m/dir/two"
    mkfifo "$m/pipe" && [[ -p $below/pipe ]] || fail "FIFO"
}

check_directory() {
    local i

    mkdir "$m/many"
    for ((i = 0; i < 2000; i++)); do : >"$below/many/a-rather-long-name-$i"; done
    [[ $(find "$m/many" -type f | sort | md5sum) == \
        "$(cd "$below" && find "$PWD/many" -type f | sed "s|^$below|$m|" | sort | md5sum)" ]] ||
        fail "a long directory"
    rm -r "$m/many"
}

check_permissions() {
    local nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)

    chmod 600 "$m/a" && [[ $(stat -c %a "$below/a") == 600 ]] || fail "chmod"
    touch -d @1000000000.5 "$m/a" && [[ $(stat -c %.9Y "$below/a") == 1000000000.500000000 ]] ||
        fail "utimens"
    ((!$(id -u))) && command -v setpriv >/dev/null || return 0
    expect 1 '*Permission denied*' "${nobody[@]}" cat "$m/a"
    expect 1 '*Permission denied*' "${nobody[@]}" touch "$m/mine"
    mkdir -m 1777 "$m/open"
    "${nobody[@]}" bash -c "umask 027; echo x >$m/open/mine; mkdir $m/open/dir" || fail "as nobody"
    [[ $(stat -c '%u %g %a' "$below/open/mine" "$below/open/dir" | paste -sd' ') == \
        "65534 65534 640 65534 65534 750" ]] || fail "owner and mode of what others make"
    chown 1:2 "$m/open/mine" && [[ $(stat -c '%u %g' "$below/open/mine") == "1 2" ]] || fail "chown"
    mkdir "$m/group" && chgrp 7 "$m/group" && chmod 2777 "$m/group"
    "${nobody[@]}" touch "$m/group/x" && [[ $(stat -c %g "$below/group/x") == 7 ]] ||
        fail "group of a set-group-ID directory"
}

check_counters() {
    local words='write.requests write.bytes read.requests read.bytes sync.requests' before after

    # shellcheck disable=SC2086 # words
    before=$(slowfs_count "$m" $words)
    dd if=/dev/zero of="$m/c" bs=2M count=2 conv=fsync status=none
    dd if="$m/c" of=/dev/null bs=512K count=3 status=none
    # shellcheck disable=SC2086
    after=$(slowfs_count "$m" $words)
    awk -v a="$after" -v b="$before" 'BEGIN {
        split(a, x); split(b, y); split("4 4194304 3 1572864 1", want)
        for (i = 1; i <= 5; i++) if (x[i] - y[i] != want[i]) exit 1 }' ||
        fail "$words: $before, then $after"
    expect 1 '*Permission denied*' dd if=/dev/null of="$m/.slowfs"
    expect 1 '*not permitted*' chmod 777 "$m/.slowfs"
    [[ ! -e $below/.slowfs && $(find "$m" -name .slowfs) == '' ]] || fail ".slowfs is listed"
}

check_options
slowfs_mount "$below" "$m" "${fast[@]}" || fail "mount: $(<"$tmp/slowfs.log")"
check_data
check_size
check_names
check_directory
check_permissions
check_counters
slowfs_unmount "$m" || fail "slowfs ended with status $?: $(<"$tmp/slowfs.log")"
grep -q " $m " /proc/self/mounts && fail "still mounted"

slowfs_mount "$below" "$m" "${fast[@]}" --cached-reads || fail "mount: $(<"$tmp/slowfs.log")"
cmp <(head -c 5000000 "$m/b" | md5sum) <(head -c 5000000 "$below/b" | md5sum) || fail "cached read"
# The kernel may drop pages when it likes, but not each time.
cached_read() {
    local before

    before=$(slowfs_count "$m" read.bytes)
    cat "$m/b" >/dev/null
    [[ $(slowfs_count "$m" read.bytes) == "$before" ]]
}
cached_read || cached_read || cached_read || fail "a cached read reached the server"
slowfs_unmount "$m" || fail "slowfs ended with status $?"
