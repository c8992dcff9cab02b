/*
 * Command lines: one table of options feeds parsing, its messages, and --help.
 *
 * An option writes into a field of the program's own struct of options, found by its offset.
 * Accepted are --name VALUE, --name=VALUE, -name VALUE, -f VALUE, -fVALUE; a flag NAME is set to 1
 * by --name and to 0 by --no-name. Values are checked here as far as a single option can be; what
 * depends on two options or on the number of ranks is the program's. Needs no MPI.
 */
#ifndef ARGS_H
#define ARGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define ARGS_MESSAGE 512

/* A default, for the help of an option: a macro that is a number, or a number and its unit. */
#define ARGS_TEXT_OF(n) #n
#define ARGS_TEXT(n)    ARGS_TEXT_OF(n)

enum arg_kind {
    ARG_HEADING, /* not an option: a heading in --help */
    ARG_FLAG,    /* int: 0 or 1 */
    ARG_INT,     /* int, at least `min` */
    ARG_SIZE,    /* int64_t, bytes, at least `min` */
    ARG_SECONDS, /* double */
    ARG_TEXT,    /* const char *, points into argv */
    ARG_CHOICE,  /* int: index into `choices` */
    ARG_PAIRS,   /* struct arg_pairs: key=value, may be given again and again */
};

struct arg {
    enum arg_kind kind;
    const char *name;
    char letter;                /* 0 when there is none */
    const char *value;          /* what --help calls the value */
    const char *help;           /* lines separated by \n */
    size_t field;               /* offsetof the field */
    int64_t min, max;           /* for ARG_INT and ARG_SIZE; max 0 means no limit */
    const char *const *choices; /* NULL-terminated */
    bool unreported;            /* ARG_TEXT: it is in no report */
};

#define ARG_PAIRS_MAX 64
struct arg_pairs {
    int n;
    struct {
        char *key;         /* a copy, freed by args_free_pairs() */
        const char *value; /* points into argv */
    } pair[ARG_PAIRS_MAX];
};

/* `table` ends with a NULL name that is not a heading. Returns 0, or -EINVAL with a message that
 * names the option and the remedy. */
int args_parse(const struct arg *table, void *options, int argc, char **argv,
               char message[ARGS_MESSAGE]);
/* For a report, whose texts are UTF-8: the same for texts and pairs that are not. */
int args_check_utf8(const struct arg *table, const void *options, char message[ARGS_MESSAGE]);
void args_free_pairs(struct arg_pairs *pairs);
void args_help(const struct arg *table, FILE *out);

#endif
