/*
 * Hints, and what comes of them.
 *
 *     t_hints FILE [KEY=VALUE ...] -- [KEY=WANTED ...]
 *
 * Opens with the hints, compares what MPI_File_get_info tells (nothing wanted: the key must not
 * be there), before and after a view is set with the same hints, moves some data, syncs.  A "+"
 * among the hints closes and opens again with those that follow only.  The file is deleted at the
 * end, unless the environment has T_KEEP.
 */
#include "t_mpiio.h"

enum { N = 100000 };

static int out[N], in[N];

/* Gives up when the word is no KEY=VALUE. */
static char *split(char *key, const char *word)
{
    char *eq;

    snprintf(key, 400, "%s", word);
    eq = strchr(key, '=');
    if (!eq)
        MPI_Abort(MPI_COMM_WORLD, 2);
    *eq = 0;
    return eq + 1;
}

static void compare(MPI_File fh, char **wanted)
{
    char key[400], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;

    OK(MPI_File_get_info(fh, &info));
    for (; *wanted; wanted++) {
        char *want = split(key, *wanted);
        int found;

        OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        if (found ? strcmp(value, want) != 0 : *want != 0) {
            fprintf(stderr, "rank %d: %s is %s, not %s\n", t_rank, key, found ? value : "not there",
                    *want ? want : "absent");
            t_failures++;
        }
    }
    OK(MPI_Info_free(&info));
}

/* What a file tells is taken back without a word; the script looks for them. */
static void give_back(MPI_File fh)
{
    MPI_Info info;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_File_set_info(fh, info));
    OK(MPI_Info_free(&info));
}

static void use(MPI_File fh, MPI_Info info)
{
    MPI_Offset at = (MPI_Offset)t_rank * N;
    MPI_Status status;

    for (int i = 0; i < N; i++)
        out[i] = t_rank << 24 ^ i;
    OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", info));
    OK(MPI_File_write_at_all(fh, at, out, N, MPI_INT, &status));
    OK(MPI_File_sync(fh));
    OK(MPI_File_read_at_all(fh, at, in, N, MPI_INT, &status));
    CHECK(!memcmp(in, out, sizeof in));
    OK(MPI_File_read_at(fh, at, in, 1, MPI_INT, &status)); /* whatever was promised */
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    char key[400], **arg = argv + 2;
    MPI_File fh;
    MPI_Info info;

    for (int more = 1; more;) {
        OK(MPI_Info_create(&info));
        for (; *arg && **arg != '+' && strcmp(*arg, "--"); arg++) {
            char *value = split(key, *arg);

            OK(MPI_Info_set(info, key, value));
        }
        more = *arg && **arg == '+';
        OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh));
        arg += *arg != NULL;
        if (!more)
            compare(fh, arg);
        use(fh, info);
        give_back(fh);
        if (!more)
            compare(fh, arg);
        OK(MPI_File_close(&fh));
        OK(MPI_Info_free(&info));
    }
    if (t_rank == 0 && !getenv("T_KEEP"))
        OK(MPI_File_delete(name, MPI_INFO_NULL));
    return t_end("t_hints");
}
