/*
 * The exact solution, a polynomial of fourth degree without mixed terms, and the initial values.
 */
#include "config.h"

#include <string.h>

#include "exact.h"

/* Report RNR-94-007, section 3.2.1, the table of C(m, 1..13), here by direction: the constant,
 * and the factors of x, x^2, x^3, x^4 for each direction. */
static const struct {
    double constant;
    double factor[3][4];
} polynomial[NVAR] = {
    {2, {{0, 5, 0.02, 0.5}, {0, 3, 0.01, 0.4}, {4, 0.5, 0.03, 0.3}}},
    {1, {{0, 1, 0.01, 0.4}, {0, 2, 0.03, 0.3}, {0, 3, 0.02, 0.5}}},
    {2, {{2, 0, 0.04, 0.3}, {0, 2, 0.03, 0.5}, {0, 3, 0.05, 0.4}}},
    {2, {{2, 0, 0.03, 0.2}, {0, 2, 0.05, 0.1}, {0, 3, 0.04, 0.3}}},
    {5, {{4, 0.1, 0.05, 0.1}, {3, 0.4, 0.04, 0.3}, {2, 0.3, 0.03, 0.2}}},
};

static const state at_rest = {1, 0, 0, 0, 1};

/* What a value at a point of the grid is made by; `at` is the place in the unit cube. */
typedef void (*maker)(const double at[3], state out);

static void make_exact(const double at[3], state out)
{
    for (int m = 0; m < NVAR; m++) {
        out[m] = polynomial[m].constant;
        for (int d = 0; d < 3; d++) {
            const double *f = polynomial[m].factor[d];
            out[m] += at[d] * (f[0] + at[d] * (f[1] + at[d] * (f[2] + at[d] * f[3])));
        }
    }
}

/* In each direction the values on two opposite faces, interpolated linearly; the three results
 * put together as 1 - (1 - X)(1 - Y)(1 - Z). */
static void make_initial(const double at[3], state out)
{
    double rest[NVAR] = {1, 1, 1, 1, 1};
    bool surface = false;
    for (int d = 0; d < 3; d++) {
        state lower, upper;
        double end[3] = {at[0], at[1], at[2]};
        surface = surface || at[d] == 0 || at[d] == 1;
        end[d] = 0;
        make_exact(end, lower);
        end[d] = 1;
        make_exact(end, upper);
        for (int m = 0; m < NVAR; m++)
            rest[m] *= 1 - (at[d] * upper[m] + (1 - at[d]) * lower[m]);
    }
    if (surface) {
        make_exact(at, out);
        return;
    }
    for (int m = 0; m < NVAR; m++)
        out[m] = 1 - rest[m];
}

/* The global place of a local index, and whether it is in the cube. */
static bool place(const struct grid *g, const struct cell *c, const int local[3], double at[3])
{
    bool inside = true;
    for (int d = 0; d < 3; d++) {
        int global = c->low[d] + local[d];
        inside = inside && global >= 0 && global < g->n;
        at[d] = global == g->n - 1 ? 1 : (double)global / (g->n - 1);
    }
    return inside;
}

static bool is_ghost(const struct cell *c, const int local[3])
{
    for (int d = 0; d < 3; d++) {
        if (local[d] < 0 || local[d] >= c->size[d])
            return true;
    }
    return false;
}

static void fill(struct grid *g, maker make, bool ghosts)
{
    for (struct cell *c = g->cells; c < g->cells + g->q; c++) {
        int at[3];
        double x[3];
        for (at[2] = -GHOST; at[2] < c->size[2] + GHOST; at[2]++) {
            for (at[1] = -GHOST; at[1] < c->size[1] + GHOST; at[1]++) {
                for (at[0] = -GHOST; at[0] < c->size[0] + GHOST; at[0]++) {
                    double *u = c->u[cell_at(c, at[0], at[1], at[2])];
                    if (place(g, c, at, x) && (ghosts || !is_ghost(c, at)))
                        make(x, u);
                    else
                        memcpy(u, at_rest, sizeof at_rest);
                }
            }
        }
    }
}

void exact_fill(struct grid *g)
{
    fill(g, make_exact, true);
}

void exact_initialize(struct grid *g)
{
    fill(g, make_initial, false);
}

void exact_error_squares(const struct grid *g, state sum)
{
    memset(sum, 0, sizeof(state));
    struct row row = grid_first_row(g);
    do {
        for (int i = 0; i < row.cell->size[0]; i++) {
            const double *u = row.u[i];
            double x[3];
            state exact;
            place(g, row.cell, (const int[3]){i, row.y, row.z}, x);
            make_exact(x, exact);
            for (int m = 0; m < NVAR; m++)
                sum[m] += (u[m] - exact[m]) * (u[m] - exact[m]);
        }
    } while (grid_next_row(g, &row));
}
