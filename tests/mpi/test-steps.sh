#!/usr/bin/env bash
# A job publishes steps of a file, and other jobs read them out of the daemons' memory while it
# runs: whole steps, or an error.  Either side, or the daemon, is killed in the middle of it.
# The last case has dedicated aggregators; test-steps-long.sh has the others with them.
set -u
# shellcheck source=tests/mpi/functions.sh
. "$(dirname -- "${BASH_SOURCE[0]}")/functions.sh"
export ZCACHE_TIMEOUT=10s
# Two aggregators where there are two ranks, and pages of either daemon.
small='zcache_block_size=64K,zcache_sync_level=staged,cb_nodes=2,cb_config_list=*:2'
jobs=()
dedicated= # each job has two dedicated aggregators of its own

# own_aggregators: for the next job.
own_aggregators() {
    [[ $dedicated && ${ZCACHE_DAEMONS:-} ]] || return 0
    first_aggregator=$((first_aggregator + 10))
    start_aggregators 2 --page-size 64K
}

# job NAME RANKS ACTION ...: in the background, with its output in $tmp/NAME.out.
job() {
    local name=$1 ranks=$2

    shift 2
    own_aggregators
    mpi "$ranks" "$programs/t_steps" "zcache:$root/f" "$tmp" "say:begun.$name" "$@" \
        >"$tmp/$name.out" 2>&1 </dev/null &
    jobs+=("$name=$!")
}
pid_of() {
    local j

    for j in "${jobs[@]}"; do [[ $j != "$1="* ]] || echo "${j#*=}"; done | tail -n 1
}
# ends NAME ...: each has ended, and all was as it should be.
ends() {
    local name

    for name; do wait "$(pid_of "$name")" || fail "$name: $(cat "$tmp/$name.out")"; done
}
# heard NAME: a job says it.
heard() { wait_for 60 test -e "$tmp/$1" || fail "$1 is not said: $(tail "$tmp"/*.out)"; }
# kills NAME: all its ranks.
kills() {
    local pid

    for pid in /proc/[0-9]*; do
        [[ $(readlink "$pid/exe" 2>/dev/null) == "$(readlink -f "$programs/t_steps")" ]] &&
            { tr '\0' '\n' <"$pid/cmdline"; } 2>/dev/null | grep -qsx "say:begun.$1" &&
            kill -KILL "${pid#/proc/}"
    done
    wait "$(pid_of "$1")"
}
written() { (($(stat_of 0 written_bytes) + $(stat_of 1 written_bytes) + 0 >= $1)); }
waits() { [[ $(stat_of 0 step_waits) == "$1" ]]; }
reads_nothing() {
    (($(stat_of 0 store_reads) + $(stat_of 1 store_reads) == 0)) ||
        fail "the daemons have read the file"
}
over() {
    [[ ! $dedicated ]] || at_least 110 sessions_opened 2 || fail "$1: no rank uses an aggregator"
    first_aggregator=100
    stop_daemons || fail "$1: not drained"
    rm -rf "$root/f" "${tmp:?}"/{begun.*,go*,said*}
    jobs=()
}

# A reader that is there before the file, overwriting in place, and records that are appended.
side_by_side() {
    start_daemons 2 --page-size 64K
    job reader 2 "open:r:zcache_wait_step=1,$small" step:1 size:300000 read:1:0:300000 say:said.1 \
        wait:2 step:2 read:2:0:150000 read:1:150000:150000 say:said.2 until:go.3 size:300000 \
        read:1:150000:150000 wait:3:1m step:3 size:400000 read:3:300000:100000 read:2:0:150000 \
        say:said.3 "fails:io:closed the file; step 3 was the last one" wait:4 step:3 \
        read:3:300000:100000 close
    heard begun.reader
    job writer 2 "open:w:zcache_steps=true,$small" step:0 write:1:0:300000 sync step:1 \
        until:said.1 write:2:0:150000 until:go.2 sync step:2 until:said.2 write:3:300000:100000 \
        until:go.4 sync until:said.3 close
    heard said.1
    wait_for 60 written 450000 || fail "nothing of step 2 comes: $(cat "$tmp/writer.out")"
    job late 1 "open:r:zcache_wait_step=1,$small" read:1:150000:150000 \
        "fails:io:overwritten by a later step, which is not finished" read:1:0:150000 close
    ends late
    touch "$tmp/go.2"
    wait_for 60 written 550000 || fail "nothing of step 3 comes: $(cat "$tmp/writer.out")"
    touch "$tmp/go.3"
    wait_for 60 waits 1 || fail "the reader does not wait: $(cat "$tmp/reader.out")"
    touch "$tmp/go.4"
    ends reader writer
    reads_nothing
    over "side by side"
}

# What readers find then; the next writer goes on counting.
the_writer_dies() {
    start_daemons 1 --page-size 64K
    job writer 2 "open:w:zcache_steps=true,$small" write:1:0:300000 sync say:said.1 \
        until:said.0 write:2:0:150000 until:never
    heard said.1
    job reader 1 "open:r:zcache_wait_step=1,$small" read:1:0:300000 say:said.0 \
        "fails:io:died in step 2; step 1 is the last one that is whole" wait:2 step:1 \
        read:1:0:300000 close
    wait_for 60 waits 1 || fail "the reader does not wait: $(cat "$tmp/reader.out")"
    wait_for 60 at_least 0 written_bytes 450000 || fail "nothing of step 2 comes"
    job plain 1 "open:r:$small" size:300000 read:1:150000:150000 \
        "fails:io:overwritten by a later step" read:1:0:150000 close
    ends plain
    kills writer
    ends reader
    job late 1 "fails:io:died in step 2" "open:r:zcache_wait_step=2,$small" \
        "open:r:zcache_wait_step=1,$small" read:1:150000:150000 \
        "fails:io:these bytes of step 1 have been overwritten" read:1:0:150000 close
    ends late
    job next 2 "open:w:zcache_steps=true,$small" step:1 write:3:0:300000 sync step:2 close
    ends next
    job last 1 "open:r:zcache_wait_step=2,$small" step:2 read:3:0:300000 close
    ends last
    over "the writer dies"
}

the_reader_dies() {
    start_daemons 1 --page-size 64K
    job writer 2 "open:w:zcache_steps=true,$small" write:1:0:300000 sync say:said.1 until:go \
        write:2:0:300000 sync step:2 close
    job reader 1 "open:r:zcache_wait_step=1,$small" read:1:0:300000 wait:2
    heard said.1
    wait_for 60 waits 1 || fail "the reader does not wait: $(cat "$tmp/reader.out")"
    kills reader
    wait_for 60 waits 0 || fail "a reader that is gone is still waited with"
    touch "$tmp/go"
    ends writer
    over "the reader dies"
}

# Both go on with the next daemon: the reader waits for a step that was published since.
the_daemon_dies() {
    mkdir -p "$tmp/journal"
    start_daemons 1 --page-size 64K --journal "$tmp/journal"
    job writer 2 "open:w:zcache_steps=true,$small" write:1:0:300000 sync until:said.0 \
        write:2:0:150000 until:go sync step:2 until:said.2 close
    job reader 1 "open:r:zcache_wait_step=1,$small" read:1:0:300000 say:said.0 wait:2:1m step:2 \
        read:2:0:150000 read:1:150000:150000 say:said.2 close
    heard said.0
    wait_for 60 waits 1 || fail "the reader does not wait: $(cat "$tmp/reader.out")"
    wait_for 60 at_least 0 written_bytes 450000 || fail "nothing of step 2 comes"
    stop_daemon 0 KILL
    start_daemon 0 --root "$root" --page-size 64K --journal "$tmp/journal"
    wait_for 60 waits 1 || fail "the reader does not wait again: $(cat "$tmp/reader.out")"
    touch "$tmp/go"
    ends writer reader
    over "the daemon dies"
}

refusals() {
    start_daemons 0
    job embedded 2 "fails:unsupported:zcache_steps needs daemons" open:w:zcache_steps=true \
        "fails:unsupported:zcache_wait_step needs daemons" open:r:zcache_wait_step=1
    ends embedded
    [[ ! -e $root/f ]] || fail "a refused open leaves a file"
    start_daemons 1 --page-size 64K
    job daemon 2 "fails:no_file:" open:r:zcache_wait_step=1,zcache_wait_limit=50ms \
        "fails:arg:MPI_MODE_RDONLY" open:w:zcache_wait_step=1 \
        "fails:arg:bypass" open:w:zcache_steps=true,zcache_on_daemon_loss=bypass \
        "open:w:$small" "fails:arg:opened with it" wait:1 step:none close \
        "fails:io:no job writes steps of it" open:r:zcache_wait_step=1,zcache_wait_limit=50ms \
        "open:w:zcache_steps=true,$small" write:1:0:300000 sync say:said until:go close
    heard said
    job second 1 "fails:in_use:one may at a time" "open:w:zcache_steps=true,$small" \
        "fails:io:a job writes steps of the file, and step 1 is the last one" \
        open:r:zcache_wait_step=2,zcache_wait_limit=50ms
    ends second
    touch "$tmp/go"
    ends daemon
    over refusals
}

make_root
for way in ${WAYS:-side_by_side the_writer_dies the_reader_dies the_daemon_dies refusals}; do
    "$way"
done
dedicated=yes
for way in ${WAYS_DEDICATED:-the_writer_dies}; do
    "$way"
done
