/*
 * Tests the parts of the solver that need no other rank: the assignment of cells, blocks of 5 x 5
 * numbers, the linearised operator, and the comparison with published norms.
 */
#include "config.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "block.h"
#include "exact.h"
#include "grid.h"
#include "jacobian.h"
#include "problem.h"
#include "rhs.h"

/* ---- grid ------------------------------------------------------------------------------------ */

static const struct {
    int n, q;
} grids[] = {{6, 1}, {6, 2}, {12, 1}, {12, 4}, {13, 3}, {24, 2}, {25, 4}, {31, 5}};

#define GRIDS (int)(sizeof grids / sizeof grids[0])

static struct grid *make_grids(int n, int q)
{
    struct grid *g = calloc((size_t)(q * q), sizeof *g);
    for (int rank = 0; rank < q * q; rank++)
        ck_assert_int_eq(grid_init(&g[rank], n, q, rank), 0);
    return g;
}

static void free_grids(struct grid *g, int q)
{
    for (int rank = 0; rank < q * q; rank++)
        grid_free(&g[rank]);
    free(g);
}

START_TEST(square_numbers)
{
    ck_assert_int_eq(grid_side(1), 1);
    ck_assert_int_eq(grid_side(4), 2);
    ck_assert_int_eq(grid_side(16), 4);
    for (int bad = 2; bad < 9; bad++)
        ck_assert_int_eq(grid_side(bad), bad == 4 ? 2 : 0);
}
END_TEST

START_TEST(every_point_once)
{
    int n = grids[_i].n, q = grids[_i].q;
    struct grid *g = make_grids(n, q);
    unsigned char *owned = calloc((size_t)(n * n * n), 1);
    int64_t points = 0, changing = 0;
    for (int rank = 0; rank < q * q; rank++) {
        int64_t seen = 0;
        struct row row = grid_first_row(&g[rank]);
        do {
            ck_assert_ptr_eq(row.u, row.cell->u + cell_at(row.cell, 0, row.y, row.z));
            for (int x = 0; x < row.cell->size[0]; x++, seen++)
                owned[grid_place(&g[rank], row.cell, x, row.y, row.z)]++;
        } while (grid_next_row(&g[rank], &row));
        ck_assert_int_eq(seen, g[rank].points);
        points += seen;
        for (int c = 0; c < q; c++) {
            const struct cell *cell = &g[rank].cells[c];
            int inside = 1;
            for (int d = 0; d < 3; d++) {
                ck_assert_int_ge(cell->size[d], GRID_THINNEST);
                inside *= cell->end[d] - cell->begin[d];
            }
            changing += inside;
        }
    }
    ck_assert_int_eq(points, (int64_t)n * n * n);
    ck_assert_int_eq(changing, (int64_t)(n - 2) * (n - 2) * (n - 2));
    for (int i = 0; i < n * n * n; i++)
        ck_assert_int_eq(owned[i], 1);
    free(owned);
    free_grids(g, q);
}
END_TEST

/* The successors of all cells of a rank in one direction belong to one other rank. */
START_TEST(neighbours)
{
    int n = grids[_i].n, q = grids[_i].q;
    struct grid *g = make_grids(n, q);
    for (int rank = 0; rank < q * q; rank++) {
        for (int d = 0; d < 3; d++) {
            const struct grid *next = &g[g[rank].next[d]];
            ck_assert_int_eq(next->previous[d], rank);
            for (int stage = 0; stage < q; stage++) {
                const struct cell *here = grid_slice(&g[rank], d, stage);
                ck_assert_int_eq(here->coord[d], stage);
                if (stage + 1 == q)
                    continue;
                const struct cell *there = grid_slice(next, d, stage + 1);
                for (int e = 0; e < 3; e++) {
                    ck_assert_int_eq(there->coord[e], here->coord[e] + (e == d));
                    ck_assert_int_eq(there->low[e], here->low[e] + (e == d ? here->size[e] : 0));
                }
            }
        }
    }
    free_grids(g, q);
}
END_TEST

/* ---- blocks ---------------------------------------------------------------------------------- */

static double some(void)
{
    return rand() / (double)RAND_MAX - 0.5;
}

static void some_block(block b, double diagonal)
{
    for (int i = 0; i < NVAR; i++) {
        for (int j = 0; j < NVAR; j++) {
            for (int lane = 0; lane < LANES; lane++)
                b[i][j][lane] = some() + (i == j ? diagonal : 0);
        }
    }
}

static void some_column(column x)
{
    for (int i = 0; i < NVAR; i++) {
        for (int lane = 0; lane < LANES; lane++)
            x[i][lane] = some();
    }
}

START_TEST(solve_undoes_product)
{
    block b, factors, c, product;
    column x, applied;
    srand(1);
    some_block(b, 4);
    memcpy(factors, b, sizeof b);
    some_block(c, 0);
    some_column(x);
    memcpy(product, c, sizeof c);
    memcpy(applied, x, sizeof x);
    block_solve(factors, c, x);
    /* With the solution, the right-hand side becomes 0. */
    block_subtract_product(product, b, c);
    block_subtract_applied(applied, b, x);
    for (int i = 0; i < NVAR; i++) {
        for (int lane = 0; lane < LANES; lane++) {
            ck_assert_double_eq_tol(applied[i][lane], 0, 1e-14);
            for (int j = 0; j < NVAR; j++)
                ck_assert_double_eq_tol(product[i][j][lane], 0, 1e-14);
        }
    }
}
END_TEST

/* ---- operators ------------------------------------------------------------------------------- */

/* The exact solution with its forcing is steady. */
START_TEST(exact_is_steady)
{
    struct problem p = problem_make(0, 0, 0, 0);
    struct grid g;
    state sum;
    ck_assert_int_eq(grid_init(&g, p.n, 1, 0), 0);
    rhs_make_forcing(&p, &g);
    exact_fill(&g);
    rhs_compute(&p, &g);
    rhs_squares(&g, sum);
    for (int m = 0; m < NVAR; m++)
        ck_assert_double_le(sqrt(sum[m]), 1e-12);
    exact_error_squares(&g, sum);
    for (int m = 0; m < NVAR; m++)
        ck_assert_double_eq(sum[m], 0);
    grid_free(&g);
}
END_TEST

/* Computes rhs at the point in the middle of a grid, where u is constant except for variable m at
 * one point at `distance` from it in direction d. Dissipation of fourth order is not part of the
 * implicit operator, and is subtracted. */
static void probe(const struct problem *p, struct grid *g, int d, int m, int distance, double more,
                  state out)
{
    const state even = {1.3, 0.4, -0.3, 0.2, 2.5};
    static const double fourth[5] = {1, -4, 6, -4, 1};
    struct cell *c = g->cells;
    memset(g->forcing, 0, g->padded_points * sizeof *g->forcing);
    for (size_t i = 0; i < g->padded_points; i++)
        memcpy(g->u[i], even, sizeof even);
    int middle = p->n / 2;
    ptrdiff_t at = cell_at(c, middle, middle, middle);
    c->u[at + distance * c->step[d]][m] += more;
    rhs_compute(p, g);
    memcpy(out, c->rhs[at], sizeof(state));
    out[m] += p->dt * DISSIPATION4 * fourth[2 + distance] * more;
}

/* The implicit operator is the derivative of the explicit one; compared with central
 * differences. */
START_TEST(jacobian_is_derivative)
{
    struct problem p = problem_make(0, 0, 0, 0);
    struct grid g;
    const double eps = 1e-5;
    int d = _i;
    ck_assert_int_eq(grid_init(&g, p.n, 1, 0), 0);
    for (int m = 0; m < NVAR; m++) {
        struct coupling coupling;
        column u;
        for (int distance = -1; distance <= 1; distance += 2) {
            state plus, minus;
            probe(&p, &g, d, m, distance, eps, plus);
            probe(&p, &g, d, m, distance, -eps, minus);
            for (int k = 0; k < NVAR; k++) {
                for (int lane = 0; lane < LANES; lane++)
                    u[k][lane] = g.cells->u[0][k];
            }
            jacobian_coupling(&p, d, u, &coupling);
            const block *b = distance < 0 ? &coupling.below : &coupling.above;
            for (int k = 0; k < NVAR; k++) {
                double derivative = -(plus[k] - minus[k]) / (2 * eps);
                /* For a constant state the gradient's contribution to viscosity is 0. */
                ck_assert_double_eq_tol((*b)[k][m][0], derivative, 1e-8);
            }
        }
    }
    grid_free(&g);
}
END_TEST

/* ---- published norms ------------------------------------------------------------------------- */

START_TEST(tolerance)
{
    ck_assert(norm_agrees(1.0, 1.0));
    ck_assert(norm_agrees(300.0 * (1 + 0.9e-8), 300.0));
    ck_assert(!norm_agrees(300.0 * (1 + 1.1e-8), 300.0));
    ck_assert(!norm_agrees(300.0 * (1 - 1.1e-8), 300.0));
    ck_assert(!norm_agrees(1e-5 * (1 + 1.1e-8), 1e-5));
    ck_assert(!norm_agrees(NAN, 1.0));
    ck_assert(!norm_agrees(INFINITY, 1.0));
}
END_TEST

START_TEST(classes)
{
    for (int i = 0; i < CLASSES; i++) {
        struct problem p = problem_make(i, 0, 0, 0);
        ck_assert_int_eq(p.class, class_names[i][0]);
        ck_assert_ptr_nonnull(problem_published(&p));
        p = problem_make(i, p.n, p.steps, 0);
        ck_assert_int_eq(p.class, class_names[i][0]);
        p = problem_make(i, p.n + 1, 0, 0);
        ck_assert_int_eq(p.class, 'U');
        ck_assert_ptr_null(problem_published(&p));
        p = problem_make(i, 0, p.steps + 1, 0);
        ck_assert_ptr_null(problem_published(&p));
        p = problem_make(i, 0, 0, 0.005);
        ck_assert(p.class == 'U' && p.dt_class == 'U' && p.dt == 0.005);
    }
    static const char names[] = "SWABC";
    static const struct {
        int n;
        char like;
    } sizes[] = {{6, 'S'},  {12, 'S'}, {13, 'W'},  {24, 'W'},  {25, 'A'},
                 {64, 'A'}, {65, 'B'}, {102, 'B'}, {103, 'C'}, {2048, 'C'}};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct problem p = problem_make(0, sizes[i].n, 0, 0);
        ck_assert_int_eq(p.dt_class, sizes[i].like);
        int other = (int)(strchr(names, sizes[i].like) - names);
        ck_assert_double_eq(p.dt, problem_make(other, 0, 0, 0).dt);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("bt");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 60);
    tcase_add_test(all, square_numbers);
    tcase_add_loop_test(all, every_point_once, 0, GRIDS);
    tcase_add_loop_test(all, neighbours, 0, GRIDS);
    tcase_add_test(all, solve_undoes_product);
    tcase_add_test(all, exact_is_steady);
    tcase_add_loop_test(all, jacobian_is_derivative, 0, 3);
    tcase_add_test(all, tolerance);
    tcase_add_test(all, classes);
    suite_add_tcase(suite, all);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_ENV);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
