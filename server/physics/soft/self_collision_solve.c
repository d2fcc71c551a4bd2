/* self_collision_solve.c: one pass over the contacts of soft bodies, in order. The impulses of a
 * contact are equal and opposite over its weights, so momentum is conserved. */
#include "server/physics/soft/self_collision.h"
#include "server/physics/soft/self_collision_near.h"

enum {
    WALK_MAX = 6 /* triangles a point may cross in one pass */
};

/* Positional correction: part of the penetration resolved in a pass, and its largest speed. */
static const f32 push_part = 0.3f;
static const f32 push_m_s = 1.0f;
/* In tangles: slower than constraints can untangle the body. */
static const f32 draw_m_s = 0.1f;
/* Greater than the speed change of a contact by constraints within a substep. */
static const f32 near_m_s = 1.0f;
/* A contact point that slid by more than this part of the distance kept is searched again. */
static const f32 slid_part = 0.3f;
/* A contact deeper than this many distances on the wrong side is dropped. */
static const f32 lost_keeps = 3.0f;

static Vec3 between(const Soft *soft, const CollisionContact *contact)
{
    Vec3 sum = vec3_zero();
    for (u32 k = 0; k < 4; k++) {
        sum = vec3_add_scaled(sum, contact->weight[k], soft->points[contact->point[k]].position);
    }
    return sum;
}

static void weigh(const Soft *soft, CollisionContact *contact)
{
    f32 w = 0.0f;
    for (u32 k = 0; k < 4; k++) {
        w += contact->weight[k] * contact->weight[k] * soft->points[contact->point[k]].inverse_mass;
    }
    contact->mass = w > 0.0f ? 1.0f / w : 0.0f;
}

/* Finds the triangle below the point from the previous one: over edges, so that it stays on its
 * side of the surface. False if it left the surface over its rim. */
static bool walk(const Soft *soft, CollisionContact *contact)
{
    const SelfCollision *collision = soft->collision;
    Vec3 at = soft->points[contact->a].position;
    for (u32 i = 0; i < WALK_MAX; i++) {
        const CollisionTriangle *triangle = &collision->triangles[contact->b];
        Vec3 c[3];
        f32 w[3];
        for (u32 k = 0; k < 3; k++) {
            c[k] = soft->points[triangle->point[k]].position;
        }
        u32 corners = triangle_nearest_weights(at, c[0], c[1], c[2], w);
        for (u32 k = 0; k < 3; k++) {
            contact->point[k + 1] = triangle->point[k];
            contact->weight[k + 1] = -w[k];
        }
        Vec3 n = vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0]));
        contact->normal = vec3_scale(vec3_normalize_or(n, contact->normal), contact->side);
        if (corners == 7) {
            return true;
        }
        /* Over the edge that the nearest point is on; from a corner, over either. */
        u32 edge = corners == 3 || corners == 1 ? 0 : corners == 6 || corners == 2 ? 1 : 2;
        u32 next = triangle->across[edge];
        if (next == SOFT_NONE && (corners & (corners - 1)) == 0) {
            next = triangle->across[(edge + 2) % 3];
        }
        if (next == SOFT_NONE) {
            return false;
        }
        const u32 *q = collision->triangles[next & ~COLLISION_FLIPPED].point;
        if (q[0] == contact->a || q[1] == contact->a || q[2] == contact->a) {
            return true; /* a triangle of the point itself */
        }
        contact->b = next & ~COLLISION_FLIPPED;
        contact->side = (next & COLLISION_FLIPPED) != 0 ? -contact->side : contact->side;
    }
    return true;
}

/* Finds the nearest points anew. */
static void refresh(const Soft *soft, CollisionContact *contact)
{
    Vec3 last = contact->normal;
    if (contact->kind == COLLISION_POINT_TRIANGLE) {
        bool face = contact->side != 0.0f;
        if (face && walk(soft, contact)) {
            weigh(soft, contact);
            return;
        }
        f32 w[3];
        triangle_nearest_weights(
            soft->points[contact->a].position, soft->points[contact->point[1]].position,
            soft->points[contact->point[2]].position, soft->points[contact->point[3]].position, w);
        for (u32 k = 0; k < 3; k++) {
            contact->weight[k + 1] = -w[k];
        }
    } else {
        f32 s, t;
        const u32 *p = contact->point;
        nearest_parts(soft->points[p[0]].position, soft->points[p[1]].position,
                      soft->points[p[2]].position, soft->points[p[3]].position, &s, &t);
        contact->weight[0] = 1.0f - s;
        contact->weight[1] = s;
        contact->weight[2] = t - 1.0f;
        contact->weight[3] = -t;
        if (contact->side != 0.0f && s > 0.0f && s < 1.0f && t > 0.0f && t < 1.0f) {
            Vec3 across =
                vec3_cross(vec3_sub(soft->points[p[1]].position, soft->points[p[0]].position),
                           vec3_sub(soft->points[p[3]].position, soft->points[p[2]].position));
            Vec3 n = vec3_normalize_or(across, last);
            contact->normal = vec3_dot(n, last) < 0.0f ? vec3_neg(n) : n;
            contact->side = vec3_dot(contact->normal, across) < 0.0f ? -1.0f : 1.0f;
            weigh(soft, contact);
            return;
        }
    }
    /* Around a rim or an end: the current direction. */
    contact->side = 0.0f;
    contact->normal = vec3_normalize_or(between(soft, contact), last);
    weigh(soft, contact);
}

static void remember(SelfCollision *collision, const CollisionContact *contact)
{
    if (contact->side != 0.0f && collision->crossing_count < collision->crossing_capacity) {
        collision->crossings[collision->crossing_count++] =
            (CollisionCrossing){contact->a, contact->b, contact->kind, contact->side};
    }
}

static void share(Soft *soft, const CollisionContact *contact, Vec3 impulse)
{
    for (u32 k = 0; k < 4; k++) {
        SoftPoint *p = &soft->points[contact->point[k]];
        p->velocity = vec3_add_scaled(p->velocity, contact->weight[k] * p->inverse_mass, impulse);
    }
}

/* Moves the two parts apart by up to `apart` along the normal, by mass. Relative tangential
 * motion then continues at a larger distance, and slower in proportion, which preserves angular
 * momentum. */
static void move_apart(Soft *soft, const CollisionContact *contact, f32 distance, f32 apart)
{
    Vec3 against = vec3_zero();
    f32 most = 0.0f;
    for (u32 k = 0; k < 4; k++) {
        f32 w = soft->points[contact->point[k]].inverse_mass;
        most = f32_max(most, fabsf(contact->weight[k]) * w * contact->mass * apart);
    }
    apart *= soft_lever_part(most, apart);
    for (u32 k = 0; k < 4; k++) {
        SoftPoint *p = &soft->points[contact->point[k]];
        f32 part = contact->weight[k] * p->inverse_mass * contact->mass * apart;
        p->position = vec3_add_scaled(p->position, part, contact->normal);
        against = vec3_add_scaled(against, contact->weight[k], p->velocity);
    }
    if (distance > 0.0f) {
        Vec3 slip = vec3_add_scaled(against, -vec3_dot(against, contact->normal), contact->normal);
        share(soft, contact, vec3_scale(slip, -contact->mass * apart / (distance + apart)));
    }
}

/* False: not near in this substep, of which `ahead` seconds are left. */
static bool solve(Soft *soft, CollisionContact *contact, f32 h, f32 ahead)
{
    Vec3 apart = vec3_zero(), against = vec3_zero();
    for (u32 k = 0; k < 4; k++) {
        const SoftPoint *p = &soft->points[contact->point[k]];
        apart = vec3_add_scaled(apart, contact->weight[k], p->position);
        against = vec3_add_scaled(against, contact->weight[k], p->velocity);
    }
    f32 distance = vec3_dot(apart, contact->normal), speed = vec3_dot(against, contact->normal);
    if (distance + h * speed >= contact->keep) {
        return distance + ahead * (speed - near_m_s) < contact->keep;
    }
    Vec3 slid = vec3_add_scaled(apart, -distance, contact->normal);
    f32 slack = slid_part * contact->keep;
    if (vec3_length_squared(slid) > slack * slack) {
        refresh(soft, contact);
        apart = between(soft, contact);
        against = vec3_zero();
        for (u32 k = 0; k < 4; k++) {
            against = vec3_add_scaled(against, contact->weight[k],
                                      soft->points[contact->point[k]].velocity);
        }
        distance = vec3_dot(apart, contact->normal);
        speed = vec3_dot(against, contact->normal);
        if (distance + h * speed >= contact->keep) {
            return true;
        }
        /* Slid past an end or a rim. */
        slid = vec3_add_scaled(apart, -distance, contact->normal);
        if (vec3_length_squared(slid) > contact->keep * contact->keep) {
            return true;
        }
    }
    if (distance < 0.0f) {
        /* On the wrong side: moved back slowly, and only once in a substep. */
        if (distance < -lost_keeps * contact->keep || soft->step % soft->taken != 0) {
            return true;
        }
        remember(soft->collision, contact);
        h = ahead;
    }
    f32 gap = distance - contact->keep;
    f32 change = -f32_max(gap, 0.0f) / h - speed; /* approaching motion is stopped entirely */
    if (contact->compliance > 0.0f) {             /* a spring, not a rigid contact */
        f32 over = contact->keep - distance - h * speed;
        change = over / (h * (1.0f + contact->compliance * contact->mass / (h * h)));
    }
    if (change > 0.0f) {
        Vec3 impulse = vec3_scale(contact->normal, change * contact->mass);
        /* Macklin et al. 2014, eq. 24: static friction holds without any slip. */
        Vec3 slip = vec3_add_scaled(against, -speed, contact->normal);
        f32 slipped = vec3_length(slip);
        if (slipped > 1e-9f) {
            f32 stopped = slipped <= contact->static_friction * change
                              ? slipped
                              : f32_min(slipped, contact->friction * change);
            impulse = vec3_add_scaled(impulse, -stopped * contact->mass / slipped, slip);
        }
        share(soft, contact, impulse);
    }
    /* Separating parts need no positional correction. */
    f32 left = -gap - h * f32_max(speed, 0.0f);
    if (left > 0.0f && contact->compliance == 0.0f) {
        bool tangled = distance < 0.0f || contact->gentle != 0;
        f32 most = (tangled ? draw_m_s : push_m_s) * h;
        move_apart(soft, contact, distance, f32_min(f32_min(-gap * push_part, most), left));
    }
    return true;
}

/* The first pass of a substep visits all contacts, the others those that it found near:
 * otherwise constraints would push one layer through the next in each step. Gentle contacts are
 * visited once per substep only: where a body is tangled or strongly stretched, contacts must
 * not win against its constraints. */
void self_collision_pass(Soft *soft, f32 h, f32 ahead, bool first)
{
    SelfCollision *collision = soft->collision;
    if (!first) {
        for (u32 i = 0; i < collision->active_count; i++) {
            solve(soft, collision->active[i], h, ahead);
        }
        return;
    }
    collision->active_count = 0;
    for (u32 c = 0; c < collision->chunk_count; c++) {
        CollisionChunk *chunk = &collision->chunks[c];
        for (u32 i = 0; i < chunk->count; i++) {
            CollisionContact *contact = &chunk->contacts[i];
            bool near = solve(soft, contact, contact->gentle != 0 ? ahead : h, ahead);
            if (near && contact->gentle == 0 &&
                collision->active_count < collision->active_capacity) {
                collision->active[collision->active_count++] = contact;
            }
        }
    }
}
