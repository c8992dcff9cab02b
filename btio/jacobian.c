/*
 * The implicit operator: the right-hand side linearised in time, direction by direction
 * (Beam and Warming's approximate factorization; report RNR-94-007, section 3.4). With the
 * Jacobians F of the flux and N of the viscous terms and the dissipation D, a line's equations are
 *
 *   (-t2 F - t1 (N + D)) [k-1] x[k-1] + (1 + 2 t1 (N + D)) [k] x[k]
 *                                     + (t2 F - t1 (N + D)) [k+1] x[k+1] = rhs[k]
 *
 * where t1 = dt / h^2 and t2 = dt / 2h.
 */
#include "config.h"

#include <string.h>

#include "jacobian.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Only what is not 0 is set. */
static ALWAYS_INLINE void flux_jacobian(const int d, const lanes v[3], lanes q, lanes by_mass,
                                        block f)
{
    const int along = MOMENTUM(d);
    f[0][along] = (lanes){0} + 1.0;
    for (int e = 0; e < 3; e++) {
        f[MOMENTUM(e)][0] = -(v[e] * v[d]);
        f[MOMENTUM(e)][along] += v[e];
        f[MOMENTUM(e)][MOMENTUM(e)] += v[d];
    }
    f[along][0] += C2 * q;
    for (int e = 0; e < 3; e++)
        f[along][MOMENTUM(e)] -= C2 * v[e];
    f[along][ENERGY] = (lanes){0} + C2;

    f[ENERGY][0] = (2 * C2 * q - C1 * by_mass) * v[d];
    for (int e = 0; e < 3; e++)
        f[ENERGY][MOMENTUM(e)] = -C2 * (v[e] * v[d]);
    f[ENERGY][along] += C1 * by_mass - C2 * q;
    f[ENERGY][ENERGY] = C1 * v[d];
}

static ALWAYS_INLINE void viscous_jacobian(const int d, const lanes v[3], lanes per_rho,
                                           lanes by_mass, block n)
{
    n[ENERGY][0] = -(C1 * C5 * C3C4) * by_mass * per_rho;
    for (int e = 0; e < 3; e++) {
        const double viscosity = C3C4 * (e == d ? CON43 : 1);
        n[MOMENTUM(e)][0] = -viscosity * v[e] * per_rho;
        n[MOMENTUM(e)][MOMENTUM(e)] = viscosity * per_rho;
        const lanes heat = (viscosity - C1 * C5 * C3C4) * v[e] * per_rho;
        n[ENERGY][0] -= heat * v[e];
        n[ENERGY][MOMENTUM(e)] = heat;
    }
    n[ENERGY][ENERGY] = C1 * C5 * C3C4 * per_rho;
}

static ALWAYS_INLINE void couple(const struct problem *p, const int d, const column u,
                                 struct coupling *out)
{
    const double t1 = p->dt * p->per_h2, t2 = p->dt * p->per_2h;
    const lanes per_rho = 1.0 / u[0];
    const lanes by_mass = u[ENERGY] * per_rho;
    lanes v[3];
    for (int e = 0; e < 3; e++)
        v[e] = u[MOMENTUM(e)] * per_rho;
    const lanes q = 0.5 * (v[0] * v[0] + v[1] * v[1] + v[2] * v[2]);

    block f, n;
    memset(f, 0, sizeof f);
    memset(n, 0, sizeof n);
    flux_jacobian(d, v, q, by_mass, f);
    viscous_jacobian(d, v, per_rho, by_mass, n);
    for (int i = 0; i < NVAR; i++) {
        n[i][i] += DISSIPATION2(d);
        for (int j = 0; j < NVAR; j++) {
            out->below[i][j] = -t2 * f[i][j] - t1 * n[i][j];
            out->here[i][j] = 2 * t1 * n[i][j];
            out->above[i][j] = t2 * f[i][j] - t1 * n[i][j];
        }
        out->here[i][i] += 1.0;
    }
}

/* A constant direction in each, so that each has its own code. */
void jacobian_coupling(const struct problem *p, int d, const column u, struct coupling *out)
{
    switch (d) {
    case 0:
        couple(p, 0, u, out);
        break;
    case 1:
        couple(p, 1, u, out);
        break;
    case 2:
        couple(p, 2, u, out);
        break;
    }
}
