/* predict.c: damping, gravity and wind, at the start of a step. */
#include "server/physics/soft/batches.h"

/* Values common to the particles of a body. */
typedef struct Air {
    f32 kept; /* fraction of the velocity left by damping */
    f32 h;
    bool drags;
    Vec3 fall; /* m/s */
} Air;

static Air air_of(const Soft *soft, const SoftBody *body, f32 h)
{
    return (Air){1.0f / (1.0f + body->def.damping * h), h, soft_has_drag(soft, body),
                 vec3_scale(soft->gravity, h)};
}

/* Damping before gravity: after it, a resting cloth would sag too little. */
static void predict(Soft *soft, u32 particle, const Air *air)
{
    SoftPoint *p = &soft->points[particle];
    if (p->inverse_mass > 0.0f) {
        Vec3 v = vec3_add(vec3_scale(p->velocity, air->kept), air->fall);
        p->velocity = air->drags ? vec3_add(v, soft_wind(soft, particle, p->velocity, air->h)) : v;
    }
}

static void predict_all(Soft *soft, const u32 *order, u32 count, const Air *air)
{
    const Vec3 fall = air->fall;
    const f32 kept = air->kept;
    const f32x8 keep = {kept, kept, kept, 1.0f, kept, kept, kept, 1.0f};
    const f32x8 add = {fall.x, fall.y, fall.z, 0.0f, fall.x, fall.y, fall.z, 0.0f};
    for (u32 i = 0; i < count && air->drags; i++) {
        predict(soft, order[i], air);
    }
    for (u32 i = 0; i < count && !air->drags; i += 2) {
        u32 next = u32_min(i + 1, count - 1);
        SoftPoint *a = &soft->points[order[i]], *b = &soft->points[order[next]];
        if (a->inverse_mass > 0.0f && b->inverse_mass > 0.0f) {
            f32x8 v = f32x8_load_halves(&a->velocity.x, &b->velocity.x);
            f32x8_store_halves(&a->velocity.x, &b->velocity.x, v * keep + add);
            continue;
        }
        predict(soft, order[i], air);
        if (next != i) {
            predict(soft, order[next], air);
        }
    }
}

void soft_predict(Soft *soft, const SoftBody *body, f32 h)
{
    Air air = air_of(soft, body, h);
    predict_all(soft, soft->batches->order + body->first, body->count, &air);
}

void soft_predict_span(Soft *soft, const SoftBody *body, const u32 *order, u32 count, f32 h)
{
    Air air = air_of(soft, body, h);
    predict_all(soft, order, count, &air);
}
