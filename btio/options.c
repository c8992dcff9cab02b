/*
 * The table of options, their defaults, and --help.
 */
#include "config.h"

#include <errno.h>
#include <string.h>

#include "bench.h"
#include "grid.h"
#include "io.h"
#include "options.h"

#define FIELD(name) offsetof(struct options, name)

/* So that differences beside the two surfaces do not meet. */
#define SMALLEST_GRID 6
#define LARGEST_GRID  2048 /* counts of lines and bytes of a message fit an int */

/* clang-format off */
static const struct arg table[] = {
    {ARG_HEADING, .name = "The problem"},
    {ARG_CHOICE,
     .name = "class", .letter = 'c', .value = "CLASS", .field = FIELD(class),
     .choices = class_names,
     .help = "S (default)  12 x 12 x 12 points,    60 steps, dt 0.01\n"
              "W            24 x 24 x 24 points,    200 steps, dt 0.0008\n"
              "A            64 x 64 x 64 points,    200 steps, dt 0.0008\n"
              "B            102 x 102 x 102 points, 200 steps, dt 0.0003\n"
              "C            162 x 162 x 162 points, 200 steps, dt 0.0001"},
    {ARG_INT,
     .name = "grid", .letter = 'n', .value = "N", .field = FIELD(n),
     .min = SMALLEST_GRID, .max = LARGEST_GRID,
     .help = "another number of points along each edge; there are no\n"
              "published norms for it. dt is that of the smallest class\n"
              "with at least N points, beyond C that of C"},
    {ARG_INT,
     .name = "steps", .letter = 's', .value = "N", .field = FIELD(steps), .min = 1, .max = 1000000,
     .help = "another number of steps; the same. Also -steps N"},
    {ARG_SECONDS,
     .name = "dt", .value = "DT", .field = FIELD(dt),
     .help = "another length of a time step; the same"},
    {ARG_HEADING, .name = "The file"},
    {ARG_CHOICE,
     .name = "method", .letter = 'm', .value = "METHOD", .field = FIELD(method),
     .choices = io_method_names,
     .help = "how the solution is written, and read back:\n"
              "  full    collectively, through a view of all cells of a\n"
              "          rank, from memory with ghosts (default)\n"
              "  simple  independently, row by row of each cell\n"
              "  epio    each rank to a file of its own, one cell after\n"
              "          the other, through MPI-IO and without the record\n"
              "          marks of Fortran, which NASA's has\n"
              "  none    not at all: compute only"},
    {ARG_TEXT,
     .name = "file", .letter = 'f', .value = "FILE", .field = FIELD(file),
     .help = "the file, as MPI_File_open takes it: /tmp/x, ufs:/tmp/x,\n"
              "zcache:/tmp/x; with epio, FILE.0000, FILE.0001 and so on.\n"
              "Must be given, but with none. What is there is deleted\n"
              "before"},
    {ARG_INT,
     .name = "interval", .letter = 'i', .value = "STEPS", .field = FIELD(interval),
     .min = 1, .max = 1000000,
     .help = "write every STEPS steps and after the last (5)"},
    {ARG_PAIRS,
     .name = "hint", .value = "KEY=VALUE", .field = FIELD(hints),
     .help = "a hint for MPI_File_open; may be given again"},
    {ARG_FLAG,
     .name = "keep", .field = FIELD(keep),
     .help = "leave the file; otherwise a run that wrote it deletes it\n"
              "at the end through MPI_File_delete"},
    {ARG_FLAG,
     .name = "write", .field = FIELD(write),
     .help = "write the file (default); with --no-write, compute and\n"
              "compare with the file that an earlier run kept, written with\n"
              "the same problem and interval and, with epio, ranks"},
    {ARG_TEXT,
     .name = "posix-verify", .value = "PATH", .field = FIELD(posix_verify),
     .help = "when the writer's MPI_File_close is over, let rank 0 read\n"
              "all of PATH with plain POSIX reads, and the ranks compare it\n"
              "as below; PATH is the same file as the file system names it.\n"
              "With epio, each rank reads PATH.0000, PATH.0001 and so on.\n"
              "No time counts it, but the reading after it may find the\n"
              "file in the system's cache"},
    {ARG_HEADING, .name = "Report"},
    {ARG_TEXT,
     .name = "json", .value = "FILE", .field = FIELD(json), .unreported = true,
     .help = "write the report as JSON, too; see doc/btio-json.md. What\n"
              "FILE held is there until the report is complete"},
    {ARG_TEXT,
     .name = "label", .value = "TEXT", .field = FIELD(label),
     .help = "a name for this run in the JSON report"},
    {ARG_FLAG,
     .name = "progress", .field = FIELD(progress),
     .help = "show on stderr how far it is (default where stderr is a\n"
              "terminal: mpiexec mostly hides that)"},
    {ARG_FLAG,
     .name = "quiet", .letter = 'q', .field = FIELD(quiet),
     .help = "print errors only"},
    {ARG_FLAG,
     .name = "help", .letter = 'h', .field = FIELD(help),
     .help = "this text"},
    {ARG_FLAG,
     .name = "version", .letter = 'V', .field = FIELD(version),
     .help = "the version"},
    {.name = NULL},
};
/* clang-format on */

static const char notes[] =
    "\n"
    "The number of ranks is a square: 1, 4, 9, 16, ... The shared file holds one dump after the\n"
    "other, each all points with x running fastest, then y, then z, and five doubles for each:\n"
    "the same for any method and number of ranks, and as NASA's BTIO writes it.\n"
    "\n"
    "Times are the maximum over the ranks. \"write\" is what the application waits for in its\n"
    "writes, without a barrier before them, \"write + close\" what it waits for until the file is\n"
    "closed. Everything is read back: each dump has to have the checksum it had when it was\n"
    "written, the last one is compared byte by byte, and norms of what was read have to agree\n"
    "with those published for the class, to 1e-8; for another grid, steps or dt, none are.\n"
    "A run that is not right gives no figures, but a message and exit status 1.\n"
    "\n"
    "Exit status: 0 all is well; 1 numbers, data, file or size wrong; 2 bad options; 3 an MPI\n"
    "call failed.\n"
    "\n"
    "Examples\n"
    "  Class A, collectively, through zcache:\n"
    "    mpiexec -n 4 btio -c A -f zcache:/scratch/x\n"
    "  What computing alone takes:\n"
    "    mpiexec -n 4 btio -c A -m none\n"
    "  Write with one path to the file, check with another and fewer ranks:\n"
    "    mpiexec -n 4 btio -c W -m simple -f zcache:/scratch/x --keep\n"
    "    mpiexec -n 1 btio -c W -m full -f ufs:/scratch/x --no-write --keep\n"
    "  Everything read back twice, once behind MPI's back:\n"
    "    mpiexec -n 4 btio -c W -f zcache:/scratch/x --posix-verify /scratch/x\n";

void options_help(FILE *out)
{
    fputs("Usage: mpiexec -n RANKS btio -f FILE [OPTION]...\n"
          "Solve a simulated CFD problem, write the solution every few steps, verify it, and\n"
          "report what computing and I/O cost: BT and BTIO of the NAS Parallel Benchmarks.\n",
          out);
    args_help(table, out);
    fputs(notes, out);
}

const double *options_published_mean(const struct options *o)
{
    const struct norms *p = problem_published(&o->problem);
    return p != NULL && o->interval == PUBLISHED_INTERVAL ? p->mean_error : NULL;
}

/* What follows from the options and the number of ranks. */
static int settle(struct options *o, int nranks, char *message)
{
    o->problem = problem_make(o->class, o->n, o->steps, o->dt);
    o->q = grid_side(nranks);
    if (o->q == 0) {
        int q = 1;
        while ((q + 1) * (q + 1) < nranks)
            q++;
        snprintf(message, ARGS_MESSAGE,
                 "%d ranks are not a square number: give %d or %d (1, 4, 9, 16, ...)", nranks,
                 q * q, (q + 1) * (q + 1));
        return -EINVAL;
    }
    if (o->problem.n < GRID_THINNEST * o->q) {
        int most = o->problem.n / GRID_THINNEST;
        snprintf(message, ARGS_MESSAGE,
                 "%d ranks make cells of less than %d points along an edge of %d: give at most %d "
                 "ranks, or a larger class or --grid",
                 nranks, GRID_THINNEST, o->problem.n, most * most);
        return -EINVAL;
    }
    o->dumps = (o->problem.steps + o->interval - 1) / o->interval;
    bool none = io_method_get(o->method) == NULL;
    if (none)
        o->dumps = 0;
    if (none && o->problem.class == 'U') {
        strcpy(message,
               "-m none with another --grid, --steps or --dt leaves nothing to verify: drop one");
        return -EINVAL;
    }
    if (none && o->posix_verify != NULL) {
        strcpy(message, "-m none writes no file for --posix-verify: drop one");
        return -EINVAL;
    }
    if (!none && o->file == NULL) {
        strcpy(message,
               "no file: give -f FILE, or -m none to compute only, or --help for examples");
        return -EINVAL;
    }
    return 0;
}

int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE])
{
    *o = (struct options){
        .interval = PUBLISHED_INTERVAL, .write = 1, .progress = BENCH_PROGRESS_TERMINAL};
    int rc = args_parse(table, o, argc, argv, message);
    if (rc == 0)
        rc = bench_hints_check(&o->hints, message);
    if (rc == 0 && o->json != NULL)
        rc = args_check_utf8(table, o, message);
    if (o->quiet && o->progress == BENCH_PROGRESS_TERMINAL)
        o->progress = BENCH_PROGRESS_NEVER;
    if (rc != 0 || o->help || o->version)
        return rc;
    return settle(o, nranks, message);
}

void options_free(struct options *o)
{
    args_free_pairs(&o->hints);
}
