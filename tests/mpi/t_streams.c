/* A program whose standard streams are closed, some or all: nothing of zcache's takes their place.
 * With a second argument it closes those of the bits of that number itself, after MPI_Init.  The
 * log, as much as there is (ZCACHE_LOG=trace), goes into nothing that is not its own. */
#include <limits.h>
#include <locale.h>
#include <unistd.h>

#include "t_mpiio.h"

enum { N = 20000 };

static void look(const char *dir)
{
    char link[32], at[PATH_MAX];

    for (int fd = 0; fd <= 2; fd++) {
        ssize_t n;

        snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
        n = readlink(link, at, sizeof at - 1);
        if (n <= 0)
            continue;
        at[n] = 0;
        CHECK(strncmp(at, "/memfd:zcache", 13) != 0 && strncmp(at, dir, strlen(dir)) != 0);
    }
}

int main(int argc, char **argv)
{
    static int out[N], in[N];
    char dir[PATH_MAX];
    MPI_File f, own;

    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    for (int fd = 0; argc > 2 && fd <= 2; fd++)
        if (atoi(argv[2]) >> fd & 1)
            close(fd);
    setlocale(LC_ALL, ""); /* as most programs do */
    snprintf(dir, sizeof dir, "%s", strchr(name, ':') + 1);
    *strrchr(dir, '/') = 0;
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &f));
    for (int i = 0; i < N; i++)
        out[i] = t_rank * N + i;
    for (int round = 0; round < 3; round++) {
        OK(MPI_File_write_at(f, (MPI_Offset)t_rank * (MPI_Offset)sizeof out, out, N, MPI_INT,
                             MPI_STATUS_IGNORE));
        OK(MPI_File_write_at_all(f, (MPI_Offset)t_rank * (MPI_Offset)sizeof out, out, 100, MPI_INT,
                                 MPI_STATUS_IGNORE));
        look(dir);
        OK(MPI_File_sync(f));
        OK(MPI_File_read_at(f, (MPI_Offset)t_rank * (MPI_Offset)sizeof in, in, N, MPI_INT,
                            MPI_STATUS_IGNORE));
        CHECK(!memcmp(in, out, sizeof in));
    }
    snprintf(dir, sizeof dir, "%s.%d", name, t_rank);
    OK(MPI_File_open(MPI_COMM_SELF, dir, MPI_MODE_RDWR | MPI_MODE_CREATE, MPI_INFO_NULL, &own));
    OK(MPI_File_write_at(own, 0, out, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_close(&own));
    OK(MPI_File_close(&f));
    return t_end("t_streams");
}
