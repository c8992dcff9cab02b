#!/usr/bin/env bash
# zcache in jobs of Slurm: the job scripts of packaging/slurm, run by an ordinary user; prolog and
# epilog; a job that is cancelled.
. "$(dirname -- "$0")/functions.sh"
scripts=$(cd "$(dirname -- "$0")/../../packaging/slurm" && pwd)
slurm_more='Prolog=@TMP@/hooks/prolog
Epilog=@TMP@/hooks/epilog
TaskProlog=@TMP@/hooks/task-prolog
PrologFlags=Alloc'
slurm_up 3
zcput=$build/tests/daemon/zcput
library=$build/adio_zcache/.libs/libzcache.so
as_user=(setpriv --reuid=games --regid=games --clear-groups)
"${as_user[@]}" test -x "$zcput" || {
    echo "jobs are root's, for others may not look into $build"
    as_user=()
}
mkdir root hooks
mkdir -m 1777 states
[[ ! ${as_user[*]} ]] || chown games . root "$HOME"
export PATH=$build:$PATH
cd root || exit 99
printf 'idle-time = 0\n' >../lazy.conf # what is written is written back when it has to be

# Prolog and epilog are installed throughout, for jobs that ask for them.
fill() { # NAME
    sed -e "s|@sysconfdir@/zcache|$tmp/hooks|" -e "s|@bindir@/zcachectl|$zcachectl|" \
        -e "s|@bindir@|$build|" -e "s|@libdir@|${library%/*}|g" "$scripts/$1.in" >"$tmp/hooks/$1"
    chmod 755 "$tmp/hooks/$1"
}
for name in prolog epilog task-prolog; do fill $name; done
printf 'WHEN=comment ROOT=%s STATE=%s OPTIONS=(--cache-size 16M --config %s)\n' \
    "$tmp/root" "$tmp/states" "$tmp/lazy.conf" >"$tmp/hooks/slurm.conf"

# ---- daemons on nodes of their own ----
cat >../ranks <<'END'
#!/bin/sh
for file in "$ZCACHE_DAEMONS"/*.addr; do
    echo "rank $SLURM_PROCID on $(uname -n), daemon on $(sed -n 's/^host //p' "$file")"
    "$1" write "$file" "$2.$SLURM_PROCID" 1M </dev/null
done
END
chmod +x ../ranks

ended() { # STATE WORDS ...: of the job's output, in any order
    local words

    [[ $job_state == "$1" ]] || fail "job $job_state, not $1: $(cat "$tmp/job.out")"
    for words in "${@:2}"; do
        grep -qE -- "$words" "$tmp/job.out" || fail "no \"$words\" in $(cat "$tmp/job.out")"
    done
}
no_daemon() {
    local i

    for i in h1 h2 h3; do
        ! on $i pgrep -x zcached >/dev/null || fail "a daemon stays on $i: $(on $i ps ax)"
    done
}
written() { # FILE BYTES
    [[ $(stat -c %s "$1") == "$2" ]] || fail "$1: $(ls -l "$1")"
}

export IO_NODES=1
job 120 --nodes=3 "$scripts/io-nodes.sbatch" -n 2 "$tmp/ranks" "$zcput" "$tmp/root/f"
ended COMPLETED "rank 0 on h1, daemon on h3" "rank 1 on h2, daemon on h3"
written f.0 1048576
written f.1 1048576
no_daemon
[[ -z $(ls -A "$HOME/.zcache") ]] || fail "left: $(ls -A "$HOME/.zcache")"
IO_NODES=3 job 120 --nodes=3 "$scripts/io-nodes.sbatch" true
ended FAILED "IO_NODES=3: a job of 3 nodes has 1 to 2 for it"
job 120 --nodes=3 "$scripts/io-nodes.sbatch" -n 2 sh -c 'exit 7'
ended FAILED
on h0 scontrol show job "$job_id" | grep -q ExitCode=7:0 || fail "another exit status"

# MPI ranks of one node, daemons on two others.
if [[ -e $library && -x $build/simpario/simpario ]]; then
    IO_NODES=2 job 200 --nodes=3 --ntasks-per-node=2 "$scripts/io-nodes.sbatch" -n 2 --mpi=pmi2 \
        "$build/simpario/simpario" -f "zcache:$tmp/root/x" -p 4 -r 64K -q --keep
    ended COMPLETED
    written x $((4 * 2 * 64 * 1024))
    ! grep -q "no file was opened" "$tmp/job.out" || fail "$(cat "$tmp/job.out")"
else
    echo "no MPI program was run: a build without the plugin, or without the benchmarks"
fi

# ---- daemons beside the ranks ----
job 120 --nodes=2 "$scripts/same-nodes.sbatch" -n 2 "$tmp/ranks" "$zcput" "$tmp/root/g"
ended COMPLETED "rank 0 on h1, daemon on h2" "rank 1 on h2, daemon on h1"
written g.1 1048576
no_daemon

# ---- several programs of a job, with the same daemons ----
cat >../several <<END
#!/bin/bash
zcache start --per-node 1 && eval "\$(zcache env --no-preload)" && zcache status &&
    srun -n 2 "$tmp/ranks" "$zcput" "$tmp/root/i" && srun -n 2 "$tmp/ranks" "$zcput" "$tmp/root/j" &&
    zcache stop && echo "stopped, \$(ls -A ~/.zcache)"
END
chmod +x ../several
job 120 --nodes=2 "$tmp/several"
ended COMPLETED "^0 *h1 .* serving" "^1 *h2 .* serving" "rank 1 on h2, daemon on h1" "^stopped, $"
written j.1 1048576
no_daemon

# ---- a daemon that dies, or cannot start, fails the job ----
cat >../dies <<'END'
#!/bin/sh
exec zcache run --per-node 1 -- srun -n 1 -N 1 --nodelist=h2 --overlap pkill -KILL -x zcached
END
chmod +x ../dies
job 120 --nodes=2 "$tmp/dies"
ended FAILED "daemon 1 on h2 was killed by signal 9"
no_daemon
rm -rf "$HOME"/.zcache/*
printf '#!/bin/sh\nexec zcache run --per-node 1 --state /run/state -- true\n' >../private
chmod +x ../private
job 120 --nodes=2 "$tmp/private"
ended FAILED "the state directory /run/state is not visible on host h2; use --state"
no_daemon

# ---- cancelled: the daemons of all nodes write back first ----
cat >../cancelled <<END
#!/bin/bash
exec zcache run --per-node 1 --config "$tmp/lazy.conf" -- \\
    srun -n 1 -N 1 bash -c 'for i in 0 1; do
            "$zcput" write "\$ZCACHE_DAEMONS/\$i.addr" "$tmp/root/c.\$i" 4M </dev/null
        done
        echo >"$tmp/root/up"
        sleep 100'
END
chmod +x ../cancelled
for how in "" --full "--batch --signal=TERM"; do
    rm -f up c.?
    submit --nodes=2 "$tmp/cancelled"
    wait_for 60 test -e up || fail "no job: $(cat "$tmp/job.out")"
    [[ ! -e c.1 || $(stat -c %b c.1) == 0 ]] || fail "it was written back before"
    # shellcheck disable=SC2086 # words
    on h0 "${as_user[@]}" scancel $how "$job_id"
    wait_for 60 job_ended || fail "scancel $how: job $job_id goes on"
    wait_for 60 slurm_ready 3 || fail "scancel $how: nodes are not free again"
    written c.0 $((4 << 20))
    written c.1 $((4 << 20))
    no_daemon
done

# ---- prolog and epilog ----
cat >../hooked <<END
#!/bin/sh
srun -N 2 -n 2 sh -c 'echo "daemons \$ZCACHE_DAEMONS" "preloaded \$LD_PRELOAD"'
srun -N 1 -n 1 sh -c '"$zcput" write "\${ZCACHE_DAEMONS#*,}/0.addr" "$tmp/root/h" 4M </dev/null'
END
chmod +x ../hooked
job 120 --nodes=2 --comment=zcache "$tmp/hooked"
ended COMPLETED "daemons $tmp/states/$job_id/h1,$tmp/states/$job_id/h2 preloaded $library"
written h $((4 << 20))
no_daemon
[[ -z $(ls -A "$tmp/states") ]] || fail "left: $(find "$tmp/states")"
job 120 --nodes=2 "$tmp/hooked"
grep -qx "daemons  preloaded " "$tmp/job.out" || fail "daemons for who did not ask: $(cat "$tmp/job.out")"
