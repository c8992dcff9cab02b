/* fuzz.h - what the fuzz targets share.
 *
 * A target is a function that is given bytes, and aborts where something that must hold does not.
 * With clang's libFuzzer it is given millions of inputs (tests/fuzz/run-fuzz), with corpus_main.c
 * those that are committed, in any build.  A target keeps nothing from one input to the next.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <fcntl.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "zc_log.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len); /* 0 */

/* REQUIRE(cond, "format", ...): ends the process by SIGABRT, with a sentence, unless it holds. */
#define REQUIRE(cond, ...)                                                                         \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #cond);               \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* With ZCACHE_LOG it is told what happens, without nobody is warned. */
static inline void fuzz_log(void)
{
    if (getenv("ZCACHE_LOG"))
        zc_log_init(NULL);
    else
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

#endif
