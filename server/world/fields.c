/* fields.c: the state of the solvers, quantized once into the immutable frame of the tick. */
#include "protocol/quantize.h"
#include "server/world/world_state.h"

#include <string.h>

static void write_poses(const World *world, Frame *frame)
{
    const FieldDesc *field = &world->fields->fields[FIELD_BODIES];
    QPose *poses = frame_poses(frame, FIELD_BODIES);
    u32 slots = rigid_slots(world->rigid);
    for (u32 i = 0; i < slots; i++) {
        QPose *pose = &poses[i];
        if (world->slots[i].entity == 0) {
            continue;
        }
        BodyMotion motion = rigid_motion(world->rigid, i);
        quantize_position(field, rigid_position(world->rigid, i), pose->position);
        pose->rotation = quantize_rotation(rigid_orientation(world->rigid, i));
        pose->flags = POSE_LIVE;
        pose->flags |= rigid_awake(world->rigid, i) && motion != BODY_STATIC ? POSE_AWAKE : 0;
        pose->flags |= motion == BODY_STATIC      ? POSE_STATIC
                       : motion == BODY_KINEMATIC ? POSE_KINEMATIC
                                                  : 0;
        pose->generation = (u16)rigid_generation(world->rigid, i);
    }
}

static void write_points(const World *world, Frame *frame)
{
    u32 count = soft_particles(world->soft);
    if (count == 0) {
        return;
    }
    const FieldDesc *field = &world->fields->fields[FIELD_POINTS_ALL];
    QPoint *points = frame_points(frame, FIELD_POINTS_ALL);
    for (u32 i = 0; i < count; i++) {
        quantize_position(field, soft_position(world->soft, i), points[i].position);
        points[i].generation = world->points_generation;
    }
}

static void write_scalars(const World *world, Frame *frame)
{
    f32 *values = frame_field(frame, FIELD_PARAMETERS);
    for (u32 i = 0; i < PARAMETER_COUNT; i++) {
        const ScalarInfo *info = &world->parameters[i];
        memcpy(values + info->first, world->values[i], info->components * sizeof *values);
    }
    tune_probes(world, frame_field(frame, FIELD_PROBES));
}

static void write_joints(const World *world, Frame *frame)
{
    if (world->joints_field == 0) {
        return;
    }
    f32 *values = frame_field(frame, world->joints_field);
    for (u32 i = 0; i < world->scene->joint_count; i++) {
        values[i] = rigid_joint_alive(world->rigid, world->joints[i]) ? 1.0f : 0.0f;
    }
}

static void write_softs(const World *world, Frame *frame)
{
    if (world->softs_field == 0) {
        return;
    }
    f32 *values = frame_field(frame, world->softs_field);
    for (u32 i = 0; i < world->scene->soft_count; i++) {
        values[i] = soft_awake(world->soft, i) ? 1.0f : 0.0f;
    }
}

Frame *world_frame(World *world)
{
    Frame *frame = frame_create(world->fields, world->tick, world->event_count);
    if (frame == NULL) {
        return NULL;
    }
    frame->world_time_s = (f64)world->tick / world->scene->tick_rate;
    frame->world_hash = world_hash(world);
    if (world->event_count != 0) {
        memcpy(frame->events, world->events, world->event_count * sizeof *world->events);
    }
    write_poses(world, frame);
    write_points(world, frame);
    write_scalars(world, frame);
    write_joints(world, frame);
    write_softs(world, frame);
    return frame;
}
