/*
 * Command lines: parsing and --help.
 */
#include "config.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "args.h"
#include "units.h"

#define HELP_COLUMN 27

__attribute__((format(printf, 2, 3))) static int complain(char *message, const char *format, ...)
{
    va_list ap;
    va_start(ap, format);
    vsnprintf(message, ARGS_MESSAGE, format, ap);
    va_end(ap);
    return -EINVAL;
}

static bool is_end(const struct arg *a)
{
    return a->name == NULL;
}

/* ---- values --------------------------------------------------------------------------------- */

static int store_number(const struct arg *a, void *field, const char *value, char *message)
{
    char low[UNITS_TEXT], high[UNITS_TEXT];
    bool size = a->kind == ARG_SIZE;
    int64_t max = a->max > 0 ? a->max : size ? INT64_MAX : INT_MAX;
    int64_t n;
    int rc = units_parse_size(value, &n);
    if (rc == -EINVAL && size)
        return complain(message,
                        "--%s %s is not a size: give bytes, or a number with K, M, G or T "
                        "(powers of 1024), such as 64K",
                        a->name, value);
    if (rc == -EINVAL || (!size && rc == 0 && value[strspn(value, "0123456789")] != '\0'))
        return complain(message,
                        "--%s %s is not a number: give a whole number of at least %" PRId64,
                        a->name, value, a->min);
    if (rc != 0 || n < a->min || n > max) {
        if (size) {
            units_size(low, a->min);
            units_size(high, max);
        } else {
            snprintf(low, sizeof low, "%" PRId64, a->min);
            snprintf(high, sizeof high, "%" PRId64, max);
        }
        return complain(message, "--%s %s is out of range: give %s to %s", a->name, value, low,
                        high);
    }
    if (size)
        *(int64_t *)field = n;
    else
        *(int *)field = (int)n;
    return 0;
}

static int store_choice(const struct arg *a, int *field, const char *value, char *message)
{
    char known[256] = "";
    for (int i = 0; a->choices[i] != NULL; i++) {
        if (strcmp(a->choices[i], value) == 0) {
            *field = i;
            return 0;
        }
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", i > 0 ? ", " : "", a->choices[i]);
    }
    return complain(message, "--%s %s is not known: choose one of %s", a->name, value, known);
}

static int store_pair(const struct arg *a, struct arg_pairs *pairs, const char *value,
                      char *message)
{
    const char *equals = strchr(value, '=');
    if (equals == NULL || equals == value)
        return complain(message, "--%s %s is not of the form key=value: give for instance %s",
                        a->name, value, "cb_nodes=2");
    if (pairs->n == ARG_PAIRS_MAX)
        return complain(message, "--%s is given more than %d times: give fewer", a->name,
                        ARG_PAIRS_MAX);
    char *key = strndup(value, (size_t)(equals - value));
    if (key == NULL)
        return complain(message, "--%s %s: out of memory", a->name, value);
    pairs->pair[pairs->n].key = key;
    pairs->pair[pairs->n++].value = equals + 1;
    return 0;
}

static int store(const struct arg *a, void *options, const char *value, char *message)
{
    void *field = (char *)options + a->field;
    switch (a->kind) {
    case ARG_INT:
    case ARG_SIZE:
        return store_number(a, field, value, message);
    case ARG_SECONDS:
        if (units_parse_seconds(value, field) != 0)
            return complain(message,
                            "--%s %s is not a time: give seconds, or a number with ms or us, "
                            "such as 0.5 or 20ms",
                            a->name, value);
        return 0;
    case ARG_TEXT:
        if (value[0] == '\0')
            return complain(message, "--%s is empty: give %s", a->name, a->value);
        *(const char **)field = value;
        return 0;
    case ARG_CHOICE:
        return store_choice(a, field, value, message);
    case ARG_PAIRS:
        return store_pair(a, field, value, message);
    case ARG_FLAG:
    case ARG_HEADING:
        break;
    }
    return complain(message, "--%s takes no value", a->name);
}

/* ---- options -------------------------------------------------------------------------------- */

static const struct arg *find_long(const struct arg *table, const char *name, size_t len)
{
    for (const struct arg *a = table; !is_end(a); a++) {
        if (a->kind != ARG_HEADING && strlen(a->name) == len && strncmp(a->name, name, len) == 0)
            return a;
    }
    return NULL;
}

static const struct arg *find_letter(const struct arg *table, char letter)
{
    for (const struct arg *a = table; !is_end(a); a++) {
        if (a->kind != ARG_HEADING && a->letter == letter)
            return a;
    }
    return NULL;
}

/* Handles argv[i]; returns how many words were used, or -EINVAL. */
static int parse_one(const struct arg *table, void *options, char *word, char *next, char *message)
{
    bool is_long = word[0] == '-' && word[1] == '-';
    if (word[0] != '-' || word[1] == '\0' || (is_long && word[2] == '\0'))
        return complain(message, "\"%s\" is not an option: the file is given with -f", word);

    const char *value = NULL;
    const struct arg *a;
    int flag = 1;
    if (is_long) {
        const char *name = word + 2;
        size_t len = strcspn(name, "=");
        if (name[len] == '=')
            value = name + len + 1;
        a = find_long(table, name, len);
        if (a == NULL && len > 3 && strncmp(name, "no-", 3) == 0) {
            a = find_long(table, name + 3, len - 3);
            flag = 0;
            if (a != NULL && a->kind != ARG_FLAG)
                a = NULL;
        }
    } else {
        a = word[2] != '\0' ? find_long(table, word + 1, strlen(word + 1)) : NULL;
        bool single = a == NULL;
        if (single)
            a = find_letter(table, word[1]);
        if (single && word[2] != '\0')
            value = word + 2;
    }
    if (a == NULL)
        return complain(message, "option %s is not known: --help lists the options", word);

    if (a->kind == ARG_FLAG) {
        if (value != NULL)
            return complain(message, "--%s takes no value: give --%s or --no-%s", a->name, a->name,
                            a->name);
        *(int *)((char *)options + a->field) = flag;
        return 1;
    }
    int used = value == NULL ? 2 : 1;
    if (value == NULL)
        value = next;
    /* A value that starts with two dashes has to be given with "=". */
    if (value == NULL || (used == 2 && strncmp(value, "--", 2) == 0))
        return complain(message, "--%s needs a value: give %s", a->name, a->value);
    int rc = store(a, options, value, message);
    return rc != 0 ? rc : used;
}

int args_parse(const struct arg *table, void *options, int argc, char **argv,
               char message[ARGS_MESSAGE])
{
    for (int i = 1; i < argc;) {
        int used = parse_one(table, options, argv[i], i + 1 < argc ? argv[i + 1] : NULL, message);
        if (used < 0)
            return used;
        i += used;
    }
    return 0;
}

static bool is_utf8(const char *text)
{
    return text == NULL || text[units_utf8(text)] == '\0';
}

int args_check_utf8(const struct arg *table, const void *options, char message[ARGS_MESSAGE])
{
    for (const struct arg *a = table; !is_end(a); a++) {
        const char *field = (const char *)options + a->field;
        bool well = true;
        if (a->kind == ARG_TEXT && !a->unreported)
            well = is_utf8(*(const char *const *)field);
        const struct arg_pairs *pairs = (const struct arg_pairs *)field;
        for (int i = 0; a->kind == ARG_PAIRS && i < pairs->n; i++)
            well = well && is_utf8(pairs->pair[i].key) && is_utf8(pairs->pair[i].value);
        if (!well)
            return complain(message,
                            "--%s is not UTF-8, as a report in JSON has to be: give text that is",
                            a->name);
    }
    return 0;
}

void args_free_pairs(struct arg_pairs *pairs)
{
    for (int i = 0; i < pairs->n; i++)
        free(pairs->pair[i].key);
    pairs->n = 0;
}

/* ---- help ----------------------------------------------------------------------------------- */

static void help_option(const struct arg *a, FILE *out)
{
    char left[96];
    char letter[8] = "";
    if (a->letter != 0)
        snprintf(letter, sizeof letter, "-%c, ", a->letter);
    snprintf(left, sizeof left, "  %s--%s%s%s", letter, a->name, a->value != NULL ? " " : "",
             a->value != NULL ? a->value : "");
    if (strlen(left) + 2 > HELP_COLUMN)
        fprintf(out, "%s\n%*s", left, HELP_COLUMN, "");
    else
        fprintf(out, "%-*s", HELP_COLUMN, left);
    for (const char *line = a->help; line != NULL;) {
        const char *end = strchr(line, '\n');
        int len = end != NULL ? (int)(end - line) : (int)strlen(line);
        fprintf(out, "%*s%.*s\n", line == a->help ? 0 : HELP_COLUMN, "", len, line);
        line = end != NULL ? end + 1 : NULL;
    }
}

void args_help(const struct arg *table, FILE *out)
{
    for (const struct arg *a = table; !is_end(a); a++) {
        if (a->kind == ARG_HEADING)
            fprintf(out, "\n%s\n", a->name);
        else
            help_option(a, out);
    }
}
