/*
 * What was checked, and what was found wrong.
 */
#include "config.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "verdict.h"

void verdict_fault(struct verdict *v, const char *format, ...)
{
    if (v->faults++ > 0)
        return;
    va_list ap;
    va_start(ap, format);
    vsnprintf(v->first, sizeof v->first, format, ap);
    va_end(ap);
}

void verdict_cause(struct verdict *v, const char *format, ...)
{
    va_list ap;
    v->faults++;
    va_start(ap, format);
    vsnprintf(v->first, sizeof v->first, format, ap);
    va_end(ap);
}

bool verdict_any(MPI_Comm comm, const struct verdict *v)
{
    int mine = v->faults > 0, any;
    MPI_Allreduce(&mine, &any, 1, MPI_INT, MPI_MAX, comm);
    return any != 0;
}

/* Rank 0 asks the faulty ranks in turn, so that it never needs room for all of them. */
static void gather_texts(MPI_Comm comm, const struct verdict *v, struct verdict_sum *sum)
{
    int rank, nranks;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &nranks);
    for (int next = 0; sum->texts < VERDICT_TEXTS; next++) {
        int candidate = v->faults > 0 && rank >= next ? rank : nranks;
        char text[VERDICT_TEXT];
        int speaker;
        MPI_Allreduce(&candidate, &speaker, 1, MPI_INT, MPI_MIN, comm);
        if (speaker == nranks)
            return;
        memcpy(text, v->first, sizeof text);
        MPI_Bcast(text, sizeof text, MPI_CHAR, speaker, comm);
        snprintf(sum->text[sum->texts++], sizeof sum->text[0], "rank %d: %s", speaker, text);
        next = speaker;
    }
}

void verdict_gather(MPI_Comm comm, const struct verdict *v, struct verdict_sum *sum)
{
    int64_t mine[4] = {v->checked, v->posix_checked, v->wrong, v->faults};
    int64_t all[4];
    memset(sum, 0, sizeof *sum);
    MPI_Allreduce(mine, all, 4, MPI_INT64_T, MPI_SUM, comm);
    sum->v.checked = all[0];
    sum->v.posix_checked = all[1];
    sum->v.wrong = all[2];
    sum->v.faults = all[3];
    if (sum->v.faults > 0)
        gather_texts(comm, v, sum);
}
