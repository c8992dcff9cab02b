/*
 * What stands for an application's computing.
 */
#include "config.h"

#include <time.h>

#include "bench.h"
#include "compute.h"

const char *const compute_names[] = {"spin", "sleep", NULL};

static void spin_until(double end)
{
    volatile double x = 1;
    while (bench_now() < end) {
        for (int i = 0; i < 200; i++)
            x = x * 1.0000001 + 1e-9;
    }
}

static void sleep_until(double end)
{
    double left;
    while ((left = end - bench_now()) > 0) {
        struct timespec ts = {.tv_sec = (time_t)left};
        ts.tv_nsec = (long)((left - (double)ts.tv_sec) * 1e9);
        nanosleep(&ts, NULL);
    }
}

void compute_until(int how, double end)
{
    if (how == COMPUTE_SPIN)
        spin_until(end);
    else
        sleep_until(end);
}
