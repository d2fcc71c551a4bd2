/* frame.c: quantizes the state of the solvers into the immutable frame of the tick. */
#include "server/world/world_internal.h"

#include <string.h>

static void write_scalars(const World *world, Frame *frame)
{
    f32 *values = frame_field(frame, world->parameters_field);
    for (u32 i = 0; i < world->parameter_count; i++) {
        const ScalarInfo *info = &world->parameters[i];
        memcpy(values + info->first, world->values[i], info->components * sizeof *values);
    }
    probes_measure(world, frame_field(frame, world->probes_field));
}

Frame *world_frame(World *world)
{
    Frame *frame = frame_create(world->fields, world->tick, world->event_count);
    if (frame == NULL) {
        return NULL;
    }
    frame->world_time_s = (f64)world->tick / world->scene->tick_rate;
    frame->world_hash = world_hash_systems(world, frame->systems, &frame->system_count);
    if (world->event_count != 0) {
        memcpy(frame->events, world->events, world->event_count * sizeof *world->events);
    }
    write_scalars(world, frame);
    EACH_MATTER_WITH(world, write, frame)
    return frame;
}
