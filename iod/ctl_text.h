/* ctl_text.h - what a daemon answers to INFO, cut into lines and fields. */
#ifndef CTL_TEXT_H
#define CTL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The next "name value" line of *text, which is cut; false at the end. */
bool ctl_text_pair(char **text, char **name, char **value);

/* The value of `name` in uncut text, copied into buf; "-" when it is not there. */
char *ctl_text_value(const char *text, const char *name, char *buf, int len);

struct ctl_file {
    uint64_t handles, size, cached, dirty, failed, lost;
    int error; /* negative errno or 0 */
    char *path;
};

/* The next line of a list of files; lines that are none are passed over. */
bool ctl_text_file(char **text, struct ctl_file *f);

/* How many bytes the UTF-8 character at s takes; 0: those there are none.  *s is not NUL. */
size_t ctl_text_character(const char *s);

/* A copy in which what is not UTF-8 is U+FFFD, the caller's to free; NULL: no memory. */
char *ctl_text_utf8(const char *s);

/* A decimal number and nothing else. */
bool ctl_text_number(const char *s, uint64_t *out);

#endif
