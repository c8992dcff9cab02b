/*
 * The file of a report. A new report is written to another file in the directory, which is then
 * renamed: until it is complete the old one stays. A file that is not regular, such as /dev/stdout,
 * or that cannot be replaced in its directory, is written in place. Needs no MPI.
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include <stdbool.h>

#include <jansson.h>

/* Checks that a report can be written; leaves no file behind. Returns 0 or a negative errno. */
int json_file_test(const char *name);
/* Writes a report. Returns 0 or a negative errno. */
int json_file_write(const char *name, const json_t *root);
/* Whether `name` is the file `data`, which may have a prefix for MPI_File_open ("ufs:/tmp/x"); with
 * `numbered`, one of data.0000, data.0001 and so on. */
bool json_file_is(const char *name, const char *data, bool numbered);

#endif
