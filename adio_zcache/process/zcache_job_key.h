/* zcache_job_key.h - what the processes of one MPI job have in common, found without asking any.
 *
 * Processes that have never had a communicator in common, but for MPI_COMM_WORLD in which not all
 * come to the same call, meet at a file (zc_store_rendezvous()) under this key.  Jobs at the same
 * time have different ones, and so have those that MPI_Comm_spawn() started.  The starter of the
 * process tells its job; the nearest one counts, so that an mpiexec inside a job makes a
 * job:
 *
 *     mpiexec of MPICH     the address at which it listens, in the command line of its proxies
 *     mpiexec of Intel     I_MPI_HYDRA_UUID
 *     srun                 SLURM_JOB_ID and SLURM_STEP_ID
 *     others               PMIX_NAMESPACE, PALS_APID, FLUX_JOB_ID or PMI_JOBID
 *
 * and where all ranks are on one host the boot of that, and the number and start of the process
 * that started them.  Where that is all there is, the ranks of one host have a key in common and
 * those of other hosts another.  A process that no launcher started, or that lost it (a script in
 * between has ended), has a key of its own; and so has one that MPICH 5 spawned.
 *
 * Not told apart: an mpiexec of Intel over several hosts, started by a rank of another one, from
 * that one, whose variable it inherits.
 */
#ifndef ZCACHE_JOB_KEY_H
#define ZCACHE_JOB_KEY_H

/* Returns the key, found at the first call and the same from then on; at most ZC_MAX_JOB bytes.
 * Any thread. */
const char *zcache_job_key(void);

#endif
