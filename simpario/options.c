/*
 * The table of options, their defaults, and --help.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "compute.h"
#include "datarep.h"
#include "options.h"
#include "order.h"
#include "permute.h"
#include "stamp.h"

#define FIELD(name) offsetof(struct options, name)

#define DEFAULT_SEED       1
#define DEFAULT_REPEAT     1
#define DEFAULT_GENERATION 1

/* clang-format off */
static const struct arg table[] = {
    {ARG_HEADING, .name = "The file"},
    BENCH_ARG_FILE(". Must be given"),
    BENCH_ARG_HINT,
    BENCH_ARG_KEEP,
    {ARG_FLAG,
     .name = "overwrite", .field = FIELD(overwrite),
     .help = "write over what the file holds already; otherwise an\n"
              "existing FILE is deleted before each time it is written"},
    {ARG_HEADING, .name = "Phases and pattern"},
    {ARG_INT,
     .name = "phases", .letter = 'p', .value = "N", .field = FIELD(phases),
     .min = 1, .max = 1000000,
     .help = "number of phases (" ARGS_TEXT(DEFAULT_PHASES) "; checkpoint "
             ARGS_TEXT(DEFAULT_PHASES_CHECKPOINT) ", arrays " ARGS_TEXT(DEFAULT_PHASES_ARRAYS)
             ",\n"
              "climate " ARGS_TEXT(DEFAULT_PHASES_CLIMATE) ")"},
    {ARG_SIZE,
     .name = "record", .letter = 'r', .value = "SIZE", .field = FIELD(record), .min = 1,
     .help = "bytes per rank and phase (" ARGS_TEXT(DEFAULT_RECORD_MIB) "M); of a checkpoint, of data"},
    {ARG_SECONDS,
     .name = "compute", .letter = 'c', .value = "SECONDS", .field = FIELD(compute),
     .help = "compute this long in each phase (0); making and checking\n"
              "the data is part of it"},
    {ARG_CHOICE,
     .name = "compute-by", .value = "HOW", .field = FIELD(compute_by), .choices = compute_names,
     .help = "spin (default) or sleep"},
    {ARG_CHOICE,
     .name = "pattern", .value = "NAME", .field = FIELD(pattern), .choices = pattern_names,
     .help = "how the records of a phase lie in the file:\n"
              "  contiguous   one after the other, by rank (default)\n"
              "  interleaved  cut in pieces, dealt out in turn\n"
              "  subarray3d, subarray4d\n"
              "               blocks of an array, the ranks in a grid\n"
              "  irregular    elements of 8 bytes, dealt out at random\n"
              "  checkpoint   a few files, FILE.0000 and so on, each a header\n"
              "               with a table of offsets and a block for each\n"
              "               part and field; a phase is a field of all parts\n"
              "  arrays       one rank writes arrays of floats, one a phase;\n"
              "               the others compute\n"
              "  climate      many variables in a call, on irregular maps\n"
              "  blocks       a matrix, written in blocks along rows and\n"
              "               columns, read by columns\n"
              "  lattice      bricks of a 4-D array of sites, sides powers of\n"
              "               two (the record is cut to that); a phase is a field\n"
              "  ragged4d     blocks of a 4-D array whose sides the ranks do\n"
              "               not divide evenly, of about a record"},
    {ARG_SIZE,
     .name = "piece", .value = "SIZE", .field = FIELD(piece), .min = 1, .max = INT32_MAX,
     .help = "interleaved: bytes per piece, a divisor of the record\n"
              "(" ARGS_TEXT(DEFAULT_PIECE_KIB) "K, or the record if that is smaller)\n"
              "subarrays, blocks: bytes per element, a divisor of the record\n"
              "(" ARGS_TEXT(DEFAULT_ELEMENT) "); lattice: bytes per site ("
             ARGS_TEXT(DEFAULT_SITE) ", which is 24 doubles;\n"
              "96: 12 doubles)"},
    {ARG_CHOICE,
     .name = "order", .value = "HOW", .field = FIELD(order), .choices = order_names,
     .help = "ascending (default), or random: each rank takes the phases\n"
              "of its part in an order of its own"},
    {ARG_INT,
     .name = "seed", .value = "N", .field = FIELD(seed), .min = 0,
     .help = "irregular, climate: which of the random maps (" ARGS_TEXT(DEFAULT_SEED) ");\n"
              "--order random: which of the orders"},
    {ARG_INT,
     .name = "files", .value = "N", .field = FIELD(files), .min = 1, .max = 10000,
     .help = "checkpoint: number of files, a divisor of that of ranks ("
             ARGS_TEXT(DEFAULT_FILES) ",\n"
              "or 1 if that does not divide it)"},
    {ARG_INT,
     .name = "parts", .value = "N", .field = FIELD(parts), .min = 1, .max = 1000000,
     .help = "checkpoint: parts per rank, a divisor of the record ("
             ARGS_TEXT(DEFAULT_PARTS) ")"},
    {ARG_SIZE,
     .name = "align", .value = "SIZE", .field = FIELD(align), .min = 1, .max = (int64_t)1 << 40,
     .help = "checkpoint: blocks begin at multiples of this, with gaps\n"
              "between them (otherwise there are none)"},
    {ARG_INT,
     .name = "writers", .value = "N", .field = FIELD(writers), .min = 1, .max = 1000000,
     .help = "checkpoint, with --read: so many ranks wrote it, with these\n"
              "--record, --parts and --files; the ranks that read share the\n"
              "parts evenly, and several files of a rank are read one\n"
              "after the other (default: as many as read)"},
    {ARG_TEXT,
     .name = "array", .value = "XxYxZ", .field = FIELD(array),
     .help = "arrays: their sides (" DEFAULT_ARRAY "; those of full size are\n"
              "1440x720x70)"},
    {ARG_CHOICE,
     .name = "map", .value = "NAME", .field = FIELD(climate_map), .choices = climate_map_names,
     .help = "climate: the map, like those of E3SM's cases, of 8-byte\n"
              "elements in 2D and 3D variables (default f):\n"
              "  f  280 levels of 48 variables, runs of 1 to 4 elements\n"
              "  g  48 levels of 12 variables, runs of 40 to 400\n"
              "  i  152 levels of 40 variables, runs of 1 to 40"},
    {ARG_TEXT,
     .name = "permute", .value = "ORDER", .field = FIELD(permute_text),
     .help = "subarray4d, ragged4d, lattice: the order of a block's\n"
              "dimensions in memory, the slowest first, of 0123, as in the\n"
              "file: 3210 for that of Fortran, any of the 24; all: each\n"
              "phase has the next of them; none (default)"},
    {ARG_CHOICE,
     .name = "permute-by", .value = "HOW", .field = FIELD(permute_by), .choices = permute_by_names,
     .help = "type: MPI gets memory of that order, described by a type\n"
              "(default); copy: the program permutes it before a write and\n"
              "after a read, which counts as I/O"},
    {ARG_CHOICE,
     .name = "datarep", .value = "NAME", .field = FIELD(datarep), .choices = datarep_names,
     .help = "of the view: native (default), or for 4-D patterns, whose\n"
              "elements are integers of 8 bytes then, external32, or a\n"
              "registered one, with conversion functions of the program"},
    {ARG_CHOICE,
     .name = "access", .value = "HOW", .field = FIELD(access), .choices = access_names,
     .help = "the calls of MPI, here for writing:\n"
              "  collective   MPI_File_write_at_all (default)\n"
              "  independent  MPI_File_write_at (arrays: default)\n"
              "  split        MPI_File_write_at_all_begin, ..._end\n"
              "  icollective  MPI_File_iwrite_at_all, MPI_Wait\n"
              "  nonblocking  MPI_File_iwrite_at, MPI_Wait\n"
              "  exchange     MPI_Alltoallv, so that each rank has a\n"
              "               contiguous part, then MPI_File_write_at\n"
              "with split, icollective, nonblocking I/O and computing\n"
              "overlap"},
    {ARG_FLAG,
     .name = "barrier", .field = FIELD(barrier),
     .help = "barrier before each I/O phase (default; --no-barrier), not\n"
              "counted as I/O"},
    {ARG_FLAG,
     .name = "sync", .field = FIELD(sync),
     .help = "MPI_File_sync after each write, counted as writing"},
    {ARG_HEADING, .name = "What to do"},
    {ARG_FLAG,
     .name = "write", .letter = 'w', .field = FIELD(write),
     .help = "write the file; without --read nothing is read"},
    {ARG_FLAG,
     .name = "read", .letter = 'R', .field = FIELD(read),
     .help = "read the file; without --write it must be there, kept by an\n"
              "earlier run with the same phases, record, pattern and ranks\n"
              "(default: write, then read)"},
    {ARG_FLAG,
     .name = "reopen", .field = FIELD(reopen),
     .help = "close, barrier and open again between writing and reading\n"
              "(default; --no-reopen)"},
    {ARG_INT,
     .name = "read-shift", .value = "N", .field = FIELD(read_shift), .min = 0,
     .help = "rank r reads what rank r+N wrote (0)"},
    {ARG_INT,
     .name = "repeat", .letter = 'n', .value = "N", .field = FIELD(repeat), .min = 1, .max = 100000,
     .help = "do everything N times (" ARGS_TEXT(DEFAULT_REPEAT) ")"},
    {ARG_FLAG,
     .name = "reference", .field = FIELD(reference),
     .help = "first do everything twice without computing, to know what\n"
              "the I/O costs alone; needed for the hidden fraction\n"
              "(default when writing with --compute; --no-reference)"},
    {ARG_HEADING, .name = "Verification"},
    {ARG_FLAG,
     .name = "verify", .field = FIELD(verify),
     .help = "check every byte read (default; --no-verify)"},
    BENCH_ARG_POSIX_VERIFY(
        "when the writer's MPI_File_close is over, let rank 0 check\n"
        "all of PATH with plain POSIX reads; PATH is the same file\n"
        "as the file system names it"),
    {ARG_FLAG,
     .name = "gaps", .field = FIELD(gaps),
     .help = "with that, gaps that were not written have to be zeros: MPI\n"
              "leaves that open, and ROMIO's collective writes put there\n"
              "what was in a buffer"},
    {ARG_INT,
     .name = "generation", .letter = 'g', .value = "N", .field = FIELD(generation),
     .min = 0, .max = STAMP_GENERATIONS - 1,
     .help = "the generation in the stamps of the first repeat, or of the\n"
              "file that is only read (" ARGS_TEXT(DEFAULT_GENERATION) ")"},
    {ARG_TEXT,
     .name = "stamp", .value = "NAME", .field = FIELD(stamp),
     .help = "the file name in the stamps (last component of FILE); for\n"
              "a file that was copied or renamed"},
    {ARG_HEADING, .name = "Report"},
    BENCH_ARG_JSON("doc/simpario-json.md"),
    BENCH_ARG_LABEL,
    {ARG_SECONDS,
     .name = "timeline", .value = "SECONDS", .field = FIELD(timeline),
     .help = "while rank 0 computes between writes, let it ask at these\n"
              "intervals how many bytes wait in the caches, for the JSON\n"
              "report (0: never); only zcache tells"},
    BENCH_ARG_PROGRESS,
    BENCH_ARG_QUIET,
    BENCH_ARG_HELP,
    BENCH_ARG_VERSION,
    {.name = NULL},
};
/* clang-format on */

static const char notes[] =
    "\n"
    "Sizes take K, M, G, T (powers of 1024), times ms, us.\n"
    "\n"
    "A writing phase computes (and makes its data), then writes; a reading phase reads, then\n"
    "computes (and checks its data). Times are the maximum over the ranks. Every byte carries a\n"
    "stamp made of file, offset and generation, so that lost, misplaced and stale data is seen.\n"
    "Data that is not right gives no figures, but a message and exit status 1.\n"
    "\n"
    "Where I/O and computing overlap, a write begins as above and ends when the computing of the\n"
    "next phase is done; the read of the next phase begins before the computing of this one. What\n"
    "counts as I/O is the time in the calls that begin and end it. Takes memory for two records.\n"
    "\n"
    "The hidden fraction of I/O tells how much of its cost disappeared behind computing:\n"
    "    write  1 - (write + close) / (write + close + settle of the reference)\n"
    "    read   1 - read / (read of the reference)\n"
    "where the reference is the same run without computing, made twice beforehand (the first is\n"
    "often cold); the cheaper one counts. 0: computing hid nothing; 1: I/O cost the application\n"
    "no time; below 0: it was slower than alone. Settling is what is left to be stored after a\n"
    "close that does not wait for it (zcache_close_level). The overlap is the same as a share of\n"
    "what could be hidden, which is no more than there was computing. A first repeat without a\n"
    "reference may be cold, too: see --repeat, which reports the median.\n"
    "\n"
    "Exit status: 0 all is well; 1 data, file or size wrong; 2 bad options; 3 an MPI call failed.\n"
    "\n"
    "Examples\n"
    "  What the application waits for, with half a second of computing between writes:\n"
    "    mpiexec -n 4 simpario -f zcache:/scratch/x --record 4M --compute 0.5\n"
    "  Small pieces of all ranks side by side, as rows of a matrix are:\n"
    "    mpiexec -n 4 simpario -f ufs:/scratch/x --pattern interleaved --piece 4K\n"
    "  Blocks of a large array, written while the next step is computed:\n"
    "    mpiexec -n 8 simpario -f zcache:/scratch/x --pattern subarray3d --access icollective \\\n"
    "        --record 8M --compute 0.5\n"
    "  Ten arrays of 1440 x 720 x 70 floats one after the other by a single writer, as output\n"
    "  that is gathered first:\n"
    "    mpiexec -n 4 simpario -f zcache:/scratch/x --pattern arrays --array 1440x720x70 \\\n"
    "        --compute 0.5\n"
    "  Checkpoints of a solver, five fields of 16 parts in two files:\n"
    "    mpiexec -n 8 simpario -f zcache:/scratch/x --pattern checkpoint --phases 5 \\\n"
    "        --compute 0.5 --align 1M\n"
    "  Write with one path to the file, read with another, in two runs:\n"
    "    mpiexec -n 4 simpario -f zcache:/scratch/x --write --keep\n"
    "    mpiexec -n 4 simpario -f ufs:/scratch/x --read\n"
    "  Three repeats with a hint, checked behind MPI's back, figures for a script:\n"
    "    mpiexec -n 4 simpario -f zcache:/scratch/x --repeat 3 --hint cb_nodes=2 \\\n"
    "        --posix-verify /scratch/x --json x.json --quiet\n";

void options_help(FILE *out)
{
    fputs("Usage: mpiexec -n RANKS simpario -f FILE [OPTION]...\n"
          "Alternate computing and MPI-IO, verify the data, and report what the I/O cost.\n",
          out);
    args_help(table, out);
    fputs(notes, out);
}

bool options_external(const struct options *o)
{
    return o->datarep != 0;
}

bool options_rearranged(const struct options *o)
{
    return options_external(o) || o->permute != PERMUTE_NONE;
}

const char *options_access_name(const struct options *o)
{
    return access_names[o->access];
}

const char *options_compute_name(const struct options *o)
{
    return compute_names[o->compute_by];
}

static struct shape unsettled_shape(const struct options *o, int rank, int nranks)
{
    int phases = pattern_get(o->pattern)->phases;
    struct shape s = {.rank = rank,
                      .nranks = nranks,
                      .phases = phases > 0 ? phases : DEFAULT_PHASES,
                      .record = o->record > 0 ? o->record : (int64_t)DEFAULT_RECORD_MIB << 20,
                      .piece = o->piece,
                      .seed = o->seed,
                      .files = o->files,
                      .parts = o->parts,
                      .align = o->align,
                      .array = o->array,
                      .climate_map = o->climate_map,
                      .external = options_external(o)};
    if (o->phases > 0)
        s.phases = o->phases;
    return s;
}

struct shape options_shape(const struct options *o, int rank, int nranks, bool reading)
{
    /* What options_parse() has let through settles on every rank. */
    struct shape s = unsettled_shape(o, rank, nranks);
    char message[ARGS_MESSAGE];
    s.reading = reading;
    pattern_get(o->pattern)->settle(&s, message);
    return s;
}

/* What is left open by the command line follows from the rest of it. */
static void imply(struct options *o)
{
    int write = o->write, read = o->read;
    if (write == -1)
        o->write = read != 1;
    if (read == -1)
        o->read = write != 1;
    if (o->stamp == NULL)
        o->stamp = stamp_name(o->common.file);
    if (o->access == -1)
        o->access = pattern_get(o->pattern)->access;
    if (o->reference == -1)
        o->reference = o->write && o->compute > 0;
}

/* What only arrays of four dimensions have. */
static const char *not_array4d(struct options *o)
{
    if (!permute_parse(o->permute_text, &o->permute))
        return "--permute is none, all, or an order of 0123 such as 3210: give one of them";
    if (options_rearranged(o) && !pattern_get(o->pattern)->array4d)
        return "--permute and --datarep are for --pattern subarray4d, ragged4d and "
               "lattice: give one of them, or drop it";
    if (o->permute_by != PERMUTE_BY_TYPE && o->permute == PERMUTE_NONE)
        return "--permute-by is for --permute: give that, or drop it";
    if (options_rearranged(o) && o->access == ACCESS_EXCHANGE)
        return "--access exchange has no --permute and no --datarep: drop one of them";
    if (o->permute_by == PERMUTE_BY_COPY && transfer_overlaps((enum access_kind)o->access))
        return "--permute-by copy is for calls that wait: give --access collective or independent";
    return NULL;
}

/* What only some pattern has. */
static const char *misplaced(const struct options *o)
{
    const struct pattern *p = pattern_get(o->pattern);
    if (p != &pattern_checkpoint && (o->files != 0 || o->parts != 0 || o->align != 0))
        return "--files, --parts and --align are for --pattern checkpoint: give that, or drop them";
    if (o->gaps && o->common.posix_verify == NULL)
        return "--gaps is about what POSIX reads: give --posix-verify, too";
    if (p != &pattern_arrays && o->array != NULL)
        return "--array is for --pattern arrays: give that, or drop it";
    if (p != &pattern_climate && o->climate_map != 0)
        return "--map is for --pattern climate: give that, or drop it";
    if (o->writers != 0 && (p != &pattern_checkpoint || o->write))
        return "--writers is for --pattern checkpoint with --read: give both, without --write, or "
               "drop it";
    if (p == &pattern_arrays && o->record != 0)
        return "--pattern arrays has no --record: give --array";
    return NULL;
}

/* With the values in effect. */
static const char *contradiction(const struct options *o, int nranks)
{
    int64_t bytes;
    if (stamp_name(o->common.file)[0] == '\0')
        return "the name given with -f is a directory: give a file in it";
    if (!o->write && !o->read)
        return "nothing to do: drop --no-write or --no-read";
    if (__builtin_mul_overflow(o->record, (int64_t)o->phases * nranks, &bytes))
        return "the file would be larger than 8 EiB: give a smaller --record or fewer --phases";
    if (options_external(o) && o->piece % 8 != 0)
        return "--datarep wants elements of whole integers of 8 bytes: give such a "
               "--piece";
    if (o->reference && o->compute == 0)
        return "--reference means a run without computing: give --compute, too, or drop it";
    if (o->write && o->generation + o->repeat > STAMP_GENERATIONS)
        return "--generation and --repeat together exceed 256 generations: give less of one";
    if (o->read_shift >= nranks)
        return "--read-shift must be less than the number of ranks: give a smaller one";
    if (o->access == ACCESS_EXCHANGE && o->order != ORDER_ASCENDING)
        return "--access exchange is of one phase of all ranks: drop --order random";
    if (o->writers != 0 && o->read_shift > 0)
        return "with --writers ranks do not read their own records: drop --read-shift";
    if (o->files > 1 && o->read_shift > 0 && o->read && !o->reopen)
        return "with --read-shift ranks may read another file: drop --no-reopen";
    return NULL;
}

/* Expresses a checkpoint of o->writers ranks as one of as many ranks as read it: the same parts in
 * the same files, more or fewer of them to a rank. With more files than ranks each rank reads as
 * several, one after the other. */
static int regroup(struct options *o, int nranks, char message[ARGS_MESSAGE])
{
    int readers = o->files > nranks ? o->files : nranks;
    int64_t parts = (int64_t)o->writers * o->parts;
    if (readers % nranks != 0 || readers % o->files != 0 || parts % readers != 0) {
        snprintf(message, ARGS_MESSAGE,
                 "%" PRId64 " parts in %d files cannot be shared evenly by %d ranks: give another "
                 "number of ranks, --parts or --files",
                 parts, o->files, nranks);
        return -EINVAL;
    }
    o->record = o->record / o->parts * (parts / readers);
    o->parts = (int)(parts / readers);
    o->roles = readers / nranks;
    return 0;
}

/* What the pattern makes of it is in effect. */
static int settle(struct options *o, int nranks, char message[ARGS_MESSAGE])
{
    struct shape shape = unsettled_shape(o, 0, o->writers > 0 ? o->writers : nranks);
    int rc = pattern_get(o->pattern)->settle(&shape, message);
    o->phases = shape.phases;
    o->record = shape.record;
    o->piece = shape.piece;
    o->files = shape.files;
    o->common.numbered = o->files > 1;
    o->parts = shape.parts;
    o->roles = 1;
    return rc != 0 || o->writers == 0 ? rc : regroup(o, nranks, message);
}

int options_parse(struct options *o, int argc, char **argv, int nranks, char message[ARGS_MESSAGE])
{
    *o = (struct options){
        .access = -1,
        .barrier = 1,
        .write = -1,
        .read = -1,
        .verify = 1,
        .reopen = 1,
        .repeat = DEFAULT_REPEAT,
        .reference = -1,
        .generation = DEFAULT_GENERATION,
        .seed = DEFAULT_SEED,
    };
    int rc = bench_options_parse(table, o, &o->common, argc, argv, message);
    if (rc != 0 || bench_options_only_tell(&o->common))
        return rc;
    if (o->common.file == NULL) {
        strcpy(message, "no file: give -f FILE, or --help for examples");
        return -EINVAL;
    }
    imply(o);
    const char *complaint = not_array4d(o);
    if (complaint == NULL)
        complaint = misplaced(o);
    if (complaint == NULL) {
        rc = settle(o, nranks, message);
        if (rc != 0)
            return rc;
        complaint = contradiction(o, nranks);
    }
    if (complaint == NULL)
        return 0;
    strcpy(message, complaint);
    return -EINVAL;
}
