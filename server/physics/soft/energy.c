/*
 * energy.c: the elastic energy of soft bodies, at the positions between two ticks. A constraint
 * with force F and compliance α stores α F² / 2. In a step of h s XPBD reaches
 * F = C / (α + h² Σ w |∇C|²): material stiffer than the step resolves stores next to nothing. Gas
 * stores the work of its isothermal expansion against the air.
 */
#include "server/physics/soft/body_constraint.h"
#include "server/physics/soft/constraint.h"

#include <math.h>

/* Pa, of the air outside. */
static const f64 air_pressure = 101325.0;

enum {
    LOG_TERMS = 24
};

static f64 weight_of(const Soft *soft, const SoftConstraint *c, const ConstraintRows *rows, u32 row)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < rows->points; i++) {
        sum += (f64)soft_inverse_mass(soft, c->point[i]) *
               (f64)vec3_length_squared(rows->gradient[row][i]);
    }
    return sum;
}

/* μ (|F|² − 3) / 2 + λ ((det F − 1 − μ/λ)² − (μ/λ)²) / 2, times the rest volume. */
static f64 neo_hookean(const ConstraintRows *rows, f64 alpha, bool whole, f64 resolved)
{
    f64 ratio = (f64)rows->factor[1], size = (f64)rows->value[0], bulk = (f64)rows->value[1];
    f64 energy = 0.5 / alpha * (size * size - 3.0 + (bulk * bulk - ratio * ratio) / ratio);
    return fmax(energy, 0.0) * (whole ? 1.0 : resolved);
}

static f64 constraint_energy(const Soft *soft, u32 body, const SoftConstraint *c, f64 h)
{
    ConstraintRows rows;
    Vec3 x[4];
    f64 alpha = (f64)c->compliance * (f64)soft_role_scale(soft, c->role);
    if (!(alpha > 0.0)) {
        return 0.0;
    }
    constraint_gather(soft, c, 0.0f, x);
    constraint_evaluate(c, constraint_shape(soft, c), x, &rows);
    if (rows.rows == 0) {
        return 0.0;
    }
    f64 part = alpha / (alpha + h * h * weight_of(soft, c, &rows, 0));
    bool whole =
        stiff_has(soft, body, c) || (c->role == ROLE_VOLUME && stiff_is(soft, body, (f32)h));
    if (rows.rows == 2) {
        return neo_hookean(&rows, alpha, whole, part * part);
    }
    f64 value = (f64)rows.value[0];
    return 0.5 * value * value / alpha * (whole ? 1.0 : part * part);
}

/* ln x by its series in (x − 1) / (x + 1): the same bits everywhere, unlike that of libm. */
static f64 logarithm(f64 x)
{
    f64 z = (x - 1.0) / (x + 1.0), power = z, sum = 0.0;
    for (u32 i = 0; i < LOG_TERMS; i++, power *= z * z) {
        sum += power / (2.0 * i + 1.0);
    }
    return 2.0 * sum;
}

static f64 gas_energy(const Soft *soft, u32 index)
{
    const SoftBody *body = &soft->bodies[index];
    if (!(body->def.pressure > 0.0f) || soft->body_constraints == NULL) {
        return 0.0;
    }
    f64 rest = (f64)body->rest_volume, volume = pressure_volume(soft, body, body->def.volume);
    if (!(rest > 0.0) || !(volume > 0.0)) {
        return 0.0;
    }
    return air_pressure * (volume - rest) -
           pressure_amount_now(soft, index) * logarithm(volume / rest);
}

f64 soft_elastic_energy(const Soft *soft, u32 body)
{
    const SoftBody *of = &soft->bodies[body];
    f64 h = (f64)soft->substep_s / u32_max(soft->taken, 1), sum = gas_energy(soft, body);
    for (u32 i = 0; i < of->constraint_count; i++) {
        sum += constraint_energy(soft, body, &soft->constraints[of->first_constraint + i], h);
    }
    return sum;
}
