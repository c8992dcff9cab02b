/*
 * What the benchmarks share on top of MPI.
 *
 * MPI errors on files are returned, those on communicators abort the job: MPI's defaults.
 */
#include "config.h"

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench.h"

#define MESSAGE 2048
/* The unit of large counts: any power of two below INT_MAX. */
#define CHUNK (INT64_C(1) << 30)

static const char *program = "bench";

void bench_init(const char *name)
{
    program = name;
}

const char *bench_name(void)
{
    return program;
}

/* ---- command line --------------------------------------------------------------------------- */

void bench_share_argv(MPI_Comm comm, int *argc, char ***argv)
{
    int rank;
    int head[2] = {*argc, 0};
    MPI_Comm_rank(comm, &rank);
    for (int i = 0; i < *argc; i++)
        head[1] += (int)strlen((*argv)[i]) + 1;
    MPI_Bcast(head, 2, MPI_INT, 0, comm);
    /* One allocation: the pointers with their NULL, then the words. */
    size_t pointers = ((size_t)head[0] + 1) * sizeof(char *);
    char **words = calloc(1, pointers + (size_t)head[1]);
    if (words == NULL)
        bench_abort("out of memory for the command line");
    char *text = (char *)words + pointers;
    if (rank == 0) {
        char *p = text;
        for (int i = 0; i < *argc; i++)
            p = stpcpy(p, (*argv)[i]) + 1;
    }
    MPI_Bcast(text, head[1], MPI_CHAR, 0, comm);
    char *p = text;
    for (int i = 0; i < head[0]; i++) {
        words[i] = p;
        p += strlen(p) + 1;
    }
    *argc = head[0];
    *argv = words;
}

/* ---- errors --------------------------------------------------------------------------------- */

/* One write() call, so that the lines of several ranks do not mix. */
static void say(const char *format, va_list ap)
{
    char text[MESSAGE];
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int used = snprintf(text, sizeof text, "%s: rank %d: ", program, rank);
    vsnprintf(text + used, sizeof text - (size_t)used - 1, format, ap);
    strcat(text, "\n");
    fputs(text, stderr);
    fflush(stderr);
}

void bench_message(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
}

void bench_abort(const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    say(format, ap);
    va_end(ap);
    MPI_Abort(MPI_COMM_WORLD, BENCH_MPI_ERROR);
    exit(BENCH_MPI_ERROR);
}

void bench_check(int err, const char *call, const char *file)
{
    char text[MPI_MAX_ERROR_STRING] = "unknown error";
    int len;
    if (err == MPI_SUCCESS)
        return;
    MPI_Error_string(err, text, &len);
    bench_abort("%s of %s: %s", call, file, text);
}

void bench_check_all(MPI_Comm comm, int err, const char *call, const char *file)
{
    int rank, nranks, speaker;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    int candidate = err != MPI_SUCCESS ? rank : nranks;
    MPI_Allreduce(&candidate, &speaker, 1, MPI_INT, MPI_MIN, comm);
    if (speaker == nranks)
        return;
    if (speaker == rank)
        bench_check(err, call, file);
    /* Waits here until the rank that reports has aborted the job. */
    MPI_Barrier(comm);
    MPI_Abort(comm, BENCH_MPI_ERROR);
}

/* ---- files ----------------------------------------------------------------------------------- */

void bench_delete(MPI_Comm comm, const char *file, MPI_Info info, bool missing_ok)
{
    int rank, err = MPI_SUCCESS;
    MPI_Comm_rank(comm, &rank);
    if (rank == 0) {
        err = MPI_File_delete(file, info);
        int class = MPI_SUCCESS;
        if (err != MPI_SUCCESS)
            MPI_Error_class(err, &class);
        if (missing_ok && class == MPI_ERR_NO_SUCH_FILE)
            err = MPI_SUCCESS;
    }
    bench_check_all(comm, err, "MPI_File_delete", file);
}

static bool close_stores(const struct arg_pairs *asked)
{
    bool stores = true;
    for (int i = 0; i < asked->n; i++) {
        const char *value = asked->pair[i].value;
        if (strcmp(asked->pair[i].key, "zcache_close_level") == 0)
            stores = strcmp(value, "visible") != 0 && strcmp(value, "staged") != 0;
    }
    return stores;
}

double bench_settle(MPI_Comm comm, const char *file, MPI_Info info, const struct arg_pairs *asked)
{
    MPI_File fh;
    MPI_Info wait;
    if (close_stores(asked))
        return 0;
    double start = bench_now();
    bench_check_all(comm, MPI_File_open(comm, file, MPI_MODE_WRONLY, info, &fh), "MPI_File_open",
                    file);
    MPI_Info_create(&wait);
    MPI_Info_set(wait, "zcache_flush", "wait");
    bench_check_all(comm, MPI_File_set_info(fh, wait), "MPI_File_set_info", file);
    double seconds = bench_now() - start;
    MPI_Info_free(&wait);
    bench_check_all(comm, MPI_File_close(&fh), "MPI_File_close", file);
    return seconds;
}

/* ---- clocks and figures --------------------------------------------------------------------- */

double bench_now(void)
{
    return MPI_Wtime();
}

void bench_over_ranks(MPI_Comm comm, const double *values, int n, struct bench_figures *out)
{
    int nranks;
    double *sums = calloc(3 * (size_t)n + 1, sizeof *sums);
    if (sums == NULL)
        bench_abort("out of memory for %d figures", n);
    MPI_Comm_size(comm, &nranks);
    MPI_Reduce(values, sums, n, MPI_DOUBLE, MPI_MIN, 0, comm);
    MPI_Reduce(values, sums + n, n, MPI_DOUBLE, MPI_SUM, 0, comm);
    MPI_Reduce(values, sums + 2 * n, n, MPI_DOUBLE, MPI_MAX, 0, comm);
    for (int i = 0; i < n; i++)
        out[i] = (struct bench_figures){sums[i], sums[n + i] / nranks, sums[2 * n + i]};
    free(sums);
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, int n)
{
    if (n == 0)
        return 0;
    qsort(values, (size_t)n, sizeof *values, compare_doubles);
    return n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/* ---- large counts --------------------------------------------------------------------------- */

void bench_bytes_make(int64_t bytes, MPI_Datatype *type, int *count)
{
    if (bytes <= INT_MAX) {
        *type = MPI_BYTE;
        *count = (int)bytes;
        return;
    }
    /* Full chunks, then the rest. */
    MPI_Datatype parts[2], chunk;
    MPI_Type_contiguous((int)CHUNK, MPI_BYTE, &chunk);
    MPI_Type_contiguous((int)(bytes / CHUNK), chunk, &parts[0]);
    MPI_Type_contiguous((int)(bytes % CHUNK), MPI_BYTE, &parts[1]);
    int lengths[2] = {1, 1};
    MPI_Aint places[2] = {0, (MPI_Aint)(bytes / CHUNK * CHUNK)};
    MPI_Type_create_struct(bytes % CHUNK != 0 ? 2 : 1, lengths, places, parts, type);
    MPI_Type_commit(type);
    MPI_Type_free(&chunk);
    MPI_Type_free(&parts[0]);
    MPI_Type_free(&parts[1]);
    *count = 1;
}

void bench_bytes_free(MPI_Datatype *type)
{
    if (*type != MPI_BYTE)
        MPI_Type_free(type);
}

int64_t bench_status_bytes(const MPI_Status *status, MPI_Datatype type)
{
    MPI_Count bytes = MPI_UNDEFINED;
    MPI_Get_elements_x(status, type, &bytes);
    return bytes == MPI_UNDEFINED ? -1 : (int64_t)bytes;
}

/* ---- progress ------------------------------------------------------------------------------- */

void bench_progress(int when, const char *what, int done, int of)
{
    static double last;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0 || when == BENCH_PROGRESS_NEVER ||
        (when == BENCH_PROGRESS_TERMINAL && !isatty(STDERR_FILENO)))
        return;
    double now = bench_now();
    if (done == of)
        fprintf(stderr, "\r\033[K");
    else if (now - last >= 0.2)
        fprintf(stderr, "\r%s: %s %d/%d\033[K", program, what, done, of);
    else
        return;
    last = now;
    fflush(stderr);
}
