/* zc_options_help.c - the rows of the option table as --help prints them. */
#include "config.h"

#include <string.h>

#include "zc_options.h"

enum { HELP_WIDTH = 80 };

/* From column `indent`; a word that does not fit begins the next line there. */
static void print_wrapped(FILE *f, const char *text, size_t indent)
{
    size_t at = indent;

    while (*text) {
        size_t word = strcspn(text, " ");

        if (at > indent && at + 1 + word > HELP_WIDTH) {
            fprintf(f, "\n%*s", (int)indent, "");
            at = indent;
        } else if (at > indent) {
            fputc(' ', f);
            at++;
        }
        fprintf(f, "%.*s", (int)word, text);
        at += word;
        text += word + strspn(text + word, " ");
    }
}

static char *help_head(const struct zc_option *o, unsigned scope, char *buf, size_t len)
{
    char spelt[ZC_OPTION_NAME_MAX];
    bool flag = o->type == ZC_OPT_FLAG;

    zc_option_spell(o, scope, spelt, sizeof spelt);
    if (scope == ZC_SCOPE_DAEMON)
        snprintf(buf, len, "%s%s%s", spelt, flag ? "" : " ", flag ? "" : o->arg);
    else
        snprintf(buf, len, "%s=%s", spelt, flag ? "1" : o->arg);
    return buf;
}

/* What to put in brackets behind the sentence. */
static void help_tail(const struct zc_option *o, char *buf, size_t len)
{
    char allowed[200];

    buf[0] = '\0';
    if (o->type == ZC_OPT_ENUM)
        snprintf(buf, len, " (%s; default %s)", zc_option_allowed(o, allowed, sizeof allowed),
                 o->deflt);
    else if (o->deflt)
        snprintf(buf, len, " (default %s)", o->deflt);
}

void zc_options_help(FILE *f, unsigned scope)
{
    char head[ZC_OPTION_NAME_MAX + 32], tail[256], line[1024];
    size_t width = 0;

    for (const struct zc_option *o = zc_options; o->name; o++)
        if ((o->scope & scope) && strlen(help_head(o, scope, head, sizeof head)) > width)
            width = strlen(head);
    for (const struct zc_option *o = zc_options; o->name; o++) {
        if (!(o->scope & scope))
            continue;
        help_tail(o, tail, sizeof tail);
        snprintf(line, sizeof line, "%s%s", o->help, tail);
        fprintf(f, "  %-*s  ", (int)width, help_head(o, scope, head, sizeof head));
        print_wrapped(f, line, width + 4);
        fputc('\n', f);
    }
}
