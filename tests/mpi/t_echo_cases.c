/*
 * More about MPI_File_get_info, and how often messages appear; t_echo.c has the hints one by one.
 *
 *     t_echo_cases FILE CASE      CASE is the name of one of the functions below
 */
#include "t_mpiio.h"

enum { MIB = 1 << 20 };

static const char *file;
static char data[2 * MIB];

/* "key=value,key=value"; NULL: no info. */
static MPI_Info info_of(const char *hints)
{
    char copy[400], *rest, *word;
    MPI_Info info;

    if (!hints)
        return MPI_INFO_NULL;
    OK(MPI_Info_create(&info));
    snprintf(copy, sizeof copy, "%s", hints);
    for (word = strtok_r(copy, ",", &rest); word; word = strtok_r(NULL, ",", &rest)) {
        char *value = strchr(word, '=');

        *value++ = 0;
        OK(MPI_Info_set(info, word, value));
    }
    return info;
}

static void info_free(MPI_Info *info)
{
    if (*info != MPI_INFO_NULL)
        OK(MPI_Info_free(info));
}

static MPI_File open_on(MPI_Comm comm, const char *suffix, const char *hints)
{
    MPI_Info info = info_of(hints);
    char path[512];
    MPI_File fh;

    snprintf(path, sizeof path, "%s.%s", file, suffix);
    OK(MPI_File_open(comm, path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
    info_free(&info);
    return fh;
}

static char *told(MPI_File fh, const char *key)
{
    static char value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int found;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
    OK(MPI_Info_free(&info));
    return found ? value : NULL;
}

static void expect(MPI_File fh, const char *key, const char *want)
{
    const char *value = told(fh, key);

    if (!value || strcmp(value, want)) {
        fprintf(stderr, "rank %d: %s is %s, not %s\n", t_rank, key, value ? value : "not told",
                want);
        t_failures++;
    }
}

/* ---- memory ---- */

/* Each rank's part of 16 MiB, written, read. */
static void fill(MPI_File fh, int seed)
{
    static char back[sizeof data];
    MPI_Status status;

    for (int i = 0; i < 8; i++) {
        MPI_Offset at = ((MPI_Offset)i * t_size + t_rank) * (MPI_Offset)sizeof data;

        memset(data, seed + i, sizeof data);
        OK(MPI_File_write_at(fh, at, data, sizeof data, MPI_CHAR, &status));
    }
    for (int i = 0; i < 8; i++) {
        MPI_Offset at = ((MPI_Offset)i * t_size + t_rank) * (MPI_Offset)sizeof data;

        memset(data, seed + i, sizeof data);
        OK(MPI_File_read_at(fh, at, back, sizeof back, MPI_CHAR, &status));
        CHECK(!memcmp(data, back, sizeof back));
    }
}

static long long count(MPI_File fh, const char *name)
{
    const char *value = told(fh, name);

    return value ? atoll(value) : -1;
}

/* Files with different page sizes share what one of them alone would have. */
static void shares(void)
{
    MPI_File a, b, c;

    a = open_on(MPI_COMM_WORLD, "a",
                "zcache_cache_size=8M,zcache_counters=true,zcache_block_size=64K,"
                "zcache_view_memory=0%");
    fill(a, 1);
    CHECK(count(a, "zcache_agg_capacity_bytes") == 8 * MIB);
    b = open_on(MPI_COMM_WORLD, "b",
                "zcache_cache_size=8M,zcache_counters=true,zcache_write_back=daemon");
    fill(b, 11);
    fill(a, 21);
    CHECK(count(a, "zcache_agg_capacity_bytes") + count(b, "zcache_agg_capacity_bytes") <= 8 * MIB);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(count(a, "zcache_agg_used_bytes") + count(b, "zcache_agg_used_bytes") <= 8 * MIB);
    expect(a, "zcache_cache_size", "8M");
    expect(b, "zcache_cache_size", "8M");
    OK(MPI_File_close(&a));
    c = open_on(MPI_COMM_WORLD, "c", "zcache_counters=true"); /* without a hint of its own */
    expect(c, "zcache_cache_size", "8M");
    fill(c, 31);
    fill(b, 41);
    CHECK(count(b, "zcache_agg_capacity_bytes") + count(c, "zcache_agg_capacity_bytes") <= 8 * MIB);
    OK(MPI_File_close(&b));
    OK(MPI_File_close(&c));
    c = open_on(MPI_COMM_WORLD, "c", "zcache_counters=true,zcache_view_memory=0%");
    expect(c, "zcache_cache_size", "128M"); /* no cache is in use */
    CHECK(count(c, "zcache_agg_capacity_bytes") == 128 * MIB);
    fill(c, 51);
    OK(MPI_File_close(&c));
}

/* A default that grows with the ranks of a file grows also while another file is open, unless the
 * size in force was asked for. */
static void grows(void)
{
    for (int asked = 0; asked < 2; asked++) {
        MPI_File own = MPI_FILE_NULL, fh;

        if (t_rank == 0)
            own = open_on(MPI_COMM_SELF, "own", asked ? "zcache_cache_size=64M" : NULL);
        fh = open_on(MPI_COMM_WORLD, "f", "cb_nodes=1,cb_config_list=*:1");
        expect(fh, "zcache_cache_size", asked ? "64M" : "192M");
        OK(MPI_File_close(&fh));
        if (t_rank == 0)
            OK(MPI_File_close(&own));
    }
}

/* Aggregators of which some have been used before: every rank gets the minimum. */
static void owners(void)
{
    static const char all[] = "cb_nodes=3,cb_config_list=*:*";
    MPI_Comm some;
    MPI_File own, fh;

    OK(MPI_Comm_split(MPI_COMM_WORLD, t_rank == 1, 0, &some));
    if (t_rank == 1)
        own = open_on(some, "own", "zcache_cache_size=16M,zcache_high_watermark=40%");
    MPI_Barrier(MPI_COMM_WORLD);
    fh = open_on(MPI_COMM_WORLD, "f", all);
    expect(fh, "zcache_cache_size", "16M");
    expect(fh, "zcache_high_watermark", "40%");
    fill(fh, 1);
    OK(MPI_File_close(&fh));
    fh = open_on(MPI_COMM_WORLD, "f", "cb_nodes=3,cb_config_list=*:*,zcache_cache_size=8M");
    expect(fh, "zcache_cache_size", "8M");
    OK(MPI_File_close(&fh));
    if (t_rank == 1)
        OK(MPI_File_close(&own));
    OK(MPI_Comm_free(&some));
}

/* ---- rank 0 decides ---- */

/* MPI_File_set_info, too, uses rank 0's values; MPI_File_set_view changes nothing. */
static void set_info(void)
{
    MPI_File fh = open_on(MPI_COMM_WORLD, "f", NULL);
    MPI_Info info = info_of(t_rank ? "zcache_sync_level=durable,zcache_close_level=durable"
                                   : "zcache_sync_level=staged,zcache_counters=true");

    OK(MPI_File_set_info(fh, info));
    info_free(&info);
    expect(fh, "zcache_sync_level", "staged");
    expect(fh, "zcache_close_level", "stored");
    expect(fh, "zcache_counters", "true");
    info = info_of(t_rank ? "zcache_sync_level=durable" : "zcache_sync_level=visible");
    OK(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "native", info));
    info_free(&info);
    expect(fh, "zcache_sync_level", "staged");
    info = info_of("zcache_flush=wait");
    OK(MPI_File_set_info(fh, info));
    info_free(&info);
    expect(fh, "zcache_flush", "none");
    expect(fh, "zcache_sync_level", "staged");
    OK(MPI_File_close(&fh));
}

/* The script gives daemons to some ranks only: rank 0's apply to all, or none do. */
static void daemons(void)
{
    MPI_File fh =
        open_on(MPI_COMM_WORLD, "f", "zcache_counters=true,cb_nodes=2,cb_config_list=*:*");

    fill(fh, 1);
    if (t_rank == 0)
        printf("daemons: %lld\n", count(fh, "zcache_iod_servers"));
    OK(MPI_File_close(&fh));
}

/* ---- after an open that failed ---- */

static void failed(void)
{
    MPI_Info info = info_of("zcache_timeout=40s");
    char path[512];
    MPI_File fh;

    snprintf(path, sizeof path, "%s.none", file);
    CHECK(t_class(MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_RDONLY, info, &fh)) ==
          MPI_ERR_NO_SUCH_FILE);
    info_free(&info);
    fh = open_on(MPI_COMM_WORLD, "f", "zcache_timeout=50s");
    expect(fh, "zcache_timeout", "40s");
    OK(MPI_File_close(&fh));
}

/* ---- agreed settings ---- */

/* Rank 1 alone has the file open; its settings are in force for all ranks that open it then,
 * although the others learn them only from the rendezvous record. */
static void joined(void)
{
    static const char *const names[] = {"zcache_checksum", "zcache_block_size", "zcache_write_back",
                                        "zcache_replay", "zcache_on_daemon_loss"};
    MPI_File own = MPI_FILE_NULL, fh;

    if (t_rank == 1)
        own = open_on(MPI_COMM_SELF, "j",
                      "zcache_checksum=on,zcache_block_size=64K,zcache_write_back=none,"
                      "zcache_replay=strict,zcache_on_daemon_loss=bypass");
    OK(MPI_Barrier(MPI_COMM_WORLD));
    fh = open_on(MPI_COMM_WORLD, "j", "zcache_block_size=1M,zcache_replay=on");
    expect(fh, "zcache_checksum", "on");
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char value[64] = "";

        if (t_rank == 1)
            snprintf(value, sizeof value, "%s", told(own, names[i]));
        OK(MPI_Bcast(value, sizeof value, MPI_CHAR, 1, MPI_COMM_WORLD));
        expect(fh, names[i], value);
    }
    OK(MPI_File_close(&fh));
    if (t_rank == 1)
        OK(MPI_File_close(&own));
}

/* ---- how often ---- */

/* The script counts. */
static void once(void)
{
    static const char hints[] = "zcache_nonsense=1,zcache_sync_level=soon,zcache_block_size=7,"
                                "zcache_timeout=31s,zcache_flush=start";

    for (int i = 0; i < 3; i++) {
        MPI_File fh = open_on(MPI_COMM_WORLD, "f", hints);
        MPI_Info info = info_of(hints);

        for (int j = 0; j < 3; j++) {
            OK(MPI_File_set_info(fh, info));
            OK(MPI_File_set_view(fh, 0, MPI_CHAR, MPI_CHAR, "native", info));
        }
        info_free(&info);
        OK(MPI_File_close(&fh));
    }
}

static const struct {
    const char *name;
    void (*run)(void);
} cases[] = {{"shares", shares}, {"owners", owners}, {"set_info", set_info}, {"daemons", daemons},
             {"failed", failed}, {"once", once},     {"joined", joined},     {"grows", grows}};

int main(int argc, char **argv)
{
    int ran = 0;

    file = t_begin(argc, argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; argc == 3 && i < sizeof cases / sizeof *cases; i++) {
        if (strcmp(cases[i].name, argv[2]))
            continue;
        cases[i].run();
        ran = 1;
    }
    if (!ran)
        MPI_Abort(MPI_COMM_WORLD, 2);
    return t_end("t_echo_cases");
}
