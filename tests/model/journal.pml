/* journal.pml - a journal, takeovers, replay and bypass, for Spin.
 *
 * Two daemons of one seat: the first has a journal, the other is a spare without one.  A job writes
 * three files through the daemon that serves, or past both when they are dead.  Each daemon may be
 * killed before every step, a few times in all.  A write has the next number as its data.
 *
 *     first daemon   name itself in a segment -> judge by seat, and set aside -> raise the seat
 *                    -> judge by marks -> replay -> serve;  a write is acknowledged when it is in
 *                    the journal
 *     spare          raise the seat -> serve;  a write is acknowledged when it is in the file
 *     job, bypass    look whether the seat is still that of the dead daemon -> mark the file ->
 *                    look again -> write;  acknowledged when it is in the file
 *     stranger       a program that is not zcache's: writes a file while no daemon runs, and leaves
 *                    no mark
 *
 * Checked in every state
 *     revert   a store never replaces what was written later
 *     loss     what was acknowledged is in the file, or newer bytes are, or it is in the journal,
 *              or it was set aside, which is reported
 *     spurious nothing is set aside that no other writer has written over
 *
 * -DMARKS_ONLY: contents are not compared, and no stranger is there.  Writers that are known by
 * number may write what was there before, which the model's numbers do not show.
 *
 * Variants that have to fail, each for want of one rule:
 *     -DNO_CONTENTS     the first daemon does not compare what a file has with what it has staged
 *                       and with what the file had then; the others are of MARKS_ONLY
 *     -DNO_SEAT         a replay does not ask whether another daemon has served its seat
 *     -DNO_MARK         ... nor whether another writer has opened the file
 *     -DLATE_RAISE      the spare serves first, and raises the seat when it has time
 *     -DVOID_FIRST      what is refused is deleted from the journal before it is set aside
 *     -DBLIND_BYPASS    the job that bypasses does not look at the seat again
 *     -DRAISE_LAST      the first daemon raises the seat after the replay: a job that bypasses
 *                       meanwhile writes a file that was judged already, and then is replayed
 *     -DLATE_NAME       the first daemon raises the seat before a segment names it: what it finds
 *                       at the next start would be refused (`spurious`)
 *
 * Left out: strangers that write what was there before, or zeros; daemons that hang and wake up.
 */

#define FILES 3
#ifndef WRITES
#define WRITES 3
#endif
#ifndef KILLS
#define KILLS 2
#endif
#ifndef STARTS
#define STARTS 2 /* of each daemon */
#endif

#define FOREIGN 0 /* the mark that a file has at first */
#define SET 1   /* the mark of the set of daemons; a job that bypasses has others */
#define SPARE 9 /* its boot id, new at each takeover: the first daemon's are 1, 2, ... */

byte writes, kills;

/* durable */
byte file[FILES], mark[FILES];
byte jbytes[FILES], jmark[FILES]; /* in the journal: 0, or the write that is not noted as stored */
byte jknown[FILES]; /* bit per write that is explained: staged, or in the file when one was */
byte jnamed;                      /* bit per boot id that a segment names; 0: no segment */
byte seat, generation;            /* boot id that has raised it last, 0: none; how often */

/* what was promised, and said */
byte acked[FILES], aside[FILES];
bool spurious; /* set aside though no other daemon has raised the seat, or written the file */
byte strange;  /* bit per write of the stranger's */

/* in memory */
bool up0, up1, bypasses; /* the job is about to write: a stranger does not at the same time */
byte dirty0[FILES], storing0[FILES], dirty1[FILES];

#define KEPT(f) (acked[f] <= file[f] || acked[f] <= jbytes[f] || acked[f] <= aside[f])
#define CHECK assert(KEPT(0) && KEPT(1) && KEPT(2) && !spurious)

#ifdef NO_MARK
#define MARKED(f) false
#else
#define MARKED(f) (jmark[f] != mark[f])
#endif

#ifdef MARKS_ONLY
#define NO_CONTENTS
#endif

#ifdef NO_CONTENTS
#define CHANGED(f) false
#else
#define CHANGED(f) (!(jknown[f] >> file[f] & 1))
#endif

#define REFUSED(f) (jbytes[f] && (MARKED(f) || CHANGED(f)))

/* Files are alike until one is used: they are used in order. */
#define FRESH(f) (mark[f] == FOREIGN && !file[f])

inline pick(f)
{
    if
    :: f = 0
    :: !FRESH(0) -> f = 1
    :: !FRESH(1) -> f = 2
    fi
}

inline store(f, what)
{
    assert(what >= file[f]); /* revert */
    file[f] = what
}

inline set_aside(f)
{
    if
    :: jbytes[f] > aside[f] -> aside[f] = jbytes[f]
    :: else
    fi
}

inline void(f)
{
    jbytes[f] = 0;
    jknown[f] = 0
}

#define KILL(dead)                                                                                 \
    if                                                                                             \
    :: kills < KILLS -> kills++; goto dead                                                         \
    :: skip                                                                                        \
    fi

/* Memory is gone. */
inline forget0()
{
    up0 = false;
    for (f : 0 .. FILES - 1) {
        dirty0[f] = 0;
        storing0[f] = 0
    }
    f = 0;
    CHECK
}

proctype first()
{
    byte f, boot, named;

dead:
    skip;
    d_step { forget0() }
    atomic { !up0 && !up1 && boot < STARTS -> up0 = true; boot++ }
    KILL(dead);
#ifndef LATE_NAME
    named = jnamed;
    jnamed = jnamed | 1 << boot;
    KILL(dead);
#else
    named = jnamed;
#endif
    d_step { /* all of the journal but that, in one rename */
        if
#ifndef NO_SEAT
        :: seat && named && !(named >> seat & 1) -> /* a daemon that no segment names */
            spurious = spurious || (seat != SPARE && (jbytes[0] || jbytes[1] || jbytes[2]));
            for (f : 0 .. FILES - 1) {
                set_aside(f);
                void(f)
            }
            jnamed = jnamed & ~named;
            f = 0
#endif
        :: else
        fi;
        CHECK
    }
    KILL(dead);
#ifdef LATE_NAME
    d_step { seat = boot; generation++ };
    KILL(dead);
    jnamed = jnamed | 1 << boot;
    KILL(dead);
#endif
#if !defined RAISE_LAST && !defined LATE_NAME
    d_step { seat = boot; generation++ };
    KILL(dead);
#endif
    f = 0;
    do
    :: f < FILES && REFUSED(f) ->
        spurious = spurious || (!MARKED(f) && !(strange >> file[f] & 1));
#ifdef VOID_FIRST
        atomic { void(f); CHECK };
        KILL(dead);
#else
        set_aside(f);
        KILL(dead);
        atomic { void(f); CHECK };
#endif
        f++
    :: f < FILES && !REFUSED(f) -> dirty0[f] = jbytes[f]; f++
    :: f == FILES -> f = 0; break
    od;
    KILL(dead);
#ifdef RAISE_LAST
    d_step { seat = boot; generation++ };
    KILL(dead);
#endif
    do
    :: atomic { writes < WRITES -> pick(f); writes++; mark[f] = SET };
        KILL(dead);
        d_step {
            jmark[f] = SET;
            jbytes[f] = writes;
#ifndef NO_CONTENTS
            jknown[f] = jknown[f] | 1 << writes | 1 << file[f]
#endif
        };
        KILL(dead);
        d_step { dirty0[f] = writes; acked[f] = writes; f = 0; CHECK }
    :: atomic { dirty0[0] && !storing0[0] -> storing0[0] = dirty0[0] }
    :: atomic { dirty0[1] && !storing0[1] -> storing0[1] = dirty0[1] }
    :: atomic { dirty0[2] && !storing0[2] -> storing0[2] = dirty0[2] }
    :: atomic { storing0[0] || storing0[1] || storing0[2] ->
            if
            :: storing0[0] -> f = 0
            :: storing0[1] -> f = 1
            :: storing0[2] -> f = 2
            fi;
            store(f, storing0[f]) };
        KILL(dead);
        d_step { /* noted before the cache hears of it */
            if
            :: jbytes[f] <= storing0[f] -> void(f)
            :: else
            fi;
            if
            :: dirty0[f] == storing0[f] -> dirty0[f] = 0
            :: else
            fi;
            storing0[f] = 0;
            f = 0;
            CHECK }
    :: kills < KILLS -> kills++; goto dead
    :: atomic { !dirty0[0] && !dirty0[1] && !dirty0[2] -> jnamed = 0; goto dead } /* a good end */
    od
}

proctype spare()
{
    byte f, starts;

dead:
    skip;
    d_step {
        up1 = false;
        for (f : 0 .. FILES - 1) {
            dirty1[f] = 0
        }
        f = 0;
        CHECK
    }
    atomic { !up0 && !up1 && starts < STARTS -> up1 = true; starts++ }
    KILL(dead);
#ifndef LATE_RAISE
    d_step {
        if
        :: seat -> seat = SPARE; generation++
        :: else
        fi
    }
    KILL(dead);
#endif
    do
    :: atomic { writes < WRITES -> pick(f); writes++; mark[f] = SET; dirty1[f] = writes; f = 0 }
    :: atomic { dirty1[0] || dirty1[1] || dirty1[2] ->
            if
            :: dirty1[0] -> f = 0
            :: dirty1[1] -> f = 1
            :: dirty1[2] -> f = 2
            fi;
            store(f, dirty1[f]) };
        KILL(dead);
        d_step { acked[f] = dirty1[f]; dirty1[f] = 0; f = 0; CHECK }
#ifdef LATE_RAISE
    :: d_step { seat && seat != SPARE -> seat = SPARE; generation++ }
#endif
    :: kills < KILLS -> kills++; goto dead
    :: atomic { !dirty1[0] && !dirty1[1] && !dirty1[2] -> goto dead }
    od
}

proctype job()
{
    byte f, was, number;

    do
    :: atomic { !up0 && !up1 && seat && writes < WRITES -> /* it has lost the seat's daemon */
            was = generation;
            pick(f);
            writes++;
            bypasses = true;
            number = writes };
        mark[f] = 10 + number;
        if
#ifndef BLIND_BYPASS
        :: atomic { generation != was -> /* it waits for that one */
                f = 0;
                number = 0;
                was = 0;
                bypasses = false }
#endif
        :: atomic {
#ifndef BLIND_BYPASS
                generation == was
#else
                true
#endif
                -> store(f, number) };
            d_step { acked[f] = number; f = 0; number = 0; was = 0; bypasses = false; CHECK }
        fi
    :: writes == WRITES -> break
    od
}

proctype stranger()
{
    byte f;

    do
    :: atomic { !up0 && !up1 && !bypasses && writes < WRITES ->
            pick(f);
            writes++;
            store(f, writes);
            acked[f] = writes;
            strange = strange | 1 << writes;
            f = 0;
            CHECK }
    :: writes == WRITES -> break
    od
}

init
{
    atomic {
#ifndef MARKS_ONLY
        run stranger();
#endif
        run first();
        run spare();
        run job()
    }
}
