/*
 * load.c: solves stretched triangles together with the moving body that loads them. Contact and
 * constraints alternate, once in a step: a particle under a heavy body is pulled back by its edges,
 * but passes on only the momentum of its own mass, so that a ball of many times its mass stretches
 * a sheet to many times its length and falls through. While constraints are solved, the corners of
 * a stretched triangle under a body have their share of the body's mass, and its velocity; the
 * impulse they receive beyond their own mass is passed to the body at their position. The same
 * holds for a rope that winds about the body that hangs on it: solved alone, it would straighten
 * through the body, be pushed out again, and so be lengthened and pull the body by that in a step.
 */
#include "server/physics/soft/batches.h"

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
/* The same of a rope that winds about what hangs on it: the far end of a segment that is long
 * beside the body does not turn with it. */
static const f32 weight_least_rope = 0.25f;

/* A particle in this step. */
typedef struct Load {
    u32 particle;
    OtherThing by;
    SoftBearing *bearing; /* of the body */
    f32 part;             /* Σ of the corner's barycentric weights */
    f32 weight;           /* 1/kg, of particle and body together */
    Vec3 speed;           /* m/s, of the body there */
    f32 own_weight;
    Vec3 own_velocity; /* m/s, without the constraints */
    Vec3 impulse;      /* N s, for the body */
    Vec3 normal, pull; /* of a rope: out of the body; sum of the directions of its segments */
    bool rope;         /* of what the body hangs on */
} Load;

struct Loads {
    Load *loads; /* [count] */
    u32 *order;  /* [count] by group */
    u32 count, capacity, order_capacity;
    u32 *of;    /* [particles] index of load, or SOFT_NONE */
    u32 *first; /* [groups + 1] into order */
};

void loads_destroy(Loads *loads)
{
    if (loads != NULL) {
        free(loads->loads);
        free(loads->order);
        free(loads->of);
        free(loads->first);
        free(loads);
    }
}

u64 loads_memory(const Soft *soft)
{
    const Loads *loads = soft->loads;
    return loads == NULL
               ? 0
               : sizeof *loads + loads->capacity * sizeof *loads->loads +
                     loads->order_capacity * sizeof *loads->order + soft->count * sizeof *loads->of;
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
    if (loads->of == NULL || loads->first == NULL ||
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

/* A segment of what the body hangs on. */
static bool is_own_rope(const Soft *soft, const SoftFace *face)
{
    return soft->others[face->other].bearings[face->mover].held != 0 &&
           face->point[1] == face->point[2];
}

/* Does the body press on the triangle, and is an edge of it overlong? What it hangs on may be taut
 * at its length. `late`: s by which the
 * particles lag. */
static bool is_loaded(const Soft *soft, const SoftFace *face, f32 h, f32 late)
{
    const SoftBody *body = &soft->bodies[face->body];
    Vec3 c[3], at = vec3_zero(), moving = vec3_zero();
    bool stretched = is_own_rope(soft, face);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[face->point[k]];
        c[k] = place_now(p, late);
        at = vec3_add_scaled(at, face->weight[k], c[k]);
        moving = vec3_add_scaled(moving, face->weight[k], p->velocity);
    }
    for (u32 k = 0; k < 3; k++) {
        u32 next = k < 2 ? k + 1 : 0;
        f32 rest = vec3_distance(soft->rest[face->point[k]], soft->rest[face->point[next]]);
        stretched = stretched || vec3_distance(c[k], c[next]) > rest + stretch_least * body->cell;
    }
    if (!stretched) {
        return false;
    }
    ContactMotion motion = soft_motion_of(soft, face->other, face->thing);
    Vec3 arm = vec3_sub(at, motion.centre), from = quat_rotate(motion.orientation, face->local);
    Vec3 against = vec3_add(contact_motion_at(&motion, arm), motion.bias);
    f32 gap = vec3_dot(vec3_sub(arm, from), face->normal) - body->def.thickness;
    f32 apart = vec3_dot(vec3_sub(moving, against), face->normal);
    return f32_min(gap, gap + h * apart) < slack_part * body->def.thickness;
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
                                     .bearing = &soft->others[face->other].bearings[face->mover]};
    }
    Load *load = &loads->loads[index];
    if (soft_thing_is(load->by, face->other, face->thing)) { /* the first body in contact */
        load->part += part;
        load->normal = vec3_add_scaled(load->normal, part, face->normal);
        load->rope = is_own_rope(soft, face);
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
    for (u32 o = 0; o < soft->other_count; o++) {
        for (u32 i = 0; i < soft->others[o].bearing_count; i++) {
            soft->others[o].bearings[i] = (SoftBearing){0};
        }
    }
    for (u32 i = 0; i < soft->attachment_count && soft->holder != SOFT_NONE; i++) {
        SoftBearing *bearing = soft_bearing(soft, soft->holder, soft->attachments[i].body.slot);
        if (bearing != NULL) {
            bearing->held++;
        }
    }
}

static bool may_load(const Soft *soft, const SoftFace *face)
{
    const SoftBody *body = &soft->bodies[face->body];
    const Collider *collider = soft_collider_of(soft, face->other);
    return face->near != 0 && face->mover != SOFT_NONE &&
           (soft->others[face->other].bearings[face->mover].held == 0 || is_own_rope(soft, face)) &&
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

/* A taut rope that winds about what hangs on it presses on it; where it leaves it or runs straight
 * past, its points are free. */
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
            load.bearing->loaded += load.part;
            loads->of[load.particle] = kept;
            loads->loads[kept++] = load;
        }
    }
    loads->count = kept;
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
    for (u32 i = 0; i < loads->count; i++) {
        Load *load = &loads->loads[i];
        const SoftPoint *p = &soft->points[load->particle];
        const Collider *collider = soft_collider_of(soft, load->by.other);
        ContactMotion motion = soft_motion_of(soft, load->by.other, load->by.thing);
        Vec3 arm = vec3_sub(place_now(p, late), motion.centre);
        Symmetric3 response = collider->ops->bodies->response(collider->of, load->by.thing, arm);
        f32 body = (response.xx + response.yy + response.zz) / 3.0f;
        body *= mean_to_any * (load->bearing->loaded + (f32)load->bearing->held) / load->part;
        load->weight = p->inverse_mass * body / (p->inverse_mass + body);
        load->speed = vec3_add(contact_motion_at(&motion, arm), motion.bias);
        load->impulse = vec3_zero();
    }
    sort_loads(soft);
}

/* ---- around the constraints ---- */

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
    }
}

void loads_pass(const Soft *soft)
{
    const Loads *loads = soft->loads;
    for (u32 i = 0; i < loads->count; i++) {
        const Load *load = &loads->loads[i];
        const Collider *collider = soft_collider_of(soft, load->by.other);
        Vec3 centre = soft_motion_of(soft, load->by.other, load->by.thing).centre;
        ContactPlace place = {.thing = load->by.thing,
                              .arm = vec3_sub(soft->points[load->particle].position, centre)};
        collider->ops->impulse(collider->of, &place, load->impulse);
    }
}
