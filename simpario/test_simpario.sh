#!/bin/sh
# simpario on plain files: right data passes, every kind of wrong data is seen, bad options
# create nothing. Two ranks, a few megabytes in a directory of its own.
set -eu

program=simpario
bench=${SIMPARIO:-./simpario}
# shellcheck source=benchlib/functions.sh
. "$(dirname "$0")/../benchlib/functions.sh"
ranks=2
shape="--phases 4 --record 64K"

echo "right data, all ways to access it"
for access in collective independent split icollective nonblocking exchange; do
    for pattern in contiguous interleaved subarray3d subarray4d irregular; do
        run 0 -f "ufs:$file" $shape --access $access --pattern $pattern --posix-verify "$file"
        says "verified  512 KiB through MPI-IO, 512 KiB through POSIX"
        gone
    done
done
run 0 -f "$file" $shape --no-reopen --no-barrier --read-shift 1 --posix-verify "$file"
run 0 -f "ufs:$file" $shape --record 1001 --overwrite --repeat 3 --sync
says "repeat"
run 0 -f "ufs:$file" $shape --progress --quiet
says "writing 1/4"
run 0 -f "ufs:$file" $shape --quiet
[ ! -s "$dir/out" ] || fail "progress is shown where there is no terminal"
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

echo "phases in random order"
for access in collective independent nonblocking; do
    for pattern in contiguous interleaved irregular; do
        run 0 -f "ufs:$file" $shape --phases 7 --access $access --pattern $pattern \
            --order random --read-shift 1 --posix-verify "$file"
    done
done
# What is wrong is found when its turn comes.
run 0 -f "ufs:$file" $shape --order random --seed 5 --write --keep
printf x | dd of="$file" bs=1 conv=notrunc 2>"$dir/dd" || fail "dd"
run 1 -f "ufs:$file" $shape --read --keep
says "phase 0, record byte 0: "
run 1 -f "ufs:$file" $shape --read --order random --seed 5
says "phase [1-3], record byte 0: "

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
# Many variables in a call; ranks have different amounts.
for map in f g i; do
    ranks=3
    run 0 -f "ufs:$file" --phases 2 --record 20K --pattern climate --map $map --read-shift 2 \
        --posix-verify "$file"
    says "climate, map $map, "
    ranks=4
    run 0 -f "ufs:$file" --phases 2 --record 9 --pattern climate --map $map --access icollective
    run 0 -f "ufs:$file" --phases 2 --record 20K --pattern climate --map $map --access exchange
done
# Written in blocks along both dimensions, read by columns, which need not divide by the ranks.
for access in collective independent nonblocking exchange; do
    run 0 -f "ufs:$file" $shape --pattern blocks --read-shift 1 --access $access \
        --posix-verify "$file"
    says "blocks of 64 x 128, ranks 2 x 2; read by columns"
done
run 0 -f "ufs:$file" $shape --pattern blocks --write --keep
run 0 -f "ufs:$file" $shape --pattern interleaved --read --keep
printf x | dd of="$file" bs=1 seek=1024 conv=notrunc 2>"$dir/dd" || fail "dd"
run 1 -f "ufs:$file" $shape --pattern blocks --read
says "rank 2: phase 0, record byte 0: file byte 1024: "
ranks=3
run 0 -f "ufs:$file" $shape --record 5K --piece 256 --pattern blocks --no-reopen \
    --posix-verify "$file"
run 0 -f "ufs:$file" $shape --record 8 --pattern blocks --posix-verify "$file"
says "blocks of 1 x 1, ranks 3 x 1"
# Sides of bricks are powers of two, whatever the record was.
run 0 -f "ufs:$file" $shape --record 100000 --pattern lattice --read-shift 2 --posix-verify "$file"
says "lattice, bricks of 4 x 4 x 4 x 8 sites of 192 bytes, ranks 3 x 1 x 1 x 1"
ranks=4
run 0 -f "ufs:$file" $shape --piece 96 --pattern lattice --access icollective --posix-verify "$file"
says "lattice, bricks of 4 x 4 x 4 x 8 sites of 96 bytes, ranks 2 x 2 x 1 x 1"
ranks=2
# One rank has the data, others none; each may read it.
for access in independent nonblocking collective icollective split exchange; do
    run 0 -f "ufs:$file" --pattern arrays --array 16x9x5 --access $access --posix-verify "$file"
    says "verified  28.1 KiB through MPI-IO, 28.1 KiB through POSIX"
done
ranks=3
run 0 -f "ufs:$file" --pattern arrays --array 16x9x5 --read-shift 2 --sync --posix-verify "$file"
says "arrays of 16 x 9 x 5 floats by one rank, independent"
gone
ranks=4
for access in independent icollective split exchange; do
    run 0 -f "ufs:$file" --pattern checkpoint --record 10000 --access $access \
        --posix-verify "$file"
    says "verified  119 KiB through MPI-IO, 119 KiB through POSIX"
done
says "checkpoint in 2 files, 2 parts per rank, blocks of 4.95 KiB not aligned"
run 0 -f "ufs:$file" --pattern checkpoint --record 10000 --files 4 --parts 1 --read-shift 1 \
    --phases 1 --posix-verify "$file"
run 0 -f "ufs:$file" --pattern checkpoint --record 10000 --files 1 --parts 5 --read-shift 3 \
    --no-reopen --align 4K --repeat 2 --overwrite --posix-verify "$file"
run 0 -f "ufs:$file" --pattern checkpoint --record 10000 --align 4K --access independent \
    --hint romio_ds_write=disable --posix-verify "$file" --gaps
run 0 -f "ufs:$file" --pattern checkpoint --record 10000 --align 4K --access exchange \
    --posix-verify "$file" --gaps
for f in "$file"*; do
    [ ! -e "$f" ] || fail "$f is there"
done
# Dimensions in another order in memory, ragged blocks, another representation in the file.
permuted="--record 5040 --phases 24 --permute all"
for pattern in subarray4d ragged4d; do
    for how in "--read-shift 1" "--permute-by copy" "--access icollective" \
        "--datarep external32 --access independent" "--datarep external32 --permute-by copy"; do
        run 0 -f "ufs:$file" --pattern $pattern $permuted $how --posix-verify "$file"
        says "verified  \(472.5\|606.4\) KiB through MPI-IO, \(472.5\|606.4\) KiB through POSIX"
    done
done
says "ragged blocks of an array of 7 x 11 x 6 x 7, ranks 2 x 2 x 1 x 1, .* order all by copy"
run 0 -f "ufs:$file" --pattern lattice --record 19200 --permute 3210 --write --keep
# In the file there is nothing to see of it; in memory the order is another.
run 0 -f "ufs:$file" --pattern lattice --record 19200 --permute 0231 --read --keep
# Memory has the integers of this machine, the file the same bytes: MPI has to convert.
run 0 -f "ufs:$file" --pattern lattice --record 19200 --datarep external32 --read
rm "$file"
# Written by four ranks, read by fewer and by more; some of them read several files.
for files in 1 4; do
    ranks=4
    written="--pattern checkpoint --record 12000 --parts 6 --files $files --writers 4"
    run 0 -f "ufs:$file" ${written% --writers 4} --write --keep
    for ranks in 1 2 8 12; do
        run 0 -f "ufs:$file" $written --read --posix-verify "$file" --json "$dir/json"
        says "verified  145.. KiB through MPI-IO, 145.. KiB through POSIX"
    done
    grep -q '"writers": 4,' "$dir/json" || fail "the JSON does not tell of 4 writers"
    run 0 -f "ufs:$file" $written --read --access icollective
    ranks=5
    run 2 -f "ufs:$file" $written --read
    says "24 parts in $files files cannot be shared evenly by 5 ranks"
done
printf '!' | dd of="$file.0003" bs=1 seek=4000 conv=notrunc 2>"$dir/dd"
ranks=2
run 1 -f "ufs:$file" $written --read
says "rank 1: .*file byte 4000: "
rm "$file" "$file".000?
# What was there and is longer is no fault where it is written over, and only there.
run 0 -f "ufs:$file" $shape --write --keep
run 0 -f "ufs:$file" $shape --phases 3 --overwrite --keep
run 0 -f "ufs:$file" $shape --phases 3 --keep
[ "$(wc -c <"$file")" -eq 393216 ] || fail "not three phases of 128 KiB"

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

# Of a checkpoint: in the table of offsets, in the header of a block, in its data, in a gap.
run 0 -f "ufs:$dir/ck" --pattern checkpoint --record 5000 --align 4K --write --keep \
    --access independent --hint romio_ds_write=disable
cp "$dir/ck.0001" "$dir/good-ck"
ck_wrong()
{
    cp "$dir/good-ck" "$dir/ck.0001"
    printf '!' | dd of="$dir/ck.0001" bs=1 seek="$1" conv=notrunc 2>/dev/null
    shift
    run 1 -f "ufs:$dir/ck" --pattern checkpoint --record 5000 --align 4K --read "$@"
    says "rank 1: "
    ! grep -q 'rank 0: .*byte' "$dir/out" || fail "the other file is said to be wrong"
}
ck_wrong 70
says "file byte 70, of a header"
ck_wrong 4100
says "phase 0, record byte 4: file byte 4100, of a header"
ck_wrong 12300
says "phase 1, record byte 12: file byte 12300, of a header"
ck_wrong 13000
says "phase 1, record byte 712: file byte 13000: "
run 0 -f "ufs:$dir/ck" --pattern checkpoint --record 5000 --align 4K --read --no-verify
ck_wrong 2000 --posix-verify "$dir/ck" --gaps
says "ck.0001 read through POSIX: byte 2000, of a gap that is not written"
cp "$dir/ck.0000" "$dir/ck.0001"
run 1 -f "ufs:$dir/ck" --pattern checkpoint --record 5000 --align 4K --read
says "rank 1: file byte 8, of a header"
rm "$dir/ck.0000" "$dir/ck.0001" "$dir/good-ck"

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
run 0 -f "ufs:$file" $shape --no-verify --posix-verify "$file" --keep
says "verified  in part: 0 B through MPI-IO, 512 KiB through POSIX"
cp "$dir/good" "$file"
run 1 -f "ufs:$file" $shape --read --posix-verify "$dir/nowhere"
says "nowhere cannot be opened through POSIX"
truncate -s 500000 "$file"
run 1 -f "ufs:$file" $shape --read
says "500000 bytes, where 524288 were expected"
run 1 -f "ufs:$file" $shape --read --no-verify
says "500000 bytes, where 524288 were expected"
for access in independent split icollective nonblocking; do
    run 1 -f "ufs:$file" $shape --read --access $access --pattern interleaved
    says "500000 bytes, where 524288 were expected"
done
truncate -s 0 "$dir/empty"
run 1 -f "ufs:$dir/empty" --read --pattern checkpoint --files 1 --phases 1
says "rank 0: MPI_File_get_size of ufs:$dir/empty: 0 bytes, where "
rm "$file"

echo "MPI errors"
# Hydra 4.0 ends at once when it is told to abort, sometimes before it has passed on what was said.
for _ in 1 2 3 4; do
    run 3 -f "ufs:$dir/nowhere/data"
    ! grep -q "MPI_File_.* of ufs:$dir/nowhere/data: " "$dir/out" || break
done
says "MPI_File_.* of ufs:$dir/nowhere/data: "

report_goes "--phases 2 --record 4K" "--pattern checkpoint --files 2"

echo "bad options"
bad --record 10Q
bad --piece 4K
bad --piece 3K --pattern interleaved --record 64K
bad --piece 8 --pattern irregular
bad --piece 8 --pattern climate
bad --map g --pattern irregular
bad --record 1001 --pattern blocks
bad --record 8G --piece 1 --pattern blocks
bad --record 95 --piece 96 --pattern lattice
bad --record 1001 --pattern irregular
bad --record 1001 --pattern subarray3d
bad --record 8G --piece 1 --pattern subarray4d
bad --files 3 --pattern checkpoint
bad --parts 3 --pattern checkpoint --record 1000
bad --record 8G --pattern checkpoint
bad --read-shift 1 --pattern checkpoint --no-reopen
bad --piece 8 --pattern checkpoint
bad --permute 3211 --pattern subarray4d
bad --permute 3210 --pattern subarray3d
bad --permute-by copy --pattern subarray4d
bad --permute 3210 --permute-by copy --pattern subarray4d --access split
bad --permute 3210 --pattern subarray4d --access exchange
bad --datarep external32 --pattern irregular
bad --datarep external32 --pattern subarray4d --piece 4
bad --files 2
bad --writers 2 --read
bad --writers 2 --pattern checkpoint
bad --writers 2 --pattern checkpoint --read --read-shift 1
bad --align 4K --pattern arrays
bad --array 5x5 --pattern arrays
bad --array 5x0x5 --pattern arrays
bad --array 2000000000x2000000000x2000000000 --pattern arrays
bad --array 5x5x5
bad --record 4K --pattern arrays
bad --gaps
bad --phases 0
bad --compute -1
bad --hint nothing
bad --bogus
long=$(printf '%0300d' 0)
bad --hint "$long=1"
bad --hint "cb_nodes=$long$long$long$long"
run 0 -f "ufs:$file" $shape --hint "$(printf '%0255d' 0)=$(printf '%01024d' 0)"
bad --read-shift 2
bad --access exchange --order random
run 2 $shape
says "give -f"
run 0 --help
says "hidden fraction"
run 0 --version
echo "all well"
