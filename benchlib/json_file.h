/*
 * The file that a report goes to. What it held is there until the new report is complete: that is
 * written to another file beside it, which then takes its name. What is no regular file, such as
 * /dev/stdout, or cannot be replaced in its directory, is written to as it is. Needs no MPI.
 */
#ifndef JSON_FILE_H
#define JSON_FILE_H

#include <stdbool.h>

#include <jansson.h>

/* Whether a report can be written there; leaves nothing behind. Returns 0 or negative errno. */
int json_file_test(const char *name);
/* 0 or negative errno. */
int json_file_write(const char *name, const json_t *root);
/* Whether it is `data`, named for MPI_File_open ("ufs:/tmp/x") or for the file system; with
 * `numbered`, one of data.0000, data.0001 and so on. */
bool json_file_is(const char *name, const char *data, bool numbered);

#endif
