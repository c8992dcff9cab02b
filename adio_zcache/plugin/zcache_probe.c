/*
 * zcache-probe LIBRARY FILE: whether a file can be used through the plugin, for zcache doctor.
 *
 * Built once for each binary interface that there is a plugin for, and linked with no MPI library:
 * it opens LIBRARY, of that interface, and calls what the linker finds first, the functions of the
 * plugin that is preloaded. Prints the version of the library. The exit status is 0 if FILE was
 * opened by zcache, written, read and removed.
 */
#include "config.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef ZCACHE_PROBE_ABI
#include <mpi_abi.h>
#else
#include <mpi.h>
#endif

static void give_up(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

/* Declares `fn`, the function NAME, with the type that mpi.h has for it. */
#define FIND(fn, name)                                                                             \
    __typeof__(name) *fn;                                                                          \
    *(void **)&(fn) = dlsym(RTLD_DEFAULT, #name);                                                  \
    if (!(fn))                                                                                     \
    give_up(#name, "the MPI library has no such function")

#ifdef OPEN_MPI
/* The address of a variable of Open MPI, which is what a predefined handle is. */
static void *predefined(const char *name)
{
    void *variable = dlsym(RTLD_DEFAULT, name);

    if (!variable)
        give_up(name, "the MPI library has no such variable");
    return variable;
}

#undef OMPI_PREDEFINED_GLOBAL
#define OMPI_PREDEFINED_GLOBAL(type, global) ((type)predefined(#global))
#endif

static void check(int rc, const char *what)
{
    char text[8 * MPI_MAX_ERROR_STRING] = "";
    int len;

    FIND(error_string, MPI_Error_string);
    if (rc == MPI_SUCCESS)
        return;
    error_string(rc, text, &len);
    give_up(what, text);
}

static void print_version(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int len;

    FIND(get_library_version, MPI_Get_library_version);
    check(get_library_version(version, &len), "MPI_Get_library_version");
    version[strcspn(version, "\n")] = '\0';
    for (char *tab = version; (tab = strchr(tab, '\t')) != NULL;)
        *tab = ' ';
    printf("%s\n", version);
}

static void check_ours(MPI_File fh)
{
    char value[64];
    MPI_Info info;
    int found = 0;

    FIND(get_info, MPI_File_get_info);
    FIND(info_get, MPI_Info_get);
    FIND(info_free, MPI_Info_free);
    check(get_info(fh, &info), "MPI_File_get_info");
    check(info_get(info, "zcache_block_size", sizeof value - 1, value, &found), "MPI_Info_get");
    check(info_free(&info), "MPI_Info_free");
    if (!found)
        give_up("MPI_File_open", "the file was not opened through zcache");
}

static void use(const char *name)
{
    char out[100], in[100] = "";
    MPI_File fh;

    FIND(file_open, MPI_File_open);
    FIND(write_at, MPI_File_write_at);
    FIND(read_at, MPI_File_read_at);
    FIND(close, MPI_File_close);
    FIND(delete, MPI_File_delete);
    memset(out, 'z', sizeof out);
    check(
        file_open(MPI_COMM_SELF, (char *)name, MPI_MODE_CREATE | MPI_MODE_RDWR, MPI_INFO_NULL, &fh),
        "MPI_File_open");
    check_ours(fh);
    check(write_at(fh, 5, out, sizeof out, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_write_at");
    check(read_at(fh, 5, in, sizeof in, MPI_BYTE, MPI_STATUS_IGNORE), "MPI_File_read_at");
    check(close(&fh), "MPI_File_close");
    check(delete ((char *)name, MPI_INFO_NULL), "MPI_File_delete");
    if (memcmp(in, out, sizeof in) != 0)
        give_up("MPI_File_read_at", "other bytes than were written");
}

int main(int argc, char **argv)
{
    if (argc != 3)
        give_up("usage", "zcache-probe LIBRARY FILE");
    if (!dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL))
        give_up("cannot load the MPI library", dlerror());
    FIND(init, MPI_Init);
    FIND(finalize, MPI_Finalize);
    check(init(NULL, NULL), "MPI_Init");
    print_version();
    use(argv[2]);
    check(finalize(), "MPI_Finalize");
    return EXIT_SUCCESS;
}
