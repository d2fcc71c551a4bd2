/* matter_rigid.c: rigid bodies as matter of a world: life cycle, tick, fields, state. */
#include "server/world/matter_rigid.h"

#include "protocol/field/quantize.h"

#include <stdlib.h>
#include <string.h>

enum {
    IMPACTS_TICK_MAX = 16, /* limit of events per tick: more are not useful */
};

/* Softer contacts make no sound and leave no mark. */
static const f32 impact_m_s = 0.5f;

MatterRigid *world_matter_rigid(const World *world)
{
    return (MatterRigid *)world_matter_at(world, 0);
}

Rigid *world_rigid(const World *world)
{
    return world_matter_rigid(world)->rigid;
}

bool world_is_rigid(const World *world, const Entity *entity)
{
    return entity->field == world_matter_rigid(world)->field;
}

/* ---- life ---- */

/* Measured with worlds of one kind each (resident bytes of the server), plus a third. */
enum {
    BODY_BYTES = 16 << 10, /* including its contacts in a dense heap */
    JOINT_BYTES = 2 << 10
};

static u64 estimate(const Scene *scene)
{
    u64 bodies = u64_min((u64)scene->body_count + scene->spare_bodies, BODIES_MAX);
    u64 frame = bodies * sizeof(QPose) + scene->joint_count * sizeof(f32);
    return HISTORY_FRAMES * frame + bodies * BODY_BYTES + scene->joint_count * JOINT_BYTES;
}

static int create(Matter *matter, ErrorText *error)
{
    MatterRigid *m = rigid_of(matter);
    const Scene *scene = rigid_scene(m);
    m->capacity = scene->body_count + scene->spare_bodies;
    if (m->capacity > BODIES_MAX) {
        return error_set(error, ERROR_LIMIT, "%s: %u bodies and %u spare: at most %d in all",
                         scene->name, scene->body_count, scene->spare_bodies, BODIES_MAX);
    }
    m->capacity = u32_max(m->capacity, 1);
    RigidDef def = rigid_def_of_scene(scene, m->capacity, world_tick_s(matter->world));
    m->rigid = rigid_create(&def);
    m->slots = calloc(m->capacity, sizeof *m->slots);
    m->body_slots = calloc(u32_max(scene->body_count, 1), sizeof *m->body_slots);
    m->joints = calloc(u32_max(scene->joint_count, 1), sizeof *m->joints);
    if (m->rigid == NULL || m->slots == NULL || m->body_slots == NULL || m->joints == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterRigid *m = rigid_of(matter);
    for (u32 i = 0; i < MATTERS_MAX; i++) {
        rigid_collider_finish(&m->colliders[i]);
    }
    rigid_destroy(m->rigid);
    free(m->slots);
    free(m->body_slots);
    free(m->joints);
    free(m->debug);
    free(m->sensed);
    free(m->things);
}

static void declare(Matter *matter)
{
    MatterRigid *m = rigid_of(matter);
    FieldDesc field = {.kind = FIELD_POSES,
                       .name = "bodies",
                       .channels = 1,
                       .capacity = m->capacity,
                       .quantum = rigid_scene(m)->quantum};
    m->field = world_add_field(matter, &field);
#define PARAMETER_RIGID(NAME, name, unit, components, least, most, initial, initial_text, doc)     \
    m->parameters[PARAMETER_##NAME] = world_add_parameter(                                         \
        matter, world_parameter(name, unit, components, least, most, initial));
#include "shared/rows/parameter.def"
}

static void declare_states(Matter *matter)
{
    MatterRigid *m = rigid_of(matter);
    FieldDesc field = {.kind = FIELD_SCALARS,
                       .name = "joints",
                       .channels = 1,
                       .capacity = rigid_scene(m)->joint_count,
                       .quantum = 1.0f};
    m->joints_field = world_add_field(matter, &field);
}

static int reserve(Matter *matter)
{
    return matter_rigid_sensors_reserve(rigid_of(matter));
}

static void clear(Matter *matter)
{
    MatterRigid *m = rigid_of(matter);
    m->sensed_count = 0;
    rigid_clear(m->rigid);
    m->built_tick = world_tick_number(matter->world);
    memset(m->slots, 0, m->capacity * sizeof *m->slots);
}

static void tune(Matter *matter)
{
    const MatterRigid *m = rigid_of(matter);
    const World *world = matter->world;
    rigid_set_gravity(m->rigid, world_vector(world, WORLD_GRAVITY));
    rigid_set_substeps(m->rigid, (u32)world_value(world, WORLD_SUBSTEPS)[0]);
    rigid_set_materials(m->rigid, world_value(world, m->parameters[PARAMETER_FRICTION])[0],
                        world_value(world, m->parameters[PARAMETER_BOUNCE])[0]);
}

static void wake_all(Matter *matter)
{
    rigid_wake_all(rigid_of(matter)->rigid);
}

/* ---- tick ---- */

static void begin(Matter *matter)
{
    rigid_collide(rigid_of(matter)->rigid, world_jobs(matter->world));
}

/* A kind later in the substep updates the movers of earlier ones. */
static void set_user(MatterRigid *m, u32 user, RigidCollider *bodies)
{
    bodies->earlier = NULL;
    for (u32 i = 0; i < user; i++) {
        bodies->earlier = m->users[i] != NULL ? m->users[i] : bodies->earlier;
    }
    m->users[user] = bodies;
}

static Collider collider(Matter *matter, u32 user)
{
    MatterRigid *m = rigid_of(matter);
    RigidCollider *bodies = &m->colliders[user];
    bodies->rigid = m->rigid;
    if (user != matter->index) {
        set_user(m, user, bodies);
    }
    return rigid_collider(bodies);
}

static u32 entity_of(const Matter *matter, u32 thing)
{
    return rigid_of_const(matter)->slots[thing].entity;
}

static void prepare(Matter *matter)
{
    rigid_prepare(rigid_of(matter)->rigid);
}

static void substep(Matter *matter, f32 h)
{
    (void)h; /* the solver has its own */
    rigid_substep(rigid_of(matter)->rigid);
}

static void finish(Matter *matter)
{
    rigid_finish(rigid_of(matter)->rigid);
}

static void report_impacts(const MatterRigid *m)
{
    u32 count, notified = 0;
    const RigidImpact *impacts = rigid_impacts(m->rigid, &count);
    for (u32 i = 0; i < count && notified < IMPACTS_TICK_MAX; i++) {
        if (!(impacts[i].speed >= impact_m_s)) {
            continue;
        }
        Event *event = world_event(m->base.world, EVENT_IMPACT);
        if (event != NULL) {
            event->a = m->slots[impacts[i].a].entity;
            event->b = m->slots[impacts[i].b].entity;
            event->position = impacts[i].position;
            event->impulse = impacts[i].impulse;
            event->speed = impacts[i].speed;
        }
        notified++;
    }
}

static void report_sensors(const MatterRigid *m)
{
    u32 count;
    const RigidOverlap *overlaps = rigid_sensor_events(m->rigid, &count);
    for (u32 i = 0; i < count; i++) {
        Event *event = world_event(m->base.world, overlaps[i].began ? EVENT_ENTER : EVENT_LEAVE);
        if (event == NULL) {
            return;
        }
        event->a = m->slots[overlaps[i].a].entity;
        event->b = m->slots[overlaps[i].b].entity;
    }
}

/* Removes bodies outside the scene's bounds. */
static void remove_out_of_bounds(const MatterRigid *m)
{
    Bounds bounds = rigid_scene(m)->bounds;
    u32 slots = rigid_slots(m->rigid);
    for (u32 i = 0; i < slots; i++) {
        if (m->slots[i].entity == 0 || rigid_motion(m->rigid, i) != BODY_DYNAMIC) {
            continue;
        }
        Vec3 p = rigid_position(m->rigid, i);
        bool in = p.x >= bounds.min.x && p.y >= bounds.min.y && p.z >= bounds.min.z &&
                  p.x <= bounds.max.x && p.y <= bounds.max.y && p.z <= bounds.max.z;
        if (!in) { /* NaN is never inside */
            world_remove_entity(m->base.world, m->slots[i].entity);
        }
    }
}

static void report(Matter *matter)
{
    MatterRigid *m = rigid_of(matter);
    report_impacts(m);
    matter_rigid_report_breaks(m);
    report_sensors(m);
    matter_rigid_sensors_report(m);
    remove_out_of_bounds(m); /* after the impacts, which refer to them */
}

/* ---- fields ---- */

static void write_poses(const MatterRigid *m, Frame *frame)
{
    const FieldDesc *field = &frame->fields->fields[m->field];
    QPose *poses = frame_poses(frame, m->field);
    u32 slots = rigid_slots(m->rigid);
    for (u32 i = 0; i < slots; i++) {
        QPose *pose = &poses[i];
        if (m->slots[i].entity == 0) {
            continue;
        }
        BodyMotion motion = rigid_motion(m->rigid, i);
        quantize_position(field, rigid_position(m->rigid, i), pose->position);
        pose->rotation = quantize_rotation(rigid_orientation(m->rigid, i));
        pose->flags = POSE_LIVE;
        pose->flags |= rigid_awake(m->rigid, i) && motion != BODY_STATIC ? POSE_AWAKE : 0;
        pose->flags |= motion == BODY_STATIC      ? POSE_STATIC
                       : motion == BODY_KINEMATIC ? POSE_KINEMATIC
                                                  : 0;
        pose->generation = (u16)rigid_generation(m->rigid, i);
    }
}

static void write_all(const Matter *matter, Frame *frame)
{
    const MatterRigid *m = rigid_of_const(matter);
    write_poses(m, frame);
    if (m->joints_field == FIELDS_MAX) {
        return;
    }
    f32 *values = frame_field(frame, m->joints_field);
    for (u32 i = 0; i < rigid_scene(m)->joint_count; i++) {
        values[i] = rigid_joint_alive(m->rigid, m->joints[i]) ? 1.0f : 0.0f;
    }
}

/* ---- state ---- */

static void serialize_names(Matter *matter, State *state)
{
    MatterRigid *m = rigid_of(matter);
    const Scene *scene = rigid_scene(m);
    state_bytes(state, m->slots, m->capacity * sizeof *m->slots);
    state_bytes(state, m->body_slots, scene->body_count * sizeof *m->body_slots);
    state_bytes(state, m->joints, scene->joint_count * sizeof *m->joints);
    state_bytes(state, &m->built_tick, sizeof m->built_tick);
    matter_rigid_sensors_serialize(m, state);
}

static void serialize(Matter *matter, State *state)
{
    rigid_serialize(rigid_of(matter)->rigid, state);
}

static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterRigid *m = rigid_of_const(matter);
    (void)nth;
    return entity->count == 1 && entity->first < rigid_slots(m->rigid) &&
           rigid_at(m->rigid, entity->first).generation == entity->generation &&
           m->slots[entity->first].entity == entity->id;
}

/* Each live slot has its entity, free slots none. */
static bool owns_all(const Matter *matter, u32 count)
{
    const MatterRigid *m = rigid_of_const(matter);
    u32 live = 0;
    for (u32 i = 0; i < m->capacity; i++) {
        bool alive = rigid_at(m->rigid, i).generation != 0;
        if (alive != (m->slots[i].entity != 0)) {
            return false;
        }
        live += alive;
    }
    for (u32 i = 0; i < rigid_scene(m)->body_count; i++) {
        if (m->body_slots[i] >= m->capacity) {
            return false;
        }
    }
    return live == count && m->built_tick <= world_tick_number(matter->world);
}

const MatterOps matter_rigid = {
    .name = "rigid",
    .bytes = sizeof(MatterRigid),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = declare,
    .declare_states = declare_states,
    .reserve = reserve,
    .clear = clear,
    .fill = matter_rigid_fill,
    .check = matter_rigid_check,
    .steer = matter_rigid_steer,
    .begin = begin,
    .collider = collider,
    .entity_of = entity_of,
    .prepare = prepare,
    .substep = substep,
    .finish = finish,
    .report = report,
    .write = write_all,
    .sums = matter_rigid_sums,
    .stats = matter_rigid_stats,
    .measure = matter_rigid_measure,
    .lines = matter_rigid_lines,
    .islands = matter_rigid_islands,
    .dump_entity = matter_rigid_dump_entity,
    .dump = matter_rigid_dump,
    .tune = tune,
    .wake_all = wake_all,
    .point = matter_rigid_point,
    .grab = matter_rigid_grab,
    .drag = matter_rigid_drag,
    .release = matter_rigid_release,
    .grabs = matter_rigid_holds,
    .push = matter_rigid_push,
    .spawn = matter_rigid_spawn,
    .spawned = matter_rigid_spawned,
    .remove = matter_rigid_remove,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
};
