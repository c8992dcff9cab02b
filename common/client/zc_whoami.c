/* zc_whoami.c - the name of this process in logs of other processes. */
#include "config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "zc_whoami.h"

enum { HOST = 40, JOB = 40 }; /* maximum lengths in the name, bytes */

/* Batch systems, the most specific first: name, and variable. */
static const struct {
    const char *what, *variable;
} launchers[] = {
    {"pbs", "PBS_JOBID"},          {"lsf", "LSB_JOBID"},  {"flux", "FLUX_JOB_ID"},
    {"pmix", "PMIX_NAMESPACE"},    {"pals", "PALS_APID"}, {"pmi", "PMI_JOBID"},
    {"hydra", "I_MPI_HYDRA_UUID"},
};

static const char *value(const char *variable)
{
    const char *v = getenv(variable);

    return v && *v ? v : NULL;
}

/* MPICH's mpiexec sets no number: its proxy on this host has one. */
static void find_job(char *buf, size_t size)
{
    const char *slurm = value("SLURM_JOB_ID"), *step = value("SLURM_STEP_ID");

    *buf = '\0';
    if (slurm) {
        snprintf(buf, size, "slurm %s%s%s", slurm, step ? "." : "", step ? step : "");
        return;
    }
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers && !*buf; i++)
        if (value(launchers[i].variable))
            snprintf(buf, size, "%s %s", launchers[i].what, value(launchers[i].variable));
    if (!*buf && value("PMI_RANK"))
        snprintf(buf, size, "mpiexec %ld", (long)getppid());
}

char *zc_whoami(const char *name, char *buf, size_t size)
{
    char host[256] = "?", job[JOB];

    gethostname(host, sizeof host - 1);
    host[HOST] = '\0';
    find_job(job, sizeof job);
    snprintf(buf, size, "%s (uid %ld, %s:%ld%s%s)", name, (long)geteuid(), host, (long)getpid(),
             *job ? ", job " : "", job);
    return buf;
}
