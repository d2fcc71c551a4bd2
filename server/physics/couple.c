/* couple.c: points against rigid shapes. */
#include "server/physics/couple.h"

/* A particle deep inside leaves at this speed, not at once: what is pushed out must not explode. */
static const f32 push_out_m_s = 6.0f;
/* A blow at this approach speed wakes a sleeping body. */
static const f32 wake_m_s = 0.4f;

static f32 box_distance(Vec3 half, Vec3 p, Vec3 *normal)
{
    Vec3 a = vec3_abs(p);
    Vec3 q = vec3_sub(a, half);
    Vec3 sign =
        vec3(p.x < 0.0f ? -1.0f : 1.0f, p.y < 0.0f ? -1.0f : 1.0f, p.z < 0.0f ? -1.0f : 1.0f);
    if (q.x <= 0.0f && q.y <= 0.0f && q.z <= 0.0f) { /* inside: the nearest face */
        if (q.x >= q.y && q.x >= q.z) {
            *normal = vec3(sign.x, 0.0f, 0.0f);
            return q.x;
        }
        if (q.y >= q.z) {
            *normal = vec3(0.0f, sign.y, 0.0f);
            return q.y;
        }
        *normal = vec3(0.0f, 0.0f, sign.z);
        return q.z;
    }
    Vec3 out = vec3_mul(vec3_max(q, vec3_zero()), sign);
    f32 length = vec3_length(out);
    *normal = vec3_normalize_or(out, vec3(0.0f, 1.0f, 0.0f));
    return length;
}

static f32 ball_distance(Vec3 p, f32 radius, Vec3 *normal)
{
    *normal = vec3_normalize_or(p, vec3(0.0f, 1.0f, 0.0f));
    return vec3_length(p) - radius;
}

f32 couple_distance(const Shape *shape, Vec3 position, Quat orientation, Vec3 point, Vec3 *normal)
{
    Vec3 p = quat_rotate_inverse(orientation, vec3_sub(point, position));
    Vec3 n = vec3(0.0f, 1.0f, 0.0f);
    f32 distance;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        distance = ball_distance(p, shape->radius, &n);
        break;
    case SHAPE_BOX:
        distance = box_distance(shape->half, p, &n);
        break;
    case SHAPE_CAPSULE:
        p.y -= f32_clamp(p.y, -shape->half_height, shape->half_height);
        distance = ball_distance(p, shape->radius, &n);
        break;
    case SHAPE_PLANE:
        distance = p.y;
        break;
    default:
        distance = 3.4e38f;
        break;
    }
    *normal = quat_rotate(orientation, n);
    return distance;
}

/* Changes the speed of the particle against the body by `speed`, each by its share. */
static void exchange(Rigid *rigid, u32 slot, CoupleParticle *particle, Vec3 arm, Vec3 direction,
                     f32 speed)
{
    f32 inverse_mass = rigid_inverse_mass_at(rigid, slot, arm, direction);
    f32 impulse = speed / (particle->inverse_mass + inverse_mass);
    particle->velocity =
        vec3_add_scaled(particle->velocity, impulse * particle->inverse_mass, direction);
    if (inverse_mass > 0.0f) {
        rigid_impulse(rigid, slot, arm, vec3_scale(direction, -impulse));
    }
}

bool couple_particle(Rigid *rigid, u32 slot, CoupleParticle *particle, f32 h)
{
    Vec3 normal;
    Vec3 centre = rigid_centre(rigid, slot);
    /* Where the particle would be had it gone on with the body to the body's pose. */
    Vec3 point = vec3_add_scaled(particle->position, h, particle->velocity);
    point = vec3_add(point, particle->carried);
    f32 distance = couple_distance(rigid_shape(rigid, slot), rigid_position(rigid, slot),
                                   rigid_orientation(rigid, slot), point, &normal);
    f32 depth = particle->radius - distance;
    if (!(depth > 0.0f) || particle->inverse_mass <= 0.0f) {
        return false;
    }
    Vec3 arm = vec3_sub(vec3_add_scaled(point, -distance, normal), centre);
    Vec3 against = vec3_sub(particle->velocity, rigid_velocity_at(rigid, slot, arm));
    f32 approach = -vec3_dot(against, normal);
    if (approach > wake_m_s && rigid_motion(rigid, slot) == BODY_DYNAMIC) {
        rigid_wake(rigid, slot);
    }
    /* What this step's motion brought in is taken back whole; what was inside before leaves at a
     * bounded speed. */
    f32 push = f32_min(depth / h, f32_max(approach, 0.0f) + push_out_m_s);
    exchange(rigid, slot, particle, arm, normal, push);

    Vec3 slip = vec3_add_scaled(against, approach, normal);
    f32 slipped = vec3_length(slip);
    if (slipped > 1e-6f) {
        /* Static friction stops all of it, kinetic friction what the normal push allows. */
        f32 mu = sqrtf(particle->friction * rigid_friction(rigid, slot));
        exchange(rigid, slot, particle, arm, vec3_scale(slip, -1.0f / slipped),
                 f32_min(slipped, mu * push));
    }
    return true;
}
