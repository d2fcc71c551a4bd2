/* method_smooth.c: damping of velocity differences along edges, for air and fibre friction; and
 * a limit on stretch. */
#include "server/physics/soft/method.h"

#include "shared/math/symmetric.h"

/* Of the trace of the inertia, added to its diagonal: a straight rope has none about itself. */
static const f32 inertia_least = 1e-5f;
static const f32 stretch_max = 3.0f; /* of the length of edges */

typedef struct SmoothRotation {
    Vec3 centre; /* m */
    Vec3 velocity;
    Vec3 momentum; /* kg m²/s about the centre */
    Symmetric3 inverse_inertia;
    bool free; /* no point is pinned */
} SmoothRotation;

static SmoothRotation turning_of(const Soft *soft, const SoftBody *body)
{
    SmoothRotation t = {.free = true};
    f32 mass = 0.0f;
    const SoftPoint *points = soft->points + body->first;
    for (u32 i = 0; i < body->count; i++) {
        if (points[i].inverse_mass <= 0.0f) {
            t.free = false;
            return t;
        }
        f32 m = 1.0f / points[i].inverse_mass;
        /* Relative to the first point: sums of coordinates far from the origin would lose
         * precision. */
        t.centre = vec3_add_scaled(t.centre, m, vec3_sub(points[i].position, points[0].position));
        t.velocity = vec3_add_scaled(t.velocity, m, points[i].velocity);
        mass += m;
    }
    t.centre = vec3_add_scaled(points[0].position, 1.0f / mass, t.centre);
    t.velocity = vec3_scale(t.velocity, 1.0f / mass);
    Symmetric3 inertia = {0.0f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
    for (u32 i = 0; i < body->count; i++) {
        f32 m = 1.0f / points[i].inverse_mass;
        Vec3 r = vec3_sub(points[i].position, t.centre);
        Vec3 v = vec3_sub(points[i].velocity, t.velocity);
        t.momentum = vec3_add_scaled(t.momentum, m, vec3_cross(r, v));
        Symmetric3 of = {r.y * r.y + r.z * r.z,
                         r.x * r.x + r.z * r.z,
                         r.x * r.x + r.y * r.y,
                         -r.x * r.y,
                         -r.x * r.z,
                         -r.y * r.z};
        inertia = symmetric_add(inertia, symmetric_scale(of, m));
    }
    f32 least = inertia_least * (inertia.xx + inertia.yy + inertia.zz);
    inertia = symmetric_add(inertia, symmetric_diagonal(vec3(least, least, least)));
    t.inverse_inertia = symmetric_inverse(&inertia);
    return t;
}

/* Of the distance of two points. */
typedef struct Limit {
    f32 least, most; /* m */
    f32 back;        /* m, of what is beyond that a step takes back */
} Limit;

/* Pairs exchange a part of their velocity difference beyond the rotation of the body as a whole
 * (Müller et al. 2007, §3.5); lost angular momentum is restored. */
void smooth_step(Soft *soft, const SoftBody *body, f32 h)
{
    f32 rate = body->def.smoothing * h;
    f32 part = 0.5f * rate / (1.0f + rate);
    SmoothRotation before = turning_of(soft, body);
    Vec3 angular_velocity = symmetric_mul(&before.inverse_inertia, before.momentum);
    for (u32 i = 0; i < body->constraint_count; i++) {
        const SoftConstraint *edge = &soft->constraints[body->first_constraint + i];
        if (edge->kind != CONSTRAINT_DISTANCE || edge->role != ROLE_STRETCH) {
            continue;
        }
        SoftPoint *a = &soft->points[edge->point[0]], *b = &soft->points[edge->point[1]];
        f32 w = a->inverse_mass + b->inverse_mass;
        if (w <= 0.0f) {
            continue;
        }
        Vec3 apart = vec3_sub(b->velocity, a->velocity);
        apart = vec3_sub(apart, vec3_cross(angular_velocity, vec3_sub(b->position, a->position)));
        Vec3 impulse = vec3_scale(apart, part / w);
        a->velocity = vec3_add_scaled(a->velocity, a->inverse_mass, impulse);
        b->velocity = vec3_add_scaled(b->velocity, -b->inverse_mass, impulse);
    }
    if (!before.free) {
        return;
    }
    SmoothRotation after = turning_of(soft, body);
    Vec3 lost = vec3_sub(before.momentum, after.momentum);
    Vec3 back = symmetric_mul(&after.inverse_inertia, lost);
    for (u32 i = body->first; i < body->first + body->count; i++) {
        Vec3 arm = vec3_sub(soft->points[i].position, after.centre);
        soft->points[i].velocity = vec3_add(soft->points[i].velocity, vec3_cross(back, arm));
    }
}

/* Removes the speed that would move two points out of [least, most] m within h, or farther out than
 * they are by less than `back` m: only what moves out loses it, and nothing is thrown back. */
static void limit_pair(Soft *soft, u32 p, u32 q, Limit of, f32 h)
{
    SoftPoint *a = &soft->points[p], *b = &soft->points[q];
    f32 w = a->inverse_mass + b->inverse_mass;
    Vec3 now = vec3_sub(b->position, a->position);
    Vec3 d = vec3_add_scaled(now, h, vec3_sub(b->velocity, a->velocity));
    f32 d2 = vec3_length_squared(d);
    if (d2 < 1e-18f || w <= 0.0f || (d2 <= of.most * of.most && d2 >= of.least * of.least)) {
        return;
    }
    f32 length = sqrtf(d2), before = vec3_length(now);
    f32 least = f32_min(of.least, before + of.back), most = f32_max(of.most, before - of.back);
    f32 off = length - f32_clamp(length, least, most);
    Vec3 step = vec3_scale(d, off / (h * length * w));
    a->velocity = vec3_add_scaled(a->velocity, a->inverse_mass, step);
    b->velocity = vec3_add_scaled(b->velocity, -b->inverse_mass, step);
}

/* Removes the speed that would stretch edges excessively, as Provot 1995 does for cloth, or
 * violate limits of the definition. Tetrahedra count by their edges. */
void limit_step(Soft *soft, const SoftBody *body, f32 h)
{
    u32 end = body->first_constraint + body->constraint_count;
    for (u32 i = body->first_constraint; i < end; i++) {
        const SoftConstraint *of = &soft->constraints[i];
        u32 points = constraint_points(of->kind);
        if (of->kind == CONSTRAINT_DISTANCE && of->role == ROLE_LIMIT) {
            Limit limit = {of->low, of->high, CONTACT_APART_M_S * h};
            limit_pair(soft, of->point[0], of->point[1], limit, h);
        } else if (of->kind == CONSTRAINT_DISTANCE && of->role == ROLE_STRETCH) {
            Limit limit = {0.0f, stretch_max * of->high, CONTACT_APART_M_S * h};
            limit_pair(soft, of->point[0], of->point[1], limit, h);
        }
        bool solid = of->kind == CONSTRAINT_VOLUME || of->kind == CONSTRAINT_NEO_HOOKEAN;
        for (u32 k = 0; solid && k < points; k++) {
            u32 p = of->point[k], q = of->point[(k + 1) % points];
            f32 rest = vec3_distance(soft->rest[p], soft->rest[q]);
            limit_pair(soft, p, q, (Limit){0.0f, stretch_max * rest, CONTACT_APART_M_S * h}, h);
        }
    }
}
