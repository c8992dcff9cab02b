/*
 * t_io_chapter FILE [-ROW ...]: the I/O chapter of the MPI standard (4.1: chapter 14), a function a
 * row; prints for each "row NAME yes", or "row NAME no" and the first thing that is not so, and
 * "hint KEY=VALUE" for what MPI_File_get_info returns.  Rows named with a "-" are left out: where a
 * library crashes or stands still.  Exits 0 whatever the rows say; with two ranks or more.
 * doc/io-chapter.md has the rows of three implementations; test-io-chapter.sh compares.
 *
 * A rank in whose eyes something is wrong goes on to the end of the row with the others.
 */
#include <stdbool.h>

#include "t_mpiio.h"

enum { N = 600, INT = sizeof(int) };

static const char *name;
static MPI_File fh;
static char wrong[300]; /* what is first wrong in this row, on this rank */
static int data[N], back[N];

static void note(int line, const char *what, int code)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int n;

    if (*wrong)
        return;
    if (code != MPI_SUCCESS)
        MPI_Error_string(code, text, &n);
    snprintf(wrong, sizeof wrong, "line %d: %.120s%s%.120s", line, what, *text ? ": " : "", text);
}

#define IS(cond)                                                                                   \
    do {                                                                                           \
        if (!(cond))                                                                               \
            note(__LINE__, #cond, MPI_SUCCESS);                                                    \
    } while (0)

#define WORKS(call)                                                                                \
    do {                                                                                           \
        int works_rc = (call);                                                                     \
        if (works_rc != MPI_SUCCESS)                                                               \
            note(__LINE__, #call, works_rc);                                                       \
    } while (0)

static int class_of(int code)
{
    int class = MPI_ERR_LASTCODE;

    MPI_Error_class(code, &class);
    return class;
}

/* ---- shared by rows --------------------------------------------------------------- */

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static int open_with(int amode)
{
    int rc;

    fh = MPI_FILE_NULL;
    rc = MPI_File_open(MPI_COMM_WORLD, name, amode, MPI_INFO_NULL, &fh);
    return rc;
}

static void shut(void)
{
    if (fh != MPI_FILE_NULL)
        WORKS(MPI_File_close(&fh));
}

static void removed(void)
{
    barrier();
    if (t_rank == 0)
        MPI_File_delete(name, MPI_INFO_NULL);
    barrier();
}

static void draw(int seed)
{
    for (int i = 0; i < N; i++) {
        data[i] = seed * 1000003 + i;
        back[i] = -1;
    }
}

/* What another rank, FROM, has drawn. */
static void drawn_by(int seed, int n)
{
    bool same = true;

    for (int i = 0; i < n; i++)
        same = same && back[i] == seed * 1000003 + i;
    IS(same);
}

static void begin(void)
{
    removed();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_RDWR));
}

static void end(void)
{
    shut();
    removed();
}

/* What was written is in the file for the other ranks. */
static void settle(void)
{
    WORKS(MPI_File_sync(fh));
    barrier();
    WORKS(MPI_File_sync(fh));
}

static int next_rank(void)
{
    return (t_rank + 1) % t_size;
}

static MPI_Offset part_of(int rank)
{
    return (MPI_Offset)rank * N * INT;
}

static void done(MPI_Request *request, int n)
{
    MPI_Status status;
    int count = -1;

    WORKS(MPI_Wait(request, &status));
    MPI_Get_count(&status, MPI_INT, &count);
    IS(count == n);
}

/* Every rank has written its part: reads that of the next. */
static void check_parts(int seed)
{
    settle();
    WORKS(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    WORKS(MPI_File_read_at(fh, part_of(next_rank()), back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(seed + next_rank(), N);
}

/* Rank 0 writes N ints from the beginning of the file. */
static void filled(int seed)
{
    draw(seed);
    if (t_rank == 0)
        WORKS(MPI_File_write_at(fh, 0, data, N, MPI_INT, MPI_STATUS_IGNORE));
    settle();
}

static MPI_Offset size_now(void)
{
    MPI_Offset size = -1;

    WORKS(MPI_File_get_size(fh, &size));
    return size;
}

/* ---- 14.2 file manipulation --------------------------------------------------------- */

static void create(void)
{
    begin();
    IS(size_now() == 0);
    end();
}

static void excl(void)
{
    begin();
    shut();
    barrier();
    IS(class_of(open_with(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR)) == MPI_ERR_FILE_EXISTS);
    end();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
    end();
}

static void missing(void)
{
    removed();
    IS(class_of(open_with(MPI_MODE_RDONLY)) == MPI_ERR_NO_SUCH_FILE);
}

static void invalid_amode(void)
{
    IS(class_of(open_with(MPI_MODE_RDONLY | MPI_MODE_RDWR)) == MPI_ERR_AMODE);
    shut();
    IS(class_of(open_with(MPI_MODE_RDONLY | MPI_MODE_CREATE)) == MPI_ERR_AMODE);
    end();
}

static void append(void)
{
    MPI_Offset at = -1, shared = -1;

    begin();
    filled(1);
    shut();
    WORKS(open_with(MPI_MODE_WRONLY | MPI_MODE_APPEND));
    WORKS(MPI_File_get_position(fh, &at));
    WORKS(MPI_File_get_position_shared(fh, &shared));
    IS(at == (MPI_Offset)sizeof data);
    IS(shared == (MPI_Offset)sizeof data);
    end();
}

static void delete_on_close(void)
{
    removed();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE));
    shut();
    barrier();
    IS(class_of(open_with(MPI_MODE_RDONLY)) == MPI_ERR_NO_SUCH_FILE);
    end();
}

static void unique_open(void)
{
    removed();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_UNIQUE_OPEN));
    filled(2);
    end();
}

static void sequential(void)
{
    removed();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL));
    draw(3);
    WORKS(MPI_File_write_shared(fh, data, N, MPI_INT, MPI_STATUS_IGNORE));
    IS(class_of(MPI_File_write_at(fh, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE)) ==
       MPI_ERR_UNSUPPORTED_OPERATION);
    end();
}

static void one_way(void)
{
    begin();
    filled(4);
    shut();
    WORKS(open_with(MPI_MODE_RDONLY));
    IS(MPI_File_write_at(fh, 0, data, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    shut();
    WORKS(open_with(MPI_MODE_WRONLY));
    IS(MPI_File_read_at(fh, 0, back, 1, MPI_INT, MPI_STATUS_IGNORE) != MPI_SUCCESS);
    end();
}

static void delete (void)
{
    int rc = MPI_SUCCESS;

    begin();
    shut();
    barrier();
    if (t_rank == 0) {
        WORKS(MPI_File_delete(name, MPI_INFO_NULL));
        rc = MPI_File_delete(name, MPI_INFO_NULL);
        IS(class_of(rc) == MPI_ERR_NO_SUCH_FILE);
    }
    end();
}

static void set_size(void)
{
    begin();
    WORKS(MPI_File_set_size(fh, 100000));
    IS(size_now() == 100000);
    WORKS(MPI_File_set_size(fh, 1000));
    IS(size_now() == 1000);
    WORKS(MPI_File_read_at(fh, 0, back, 250, MPI_INT, MPI_STATUS_IGNORE));
    IS(back[0] == 0 && back[249] == 0);
    end();
}

static void preallocate(void)
{
    begin();
    filled(5);
    WORKS(MPI_File_preallocate(fh, 100000));
    IS(size_now() == 100000);
    WORKS(MPI_File_preallocate(fh, 1000));
    IS(size_now() == 100000);
    WORKS(MPI_File_read_at(fh, 0, back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(5, N);
    end();
}

static void group_and_amode(void)
{
    MPI_Group group, world;
    int amode = -1, same = -1;

    begin();
    WORKS(MPI_File_get_amode(fh, &amode));
    IS(amode == (MPI_MODE_CREATE | MPI_MODE_RDWR));
    WORKS(MPI_File_get_group(fh, &group));
    MPI_Comm_group(MPI_COMM_WORLD, &world);
    MPI_Group_compare(group, world, &same);
    IS(same == MPI_IDENT);
    MPI_Group_free(&group);
    MPI_Group_free(&world);
    end();
}

/* Prints the hints of a file. */
static void print_hints(MPI_Info info, int n)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int flag;

    for (int i = 0; i < n && t_rank == 0; i++) {
        MPI_Info_get_nthkey(info, i, key);
        MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &flag);
        printf("hint %s=%s\n", key, flag ? value : "");
    }
}

static void info(void)
{
    MPI_Info given, got = MPI_INFO_NULL;
    int hints = 0;

    removed();
    MPI_Info_create(&given);
    MPI_Info_set(given, "cb_buffer_size", "1048576");
    MPI_Info_set(given, "not_a_hint", "1");
    WORKS(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, given, &fh));
    WORKS(MPI_File_set_info(fh, given));
    WORKS(MPI_File_get_info(fh, &got));
    IS(got != MPI_INFO_NULL);
    if (got != MPI_INFO_NULL) {
        MPI_Info_get_nkeys(got, &hints);
        print_hints(got, hints);
        MPI_Info_free(&got);
    }
    IS(hints > 0);
    MPI_Info_free(&given);
    end();
}

/* ---- 14.3 views --------------------------------------------------------------------- */

/* Ints of the ranks in turns. */
static MPI_Datatype turns(void)
{
    MPI_Datatype one, type;

    MPI_Type_contiguous(1, MPI_INT, &one);
    MPI_Type_create_resized(one, 0, (MPI_Aint)t_size * INT, &type);
    MPI_Type_free(&one);
    MPI_Type_commit(&type);
    return type;
}

static void view(void)
{
    MPI_Datatype type = turns(), etype, filetype;
    char datarep[MPI_MAX_DATAREP_STRING] = "";
    MPI_Aint low = -1, extent = -1;
    MPI_Offset disp = -1;
    int a, b, c, combiner = -1;

    begin();
    draw(10 + t_rank);
    WORKS(MPI_File_set_view(fh, 40 + t_rank * INT, MPI_INT, type, "native", MPI_INFO_NULL));
    WORKS(MPI_File_write_all(fh, data, N, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
    IS(disp == 40 + t_rank * INT && !strcmp(datarep, "native"));
    MPI_Type_get_envelope(etype, &a, &b, &c, &combiner);
    IS(combiner == MPI_COMBINER_NAMED && etype == MPI_INT);
    MPI_Type_get_extent(filetype, &low, &extent);
    IS(low == 0 && extent == (MPI_Aint)t_size * INT);
    MPI_Type_free(&filetype);
    settle();
    WORKS(MPI_File_set_view(fh, 40, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    for (int i = 0; i < 20; i++) {
        WORKS(MPI_File_read_at(fh, i * t_size + next_rank(), &back[i], 1, MPI_INT,
                               MPI_STATUS_IGNORE));
    }
    drawn_by(10 + next_rank(), 20);
    MPI_Type_free(&type);
    end();
}

static void view_current(void)
{
    removed();
    WORKS(open_with(MPI_MODE_CREATE | MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL));
    draw(11);
    WORKS(MPI_File_write_ordered(fh, data, 10, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(
        MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    WORKS(MPI_File_write_ordered(fh, data, 10, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    IS(size_now() == (MPI_Offset)2 * t_size * 10 * INT);
    end();
}

/* With a filetype of which each rank has its own rows: reads back what it and the next wrote. */
static void by_filetype(MPI_Datatype type, int seed)
{
    int n;

    MPI_Type_commit(&type);
    MPI_Type_size(type, &n);
    n /= INT;
    begin();
    draw(seed + t_rank);
    WORKS(MPI_File_set_view(fh, 0, MPI_INT, type, "native", MPI_INFO_NULL));
    WORKS(MPI_File_write_all(fh, data, n, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    IS(size_now() == (MPI_Offset)n * t_size * INT);
    WORKS(MPI_File_read_at_all(fh, 0, back, n, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(seed + t_rank, n);
    MPI_Type_free(&type);
    end();
}

static void subarray(void)
{
    int sizes[] = {10, 4 * t_size}, part[] = {10, 4}, from[] = {0, 4 * t_rank};
    MPI_Datatype type;

    MPI_Type_create_subarray(2, sizes, part, from, MPI_ORDER_C, MPI_INT, &type);
    by_filetype(type, 20);
}

static void darray(void)
{
    int sizes[] = {12 * t_size}, how[] = {MPI_DISTRIBUTE_CYCLIC}, args[] = {3}, procs[] = {t_size};
    MPI_Datatype type;

    MPI_Type_create_darray(t_size, t_rank, 1, sizes, how, args, procs, MPI_ORDER_C, MPI_INT, &type);
    by_filetype(type, 30);
}

/* ---- 14.4 data access ---------------------------------------------------------------- */

static void explicit_offsets(void)
{
    begin();
    draw(40 + t_rank);
    WORKS(MPI_File_write_at(fh, part_of(t_rank), data, N, MPI_INT, MPI_STATUS_IGNORE));
    check_parts(40);
    end();
}

static void explicit_all(void)
{
    begin();
    draw(50 + t_rank);
    WORKS(MPI_File_write_at_all(fh, part_of(t_rank), data, N, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    WORKS(MPI_File_read_at_all(fh, part_of(next_rank()), back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(50 + next_rank(), N);
    end();
}

static void explicit_nonblocking(void)
{
    MPI_Request r;

    begin();
    draw(60 + t_rank);
    WORKS(MPI_File_iwrite_at(fh, part_of(t_rank), data, N, MPI_INT, &r));
    done(&r, N);
    settle();
    WORKS(MPI_File_iread_at(fh, part_of(next_rank()), back, N, MPI_INT, &r));
    done(&r, N);
    drawn_by(60 + next_rank(), N);
    end();
}

static void explicit_nonblocking_all(void)
{
    MPI_Request r;

    begin();
    draw(70 + t_rank);
    WORKS(MPI_File_iwrite_at_all(fh, part_of(t_rank), data, N, MPI_INT, &r));
    done(&r, N);
    settle();
    WORKS(MPI_File_iread_at_all(fh, part_of(next_rank()), back, N, MPI_INT, &r));
    done(&r, N);
    drawn_by(70 + next_rank(), N);
    end();
}

static void seek_to(MPI_Offset at)
{
    WORKS(MPI_File_seek(fh, at, MPI_SEEK_SET));
}

static void individual(void)
{
    begin();
    draw(80 + t_rank);
    seek_to(part_of(t_rank));
    WORKS(MPI_File_write(fh, data, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_write(fh, data + N / 2, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    seek_to(part_of(next_rank()));
    WORKS(MPI_File_read(fh, back, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_read(fh, back + N / 2, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(80 + next_rank(), N);
    end();
}

static void individual_all(void)
{
    begin();
    draw(90 + t_rank);
    seek_to(part_of(t_rank));
    WORKS(MPI_File_write_all(fh, data, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_write_all(fh, data + N / 2, N / 2, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    seek_to(part_of(next_rank()));
    WORKS(MPI_File_read_all(fh, back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(90 + next_rank(), N);
    end();
}

static void individual_nonblocking(void)
{
    MPI_Request r[2];

    begin();
    draw(100 + t_rank);
    seek_to(part_of(t_rank));
    WORKS(MPI_File_iwrite(fh, data, N / 2, MPI_INT, &r[0]));
    WORKS(MPI_File_iwrite(fh, data + N / 2, N / 2, MPI_INT, &r[1]));
    done(&r[0], N / 2);
    done(&r[1], N / 2);
    settle();
    seek_to(part_of(next_rank()));
    WORKS(MPI_File_iread(fh, back, N, MPI_INT, &r[0]));
    done(&r[0], N);
    drawn_by(100 + next_rank(), N);
    end();
}

static void individual_nonblocking_all(void)
{
    MPI_Request r;

    begin();
    draw(110 + t_rank);
    seek_to(part_of(t_rank));
    WORKS(MPI_File_iwrite_all(fh, data, N, MPI_INT, &r));
    done(&r, N);
    settle();
    seek_to(part_of(next_rank()));
    WORKS(MPI_File_iread_all(fh, back, N, MPI_INT, &r));
    done(&r, N);
    drawn_by(110 + next_rank(), N);
    end();
}

static void seek(void)
{
    MPI_Datatype type = turns();
    MPI_Offset at = -1, byte = -1;

    begin();
    filled(12);
    WORKS(MPI_File_set_view(fh, 8, MPI_INT, type, "native", MPI_INFO_NULL));
    WORKS(MPI_File_seek(fh, 5, MPI_SEEK_SET));
    WORKS(MPI_File_seek(fh, 3, MPI_SEEK_CUR));
    WORKS(MPI_File_get_position(fh, &at));
    WORKS(MPI_File_get_byte_offset(fh, at, &byte));
    IS(at == 8 && byte == 8 + (MPI_Offset)8 * t_size * INT);
    WORKS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    WORKS(MPI_File_seek(fh, -10, MPI_SEEK_END));
    WORKS(MPI_File_get_position(fh, &at));
    IS(at == N - 10);
    IS(MPI_File_seek(fh, -N, MPI_SEEK_CUR) != MPI_SUCCESS);
    MPI_Type_free(&type);
    end();
}

/* Every rank took one of the records, in whatever order. */
static void took_records(int first)
{
    int mine = back[0] - first * 1000003, sum = 0;

    IS(back[N - 1] == back[0] + N - 1);
    MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    IS(sum == t_size * (t_size - 1) / 2 * 1000003);
}

static void shared(void)
{
    begin();
    draw(130 + t_rank);
    WORKS(MPI_File_write_shared(fh, data, N, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    WORKS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    WORKS(MPI_File_read_shared(fh, back, N, MPI_INT, MPI_STATUS_IGNORE));
    took_records(130);
    end();
}

static void shared_nonblocking(void)
{
    MPI_Request r;

    begin();
    draw(140 + t_rank);
    WORKS(MPI_File_iwrite_shared(fh, data, N, MPI_INT, &r));
    done(&r, N);
    settle();
    WORKS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    WORKS(MPI_File_iread_shared(fh, back, N, MPI_INT, &r));
    done(&r, N);
    took_records(140);
    end();
}

static void ordered(void)
{
    begin();
    draw(150 + t_rank);
    WORKS(MPI_File_write_ordered(fh, data, N, MPI_INT, MPI_STATUS_IGNORE));
    check_parts(150);
    WORKS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    WORKS(MPI_File_read_ordered(fh, back, N * INT, MPI_BYTE, MPI_STATUS_IGNORE));
    drawn_by(150 + t_rank, N);
    end();
}

static void seek_shared(void)
{
    MPI_Offset at = -1;

    begin();
    filled(16);
    WORKS(MPI_File_seek_shared(fh, 40, MPI_SEEK_SET));
    WORKS(MPI_File_seek_shared(fh, 2, MPI_SEEK_CUR));
    WORKS(MPI_File_get_position_shared(fh, &at));
    IS(at == 42);
    barrier();
    WORKS(MPI_File_seek_shared(fh, -4, MPI_SEEK_END));
    WORKS(MPI_File_get_position_shared(fh, &at));
    IS(at == (MPI_Offset)sizeof data - 4);
    end();
}

static void split_at(void)
{
    begin();
    draw(170 + t_rank);
    WORKS(MPI_File_write_at_all_begin(fh, part_of(t_rank), data, N, MPI_INT));
    WORKS(MPI_File_write_at_all_end(fh, data, MPI_STATUS_IGNORE));
    settle();
    WORKS(MPI_File_read_at_all_begin(fh, part_of(next_rank()), back, N, MPI_INT));
    WORKS(MPI_File_read_at_all_end(fh, back, MPI_STATUS_IGNORE));
    drawn_by(170 + next_rank(), N);
    end();
}

static void split(void)
{
    begin();
    draw(180 + t_rank);
    seek_to(part_of(t_rank));
    WORKS(MPI_File_write_all_begin(fh, data, N, MPI_INT));
    WORKS(MPI_File_write_all_end(fh, data, MPI_STATUS_IGNORE));
    settle();
    seek_to(part_of(next_rank()));
    WORKS(MPI_File_read_all_begin(fh, back, N, MPI_INT));
    WORKS(MPI_File_read_all_end(fh, back, MPI_STATUS_IGNORE));
    drawn_by(180 + next_rank(), N);
    end();
}

static void split_ordered(void)
{
    begin();
    draw(190 + t_rank);
    WORKS(MPI_File_write_ordered_begin(fh, data, N, MPI_INT));
    WORKS(MPI_File_write_ordered_end(fh, data, MPI_STATUS_IGNORE));
    settle();
    WORKS(MPI_File_seek_shared(fh, 0, MPI_SEEK_SET));
    WORKS(MPI_File_read_ordered_begin(fh, back, N, MPI_INT));
    WORKS(MPI_File_read_ordered_end(fh, back, MPI_STATUS_IGNORE));
    drawn_by(190 + t_rank, N);
    end();
}

/* MPI_Request_get_status alone says when an access is done.  Does not end where it never does. */
static void get_status(void)
{
    MPI_Request r;
    int flag = 0, rc = MPI_SUCCESS;

    begin();
    draw(200 + t_rank);
    WORKS(MPI_File_iwrite_at(fh, part_of(t_rank), data, N, MPI_INT, &r));
    while (!flag && rc == MPI_SUCCESS)
        rc = MPI_Request_get_status(r, &flag, MPI_STATUS_IGNORE);
    WORKS(rc);
    IS(flag);
    done(&r, N);
    check_parts(200);
    end();
}

/* Accesses and messages in one call of MPI_Waitall. */
static void mixed_requests(void)
{
    MPI_Request r[4];
    MPI_Status s[4];
    int in = -1;

    begin();
    draw(210 + t_rank);
    WORKS(MPI_File_iwrite_at(fh, part_of(t_rank), data, N / 2, MPI_INT, &r[0]));
    MPI_Irecv(&in, 1, MPI_INT, MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Isend(&t_rank, 1, MPI_INT, next_rank(), 1, MPI_COMM_WORLD, &r[2]);
    WORKS(
        MPI_File_iwrite_at(fh, part_of(t_rank) + N / 2 * INT, data + N / 2, N / 2, MPI_INT, &r[3]));
    WORKS(MPI_Waitall(4, r, s));
    IS(in == (t_rank + t_size - 1) % t_size);
    check_parts(210);
    end();
}

/* ---- counts ---------------------------------------------------------------------------- */

static int count_of(const MPI_Status *status, MPI_Datatype type)
{
    int n = -2;

    MPI_Get_count(status, type, &n);
    return n;
}

enum { NEAR = sizeof data - 40 }; /* ten ints before the end */

static void end_of_file(void)
{
    MPI_Status status;

    begin();
    filled(22);
    WORKS(MPI_File_read_at(fh, NEAR, back, 100, MPI_INT, &status));
    IS(count_of(&status, MPI_INT) == 10);
    seek_to(NEAR);
    WORKS(MPI_File_read(fh, back, 100, MPI_INT, &status));
    IS(count_of(&status, MPI_INT) == 10);
    end();
}

static void end_of_file_all(void)
{
    MPI_Status status;

    begin();
    filled(22);
    WORKS(MPI_File_read_at_all(fh, NEAR, back, 100, MPI_INT, &status));
    IS(count_of(&status, MPI_INT) == 10);
    end();
}

static void end_of_file_nonblocking(void)
{
    MPI_Request r;

    begin();
    filled(22);
    WORKS(MPI_File_iread_at(fh, NEAR, back, 100, MPI_INT, &r));
    done(&r, 10);
    end();
}

static void beyond_end(void)
{
    MPI_Status status;

    begin();
    filled(22);
    WORKS(MPI_File_read_at(fh, (MPI_Offset)sizeof data + 5, back, 100, MPI_INT, &status));
    IS(count_of(&status, MPI_INT) == 0);
    end();
}

/* The pointer moves by what was asked for, not by what was there: by the standard's formula. */
static void position_at_end(void)
{
    MPI_Offset at = -1;

    begin();
    filled(23);
    seek_to((MPI_Offset)sizeof data - 40);
    WORKS(MPI_File_read(fh, back, 100, MPI_INT, MPI_STATUS_IGNORE));
    WORKS(MPI_File_get_position(fh, &at));
    IS(at == NEAR + 400);
    end();
}

static void elements(void)
{
    MPI_Status status;
    MPI_Datatype three;
    int n = -2;

    begin();
    filled(24);
    MPI_Type_contiguous(3, MPI_INT, &three);
    MPI_Type_commit(&three);
    WORKS(MPI_File_read_at(fh, (MPI_Offset)sizeof data - 40, back, 20, three, &status));
    IS(count_of(&status, three) == MPI_UNDEFINED);
    MPI_Get_elements(&status, three, &n);
    IS(n == 10);
    MPI_Type_free(&three);
    end();
}

/* ---- 14.5 interoperability ----------------------------------------------------------- */

static void type_extent(void)
{
    MPI_Datatype type = turns();
    MPI_Aint extent = -1;

    begin();
    WORKS(MPI_File_get_type_extent(fh, MPI_DOUBLE, &extent));
    IS(extent == sizeof(double));
    WORKS(MPI_File_get_type_extent(fh, type, &extent));
    IS(extent == (MPI_Aint)t_size * INT);
    MPI_Type_free(&type);
    end();
}

static void as_datarep(const char *datarep, int seed)
{
    char got[MPI_MAX_DATAREP_STRING] = "";
    MPI_Datatype etype, filetype;
    MPI_Offset disp;

    begin();
    draw(seed + t_rank);
    WORKS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, datarep, MPI_INFO_NULL));
    WORKS(MPI_File_get_view(fh, &disp, &etype, &filetype, got));
    IS(!strcmp(got, datarep));
    WORKS(MPI_File_write_at_all(fh, (MPI_Offset)t_rank * N, data, N, MPI_INT, MPI_STATUS_IGNORE));
    settle();
    WORKS(
        MPI_File_read_at_all(fh, (MPI_Offset)next_rank() * N, back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(seed + next_rank(), N);
}

static void internal(void)
{
    as_datarep("internal", 250);
    end();
}

static void external32(void)
{
    unsigned char raw[INT] = {0};
    MPI_Aint extent = -1;

    as_datarep("external32", 260);
    WORKS(MPI_File_get_type_extent(fh, MPI_LONG_LONG, &extent));
    IS(extent == 8);
    settle();
    WORKS(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    WORKS(MPI_File_read_at(fh, INT, raw, INT, MPI_BYTE, MPI_STATUS_IGNORE));
    IS(((unsigned)raw[0] << 24 | (unsigned)raw[1] << 16 | (unsigned)raw[2] << 8 | raw[3]) ==
       260u * 1000003u + 1);
    end();
}

/* A data representation of its own: an int is eight bytes in the file, its negative first. */
static int in_file(MPI_Datatype type, MPI_Aint *extent, void *state)
{
    int size = 0;

    (void)state;
    MPI_Type_size(type, &size);
    *extent = 2 * size;
    return MPI_SUCCESS;
}

static int from_file(void *user, MPI_Datatype type, int n, void *file, MPI_Offset at, void *state)
{
    const int *from = file;
    int *to = (int *)user + at;

    (void)type;
    ++*(int *)state;
    for (int i = 0; i < n; i++)
        to[i] = from[2 * i + 1];
    return MPI_SUCCESS;
}

static int to_file(void *user, MPI_Datatype type, int n, void *file, MPI_Offset at, void *state)
{
    const int *from = (const int *)user + at;
    int *to = file;

    (void)type;
    ++*(int *)state;
    for (int i = 0; i < n; i++) {
        to[2 * i] = -from[i];
        to[2 * i + 1] = from[i];
    }
    return MPI_SUCCESS;
}

static int conversions;

static void datarep(void)
{
    int raw[2] = {0, 0};
    MPI_Aint extent = -1;

    WORKS(MPI_Register_datarep("t_io_chapter", from_file, to_file, in_file, &conversions));
    as_datarep("t_io_chapter", 270);
    IS(conversions > 0);
    WORKS(MPI_File_get_type_extent(fh, MPI_INT, &extent));
    IS(extent == 2 * INT);
    settle();
    WORKS(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
    WORKS(MPI_File_read_at(fh, 2 * INT, raw, 2 * INT, MPI_BYTE, MPI_STATUS_IGNORE));
    IS(raw[1] == 270 * 1000003 + 1 && raw[0] == -raw[1]);
    end();
}

/* Registers one without conversions. */
static int as_it_is(const char *datarep)
{
    return MPI_Register_datarep(datarep, MPI_CONVERSION_FN_NULL, MPI_CONVERSION_FN_NULL, in_file,
                                NULL);
}

static void datarep_registered(void)
{
    WORKS(as_it_is("t_io_chapter registered"));
    IS(class_of(as_it_is("t_io_chapter registered")) == MPI_ERR_DUP_DATAREP);
}

static void datarep_native(void)
{
    WORKS(as_it_is("t_io_chapter as it is"));
    as_datarep("t_io_chapter as it is", 280);
    end();
}

static void datarep_unknown(void)
{
    begin();
    IS(class_of(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "t_io_chapter: none", MPI_INFO_NULL)) ==
       MPI_ERR_UNSUPPORTED_DATAREP);
    end();
}

/* ---- 14.6 consistency ------------------------------------------------------------------ */

static void atomicity(void)
{
    int flag = -1;

    begin();
    WORKS(MPI_File_get_atomicity(fh, &flag));
    IS(flag == 0);
    WORKS(MPI_File_set_atomicity(fh, 1));
    WORKS(MPI_File_get_atomicity(fh, &flag));
    IS(flag == 1);
    draw(290 + t_rank);
    WORKS(MPI_File_write_at(fh, part_of(t_rank), data, N, MPI_INT, MPI_STATUS_IGNORE));
    barrier(); /* and no sync */
    WORKS(MPI_File_read_at(fh, part_of(next_rank()), back, N, MPI_INT, MPI_STATUS_IGNORE));
    drawn_by(290 + next_rank(), N);
    end();
}

/* ---- 14.7 errors ------------------------------------------------------------------------ */

static int handled;

static void handler(MPI_File *file, int *code, ...)
{
    handled += *file == fh && *code != MPI_SUCCESS;
}

static void default_handler(void)
{
    MPI_Errhandler e = MPI_ERRHANDLER_NULL;

    WORKS(MPI_File_get_errhandler(MPI_FILE_NULL, &e));
    IS(e == MPI_ERRORS_RETURN);
    begin();
    WORKS(MPI_File_get_errhandler(fh, &e));
    IS(e == MPI_ERRORS_RETURN);
    end();
}

static void own_handler(void)
{
    MPI_Errhandler e, got = MPI_ERRHANDLER_NULL;

    begin();
    MPI_File_create_errhandler(handler, &e);
    WORKS(MPI_File_set_errhandler(fh, e));
    WORKS(MPI_File_get_errhandler(fh, &got));
    IS(got == e);
    handled = 0;
    IS(MPI_File_seek(fh, -1, MPI_SEEK_SET) != MPI_SUCCESS);
    IS(handled == 1);
    WORKS(MPI_File_call_errhandler(fh, MPI_ERR_FILE));
    IS(handled == 2);
    MPI_Errhandler_free(&e);
    MPI_Errhandler_free(&got);
    end();
}

/* New files have the handler of MPI_FILE_NULL, and a failed open calls it. */
static void inherited_handler(void)
{
    MPI_Errhandler e, got = MPI_ERRHANDLER_NULL;

    MPI_File_create_errhandler(handler, &e);
    WORKS(MPI_File_set_errhandler(MPI_FILE_NULL, e));
    begin();
    WORKS(MPI_File_get_errhandler(fh, &got));
    IS(got == e);
    end();
    handled = 0;
    IS(open_with(MPI_MODE_RDONLY) != MPI_SUCCESS);
    IS(handled == 1);
    WORKS(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
    MPI_Errhandler_free(&e);
}

static void fortran_handle(void)
{
    begin();
    IS(MPI_File_f2c(MPI_File_c2f(fh)) == fh);
    IS(MPI_File_f2c(MPI_File_c2f(MPI_FILE_NULL)) == MPI_FILE_NULL);
    end();
}

/* ------------------------------------------------------------------------------------------ */

#define ROW(function)                                                                              \
    {                                                                                              \
#function, function                                                                        \
    }

static const struct {
    const char *name;
    void (*run)(void);
} rows[] = {
    ROW(create),
    ROW(excl),
    ROW(missing),
    ROW(invalid_amode),
    ROW(append),
    ROW(delete_on_close),
    ROW(unique_open),
    ROW(sequential),
    ROW(one_way),
    ROW(delete),
    ROW(set_size),
    ROW(preallocate),
    ROW(group_and_amode),
    ROW(info),
    ROW(view),
    ROW(view_current),
    ROW(subarray),
    ROW(darray),
    ROW(explicit_offsets),
    ROW(explicit_all),
    ROW(explicit_nonblocking),
    ROW(explicit_nonblocking_all),
    ROW(individual),
    ROW(individual_all),
    ROW(individual_nonblocking),
    ROW(individual_nonblocking_all),
    ROW(seek),
    ROW(shared),
    ROW(shared_nonblocking),
    ROW(ordered),
    ROW(seek_shared),
    ROW(split_at),
    ROW(split),
    ROW(split_ordered),
    ROW(get_status),
    ROW(mixed_requests),
    ROW(end_of_file),
    ROW(end_of_file_all),
    ROW(end_of_file_nonblocking),
    ROW(beyond_end),
    ROW(position_at_end),
    ROW(elements),
    ROW(type_extent),
    ROW(internal),
    ROW(external32),
    ROW(datarep),
    ROW(datarep_registered),
    ROW(datarep_native),
    ROW(datarep_unknown),
    ROW(atomicity),
    ROW(default_handler),
    ROW(own_handler),
    ROW(inherited_handler),
    ROW(fortran_handle),
};

static bool left_out(const char *row, int argc, char **argv)
{
    for (int i = 2; i < argc; i++) {
        if (argv[i][0] == '-' && !strcmp(argv[i] + 1, row))
            return true;
    }
    return false;
}

/* Rank 0 prints what the lowest rank that saw something wrong has seen. */
static void report(const char *row)
{
    int mine = *wrong ? t_rank : t_size, first;

    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < t_size)
        MPI_Bcast(wrong, sizeof wrong, MPI_CHAR, first, MPI_COMM_WORLD);
    if (t_rank == 0 && first < t_size)
        printf("row %s no rank %d, %s\n", row, first, wrong);
    else if (t_rank == 0)
        printf("row %s yes\n", row);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (left_out(rows[i].name, argc, argv))
            continue;
        *wrong = '\0';
        rows[i].run();
        report(rows[i].name);
    }
    MPI_Finalize();
    return 0;
}
