/*
 * The simulated CFD application: its equations' constants, its classes, its published results.
 *
 * The three-dimensional compressible Navier-Stokes equations in five variables, driven by a
 * forcing term such that a known polynomial is their steady solution: D. Bailey and others, "The
 * NAS Parallel Benchmarks", report RNR-94-007, section 3 (equations, boundary and initial values,
 * coefficients). The grid is n x n x n points over the unit cube, its outermost points fixed.
 */
#ifndef PROBLEM_H
#define PROBLEM_H

#include <stdbool.h>

/* At each point: density, momentum in x, y and z, total energy, all per volume. */
#define NVAR   5
#define ENERGY 4
/* The momentum along direction 0, 1 or 2. */
#define MOMENTUM(d) (1 + (d))

typedef double state[NVAR];

/* The coefficients, named as in the report. C1 is the ratio of specific heats, C2 the pressure's
 * factor C1 - 1, C3 times C4 the viscosity, C5 the Prandtl number's part. */
#define C1    1.4
#define C2    0.4
#define C3C4  0.1
#define C5    1.4
#define CON43 (4.0 / 3.0) /* viscosity along the flow against that across it */
/* Of the second-order dissipation in direction d, and of the fourth-order one. */
#define DISSIPATION2(d) ((d) == 2 ? 1.0 : 0.75)
#define DISSIPATION4    0.25

struct problem {
    char class;    /* 'S' to 'C', or 'U' where size, steps or dt are the user's own */
    int n;         /* points along each edge */
    int steps;     /* time steps */
    double dt;     /* of each */
    char dt_class; /* whose dt that is, or 'U' */
    double per_h2; /* 1 / h^2 and */
    double per_2h; /* 1 / 2h, where h = 1 / (n - 1) is the distance of two points */
};

#define CLASSES 5
/* "S", "W", "A", "B", "C", NULL */
extern const char *const class_names[CLASSES + 1];
/* Class `index` as published, or with another size, number or length of steps where they are not 0.
 * With another size, dt is that of the smallest class that is not smaller, or the largest: a finer
 * grid diverges with the steps of a coarse one. */
struct problem problem_make(int index, int n, int steps, double dt);
/* The operations of one time step, as the NAS benchmarks count them. */
double problem_step_operations(const struct problem *p);

/* Root mean squares over the grid, for each variable. */
struct norms {
    state residual;   /* of the right-hand side after the last step, by dt */
    state error;      /* of solution - exact solution after the last step */
    state mean_error; /* the same, averaged over all dumps */
};

/* How many steps are between two dumps where `mean_error` is published. */
#define PUBLISHED_INTERVAL 5
/* The relative difference that is allowed. */
#define TOLERANCE 1e-8

/* The norms that the NAS benchmarks publish for the class (NPB 3.4, BT with and without I/O); NULL
 * for 'U'. */
const struct norms *problem_published(const struct problem *p);
/* |x - published| / |published|; NaN stays NaN. */
double norm_difference(double x, double published);
/* Whether it is within the tolerance; NaN is not. */
bool norm_agrees(double x, double published);

#endif
