/* t_model.c - random MPI-IO programs, compared byte for byte with a model.
 *
 *     mpiexec -n 4 t_model [option ...] zcache:/dir/file
 *
 * Accesses of all kinds through views and memory types of all kinds, sizes, syncs, closing
 * and opening again by other ranks, other programs in between.  Conflicting accesses have a
 * barrier between them and no more, which is what zcache promises; --strict does what MPI
 * asks of any file system, so that the same programs run over "ufs:", the reference.
 */
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tm.h"
#include "tm_shape.h"

static void print_help(FILE *f)
{
    fputs("usage: t_model [option ...] FILE\n"
          "  FILE             with its prefix; it is deleted\n"
          "  --seed N         one program (default 1)\n"
          "  --seeds A-B      all of these\n"
          "  --count N        N programs from --seed on\n"
          "  --ops N          steps of each (default 60)\n"
          "  --max-file SIZE  largest size of the file in bytes (default 131072)\n"
          "  --hints K=V,...  given at every open, besides random ones\n"
          "  --no-subsets     the file is always opened by all ranks\n"
          "  --opens N        up to N opens of the file at a time (default 1)\n"
          "  --no-barriers    none between a collective read and what was written through the\n"
          "                   same open before\n"
          "  --irregular N    also views of up to N pieces, together\n"
          "  --keep           leave each program's file, FILE.SEED, and what it holds to the next\n"
          "                   launch, which goes on with it\n"
          "  --replaced       each file was replaced by another program since the last launch\n"
          "  --killed PIDS    this launch is killed in the end, with files open: PIDS then says\n"
          "                   what processes it has\n"
          "  --romio          nothing that ROMIO's code is known to get wrong\n"
          "  --strict         sync, barrier, sync where a barrier does for zcache\n"
          "  --hang N         seconds after which a step counts as hanging (default 60)\n"
          "  --breaks FILE    while FILE is there the disk cannot be written (tests/faultshim.c):\n"
          "                   the program makes that happen\n"
          "  --again COMMAND  what to print for a seed that fails: SEED stands for it\n"
          "  --verbose        print each step\n",
          f);
}

static bool number(const char *s, uint64_t *out)
{
    char *end;

    errno = 0;
    *out = strtoull(s, &end, 10);
    return *s >= '0' && *s <= '9' && !*end && !errno;
}

static bool seeds(char *s, struct tm_options *o)
{
    char *dash = strchr(s, '-');

    if (!dash)
        return false;
    *dash = 0;
    return number(s, &o->first_seed) && number(dash + 1, &o->last_seed);
}

static bool hints(struct tm_options *o, char *list)
{
    char *hint;

    while ((hint = strsep(&list, ","))) {
        if (o->nhints == TM_MAX_HINTS || !strchr(hint, '='))
            return false;
        o->hints[o->nhints++] = hint;
    }
    return true;
}

enum {
    SEED,
    SEEDS,
    COUNT,
    OPS,
    MAX_FILE,
    HINTS,
    NO_SUBSETS,
    OPENS,
    NO_BARRIERS,
    IRREGULAR,
    KEEP,
    REPLACED,
    KILLED,
    ROMIO,
    STRICT,
    HANG,
    BREAKS,
    AGAIN,
    VERBOSE
};

static bool take(struct tm_options *o, int option, char *value, uint64_t *count)
{
    uint64_t n = 0;

    switch (option) {
    case SEED:
        return number(value, &o->first_seed);
    case SEEDS:
        return seeds(value, o);
    case COUNT:
        return number(value, count);
    case HINTS:
        return hints(o, value);
    case NO_SUBSETS:
        o->subsets = false;
        return true;
    case NO_BARRIERS:
        return o->waits = true;
    case IRREGULAR:
        if (!number(value, &n) || n < 1 || n > 1 << 20)
            return false;
        tm_views_irregular = (int)n;
        return true;
    case KEEP:
        return o->keep = true;
    case REPLACED:
        return o->replaced = true;
    case KILLED:
        return (o->killed = value) != NULL;
    case OPENS:
        if (!number(value, &n) || n < 1 || n > TM_MAX_OPENS)
            return false;
        o->opens = (int)n;
        return true;
    case ROMIO:
        return tm_shape_only_romio = true;
    case STRICT:
        return o->strict = true;
    case BREAKS:
        return (o->breaks = value) != NULL;
    case AGAIN:
        return (o->again = value) != NULL;
    case VERBOSE:
        return o->verbose = true;
    case OPS:
    case HANG:
    case MAX_FILE:
        if (!number(value, &n) || n < (option == MAX_FILE ? 4096 : 1) || n > 1 << 30)
            return false;
        if (option == OPS)
            o->steps = (int)n;
        else if (option == HANG)
            o->hang_seconds = (int)n;
        else
            o->max = (int64_t)n;
        return true;
    }
    return false;
}

static bool parse(int argc, char **argv, struct tm_options *o)
{
    static const struct option options[] = {{"seed", 1, NULL, SEED},
                                            {"seeds", 1, NULL, SEEDS},
                                            {"count", 1, NULL, COUNT},
                                            {"ops", 1, NULL, OPS},
                                            {"max-file", 1, NULL, MAX_FILE},
                                            {"hints", 1, NULL, HINTS},
                                            {"no-subsets", 0, NULL, NO_SUBSETS},
                                            {"opens", 1, NULL, OPENS},
                                            {"no-barriers", 0, NULL, NO_BARRIERS},
                                            {"irregular", 1, NULL, IRREGULAR},
                                            {"keep", 0, NULL, KEEP},
                                            {"replaced", 0, NULL, REPLACED},
                                            {"killed", 1, NULL, KILLED},
                                            {"romio", 0, NULL, ROMIO},
                                            {"strict", 0, NULL, STRICT},
                                            {"hang", 1, NULL, HANG},
                                            {"breaks", 1, NULL, BREAKS},
                                            {"again", 1, NULL, AGAIN},
                                            {"verbose", 0, NULL, VERBOSE},
                                            {0}};
    const char *colon;
    uint64_t count = 0;
    int c;

    *o = (struct tm_options){.first_seed = 1,
                             .opens = 1,
                             .steps = 60,
                             .max = 131072,
                             .subsets = true,
                             .hang_seconds = 60};
    while ((c = getopt_long(argc, argv, "", options, NULL)) != -1)
        if (!take(o, c, optarg, &count))
            return false;
    if (optind + 1 != argc || (o->breaks && (o->opens > 1 || o->killed)))
        return false;
    if ((o->killed || o->replaced) && !o->keep)
        return false;
    if (o->last_seed < o->first_seed)
        o->last_seed = o->first_seed + (count ? count - 1 : 0);
    o->name = argv[optind];
    colon = strchr(o->name, ':');
    o->path = colon ? colon + 1 : o->name;
    o->reference = strncmp(o->name, "zcache:", 7);
    tm_shape_only_romio = tm_shape_only_romio || o->reference;
    return true;
}

/* The command line without the choice of seeds; before getopt and others change it. */
static const char *replay_of(int argc, char **argv)
{
    static char text[2000];
    int at = 0;

    for (int i = 0; i < argc && at < (int)sizeof text - 2; i++) {
        if (!strncmp(argv[i], "--seed", 6) || !strncmp(argv[i], "--count", 7)) {
            i += !strchr(argv[i], '=');
            continue;
        }
        at += snprintf(text + at, sizeof text - (size_t)at, "%s%s", i ? " " : "", argv[i]);
    }
    return text;
}

/* ---- one program ---- */

static void access_step(struct tm *tm)
{
    static struct tm_access a[TM_MAX_RANKS * TM_PER_RANK];
    char text[1200];
    bool barrier;
    int n = tm_plan(tm, a, &barrier);

    tm_say(tm, "%s%d accesses, %s", barrier ? "barrier, " : "", n,
           n && a[0].collective ? "collective" : "independent");
    for (int i = 0; i < n && tm->opt.verbose && tm->rank == 0; i++) {
        tm_plan_describe(tm, &a[i], text, sizeof text);
        fprintf(stderr, "    %s\n", text);
    }
    if (barrier)
        tm_meet(tm);
    tm_run(tm, a, n);
    tm_types_release(tm->mark);
}

static void access_whole(struct tm *tm)
{
    tm->whole = true;
    access_step(tm);
}

static void one_step(struct tm *tm)
{
    static void (*const what[])(struct tm *) = {tm_get_size, tm_sync,     tm_set_size, tm_seek,
                                                tm_seek,     tm_set_view, tm_set_view, tm_set_view,
                                                tm_set_view, tm_reopen,   tm_reopen};
    int kinds = (int)(sizeof what / sizeof *what);
    int k = (int)tm_between(&tm->rng, -2 * kinds, kinds + 1);

    if (tm->opt.opens > 1)
        tm->h = &tm->handles[tm_pick(&tm->rng, tm->nopen)];
    if (tm->opt.breaks && tm_chance(&tm->rng, 4))
        tm_break(tm);
    else if (tm->opt.opens > 1 && tm_chance(&tm->rng, 20))
        tm_change_opens(tm);
    else if (k == -1 && tm_chance(&tm->rng, 60))
        access_whole(tm);
    else if (k < 0)
        access_step(tm);
    else if (k < kinds)
        what[k](tm);
    else if (k == kinds)
        tm_preallocate(tm);
    else
        tm_recreate(tm);
}

/* The file of a program begins as nothing, or as the last launch left it. */
static void begin(struct tm *tm)
{
    tm->rng.state = tm->seed * 1000003u + 17;
    tm->step = 0;
    tm->last = 0;
    tm->nopen = 0;
    tm_image_init(&tm->image, tm->opt.max);
    tm->exists = false;
    if (tm->opt.keep)
        tm_keep_begin(tm);
    else if (tm->rank == 0)
        unlink(tm->opt.path);
    MPI_Barrier(MPI_COMM_WORLD);
}

static void end(struct tm *tm)
{
    tm_close_all(tm);
    tm_types_release(0);
    if (tm->opt.keep)
        tm_keep_end(tm);
    else if (tm->rank == 0 && tm->exists)
        tm_ok(tm, MPI_File_delete(tm->opt.name, MPI_INFO_NULL), "delete");
    tm_image_free(&tm->image);
}

static void program(struct tm *tm)
{
    int steps = tm->opt.steps;

    begin(tm);
    if (tm->opt.killed)
        steps = (int)tm_between(&tm->rng, 1, steps);
    tm_open(tm);
    if (tm->launches > 1)
        access_whole(tm);
    if (tm_views_irregular)
        tm_set_view(tm);
    for (tm->step = 1; tm->step <= steps; tm->step++)
        one_step(tm);
    if (tm->opt.keep && tm_chance(&tm->rng, 50))
        access_whole(tm);
    if (tm->opt.killed && tm_kill_leave(tm)) {
        tm_keep_end(tm);
        tm_image_free(&tm->image);
    } else {
        end(tm);
    }
}

int main(int argc, char **argv)
{
    static struct tm tm;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &tm.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &tm.nranks);
    tm.replay = replay_of(argc, argv);
    if (!parse(argc, argv, &tm.opt) || tm.nranks > TM_MAX_RANKS) {
        if (tm.rank == 0)
            print_help(stderr);
        MPI_Finalize();
        return 2;
    }
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    tm_watch(&tm);
    for (tm.seed = tm.opt.first_seed; tm.seed <= tm.opt.last_seed; tm.seed++)
        program(&tm);
    if (tm.opt.killed)
        tm_kill_wait(&tm);
    if (tm.rank == 0)
        printf("t_model: ok, seeds %llu to %llu, %d ranks, %s\n",
               (unsigned long long)tm.opt.first_seed, (unsigned long long)tm.opt.last_seed,
               tm.nranks, tm.opt.name);
    MPI_Finalize();
    return 0;
}
