/* t_open.c - a file operation with an expected result on every rank.
 *
 *     t_open FILE WORD[,WORD ...] CLASS [TEXT ...]
 *
 * WORDs: rdonly, wronly, rdwr, create, excl, append, write (bytes before closing), strided (through
 * a view, every rank's pieces between the others'), sync, preallocate, delete (MPI_File_delete
 * instead of an open).  CLASS is the error class of the first failure, or MPI_SUCCESS; each TEXT
 * has to be part of its message.
 */
#include "t_mpiio.h"

static const struct {
    const char *name;
    int value;
} classes[] = {
    {"MPI_SUCCESS", MPI_SUCCESS},
    {"MPI_ERR_NO_SUCH_FILE", MPI_ERR_NO_SUCH_FILE},
    {"MPI_ERR_FILE_EXISTS", MPI_ERR_FILE_EXISTS},
    {"MPI_ERR_ACCESS", MPI_ERR_ACCESS},
    {"MPI_ERR_FILE_IN_USE", MPI_ERR_FILE_IN_USE},
    {"MPI_ERR_BAD_FILE", MPI_ERR_BAD_FILE},
    {"MPI_ERR_NO_SPACE", MPI_ERR_NO_SPACE},
    {"MPI_ERR_IO", MPI_ERR_IO},
    {"MPI_ERR_ARG", MPI_ERR_ARG},
    {"MPI_ERR_AMODE", MPI_ERR_AMODE},
    {"MPI_ERR_READ_ONLY", MPI_ERR_READ_ONLY},
    {"MPI_ERR_UNSUPPORTED_OPERATION", MPI_ERR_UNSUPPORTED_OPERATION},
};

enum { CHUNK = 1 << 20, CHUNKS = 64, PIECE = 512 };

static const char *words;

static int asked(const char *word)
{
    const char *p = strstr(words, word);

    return p && (p == words || p[-1] == ',') && (!p[strlen(word)] || p[strlen(word)] == ',');
}

static int amode(void)
{
    return (asked("rdonly") ? MPI_MODE_RDONLY : 0) | (asked("wronly") ? MPI_MODE_WRONLY : 0) |
           (asked("rdwr") ? MPI_MODE_RDWR : 0) | (asked("create") ? MPI_MODE_CREATE : 0) |
           (asked("excl") ? MPI_MODE_EXCL : 0) | (asked("append") ? MPI_MODE_APPEND : 0);
}

static int set_pieces(MPI_File fh)
{
    MPI_Datatype piece, pieces;
    int rc;

    MPI_Type_contiguous(PIECE, MPI_BYTE, &piece);
    MPI_Type_create_resized(piece, 0, (MPI_Aint)t_size * PIECE, &pieces);
    MPI_Type_commit(&pieces);
    rc = MPI_File_set_view(fh, (MPI_Offset)t_rank * PIECE, MPI_BYTE, pieces, "native",
                           MPI_INFO_NULL);
    MPI_Type_free(&pieces);
    MPI_Type_free(&piece);
    return rc;
}

/* More than a small file system holds. */
static int write_much(MPI_File fh)
{
    static char buf[CHUNK];
    int strided = asked("strided");
    int rc = strided ? set_pieces(fh) : MPI_SUCCESS;

    memset(buf, 'z', sizeof buf);
    for (int i = 0; i < CHUNKS && rc == MPI_SUCCESS; i++)
        rc = MPI_File_write_at(fh, (MPI_Offset)(strided ? i : i * t_size + t_rank) * CHUNK, buf,
                               CHUNK, MPI_BYTE, MPI_STATUS_IGNORE);
    return rc;
}

static int use(MPI_File fh)
{
    int rc = MPI_SUCCESS;

    if (asked("preallocate"))
        rc = MPI_File_preallocate(fh, (MPI_Offset)t_size * CHUNKS * CHUNK);
    if (rc == MPI_SUCCESS && asked("write"))
        rc = write_much(fh);
    /* Late write-back meets the full file system here. */
    if (asked("sync")) {
        int sync = MPI_File_sync(fh);

        rc = rc == MPI_SUCCESS ? sync : rc;
    }
    return rc;
}

static int run(const char *name)
{
    MPI_File fh;
    int rc, closed;

    if (asked("delete"))
        return MPI_File_delete(name, MPI_INFO_NULL);
    rc = MPI_File_open(MPI_COMM_WORLD, name, amode(), MPI_INFO_NULL, &fh);
    if (rc != MPI_SUCCESS)
        return rc;
    rc = use(fh);
    closed = MPI_File_close(&fh);
    return rc == MPI_SUCCESS ? closed : rc;
}

static int class_named(const char *name)
{
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(classes[i].name, name))
            return classes[i].value;
    fprintf(stderr, "t_open: no class %s\n", name);
    MPI_Abort(MPI_COMM_WORLD, 2);
    return -1;
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    char text[MPI_MAX_ERROR_STRING] = "";
    int rc, len, bad = 0;

    words = argc > 2 ? argv[2] : "";
    rc = run(name);
    MPI_Error_string(rc, text, &len);
    bad = argc < 4 || t_class(rc) != class_named(argv[3]);
    for (int i = 4; i < argc; i++)
        bad |= !strstr(text, argv[i]);
    if (bad)
        fprintf(stderr, "rank %d: %s %s: class %d: %s\n", t_rank, name, words, t_class(rc), text);
    CHECK(!bad);
    return t_end("t_open");
}
