/*
 * What a program sees of its file, of its process and of an error; with the plugin preloaded and
 * without it should be the same as long as the file has no prefix zcache:. Rank 0 prints it.
 */
#include <dirent.h>

#include "t_mpiio.h"

enum { N = 3000 };

static int out[N], in[N];

static void print_info(MPI_File fh)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    MPI_Info info;
    int n, found;

    OK(MPI_File_get_info(fh, &info));
    OK(MPI_Info_get_nkeys(info, &n));
    for (int i = 0; i < n; i++) {
        OK(MPI_Info_get_nthkey(info, i, key));
        OK(MPI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found));
        if (t_rank == 0)
            printf("%s = %s\n", key, value);
    }
    OK(MPI_Info_free(&info));
}

static void print_threads(void)
{
    int threads = 0;
    struct dirent *e;
    DIR *d = opendir("/proc/self/task");

    CHECK(d);
    while (d && (e = readdir(d)))
        threads += e->d_name[0] != '.';
    if (d)
        closedir(d);
    if (t_rank == 0)
        printf("threads: %d\n", threads);
}

static void print_libraries(void)
{
    FILE *f = fopen("/proc/self/maps", "r");
    char line[4096];
    int fabric = 0;

    CHECK(f);
    while (f && fgets(line, sizeof line, f))
        fabric |= strstr(line, "libfabric") != NULL;
    if (f)
        fclose(f);
    if (t_rank == 0)
        printf("libfabric: %s\n", fabric ? "loaded" : "not loaded");
}

static void print_class(const char *name)
{
    char other[4096];
    MPI_File fh;
    int rc;

    snprintf(other, sizeof other, "%s.absent", name);
    rc = MPI_File_open(MPI_COMM_WORLD, other, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh);
    if (t_rank == 0)
        printf("class of an open that fails: %d\n", t_class(rc));
}

int main(int argc, char **argv)
{
    const char *name = t_begin(argc, argv, MPI_THREAD_SINGLE);
    MPI_Offset at = (MPI_Offset)t_rank * N;
    MPI_Datatype gaps;
    MPI_Request r;
    MPI_File fh;

    for (int i = 0; i < N; i++)
        out[i] = t_rank << 20 ^ i;
    OK(MPI_Type_vector(N, 1, t_size, MPI_INT, &gaps));
    OK(MPI_Type_commit(&gaps));
    OK(MPI_File_open(MPI_COMM_WORLD, name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
    OK(MPI_File_set_view(fh, 4 * t_rank, MPI_INT, gaps, "native", MPI_INFO_NULL));
    OK(MPI_File_write_all(fh, out, N, MPI_INT, MPI_STATUS_IGNORE));
    OK(MPI_File_set_view(fh, 4 * t_size * N, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
    print_threads(); /* before the C library makes its own, for MPICH's nonblocking accesses */
    OK(MPI_File_iwrite_at(fh, at, out, N, MPI_INT, &r));
    OK(MPI_Wait(&r, MPI_STATUS_IGNORE));
    OK(MPI_File_read_at(fh, at, in, N, MPI_INT, MPI_STATUS_IGNORE));
    CHECK(!memcmp(in, out, sizeof in));
    MPI_Barrier(MPI_COMM_WORLD);
    print_info(fh);
    print_libraries();
    print_class(name);
    OK(MPI_File_close(&fh));
    OK(MPI_Type_free(&gaps));
    return t_end("t_unused");
}
