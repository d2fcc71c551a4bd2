/*
 * events.c: the events of a tick, and release of grabs. All kinds of matter, inputs.c, build.c and
 * tick.c call it; it calls none of them.
 */
#include "server/world/world_internal.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

Event *world_event(World *world, EventKind kind)
{
    if (world->event_count == world->event_capacity) {
        u32 capacity = world->event_capacity != 0 ? world->event_capacity * 2 : 256;
        Event *events = realloc(world->events, capacity * sizeof *events);
        if (events == NULL) {
            return NULL;
        }
        world->events = events;
        world->event_capacity = capacity;
    }
    Event *event = &world->events[world->event_count++];
    memset(event, 0, sizeof *event);
    event->kind = kind;
    return event;
}

void world_grab_event(World *world, u32 user, u32 sequence, u32 entity, u32 element, Vec3 local)
{
    Event *event = world_event(world, EVENT_GRAB);
    if (event != NULL) {
        event->user = user;
        event->sequence = sequence;
        event->a = entity;
        event->element = element;
        event->position = local;
    }
}

void world_let_go(World *world, Grab *grab, u32 sequence)
{
    CHECK(grab->user != 0 && grab->matter < world->matter_count);
    Matter *matter = world->matters[grab->matter];
    matter->ops->release(matter, grab->constraint);
    world_grab_event(world, grab->user, sequence, 0, 0, vec3_zero());
    *grab = (Grab){0};
}

void world_notify_entities(World *world, i32 code)
{
    Event *reset = world_event(world, EVENT_RESET);
    if (reset != NULL) {
        reset->code = code;
    }
    for (u32 i = 0; i < world->entities.count; i++) {
        Event *event = world_event(world, EVENT_SPAWN);
        if (event != NULL) {
            event->entity = world->entities.items[i];
        }
    }
}

void world_resend_entities(World *world, i32 code)
{
    world->event_count = 0;
    world_notify_entities(world, code);
}

void world_empty_hands(World *world)
{
    for (u32 i = 0; i < world->grab_end; i++) {
        if (world->grabs[i].user != 0) {
            world_let_go(world, &world->grabs[i], 0);
        }
    }
    world->event_count = 0;
}

void world_release_entity(World *world, u32 entity)
{
    for (u32 i = 0; i < world->grab_end; i++) {
        if (world->grabs[i].user != 0 && world->grabs[i].entity == entity) {
            world_let_go(world, &world->grabs[i], 0);
        }
    }
}
