/* matter_rigid_probes.c: measurements of rigid bodies and joints, and their debug picture. */
#include "server/physics/rigid/debug.h"
#include "server/world/matter_rigid.h"
#include "shared/math/trig.h"

#include <stdlib.h>

PL_STATIC_ASSERT((int)RIGID_LINE_CONTACT == (int)DEBUG_LINE_CONTACT &&
                     (int)RIGID_LINE_AXIS_X == (int)DEBUG_LINE_AXIS_X &&
                     (int)RIGID_LINE_APART == (int)DEBUG_LINE_APART &&
                     (int)RIGID_LINE_BOX == (int)DEBUG_LINE_BOX &&
                     (int)RIGID_LINE_KIND_COUNT == (int)DEBUG_LINE_KIND_COUNT &&
                     sizeof(RigidLine) == sizeof(DebugLine),
                 "lines are numbered alike");

static const f64 degrees_a_radian = 180.0 / 3.14159265358979323846;

void matter_rigid_sums(const Matter *matter, MatterSums *sums)
{
    const MatterRigid *m = rigid_of_const(matter);
    Vec3 g = world_vector(matter->world, WORLD_GRAVITY);
    u32 slots = rigid_slots(m->rigid);
    for (u32 i = 0; i < slots; i++) {
        f64 mass = m->slots[i].entity != 0 ? (f64)rigid_mass(m->rigid, i) : 0.0;
        if (mass <= 0.0) {
            continue;
        }
        Vec3 v = rigid_velocity(m->rigid, i), x = rigid_centre(m->rigid, i);
        Vec3 angular_velocity = quat_rotate_inverse(rigid_orientation(m->rigid, i),
                                                    rigid_angular_velocity(m->rigid, i));
        Symmetric3 inertia = rigid_inertia(m->rigid, i);
        f64 rotation = (f64)vec3_dot(symmetric_mul(&inertia, angular_velocity), angular_velocity);
        sums->kinetic += 0.5 * (mass * (f64)vec3_dot(v, v) + rotation);
        sums->potential -= mass * (f64)rigid_gravity_scale(m->rigid, i) * (f64)vec3_dot(g, x);
        sums->momentum[0] += mass * (f64)v.x;
        sums->momentum[1] += mass * (f64)v.y;
        sums->momentum[2] += mass * (f64)v.z;
    }
}

void matter_rigid_stats(const Matter *matter, MatterStats *stats)
{
    const MatterRigid *m = rigid_of_const(matter);
    RigidStats rigid;
    rigid_stats(m->rigid, &rigid);
    stats->world.bodies += rigid.bodies;
    stats->world.bodies_awake += rigid.awake;
    stats->world.contacts += rigid.contacts;
    stats->world.islands += rigid.islands;
    stats->world.memory_bytes += rigid.memory_bytes + m->capacity * sizeof *m->slots;
    stats->awake += rigid.awake;
    stats->touching += rigid.touching;
    stats->penetration_max = f32_max(stats->penetration_max, rigid.penetration_max);
}

static f64 own_angular_momentum(const MatterRigid *m, u32 slot)
{
    Vec3 angular_velocity = rigid_angular_velocity(m->rigid, slot);
    Vec3 local = quat_rotate_inverse(rigid_orientation(m->rigid, slot), angular_velocity);
    Symmetric3 inertia = rigid_inertia(m->rigid, slot);
    return (f64)vec3_length(symmetric_mul(&inertia, local));
}

static f64 tilt_degrees(const MatterRigid *m, u32 slot)
{
    Vec3 up = quat_rotate(rigid_orientation(m->rigid, slot), vec3(0.0f, 1.0f, 0.0f));
    return trig_acos((f64)up.y) * degrees_a_radian;
}

/* Of one body: 0 once it is removed. False: not a probe of bodies. */
static bool measure_body(const MatterRigid *m, const SceneProbe *probe, f64 *value)
{
    u32 slot = m->body_slots[probe->body];
    bool gone = m->slots[slot].entity == 0;
    switch (probe->kind) {
    case PROBE_HEIGHT:
        *value = gone ? 0.0 : (f64)rigid_position(m->rigid, slot).y;
        return true;
    case PROBE_SPEED:
        *value = gone ? 0.0 : (f64)vec3_length(rigid_velocity(m->rigid, slot));
        return true;
    case PROBE_ANGULAR_VELOCITY:
        *value = gone ? 0.0 : (f64)vec3_length(rigid_angular_velocity(m->rigid, slot));
        return true;
    case PROBE_TILT:
        *value = gone ? 0.0 : tilt_degrees(m, slot);
        return true;
    case PROBE_ANGULAR_MOMENTUM:
        *value = gone ? 0.0 : own_angular_momentum(m, slot);
        return true;
    default:
        return false;
    }
}

/* Of one joint: 0 once it is broken. */
static bool measure_joint(const MatterRigid *m, const SceneProbe *probe, f64 *value)
{
    if (probe->kind != PROBE_JOINT_VALUE && probe->kind != PROBE_JOINT_FORCE) {
        return false;
    }
    *value = 0.0;
    if (!rigid_joint_alive(m->rigid, m->joints[probe->joint])) {
        return true;
    }
    u32 slot = m->joints[probe->joint].slot;
    if (probe->kind == PROBE_JOINT_FORCE) {
        *value = (f64)vec3_length(rigid_joint_force(m->rigid, slot));
        return true;
    }
    *value = (f64)rigid_joint_value(m->rigid, slot);
    if (scene_joint_rotates(&rigid_scene(m)->joints[probe->joint])) {
        *value *= degrees_a_radian;
    }
    return true;
}

bool matter_rigid_measure(const Matter *matter, const SceneProbe *probe, f64 *value)
{
    const MatterRigid *m = rigid_of_const(matter);
    if (probe->joint >= 0) {
        return measure_joint(m, probe, value);
    }
    return probe->body >= 0 && measure_body(m, probe, value);
}

/* ---- the inside ---- */

/* Cached from the solver: lines, and island numbers by slot. */
typedef struct DebugKept {
    RigidLine lines[DEBUG_LINES_ALL_MAX];
    u32 islands[BODIES_MAX];
} DebugKept;

static DebugKept *inside_of(MatterRigid *m)
{
    if (m->debug == NULL) {
        m->debug = malloc(sizeof(DebugKept));
    }
    return m->debug;
}

u32 matter_rigid_lines(Matter *matter, u32 mask, DebugLine *lines, u32 capacity)
{
    MatterRigid *m = rigid_of(matter);
    DebugKept *inside = inside_of(m);
    if (inside == NULL) {
        return 0;
    }
    u32 show = (mask & DEBUG_CONTACTS ? RIGID_SHOW_CONTACTS : 0u) |
               (mask & DEBUG_JOINTS ? RIGID_SHOW_JOINTS : 0u) |
               (mask & DEBUG_BOXES ? RIGID_SHOW_BOXES : 0u);
    u32 all = rigid_lines(m->rigid, show, inside->lines, u32_min(capacity, DEBUG_LINES_ALL_MAX));
    for (u32 i = 0; i < u32_min(all, capacity); i++) {
        const RigidLine *line = &inside->lines[i];
        lines[i] = (DebugLine){line->from, line->to, line->kind};
    }
    return all;
}

u32 matter_rigid_islands(Matter *matter, DebugIsland *islands, u32 capacity)
{
    MatterRigid *m = rigid_of(matter);
    DebugKept *inside = inside_of(m);
    if (inside == NULL) {
        return 0;
    }
    u32 count = 0, slots = rigid_slots(m->rigid);
    rigid_islands(m->rigid, inside->islands);
    for (u32 i = 0; i < slots && count < capacity; i++) {
        if (m->slots[i].entity != 0 && rigid_motion(m->rigid, i) == BODY_DYNAMIC) {
            islands[count].entity = m->slots[i].entity;
            islands[count].island = inside->islands[i] + 1;
            count++;
        }
    }
    return count;
}
