/* fuzz.h - what the fuzz targets share.
 *
 * A target is a function that receives bytes and aborts when an invariant is broken.  With clang's
 * libFuzzer it gets millions of inputs (tests/fuzz/run-fuzz), with corpus_main.c the committed
 * ones, in any build.  A target keeps no state between inputs.
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

/* REQUIRE(cond, "format", ...): ends the process by SIGABRT, with a message, unless cond holds. */
#define REQUIRE(cond, ...)                                                                         \
    do {                                                                                           \
        if (!(cond)) {                                                                             \
            fprintf(stderr, "%s:%d: %s does not hold: ", __FILE__, __LINE__, #cond);               \
            fprintf(stderr, __VA_ARGS__);                                                          \
            fputc('\n', stderr);                                                                   \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

/* Messages are printed if ZCACHE_LOG is set, and suppressed otherwise. */
static inline void fuzz_log(void)
{
    if (getenv("ZCACHE_LOG"))
        zc_log_init(NULL);
    else
        zc_log_to_fd(open("/dev/null", O_WRONLY | O_CLOEXEC));
}

#endif
