# compare.jq - from the report of a run to one line of results; see compare.sh.

# Seconds, the maximum over the ranks, and nothing where not every byte was verified, what was
# written in the file itself.
def simpario($what):
    (if $what == "read" then "read" else "write" end) as $direction
    | select(.verification.result == "passed"
        and (if $what == "read" then .verification.mpi_bytes else .verification.posix_bytes end) == .file_bytes)
    | .repeats[0][$direction] as $t
    | {bytes: .file_bytes, peak_rss: .peak_rss_bytes, open: $t.open_seconds, compute: $t.compute_seconds,
       first: $t.phase_io_seconds[0], own: $t.io_seconds, close: $t.close_seconds, total: $t.total_seconds};

# total is computing and writing, what is read is only there to be verified.  With "none" it is
# computing alone, which a run that writes is told as its "compute".
def btio($how):
    select(.verification.result == "passed" and .verification.norms.residual.published != null
        and ($how == "none" or
            (.verification.read_bytes >= .file_bytes and .verification.posix_bytes == .file_bytes)))
    | {bytes: .file_bytes, peak_rss: .peak_rss_bytes, open: .write.open_seconds,
       own: .write.write_seconds, close: .write.close_seconds, total: .compute.total_seconds};

# What a slow store was asked for meanwhile.
def asked($before; $after):
    {requests: ($after.write.requests + $after.read.requests - $before.write.requests - $before.read.requests),
     busy: ([$after, $before | .write.busy_seconds + .read.busy_seconds + .sync.busy_seconds] | .[0] - .[1])};

# One line of results.  The input: the reports of one run, or nothing where it failed.
def line($work; $round; $before; $after; $alone; $why):
    ($work | split("|")) as [$program, $what, $store, $ranks, $size, $compute, $how, $variant]
    | {$program, $what, $store, ranks: ($ranks | tonumber), $size, compute: ($compute | tonumber? // null), $how, $variant, $round}
      + if length == 0 then {failed: $why}
        else {library: .[0].mpi_library, seconds: (.[0] | if $program == "btio" then btio($how) + {compute: $alone} else simpario($what) end)}
            + if $before then {store_asked: asked($before; $after)} else {} end
            + if $what == "timeline" then {timeline: .[0].repeats[0].write.timeline} else {} end
        end;
