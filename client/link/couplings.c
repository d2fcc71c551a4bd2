/* couplings.c: see couplings.h. Points are tested by the bounds of their chunks. */
#include "client/link/couplings.h"

#include "client/link/playout.h"
#include "protocol/codec/chunk.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    COUPLING_JOINT = 1,
    COUPLING_POINTS = 2
};

#define SAME_TICKS 1e-3 /* at 10 m/s a sixth of a millimetre */

struct Couplings {
    const FieldSet *fields; /* borrowed */
    u8 *bits[FIELDS_MAX];   /* [capacity] of POSES fields: COUPLING_ bits */
    f32 *reach[FIELDS_MAX]; /* [capacity] of POSES fields, bounding radius in m around the
                               origin; 0: no body */
    f64 *tick[FIELDS_MAX];  /* [capacity] of POSES fields, own tick; 0: the timeline's */
    BodyClock clock;
    TimelineBody *bodies; /* [body_count] */
    u32 body_count;
    Bounds *bounds; /* [bounds_count] bounds of chunks in the newest states */
    u32 bounds_count, bounds_capacity;
    Bounds all; /* union of all; empty if there are none */
};

Couplings *couplings_create(const FieldSet *fields)
{
    Couplings *couplings = calloc(1, sizeof *couplings);
    if (couplings == NULL) {
        return NULL;
    }
    couplings->fields = fields;
    for (u32 f = 0; f < fields->count; f++) {
        u32 capacity = fields->fields[f].kind == FIELD_POSES ? fields->fields[f].capacity : 0;
        if (capacity == 0) {
            continue;
        }
        couplings->bits[f] = calloc(capacity, sizeof *couplings->bits[f]);
        couplings->reach[f] = calloc(capacity, sizeof *couplings->reach[f]);
        couplings->tick[f] = calloc(capacity, sizeof *couplings->tick[f]);
        if (couplings->bits[f] == NULL || couplings->reach[f] == NULL ||
            couplings->tick[f] == NULL) {
            couplings_destroy(couplings);
            return NULL;
        }
    }
    return couplings;
}

void couplings_destroy(Couplings *couplings)
{
    if (couplings == NULL) {
        return;
    }
    for (u32 f = 0; f < couplings->fields->count; f++) {
        free(couplings->bits[f]);
        free(couplings->reach[f]);
        free(couplings->tick[f]);
    }
    free(couplings->bodies);
    free(couplings->bounds);
    free(couplings);
}

/* ---- joints ---- */

/* The entity of a body of the scene: both have the same order. */
static const Entity *entity_of(const Scene *scene, const EntityList *entities, i32 body)
{
    const Entity *entity = body >= 0 ? entity_list_find(entities, (u32)body + 1) : NULL;
    bool is =
        entity != NULL && strncmp(entity->name, scene->bodies[body].name, NAME_BYTES_MAX) == 0;
    return is ? entity : NULL;
}

static bool is_body(const Couplings *couplings, const Entity *entity)
{
    return entity->appearance.kind == APPEARANCE_SHAPE &&
           entity->field < couplings->fields->count && couplings->bits[entity->field] != NULL &&
           entity->first < couplings->fields->fields[entity->field].capacity;
}

bool couplings_update(Couplings *couplings, const Scene *scene, const EntityList *entities,
                      const TimelineBody *bodies, u32 count)
{
    for (u32 f = 0; f < couplings->fields->count; f++) {
        u32 capacity = couplings->fields->fields[f].capacity;
        for (u32 i = 0; couplings->bits[f] != NULL && i < capacity; i++) {
            couplings->bits[f][i] &= COUPLING_POINTS;
            couplings->reach[f][i] = 0.0f;
        }
    }
    for (u32 i = 0; i < entities->count; i++) {
        const Entity *entity = &entities->items[i];
        if (is_body(couplings, entity) && entity->movable) {
            couplings->reach[entity->field][entity->first] = shape_reach(&entity->appearance.shape);
        }
    }
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        bool holds = joint->kind != JOINT_MOTOR && joint->kind != JOINT_SPRING;
        const Entity *ends[2] = {entity_of(scene, entities, joint->a),
                                 entity_of(scene, entities, joint->b)};
        for (u32 k = 0; k < 2 && holds; k++) {
            if (ends[k] != NULL && is_body(couplings, ends[k])) {
                couplings->bits[ends[k]->field][ends[k]->first] |= COUPLING_JOINT;
            }
        }
    }
    TimelineBody *copy = malloc(u32_max(count, 1) * sizeof *copy);
    if (copy != NULL && count > 0) {
        memcpy(copy, bodies, count * sizeof *copy);
    }
    free(couplings->bodies);
    couplings->bodies = copy;
    couplings->body_count = copy != NULL ? count : 0;
    return copy != NULL;
}

/* ---- points ---- */

static void bounds_add(Couplings *couplings, Bounds bounds)
{
    if (couplings->bounds_count == couplings->bounds_capacity) {
        u32 capacity = u32_max(2 * couplings->bounds_capacity, 64);
        Bounds *grown = realloc(couplings->bounds, capacity * sizeof *grown);
        if (grown == NULL) {
            return; /* out of memory: objects may sink into these */
        }
        couplings->bounds = grown;
        couplings->bounds_capacity = capacity;
    }
    couplings->bounds[couplings->bounds_count++] = bounds;
    couplings->all.min = vec3_min(couplings->all.min, bounds.min);
    couplings->all.max = vec3_max(couplings->all.max, bounds.max);
}

/* Bounds of the body's points in the newest state of one chunk. */
static void chunk_bounds(Couplings *couplings, const TimelineBody *body, u32 chunk, const u8 *state)
{
    i32 low[3] = {INT32_MAX, INT32_MAX, INT32_MAX}, high[3] = {INT32_MIN, INT32_MIN, INT32_MIN};
    u32 begin = u32_max(body->first, chunk * CHUNK_POINTS);
    u32 end = u32_min(body->first + body->count, (chunk + 1) * CHUNK_POINTS);
    for (u32 i = begin; i < end; i++) {
        QPoint point;
        memcpy(&point, state + (size_t)(i - chunk * CHUNK_POINTS) * sizeof point, sizeof point);
        for (u32 k = 0; k < 3 && point.generation != 0; k++) {
            low[k] = point.position[k] < low[k] ? point.position[k] : low[k];
            high[k] = point.position[k] > high[k] ? point.position[k] : high[k];
        }
    }
    const FieldDesc *field = &couplings->fields->fields[body->field];
    if (low[0] <= high[0]) {
        bounds_add(couplings,
                   (Bounds){dequantize_position(field, low), dequantize_position(field, high)});
    }
}

static bool is_near(const Bounds *bounds, Vec3 at, f32 reach)
{
    Vec3 apart = vec3_max(vec3_sub(bounds->min, at), vec3_sub(at, bounds->max));
    return apart.x <= reach && apart.y <= reach && apart.z <= reach;
}

static bool near_points(const Couplings *couplings, Vec3 at, f32 reach)
{
    bool near = false;
    u32 count = is_near(&couplings->all, at, reach) ? couplings->bounds_count : 0;
    for (u32 i = 0; i < count && !near; i++) {
        near = is_near(&couplings->bounds[i], at, reach);
    }
    return near;
}

static void chunk_look(Couplings *couplings, u32 f, u32 chunk, const ChunkState *states, u32 count,
                       f64 ahead)
{
    const FieldDesc *field = &couplings->fields->fields[f];
    u32 first = chunk * CHUNK_POSES, n = chunk_elements(field, chunk);
    for (u32 i = 0; i < n; i++) {
        u8 *bits = &couplings->bits[f][first + i];
        f32 reach = couplings->reach[f][first + i];
        *bits &= (u8)~COUPLING_POINTS;
        if (count < 2 || reach == 0.0f) {
            continue; /* a single state has no velocity: no extrapolation */
        }
        QPose now, then;
        memcpy(&now, states[0].state + i * sizeof now, sizeof now);
        memcpy(&then, states[1].state + i * sizeof then, sizeof then);
        if ((now.flags & POSE_LIVE) == 0 || (now.flags & POSE_AWAKE) == 0) {
            continue;
        }
        Vec3 at = dequantize_position(field, now.position);
        f32 way = vec3_distance(at, dequantize_position(field, then.position)) * (f32)ahead /
                  (f32)u64_max(states[0].tick - states[1].tick, 1);
        *bits |= near_points(couplings, at, reach + way) ? COUPLING_POINTS : 0;
    }
}

/* Finds the bodies that could come near points within `ahead` ticks after the newest states. */
static void points_look(Couplings *couplings, const SnapshotReceiver *receiver, f64 ahead)
{
    ChunkState states[CHUNK_STATES_KEPT];
    couplings->bounds_count = 0;
    couplings->all =
        (Bounds){vec3(HUGE_VALF, HUGE_VALF, HUGE_VALF), vec3(-HUGE_VALF, -HUGE_VALF, -HUGE_VALF)};
    for (u32 i = 0; i < couplings->body_count; i++) {
        const TimelineBody *body = &couplings->bodies[i];
        u32 last = (body->first + body->count - 1) / CHUNK_POINTS;
        for (u32 chunk = body->first / CHUNK_POINTS; chunk <= last; chunk++) {
            if (snapshot_receiver_states(receiver, body->field, chunk, states) > 0) {
                chunk_bounds(couplings, body, chunk, states[0].state);
            }
        }
    }
    for (u32 f = 0; f < couplings->fields->count && couplings->body_count > 0; f++) {
        u32 chunks = couplings->bits[f] != NULL ? chunk_count(&couplings->fields->fields[f]) : 0;
        for (u32 chunk = 0; chunk < chunks; chunk++) {
            u32 count = snapshot_receiver_states(receiver, f, chunk, states);
            chunk_look(couplings, f, chunk, states, count, ahead);
        }
    }
}

/* ---- time ---- */

static bool any_coupled(const Couplings *couplings, u32 f, u32 chunk)
{
    u32 n = chunk_elements(&couplings->fields->fields[f], chunk);
    const u8 *bits = &couplings->bits[f][chunk * CHUNK_POSES];
    bool any = false;
    for (u32 i = 0; i < n; i++) {
        any = any || bits[i] != 0;
    }
    return any;
}

static BodyKnown coupled_known(const Couplings *couplings, const SnapshotReceiver *receiver,
                               const CurveStream *stream)
{
    BodyKnown known = {true, true, 0.0, INFINITY};
    for (u32 f = 0; f < couplings->fields->count; f++) {
        u32 chunks = couplings->bits[f] != NULL ? chunk_count(&couplings->fields->fields[f]) : 0;
        for (u32 chunk = 0; chunk < chunks; chunk++) {
            ChunkState states[CHUNK_STATES_KEPT];
            if (any_coupled(couplings, f, chunk)) {
                u32 count = snapshot_receiver_states(receiver, f, chunk, states);
                body_known_add(&known, states, count, stream);
            }
        }
    }
    return known;
}

/* The new tick of an element in this step. `from` is the clock's former tick. */
static f64 element_step(const Couplings *couplings, f64 tick, bool coupled, f64 from,
                        const BodyPace *pace)
{
    coupled = coupled && couplings->clock.showing;
    if (tick == 0.0 && !coupled) {
        return 0.0;
    }
    f64 target = coupled ? fmin(couplings->clock.tick, pace->shown) : pace->shown;
    if (!coupled || fabs(tick - from) > SAME_TICKS) {
        f64 was = tick == 0.0 ? pace->shown - pace->moved : tick;
        f64 catch_up = pace->moved + PLAYOUT_CATCH_UP * pace->rate * pace->elapsed_s;
        target = fmax(fmin(target, was + catch_up), was);
    }
    return fabs(pace->shown - target) > SAME_TICKS ? target : 0.0;
}

void couplings_advance(Couplings *couplings, const SnapshotReceiver *receiver,
                       const CurveStream *stream, const BodyPace *pace, bool news)
{
    if (news) {
        points_look(couplings, receiver, stream->ahead_max);
    }
    f64 from = couplings->clock.tick;
    (void)body_clock_step(&couplings->clock, coupled_known(couplings, receiver, stream), pace);
    for (u32 f = 0; f < couplings->fields->count; f++) {
        u32 capacity = couplings->fields->fields[f].capacity;
        for (u32 i = 0; couplings->bits[f] != NULL && i < capacity; i++) {
            f64 *tick = &couplings->tick[f][i];
            *tick = element_step(couplings, *tick, couplings->bits[f][i] != 0, from, pace);
        }
    }
}

bool couplings_tick(const Couplings *couplings, u32 field, u32 element, f64 *tick)
{
    f64 own = couplings->tick[field][element];
    if (own != 0.0) {
        *tick = own;
    }
    return own != 0.0;
}
