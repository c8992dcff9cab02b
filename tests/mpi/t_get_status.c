/*
 * Requests of which a program asks the status and nothing else.
 *
 *     t_get_status FILE
 *
 * MPI promises that MPI_Request_get_status makes progress; of one request, and where the MPI
 * library has them (MPI-4.1) of all, any and some of several.
 */
#define _GNU_SOURCE
#include <dlfcn.h>

#include "t_mpiio.h"

enum { N = 60, INTS = 512, BYTES = INTS * (int)sizeof(int) };

typedef int one_fn(MPI_Request, int *flag, MPI_Status *);
typedef int all_fn(int n, const MPI_Request *, int *flag, MPI_Status *);
typedef int any_fn(int n, const MPI_Request *, int *which, int *flag, MPI_Status *);
typedef int some_fn(int n, const MPI_Request *, int *outcount, int *which, MPI_Status *);

static int out[N][INTS], in[N][INTS];
static MPI_Request requests[N];
static MPI_Status statuses[N];
static MPI_File fh;
static one_fn *one;

static void check_count(const MPI_Status *status)
{
    int n;

    OK(MPI_Get_count(status, MPI_INT, &n));
    CHECK(n == INTS);
}

static void wait_one(int i)
{
    MPI_Status status;

    for (int done = 0; !done;)
        OK(one(requests[i], &done, &status));
    check_count(&status);
}

static void one_by_one(void *unused)
{
    (void)unused;
    for (int i = 0; i < N; i++)
        wait_one(i);
    for (int i = 0; i < N; i++) /* again, of what is done */
        wait_one(i);
}

static void all_together(void *fn)
{
    all_fn *all = (all_fn *)(size_t)fn;

    for (int done = 0; !done;)
        OK(all(N, requests, &done, statuses));
    for (int i = 0; i < N; i++)
        check_count(&statuses[i]);
}

static void any_of_them(void *fn)
{
    any_fn *any = (any_fn *)(size_t)fn;
    MPI_Status status;
    int which, done;

    for (int i = 0; i < N; i++) {
        for (done = 0; !done;)
            OK(any(N, requests, &which, &done, &status));
        check_count(&status);
        OK(MPI_Wait(&requests[which], MPI_STATUS_IGNORE));
    }
}

static void some_of_them(void *fn)
{
    some_fn *some = (some_fn *)(size_t)fn;
    int which[N], n;

    for (int left = N; left; left -= n) {
        OK(some(N, requests, &n, which, statuses));
        for (int i = 0; i < n; i++) {
            check_count(&statuses[i]);
            OK(MPI_Wait(&requests[which[i]], MPI_STATUS_IGNORE));
        }
    }
}

/* Independent and collective ones in turn; those wait for the other ranks to come. */
static void start(int i, int write)
{
    MPI_Offset at = ((MPI_Offset)i * t_size + t_rank) * BYTES;

    if (write && i % 2)
        OK(MPI_File_iwrite_at_all(fh, at, out[i], INTS, MPI_INT, &requests[i]));
    else if (write)
        OK(MPI_File_iwrite_at(fh, at, out[i], INTS, MPI_INT, &requests[i]));
    else if (i % 2)
        OK(MPI_File_iread_at_all(fh, at, in[i], INTS, MPI_INT, &requests[i]));
    else
        OK(MPI_File_iread_at(fh, at, in[i], INTS, MPI_INT, &requests[i]));
}

static void through(void (*finish)(void *fn), void *fn)
{
    int done;

    for (int write = 1; write >= 0; write--) {
        memset(in, -1, sizeof in);
        for (int i = 0; i < N; i++)
            start(i, write);
        finish(fn);
        OK(MPI_Testall(N, requests, &done, statuses));
        CHECK(done);
        MPI_Barrier(MPI_COMM_WORLD);
    }
    CHECK(!memcmp(in, out, sizeof in));
}

/* Is it the MPI library's? The plugin has all of them, whatever the library is. */
static int library_has(const char *fn)
{
    Dl_info info;
    void *h = dladdr((void *)(size_t)MPI_Init, &info) ? dlopen(info.dli_fname, RTLD_LAZY) : NULL;

    return h && dlsym(h, fn);
}

static void of_several(const char *name, void (*finish)(void *fn))
{
    char profiled[64];

    snprintf(profiled, sizeof profiled, "P%s", name);
    if (!library_has(name)) {
        if (t_rank == 0)
            printf("%s: not in this MPI library\n", name);
        return;
    }
    through(finish, dlsym(RTLD_DEFAULT, name));
    through(finish, dlsym(RTLD_DEFAULT, profiled));
}

/* Requests of others are none of our business. */
static void messages(void)
{
    int mine = t_rank, theirs = -1, done = 0;
    MPI_Request r;

    OK(one(MPI_REQUEST_NULL, &done, MPI_STATUS_IGNORE));
    CHECK(done);
    OK(MPI_Irecv(&theirs, 1, MPI_INT, (t_rank + t_size - 1) % t_size, 3, MPI_COMM_WORLD, &r));
    OK(MPI_Send(&mine, 1, MPI_INT, (t_rank + 1) % t_size, 3, MPI_COMM_WORLD));
    for (done = 0; !done;)
        OK(one(r, &done, MPI_STATUS_IGNORE));
    CHECK(theirs == (t_rank + t_size - 1) % t_size);
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);

    one = MPI_Request_get_status;
    messages();
    OK(MPI_File_open(MPI_COMM_WORLD, name,
                     MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE, MPI_INFO_NULL,
                     &fh));
    for (int i = 0; i < N; i++)
        for (int k = 0; k < INTS; k++)
            out[i][k] = t_rank << 20 ^ i << 10 ^ k;
    through(one_by_one, NULL);
    one = PMPI_Request_get_status;
    through(one_by_one, NULL);
    of_several("MPI_Request_get_status_all", all_together);
    of_several("MPI_Request_get_status_any", any_of_them);
    of_several("MPI_Request_get_status_some", some_of_them);
    messages();
    OK(MPI_File_close(&fh));
    return t_end("t_get_status");
}
