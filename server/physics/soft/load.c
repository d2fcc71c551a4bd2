/*
 * load.c: solves stretched triangles together with the moving body that loads them. Contact and
 * constraints alternate, once in a step: a particle under a heavy body is pulled back by its edges,
 * but passes on only the momentum of its own mass, so that a ball of many times its mass stretches
 * a sheet to many times its length and falls through. While constraints are solved, the corners of
 * a stretched triangle under a body have a share of the body's mass, and its velocity; the part of
 * their impulse that exceeds their own mass is passed to the body at their position. The same holds
 * for a rope that winds about the body that hangs on it: solved alone, it would straighten through
 * the body and be pushed out again; this lengthens it, and it would pull the body by that in each
 * step. Stretching a free corner costs little energy; if a body of ten thousand times its mass then
 * presses on it, the stretch acts on that mass, and would throw it. So cloth that is held by the
 * world counts the energy it receives from the bodies that press on it, and returns no more.
 * Grains and drops, which are solved after soft bodies, name what supports them in each substep
 * (loads_add): their masses and momenta add up at each corner, and they only rest on it, so that
 * what they get is a push along the normal, and friction.
 * Method: mass splitting; the count is that of a passivity observer and controller (Hannaford, Ryu,
 * "Time-domain passivity control of haptic interfaces", 2002).
 */
#include "server/physics/soft/batches.h"

#include "server/physics/state.h"
#include "shared/base/error.h"

#include <stdlib.h>

/* Of a cell: excess length of the longest edge from which a triangle counts as stretched. */
static const f32 stretch_least = 0.005f;
/* Of the thickness: a triangle within this distance of the body, now or at the end of the step,
 * counts as loaded: overlong edges pull it there. */
static const f32 slack_part = 0.5f;
/* Upper bound of a body's response in any direction over its mean. */
static const f32 mean_to_any = 2.0f;
/* Least barycentric weight of a loaded corner. */
static const f32 weight_least = 0.05f;
/* The same for a rope that winds about the body that hangs on it: the far end of a segment that is
 * long compared to the body does not rotate with it. */
static const f32 weight_least_rope = 0.25f;

/* A particle within this part of its radius presses on its support, or within what the two move
 * against each other in a substep: what an impact threw ahead of it comes back to it. */
static const f32 presses_part = 0.1f;
/* A particle beside pins presses with all of its mass on the free corners, if these have this part
 * of it or more. */
static const f32 share_least = 0.5f;

enum {
    /* Particles upon held cloth, whose room (104 bytes each) is reserved when liquids or grains are
     * met first; more are not solved with it. */
    SUPPORTED_MOST = 32768
};

/* s: energy that a body has received may be returned for about this long. */
static const f32 credit_s = 1.0f;

/* A particle in this step. */
typedef struct Load {
    u32 particle;
    OtherThing by;
    SoftSupport *support; /* of the body */
    f32 part;             /* Σ of the corner's barycentric weights */
    f32 weight;           /* 1/kg, of particle and body together */
    Vec3 local;           /* m, where the body presses: Σ in its frame, by these weights */
    Vec3 moving, speed;   /* m/s, of the body there; of both together */
    f32 share;            /* 1/kg, inverse of its share of the body's mass */
    f32 own_weight;
    Vec3 own_velocity; /* m/s, without the constraints */
    Vec3 impulse;      /* N s, for the body */
    Vec3 normal, pull; /* of a rope: out of the body; sum of the directions of its segments */
    bool rope;         /* belongs to the soft body that the body hangs on */
    bool held;         /* the world holds its soft body */
    bool particles;    /* no body: what rests here, of `part` kg, and their mean friction */
    f32 friction;
} Load;

/* A particle of another kind that corners of a triangle or segment support. */
typedef struct Supported {
    u32 point[3];
    f32 weight[3];
    Vec3 normal;    /* from the soft body */
    f32 gap, speed; /* m, between the two; m/s, along the normal */
    ContactLoad of;
    bool loads; /* in this step: it presses on taut corners */
} Supported;

struct Loads {
    Load *loads; /* [count] */
    u32 *order;  /* [count] by group */
    u32 count, capacity, order_capacity;
    u32 *of;              /* [particles] index of its load, or SOFT_NONE */
    u32 *first;           /* [groups + 1] into order */
    Vec3 *velocity;       /* [particles] m/s, before the constraints, of bodies that are loaded */
    u32 *on;              /* [bodies] loads on it */
    Supported *supported; /* [supported_count] in this substep */
    u32 supported_count, supported_capacity;
    u32 supported_most; /* in this tick: there is room for them */
    bool any_supports;  /* a body supports particles in this tick */
    /* Length constraints at each particle, except those of bending: [particles + 1] into ties. */
    u32 *first_tie, *ties;
    u32 tie_capacity;
};

void loads_destroy(Loads *loads)
{
    if (loads != NULL) {
        free(loads->loads);
        free(loads->order);
        free(loads->of);
        free(loads->first);
        free(loads->velocity);
        free(loads->on);
        free(loads->supported);
        free(loads->first_tie);
        free(loads->ties);
        free(loads);
    }
}

u64 loads_memory(const Soft *soft)
{
    const Loads *loads = soft->loads;
    return loads == NULL
               ? 0
               : sizeof *loads + loads->capacity * sizeof *loads->loads +
                     loads->order_capacity * sizeof *loads->order +
                     loads->supported_capacity * sizeof *loads->supported +
                     (u64)soft->count * (2 * sizeof *loads->of + sizeof *loads->velocity) +
                     loads->tie_capacity * sizeof *loads->ties;
}

static bool is_tie(const SoftConstraint *c)
{
    return c->kind == CONSTRAINT_DISTANCE && c->role != ROLE_BEND;
}

static bool list_ties(Soft *soft)
{
    Loads *loads = soft->loads;
    u32 *first = loads->first_tie, count = 0;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[i];
        for (u32 k = 0; k < 2 && is_tie(c); k++) {
            first[c->point[k]]++;
            count++;
        }
    }
    if (!memory_grow((void **)&loads->ties, &loads->tie_capacity, count + 1, sizeof(u32))) {
        return false;
    }
    for (u32 i = 0, sum = 0; i <= soft->count; i++) {
        sum += first[i];
        first[i] = sum;
    }
    for (u32 i = soft->constraint_count; i-- > 0;) {
        const SoftConstraint *c = &soft->constraints[i];
        for (u32 k = 0; k < 2 && is_tie(c); k++) {
            loads->ties[--first[c->point[k]]] = i;
        }
    }
    return true;
}

int loads_create(Soft *soft)
{
    u32 capacity = soft->count + 1; /* each point is loaded at most once: ticks never allocate */
    loads_destroy(soft->loads);
    Loads *loads = soft->loads = calloc(1, sizeof *loads);
    if (loads == NULL) {
        return ERROR_MEMORY;
    }
    loads->of = malloc(((size_t)soft->count + 1) * sizeof *loads->of);
    loads->first = calloc((size_t)soft->batches->group_count + 1, sizeof *loads->first);
    loads->first_tie = calloc((size_t)soft->count + 1, sizeof *loads->first_tie);
    loads->velocity = calloc((size_t)soft->count + 1, sizeof *loads->velocity);
    loads->on = calloc((size_t)soft->body_count + 1, sizeof *loads->on);
    if (loads->of == NULL || loads->first == NULL || loads->first_tie == NULL ||
        loads->velocity == NULL || loads->on == NULL || !list_ties(soft) ||
        !memory_grow((void **)&loads->loads, &loads->capacity, capacity, sizeof *loads->loads) ||
        !memory_grow((void **)&loads->order, &loads->order_capacity, capacity,
                     sizeof *loads->order)) {
        return ERROR_MEMORY;
    }
    memset(loads->of, 0xff, soft->count * sizeof *loads->of);
    return ERROR_OK;
}

/* ---- which ---- */

static Vec3 place_now(const SoftPoint *p, f32 h)
{
    return vec3_add_scaled(p->position, h, p->velocity);
}

/* A segment of the soft body that the body hangs on. */
static bool is_own_rope(const Soft *soft, const SoftFace *face)
{
    return soft->others[face->other].supports[face->mover].held != 0 &&
           face->point[1] == face->point[2];
}

/* Is a constraint at the particle overstretched? */
static bool is_taut(const Soft *soft, u32 particle, f32 late)
{
    const Loads *loads = soft->loads;
    f32 slack = stretch_least * soft->bodies[soft->matter[particle].body].cell;
    bool found = false;
    for (u32 i = loads->first_tie[particle]; i < loads->first_tie[particle + 1] && !found; i++) {
        const SoftConstraint *c = &soft->constraints[loads->ties[i]];
        f32 length = vec3_distance(place_now(&soft->points[c->point[0]], late),
                                   place_now(&soft->points[c->point[1]], late));
        found = length > c->high + slack;
    }
    return found;
}

/* Does the body press on the triangle, and is it taut? A rope that the body hangs on may be taut at
 * its rest length. A triangle may keep its size while the cloth around it stretches. `late`: s by
 * which the particles lag. */
static bool is_loaded(const Soft *soft, const SoftFace *face, f32 h, f32 late)
{
    const SoftBody *body = &soft->bodies[face->body];
    Vec3 at = vec3_zero(), moving = vec3_zero();
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[face->point[k]];
        at = vec3_add_scaled(at, face->weight[k], place_now(p, late));
        moving = vec3_add_scaled(moving, face->weight[k], p->velocity);
    }
    ContactMotion motion = soft_motion_of(soft, face->other, face->thing);
    Vec3 arm = vec3_sub(at, motion.centre), from = quat_rotate(motion.orientation, face->local);
    Vec3 against = vec3_add(contact_motion_at(&motion, arm), motion.bias);
    f32 gap = vec3_dot(vec3_sub(arm, from), face->normal) - body->def.thickness;
    f32 apart = vec3_dot(vec3_sub(moving, against), face->normal);
    bool presses = f32_min(gap, gap + h * apart) < slack_part * body->def.thickness;
    return presses && (is_own_rope(soft, face) || is_taut(soft, face->point[0], late) ||
                       is_taut(soft, face->point[1], late) || is_taut(soft, face->point[2], late));
}

/* Attached particles are already solved with their body (coupled_mass.c). */
static bool is_attached(const Soft *soft, const SoftFace *face, u32 particle)
{
    const SoftBody *body = &soft->bodies[face->body];
    bool found = false;
    for (u32 i = 0; i < body->pin_count && !found; i++) {
        found = soft->pinned[body->first_pin + i] == particle;
    }
    return found;
}

static void add_corner(Soft *soft, const SoftFace *face, u32 k)
{
    Loads *loads = soft->loads;
    const SoftBody *body = &soft->bodies[face->body];
    u32 particle = face->point[k], index = loads->of[particle];
    f32 part = face->weight[k];
    f32 least = is_own_rope(soft, face) ? weight_least_rope : weight_least;
    if (!(part > least) || !(soft->points[particle].inverse_mass > 0.0f) ||
        (is_own_rope(soft, face) && is_attached(soft, face, particle))) {
        return;
    }
    if (index == SOFT_NONE) {
        index = loads->of[particle] = loads->count++;
        loads->loads[index] = (Load){.particle = particle,
                                     .by = {face->other, face->thing},
                                     .support = &soft->others[face->other].supports[face->mover]};
    }
    Load *load = &loads->loads[index];
    if (soft_thing_is(load->by, face->other, face->thing)) { /* the first body in contact */
        load->part += part;
        load->local = vec3_add_scaled(load->local, part, face->local);
        load->normal = vec3_add_scaled(load->normal, part, face->normal);
        load->rope = is_own_rope(soft, face);
        load->held = body->pin_count > body->attachment_count;
    }
}

static void sort_loads(const Soft *soft)
{
    Loads *loads = soft->loads;
    const ConstraintBatches *batches = soft->batches;
    memset(loads->first, 0, (batches->group_count + 1) * sizeof *loads->first);
    for (u32 i = 0; i < loads->count; i++) {
        loads->first[batches->group_of[loads->loads[i].particle] + 1]++;
    }
    for (u32 g = 0; g < batches->group_count; g++) {
        loads->first[g + 1] += loads->first[g];
    }
    for (u32 i = 0; i < loads->count; i++) {
        loads->order[loads->first[batches->group_of[loads->loads[i].particle]]++] = i;
    }
    for (u32 g = batches->group_count; g > 0; g--) {
        loads->first[g] = loads->first[g - 1];
    }
    loads->first[0] = 0;
}

static void clear(Soft *soft)
{
    Loads *loads = soft->loads;
    for (u32 i = 0; i < loads->count; i++) {
        loads->of[loads->loads[i].particle] = SOFT_NONE;
    }
    loads->count = 0;
    memset(loads->on, 0, soft->body_count * sizeof *loads->on);
    for (u32 o = 0; o < soft->other_count; o++) {
        for (u32 i = 0; i < soft->others[o].support_count; i++) {
            soft->others[o].supports[i] = (SoftSupport){0};
        }
    }
    for (u32 i = 0; i < soft->attachment_count && soft->holder != SOFT_NONE; i++) {
        SoftSupport *support = soft_support(soft, soft->holder, soft->attachments[i].body.slot);
        if (support != NULL) {
            support->held++;
        }
    }
}

static bool may_load(const Soft *soft, const SoftFace *face)
{
    const SoftBody *body = &soft->bodies[face->body];
    const Collider *collider = soft_collider_of(soft, face->other);
    return face->near != 0 && face->mover != SOFT_NONE &&
           (soft->others[face->other].supports[face->mover].held == 0 || is_own_rope(soft, face)) &&
           body->def.method == SOFT_XPBD && !body->closed &&
           collider->ops->bodies->mass(collider->of, face->thing) > 0.0f &&
           collider->ops->bodies->awake(collider->of, face->thing);
}

/* Sums up the directions of the body's segments at each load. */
static void find_pulls(const Soft *soft, const SoftBody *body, f32 late)
{
    Loads *loads = soft->loads;
    for (u32 i = 0; i < body->segment_count; i++) {
        const u32 *p = soft->segments[body->first_segment + i].point;
        u32 at[2] = {loads->of[p[0]], loads->of[p[1]]};
        if (at[0] == SOFT_NONE && at[1] == SOFT_NONE) {
            continue;
        }
        Vec3 along = vec3_normalize_or(
            vec3_sub(place_now(&soft->points[p[1]], late), place_now(&soft->points[p[0]], late)),
            vec3_zero());
        for (u32 k = 0; k < 2; k++) {
            if (at[k] != SOFT_NONE) {
                Load *load = &loads->loads[at[k]];
                load->pull = vec3_add_scaled(load->pull, k == 0 ? 1.0f : -1.0f, along);
            }
        }
    }
}

/* A taut rope that winds about the body that hangs on it presses on it; where it leaves the body or
 * runs straight past it, its points are free. */
static void keep_pressed(Soft *soft, f32 late)
{
    Loads *loads = soft->loads;
    u32 kept = 0, body = SOFT_NONE;
    for (u32 i = 0; i < loads->count; i++) {
        u32 of = soft->matter[loads->loads[i].particle].body;
        if (loads->loads[i].rope && of != body) {
            find_pulls(soft, &soft->bodies[of], late);
        }
        body = loads->loads[i].rope ? of : body;
    }
    for (u32 i = 0; i < loads->count; i++) {
        Load load = loads->loads[i];
        loads->of[load.particle] = SOFT_NONE;
        if (!load.rope || vec3_dot(load.pull, load.normal) < 0.0f) {
            load.support->loaded += load.part;
            loads->of[load.particle] = kept;
            loads->loads[kept++] = load;
        }
    }
    loads->count = kept;
}

/* ---- particles of other kinds ---- */

/* Does something that takes no impulse hold it? Then momentum that it keeps goes there. */
static bool is_held(const Soft *soft, const SoftBody *body)
{
    bool held = body->pin_count > body->attachment_count;
    for (u32 i = 0; i < body->attachment_count && !held; i++) {
        const SoftAttachment *by = &soft->attachments[body->first_attachment + i];
        const Collider *collider =
            soft->holder != SOFT_NONE ? soft_collider_of(soft, soft->holder) : NULL;
        held = collider != NULL && soft_holds(soft, by) &&
               !(collider->ops->bodies->mass(collider->of, by->body.slot) > 0.0f);
    }
    return held;
}

/* An open body that something may hold. */
static bool may_support(const SoftBody *body)
{
    return body->def.method == SOFT_XPBD && !body->closed && body->pin_count != 0;
}

static bool may_support_any(const Soft *soft)
{
    bool any = false;
    for (u32 b = 0; b < soft->body_count && !any; b++) {
        any = may_support(&soft->bodies[b]);
    }
    return any;
}

void loads_tick(Soft *soft)
{
    bool any = false;
    for (u32 b = 0; b < soft->body_count; b++) {
        SoftBody *body = &soft->bodies[b];
        body->supports = may_support(body) && is_held(soft, body);
        any = any || body->supports;
    }
    if (soft->loads != NULL) {
        soft->loads->any_supports = any;
    }
}

bool loads_support(const Soft *soft, u32 body)
{
    return body == CONTACT_ANY ? soft->loads != NULL && soft->loads->any_supports
                               : soft->bodies[body].supports;
}

void loads_expect(Soft *soft, u32 particles)
{
    Loads *loads = soft->loads;
    if (loads == NULL || !may_support_any(soft)) {
        return;
    }
    u32 room = SUPPORTED_MOST - loads->supported_most;
    u32 most = loads->supported_most + u32_min(particles, room);
    if (memory_grow((void **)&loads->supported, &loads->supported_capacity, most,
                    sizeof *loads->supported)) {
        loads->supported_most = most;
    }
}

void loads_add(Soft *soft, const ContactPlace *place, const ContactLoad *of)
{
    Loads *loads = soft->loads;
    if (loads == NULL || place->count > 3 || loads->supported_count >= loads->supported_most) {
        return;
    }
    Supported *item = &loads->supported[loads->supported_count++];
    Vec3 against = vec3_sub(of->velocity, place->velocity);
    *item = (Supported){.normal = place->normal,
                        .gap = place->distance - of->radius,
                        .speed = fabsf(vec3_dot(against, place->normal)),
                        .of = *of};
    f32 sum = 0.0f;
    for (u32 k = 0; k < 3; k++) { /* of a segment, one twice */
        item->point[k] = place->point[k < place->count ? k : 0];
        bool free = k < place->count && soft->points[item->point[k]].inverse_mass > 0.0f;
        item->weight[k] = free && place->along[k] > weight_least ? place->along[k] : 0.0f;
        sum += item->weight[k];
    }
    for (u32 k = 0; k < 3; k++) { /* what presses on a pin presses on the others too */
        item->weight[k] /= f32_max(sum, share_least);
    }
}

void loads_forget(Soft *soft)
{
    if (soft->loads != NULL) {
        soft->loads->supported_count = 0;
    }
}

void loads_forget_tick(Soft *soft)
{
    loads_forget(soft);
    if (soft->loads != NULL) {
        soft->loads->supported_most = 0;
    }
}

/* The load of a corner that a particle presses on; a body that does has the corner for itself. */
static Load *load_of(const Soft *soft, const Supported *item, u32 k)
{
    Loads *loads = soft->loads;
    u32 index = loads->of[item->point[k]];
    bool presses = item->loads && item->weight[k] > 0.0f && index != SOFT_NONE;
    return presses && loads->loads[index].particles ? &loads->loads[index] : NULL;
}

static void add_supported(Soft *soft, Supported *item, f32 late)
{
    Loads *loads = soft->loads;
    f32 near = presses_part * item->of.radius + soft->substep_s * item->speed;
    item->loads = item->gap < near &&
                  (is_taut(soft, item->point[0], late) || is_taut(soft, item->point[1], late) ||
                   is_taut(soft, item->point[2], late));
    for (u32 k = 0; k < 3 && item->loads; k++) {
        u32 particle = item->point[k];
        if (item->weight[k] > 0.0f && loads->of[particle] == SOFT_NONE) {
            loads->of[particle] = loads->count;
            loads->loads[loads->count++] = (Load){.particle = particle, .particles = true};
        }
        Load *load = load_of(soft, item, k);
        if (load != NULL) {
            f32 mass = item->weight[k] * item->of.mass;
            load->part += mass;
            load->moving = vec3_add_scaled(load->moving, mass, item->of.velocity);
            load->normal = vec3_add_scaled(load->normal, mass, item->normal);
            load->friction += mass * item->of.friction;
        }
    }
}

static void add_particles(Soft *soft, f32 late)
{
    Loads *loads = soft->loads;
    u32 first = loads->count;
    for (u32 i = 0; i < loads->supported_count; i++) {
        add_supported(soft, &loads->supported[i], late);
    }
    for (u32 i = first; i < loads->count; i++) {
        Load *load = &loads->loads[i];
        load->share = 1.0f / load->part;
        load->moving = load->speed = vec3_scale(load->moving, load->share);
        load->normal = vec3_normalize_or(load->normal, vec3_zero());
        load->friction *= load->share;
    }
}

/* A push and friction. */
static Vec3 push_of(const Load *load, Vec3 impulse)
{
    f32 along = vec3_dot(impulse, load->normal);
    if (!(along > 0.0f)) {
        return vec3_zero();
    }
    Vec3 across = vec3_add_scaled(impulse, -along, load->normal);
    f32 size = vec3_length(across), most = load->friction * along;
    across = size > most ? vec3_scale(across, most / size) : across;
    return vec3_add_scaled(across, along, load->normal);
}

/* To each its part, by mass. */
static void give_particles(Soft *soft)
{
    Loads *loads = soft->loads;
    for (u32 i = 0; i < loads->supported_count; i++) {
        Supported *item = &loads->supported[i];
        Vec3 impulse = vec3_zero();
        bool any = false;
        for (u32 k = 0; k < 3; k++) {
            const Load *load = load_of(soft, item, k);
            if (load != NULL) {
                f32 part = item->weight[k] * item->of.mass * load->share;
                impulse = vec3_add_scaled(impulse, part, load->impulse);
                any = true;
            }
        }
        if (any) {
            const ContactLoad *of = &item->of;
            item->of.velocity = of->give(of->of, of->particle, item->normal, impulse);
        }
    }
}

/* Relative to the body's centre: where it presses. A corner may be far from there, beside a body
 * that is smaller than a cell; there a rotating body would move differently from the cloth, and the
 * work that the two do on each other would not be equal and opposite. */
static Vec3 arm_of(const Load *load, const ContactMotion *motion, Vec3 particle)
{
    return load->rope || !load->held
               ? vec3_sub(particle, motion->centre)
               : quat_rotate(motion->orientation, vec3_scale(load->local, 1.0f / load->part));
}

/* Its share of the mass of the body, and the motion there. */
static void measure_body(const Soft *soft, Load *load, f32 late)
{
    const Collider *collider = soft_collider_of(soft, load->by.other);
    ContactMotion motion = soft_motion_of(soft, load->by.other, load->by.thing);
    Vec3 arm = arm_of(load, &motion, place_now(&soft->points[load->particle], late));
    Symmetric3 response = collider->ops->bodies->response(collider->of, load->by.thing, arm);
    f32 body = (response.xx + response.yy + response.zz) / 3.0f;
    body *= mean_to_any * (load->support->loaded + (f32)load->support->held) / load->part;
    load->share = body;
    load->moving = contact_motion_at(&motion, arm);
    load->speed = vec3_add(load->moving, motion.bias);
}

void loads_begin(Soft *soft, f32 h, bool moves)
{
    Loads *loads = soft->loads;
    f32 late = moves ? h : 0.0f;
    clear(soft);
    for (u32 i = 0; i < soft->face_count; i++) {
        const SoftFace *face = &soft->faces[i];
        if (may_load(soft, face) && is_loaded(soft, face, h, late)) {
            for (u32 k = 0; k < 3; k++) {
                add_corner(soft, face, k);
            }
        }
    }
    keep_pressed(soft, late);
    u32 bodies = loads->count;
    add_particles(soft, late);
    for (u32 i = 0; i < loads->count; i++) {
        Load *load = &loads->loads[i];
        f32 own = soft->points[load->particle].inverse_mass;
        if (i < bodies) {
            measure_body(soft, load, late);
        }
        load->weight = own * load->share / (own + load->share);
        load->impulse = vec3_zero();
        loads->on[soft->matter[load->particle].body]++;
    }
    sort_loads(soft);
}

/* ---- before and after the constraints ---- */

void loads_take(Soft *soft, u32 group)
{
    Loads *loads = soft->loads;
    for (u32 i = loads->first[group]; i < loads->first[group + 1]; i++) {
        Load *load = &loads->loads[loads->order[i]];
        SoftPoint *p = &soft->points[load->particle];
        load->own_weight = p->inverse_mass;
        load->own_velocity = p->velocity;
        /* Their common velocity: the particle contributes its share of momentum. */
        load->speed = vec3_lerp(load->speed, p->velocity, load->weight / p->inverse_mass);
        p->inverse_mass = load->weight;
        p->velocity = load->speed;
        if (soft->stiffs != NULL) {
            stiff_start(soft, load->particle);
        }
    }
}

void loads_give(Soft *soft, u32 group)
{
    Loads *loads = soft->loads;
    for (u32 i = loads->first[group + 1]; i-- > loads->first[group];) {
        Load *load = &loads->loads[loads->order[i]];
        SoftPoint *p = &soft->points[load->particle];
        Vec3 given = vec3_sub(p->velocity, load->speed);
        Vec3 gained = vec3_sub(p->velocity, load->own_velocity);
        p->inverse_mass = load->own_weight;
        load->impulse = vec3_sub(vec3_scale(given, 1.0f / load->weight),
                                 vec3_scale(gained, 1.0f / load->own_weight));
        load->impulse = load->particles ? push_of(load, load->impulse) : load->impulse;
    }
}

/* ---- limits on returned energy ---- */

static bool is_grabbed(const Soft *soft, u32 body)
{
    bool found = false;
    for (u32 i = 0; i < soft->grab_end && !found; i++) {
        found = soft->grabs[i].live && soft->matter[soft->grabs[i].particle].body == body;
    }
    return found;
}

/* Only the world holds it: all its energy came from the bodies that press on it, so it cannot
 * return more; momentum that it keeps goes to the world. */
static bool is_passive(const Soft *soft, u32 body)
{
    const SoftBody *of = &soft->bodies[body];
    return soft->loads->on[body] != 0 && of->attachment_count == 0 && of->pin_count != 0 &&
           !is_grabbed(soft, body);
}

/* Energy of the impulses of a body's loads, scaled by s: along s + square s², J. The second term is
 * an upper bound, as the shares of the bodies respond more than the bodies. */
typedef struct Given {
    f32 along, square;
    f32 lost; /* J, of the particles: their own kinetic energy may be returned */
} Given;

static Given given_of(const Soft *soft, const SoftBody *body)
{
    const Loads *loads = soft->loads;
    Given sum = {0.0f, 0.0f, 0.0f};
    for (u32 i = body->first; i < body->first + body->count; i++) {
        const SoftPoint *p = &soft->points[i];
        if (p->inverse_mass > 0.0f) {
            f32 before = vec3_length_squared(loads->velocity[i]);
            sum.lost += 0.5f * (before - vec3_length_squared(p->velocity)) / p->inverse_mass;
        }
        if (loads->of[i] != SOFT_NONE) {
            const Load *load = &loads->loads[loads->of[i]];
            sum.along += vec3_dot(load->moving, load->impulse);
            sum.square += 0.5f * load->share * vec3_dot(load->impulse, load->impulse);
        }
    }
    return sum;
}

/* The fraction of the impulses that returns no more than the credit; in full they would return
 * more. */
static f32 part_of(Given given, f32 credit)
{
    f32 root = sqrtf(given.along * given.along + 4.0f * given.square * credit);
    f32 part = given.square > 0.0f ? (root - given.along) / (2.0f * given.square) : 0.0f;
    return f32_clamp(part, 0.0f, 1.0f);
}

void loads_store(Soft *soft, const u32 *order, u32 count)
{
    for (u32 i = 0; i < count && soft->loads->count != 0; i++) {
        if (soft->loads->on[soft->matter[order[i]].body] != 0) {
            soft->loads->velocity[order[i]] = soft->points[order[i]].velocity;
        }
    }
}

void loads_count(Soft *soft, u32 index, f32 h)
{
    Loads *loads = soft->loads;
    if (!is_passive(soft, index)) {
        return;
    }
    const SoftBody *body = &soft->bodies[index];
    SoftRestState *state = &soft->rests[index].state;
    Given given = given_of(soft, body);
    f32 credit = state->credit_j * (1.0f - f32_min(h / credit_s, 1.0f));
    f32 sum = given.along + given.square;
    f32 own = f32_max(given.lost, 0.0f);
    if (sum <= credit + own) {
        state->credit_j = f32_clamp(credit - sum, 0.0f, STATE_VALUE_MAX);
        return;
    }
    f32 part = part_of(given, credit + own);
    state->credit_j = 0.0f;
    for (u32 i = body->first; i < body->first + body->count; i++) {
        if (loads->of[i] != SOFT_NONE) {
            Load *load = &loads->loads[loads->of[i]];
            load->impulse = vec3_scale(load->impulse, part);
        }
    }
}

void loads_pass(Soft *soft)
{
    const Loads *loads = soft->loads;
    for (u32 i = 0; i < loads->count; i++) {
        const Load *load = &loads->loads[i];
        if (load->particles) {
            continue;
        }
        const Collider *collider = soft_collider_of(soft, load->by.other);
        ContactMotion motion = soft_motion_of(soft, load->by.other, load->by.thing);
        ContactPlace place = {.thing = load->by.thing,
                              .arm = arm_of(load, &motion, soft->points[load->particle].position)};
        collider->ops->impulse(collider->of, &place, load->impulse);
    }
    give_particles(soft);
}
