/*
 * Modes of opening and of access: create, exclusive, append, delete on close, sequential, one-way
 * opens, MPI_COMM_SELF, many files; shared file pointers, ordered access, atomic mode; accesses of
 * no bytes, invalid offsets.
 */
#include <limits.h>
#include <stdint.h>
#include <sys/mman.h>

#include "t_mpiio.h"

enum { RW = MPI_MODE_CREATE | MPI_MODE_RDWR, N = 1000 };

static const char *name;
static int out[N], in[N];
static MPI_Status status;

static MPI_File open_as(MPI_Comm comm, const char *suffix, int amode)
{
    char path[2000];
    MPI_File fh;

    snprintf(path, sizeof path, "%s%s", name, suffix);
    OK(MPI_File_open(comm, path, amode, MPI_INFO_NULL, &fh));
    return fh;
}

static int class_of_open(int amode)
{
    MPI_File fh = MPI_FILE_NULL;
    int rc = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);

    if (rc == MPI_SUCCESS)
        OK(MPI_File_close(&fh));
    return rc == MPI_SUCCESS ? MPI_SUCCESS : t_class(rc);
}

static int got(void)
{
    int n;

    OK(MPI_Get_count(&status, MPI_INT, &n));
    return n;
}

static void stamp(int *buf, int n, int gen)
{
    for (int i = 0; i < n; i++)
        buf[i] = gen << 20 ^ t_rank << 12 ^ i;
}

static MPI_Offset size_of(MPI_File fh)
{
    MPI_Offset size;

    OK(MPI_File_get_size(fh, &size));
    return size;
}

/* ---- opening ---- */

static void creating(void)
{
    MPI_File fh;

    CHECK(class_of_open(MPI_MODE_RDWR) == MPI_ERR_NO_SUCH_FILE);
    CHECK(class_of_open(RW | MPI_MODE_EXCL) == MPI_SUCCESS);
    CHECK(class_of_open(RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    CHECK(class_of_open(RW) == MPI_SUCCESS);
    CHECK(class_of_open(MPI_MODE_RDONLY | MPI_MODE_CREATE) != MPI_SUCCESS);
    CHECK(class_of_open(MPI_MODE_RDONLY | MPI_MODE_WRONLY) != MPI_SUCCESS);
    CHECK(class_of_open(MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL) != MPI_SUCCESS);
    fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE);
    OK(MPI_File_close(&fh));
    CHECK(class_of_open(MPI_MODE_RDONLY) == MPI_ERR_NO_SUCH_FILE);
    fh = open_as(MPI_COMM_WORLD, "", RW | MPI_MODE_EXCL | MPI_MODE_UNIQUE_OPEN);
    OK(MPI_File_close(&fh));
}

/* Calls that one rank may make while the others wait for it. */
static void one_rank(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".one", RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Offset at;

    for (int r = 0; r < t_size; r++) {
        if (r == t_rank) {
            OK(MPI_File_write_at(fh, 4 * r, out, 1, MPI_INT, &status));
            OK(MPI_File_sync(fh)); /* collective by the standard, but programs do so */
            CHECK(size_of(fh) == 4 * (r + 1));
            OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
            OK(MPI_File_get_position(fh, &at));
            CHECK(at == 4 * (r + 1));
        }
        MPI_Barrier(MPI_COMM_WORLD);
    }
    OK(MPI_File_close(&fh));
}

/* The file holds one int of every rank. */
static void one_way(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_WRONLY);
    int mine = 7 + t_rank, back = 0;

    OK(MPI_File_write_at_all(fh, 4 * t_rank, &mine, 1, MPI_INT, &status));
    CHECK(t_class(MPI_File_read_at(fh, 0, in, 1, MPI_INT, &status)) == MPI_ERR_ACCESS);
    OK(MPI_File_close(&fh));
    fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_RDONLY);
    OK(MPI_File_read_at_all(fh, 4 * t_rank, &back, 1, MPI_INT, &status));
    CHECK(back == mine && got() == 1);
    CHECK(t_class(MPI_File_write_at(fh, 0, out, 1, MPI_INT, &status)) == MPI_ERR_READ_ONLY);
    CHECK(t_class(MPI_File_set_size(fh, 0)) != MPI_SUCCESS);
    CHECK(size_of(fh) == 4 * t_size);
    OK(MPI_File_close(&fh));
}

static void appending(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_RDWR | MPI_MODE_APPEND);
    MPI_Offset at, shared;
    int mine = 100 + t_rank;

    OK(MPI_File_get_position(fh, &at));
    OK(MPI_File_get_position_shared(fh, &shared));
    CHECK(at == 4 * t_size && shared == 4 * t_size);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_write_ordered(fh, &mine, 1, MPI_INT, &status));
    OK(MPI_File_close(&fh));
    fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_WRONLY | MPI_MODE_APPEND);
    OK(MPI_File_seek(fh, t_rank * 4, MPI_SEEK_CUR));
    mine += 1000;
    OK(MPI_File_write(fh, &mine, 1, MPI_INT, &status)); /* each behind the end, by itself */
    OK(MPI_File_close(&fh));
    mine -= 1000;
    fh = open_as(MPI_COMM_WORLD, "", MPI_MODE_RDONLY);
    CHECK(size_of(fh) == 12 * t_size);
    OK(MPI_File_read_at(fh, 4 * (2 * t_size + t_rank), in, 1, MPI_INT, &status));
    CHECK(in[0] == 1000 + mine);
    OK(MPI_File_read_at(fh, 4 * (t_size + t_rank), in, 1, MPI_INT, &status));
    CHECK(in[0] == mine);
    OK(MPI_File_close(&fh));
}

/* Every rank by itself, the same file and its own. */
static void alone(void)
{
    char suffix[20];
    MPI_File all, own;
    int mine = 200 + t_rank;

    snprintf(suffix, sizeof suffix, ".%d", t_rank);
    own = open_as(MPI_COMM_SELF, suffix, RW | MPI_MODE_DELETE_ON_CLOSE);
    all = open_as(MPI_COMM_SELF, "", MPI_MODE_RDWR);
    OK(MPI_File_write_shared(own, &mine, 1, MPI_INT, &status));
    OK(MPI_File_write_ordered(own, &mine, 1, MPI_INT, &status));
    OK(MPI_File_read_at(own, 4, in, 1, MPI_INT, &status));
    CHECK(in[0] == mine && size_of(own) == 8);
    OK(MPI_File_write_at(all, 4 * t_rank, &mine, 1, MPI_INT, &status));
    OK(MPI_File_close(&all));
    MPI_Barrier(MPI_COMM_WORLD);
    all = open_as(MPI_COMM_SELF, "", MPI_MODE_RDONLY);
    OK(MPI_File_read_at(all, 0, in, t_size, MPI_INT, &status));
    for (int r = 0; r < t_size; r++)
        CHECK(in[r] == 200 + r);
    OK(MPI_File_close(&all));
    OK(MPI_File_close(&own));
}

static void many_files(void)
{
    enum { MANY = 40 };
    MPI_File fh[MANY];
    char suffix[20];
    int mine[MANY];

    for (int i = 0; i < MANY; i++) {
        snprintf(suffix, sizeof suffix, ".many%d", i);
        fh[i] = open_as(MPI_COMM_WORLD, suffix, RW | MPI_MODE_DELETE_ON_CLOSE);
    }
    for (int i = 0; i < MANY; i++) {
        mine[i] = i << 8 | t_rank;
        OK(MPI_File_write_at(fh[i], 4 * t_rank, &mine[i], 1, MPI_INT, &status));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = MANY; i-- > 0;) {
        OK(MPI_File_read_at(fh[i], 4 * ((t_rank + 1) % t_size), in, 1, MPI_INT, &status));
        CHECK(in[0] == (i << 8 | (t_rank + 1) % t_size));
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < MANY; i++)
        OK(MPI_File_close(&fh[i]));
}

/* ---- sizes ---- */

static void sizes(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".size", RW | MPI_MODE_DELETE_ON_CLOSE);

    OK(MPI_File_preallocate(fh, 100000));
    CHECK(size_of(fh) == 100000);
    OK(MPI_File_read_at(fh, 99996, in, 1, MPI_INT, &status));
    CHECK(in[0] == 0 && got() == 1);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_preallocate(fh, 50000)); /* never makes it smaller */
    CHECK(size_of(fh) == 100000);
    OK(MPI_File_set_size(fh, 10));
    CHECK(size_of(fh) == 10);
    OK(MPI_File_read_at(fh, 8, in, 4, MPI_INT, &status));
    CHECK(got() == MPI_UNDEFINED || got() == 0);
    CHECK(t_class(MPI_File_preallocate(fh, -1)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_set_size(fh, -1)) == MPI_ERR_ARG);
    CHECK(MPI_File_preallocate(fh, INT64_MAX) != MPI_SUCCESS); /* beyond any disk */
    CHECK(size_of(fh) == 10);
    OK(MPI_File_close(&fh));
}

/* ---- the pointers ---- */

static void refused(MPI_File fh, MPI_Offset off)
{
    MPI_Request r = MPI_REQUEST_NULL;

    CHECK(t_class(MPI_File_write_at(fh, off, out, 1, MPI_INT, &status)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_read_at(fh, off, in, 1, MPI_INT, &status)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_write_at_all(fh, off, out, 1, MPI_INT, &status)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_iread_at(fh, off, in, 1, MPI_INT, &r)) == MPI_ERR_ARG);
}

static void no_offsets(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".off", RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype gaps;
    MPI_Offset at;

    refused(fh, -1);
    refused(fh, INT64_MAX);
    refused(fh, INT64_MIN);
    OK(MPI_File_seek_shared(fh, 8, MPI_SEEK_SET));
    CHECK(t_class(MPI_File_seek_shared(fh, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek_shared(fh, -9, MPI_SEEK_CUR)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek_shared(fh, 0, 77)) == MPI_ERR_ARG);
    if (t_size > 1) /* not the same everywhere */
        CHECK(t_class(MPI_File_seek_shared(fh, t_rank, MPI_SEEK_SET)) == MPI_ERR_ARG);
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == 8);
    CHECK(MPI_File_set_view(fh, -1, MPI_INT, MPI_INT, "native", MPI_INFO_NULL) != MPI_SUCCESS);
    OK(MPI_File_set_view(fh, INT64_MAX - 3, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    CHECK(t_class(MPI_File_write_at(fh, 0, out, 1, MPI_INT, &status)) == MPI_ERR_ARG);
    OK(MPI_File_set_view(fh, 16, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
    /* times the etype it is 8 once more */
    CHECK(t_class(MPI_File_write_at(fh, (1ll << 61) + 1, out, 2, MPI_INT, &status)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek(fh, (1ll << 61) + 1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek(fh, -1, MPI_SEEK_SET)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek(fh, -1, MPI_SEEK_CUR)) == MPI_ERR_ARG);
    CHECK(t_class(MPI_File_seek(fh, 0, 77)) == MPI_ERR_ARG);
    OK(MPI_File_get_position(fh, &at));
    CHECK(at == 0);
    OK(MPI_File_seek(fh, 0, MPI_SEEK_END)); /* the file ends before the view begins */
    OK(MPI_File_get_position(fh, &at));
    CHECK(at == 0);
    CHECK(size_of(fh) == 0);

    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_set_view(fh, 0, MPI_INT, gaps, "native", MPI_INFO_NULL));
    refused(fh, INT64_MAX);
    refused(fh, (1ll << 62) + 1);
    OK(MPI_Type_free(&gaps));
    OK(MPI_File_close(&fh));
}

/* Memory that the processor cannot reach, like that of a device, is an error and kills no
 * process. */
static void no_memory(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".mem", RW | MPI_MODE_DELETE_ON_CLOSE);
    void *device = mmap(NULL, 1 << 20, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Request r;
    MPI_Datatype gaps;
    int rc;

    CHECK(device != MAP_FAILED);
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    CHECK(t_class(MPI_File_write_at(fh, 0, device, 1, MPI_INT, &status)) == MPI_ERR_BUFFER);
    CHECK(t_class(MPI_File_write_at_all(fh, 0, device, 1, gaps, &status)) == MPI_ERR_BUFFER);
    CHECK(t_class(MPI_File_read_at(fh, 0, NULL, 1, MPI_INT, &status)) == MPI_ERR_BUFFER);
    rc = MPI_File_iread_at(fh, 0, device, 1, MPI_INT, &r);
    CHECK(t_class(rc) == MPI_ERR_BUFFER);
    OK(MPI_File_write_at(fh, 0, NULL, 0, MPI_INT, &status));
    OK(MPI_Type_free(&gaps));
    OK(MPI_File_close(&fh));
    munmap(device, 1 << 20);
}

/* A view that is refused leaves the old one. */
static void no_views(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".view", RW | MPI_MODE_DELETE_ON_CLOSE);
    int lens[2] = {1, 1}, falling[2] = {4, 0}, below[2] = {-3, 0}, twice[2] = {0, 0};
    const int *bad[3] = {falling, below, twice};
    MPI_Datatype t, etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING];
    MPI_Offset disp;

    OK(MPI_File_set_view(fh, 8, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 3; i++) {
        OK(MPI_Type_indexed(2, lens, bad[i], MPI_INT, &t));
        OK(MPI_Type_commit(&t));
        CHECK(t_class(MPI_File_set_view(fh, 0, MPI_INT, t, "native", MPI_INFO_NULL)) == MPI_ERR_IO);
        CHECK(t_class(MPI_File_set_view(fh, 0, t, t, "native", MPI_INFO_NULL)) == MPI_ERR_IO);
        OK(MPI_Type_free(&t));
    }
    OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    CHECK(disp == 8 && etype == MPI_INT && filetype == MPI_INT && !strcmp(datarep, "native"));
    out[0] = 5 + t_rank;
    OK(MPI_File_write_at(fh, t_rank, out, 1, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(size_of(fh) == 8 + 4 * t_size);
    OK(MPI_File_close(&fh));
}

/* Accesses of no bytes: nothing moves, and a rank without bytes is not waited for. */
static void nothing(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".none", RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Datatype empty, gaps;
    MPI_Request r;
    MPI_Offset at;

    OK(MPI_Type_contiguous(0, MPI_INT, &empty));
    OK(MPI_Type_commit(&empty));
    OK(MPI_Type_vector(2, 1, 2, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_write_at(fh, 77, out, 0, MPI_INT, &status));
    OK(MPI_File_write_at_all(fh, 77, out, t_rank ? 0 : 1, MPI_INT, &status));
    OK(MPI_File_write_all(fh, out, 0, gaps, &status));
    CHECK(got() == 0);
    OK(MPI_File_write_all(fh, out, 3, empty, &status));
    OK(MPI_File_read(fh, in, 3, empty, &status));
    OK(MPI_File_iread(fh, in, 0, MPI_INT, &r));
    OK(MPI_Wait(&r, &status));
    CHECK(got() == 0);
    OK(MPI_File_write_shared(fh, out, 0, MPI_INT, &status));
    OK(MPI_File_write_ordered(fh, out, 0, MPI_INT, &status));
    OK(MPI_File_get_position(fh, &at));
    CHECK(at == 0);
    /* a rank that sees nothing takes part in collective calls */
    OK(MPI_File_set_view(fh, 0, MPI_INT, t_rank ? empty : MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, out, t_rank ? 0 : N, MPI_INT, &status));
    OK(MPI_File_read_at_all(fh, 0, in, t_rank ? 0 : N, MPI_INT, &status));
    CHECK(got() == (t_rank ? 0 : N));
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK(size_of(fh) == 4 * N);
    OK(MPI_Type_free(&empty));
    OK(MPI_Type_free(&gaps));
    OK(MPI_File_close(&fh));
}

/* Records of every rank, in any order: none lost, none twice. */
static void check_records(MPI_File fh, int each, int how)
{
    static int seen[64][N];
    int record[2];

    memset(seen, 0, sizeof seen);
    CHECK(size_of(fh) == (MPI_Offset)sizeof record * each * t_size);
    for (int i = 0; i < each * t_size; i++) {
        OK(MPI_File_read_at(fh, i * (MPI_Offset)sizeof record, record, 2, MPI_INT, &status));
        CHECK(record[0] >= 0 && record[0] < t_size && record[1] >= 0 && record[1] < each);
        if (t_failures)
            return;
        CHECK(!seen[record[0]][record[1]]++);
        if (how) /* ordered: in rounds, by rank */
            CHECK(record[0] == i % t_size && record[1] == i / t_size);
    }
}

static void shared_pointer(void)
{
    enum { EACH = 40 };
    MPI_File fh = open_as(MPI_COMM_WORLD, ".shared", RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Request r[EACH];
    int records[EACH][2], sum = 0, all;
    MPI_Offset at;

    for (int i = 0; i < EACH; i++) {
        records[i][0] = t_rank;
        records[i][1] = i;
        if (i % 2)
            OK(MPI_File_iwrite_shared(fh, records[i], 2, MPI_INT, &r[i]));
        else
            OK(MPI_File_write_shared(fh, records[i], 2, MPI_INT, &status));
        if (i % 2)
            OK(MPI_Wait(&r[i], &status));
        CHECK(got() == 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == 8 * EACH * t_size);
    check_records(fh, EACH, 0);

    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (;;) { /* each record goes to one rank */
        OK(MPI_File_read_shared(fh, in, 2, MPI_INT, &status));
        if (!got())
            break;
        sum++;
    }
    OK(MPI_Allreduce(&sum, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
    CHECK(all == EACH * t_size);

    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_END));
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == 8 * EACH * t_size);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(fh, -8, MPI_SEEK_CUR));
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == 8 * EACH * t_size - 8);
    MPI_Barrier(MPI_COMM_WORLD);
    /* setting a view sets it to 0, in units of the new etype; late ranks use the old one */
    if (t_rank == t_size - 1)
        OK(MPI_File_read_shared(fh, in, 2, MPI_INT, &status));
    OK(MPI_File_set_view(fh, 8, MPI_2INT, MPI_2INT, "native", MPI_INFO_NULL));
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == 0);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_shared(fh, in, 2, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == t_size);
    OK(MPI_File_close(&fh));
}

/* A shared pointer that cannot be moved must not be taken for 0. */
static void shared_pointer_stuck(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".stuck", RW | MPI_MODE_DELETE_ON_CLOSE);
    const MPI_Offset far = INT64_MAX - 3;
    int first[2] = {4711, 4712};
    MPI_Request r = MPI_REQUEST_NULL;
    MPI_Offset at;

    if (t_rank == 0)
        OK(MPI_File_write_at(fh, 0, first, 2, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_seek_shared(fh, far, MPI_SEEK_SET));
    CHECK(MPI_File_write_shared(fh, out, 2, MPI_INT, &status) != MPI_SUCCESS);
    CHECK(MPI_File_iwrite_shared(fh, out, 2, MPI_INT, &r) != MPI_SUCCESS);
    if (r != MPI_REQUEST_NULL)
        MPI_Wait(&r, &status);
    CHECK(t_class(MPI_File_write_ordered(fh, out, 2, MPI_INT, &status)) == MPI_ERR_ARG);
    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == far);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_at(fh, 0, in, 2, MPI_INT, &status));
    CHECK(got() == 2 && in[0] == first[0] && in[1] == first[1]);
    OK(MPI_File_close(&fh));
}

static void ordered(void)
{
    enum { EACH = 12 };
    MPI_File fh = open_as(MPI_COMM_WORLD, ".ordered", RW | MPI_MODE_DELETE_ON_CLOSE);
    int record[2] = {t_rank, 0};

    for (int i = 0; i < EACH; i++) {
        record[1] = i;
        if (i % 2) {
            OK(MPI_File_write_ordered_begin(fh, record, 2, MPI_INT));
            OK(MPI_File_write_ordered_end(fh, record, &status));
        } else {
            OK(MPI_File_write_ordered(fh, record, 2, MPI_INT, &status));
        }
        CHECK(got() == 2);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    check_records(fh, EACH, 1);
    OK(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    for (int i = 0; i < EACH; i++) {
        if (i % 2) {
            OK(MPI_File_read_ordered_begin(fh, record, 2, MPI_INT));
            OK(MPI_File_read_ordered_end(fh, record, &status));
        } else {
            OK(MPI_File_read_ordered(fh, record, 2, MPI_INT, &status));
        }
        CHECK(got() == 2 && record[0] == t_rank && record[1] == i);
    }
    OK(MPI_File_close(&fh));
}

/* Only shared pointers work. */
static void sequential(void)
{
    MPI_File fh =
        open_as(MPI_COMM_WORLD, ".seq", MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL);
    int mine = 300 + t_rank;

    OK(MPI_File_write_ordered(fh, &mine, 1, MPI_INT, &status));
    CHECK(t_class(MPI_File_write_at(fh, 0, out, 1, MPI_INT, &status)) ==
          MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(t_class(MPI_File_write(fh, out, 1, MPI_INT, &status)) == MPI_ERR_UNSUPPORTED_OPERATION);
    CHECK(t_class(MPI_File_seek(fh, 0, MPI_SEEK_SET)) == MPI_ERR_UNSUPPORTED_OPERATION);
    OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_shared(fh, &mine, 1, MPI_INT, &status));
    OK(MPI_File_close(&fh));
    fh = open_as(MPI_COMM_WORLD, ".seq",
                 MPI_MODE_RDONLY | MPI_MODE_SEQUENTIAL | MPI_MODE_DELETE_ON_CLOSE);
    OK(MPI_File_read_ordered(fh, in, 1, MPI_INT, &status));
    CHECK(in[0] == mine);
    OK(MPI_File_read_shared(fh, in, 1, MPI_INT, &status));
    CHECK(got() == 1 && in[0] >= 300 && in[0] < 300 + t_size);
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_read_shared(fh, in, 1, MPI_INT, &status));
    CHECK(got() == 0);
    OK(MPI_File_close(&fh));
}

/* All write the same bytes, across blocks, pages and holes of a view: a reader sees one rank's
 * bytes, never a mixture. */
static void atomic_mode(void)
{
    enum { TURNS = 15 };
    MPI_File fh;
    MPI_Datatype gaps;
    MPI_Info info;
    char path[2000];
    int flag, same;

    snprintf(path, sizeof path, "%s.atomic", name);
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_block_size", "4K"));
    OK(MPI_Info_set(info, "cb_nodes", "2"));
    OK(MPI_Info_set(info, "cb_config_list", "*:2"));
    OK(MPI_File_open(MPI_COMM_WORLD, path, RW | MPI_MODE_DELETE_ON_CLOSE, info, &fh));
    OK(MPI_Info_free(&info));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(!flag);
    OK(MPI_File_set_atomicity(fh, 1));
    OK(MPI_File_get_atomicity(fh, &flag));
    CHECK(flag);
    OK(MPI_Type_vector(N, 1, 4, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_set_view(fh, 0, MPI_INT, gaps, "native", MPI_INFO_NULL));
    for (int i = 0; i < N; i++)
        out[i] = t_rank + 1;
    OK(MPI_File_write_at_all(fh, 0, out, N, MPI_INT, &status));
    for (int turn = 0; turn < TURNS; turn++) {
        if (turn % 3 == t_rank % 3)
            OK(MPI_File_write_at(fh, 0, out, N, MPI_INT, &status));
        OK(MPI_File_read_at(fh, 0, in, N, MPI_INT, &status));
        same = in[0] > 0 && in[0] <= t_size;
        for (int i = 0; i < N; i++)
            same = same && in[i] == in[0];
        CHECK(same);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    /* each rank sees the previous one's bytes, without sync */
    for (int r = 0; r < t_size; r++) {
        if (r == t_rank)
            OK(MPI_File_write_at(fh, 0, out, 1, MPI_INT, &status));
        MPI_Barrier(MPI_COMM_WORLD);
        OK(MPI_File_read_at(fh, 0, in, 1, MPI_INT, &status));
        CHECK(in[0] == r + 1);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    /* appended by shared pointer, in atomic mode */
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_write_shared(fh, out, 1, MPI_INT, &status));
    OK(MPI_File_set_atomicity(fh, 0));
    OK(MPI_Type_free(&gaps));
    OK(MPI_File_close(&fh));
}

/* An individual pointer advances by what was requested, however short the read. */
static void short_reads(void)
{
    MPI_File fh = open_as(MPI_COMM_WORLD, ".short", RW | MPI_MODE_DELETE_ON_CLOSE);
    MPI_Offset at;

    OK(MPI_File_write_at_all(fh, 0, out, 10, MPI_INT, &status));
    MPI_Barrier(MPI_COMM_WORLD);
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    OK(MPI_File_read(fh, in, 25, MPI_INT, &status));
    CHECK(got() == 10);
    OK(MPI_File_get_position(fh, &at));
    CHECK(at == 25);
    OK(MPI_File_close(&fh));
}

int main(int argc, char **argv)
{
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    stamp(out, N, 1);
    creating();
    one_rank();
    one_way();
    appending();
    alone();
    many_files();
    sizes();
    no_offsets();
    no_views();
    no_memory();
    nothing();
    shared_pointer();
    shared_pointer_stuck();
    ordered();
    sequential();
    atomic_mode();
    short_reads();
    MPI_Barrier(MPI_COMM_WORLD);
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return t_end("t_modes");
}
