/* test_documents.c - what the documents say of options is what the option table has, and of the
 * protocol's version what the code has. */
#include "config.h"

#include <ctype.h>
#include <string.h>

#include "check_main.h"
#include "zc_options.h"
#include "zc_wire.h"

static char text[256 << 10];

/* What speaks of options to users. */
static const char *const documents[] = {"README",
                                        "doc/SEMANTICS.md",
                                        "doc/settings.md",
                                        "doc/guide.md",
                                        "doc/install.md",
                                        "doc/benchmarks.md",
                                        "doc/operations.md",
                                        "doc/consistency.md",
                                        "doc/tuning.md",
                                        "doc/comparison.md",
                                        NULL};

static void read_document(const char *name)
{
    char path[512];
    size_t n;
    FILE *f;

    snprintf(path, sizeof path, "%s/%s", TOP_SRCDIR, name);
    f = fopen(path, "r");
    ck_assert_msg(f != NULL, "%s", path);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = 0;
    fclose(f);
    ck_assert(n > 0 && n < sizeof text - 1);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* The lines that describe a word: it begins one of them, the others begin further in. */
static const char *entry(const char *word, char *out, size_t len)
{
    size_t n = strlen(word), at = 0;

    for (const char *line = strchr(text, '\n'), *next; line; line = next) {
        next = strchr(++line, '\n');
        if (strncmp(line, "    ", 4) || strncmp(line + 4, word, n) || is_name(line[4 + n]))
            continue;
        while (next && at + (size_t)(next - line) < len) {
            memcpy(out + at, line, (size_t)(next - line));
            at += (size_t)(next - line);
            line = next + 1;
            next = strchr(line, '\n');
            if (strncmp(line, "          ", 10))
                break;
        }
        out[at] = 0;
        return out;
    }
    return NULL;
}

/* Every hint has a line, with its default, if that is a number, and with each of its words. */
START_TEST(hints)
{
    char spelt[ZC_OPTION_NAME_MAX], said[2000];

    read_document("doc/settings.md");
    for (const struct zc_option *o = zc_options; o->name; o++) {
        if (!(o->scope & ZC_SCOPE_HINT))
            continue;
        zc_option_spell(o, ZC_SCOPE_HINT, spelt, sizeof spelt);
        ck_assert_msg(entry(spelt, said, sizeof said) != NULL, "doc/settings.md has no line for %s",
                      spelt);
        if (o->deflt && isdigit((unsigned char)*o->deflt))
            ck_assert_msg(strstr(said, o->deflt) != NULL,
                          "doc/settings.md: the default of %s is %s: %s", spelt, o->deflt, said);
        for (int i = 0; o->type == ZC_OPT_ENUM && strcmp(o->name, "close_level") && o->choices[i];
             i++)
            ck_assert_msg(strstr(said, o->choices[i]) != NULL || !strcmp(o->choices[i], "none"),
                          "doc/settings.md: %s may be %s: %s", spelt, o->choices[i], said);
    }
}
END_TEST

/* And every line is of a hint. */
static void nothing_else(const char *name, const char *prefix, unsigned scope,
                         const char *const *others)
{
    read_document(name);
    for (const char *at = text; (at = strstr(at, prefix)) != NULL; at += strlen(prefix)) {
        char word[ZC_OPTION_NAME_MAX];
        size_t n = 0;
        bool known;

        if (at > text && (is_name(at[-1]) || at[-1] == '/'))
            continue;
        while (is_name(at[n]) && n < sizeof word - 1)
            n++;
        snprintf(word, sizeof word, "%.*s", (int)n, at);
        known = n == strlen(prefix) || zc_option_find(word, scope) != NULL;
        for (int i = 0; !known && others[i]; i++)
            known = !strncmp(word, others[i], strlen(others[i]));
        ck_assert_msg(known, "%s speaks of %s, which is no option", name, word);
    }
}

START_TEST(no_other_hints)
{
    static const char *const counted[] = {"zcache_dirty_bytes", "zcache_unstored_bytes",
                                          "zcache_step",        "zcache_agg_",
                                          "zcache_iod_",        NULL};

    for (int i = 0; documents[i]; i++)
        nothing_else(documents[i], "zcache_", ZC_SCOPE_HINT, counted);
}
END_TEST

START_TEST(variables)
{
    static const char *const others[] = {"ZCACHE_LOG", "ZCACHE_LOG_FILE", NULL};
    char spelt[ZC_OPTION_NAME_MAX];

    for (int i = 0; documents[i]; i++)
        nothing_else(documents[i], "ZCACHE_", ZC_SCOPE_ENV, others);
    read_document("doc/settings.md");
    for (const struct zc_option *o = zc_options; o->name; o++)
        if (o->scope & ZC_SCOPE_ENV)
            ck_assert_msg(strstr(text, zc_option_spell(o, ZC_SCOPE_ENV, spelt, sizeof spelt)),
                          "doc/settings.md does not speak of %s", spelt);
}
END_TEST

/* A number that stands right behind `words` in the document that was read; 0: not there. */
static unsigned number_behind(const char *words)
{
    const char *at = strstr(text, words);

    return at ? (unsigned)strtoul(at + strlen(words), NULL, 10) : 0;
}

START_TEST(version_of_the_protocol)
{
    read_document("doc/PROTOCOL.md");
    ck_assert_uint_eq(number_behind("# The zcache protocol, version "), ZC_PROTOCOL);
    ck_assert_uint_eq(number_behind("`version` is "), ZC_PROTOCOL);
    read_document("NEWS"); /* the first is that of the release that is being made */
    ck_assert_uint_eq(number_behind("the protocol is version "), ZC_PROTOCOL);
    read_document("common/client/zc_addrfile.h");
    ck_assert_uint_eq(number_behind("protocol "), ZC_PROTOCOL);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("documents");

    CASE(s, "options", 30, hints, no_other_hints, variables, version_of_the_protocol);
    return run_suite(s);
}
