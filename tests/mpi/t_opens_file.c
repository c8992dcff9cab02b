/* t_opens_file.c - several opens of one file in one job: properties of the file, and of an open.
 *
 * Size and name belong to the file: each open sees changes made through another one.  Mode, view,
 * pointers and communicator belong to the open.
 */
#include <libgen.h>

#include "t_opens.h"

static MPI_File open_mode(MPI_Comm comm, int amode)
{
    return open_with(comm, name, amode, info);
}

/* ---- the size ---- */

static void size_of_writes(void)
{
    MPI_File all = open_world(), own = open_self();
    MPI_Offset at;

    size_is(own, 0, "new");
    meet();
    put(all, t_size - 1, 0, 50001);
    meet();
    size_is(own, 50001, "written through the common open");
    size_is(all, 50001, "written through this one");
    OK(MPI_File_seek(own, 0, MPI_SEEK_END));
    OK(MPI_File_get_position(own, &at));
    CHECK(at == 50001);
    meet();
    put(own, 0, 70000, 1);
    meet();
    size_is(all, 70001, "written through an open of its own");
    look_together(all, 0, 70001, "with the hole");
    shut(&all);
    size_is(own, 70001, "the common open is closed");
    shut(&own);
    t_same(name, image, 70001, "closed");
}

/* Bytes beyond the new end are gone for good, through whichever open they are dirty and whichever
 * is closed last. */
static void cut_through(int by_own, int own_closes_last)
{
    MPI_File all = open_world(), own = open_by(t_size - 1), cuts = by_own ? own : all;

    put_all(all, SIZE);
    meet();
    put(own, t_size - 1, 100, 9000);
    put(own, t_size - 1, 100000, 90000);
    meet();
    if (cuts != MPI_FILE_NULL)
        OK(MPI_File_set_size(cuts, 60001));
    memset(image + 60001, 0, SIZE - 60001);
    meet();
    size_is(all, 60001, "cut");
    size_is(own, 60001, "cut");
    look_together(own, 0, 60001, "cut");
    look_together(all, 0, 60001, "cut");
    put(by_own ? all : own, t_size - 1, 150000, 10);
    meet();
    size_is(all, 150010, "written behind the end");
    size_is(own, 150010, "written behind the end");
    look_together(own, 0, 150010, "with the hole");
    look_together(all, 0, 150010, "with the hole");
    shut(own_closes_last ? &all : &own);
    shut(own_closes_last ? &own : &all);
    t_same(name, image, 150010, "closed");
}

static void set_size(void)
{
    for (int way = 0; way < 4; way++)
        cut_through(way & 1, way >> 1);
}

static void preallocate(void)
{
    MPI_File all = open_world(), own = open_by(0);

    put(own, 0, 0, 1000);
    meet();
    OK(MPI_File_preallocate(all, 100000));
    meet();
    size_is(own, 100000, "preallocated");
    look_together(own, 0, 100000, "preallocated");
    if (t_rank == 0)
        OK(MPI_File_preallocate(own, 120000));
    meet();
    size_is(all, 120000, "by one rank");
    look_together(all, 0, 120000, "by one rank");
    if (t_rank == 0)
        OK(MPI_File_set_size(own, SIZE));
    meet();
    size_is(all, SIZE, "grown by one rank");
    look_together(all, 0, SIZE, "grown by one rank");
    shut(&own);
    shut(&all);
    t_same(name, image, SIZE, "closed");
}

/* ---- modes ---- */

static int class_of_open(MPI_Comm comm, int amode)
{
    MPI_File fh = MPI_FILE_NULL;
    int rc = MPI_File_open(comm, name, amode, info, &fh);

    shut(&fh);
    return rc == MPI_SUCCESS ? MPI_SUCCESS : t_class(rc);
}

static void exclusive(void)
{
    MPI_File all = open_mode(MPI_COMM_WORLD, RW | MPI_MODE_EXCL), own;

    put_all(all, SIZE);
    meet();
    CHECK(class_of_open(MPI_COMM_WORLD, RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    CHECK(class_of_open(MPI_COMM_SELF, RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    CHECK(class_of_open(MPI_COMM_SELF, MPI_MODE_RDONLY | MPI_MODE_WRONLY) != MPI_SUCCESS);
    look_together(all, 0, SIZE, "opens have failed");
    put(all, 0, 5, 10);
    meet();
    own = open_mode(MPI_COMM_SELF, RW);
    look_together(own, 0, SIZE, "and one has not");
    shut(&all);
    CHECK(class_of_open(MPI_COMM_SELF, RW | MPI_MODE_EXCL) == MPI_ERR_FILE_EXISTS);
    look_together(own, 0, SIZE, "another one has");
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

/* A read-only or write-only open does not restrict others. */
static void one_way(void)
{
    MPI_File all = open_mode(MPI_COMM_WORLD, MPI_MODE_CREATE | MPI_MODE_WRONLY), own, more;
    unsigned char byte = 0;
    int amode = 0;

    put_all(all, SIZE);
    meet();
    own = open_mode(MPI_COMM_SELF, MPI_MODE_RDONLY);
    look_together(own, 0, SIZE, "for reading only");
    CHECK(t_class(MPI_File_write_at(own, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_READ_ONLY);
    CHECK(t_class(MPI_File_read_at(all, 0, &byte, 1, MPI_BYTE, MPI_STATUS_IGNORE)) ==
          MPI_ERR_ACCESS);
    CHECK(MPI_File_set_size(own, 0) != MPI_SUCCESS);
    meet();
    more = open_mode(MPI_COMM_WORLD, MPI_MODE_RDWR);
    put(more, t_size - 1, 50000, 1000);
    look_together(own, 0, SIZE, "for reading only");
    look_together(more, 0, SIZE, "for both");
    shut(&all);
    put(more, 0, 51000, 1000);
    look_together(own, 0, SIZE, "who only wrote is gone");
    OK(MPI_File_get_amode(own, &amode));
    CHECK(amode == MPI_MODE_RDONLY);
    shut(&more);
    look_together(own, 0, SIZE, "all who wrote are gone");
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

/* ROMIO names the file with the shared pointer by the second: opens within one second share it. */
static void shared_is(MPI_File fh, MPI_Offset want)
{
    MPI_Offset at = -1;

    OK(MPI_File_get_position_shared(fh, &at));
    CHECK(at == want || reference);
}

/* A reader opens first; the writer comes later, and is one rank. */
static void reader_first(void)
{
    MPI_File all = open_world(), own;

    put_all(all, SIZE);
    shut(&all);
    meet();
    all = open_mode(MPI_COMM_WORLD, MPI_MODE_RDONLY);
    look_together(all, 0, SIZE, "read");
    own = open_by(t_size - 1);
    put(own, t_size - 1, 70000, 100000);
    look_together(all, 0, SIZE, "written by one rank meanwhile");
    shut(&all);
    put(own, t_size - 1, 70000, 10);
    shut(&own);
    t_same(name, image, SIZE, "closed");
}

static void append(void)
{
    MPI_File all = open_world(), own;
    MPI_Offset at;

    put_all(all, 5000);
    meet();
    own = open_mode(MPI_COMM_SELF, MPI_MODE_RDWR | MPI_MODE_APPEND);
    OK(MPI_File_get_position(own, &at));
    CHECK(at == 5000);
    OK(MPI_File_get_position(all, &at));
    CHECK(at == 0);
    shared_is(own, 5000);
    shared_is(all, 0);
    meet();
    t_stamps(image + 5000, 5000, 700, ++gen);
    if (t_rank == 0)
        OK(MPI_File_write(own, image + 5000, 700, MPI_BYTE, MPI_STATUS_IGNORE));
    look_together(all, 0, 5700, "appended");
    size_is(all, 5700, "appended");
    shut(&own);
    shut(&all);
    t_same(name, image, 5700, "closed");
}

/* ---- views and pointers ---- */

static void views(void)
{
    enum { EACH = 100, TILES = 50 };
    int len = EACH * TILES, total = len * t_size;
    unsigned char *mine = malloc((size_t)len);
    MPI_File line = open_world(), turns = open_self();
    MPI_Offset disp;
    MPI_Datatype type, etype, filetype;
    char rep[MPI_MAX_DATAREP_STRING];

    OK(MPI_Type_vector(TILES, EACH, EACH * t_size, MPI_BYTE, &type));
    OK(MPI_Type_commit(&type));
    OK(MPI_File_set_view(turns, t_rank * EACH, MPI_BYTE, type, "native", MPI_INFO_NULL));
    put_all(line, total);
    meet();
    OK(MPI_File_read_at(turns, 0, mine, len, MPI_BYTE, MPI_STATUS_IGNORE));
    for (int i = 0; i < TILES; i++)
        t_equal(mine + i * EACH, image, ((long long)i * t_size + t_rank) * EACH, EACH, "by turns");
    meet();
    t_stamps(image, 0, total, ++gen);
    for (int i = 0; i < TILES; i++)
        memcpy(mine + i * EACH, image + ((long long)i * t_size + t_rank) * EACH, EACH);
    for (int r = 0; r < t_size; r++) {
        if (r == t_rank)
            OK(MPI_File_write_at(turns, 0, mine, len, MPI_BYTE, MPI_STATUS_IGNORE));
        if (reference) /* which uses data sieving */
            meet();
    }
    look_together(line, 0, total, "written by turns");
    OK(MPI_File_get_view(line, &disp, &etype, &filetype, rep));
    CHECK(disp == 0 && etype == MPI_BYTE && filetype == MPI_BYTE);
    shut(&turns);
    shut(&line);
    t_same(name, image, total, "closed");
    OK(MPI_Type_free(&type));
    free(mine);
}

/* Each rank writes at the shared pointer of its own open. */
static void write_shared(MPI_File own, long long off)
{
    for (int r = 0; r < t_size; r++)
        t_stamps(image + off + 10 * r, off + 10 * r, 10, ++gen);
    off += 10 * t_rank;
    if (reference) {
        OK(MPI_File_write_at(own, off, image + off, 10, MPI_BYTE, MPI_STATUS_IGNORE));
        return;
    }
    OK(MPI_File_seek_shared(own, off, MPI_SEEK_SET));
    OK(MPI_File_write_shared(own, image + off, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    shared_is(own, off + 10);
}

static void pointers(void)
{
    MPI_File all = open_world(), own = open_self(), again = open_world();
    MPI_Offset at;

    put_all(all, 1000);
    meet();
    OK(MPI_File_seek(all, 500, MPI_SEEK_SET));
    OK(MPI_File_seek_shared(all, 100, MPI_SEEK_SET));
    OK(MPI_File_get_position(own, &at));
    CHECK(at == 0);
    shared_is(own, 0);
    meet();
    t_stamps(image + 100, 100, 10 * t_size, ++gen);
    OK(MPI_File_write_ordered(all, image + 100 + 10 * t_rank, 10, MPI_BYTE, MPI_STATUS_IGNORE));
    meet();
    shared_is(again, 0);
    shared_is(own, 0);
    write_shared(own, 200);
    meet();
    shared_is(all, 100 + 10 * t_size);
    look_together(again, 0, 1000, "through pointers of others");
    shut(&all);
    shared_is(again, 0);
    shut(&own);
    OK(MPI_File_get_position(again, &at));
    CHECK(at == 0);
    shut(&again);
    t_same(name, image, 1000, "closed");
}

/* ---- the name ---- */

static void delete (void)
{
    meet();
    if (t_rank == 0)
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    meet();
    CHECK(!there());
    meet();
}

static void go_on_without_name(MPI_File all, MPI_File own)
{
    look_together(all, 0, SIZE, "deleted");
    look_together(own, 0, SIZE, "deleted");
    put(own, t_size - 1, 1000, 90000);
    look_together(all, 0, SIZE, "deleted, and written to");
    put(all, 0, 30000, 1000);
    look_together(own, 0, SIZE, "deleted, and written to again");
    OK(MPI_File_sync(all));
    meet();
    CHECK(!there());
}

static void deleted(void)
{
    for (int way = 0; way < 2; way++) {
        MPI_File all = open_world(), own = open_self();

        put_all(all, SIZE);
        meet();
        delete ();
        go_on_without_name(all, own);
        shut(way ? &all : &own);
        put(way ? own : all, 0, 50000, 60000);
        look_together(way ? own : all, 0, SIZE, "deleted, and another open is closed");
        shut(way ? &own : &all);
        meet();
        CHECK(!there());
        meet();
    }
}

/* A new file of that name is another file for later opens. */
static void replaced(void)
{
    unsigned char *old = malloc(SIZE), *new = image;
    MPI_File all = open_world(), own = open_self(), next;

    put_all(all, SIZE);
    meet();
    memcpy(old, image, SIZE);
    delete ();
    next = open_world();
    size_is(next, 0, "a new file");
    memset(image, 0, SIZE);
    meet();
    put_all(next, 10000);
    look_together(next, 0, 10000, "the new file");
    image = old;
    look_together(own, 0, SIZE, "the old file");
    put(own, t_size - 1, 3000, 100000);
    look_together(all, 0, SIZE, "the old file, written to");
    image = new;
    size_is(next, 10000, "the new file, when the old one is written to");
    shut(&all);
    look_together(next, 0, 10000, "the new file, when the old one is closed");
    shut(round_ & 1 ? &own : &next);
    shut(round_ & 1 ? &next : &own);
    t_same(name, image, 10000, "closed");
    free(old);
}

static void delete_on_close(void)
{
    for (int way = 0; way < 2; way++) {
        int amode = MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE;
        MPI_File all = open_world(), own;
        MPI_Comm last = t_rank == t_size - 1 ? MPI_COMM_SELF : MPI_COMM_NULL;

        put_all(all, SIZE);
        meet();
        own = open_mode(last, way ? MPI_MODE_RDWR : amode);
        if (way) {
            shut(&all);
            all = open_mode(MPI_COMM_WORLD, amode);
        }
        put(own, t_size - 1, 100, 50000);
        look_together(all, 0, SIZE, "to be deleted");
        CHECK(there());
        meet();
        shut(way ? &all : &own);
        meet();
        CHECK(!there());
        meet();
        look(way ? own : all, 0, SIZE, "deleted by a close");
        meet();
        put(way ? own : all, t_size - 1, 40000, 20000);
        look_together(way ? own : all, 0, SIZE, "deleted by a close, and written to");
        shut(way ? &own : &all);
        meet();
        CHECK(!there());
        meet();
    }
}

/* ---- its other names ---- */

static void same_file(const char *other, const char *what)
{
    MPI_File all = open_world(), own;

    put_all(all, SIZE);
    meet();
    own = open_with(MPI_COMM_SELF, other, MPI_MODE_RDWR, info);
    look_together(own, 0, SIZE, what);
    put(own, t_size - 1, 2000, 100000);
    look_together(all, 0, SIZE, what);
    put(all, 0, 50000, 1000);
    look_together(own, 0, SIZE, what);
    shut(round_ & 1 ? &own : &all);
    shut(round_ & 1 ? &all : &own);
    t_same(name, image, SIZE, what);
}

/* Different spellings of the path. */
static void spelled(void)
{
    char dir[2000], copy[2000], up[2100], other[5000];
    const char *base = strrchr(t_path(name), '/') + 1;
    const char *const between[] = {"/./", "//", up};

    snprintf(dir, sizeof dir, "%.*s", (int)(base - 1 - t_path(name)), t_path(name));
    snprintf(copy, sizeof copy, "%s", dir);
    snprintf(up, sizeof up, "/../%s/", basename(copy));
    for (int i = 0; i < 3; i++) {
        snprintf(other, sizeof other, "%.*s%s%s%s", (int)(t_path(name) - name), name, dir,
                 between[i], base);
        same_file(other, between[i]);
    }
}

/* A symbolic or hard link, or a link to its directory. */
static void linked(int (*make)(const char *, const char *), const char *what)
{
    char other[2000];

    snprintf(other, sizeof other, "%s.link", name);
    if (t_rank == 0) {
        int fd = open(t_path(name), O_WRONLY | O_CREAT, 0644);

        CHECK(fd >= 0 && close(fd) == 0 && make(t_path(name), t_path(other)) == 0);
    }
    meet();
    same_file(other, what);
    if (t_rank == 0)
        CHECK(unlink(t_path(other)) == 0);
    meet();
}

static void symbolic_link(void)
{
    linked(symlink, "a symbolic link");
}

static void hard_link(void)
{
    linked(link, "a hard link");
}

int main(int argc, char **argv)
{
    static const struct t_case cases[] = {{"size_of_writes", size_of_writes},
                                          {"set_size", set_size},
                                          {"preallocate", preallocate},
                                          {"exclusive", exclusive},
                                          {"one_way", one_way},
                                          {"reader_first", reader_first},
                                          {"append", append},
                                          {"views", views},
                                          {"pointers", pointers},
                                          {"deleted", deleted},
                                          {"replaced", replaced},
                                          {"delete_on_close", delete_on_close},
                                          {"spelled", spelled},
                                          {"symbolic_link", symbolic_link},
                                          {"hard_link", hard_link},
                                          {NULL, NULL}};

    return run_cases(argc, argv, cases);
}
