/*
 * matter_rigid_sensors.c: detects other matter in the sensors of a scene (their own narrow phase
 * detects rigid bodies). After the tick a sensor queries the colliders of the other kinds. What it
 * has reported is state, so a loaded world does not report it twice.
 */
#include "server/physics/rigid/narrow/manifold.h"
#include "server/world/matter_rigid.h"

#include <stdlib.h>
#include <string.h>

enum {
    THINGS_MAX = 4096 /* of one kind near one sensor that are tested */
};

/* Whether anything but rigid bodies could be noticed, for the life of the world. */
static bool is_needed(const MatterRigid *m)
{
    const Scene *scene = rigid_scene(m);
    bool sensors = false;
    for (u32 i = 0; i < scene->body_count; i++) {
        sensors = sensors || scene->bodies[i].sensor;
    }
    for (u32 i = 0; i < scene->prefab_count; i++) {
        sensors =
            sensors || (scene->prefabs[i].kind == PREFAB_BODY && scene->prefabs[i].body.sensor);
    }
    return sensors && world_has_others(&m->base);
}

int matter_rigid_sensors_reserve(MatterRigid *m)
{
    if (m->sensed != NULL || !is_needed(m)) {
        return ERROR_OK;
    }
    m->sensed = calloc(2 * (size_t)SENSED_MAX, sizeof *m->sensed);
    m->things = calloc(THINGS_MAX, sizeof *m->things);
    return m->sensed != NULL && m->things != NULL ? ERROR_OK : ERROR_MEMORY;
}

/* ---- after a tick ---- */

typedef struct Sensing {
    MatterRigid *m;
    Sensed *now; /* [count] of SENSED_MAX, ordered by sensor and entity */
    u32 count;
} Sensing;

static bool is_before(const Sensed *p, const Sensed *q)
{
    return p->sensor != q->sensor ? p->sensor < q->sensor : p->entity < q->entity;
}

/* Its position in an ordered list, or where it would be inserted. */
static u32 place_in(const Sensed *list, u32 count, const Sensed *wanted)
{
    u32 low = 0, high = count;
    while (low < high) {
        u32 middle = low + (high - low) / 2;
        bool before = is_before(&list[middle], wanted);
        low = before ? middle + 1 : low;
        high = before ? high : middle;
    }
    return low;
}

static bool contains(const Sensed *list, u32 count, const Sensed *wanted)
{
    u32 at = place_in(list, count, wanted);
    return at < count && !is_before(wanted, &list[at]);
}

static void notice(Sensing *sensing, u32 sensor, u32 entity)
{
    Sensed seen = {sensor, entity};
    if (entity == 0 || sensing->count == SENSED_MAX ||
        contains(sensing->now, sensing->count, &seen)) {
        return;
    }
    u32 at = place_in(sensing->now, sensing->count, &seen);
    memmove(sensing->now + at + 1, sensing->now + at, (sensing->count - at) * sizeof *sensing->now);
    sensing->now[at] = seen;
    sensing->count++;
}

/* Entities of one kind in one sensor. */
static void sense(Sensing *sensing, Matter *other, const Collider *collider, u32 slot)
{
    const MatterRigid *m = sensing->m;
    const ColliderOps *ops = collider->ops;
    ShapePose pose = {rigid_shape(m->rigid, slot), rigid_position(m->rigid, slot),
                      rigid_orientation(m->rigid, slot)};
    u32 group, mask;
    rigid_filter(m->rigid, slot, &group, &mask);
    u32 count = ops->overlaps(collider->of, rigid_bounds(m->rigid, slot), group, mask, m->things,
                              THINGS_MAX);
    u32 sensor = m->slots[slot].entity, last = 0;
    for (u32 i = 0; i < count; i++) {
        u32 entity = other->ops->entity_of(other, m->things[i]);
        if (entity != last && ops->touches(collider->of, m->things[i], &pose)) {
            notice(sensing, sensor, entity);
            last = entity;
        }
    }
}

/* Events for the entries that are in one list and not in the other. */
static void report(const MatterRigid *m, EventKind kind, const Sensed *list, u32 count,
                   const Sensed *other, u32 other_count)
{
    for (u32 i = 0; i < count; i++) {
        if (contains(other, other_count, &list[i])) {
            continue;
        }
        Event *event = world_event(m->base.world, kind);
        if (event != NULL) {
            event->a = list[i].sensor;
            event->b = list[i].entity;
        }
    }
}

void matter_rigid_sensors_report(MatterRigid *m)
{
    if (m->sensed == NULL) {
        return;
    }
    Sensing sensing = {.m = m, .now = m->sensed + SENSED_MAX};
    u32 slots = rigid_slots(m->rigid);
    for (u32 k = m->base.index + 1; k < world_matters(m->base.world); k++) {
        Matter *other = world_matter_at(m->base.world, k);
        if (other->ops->collider == NULL || other->ops->entity_of == NULL) {
            continue;
        }
        Collider collider = other->ops->collider(other, other->index);
        if (collider.ops == NULL || collider.ops->touches == NULL) {
            continue;
        }
        collider.ops->begin(collider.of, world_jobs(m->base.world), world_tick_s(m->base.world));
        for (u32 i = 0; i < slots; i++) {
            if (m->slots[i].entity != 0 && rigid_is_sensor(m->rigid, i)) {
                sense(&sensing, other, &collider, i);
            }
        }
    }
    report(m, EVENT_ENTER, sensing.now, sensing.count, m->sensed, m->sensed_count);
    report(m, EVENT_LEAVE, m->sensed, m->sensed_count, sensing.now, sensing.count);
    memcpy(m->sensed, sensing.now, sensing.count * sizeof *m->sensed);
    m->sensed_count = sensing.count;
}

/* ---- state ---- */

void matter_rigid_sensors_serialize(MatterRigid *m, State *state)
{
    if (m->sensed == NULL || (state->mode == STATE_HASH && m->sensed_count == 0)) {
        return;
    }
    state_count(state, &m->sensed_count, SENSED_MAX);
    if (!state->failed) {
        state_bytes(state, m->sensed, m->sensed_count * sizeof *m->sensed);
    }
    for (u32 i = 1; state->mode == STATE_LOAD && !state->failed && i < m->sensed_count; i++) {
        state->failed = !is_before(&m->sensed[i - 1], &m->sensed[i]);
    }
    if (state->failed) {
        m->sensed_count = 0;
    }
}
