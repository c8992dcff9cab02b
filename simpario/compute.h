/*
 * Simulates an application's computing: busy or sleeping until a given time.
 */
#ifndef COMPUTE_H
#define COMPUTE_H

enum { COMPUTE_SPIN, COMPUTE_SLEEP };

/* "spin", "sleep", NULL */
extern const char *const compute_names[];

/* Returns at `end`, a time of bench_now(); at once if that is past. `how`: COMPUTE_SPIN or
 * COMPUTE_SLEEP. */
void compute_until(int how, double end);

#endif
