/* t_dedicated.c - ranks whose file dedicated aggregators own.
 *
 *     t_dedicated FILE cost [LIST]  writes MIBS from each rank and closes, with LIST as the hint
 *                                   zcache_aggregators; rank 0 prints what that took of a rank at
 *                                   most: memory, processor time, threads of ours
 *     t_dedicated FILE loss PID     writes, kills that aggregator, and goes on: sync, close and a
 *                                   next open fail on every rank, and each error names it and the
 *                                   file
 *     t_dedicated FILE held [NOTE]  writes, makes the file NOTE, and ends without a close when that
 *                                   is removed; without NOTE it closes
 *     t_dedicated FILE absent [WHY] no rank can open the file, and all say why
 *     t_dedicated FILE split        the first half of the ranks serve the others
 */
#include "t_file.h"

#include <ctype.h>
#include <dirent.h>
#include <signal.h>
#include <sys/resource.h>

enum { MIB = 1 << 20, MIBS = 24, LEN = 16 * MIB };

static unsigned char image[LEN], got[LEN];

static MPI_File open_file(const char *name)
{
    MPI_File fh;

    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    return fh;
}

/* Threads of this process that an owner of blocks has. */
static long count_threads(void)
{
    static const char *const names[] = {"zc-aggregator", "zc-ring", "zc-flush", "zc-read"};
    DIR *d = opendir("/proc/self/task");
    struct dirent *e;
    long n = 0;

    while (d && (e = readdir(d))) {
        char path[300], name[32] = "";
        FILE *f;

        snprintf(path, sizeof path, "/proc/self/task/%s/comm", e->d_name);
        f = isdigit((unsigned char)e->d_name[0]) ? fopen(path, "r") : NULL;
        if (!f)
            continue;
        for (size_t i = 0; fscanf(f, "%31s", name) == 1 && i < sizeof names / sizeof *names; i++)
            n += !strcmp(name, names[i]);
        fclose(f);
    }
    if (d)
        closedir(d);
    return n;
}

static long microseconds(struct timeval t)
{
    return (long)t.tv_sec * 1000000 + (long)t.tv_usec;
}

/* `aggregators`: that hint, or NULL. */
static void cost(const char *name, char *aggregators)
{
    long mine[3], most[3];
    struct rusage before, after;
    MPI_Info info;
    MPI_File fh;

    OK(MPI_Info_create(&info));
    if (aggregators)
        OK(MPI_Info_set(info, "zcache_aggregators", aggregators));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    OK(MPI_Info_free(&info));

    MPI_Barrier(MPI_COMM_WORLD);
    getrusage(RUSAGE_SELF, &before);
    for (int i = 0; i < MIBS; i++)
        OK(MPI_File_write_at(fh, ((MPI_Offset)i * t_size + t_rank) * MIB, image, MIB, MPI_BYTE,
                             MPI_STATUS_IGNORE));
    mine[2] = count_threads();
    OK(MPI_File_close(&fh));
    getrusage(RUSAGE_SELF, &after);
    mine[0] = after.ru_maxrss - before.ru_maxrss;
    mine[1] = microseconds(after.ru_utime) + microseconds(after.ru_stime) -
              microseconds(before.ru_utime) - microseconds(before.ru_stime);
    MPI_Reduce(mine, most, 3, MPI_LONG, MPI_MAX, 0, MPI_COMM_WORLD);
    if (t_rank == 0)
        printf("grown_kib %ld cpu_us %ld threads %ld\n", most[0], most[1], most[2]);
}

/* Also true for a zombie. */
static int gone(pid_t pid)
{
    char path[64], state = 'X';
    FILE *f;

    snprintf(path, sizeof path, "/proc/%ld/stat", (long)pid);
    f = fopen(path, "r");
    if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
        state = 'X';
    if (f)
        fclose(f);
    return state == 'X' || state == 'Z';
}

static void fails(int rc, const char *name, const char *what, const char *sign)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len;

    if (rc != MPI_SUCCESS)
        MPI_Error_string(rc, text, &len);
    if (!strstr(text, sign) || !strstr(text, strrchr(name, '/')))
        fprintf(stderr, "rank %d: %s: \"%s\"\n", t_rank, what, text);
    CHECK(rc != MPI_SUCCESS && strstr(text, sign) && strstr(text, strrchr(name, '/')));
}

static int refused(const char *name)
{
    MPI_File fh = MPI_FILE_NULL;
    int rc =
        MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh);

    CHECK(fh == MPI_FILE_NULL);
    return rc;
}

static void loss(const char *name, pid_t victim)
{
    MPI_File fh = open_file(name);
    int part = LEN / t_size;

    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * part, image + t_rank * part, part, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0 && kill(victim, SIGKILL))
        perror("kill");
    while (!gone(victim))
        usleep(1000);
    MPI_Barrier(MPI_COMM_WORLD);
    fails(MPI_File_sync(fh), name, "sync", "dedicated aggregator");
    MPI_Barrier(MPI_COMM_WORLD);
    fails(MPI_File_close(&fh), name, "close", "dedicated aggregator");
    fails(refused(name), name, "open", "aggregator");
}

static void held(const char *name, const char *note)
{
    MPI_File fh = open_file(name);
    int part = LEN / t_size;
    FILE *f = NULL;

    OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * part, image + t_rank * part, part, MPI_BYTE,
                         MPI_STATUS_IGNORE));
    if (!note) {
        OK(MPI_File_close(&fh));
        return;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        f = fopen(note, "w");
    if (t_rank == 0 && (!f || fclose(f)))
        perror(note);
    MPI_Barrier(MPI_COMM_WORLD);
    while (access(note, F_OK) == 0)
        usleep(1000);
    _exit(0);
}

/* The first half of the ranks has the file open from the barrier on; the others own nothing. */
static void split(const char *name)
{
    int serves = t_rank < t_size / 2, part = LEN / t_size;
    MPI_File fh = MPI_FILE_NULL;
    MPI_Comm half;
    MPI_Info info;

    OK(MPI_Comm_split(MPI_COMM_WORLD, serves, t_rank, &half));
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, serves ? "cb_config_list" : "zcache_aggregators",
                    serves ? "*:*" : "join"));
    if (!serves) /* too early */
        fails(MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh), name, "open",
              "join");
    MPI_Barrier(MPI_COMM_WORLD);
    if (serves)
        OK(MPI_File_open(half, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (!serves)
        OK(MPI_File_open(half, name, MPI_MODE_RDWR, info, &fh));
    if (!serves)
        OK(MPI_File_write_at(fh, (MPI_Offset)t_rank * part, image + t_rank * part, part, MPI_BYTE,
                             MPI_STATUS_IGNORE));
    while (serves && !count_threads()) /* they have their names only when they run */
        usleep(1000);
    CHECK(serves || !count_threads());
    if (!serves)
        OK(MPI_File_close(&fh));
    MPI_Barrier(MPI_COMM_WORLD);
    if (serves) {
        OK(MPI_File_read_at(fh, (MPI_Offset)(t_rank + t_size / 2) * part, got, part, MPI_BYTE,
                            MPI_STATUS_IGNORE));
        t_equal(got, image, (MPI_Offset)(t_rank + t_size / 2) * part, part, "as served");
        OK(MPI_File_close(&fh));
    }
    OK(MPI_Info_free(&info));
    OK(MPI_Comm_free(&half));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE), *what = argc > 2 ? argv[2] : "";

    t_stamps(image, 0, LEN, 1);
    if (!strcmp(what, "cost"))
        cost(name, argc > 3 ? argv[3] : NULL);
    else if (!strcmp(what, "loss") && argc > 3)
        loss(name, (pid_t)atol(argv[3]));
    else if (!strcmp(what, "held"))
        held(name, argc > 3 ? argv[3] : NULL);
    else if (!strcmp(what, "split"))
        split(name);
    else if (!strcmp(what, "absent"))
        fails(refused(name), name, "open", argc > 3 ? argv[3] : "aggregator");
    else
        CHECK(!"a case");
    return t_end("t_dedicated");
}
