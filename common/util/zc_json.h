/* zc_json.h - writes JSON documents, and finds members of their objects.
 *
 * For what runs inside programs, where a JSON library may clash with the program's own.
 */
#ifndef ZC_JSON_H
#define ZC_JSON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* ---- writing ---- */

/* Writes a string with its quotes; U+FFFD stands for each byte that is no UTF-8. */
void zc_json_quote(FILE *f, const char *text);

/* A document being written.  Errors are the stream's. */
struct zc_json {
    FILE *f;
    bool more; /* the innermost object or array has something already */
};

/* Write a member of an object, or with `name` NULL an element of an array, or the document itself.
 * `kind` is '{' or '['; what was opened is closed with its '}' or ']'. */
void zc_json_open(struct zc_json *j, const char *name, char kind);
void zc_json_close(struct zc_json *j, char kind);
void zc_json_string(struct zc_json *j, const char *name, const char *text); /* NULL: null */
/* A value of more than INT64_MAX, which readers may refuse, is written as that. */
void zc_json_number(struct zc_json *j, const char *name, uint64_t value);

/* ---- reading ---- */

/* Returns where the value of the member `name` begins in the object that begins at `object`; NULL:
 * there is none, or `object` is NULL or no object.  Names are compared as they are written.  Any
 * text may be given. */
const char *zc_json_find(const char *object, const char *name);

/* The value at `value`, as zc_json_find() returns it: a whole number, or 0; the text of a string,
 * cut to `size` bytes, characters other than '"' and '\' as they are written, or "". */
uint64_t zc_json_to_number(const char *value);
const char *zc_json_to_text(const char *value, char *buf, size_t size);

#endif
