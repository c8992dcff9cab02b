/*
 * Time steps: alternating directions, implicitly.
 *
 * The change of u in a step solves (1 + dt X)(1 + dt Y)(1 + dt Z) change = dt rhs, one factor
 * after the other, where X, Y and Z are the linearised operators along the three directions.
 */
#include "config.h"

#include <math.h>

#include "bench.h"
#include "exact.h"
#include "rhs.h"
#include "solver.h"

void solver_init(struct solver *s, const struct problem *p, int q, MPI_Comm comm)
{
    int rank;
    MPI_Comm_rank(comm, &rank);
    *s = (struct solver){.problem = *p, .comm = comm};
    if (grid_init(&s->grid, p->n, q, rank) != 0 ||
        (s->sweep = sweep_create(&s->problem, &s->grid, comm)) == NULL)
        bench_abort("out of memory for a grid of %d x %d x %d points", p->n, p->n, p->n);
    halo_init(&s->halo, &s->grid, comm);
    rhs_make_forcing(&s->problem, &s->grid);
}

void solver_free(struct solver *s)
{
    halo_free(&s->halo);
    sweep_destroy(s->sweep);
    grid_free(&s->grid);
}

void solver_start(struct solver *s)
{
    exact_initialize(&s->grid);
}

static void add_change(struct grid *g)
{
    for (struct cell *c = g->cells; c < g->cells + g->q; c++) {
        for (int z = c->begin[2]; z < c->end[2]; z++) {
            for (int y = c->begin[1]; y < c->end[1]; y++) {
                for (int x = c->begin[0]; x < c->end[0]; x++) {
                    ptrdiff_t at = cell_at(c, x, y, z);
                    for (int m = 0; m < NVAR; m++)
                        c->u[at][m] += c->rhs[at][m];
                }
            }
        }
    }
}

void solver_step(struct solver *s)
{
    halo_exchange(&s->halo);
    rhs_compute(&s->problem, &s->grid);
    for (int d = 0; d < 3; d++)
        sweep_solve(s->sweep, d);
    add_change(&s->grid);
}

/* The root of the mean over the points inside the surface, which the published norms use even
 * where the sum goes over all points. */
static void root_mean(const struct solver *s, const state squares, state norm)
{
    double inside = s->problem.n - 2;
    MPI_Allreduce(squares, norm, NVAR, MPI_DOUBLE, MPI_SUM, s->comm);
    for (int m = 0; m < NVAR; m++)
        norm[m] = sqrt(norm[m] / (inside * inside * inside));
}

void solver_error(struct solver *s, state norm)
{
    state squares;
    exact_error_squares(&s->grid, squares);
    root_mean(s, squares, norm);
}

void solver_residual(struct solver *s, state norm)
{
    state squares;
    halo_exchange(&s->halo);
    rhs_compute(&s->problem, &s->grid);
    rhs_squares(&s->grid, squares);
    root_mean(s, squares, norm);
    for (int m = 0; m < NVAR; m++)
        norm[m] /= s->problem.dt;
}
