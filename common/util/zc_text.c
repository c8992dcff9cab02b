/* zc_text.c - paths are shortened word by word: nothing in a sentence tells where a path with
 * spaces ends, and any word with a slash may be part of one. */
#include "config.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "zc_locale.h"
#include "zc_text.h"

enum {
    TEXT_MAX = 8192,
    LONG = 160, /* lengths of paths that are tried, bytes ... */
    SHORT = 32, /* ... this one is a file's name, and a bit */
    SHORTEST = 16,
    STEP = 4,
    LEAST = 64, /* what has to fit into less keeps its beginning */
};

static const char gap[] = "/...";

static bool continues_character(char c)
{
    return (c & 0xc0) == 0x80; /* UTF-8 */
}

/* Finds where the kept end of the path begins: the last name, with the slash before it, or as much
 * of it as may be kept. */
static const char *tail_of(const char *word, size_t len, size_t limit)
{
    size_t most = limit * 3 / 4;
    const char *end = word + len, *tail = end - 1;

    while (tail > word && *tail != '/' && (size_t)(end - tail) < most)
        tail--;
    while (tail < end && continues_character(*tail))
        tail++;
    return tail;
}

/* Returns how much of the path's beginning stays: `room` bytes at most, whole names. */
static size_t head_of(const char *word, size_t room)
{
    while (room && word[room] != '/')
        room--;
    return room;
}

/* Copies a word, a path longer than `limit` without its middle.  Returns the bytes copied. */
static size_t copy_word(char *out, const char *word, size_t len, size_t limit)
{
    const char *tail;
    size_t head, rest;

    if (len <= limit || !memchr(word, '/', len)) {
        memmove(out, word, len);
        return len;
    }
    tail = tail_of(word, len, limit);
    rest = (size_t)(word + len - tail);
    head = head_of(word, limit - rest - (sizeof gap - 1));
    memmove(out, word, head);
    memcpy(out + head, gap, sizeof gap - 1);
    memmove(out + head + sizeof gap - 1, tail, rest);
    return head + sizeof gap - 1 + rest;
}

/* Shortens the first path if it has more than `first` bytes, the others if they have more than
 * `others`.  In place: words only become shorter. */
static size_t shorten(char *text, size_t first, size_t others)
{
    const char *from = text;
    char *to = text;
    size_t limit = first;

    while (*from) {
        size_t len = strcspn(from, " ");
        bool path = len > SHORTEST && memchr(from, '/', len);

        to += copy_word(to, from, len, limit);
        if (path)
            limit = others;
        from += len;
        while (*from == ' ')
            *to++ = *from++;
    }
    *to = '\0';
    return (size_t)(to - text);
}

/* Removes the middle of a text that is still too long, such as a path of short words with blanks
 * between them.  The beginning (the speaker) and the end (the cause) stay. */
static void cut_middle(char *text, size_t len, size_t fit)
{
    size_t head = fit / 2, tail = len - (fit - head - sizeof gap);

    while (head && continues_character(text[head]))
        head--;
    while (continues_character(text[tail]))
        tail++;
    memcpy(text + head, gap, sizeof gap - 1);
    memmove(text + head + sizeof gap - 1, text + tail, len - tail + 1);
}

void zc_text_vformat(char *out, size_t size, size_t fit, const char *fmt, va_list ap)
{
    char text[TEXT_MAX];
    locale_t before;
    size_t len;

    before = zc_locale_enter();
    vsnprintf(text, sizeof text, fmt, ap);
    zc_locale_leave(before);
    len = strlen(text);
    for (size_t limit = LONG; len >= fit && limit >= SHORT; limit -= STEP)
        len = shorten(text, TEXT_MAX, limit);
    for (size_t limit = LONG; len >= fit && limit >= SHORT; limit -= STEP)
        len = shorten(text, limit, SHORT);
    for (size_t limit = SHORT; len >= fit && limit >= SHORTEST; limit -= STEP)
        len = shorten(text, SHORT, limit);
    for (size_t limit = SHORT; len >= fit && limit >= SHORTEST; limit -= STEP)
        len = shorten(text, limit, SHORTEST);
    if (len >= fit && fit >= LEAST && memchr(text, '/', len))
        cut_middle(text, len, fit);
    snprintf(out, size, "%s", text);
}
