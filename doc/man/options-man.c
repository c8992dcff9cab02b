/* options-man.c - rows of the option table as entries of a manual page.
 *
 *     options-man hint|daemon|environment|file
 */
#include "config.h"

#include <string.h>

#include "zc_options.h"

/* Text as roff takes it: a backslash, a minus and what would be a request at the line's start. */
static void put(const char *text)
{
    if (*text == '.' || *text == '\'')
        fputs("\\&", stdout);
    for (; *text; text++) {
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else
            putchar(*text);
    }
}

static void put_head(const struct zc_option *o, unsigned scope)
{
    char spelt[ZC_OPTION_NAME_MAX];
    bool alone = o->type == ZC_OPT_FLAG && scope == ZC_SCOPE_DAEMON;

    fputs(".TP\n.B ", stdout);
    put(zc_option_spell(o, scope, spelt, sizeof spelt));
    if (!alone) {
        fputs(scope == ZC_SCOPE_DAEMON ? " \\fI" : "\\fR=\\fI", stdout);
        put(o->arg ? o->arg : "BOOL");
        fputs("\\fR", stdout);
    }
    putchar('\n');
}

static void put_row(const struct zc_option *o, unsigned scope)
{
    char allowed[200];

    put_head(o, scope);
    put(o->help);
    fputs(".\n", stdout);
    if (o->type != ZC_OPT_STRING && o->type != ZC_OPT_FLAG) {
        fputs("Takes ", stdout);
        put(zc_option_allowed(o, allowed, sizeof allowed));
        fputs(".\n", stdout);
    }
    if (o->deflt) {
        fputs("Default: ", stdout);
        put(o->deflt);
        fputs(".\n", stdout);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        unsigned scope;
    } scopes[] = {
        {"hint", ZC_SCOPE_HINT},
        {"daemon", ZC_SCOPE_DAEMON},
        {"environment", ZC_SCOPE_ENV},
        {"file", ZC_SCOPE_FILE},
    };
    unsigned scope = 0;

    for (size_t i = 0; argc == 2 && i < sizeof scopes / sizeof *scopes; i++)
        if (!strcmp(argv[1], scopes[i].name))
            scope = scopes[i].scope;
    if (!scope) {
        fputs("usage: options-man hint|daemon|environment|file\n", stderr);
        return 2;
    }
    for (const struct zc_option *o = zc_options; o->name; o++)
        if (o->scope & scope)
            put_row(o, scope);
    return fflush(stdout) || ferror(stdout);
}
