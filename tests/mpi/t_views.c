/* t_views.c - a climate model's maps: every element of 8 bytes belongs to some rank, no order.
 *
 *     t_views FILE ELEMENTS TIMES LIMIT-MIB [hint=value ...]
 *
 * The file is TIMES records of ELEMENTS for each rank.  All ranks write a record through their
 * maps, then read it through their neighbours', and rank 0 compares the file with what it should
 * be. Where LIMIT is not 0, a rank that owns blocks may grow by so many MiB more than the one that
 * grew most of those that own none, which have the same maps and buffers: so what counts is page
 * memory and what a server keeps for its clients.  Rank 0 is the one that owns.
 */
#include <stdint.h>

#include "t_file.h"

static int64_t elements; /* of all ranks, in a record */
static double seconds[2];

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

static int owner(int64_t e)
{
    return (int)(mix((uint64_t)e + 1) % (unsigned)t_size);
}

static uint64_t value(int64_t e, int record)
{
    return mix((uint64_t)e * 0x9e3779b97f4a7c15ull + (uint64_t)record + 1);
}

/* The elements of a rank, rising. */
static int *map_of(int rank, int *n)
{
    int64_t room = elements / t_size + elements / t_size / 4 + 1000;
    int *map = malloc((size_t)room * sizeof *map);

    *n = 0;
    CHECK(map);
    for (int64_t e = 0; map && e < elements; e++)
        if (owner(e) == rank && *n < room)
            map[(*n)++] = (int)e;
    return map;
}

static MPI_Datatype type_of(const int *map, int n)
{
    MPI_Datatype some, all;

    OK(MPI_Type_create_indexed_block(n, 1, map, MPI_UINT64_T, &some));
    OK(MPI_Type_create_resized(some, 0, elements * 8, &all));
    OK(MPI_Type_commit(&all));
    MPI_Type_free(&some);
    return all;
}

static long field(const char *name)
{
    char line[200];
    long kib = -1;
    FILE *f = fopen("/proc/self/status", "r");

    while (f && fgets(line, sizeof line, f))
        if (!strncmp(line, name, strlen(name)))
            kib = strtol(line + strlen(name) + 1, NULL, 10);
    if (f)
        fclose(f);
    return kib;
}

static void write_records(MPI_File fh, int times, uint64_t *buf)
{
    int n;
    int *map = map_of(t_rank, &n);
    MPI_Datatype type = type_of(map, n);
    double began = MPI_Wtime();

    OK(MPI_File_set_view(fh, 0, MPI_UINT64_T, type, "native", MPI_INFO_NULL));
    for (int r = 0; r < times; r++) {
        for (int i = 0; i < n; i++)
            buf[i] = value(map[i], r);
        OK(MPI_File_write_at_all(fh, (MPI_Offset)r * n, buf, n, MPI_UINT64_T, MPI_STATUS_IGNORE));
    }
    seconds[0] = MPI_Wtime() - began;
    MPI_Type_free(&type);
    free(map);
}

static void read_records(MPI_File fh, int times, uint64_t *buf)
{
    int n, bad = 0;
    int *map = map_of((t_rank + 1) % t_size, &n);
    MPI_Datatype type = type_of(map, n);
    double began = MPI_Wtime();

    OK(MPI_File_set_view(fh, 0, MPI_UINT64_T, type, "native", MPI_INFO_NULL));
    for (int r = 0; r < times; r++) {
        memset(buf, 0, (size_t)n * 8);
        OK(MPI_File_read_at_all(fh, (MPI_Offset)r * n, buf, n, MPI_UINT64_T, MPI_STATUS_IGNORE));
        for (int i = 0; i < n; i++)
            bad += buf[i] != value(map[i], r);
    }
    seconds[1] = MPI_Wtime() - began;
    CHECK(bad == 0);
    MPI_Type_free(&type);
    free(map);
}

/* Of the whole file, by plain reads. */
static void compare(const char *name, int times)
{
    enum { N = 1 << 16 };
    static uint64_t buf[N];
    int fd = open(t_path(name), O_RDONLY);
    int64_t bad = 0, at = 0, end = elements * times;

    CHECK(fd >= 0);
    while (at < end) {
        int64_t n = end - at < N ? end - at : N;

        if (pread(fd, buf, (size_t)n * 8, at * 8) != n * 8)
            break;
        for (int64_t i = 0; i < n; i++, at++)
            bad += buf[i] != value(at % elements, (int)(at / elements));
    }
    if (fd >= 0)
        close(fd);
    CHECK(at == end);
    CHECK(bad == 0);
}

static void look_at_memory(long growth, long limit)
{
    long *all = calloc((size_t)t_size, sizeof *all), most = 0;

    MPI_Gather(&growth, 1, MPI_LONG, all, 1, MPI_LONG, 0, MPI_COMM_WORLD);
    if (t_rank == 0) {
        for (int i = 1; i < t_size; i++)
            most = all[i] > most ? all[i] : most;
        printf("t_views: rank 0 grew by %ld MiB, others by %ld at most (%ld more allowed)\n",
               growth >> 10, most >> 10, limit);
        CHECK(growth - most <= limit << 10);
    }
    free(all);
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    long before, limit;
    uint64_t *buf;
    MPI_Info info;
    MPI_File fh;
    int times;

    if (argc < 5) {
        MPI_Finalize();
        return 2;
    }
    elements = atoll(argv[2]) * t_size;
    times = atoi(argv[3]);
    limit = atol(argv[4]);
    info = t_hints(argc, argv, 5);
    buf = malloc((size_t)(elements / t_size * 5 / 4 + 1000) * 8);
    CHECK(buf);
    memset(buf, 1, (size_t)(elements / t_size * 5 / 4 + 1000) * 8);
    MPI_Barrier(MPI_COMM_WORLD);
    before = field("VmRSS");
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    write_records(fh, times, buf);
    read_records(fh, times, buf);
    OK(MPI_File_close(&fh));
    MPI_Reduce(t_rank ? seconds : MPI_IN_PLACE, seconds, 2, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
    if (t_rank == 0)
        printf("t_views: %.1f MB in %.2f s written, %.2f s read\n",
               (double)elements * 8 * times / 1e6, seconds[0], seconds[1]);
    if (limit)
        look_at_memory(field("VmHWM") - before, limit);
    if (t_rank == 0)
        compare(name, times);
    MPI_Info_free(&info);
    free(buf);
    return t_end("t_views");
}
