/*
 * The right-hand side: central differences of second order for the fluxes and viscous terms in
 * each direction, with dissipation of second and fourth order (report RNR-94-007, section 3.3).
 */
#include "config.h"

#include <string.h>

#include "exact.h"
#include "rhs.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* One value at the neighbour below, here, and at the neighbour above. */
struct three {
    double below, here, above;
};

static inline double second(struct three x)
{
    return x.above - 2 * x.here + x.below;
}

#define VALUES(array, at, step, member)                                                            \
    ((struct three){(array)[(at) - (step)] member, (array)[at] member,                             \
                    (array)[(at) + (step)] member})

/* ---- what several directions need --------------------------------------------------------------
 */

static void compute_flow(struct cell *c)
{
    for (int z = -1; z <= c->size[2]; z++) {
        for (int y = -1; y <= c->size[1]; y++) {
            ptrdiff_t row = cell_at(c, 0, y, z);
            for (int x = -1; x <= c->size[0]; x++) {
                const double *u = c->u[row + x];
                struct flow *f = &c->flow[row + x];
                f->per_rho = 1 / u[0];
                for (int d = 0; d < 3; d++)
                    f->speed[d] = u[MOMENTUM(d)] * f->per_rho;
                f->kinetic = 0.5 * (u[1] * f->speed[0] + u[2] * f->speed[1] + u[3] * f->speed[2]);
                f->q = f->kinetic * f->per_rho;
            }
        }
    }
}

/* ---- one direction --------------------------------------------------------------------------- */

/* Weights of the points from two below to two above in the fourth difference. Beside the surface
 * the difference is one-sided; what would be outside the cube weighs nothing. */
static const double *fourth_weights(int global, int n)
{
    static const double weights[5][5] = {
        {0, 0, 5, -4, 1}, {0, -4, 6, -4, 1}, {1, -4, 6, -4, 1}, {1, -4, 6, -4, 0}, {1, -4, 5, 0, 0},
    };
    if (global <= 2)
        return weights[global - 1];
    if (global >= n - 3)
        return weights[global - (n - 3) + 3];
    return weights[2];
}

/* Adds the operator in direction d at one point. Called with a constant d, so that each direction
 * has its own code. */
static ALWAYS_INLINE void add_direction(const struct problem *p, const struct cell *c, const int d,
                                        ptrdiff_t at, const double weight[5], double *out)
{
    const int along = MOMENTUM(d);
    const ptrdiff_t step = c->step[d];
    const state *u = c->u;
    const struct flow *flow = c->flow;
    const double viscosity = C3C4 * p->per_h2, dissipation = DISSIPATION2(d) * p->per_h2;
    const struct three speed = VALUES(flow, at, step, .speed[d]);
    const struct three energy = VALUES(u, at, step, [ENERGY]);
    const struct three kinetic = VALUES(flow, at, step, .kinetic);
    const struct three per_rho = VALUES(flow, at, step, .per_rho);

    out[0] += dissipation * second(VALUES(u, at, step, [0])) -
              p->per_2h * (u[at + step][along] - u[at - step][along]);

    for (int e = 0; e < 3; e++) {
        const struct three momentum = VALUES(u, at, step, [MOMENTUM(e)]);
        double flux = momentum.above * speed.above - momentum.below * speed.below;
        if (e == d)
            flux += C2 * (energy.above - kinetic.above - energy.below + kinetic.below);
        out[MOMENTUM(e)] +=
            dissipation * second(momentum) +
            (e == d ? CON43 : 1) * viscosity * second(VALUES(flow, at, step, .speed[e])) -
            p->per_2h * flux;
    }

    const struct three square = {speed.below * speed.below, speed.here * speed.here,
                                 speed.above * speed.above};
    const struct three by_mass = {energy.below * per_rho.below, energy.here * per_rho.here,
                                  energy.above * per_rho.above};
    out[ENERGY] += dissipation * second(energy) +
                   viscosity * ((1 - C1 * C5) * second(VALUES(flow, at, step, .q)) +
                                (CON43 - 1) / 2 * second(square) + C1 * C5 * second(by_mass)) -
                   p->per_2h * ((C1 * energy.above - C2 * kinetic.above) * speed.above -
                                (C1 * energy.below - C2 * kinetic.below) * speed.below);

    for (int m = 0; m < NVAR; m++) {
        out[m] -= DISSIPATION4 * (weight[0] * u[at - 2 * step][m] + weight[1] * u[at - step][m] +
                                  weight[2] * u[at][m] + weight[3] * u[at + step][m] +
                                  weight[4] * u[at + 2 * step][m]);
    }
}

/* rhs = factor (operator(u) + added forcing) */
static void compute_cell(const struct problem *p, struct cell *c, double factor)
{
    compute_flow(c);
    for (int z = c->begin[2]; z < c->end[2]; z++) {
        const double *wz = fourth_weights(c->low[2] + z, p->n);
        for (int y = c->begin[1]; y < c->end[1]; y++) {
            const double *wy = fourth_weights(c->low[1] + y, p->n);
            ptrdiff_t row = cell_at(c, 0, y, z);
            for (int x = c->begin[0]; x < c->end[0]; x++) {
                const double *wx = fourth_weights(c->low[0] + x, p->n);
                state sum;
                memcpy(sum, c->forcing[row + x], sizeof sum);
                add_direction(p, c, 0, row + x, wx, sum);
                add_direction(p, c, 1, row + x, wy, sum);
                add_direction(p, c, 2, row + x, wz, sum);
                for (int m = 0; m < NVAR; m++)
                    c->rhs[row + x][m] = factor * sum[m];
            }
        }
    }
}

/* ---- all cells ------------------------------------------------------------------------------- */

void rhs_compute(const struct problem *p, struct grid *g)
{
    for (struct cell *c = g->cells; c < g->cells + g->q; c++)
        compute_cell(p, c, p->dt);
}

void rhs_make_forcing(const struct problem *p, struct grid *g)
{
    exact_fill(g);
    memset(g->forcing, 0, g->padded_points * sizeof *g->forcing);
    for (struct cell *c = g->cells; c < g->cells + g->q; c++)
        compute_cell(p, c, -1);
    memcpy(g->forcing, g->rhs, g->padded_points * sizeof *g->forcing);
}

void rhs_squares(const struct grid *g, state sum)
{
    memset(sum, 0, sizeof(state));
    for (const struct cell *c = g->cells; c < g->cells + g->q; c++) {
        for (int z = c->begin[2]; z < c->end[2]; z++) {
            for (int y = c->begin[1]; y < c->end[1]; y++) {
                for (int x = c->begin[0]; x < c->end[0]; x++) {
                    const double *r = c->rhs[cell_at(c, x, y, z)];
                    for (int m = 0; m < NVAR; m++)
                        sum[m] += r[m] * r[m];
                }
            }
        }
    }
}
