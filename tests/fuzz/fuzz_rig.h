/* fuzz_rig.h - the unit tests' server in this process, without their framework: what it asserts
 * ends the process instead. */
#ifndef FUZZ_RIG_H
#define FUZZ_RIG_H

#include <stdbool.h>

#include "fuzz.h"

#define CHECK_MAIN_H           /* in the place of check_main.h */
#define ck_assert(x)           REQUIRE(x, "it should")
#define ck_assert_int_eq(a, b) REQUIRE((a) == (b), "they differ")
#define ck_assert_msg(x, ...)  REQUIRE(x, __VA_ARGS__)
#define ck_abort_msg(...)      REQUIRE(false, __VA_ARGS__)

#include "rig.h"

#endif
