/*
 * Blocks of 5 x 5 numbers.
 */
#include "config.h"

#include "block.h"

void block_subtract_product(block c, const block a, const block b)
{
    for (int i = 0; i < NVAR; i++) {
        for (int j = 0; j < NVAR; j++) {
            lanes sum = a[i][0] * b[0][j];
            for (int k = 1; k < NVAR; k++)
                sum += a[i][k] * b[k][j];
            c[i][j] -= sum;
        }
    }
}

void block_subtract_applied(column x, const block a, const column y)
{
    for (int i = 0; i < NVAR; i++) {
        lanes sum = a[i][0] * y[0];
        for (int k = 1; k < NVAR; k++)
            sum += a[i][k] * y[k];
        x[i] -= sum;
    }
}

/* Frees the rows below row p of what they have in column p; what is there in b stays and is not
 * looked at any more. */
static inline void eliminate_column(int p, block b, block c, column x)
{
    for (int i = p + 1; i < NVAR; i++) {
        lanes factor = b[i][p];
        for (int j = p + 1; j < NVAR; j++)
            b[i][j] -= factor * b[p][j];
        for (int j = 0; j < NVAR; j++)
            c[i][j] -= factor * c[p][j];
        x[i] -= factor * x[p];
    }
}

void block_solve(block b, block c, column x)
{
    for (int p = 0; p < NVAR; p++) {
        lanes inverse = 1.0 / b[p][p];
        for (int j = p + 1; j < NVAR; j++)
            b[p][j] *= inverse;
        for (int j = 0; j < NVAR; j++)
            c[p][j] *= inverse;
        x[p] *= inverse;
        eliminate_column(p, b, c, x);
    }
    for (int p = NVAR - 1; p > 0; p--) {
        for (int i = 0; i < p; i++) {
            lanes factor = b[i][p];
            for (int j = 0; j < NVAR; j++)
                c[i][j] -= factor * c[p][j];
            x[i] -= factor * x[p];
        }
    }
}
