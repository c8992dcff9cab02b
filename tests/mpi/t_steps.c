/* t_steps.c - steps of a file in two jobs, action by action.
 *
 *     t_steps FILE DIR ACTION ...
 *
 * open:MODE[:HINT=VALUE,...]  MODE: w (creates), r, or rw; collective, as all but say and until
 * write:GEN:OFF:LEN           stamps of that generation, pieces of it by the ranks in turn
 * sync, close
 * wait:STEP[:LIMIT]           MPI_File_set_info with zcache_wait_step
 * read:GEN:OFF:LEN            all ranks find these stamps
 * size:N, step:N              what MPI_File_get_size, and zcache_step of MPI_File_get_info, tell
 * fails:CLASS:TEXT            the next action fails on every rank, with that class (io, in_use,
 *                             unsupported, arg, no_file) and a message that has the text
 * say:NAME                    rank 0 makes DIR/NAME when all ranks have come this far
 * until:NAME                  waits until DIR/NAME is there
 */
#include <fcntl.h>
#include <stdbool.h>
#include <unistd.h>

#include "t_file.h"

enum { PIECE = 10000 };

static MPI_File fh = MPI_FILE_NULL;
static const char *file, *dir, *fails;
static int fails_class;

/* Checks the result of an action against the expected one. */
static void outcome(int rc, const char *action)
{
    char text[MPI_MAX_ERROR_STRING] = "";
    int len, got = MPI_SUCCESS;
    bool good = rc == MPI_SUCCESS;

    if (rc != MPI_SUCCESS) {
        MPI_Error_string(rc, text, &len);
        MPI_Error_class(rc, &got);
    }
    if (fails)
        good = got == fails_class && strstr(text, fails);
    if (!good) {
        fprintf(stderr, "rank %d: %s: class %d, \"%s\"%s%s\n", t_rank, action, got, text,
                fails ? ", and not " : "", fails ? fails : "");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    fails = NULL;
}

static void path_of(char *path, size_t len, const char *name)
{
    snprintf(path, len, "%s/%s", dir, name);
}

static void say(const char *name)
{
    char path[4096];

    MPI_Barrier(MPI_COMM_WORLD);
    path_of(path, sizeof path, name);
    if (t_rank == 0)
        close(open(path, O_CREAT | O_WRONLY, 0600));
}

static void until(const char *name)
{
    char path[4096];

    path_of(path, sizeof path, name);
    while (access(path, F_OK))
        usleep(1000);
}

static MPI_Info info_of(char *hints)
{
    char *save = NULL;
    MPI_Info info;

    OK(MPI_Info_create(&info));
    for (char *h = strtok_r(hints, ",", &save); h; h = strtok_r(NULL, ",", &save)) {
        char *value = strchr(h, '=');

        *value++ = 0;
        OK(MPI_Info_set(info, h, value));
    }
    return info;
}

static void open_file(const char *action, char *mode)
{
    char none[1] = "", *hints = strchr(mode, ':');
    int amode = MPI_MODE_RDONLY, rc;
    MPI_Info info;

    if (hints)
        *hints++ = 0;
    if (!strcmp(mode, "w"))
        amode = MPI_MODE_CREATE | MPI_MODE_RDWR;
    else if (!strcmp(mode, "rw"))
        amode = MPI_MODE_RDWR;
    info = info_of(hints ? hints : none);
    rc = MPI_File_open(MPI_COMM_WORLD, file, amode, info, &fh);
    OK(MPI_Info_free(&info));
    outcome(rc, action);
}

static void wait_step(const char *action, char *step)
{
    char *limit = strchr(step, ':');
    MPI_Info info;
    int rc;

    if (limit)
        *limit++ = 0;
    OK(MPI_Info_create(&info));
    OK(MPI_Info_set(info, "zcache_wait_step", step));
    if (limit)
        OK(MPI_Info_set(info, "zcache_wait_limit", limit));
    rc = MPI_File_set_info(fh, info);
    OK(MPI_Info_free(&info));
    outcome(rc, action);
}

struct bytes {
    int gen;
    long long off, len;
};

static struct bytes bytes_of(const char *text)
{
    struct bytes b = {0};

    CHECK(sscanf(text, "%d:%lld:%lld", &b.gen, &b.off, &b.len) == 3);
    return b;
}

static void write_bytes(const char *action, const char *text)
{
    struct bytes b = bytes_of(text);
    unsigned char buf[PIECE];
    int rc = MPI_SUCCESS, i = 0;

    for (long long at = 0; at < b.len && rc == MPI_SUCCESS; at += PIECE, i++) {
        int n = b.len - at < PIECE ? (int)(b.len - at) : PIECE;

        if (i % t_size != t_rank)
            continue;
        t_stamps(buf, b.off + at, n, b.gen);
        rc = MPI_File_write_at(fh, b.off + at, buf, n, MPI_BYTE, MPI_STATUS_IGNORE);
    }
    outcome(rc, action);
}

static void read_bytes(const char *action, const char *text)
{
    struct bytes b = bytes_of(text);
    unsigned char *got = malloc((size_t)b.len), *want = malloc((size_t)b.len);
    MPI_Status status;
    int n = 0, rc;

    t_stamps(want, b.off, b.len, b.gen);
    rc = MPI_File_read_at_all(fh, b.off, got, (int)b.len, MPI_BYTE, &status);
    if (rc == MPI_SUCCESS) {
        MPI_Get_count(&status, MPI_BYTE, &n);
        if (n != b.len || memcmp(got, want, (size_t)b.len)) {
            long long i = 0;

            while (i < n && got[i] == want[i])
                i++;
            fprintf(stderr, "rank %d: %s: %d bytes, wrong at %lld\n", t_rank, action, n, i);
            MPI_Abort(MPI_COMM_WORLD, 1);
        }
    }
    free(got);
    free(want);
    outcome(rc, action);
}

static void is_step(const char *action, const char *step)
{
    char value[MPI_MAX_INFO_VAL + 1] = "none";
    int found = 0;
    MPI_Info info;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get(info, "zcache_step", MPI_MAX_INFO_VAL, value, &found));
    OK(MPI_Info_free(&info));
    if (strcmp(value, step)) {
        fprintf(stderr, "rank %d: %s: it is %s\n", t_rank, action, value);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void is_size(const char *action, const char *text)
{
    MPI_Offset size;

    OK(MPI_File_get_size(fh, &size));
    if (size != atoll(text)) {
        fprintf(stderr, "rank %d: %s: it is %lld\n", t_rank, action, (long long)size);
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void will_fail(char *arg)
{
    static const struct {
        const char *name;
        int is;
    } classes[] = {{"io", MPI_ERR_IO},
                   {"in_use", MPI_ERR_FILE_IN_USE},
                   {"unsupported", MPI_ERR_UNSUPPORTED_OPERATION},
                   {"arg", MPI_ERR_ARG},
                   {"no_file", MPI_ERR_NO_SUCH_FILE}};
    char *text = strchr(arg, ':');

    *text++ = 0;
    fails = text;
    fails_class = MPI_SUCCESS;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (!strcmp(classes[i].name, arg))
            fails_class = classes[i].is;
    CHECK(fails_class != MPI_SUCCESS);
}

static void act(const char *action)
{
    char *what = strdup(action), none[1] = "", *arg = strchr(what, ':');

    if (arg)
        *arg++ = 0;
    else
        arg = none;
    if (!strcmp(what, "open"))
        open_file(action, arg);
    else if (!strcmp(what, "write"))
        write_bytes(action, arg);
    else if (!strcmp(what, "read"))
        read_bytes(action, arg);
    else if (!strcmp(what, "sync"))
        outcome(MPI_File_sync(fh), action);
    else if (!strcmp(what, "close"))
        outcome(MPI_File_close(&fh), action);
    else if (!strcmp(what, "wait"))
        wait_step(action, arg);
    else if (!strcmp(what, "step"))
        is_step(action, arg);
    else if (!strcmp(what, "size"))
        is_size(action, arg);
    else if (!strcmp(what, "say"))
        say(arg);
    else if (!strcmp(what, "until"))
        until(arg);
    else
        CHECK(!"an action");
    free(what);
}

int main(int argc, char **argv)
{
    file = t_begin(argc, argv, MPI_THREAD_SINGLE);
    dir = argv[2];
    for (int i = 3; i < argc; i++) {
        if (!strncmp(argv[i], "fails:", 6))
            will_fail(argv[i] + 6);
        else
            act(argv[i]);
    }
    return t_end("t_steps");
}
