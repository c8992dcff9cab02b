#!/bin/sh
# btio on plain files: the published norms come out, every kind of wrong data is seen, bad options
# create nothing. One rank; more of them, and zcache, are in tests/mpi/test-btio.sh.
set -eu

program=btio
bench=${BTIO:-./btio}
# shellcheck source=benchlib/functions.sh
. "$(dirname "$0")/../benchlib/functions.sh"

echo "right numbers, all ways to write them"
for method in full simple epio; do
    run 0 -f "ufs:$file" -m $method
    says "norms of class S to 1e-08, 810 KiB read back"
    says "  mean error 5  2.6527953975.*e+01"
    says "Mop/s computing"
    gone
done
run 0 -m none
says "norms of class S"
! grep -q "mean error" "$dir/out" || fail "a mean of no dumps"
run 0 -f "$file" --interval 7
says "9 dumps, one in 7 steps"
run 0 -f "$file" --grid 9 --steps 11
says "no norms are published, 85.4 KiB read back"
gone

run 0 -f "$file" -n 9 -steps 11
says "9 x 9 x 9 points, 11 steps"
run 0 -f "$file" --grid 20
says "20 x 20 x 20 points, 60 steps of 0.0008, as class W has"
run 1 -f "$file" --grid 20 --dt 0.01
says "norm 1 is not finite: a time step of 0.01 may be too long for 20 points"
run 1 -f "$file" --grid 20 --dt 0.01 --json "$dir/json"
grep -q '"result": "failed"' "$dir/json" || fail "no report of a run that diverges"
gone

echo "wrong data"
run 0 -f "ufs:$file" --keep --quiet
[ ! -s "$dir/out" ] || fail "--quiet prints"
[ "$(wc -c <"$file")" -eq 829440 ] || fail "not 12 dumps of 12 x 12 x 12 x 5 doubles"
cp "$file" "$dir/good"
run 0 -f "ufs:$file" --no-write
[ -e "$file" ] || fail "the file of an earlier run is deleted"

# spoil BYTE: turns it, so that it is another.
spoil()
{
    cp "$dir/good" "$file"
    old=$(od -An -tu1 -j "$1" -N 1 "$file")
    # shellcheck disable=SC2059
    printf "\\$(printf '%o' $((old ^ 1)))" | dd of="$file" bs=1 seek="$1" conv=notrunc 2>/dev/null
}
wrong()
{
    run 1 -f "ufs:$file" --no-write --json "$dir/json"
    says "FAILED"
    says "$1"
    ! grep -q 'Mop/s\|MiB/s' "$dir/out" || fail "figures for wrong data"
    ! grep -q 'mops\|seconds' "$dir/json" || fail "figures for wrong data in the JSON"
    grep -q '"result": "failed"' "$dir/json" || fail "the JSON does not tell"
}
spoil 0
wrong "dump 0 is not what was written"
spoil 700000
wrong "dump 10 is not what was written"
spoil 829439
wrong "dump 11, the last: 1 bytes are not those written, the first is byte 69119 of the dump"
dd if="$dir/good" of="$file" bs=69120 skip=3 seek=4 count=1 conv=notrunc 2>/dev/null
wrong "dump 4 is not what was written"
cp "$dir/good" "$file"
truncate -s 829432 "$file"
wrong "has 829432 bytes, where 829440 were expected"
cp "$dir/good" "$file"
echo more >>"$file"
wrong "has 829445 bytes"
rm "$file"

echo "behind the back of MPI"
for ranks in 1 4; do
    for method in full simple epio; do
        run 0 -f "ufs:$file" -m $method --posix-verify "$file"
        says "810 KiB read back, 810 KiB through POSIX"
    done
done
gone
# Cells of different sizes.
ranks=9
run 0 -f "ufs:$file" -n 11 -s 2 -i 1 --posix-verify "$file"
ranks=4
cp "$dir/good" "$file"
# What MPI-IO reads is right, what POSIX reads is not.
behind()
{
    run 1 -f "ufs:$file" --no-write --posix-verify "$dir/other" --json "$dir/json" "$@"
    says "FAILED"
    ! grep -q 'Mop/s\|MiB/s' "$dir/out" || fail "figures for wrong data"
    ! grep -q 'mops\|seconds' "$dir/json" || fail "figures for wrong data in the JSON"
}
cp "$dir/good" "$dir/other"
run 0 -f "ufs:$file" --no-write --posix-verify "$dir/other"
for byte in 0 69119 400000; do
    spoil $byte && mv "$file" "$dir/other" && cp "$dir/good" "$file"
    behind
    says "other read through POSIX: dump $((byte / 69120)) is not what was written"
done
spoil 829439 && mv "$file" "$dir/other" && cp "$dir/good" "$file"
behind
says "other read through POSIX: dump 11, the last: 1 bytes are not those written, \
the first is byte 69119"
truncate -s 829432 "$dir/other"
behind
says "rank 0: $dir/other seen through POSIX: 829432 bytes, where 829440 were expected"
cp "$dir/good" "$dir/other"
echo more >>"$dir/other"
behind
says "829445 bytes, where 829440"
rm "$dir/other"
behind
says "other cannot be opened through POSIX"
rm "$file"

run 0 -f "ufs:$file" -m epio --keep
for f in "$file".????; do
    cp "$f" "$dir/other${f#"$file"}"
done
run 0 -f "ufs:$file" -m epio --no-write --posix-verify "$dir/other"
printf '!' | dd of="$dir/other.0002" bs=1 seek=100000 conv=notrunc 2>/dev/null
behind -m epio
says "rank 2: $dir/other.0002 read through POSIX: dump 5 is not what was written"
[ "$(grep -c 'through POSIX' "$dir/out")" -eq 1 ] || fail "other ranks' files are said to be wrong"
rm "$dir/other.0003"
behind -m epio
says "rank 3: $dir/other.0003 cannot be opened through POSIX"
rm "$file".????
ranks=1

echo "MPI errors"
run 3 -f "ufs:$dir/nowhere/data"
says "MPI_File_.* of ufs:$dir/nowhere/data: "
run 3 -f "ufs:$file" --no-write
says "MPI_File_open of ufs:$file: "

report_goes "--grid 8 --steps 2" "-m epio"

echo "bad options"
bad --class X
says "choose one of S, W, A, B, C"
bad --method partial
bad --interval 0
bad --grid 5
bad --steps none
bad -m none --steps 10
says "nothing to verify"
bad --bogus
long=$(printf '%0300d' 0)
bad --hint "$long=1"
says "keys of at most"
bad --hint "cb_nodes=$long$long$long$long"
says "values of at most"
bad -m none --posix-verify "$file"
run 2 -c S
says "give -f"
ranks=2
bad
says "2 ranks are not a square number: give 1 or 4"
ranks=9
bad --grid 8
says "give at most 4 ranks"
ranks=1
run 2 -f "ufs:$file" --json "$dir/nowhere/json"
says "cannot be written"
gone
run 0 --help
says "162 x 162 x 162"
run 0 --version
echo "all well"
