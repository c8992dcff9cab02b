/*
 * MPI_File_get_info returns the hints in force, whatever other files of the program asked for.
 *
 *     t_echo --names        each hint of the option table, and the messages about it: a line
 *                           "NAME CASE TIMES"
 *     t_echo FILE NAME CASE opens FILE.a with the case's first value, FILE.b with its second while
 *                           that is open, and FILE.c with its third when both are closed; ranks
 *                           other than 0 ask for another value each time
 *
 * A hint of the table without a row here is a failure.
 */
#include "t_mpiio.h"
#include "zc_options.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct echo {
    const char *name;
    const char *given[3], *told[3]; /* told[1]: both files, if `together` */
    int together;                   /* 1: the first file has the second one's value afterwards */
    int said;                       /* messages of rank 0 that name the hint */
} rows[] = {
    /* per process: the first open decides, for ever */
    {"provider", {"net", "tcp;ofi_rxm", "tcp;ofi_rxm"}, {"net", "net", "net"}, 0, 1},
    {"timeout", {"40s", "50s", "35s"}, {"40s", "40s", "40s"}, 0, 1},
    /* per cache: more memory on request, the rest is fixed while files are in use */
    {"cache_size", {"8M", "256M", "16M"}, {"8M", "256M", "16M"}, 1, 0},
    {"cache_size", {"256M", "8M", "16M"}, {"256M", "256M", "16M"}, 0, 1},
    {"view_memory", {"20%", "30%", "0%"}, {"20%", "20%", "0%"}, 0, 1},
    {"high_watermark", {"60%", "70%", "80%"}, {"60%", "60%", "80%"}, 0, 1},
    {"low_watermark", {"20%", "30%", "5%"}, {"20%", "20%", "5%"}, 0, 1},
    {"idle_time", {"30ms", "40ms", "1s"}, {"30ms", "30ms", "1s"}, 0, 1},
    /* per file */
    {"prefetch", {"false", "true", "false"}, {"false", "true", "false"}, 0, 0},
    {"prefetch_depth", {"3", "5", "7"}, {"3", "5", "7"}, 0, 0},
    /* files of processes that are there: test-aggregators.sh */
    {"aggregators", {"none", "none", "none"}, {"none", "none", "none"}, 0, 0},
    {"write_back", {"none", "both", "daemon"}, {"none", "both", "daemon"}, 0, 0},
    {"replay", {"on", "strict", "off"}, {"on", "strict", "off"}, 0, 0},
    {"on_daemon_loss", {"error", "bypass", "error"}, {"error", "bypass", "error"}, 0, 0},
    {"checksum", {"on", "off", "on"}, {"on", "off", "on"}, 0, 0},
    {"local", {"true", "false", "true"}, {"true", "false", "true"}, 0, 0},
    {"block_size", {"2M", "8M", "1M"}, {"2M", "8M", "1M"}, 0, 0},
    /* of one daemon, or none; test-striping.sh has more */
    {"striping_factor", {"1", "1", "1"}, {"1", "1", "1"}, 0, 0},
    {"start_iodevice", {"0", "0", "0"}, {"0", "0", "0"}, 0, 0},
    {"sync_level", {"stored", "staged", "visible"}, {"stored", "staged", "visible"}, 0, 0},
    {"close_level", {"durable", "staged", "stored"}, {"durable", "staged", "stored"}, 0, 0},
    {"drop_clean", {"true", "false", "true"}, {"true", "false", "true"}, 0, 0},
    {"read_around", {"false", "true", "false"}, {"false", "true", "false"}, 0, 0},
    {"read_after_write", {"false", "true", "false"}, {"false", "true", "false"}, 0, 0},
    {"counters", {"true", "false", "true"}, {"true", "false", "true"}, 0, 0},
    {"log", {"error", "error", "warn"}, {"error", "error", "warn"}, 0, 0},
    {"flush", {"wait", "start", "wait"}, {"none", "none", "none"}, 0, 1},
    /* others are refused, or wait: test-steps.sh */
    {"steps", {"false", "false", "false"}, {"false", "false", "false"}, 0, 0},
    {"wait_step", {"0", "0", "0"}, {"0", "0", "0"}, 0, 0},
    {"wait_limit", {"1s", "2s", "3s"}, {"1s", "2s", "3s"}, 0, 0},
};

static const struct echo *find(const char *name, int number)
{
    for (size_t i = 0; i < COUNT(rows); i++)
        if (!strcmp(rows[i].name, name) && number-- == 0)
            return &rows[i];
    return NULL;
}

/* The value in force without daemons, each time, which is logged once: there is nothing to replay
 * and no daemon to lose; NULL: the same as with them. */
static const char *alone(const struct echo *r)
{
    if (getenv("ZCACHE_DAEMONS"))
        return NULL;
    if (!strcmp(r->name, "replay"))
        return "off";
    return !strcmp(r->name, "on_daemon_loss") ? "error" : NULL;
}

static int print_names(void)
{
    int missing = 0;

    for (const struct zc_option *o = zc_options; o->name; o++) {
        if (!(o->scope & ZC_SCOPE_HINT))
            continue;
        if (!find(o->name, 0)) {
            fprintf(stderr, "the hint zcache_%s has no row in t_echo.c\n", o->name);
            missing = 1;
        }
        for (int i = 0; find(o->name, i); i++)
            printf("%s %d %d\n", o->name, i, alone(find(o->name, i)) ? 1 : find(o->name, i)->said);
    }
    return missing;
}

/* Rank 0 asks for this value; the others for another valid one. */
static MPI_File open_with(const char *name, const char *suffix, const struct echo *r, int at)
{
    char path[512], key[64];
    MPI_Info info;
    MPI_File fh;

    snprintf(path, sizeof path, "%s.%s", name, suffix);
    snprintf(key, sizeof key, "zcache_%s", r->name);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, key, r->given[t_rank == 0 ? at : (at + 1) % 3]));
    OK(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));
    return fh;
}

static void expect(MPI_File fh, const struct echo *r, const char *want, const char *which)
{
    char key[64], value[MPI_MAX_INFO_VAL + 1] = "";
    MPI_Info info;
    int found;

    if (alone(r))
        want = alone(r);
    snprintf(key, sizeof key, "zcache_%s", r->name);
    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    if (!found || strcmp(value, want)) {
        fprintf(stderr, "rank %d: %s of the %s file is %s, not %s\n", t_rank, key, which,
                found ? value : "not told", want);
        t_failures++;
    }
    OK(MPI_Info_free(&info));
}

static void put(MPI_File fh)
{
    MPI_Status status;

    OK(MPI_File_write_at_all(fh, t_rank, "x", 1, MPI_CHAR, &status));
}

int main(int argc, char **argv)
{
    const char *name;
    const struct echo *r;
    MPI_File a, b;

    if (argc == 2 && !strcmp(argv[1], "--names"))
        return print_names();
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    r = argc == 4 ? find(argv[2], atoi(argv[3])) : NULL;
    if (!r)
        MPI_Abort(MPI_COMM_WORLD, 2);
    a = open_with(name, "a", r, 0);
    expect(a, r, r->told[0], "first");
    put(a);
    b = open_with(name, "b", r, 1);
    expect(b, r, r->told[1], "second");
    expect(a, r, r->told[r->together], "first, again,");
    put(b);
    put(a);
    OK(MPI_File_close(&a));
    OK(MPI_File_close(&b));
    a = open_with(name, "c", r, 2);
    expect(a, r, r->told[2], "third");
    OK(MPI_File_close(&a));
    return t_end("t_echo");
}
