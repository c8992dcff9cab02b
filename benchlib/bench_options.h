/*
 * The options that every benchmark has.
 *
 * A program's own `struct options` has them as its member `common`, and its table has a row for
 * each from here, in the order that its --help is read in.
 */
#ifndef BENCH_OPTIONS_H
#define BENCH_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "args.h"

/* Flags are ints: 0 or 1. */
struct bench_options {
    const char *file; /* as MPI_File_open takes it; NULL: not given */
    struct arg_pairs hints;
    int keep;
    const char *posix_verify; /* the file as the file system names it; NULL: is not read so */
    const char *json;         /* NULL: no report in JSON */
    const char *label;        /* for that report; NULL: none */
    int progress;             /* BENCH_PROGRESS_... */
    int quiet;
    int help, version;
    /* Set by the program: `file` and `posix_verify` are prefixes of several files' names, FILE.0000
     * and so on. */
    bool numbered;
};

/* Rows of the table. A program's own text follows the common one (`more`), or replaces it. */
#define BENCH_FIELD(name) offsetof(struct options, common.name)
/* clang-format off */
#define BENCH_ARG_FILE(more) \
    {ARG_TEXT, \
     .name = "file", .letter = 'f', .value = "FILE", .field = BENCH_FIELD(file), \
     .help = "the file, as MPI_File_open takes it: /tmp/x, ufs:/tmp/x,\n" \
             "zcache:/tmp/x" more}
#define BENCH_ARG_HINT \
    {ARG_PAIRS, \
     .name = "hint", .value = "KEY=VALUE", .field = BENCH_FIELD(hints), \
     .help = "a hint for MPI_File_open; may be given again"}
#define BENCH_ARG_KEEP \
    {ARG_FLAG, \
     .name = "keep", .field = BENCH_FIELD(keep), \
     .help = "leave the file; otherwise a run that wrote it deletes it\n" \
             "at the end through MPI_File_delete"}
#define BENCH_ARG_POSIX_VERIFY(text) \
    {ARG_TEXT, \
     .name = "posix-verify", .value = "PATH", .field = BENCH_FIELD(posix_verify), \
     .help = text}
#define BENCH_ARG_JSON(described_by) \
    {ARG_TEXT, \
     .name = "json", .value = "FILE", .field = BENCH_FIELD(json), .unreported = true, \
     .help = "write the report as JSON, too; see " described_by ". What\n" \
             "FILE held is there until the report is complete"}
#define BENCH_ARG_LABEL \
    {ARG_TEXT, \
     .name = "label", .value = "TEXT", .field = BENCH_FIELD(label), \
     .help = "a name for this run in the JSON report"}
#define BENCH_ARG_PROGRESS \
    {ARG_FLAG, \
     .name = "progress", .field = BENCH_FIELD(progress), \
     .help = "show on stderr how far it is (default where stderr is a\n" \
             "terminal: mpiexec mostly hides that)"}
#define BENCH_ARG_QUIET \
    {ARG_FLAG, \
     .name = "quiet", .letter = 'q', .field = BENCH_FIELD(quiet), \
     .help = "print errors only"}
#define BENCH_ARG_HELP \
    {ARG_FLAG, \
     .name = "help", .letter = 'h', .field = BENCH_FIELD(help), \
     .help = "this text"}
#define BENCH_ARG_VERSION \
    {ARG_FLAG, \
     .name = "version", .letter = 'V', .field = BENCH_FIELD(version), \
     .help = "the version"}
/* clang-format on */

/* Reads the command line into `options`, which has its defaults and contains *common. Returns 0, or
 * -EINVAL with a message. */
int bench_options_parse(const struct arg *table, void *options, struct bench_options *common,
                        int argc, char **argv, char message[ARGS_MESSAGE]);
/* Whether --help or --version was given, and nothing is to run. */
bool bench_options_only_tell(const struct bench_options *o);
void bench_options_free(struct bench_options *o);

#endif
