#!/usr/bin/env bash
# quickstart, up to the build: if it cannot build it says so before anything is made; without the
# permission to install, it names the packages; with all packages installed it needs no root.
. "$(dirname -- "$0")/functions.sh"
top=$(cd "$(dirname -- "$0")/../.." && pwd)
[[ -e $top/quickstart ]] || fail "no $top/quickstart"

make_tmp
cd "$tmp" || exit 99
# shellcheck disable=SC2016
for odd in "with blank" "with:colon" "with'quote" $'with\ttab' 'with$dollar'; do
    mkdir "$odd"
    cp "$top/quickstart" "$odd"
    expect 1 "quickstart: $tmp/$odd: make and LD_PRELOAD cannot do with blanks, *; move it" \
        timeout 10 "$odd/quickstart"
    [[ $(ls "$odd") == quickstart ]] || fail "made in $odd: $(ls "$odd")"
done

# A machine without root access, with these packages installed.
mkdir tree bin
install -m 755 "$top/quickstart" tree # another user runs it
cat >bin/dpkg-query <<'END'
#!/bin/sh
for last; do :; done
grep -qx -- "$last" "$INSTALLED" && echo installed
END
printf '#!/bin/sh\necho 1000\n' >bin/id
for tool in bash env dirname nproc mktemp rm grep sh mkdir find tail; do ln -s "$(command -v $tool)" bin; done
chmod +x bin/*
as_user() { env PATH="$tmp/bin" INSTALLED="$tmp/installed" "$@"; }
printf '%s\n' gcc make jq >installed
expect 1 "quickstart: not root and no sudo; ask for: apt-get install autoconf automake *" \
    as_user tree/quickstart packages
all=${output##*apt-get install }
[[ " $all " != *" jq "* ]] || fail "asks for what is there: $all"
[[ " $all " == *" fuse3 libfuse3-dev "* ]] || fail "does not ask for what a slow store needs: $all"
tr ' ' '\n' <<<"$all" >>installed
expect 0 "" as_user tree/quickstart packages
# Packages for the demonstration alone do not prevent the build; here there is nothing to build.
sed -i /fuse/d installed
expect 1 "*; ask for: apt-get install fuse3 libfuse3-dev
goes on without them: the demonstration takes the local disk
building in build/ *building in build/ failed" as_user tree/quickstart
rm -r tree/build
printf '%s\n' fuse3 libfuse3-dev >>installed
expect 1 "*; ask for: apt-get install clang libclang-rt-dev *" as_user tree/quickstart packages check
expect 1 "*no packages for 'fun'; there are those of check and bench" \
    as_user tree/quickstart packages fun
[[ $(ls tree) == quickstart ]] || fail "packages are not for building: $(ls tree)"
expect 1 "*usage: *quickstart: no command 'frob'" tree/quickstart frob
expect 1 "quickstart: no option '--fast' of check; see ./quickstart help" tree/quickstart check --fast
QUICKSTART_RANKS=two expect 1 "quickstart: QUICKSTART_RANKS=two: not a number of ranks" tree/quickstart

# A tree of another user.
rm -r tree/build
chmod a-w tree
other=()
if ((EUID == 0)); then
    chmod 755 .
    other=(setpriv --reuid=nobody --clear-groups)
fi
expect 0 "usage: *" "${other[@]}" tree/quickstart help
expect 1 "quickstart: $tmp/tree/build/log cannot be written; copy the tree *" \
    "${other[@]}" tree/quickstart build
chmod u+w tree
