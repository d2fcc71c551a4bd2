/* smoke_force.c: buoyancy, vorticity confinement (Fedkiw, Stam & Jensen 2001), viscosity. */
#include "server/physics/grid/smoke_internal.h"

enum {
    VISCOUS_SWEEPS_MAX = 200
};
/* Viscosity × dt / spacing² up to which a step is explicit; the limit of stability is 1/6. */
static const f32 explicit_most = 0.12f;
/* Fraction of the error that implicit sweeps leave. */
static const f32 viscous_left = 1e-3f;

/* ---- forces ---- */

typedef struct Force {
    Smoke *smoke;
    u32 axis;
    f32 lift, weight; /* m/s per K and per kg/m³ in this tick */
    f32 confinement;  /* s: times forces at cells */
} Force;

static void force_span(void *context, const AirSpan *span, u32 index)
{
    const Force *force = (const Force *)context;
    Smoke *smoke = force->smoke;
    const AirGrid *grid = &smoke->grid;
    i32 step = smoke_stride(grid, force->axis);
    const f32 *warm = smoke->field[SMOKE_TEMPERATURE], *dust = smoke->field[SMOKE_SMOKE];
    const f32 *twist = smoke->next[force->axis];
    f32 *velocity = smoke->velocity[force->axis];
    f32x8 lift = f32x8_set(0.5f * force->lift), weight = f32x8_set(0.5f * force->weight);
    f32x8 confinement = f32x8_set(0.5f * force->confinement);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            f32x8 row = f32x8_set(0.0f);
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 v = f32x8_load(velocity + at), before = v;
                v += lift * (f32x8_load(warm + at) + air_load(warm + at - step));
                v += weight * (f32x8_load(dust + at) + air_load(dust + at - step));
                if (force->confinement > 0.0f) {
                    v += confinement * (f32x8_load(twist + at) + air_load(twist + at - step));
                }
                f32x8_store(velocity + at, v);
                row += smoke_inner(grid, force->axis, x, v - before);
            }
            smoke_tally_row(grid, force->axis, y, z, row, smoke->tallies[index].force);
        }
    }
}

/* ---- vorticity ---- */

/* d(component)/d(axis) at cells, × 4. */
SIMD_INLINE f32x8 slope_of(const Smoke *smoke, u32 component, u32 axis, i32 at)
{
    const AirGrid *grid = &smoke->grid;
    const f32 *v = smoke->velocity[component] + at;
    i32 up = smoke_stride(grid, component), side = smoke_stride(grid, axis);
    return (air_load(v + side) + air_load(v + side + up)) -
           (air_load(v - side) + air_load(v - side + up));
}

/* next = curl at cells, ahead its length. */
static void curl_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Smoke *smoke = (Smoke *)context;
    const AirGrid *grid = &smoke->grid;
    f32x8 part = f32x8_set(0.25f / smoke->def.spacing);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                f32x8 c = part * (slope_of(smoke, 1, 0, at) - slope_of(smoke, 0, 1, at));
                f32x8 square = c * c;
                if (grid->dims == 3) {
                    f32x8 a = part * (slope_of(smoke, 2, 1, at) - slope_of(smoke, 1, 2, at));
                    f32x8 b = part * (slope_of(smoke, 0, 2, at) - slope_of(smoke, 2, 0, at));
                    f32x8_store(smoke->next[0] + at, a);
                    f32x8_store(smoke->next[1] + at, b);
                    f32x8_store(smoke->next[2] + at, c);
                    square += a * a + b * b;
                } else {
                    f32x8_store(smoke->next[0] + at, c);
                }
                f32x8_store(smoke->ahead + at, f32x8_sqrt(square));
            }
        }
    }
}

SIMD_INLINE f32x8 rise(const f32 *at, i32 step)
{
    return air_load(at + step) - air_load(at - step);
}

/* next = vorticity × spacing × (direction of growing curl) × curl, m/s², at cells. */
static void confine_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    Smoke *smoke = (Smoke *)context;
    const AirGrid *grid = &smoke->grid;
    f32x8 scale = f32x8_set(smoke->def.options.vorticity * smoke->def.spacing);
    const f32x8 tiny = f32x8_set(1e-20f);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                const f32 *size = smoke->ahead + at;
                f32x8 nx = rise(size, 1), ny = rise(size, grid->row), square = nx * nx + ny * ny;
                f32x8 a = f32x8_load(smoke->next[0] + at);
                if (grid->dims == 3) {
                    f32x8 nz = rise(size, grid->slab);
                    f32x8 b = f32x8_load(smoke->next[1] + at), c = f32x8_load(smoke->next[2] + at);
                    f32x8 factor = scale / f32x8_sqrt(square + nz * nz + tiny);
                    f32x8_store(smoke->next[0] + at, factor * (ny * c - nz * b));
                    f32x8_store(smoke->next[1] + at, factor * (nz * a - nx * c));
                    f32x8_store(smoke->next[2] + at, factor * (nx * b - ny * a));
                } else {
                    f32x8 factor = scale / f32x8_sqrt(square + tiny);
                    f32x8_store(smoke->next[0] + at, factor * ny * a);
                    f32x8_store(smoke->next[1] + at, -factor * nx * a);
                }
            }
        }
    }
}

static void confine(Smoke *smoke)
{
    smoke_clear_rims(smoke, smoke->ahead);
    air_each(&smoke->grid, smoke->jobs, curl_span, smoke);
    smoke_field_ghosts(smoke, smoke->ahead);
    air_each(&smoke->grid, smoke->jobs, confine_span, smoke);
    for (u32 c = 0; c < smoke->grid.dims; c++) {
        smoke_field_ghosts(smoke, smoke->next[c]);
    }
}

void smoke_forces(Smoke *smoke)
{
    const SmokeOptions *options = &smoke->def.options;
    const f32 pull[3] = {smoke->gravity.x, smoke->gravity.y, smoke->gravity.z};
    bool confined = options->vorticity > 0.0f;
    if (confined) {
        confine(smoke);
    }
    for (u32 axis = 0; axis < smoke->grid.dims; axis++) {
        f32 pushed = pull[axis] * smoke->tick_s;
        Force force = {smoke, axis, -options->buoyancy * pushed, options->weight * pushed,
                       confined ? smoke->tick_s : 0.0f};
        if (pushed != 0.0f || confined) {
            air_each(&smoke->grid, smoke->jobs, force_span, &force);
        }
    }
}

/* ---- viscosity ---- */

/* to = (start + amount × (neighbours of from − left × from)) × whole */
typedef struct Smear {
    const Smoke *smoke;
    const f32 *start, *from;
    f32 *to;
    f32 amount, left, whole;
} Smear;

static void smear_span(void *context, const AirSpan *span, u32 index)
{
    PL_UNUSED(index);
    const Smear *smear = (const Smear *)context;
    const AirGrid *grid = &smear->smoke->grid;
    f32x8 amount = f32x8_set(smear->amount), left = f32x8_set(smear->left);
    f32x8 whole = f32x8_set(smear->whole);
    for (i32 z = span->z0; z < span->z1; z++) {
        for (i32 y = span->y0; y < span->y1; y++) {
            for (i32 x = span->x0; x < span->x1; x += SIMD_LANES) {
                i32 at = air_at(grid, x, y, z);
                const f32 *from = smear->from + at;
                f32x8 near = air_pressure_near(from, grid->row, grid->slab, grid->dims == 3);
                f32x8 value =
                    f32x8_load(smear->start + at) + amount * (near - left * f32x8_load(from));
                f32x8_store(smear->to + at, value * whole);
            }
        }
    }
}

void smoke_viscosity(Smoke *smoke)
{
    f32 dx = smoke->def.spacing, sides = 2.0f * (f32)smoke->grid.dims;
    f32 amount = smoke->def.options.viscosity * smoke->tick_s / (dx * dx);
    u32 sweeps = 1;
    bool implicit = amount > explicit_most;
    if (implicit) {
        f32 ratio = sides * amount / (1.0f + sides * amount), left = ratio;
        while (left > viscous_left && sweeps < VISCOUS_SWEEPS_MAX) {
            left *= ratio;
            sweeps++;
        }
    }
    for (u32 c = 0; c < smoke->grid.dims && amount > 1e-7f; c++) {
        f32 *from = smoke->velocity[c], *to = smoke->next[c], *other = smoke->ahead;
        smoke_sides(smoke, c, from, SMOKE_SIDES_KEPT);
        smoke_carry_rims(smoke, c);
        if (!implicit) {
            smoke_tally_friction(smoke, c, from, amount);
        }
        for (u32 k = 0; k < sweeps; k++) {
            Smear smear = {smoke,
                           smoke->velocity[c],
                           from,
                           to,
                           amount,
                           implicit ? 0.0f : sides,
                           implicit ? 1.0f / (1.0f + sides * amount) : 1.0f};
            air_each(&smoke->grid, smoke->jobs, smear_span, &smear);
            smoke_sides(smoke, c, to, SMOKE_SIDES_FREE);
            from = to;
            to = other;
            other = from;
        }
        if (implicit) {
            smoke_tally_friction(smoke, c, from, amount);
        }
        if (from == smoke->ahead) {
            smoke_swap(&smoke->ahead, &smoke->velocity[c]);
        } else {
            smoke_swap(&smoke->next[c], &smoke->velocity[c]);
        }
    }
}
