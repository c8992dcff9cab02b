/* zc_options.h - every tunable of zcache, declared once.
 *
 * A row says name, type, default, limits, where it may be set and one sentence of help.
 * The table feeds MPI hints, the daemon's flags and configuration file, --help, the
 * values echoed by MPI_File_get_info and the manual.  Values are kept in a struct
 * zc_settings, one member per row.
 */
#ifndef ZC_OPTIONS_H
#define ZC_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "zc_settings.h"

enum zc_opt_type {
    ZC_OPT_SIZE,    /* uint64_t, bytes */
    ZC_OPT_POWER,   /* uint64_t, bytes, a power of two */
    ZC_OPT_COUNT,   /* uint64_t */
    ZC_OPT_PERCENT, /* uint64_t */
    ZC_OPT_TIME,    /* uint64_t, milliseconds */
    ZC_OPT_ENUM,    /* uint64_t, index into row->choices */
    ZC_OPT_FLAG,    /* bool; "true"/"false", "enable"/"disable", "yes"/"no", "on"/"off",
                       "1"/"0"; on a command line a flag needs no value */
    ZC_OPT_STRING,  /* char *, owned by the settings, may be NULL */
};

/* Where a row may be set; also how its name is spelt there. */
enum {
    ZC_SCOPE_HINT = 1,   /* MPI info key: zcache_block_size */
    ZC_SCOPE_DAEMON = 2, /* zcached's command line: --cache-size */
    ZC_SCOPE_ENV = 4,    /* environment: ZCACHE_TIMEOUT */
    ZC_SCOPE_FILE = 8,   /* zcached's configuration file: cache-size */

    ZC_OPTION_AGREED = 16, /* beside the scopes: all opens of a file in a job have one value, a
                            * number, which the first of them decides (struct zc_agreed) */
};

struct zc_option {
    const char *name; /* with underscores: cache_size */
    enum zc_opt_type type;
    unsigned scope;
    const char *deflt;          /* text, parsed like any value; NULL: none */
    uint64_t min, max;          /* of the parsed value; unused for strings, flags, enums */
    const char *const *choices; /* ENUM: NULL-terminated */
    size_t member;              /* offset in struct zc_settings */
    const char *arg;            /* "SIZE", "DIR" for --help */
    const char *help;           /* one sentence, no full stop */
};

/* The whole table, ended by name == NULL. */
extern const struct zc_option zc_options[];

/* The row of that name and scope, with or without the scope's prefix ("zcache_", "ZCACHE_",
 * "--"); '-' equals '_'.  NULL: there is none. */
const struct zc_option *zc_option_find(const char *name, unsigned scope);

/* The row of `scope` whose name is nearest to a misspelt one, for "did you mean"; or NULL. */
const struct zc_option *zc_option_guess(const char *name, unsigned scope);

enum { ZC_OPTION_NAME_MAX = 64 }; /* bytes that hold any name with its prefix */
/* Insertions, deletions and replacements that turn a into b; both shorter than that. */
size_t zc_option_distance(const char *a, const char *b);

/* The name as users of `scope` (one bit) write it: "--cache-size"; returns buf. */
char *zc_option_spell(const struct zc_option *o, unsigned scope, char *buf, size_t len);

/* Parses and stores one value; NULL sets a flag.  0, or -EINVAL explained by zc_errorf():
 * it names the option, the value and what is allowed; *s is then unchanged. */
int zc_option_set(struct zc_settings *s, const struct zc_option *o, const char *value);

/* Whether the value was set, not the default; and back to the default. */
bool zc_option_given(const struct zc_settings *s, const struct zc_option *o);
void zc_option_reset(struct zc_settings *s, const struct zc_option *o);
/* Marks the value as not set; and stores a number in force, within limits or not. */
void zc_option_ungive(struct zc_settings *s, const struct zc_option *o);
void zc_option_assign_number(struct zc_settings *s, const struct zc_option *o, uint64_t value);

/* The same for a name as the user wrote it in `scope` (one bit); the explanation spells
 * the option that way, too.  -ENOENT: no such option, explained with the nearest name. */
int zc_option_assign(struct zc_settings *s, unsigned scope, const char *name, const char *value);

/* The string in force of a row that holds one, "" if there is none; else NULL. */
const char *zc_option_string(const struct zc_settings *s, const struct zc_option *o);

/* The value in force as text that zc_option_set() would take; returns buf. */
char *zc_option_show(const struct zc_settings *s, const struct zc_option *o, char *buf, size_t len);

/* "a size from 4K to 64M that is a power of two": for messages and the manual. */
char *zc_option_allowed(const struct zc_option *o, char *buf, size_t len);

/* Defaults, then environment for rows of ZC_SCOPE_ENV; an empty variable counts as unset.
 * Bad environment values are an error; *s may be freed either way. */
int zc_settings_init(struct zc_settings *s);
void zc_settings_free(struct zc_settings *s);

/* Warns of ZCACHE_* variables that zcache does not know: a misspelt ZCACHE_DAEMONS would
 * otherwise quietly mean "no daemon".  For rank 0 and for tools. */
void zc_settings_warn_env(void);

/* Values of the ZC_OPTION_AGREED rows, in the order of the table, which an open passes to other
 * opens of the file.  Sent as bytes between processes with the same table. */
enum { ZC_AGREED_MAX = 8 };
struct zc_agreed {
    uint64_t values[ZC_AGREED_MAX]; /* 0 after the last row */
};
void zc_agreed_of(const struct zc_settings *s, struct zc_agreed *out);
/* Puts them in force; does not change which rows are given. */
void zc_agreed_apply(const struct zc_agreed *a, struct zc_settings *s);
/* Whether each row allows its value. */
bool zc_agreed_valid(const struct zc_agreed *a);
/* Returns the row of values[i]; NULL after the last one. */
const struct zc_option *zc_agreed_row(unsigned i);

/* Aligned list of the rows of `scope` (one bit), spelt as there, wrapped to 80 columns. */
void zc_options_help(FILE *f, unsigned scope);

#endif
