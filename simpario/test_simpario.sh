#!/bin/sh
# simpario on plain files: right data passes, every kind of wrong data is seen, bad options
# create nothing. Two ranks, a few megabytes in a directory of its own.
set -eu

simpario=${SIMPARIO:-./simpario}
mpiexec=${MPIEXEC:-mpiexec}
command -v "${mpiexec%% *}" >/dev/null || { echo "skipped: no $mpiexec"; exit 77; }

dir=$(mktemp -d "${TMPDIR:-/tmp}/simpario.XXXXXX")
trap 'rm -rf "$dir"' EXIT
trap 'exit 1' HUP INT TERM
file=$dir/data
shape="--phases 4 --record 64K"

ranks=2

# run STATUS [OPTION]...: $ranks ranks, which have to end with STATUS; what they say is in $dir/out.
run()
{
    want=$1
    shift
    status=0
    # shellcheck disable=SC2086
    timeout -k 5 120 $mpiexec -n "$ranks" "$simpario" "$@" >"$dir/out" 2>&1 || status=$?
    [ $status -eq "$want" ] || fail "simpario $*: status $status, not $want"
}

fail()
{
    echo "FAILED: $*"
    cat "$dir/out"
    exit 1
}

says()
{
    grep -q -e "$1" "$dir/out" || fail "does not say: $1"
}

gone()
{
    [ ! -e "$file" ] || fail "$file is there"
}

echo "right data, all ways to access it"
for access in collective independent split icollective nonblocking; do
    for pattern in contiguous interleaved subarray3d subarray4d irregular; do
        run 0 -f "ufs:$file" $shape --access $access --pattern $pattern --posix-verify "$file"
        says "verified  512 KiB through MPI-IO, 512 KiB through POSIX"
        gone
    done
done
run 0 -f "$file" $shape --no-reopen --no-barrier --read-shift 1 --posix-verify "$file"
run 0 -f "ufs:$file" $shape --record 1001 --overwrite --repeat 3 --sync
says "repeat"
run 0 -f "ufs:$file" $shape --compute 5ms --compute-by sleep --json "$dir/json"
says "hidden behind computing: .* of write + close"
grep -q hidden_write_fraction "$dir/json" || fail "no hidden fraction in the JSON"
gone
for access in split icollective nonblocking; do
    run 0 -f "ufs:$file" $shape --phases 5 --record 1001 --access $access --sync --no-reopen \
        --read-shift 1 --compute 2ms --posix-verify "$file"
    run 0 -f "ufs:$file" --phases 1 --access $access
done
gone

echo "patterns"
# Every byte is where its stamp says, whatever the pattern: what one has written, another can read.
for pattern in subarray3d subarray4d irregular; do
    ranks=3
    run 0 -f "ufs:$file" $shape --record 15000 --pattern $pattern --read-shift 2 \
        --posix-verify "$file"
    ranks=1
    run 0 -f "ufs:$file" $shape --record 8 --pattern $pattern --posix-verify "$file"
    ranks=2
done
run 0 -f "ufs:$file" $shape --pattern subarray3d --piece 1 --record 59 --posix-verify "$file"
ranks=4
run 0 -f "ufs:$file" $shape --pattern subarray4d --piece 4 --posix-verify "$file"
says "4-D subarrays, blocks of 8 x 8 x 16 x 16, ranks 2 x 2 x 1 x 1"
ranks=2
run 0 -f "ufs:$file" $shape --pattern irregular --seed 7 --write --keep
run 0 -f "ufs:$file" $shape --pattern irregular --seed 8 --read
cp "$file" "$dir/good"
printf '\0\0\0' | dd of="$file" bs=1 seek=200001 conv=notrunc 2>/dev/null
run 1 -f "ufs:$file" $shape --pattern irregular --read
says "file byte 200001: .* zero byte"
run 1 -f "ufs:$file" $shape --pattern subarray4d --read
says "file byte 200001: .* zero byte"
rm "$file" "$dir/good"

echo "wrong data"
run 0 -f "ufs:$file" $shape --write --keep --quiet
[ ! -s "$dir/out" ] || fail "--quiet prints"
run 0 -f "$file" $shape --read
cp "$file" "$dir/good"
printf '\0\0\0' | dd of="$file" bs=1 seek=200001 conv=notrunc 2>/dev/null
run 1 -f "ufs:$file" $shape --read --json "$dir/json"
says "rank 1: phase 1, record byte 3393: file byte 200001: .* zero byte"
! grep -q 'MiB/s' "$dir/out" || fail "figures for wrong data"
! grep -q per_second "$dir/json" || fail "figures for wrong data in the JSON"
grep -q '"result": "failed"' "$dir/json" || fail "the JSON does not tell"

for access in split icollective nonblocking; do
    run 1 -f "ufs:$file" $shape --read --access $access
    says "rank 1: phase 1, record byte 3393: file byte 200001: .* zero byte"
done

dd if="$dir/good" of="$file" bs=4096 skip=3 seek=48 count=2 conv=notrunc 2>/dev/null
run 1 -f "ufs:$file" $shape --read
says "belongs at offset 12288 (-184320) of this file"

cp "$dir/good" "$file"
run 1 -f "ufs:$file" $shape --read --generation 2
says "this very offset of this file, generation 1 (stale: 2 was expected)"
run 1 -f "ufs:$dir/good" $shape --read
says "belongs to another file"
run 0 -f "ufs:$dir/good" $shape --read --stamp data
run 1 -f "ufs:$file" $shape --read --posix-verify "$dir/nowhere"
says "nowhere cannot be opened through POSIX"
truncate -s 500000 "$file"
run 1 -f "ufs:$file" $shape --read
says "500000 bytes, where 524288 were expected"
rm "$file"

echo "MPI errors"
run 3 -f "ufs:$dir/nowhere/data"
says "MPI_File_.* of ufs:$dir/nowhere/data: "

echo "bad options"
bad()
{
    run 2 -f "ufs:$file" --json "$dir/bad.json" "$@"
    [ "$(wc -l <"$dir/out")" -eq 1 ] || fail "not one line"
    says "$1"
    gone
    [ ! -e "$dir/bad.json" ] || fail "a report is there"
}
bad --record 10Q
bad --piece 4K
bad --piece 3K --pattern interleaved --record 64K
bad --piece 8 --pattern irregular
bad --record 1001 --pattern irregular
bad --record 1001 --pattern subarray3d
bad --record 8G --piece 1 --pattern subarray4d
bad --phases 0
bad --compute -1
bad --hint nothing
bad --bogus
bad --read-shift 2
run 2 $shape
says "give -f"
run 0 --help
says "hidden fraction"
run 0 --version
echo "all well"
