# seeds_goals.jq - from the results of seeds.sh, with what it compares, to what was to be reached.
include "bench";

# The variants of a case, or of its parts, "NAME: ..."; one that failed has no figures.
def of_case($name): .cases[] | select(.case | . == $name or startswith($name + ":")) | .variants[];

def zcache: select(.variant | startswith("zcache:"));
def seen: (.metrics.write_mb_s // .metrics.seen_mb_s).median;

# at_least, at_most: a row; the worst of the figures is compared with the target.  There is none
# for a case that did not run; where a variant failed, that has not reached it.
def row($result; $reach; $all; $is; $met): if ($all | length) == 0 then empty
    elif $all | any(. == null) then {$result, $reach, is: null, met: false}
    else {$result, $reach, $is, $met} end;
def at_least($result; $reach; f): [f] as $all
    | ($all | min) as $is | row($result; "\($reach)"; $all; $is; $is >= $reach);
def at_most($result; $reach; f): [f] as $all
    | ($all | max) as $is | row($result; "at most \($reach)"; $all; $is; $is <= $reach);

def part($a; $b): if $a and $b then $a / $b else null end;

# What is seen with the datatype: `copy`, of what is seen where the program packs by itself, and
# `order`, of what is seen where the memory is as the file.
def permuted($case): [of_case($case) | zcache]
    | map({key: .variant, value: .}) | from_entries as $all
    | $all | to_entries[] | select(.key | endswith(", permuted"))
    | (.key | rtrimstr(", permuted")) as $way
    | $all[$way + ", permuted by a copy"] as $copy
    | {copy: (if $copy then part(.value | seen; $copy | seen) else null end),
        order: .value.beside.of_order};

# As fast as the program by itself, or nearly as fast as without another order.
def as_permuted($case): [permuted("permute: " + $case)] as $all
    | ($all | map(.copy)) as $copies
    | row("PDS/PIO: permuted \($case), of the program's copy"; "0.95, or 0.8 of unpermuted"; $copies;
        $copies | min; $all | all(.copy >= 0.95 or .order >= 0.8));

def goals:
    . as $all
    | at_least("PAIO: arrays of one process, as seen, of direct writing"; 2.5;
        of_case("arrays") | zcache | .beside.x_seen),
    at_least("PAIO: the same without computing, one daemon"; 2.5;
        of_case("daemons") | select(.variant == "zcache: 1 of them") | .beside.x_seen),
    at_least("PAIO: two daemons of one, with the close"; 1.7;
        of_case("daemons") | select(.variant == "zcache: 2 of them") | .beside.of_one_stored),
    at_least("PAIO: three daemons of one, with the close"; 2.3;
        of_case("daemons") | select(.variant == "zcache: 3 of them") | .beside.of_one_stored),
    at_least("PAIO: up to four times the caches, as seen, of direct writing"; 1;
        of_case("memory") | zcache | .beside.x_seen),
    at_least("rbIO: checkpoints by ranks, as seen, of memcpy"; 0.37;
        of_case("checkpoint") | zcache | select(.variant | test("dedicated|no computing") | not)
        | .beside.of_memory),
    at_least("rbIO: checkpoints by dedicated aggregators, as seen, of memcpy"; 0.37;
        of_case("checkpoint") | select(.variant | test("dedicated") and (test("no computing") | not))
        | .beside.of_memory),
    at_least("rbIO: checkpoints without computing, stored, of the store"; 0.85;
        of_case("checkpoint") | zcache | select(.variant | test("no computing")) | .beside.of_store),
    at_most("PIO: memory of an owner of 64 clients, of one"; 1.25;
        [of_case("owners") | .metrics.owner_mb.median // empty]
        | if length == 3 then .[2] / .[0] else select(length > 0) | null end),
    as_permuted("blocks", "ragged blocks", "blocks, external32", "blocks, registered"),
    at_least("PDS/PIO: climate model, by calls, as seen, of serial"; 10;
        of_case("climate") | select(.variant == "zcache: embedded, calls") | .beside.of_serial),
    at_least("PDS/PIO: climate model, by calls, as seen, of PnetCDF in memory"; 1;
        of_case("climate") | select(.variant == "zcache: embedded, calls") | .beside.of_memory),
    at_most("Producer and consumer: reads of the file system"; 0;
        .handover // empty | .cases[0].variants[] | zcache | .metrics.reads.median);
