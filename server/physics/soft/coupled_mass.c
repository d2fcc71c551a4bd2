/* coupled_mass.c: see soft_internal.h. */
#include "server/physics/soft/batches.h"

#include "shared/base/error.h"

#include <stdlib.h>

/* Inverse mass, as a part of its own, of a particle attached to an immovable body: small, yet
 * large enough to recover the impulse it received from its motion. */
static const f32 firm = 1e-3f;
/* Upper bound of a body's response in any direction over its mean. */
static const f32 mean_to_any = 2.0f;

/* A particle attached to a rigid body. */
struct CoupledMass {
    u32 attachment;
    u32 shares; /* attachments to the same body: each takes one share of it */
    bool live;  /* in this step */
    f32 weight; /* 1/kg, of particle and body together */
    Vec3 speed; /* m/s, that moves the particle to its anchor */
    f32 own_weight;
    Vec3 own_velocity; /* m/s, before the constraints */
};

Vec3 soft_contact_hold_speed(const Soft *soft, const SoftAttachment *held, Vec3 position, f32 h)
{
    ContactMotion motion = soft_motion_of(soft, soft->holder, held->body.slot);
    Vec3 hold = quat_rotate(motion.orientation, held->local);
    Vec3 arm = vec3_sub(position, motion.centre);
    Vec3 moving = contact_motion_at(&motion, hold);
    moving = vec3_add(moving, vec3_add(motion.bias, vec3_cross(motion.bias_angular, hold)));
    return vec3_add_scaled(moving, 1.0f / h, vec3_sub(hold, arm));
}

static bool is_solved_here(const Soft *soft, const SoftAttachment *held)
{
    return soft->bodies[soft->matter[held->particle].body].def.method == SOFT_XPBD;
}

static u32 shares_of(const Soft *soft, BodyId body)
{
    u32 count = 0;
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        count += held->body.slot == body.slot && held->body.generation == body.generation;
    }
    return count;
}

int coupled_mass_create(Soft *soft)
{
    ConstraintBatches *batches = soft->batches;
    free(soft->held);
    soft->held = calloc((size_t)soft->attachment_count + 1, sizeof *soft->held);
    if (soft->held == NULL) {
        return ERROR_MEMORY;
    }
    for (u32 g = 0; g < batches->group_count; g++) {
        batches->groups[g].held = (BatchSpan){0, 0};
    }
    for (u32 i = 0; i < soft->attachment_count; i++) {
        batches->groups[batches->group_of[soft->attachments[i].particle]].held.count++;
    }
    u32 first = 0;
    for (u32 g = 0; g < batches->group_count; g++) {
        BatchSpan *span = &batches->groups[g].held;
        span->first = first;
        first += span->count;
        span->count = 0;
    }
    u32 shares = 0;
    for (u32 i = 0; i < soft->attachment_count; i++) {
        const SoftAttachment *held = &soft->attachments[i];
        BatchSpan *span = &batches->groups[batches->group_of[held->particle]].held;
        bool same = i > 0 && held->body.slot == held[-1].body.slot &&
                    held->body.generation == held[-1].body.generation;
        shares = same ? shares : shares_of(soft, held->body);
        soft->held[span->first + span->count++] = (CoupledMass){.attachment = i, .shares = shares};
    }
    return ERROR_OK;
}

void coupled_mass_begin(Soft *soft, f32 h, bool moves)
{
    for (u32 b = 0; b < soft->body_count; b++) {
        soft->bodies[b].fixed = false;
    }
    for (u32 i = 0; i < soft->attachment_count; i++) {
        CoupledMass *held = &soft->held[i];
        const SoftAttachment *attachment = &soft->attachments[held->attachment];
        const SoftPoint *p = &soft->points[attachment->particle];
        held->live = p->inverse_mass > 0.0f && soft_holds(soft, attachment) &&
                     is_solved_here(soft, attachment);
        if (!held->live) {
            continue;
        }
        const Collider *collider = soft_collider_of(soft, soft->holder);
        u32 thing = attachment->body.slot;
        Vec3 at = moves ? vec3_add_scaled(p->position, h, p->velocity) : p->position;
        Vec3 arm = vec3_sub(at, soft_motion_of(soft, soft->holder, thing).centre);
        Symmetric3 response = collider->ops->bodies->response(collider->of, thing, arm);
        f32 body = (response.xx + response.yy + response.zz) / 3.0f;
        const SoftSupport *support = soft_support(soft, soft->holder, thing);
        f32 loaded = support != NULL ? support->loaded : 0.0f;
        body *= mean_to_any * ((f32)held->shares + loaded);
        held->weight = body > 0.0f ? p->inverse_mass * body / (p->inverse_mass + body)
                                   : firm * p->inverse_mass;
        SoftBody *of = &soft->bodies[soft->matter[attachment->particle].body];
        of->fixed = of->fixed || !(body > 0.0f);
        held->speed = soft_contact_hold_speed(soft, attachment, at, h);
    }
}

void coupled_mass_increase(Soft *soft, u32 group)
{
    const BatchSpan span = soft->batches->groups[group].held;
    for (u32 i = span.first; i < span.first + span.count; i++) {
        CoupledMass *held = &soft->held[i];
        SoftPoint *p = &soft->points[soft->attachments[held->attachment].particle];
        if (held->live) {
            held->own_weight = p->inverse_mass;
            held->own_velocity = p->velocity;
            p->inverse_mass = held->weight;
            p->velocity = held->speed;
            if (soft->stiffs != NULL) {
                stiff_start(soft, soft->attachments[held->attachment].particle);
            }
        }
    }
}

/* Backwards: a particle may be attached twice. */
void coupled_mass_restore(Soft *soft, u32 group)
{
    const BatchSpan span = soft->batches->groups[group].held;
    for (u32 i = span.first + span.count; i-- > span.first;) {
        CoupledMass *held = &soft->held[i];
        SoftPoint *p = &soft->points[soft->attachments[held->attachment].particle];
        if (held->live) {
            Vec3 given = vec3_sub(p->velocity, held->speed);
            p->velocity =
                vec3_add_scaled(held->own_velocity, held->own_weight / held->weight, given);
            p->inverse_mass = held->own_weight;
        }
    }
}
