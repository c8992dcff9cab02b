/*
 * What stands for an application's computing: time that passes, with or without a processor.
 */
#ifndef COMPUTE_H
#define COMPUTE_H

enum { COMPUTE_SPIN, COMPUTE_SLEEP };

/* "spin", "sleep", NULL */
extern const char *const compute_names[];

/* Returns at `end`, a bench_now(), or at once when that is over. */
void compute_until(int how, double end);

#endif
