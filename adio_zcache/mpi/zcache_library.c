/*
 * The MPI library of this process.
 *
 * The plugin finds MPI functions by name when they are first called, among what is known to the
 * whole process. A library that was opened privately (dlopen without RTLD_GLOBAL, by mpi4py or as
 * something that such a module needs) calls the preloaded plugin, but is not known to it. Opening
 * it once more with RTLD_GLOBAL mends that.
 */
#include "config.h"

#include <dlfcn.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_log.h"
#include "zcache_flavour.h"
#include "zcache_library.h"

static struct zcache_library library;

/* Files of the process that may be the MPI library. */
struct candidates {
    char path[8][PATH_MAX];
    int n;
};

static int take_candidate(struct dl_phdr_info *info, size_t size, void *arg)
{
    struct candidates *c = arg;
    const char *slash = strrchr(info->dlpi_name, '/');

    (void)size;
    if (slash && !strncmp(slash + 1, "libmpi", strlen("libmpi")) &&
        c->n < (int)(sizeof c->path / sizeof *c->path) && strlen(info->dlpi_name) < PATH_MAX)
        strcpy(c->path[c->n++], info->dlpi_name);
    return 0;
}

static void make_global(void)
{
    struct candidates *c = calloc(1, sizeof *c);

    if (!c)
        return;
    dl_iterate_phdr(take_candidate, c);
    for (int i = 0; i < c->n && !dlsym(RTLD_DEFAULT, "PMPI_Init"); i++) {
        void *h = dlopen(c->path[i], RTLD_LAZY | RTLD_NOLOAD);

        if (h && dlsym(h, "PMPI_Init"))
            dlopen(c->path[i], RTLD_LAZY | RTLD_NOLOAD | RTLD_GLOBAL);
        if (h)
            dlclose(h);
    }
    free(c);
}

/* Indexed by zcache_flavour: each plugin and its programs, for messages. */
static const struct {
    const char *file;
    const char *is_for;
    const char *program;
} plugins[] = {
    [ZCACHE_FLAVOUR_MPICH] = {"libzcache.so",
                              "libzcache.so is for MPICH and the libraries with its binary "
                              "interface (libmpi.so.12, libmpich.so.12)",
                              "this program uses MPICH or a library with its binary interface"},
    [ZCACHE_FLAVOUR_OPENMPI] = {"libzcache-openmpi.so",
                                "libzcache-openmpi.so is for Open MPI (libmpi.so.40)",
                                "this program uses Open MPI"},
    [ZCACHE_FLAVOUR_ABI] =
        {"libzcache-abi.so", "libzcache-abi.so is for the standard binary interface of MPI-5",
         "this program uses the standard binary interface of MPI-5 (libmpi_abi)"},
};

/* Ends the program. Nothing of that library can be called: neither MPI_Abort nor its exit handlers.
 * INSTEAD: the plugin that the program needs, or NULL. */
__attribute__((noreturn)) static void refuse(const char *what, const char *instead)
{
    dprintf(zc_log_stderr(), "zcache: %s; %s: %s%srun the program without it\n", what,
            plugins[zcache_flavour].is_for, instead ? instead : "",
            instead ? " is the one to preload, or " : "");
    fflush(NULL);
    _exit(EXIT_FAILURE);
}

static bool has_standard_abi(void)
{
    int (*abi_version)(int *major, int *minor);
    int major = -1, minor = -1;

    *(void **)&abi_version = dlsym(RTLD_DEFAULT, "MPI_Abi_get_version");
    return abi_version && abi_version(&major, &minor) == MPI_SUCCESS && major > 0;
}

/* A function of the library itself. */
static void *symbol_of_library(const char *name)
{
    Dl_info info;
    void *h, *symbol;

    if (!dladdr(dlsym(RTLD_DEFAULT, "PMPI_Init"), &info))
        return NULL;
    h = dlopen(info.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!h)
        return NULL;
    symbol = dlsym(h, name);
    dlclose(h);
    return symbol;
}

static void check_abi(void)
{
    enum zcache_flavour found = ZCACHE_FLAVOUR_MPICH;

    if (!dlsym(RTLD_DEFAULT, "PMPI_Init"))
        refuse("no MPI library is found in this program", NULL);
    if (dlsym(RTLD_DEFAULT, "ompi_mpi_comm_world"))
        found = ZCACHE_FLAVOUR_OPENMPI;
    else if (has_standard_abi())
        found = ZCACHE_FLAVOUR_ABI;
    if (found != zcache_flavour)
        refuse(plugins[found].program, plugins[found].file);
}

static void learn(void)
{
    int (*get_errhandler)(MPI_File, MPI_Errhandler *);

    zcache_library();
    *(void **)&get_errhandler = symbol_of_library("PMPI_File_get_errhandler");
    if (!zcache_flavour_learn(get_errhandler))
        refuse("this MPI library has other constants than those that this plugin knows "
               "(MPI_ERRORS_RETURN, MPI_SEEK_SET)",
               NULL);
}

static void find(void)
{
    const struct {
        const char *name;
        void **where;
    } symbols[] = {
        {"PMPIX_Grequest_class_create", (void **)&library.greq_class_create},
        {"PMPIX_Grequest_class_allocate", (void **)&library.greq_class_allocate},
        {"PMPI_Type_get_envelope_c", (void **)&library.type_get_envelope_c},
        {"PMPI_Type_get_contents_c", (void **)&library.type_get_contents_c},
        {"MPIR_Err_create_code", (void **)&library.err_create_code},
    };

    if (!dlsym(RTLD_DEFAULT, "PMPI_Init"))
        make_global();
    check_abi();
    zcache_flavour_begin();
    for (size_t i = 0; i < sizeof symbols / sizeof *symbols; i++)
        *symbols[i].where = dlsym(RTLD_DEFAULT, symbols[i].name);
}

void *zcache_library_symbol(const char *name)
{
    zcache_library();
    return symbol_of_library(name);
}

const struct zcache_library *zcache_library(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, find);
    return &library;
}

void zcache_library_ready(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, learn);
}

bool zcache_library_has_world(void)
{
    int begun = 0;

    return PMPI_Initialized(&begun) == MPI_SUCCESS && begun;
}
