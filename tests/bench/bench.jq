# bench.jq - from reports of simpario to the results of a benchmark; see functions.sh.

def median: sort | (.[(length - 1) / 2 | floor] + .[length / 2 | floor]) / 2;
def spread: sort | {lowest: .[0], median: median, highest: .[-1], samples: ., runs: length};

# ---- one run ----

def busy: .write.busy_seconds + .read.busy_seconds + .sync.busy_seconds;

# What a slow store was asked for, from its counters before and after, and the ratio of the
# total time to what it could be if computing hid all I/O, or I/O all computing; and if that was so
# but for the ends, the first phase's computing and the last one's I/O.
def on_store($before; $after):
    .options.phases as $n
    | [.options.compute_seconds, .file_bytes / $before.write_rate / $n] as $phase
    | ($n * ($phase | max)) as $ideal
    | ($ideal + ($phase | min)) as $ends
    | .repeats[0].write.total_seconds as $total
    | {
        ideal_s: $ideal,
        total_of_ideal: ($total / $ideal),
        ideal_ends_s: $ends,
        total_of_ideal_ends: ($total / $ends),
        store_mb: (($after.write.bytes - $before.write.bytes) / 1e6),
        store_read_mb: (($after.read.bytes - $before.read.bytes) / 1e6),
        store_requests: ($after.write.requests - $before.write.requests),
        store_read_requests: ($after.read.requests - $before.read.requests),
        store_busy_s: (($after | busy) - ($before | busy))
    };

# Seconds, and MB/s of 10^6 bytes.  Nothing for a run that was not verified from end to end.
#
# write is what the slowest rank waited for in its own writes.  Where ranks share cores, that
# leaves out the time for which a rank did not even get to its write; elapsed is all the time
# from behind the open until after the close, with barriers and making the data.
def sample($case; $variant; $before; $after):
    select(.verification.result == "passed" and .verification.posix_bytes == .file_bytes)
    | .repeats[0].write as $w
    | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints, metrics: {
        write_mb_s: ($w.io_bytes_per_second / 1e6),
        write_close_mb_s: ($w.io_close_bytes_per_second / 1e6),
        elapsed_mb_s: (.file_bytes / ($w.total_seconds - $w.open_seconds) / 1e6),
        total_s: $w.total_seconds,
        open_s: $w.open_seconds,
        compute_s: $w.compute_seconds,
        wait_s: $w.wait_seconds,
        io_s: $w.io_seconds,
        io_close_s: $w.io_close_seconds,
        close_s: $w.close_seconds,
        access_ms: ($w.phase_io_seconds | median * 1e3),
        elapsed_ms: (($w.total_seconds - $w.open_seconds) / .options.phases * 1e3)
      }}
      + if $before == null then {} else {store: on_store($before; $after)} end
    | .metrics += .store
    | del(.store);

# The same of a program that opens several new files, one after the other: of the first open, and the
# median of later ones, seconds from open to close and what of it open, first access and close took.
def opens($case; $variant; $before):
    def took($which): {
        "\($which)_total_s": (map(.total_seconds) | median),
        "\($which)_open_s": (map(.open_seconds) | median),
        "\($which)_access_s": (map(.phase_io_seconds[0]) | median),
        "\($which)_close_s": (map(.close_seconds) | median)
    };
    select(.verification.result == "passed"
        and .verification.posix_bytes == .file_bytes * .options.repeat)
    | ([.options.phases * .options.compute_seconds, .file_bytes / $before.write_rate] | max) as $ideal_s
    | [.repeats[].write] as $w
    | {$case, $variant, ranks, bytes: .file_bytes, hints: .options.hints,
       metrics: ({$ideal_s} + ($w[:1] | took("first")) + ($w[1:] | took("later")))};

# ---- all runs ----

# The different values of f, in the order in which they come.
def in_order(f): reduce (.[] | f) as $k ([]; if any(.[]; . == $k) then . else . + [$k] end);

# Of the runs that gave numbers; each knows of how many runs that was.
def metrics($runs):
    . as $all
    | (.[0] // {} | keys_unsorted)
    | map({(.): (. as $k | [$all[][$k]] | spread + {$runs})})
    | add // {};

def variant($name):
    map(select(.variant == $name))
    | map(select(.failed | not)) as $good
    | length as $runs
    | {variant: $name, hints: $good[0].hints, ranks: $good[0].ranks, bytes: $good[0].bytes,
       $runs, failed: ($runs - ($good | length)), metrics: ([$good[].metrics] | metrics($runs))};

# A ratio to the best of ROMIO's settings says something only when each of them gave a number.
def best($metric):
    map(select(.variant | startswith("ufs:")) | .metrics[$metric].median)
    | if all(.[]; .) then max else null end;

def compared:
    best("write_mb_s") as $write
    | best("write_close_mb_s") as $close
    | best("elapsed_mb_s") as $elapsed
    | map(.of_best_ufs = if $write and (.metrics | length) > 0 then {
          write: (.metrics.write_mb_s.median / $write),
          write_close: (.metrics.write_close_mb_s.median / $close),
          elapsed: (.metrics.elapsed_mb_s.median / $elapsed)
      } else null end);

# The median of a variant over that of the one called $base; null where one has no number.
def ratio($variants; $base; $metric):
    .metrics[$metric].median as $own
    | [$variants[] | select(.variant == $base)][0].metrics[$metric].median as $other
    | if $own and $other then $own / $other else null end;

# From the samples: the JSON object that --json writes.
def results($benchmark; $conditions):
    . as $all
    | {$benchmark, $conditions, cases: (in_order(.case) | map(. as $case
        | [$all[] | select(.case == $case)]
        | {$case, variants: (. as $mine | in_order(.variant)
            | map(. as $name | $mine | variant($name))
            | compared)}))};

# ---- cells of a table ----

# A number with d digits after the point.
def n(d):
    if . == null then "-"
    elif . < 0 then "-" + (-. | n(d))
    else (. * pow(10; d) | round + 0 | tostring) as $digits
        | if d == 0 then $digits
          else (if ($digits | length) <= d then "0" * (d + 1 - ($digits | length)) + $digits else $digits end)
              | .[:-d] + "." + .[-d:]
          end
    end;

# Behind a number that is not of all runs.
def mark: if . == null or .runs == (.samples | length) then ""
    else ", \(.runs - (.samples | length)) of \(.runs) failed" end;

# A median, and that in its spread.
def m(d): if . == null then "failed" else (.median | n(d)) + mark end;
def s(d): if . == null then "failed"
    elif .runs == 1 then .median | n(d)
    else "\(.median | n(d)) (\(.lowest | n(d))-\(.highest | n(d)))\(mark)" end;
