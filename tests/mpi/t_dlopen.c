/* A program that loads MPI as it runs, and asks that library for each function, as Julia does.
 *
 *     t_dlopen LIBRARY NAME
 */
#include <dlfcn.h>
#include <mpi.h>
#include <stdio.h>

#define FROM(h, name) __typeof__(&name) f_##name = (__typeof__(&name))dlsym(h, #name)

int main(int argc, char **argv)
{
    void *h = argc > 2 ? dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL) : NULL;
    int out = 42, rc;
    MPI_File f;

    if (!h) {
        fprintf(stderr, "%s\n", argc > 2 ? dlerror() : "usage: t_dlopen LIBRARY NAME");
        return 2;
    }
    FROM(h, MPI_Init);
    FROM(h, MPI_Finalize);
    FROM(h, MPI_File_open);
    FROM(h, MPI_File_write_at);
    FROM(h, MPI_File_close);
    f_MPI_Init(&argc, &argv);
    rc = f_MPI_File_open(MPI_COMM_WORLD, argv[2], MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL,
                         &f);
    if (rc == MPI_SUCCESS) {
        rc = f_MPI_File_write_at(f, 0, &out, 1, MPI_INT, MPI_STATUS_IGNORE);
        rc = f_MPI_File_close(&f) || rc;
    }
    f_MPI_Finalize();
    return rc != MPI_SUCCESS;
}
