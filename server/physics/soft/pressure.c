/*
 * pressure.c: gases in closed surfaces, P V = n R T with P against the air outside. A pressure p
 * over a step moves the particles by h² p w ∇V and so changes the volume by h² p Σ w |∇V|². The
 * pressure of a step is that of the gas at the volume at its end, the root of a quadratic equation:
 * stable however small and stiff the volume is. The forces p A n of all triangles, distributed to
 * their points, are p ∇V, and sum to 0 over a closed surface.
 */
#include "server/physics/soft/body_constraint.h"

/* Pa, of the air at sea level, which would crush a balloon without gas. */
static const f64 air_pressure = 101325.0;

/* The surface of a body. */
typedef struct GasSurface {
    const SoftBody *body;
    const SoftPoint *points;       /* of the body */
    const SoftTriangle *triangles; /* [body->triangle_count] */
    const SoftSegment *ring;       /* [body->ring] */
} GasSurface;

static GasSurface surface_of(const Soft *soft, const SoftBody *body)
{
    GasSurface s = {.body = body, .points = soft->points + body->first};
    /* A world may have no triangles at all; do not offset NULL. */
    if (body->triangle_count > 0) {
        s.triangles = soft->triangles + body->first_triangle;
    }
    if (body->ring > 0) {
        s.ring = soft->segments + body->first_segment;
    }
    return s;
}

/* Relative to the body's first particle, for precision far from the origin. */
static inline Vec3 place(const GasSurface *s, u32 point)
{
    return vec3_sub(s->points[point].position, s->points[0].position);
}

/* ---- volumes ---- */

/* ⅓ Σ x̄·n A: mean of the divergence theorem along the three axes, a sixth of determinants. */
static f64 volume_gauss(const GasSurface *s)
{
    f64 sum = 0.0;
    u32 first = s->body->first;
    for (u32 t = 0; t < s->body->triangle_count; t++) {
        const u32 *p = s->triangles[t].point;
        Vec3 a = place(s, p[0] - first), b = place(s, p[1] - first), c = place(s, p[2] - first);
        sum += (f64)vec3_dot(a, vec3_cross(b, c));
    }
    return sum / 6.0;
}

static Vec3 ring_area(const GasSurface *s)
{
    Vec3 sum = vec3_zero();
    u32 first = s->body->first;
    for (u32 i = 0; i < s->body->ring; i++) {
        const u32 *p = s->ring[i].point;
        sum = vec3_add(sum, vec3_cross(place(s, p[0] - first), place(s, p[1] - first)));
    }
    return vec3_scale(sum, 0.5f);
}

/* Of the bounding box of the points, or the ellipsoid in it; of a ring its largest face and
 * ellipse. */
static f64 volume_around(const GasSurface *s, bool ellipsoid)
{
    Vec3 low = place(s, 0), high = low;
    for (u32 i = 1; i < s->body->count; i++) {
        Vec3 at = place(s, i);
        low = vec3_min(low, at);
        high = vec3_max(high, at);
    }
    const f64 pi = 3.14159265358979;
    f64 x = (f64)(high.x - low.x), y = (f64)(high.y - low.y), z = (f64)(high.z - low.z);
    if (s->body->ring == 0) {
        return x * y * z * (ellipsoid ? pi / 6.0 : 1.0);
    }
    f64 area = x * y > y * z ? x * y : y * z;
    area = area > z * x ? area : z * x;
    return area * (ellipsoid ? pi / 4.0 : 1.0);
}

static f64 volume_of(const GasSurface *s, SoftVolume way)
{
    if (way != SOFT_VOLUME_GAUSS) {
        return volume_around(s, way == SOFT_VOLUME_ELLIPSOID);
    }
    return s->body->ring != 0 ? (f64)vec3_length(ring_area(s)) : volume_gauss(s);
}

f64 pressure_volume(const Soft *soft, const SoftBody *body, SoftVolume way)
{
    GasSurface s = surface_of(soft, body);
    return volume_of(&s, way);
}

/* ---- the force of the gas ---- */

/* ∇V by particle: a third of the area vectors of its triangles, whose sum over a closed surface
 * is 0; of a ring half the normal of the chord between its neighbours. */
static void find_gradient(const GasSurface *s, Vec3 *gradient)
{
    u32 first = s->body->first;
    for (u32 i = 0; i < s->body->count; i++) {
        gradient[i] = vec3_zero();
    }
    for (u32 t = 0; t < s->body->triangle_count; t++) {
        const u32 *p = s->triangles[t].point;
        Vec3 a = place(s, p[0] - first);
        Vec3 b = vec3_sub(place(s, p[1] - first), a), c = vec3_sub(place(s, p[2] - first), a);
        Vec3 part = vec3_scale(vec3_cross(b, c), 1.0f / 6.0f);
        for (u32 k = 0; k < 3; k++) {
            gradient[p[k] - first] = vec3_add(gradient[p[k] - first], part);
        }
    }
    if (s->body->ring != 0) {
        Vec3 n = vec3_normalize_or(ring_area(s), vec3_zero());
        for (u32 i = 0; i < s->body->ring; i++) {
            const u32 *p = s->ring[i].point;
            Vec3 side = vec3_sub(place(s, p[1] - first), place(s, p[0] - first));
            Vec3 part = vec3_scale(vec3_cross(side, n), 0.5f);
            gradient[p[0] - first] = vec3_add(gradient[p[0] - first], part);
            gradient[p[1] - first] = vec3_add(gradient[p[1] - first], part);
        }
    }
}

f64 pressure_amount_now(const Soft *soft, u32 body)
{
    const SoftDef *def = &soft->bodies[body].def;
    f64 share = 1.0, age = (f64)soft->body_constraints->states[body].age_s;
    if (def->inflate_s > 0.0f && age < (f64)def->inflate_s) {
        share = age / (f64)def->inflate_s;
    }
    f64 above = share * (f64)def->pressure * (f64)soft->pressure_scale;
    return (above + air_pressure) * (f64)soft->bodies[body].rest_volume;
}

/* Σ over particles of ∇V · v, m³/s, and of w |∇V|², in fixed order. */
static void sum_motion(const GasSurface *s, const Vec3 *gradient, f64 *rate, f64 *give)
{
    *rate = 0.0;
    *give = 0.0;
    for (u32 i = 0; i < s->body->count; i++) {
        *rate += (f64)vec3_dot(gradient[i], s->points[i].velocity);
        *give += (f64)(s->points[i].inverse_mass * vec3_length_squared(gradient[i]));
    }
}

f64 pressure_amount(Soft *soft, u32 index)
{
    BodyConstraintState *state = &soft->body_constraints->states[index];
    if (soft->step == 0) {
        state->age_s = f32_min(state->age_s + soft->tick_s, soft->bodies[index].def.inflate_s);
    }
    return pressure_amount_now(soft, index);
}

void pressure_solve(Soft *soft, u32 index, f32 h)
{
    const SoftBody *body = &soft->bodies[index];
    BodyConstraints *body_constraints = soft->body_constraints;
    BodyConstraintState *state = &body_constraints->states[index];
    f64 gas = pressure_amount(soft, index);
    GasSurface s = surface_of(soft, body);
    Vec3 *gradient = body_constraints->gradient + body->first;
    find_gradient(&s, gradient);
    f64 rate, give, volume = volume_of(&s, body->def.volume);
    sum_motion(&s, gradient, &rate, &give);
    if (!(give > 0.0)) {
        return; /* flat, or all points pinned */
    }
    if (body->def.volume != SOFT_VOLUME_GAUSS) { /* which scales differently */
        f64 of_gauss = volume_of(&s, SOFT_VOLUME_GAUSS);
        f64 ratio = of_gauss > 1e-3 * volume ? volume / of_gauss : 1.0;
        rate *= ratio;
        give *= ratio;
    }
    give *= (f64)h * (f64)h; /* m³ per Pa */
    /* Later stages of the step, mainly contact, are assumed to change the volume by as much as
     * last time. */
    f64 taken = state->expected > 0.0f ? volume - (f64)state->expected : 0.0;
    f64 before = volume + rate * (f64)h + taken;
    /* (p + air) (V + p give) = n R T; the volume at the end is its positive root. */
    f64 bare = before - air_pressure * give; /* at P = 0 */
    f64 end = 0.5 * (bare + sqrt(bare * bare + 4.0 * give * gas));
    f64 pressure = (end - before) / give;
    f32 impulse = (f32)pressure * h;
    for (u32 i = 0; i < body->count; i++) {
        SoftPoint *p = &soft->points[body->first + i];
        p->velocity = vec3_add_scaled(p->velocity, impulse * p->inverse_mass, gradient[i]);
    }
    state->pressure = (f32)pressure;
    state->expected = (f32)(end - taken);
}
