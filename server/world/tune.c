/*
 * tune.c: what can be tuned and what is measured. Each is declared here once, with unit, range and
 * default; sliders, plots and exports come from that.
 */
#include "server/world/world_state.h"
#include "shared/trig.h"

#include <stdio.h>
#include <string.h>

static const f64 degrees_a_radian = 180.0 / 3.14159265358979323846;

static void declare(World *world, ParameterId id, const char *name, const char *unit,
                    u32 components, f32 min, f32 max, Vec3 initial)
{
    ScalarInfo *info = &world->parameters[id];
    memset(info, 0, sizeof *info);
    snprintf(info->name, sizeof info->name, "%s", name);
    snprintf(info->unit, sizeof info->unit, "%s", unit);
    info->components = (u8)components;
    info->field = FIELD_PARAMETERS;
    info->first =
        id == 0 ? 0 : world->parameters[id - 1].first + world->parameters[id - 1].components;
    info->min = min;
    info->max = max;
    info->initial[0] = initial.x;
    info->initial[1] = initial.y;
    info->initial[2] = initial.z;
}

/* Whether the joint's free motion is a turn, told in degrees, or a shift. */
static bool joint_turns(const Scene *scene, i32 joint)
{
    SceneJointKind kind = scene->joints[joint].kind;
    return kind == SCENE_JOINT_HINGE || kind == SCENE_JOINT_CONE_TWIST;
}

static const char *probe_unit(const Scene *scene, const SceneProbe *probe)
{
    if (probe->kind == PROBE_JOINT_VALUE) {
        return joint_turns(scene, probe->joint) ? "deg" : "m";
    }
    return probe_kind_unit(probe->kind);
}

void tune_describe(World *world)
{
    const Scene *scene = world->scene;
    declare(world, PARAMETER_GRAVITY, "gravity", "m/s^2", 3, -50.0f, 50.0f, scene->gravity);
    declare(world, PARAMETER_WIND, "wind", "m/s", 3, -30.0f, 30.0f, scene->wind);
    declare(world, PARAMETER_AIR, "air density", "kg/m^3", 1, 0.0f, 10.0f, vec3(1.2f, 0.0f, 0.0f));
    declare(world, PARAMETER_SUBSTEPS, "substeps", "1", 1, 1.0f, 32.0f,
            vec3((f32)u32_min(scene->substeps, 32), 0.0f, 0.0f));
    declare(world, PARAMETER_FRICTION, "friction", "x", 1, 0.0f, 4.0f, vec3(1.0f, 0.0f, 0.0f));
    declare(world, PARAMETER_BOUNCE, "bounce", "1", 1, 0.0f, 1.0f, vec3_zero());
    declare(world, PARAMETER_STRETCH, "cloth stretch", "x", 1, 0.0f, 10000.0f,
            vec3(1.0f, 0.0f, 0.0f));
    declare(world, PARAMETER_BEND, "cloth bending", "x", 1, 0.0f, 10000.0f, vec3(1.0f, 0.0f, 0.0f));
    declare(world, PARAMETER_PRESSURE, "pressure", "x", 1, 0.0f, 10.0f, vec3(1.0f, 0.0f, 0.0f));
    for (u32 i = 0; i < scene->probe_count; i++) {
        ScalarInfo *info = &world->probes[i];
        memset(info, 0, sizeof *info);
        snprintf(info->name, sizeof info->name, "%s", scene->probes[i].name);
        snprintf(info->unit, sizeof info->unit, "%s", probe_unit(scene, &scene->probes[i]));
        info->components = 1;
        info->field = FIELD_PROBES;
        info->first = i;
    }
}

static Vec3 value3(const World *world, ParameterId id)
{
    return vec3(world->values[id][0], world->values[id][1], world->values[id][2]);
}

void tune_apply(World *world)
{
    Vec3 gravity = value3(world, PARAMETER_GRAVITY);
    rigid_set_gravity(world->rigid, gravity);
    rigid_set_substeps(world->rigid, (u32)world->values[PARAMETER_SUBSTEPS][0]);
    rigid_set_materials(world->rigid, world->values[PARAMETER_FRICTION][0],
                        world->values[PARAMETER_BOUNCE][0]);
    soft_set_gravity(world->soft, gravity);
    soft_set_wind(world->soft, value3(world, PARAMETER_WIND), world->values[PARAMETER_AIR][0]);
    soft_set_compliance(world->soft, world->values[PARAMETER_STRETCH][0],
                        world->values[PARAMETER_BEND][0]);
    soft_set_pressure(world->soft, world->values[PARAMETER_PRESSURE][0]);
}

int tune_set(World *world, u32 parameter, const f32 values[4])
{
    if (parameter >= PARAMETER_COUNT) {
        return ERROR_NOT_FOUND;
    }
    const ScalarInfo *info = &world->parameters[parameter];
    for (u32 i = 0; i < info->components; i++) {
        if (!(values[i] >= info->min && values[i] <= info->max)) {
            return ERROR_RANGE;
        }
    }
    memcpy(world->values[parameter], values, info->components * sizeof values[0]);
    tune_apply(world);
    rigid_wake_all(world->rigid); /* what rested may not rest under the new rules */
    soft_wake_all(world->soft);
    return ERROR_OK;
}

/* ---- probes ---- */

typedef struct Sums {
    f64 kinetic, potential, momentum[3];
} Sums;

/* Added in slot and particle order, in double: the same bits for any threads. */
static Sums sum_all(const World *world)
{
    Sums s = {0};
    Vec3 g = value3(world, PARAMETER_GRAVITY);
    u32 slots = rigid_slots(world->rigid);
    for (u32 i = 0; i < slots; i++) {
        f64 m = world->slots[i].entity != 0 ? (f64)rigid_mass(world->rigid, i) : 0.0;
        if (m <= 0.0) {
            continue;
        }
        Vec3 v = rigid_velocity(world->rigid, i), x = rigid_centre(world->rigid, i);
        Vec3 spin =
            quat_rotate_inverse(rigid_orientation(world->rigid, i), rigid_spin(world->rigid, i));
        Symmetric3 inertia = rigid_inertia(world->rigid, i);
        f64 turn = (f64)vec3_dot(symmetric_mul(&inertia, spin), spin);
        s.kinetic += 0.5 * (m * (f64)vec3_dot(v, v) + turn);
        s.potential -= m * (f64)rigid_gravity_scale(world->rigid, i) * (f64)vec3_dot(g, x);
        s.momentum[0] += m * (f64)v.x;
        s.momentum[1] += m * (f64)v.y;
        s.momentum[2] += m * (f64)v.z;
    }
    u32 particles = soft_particles(world->soft);
    for (u32 i = 0; i < particles; i++) {
        f32 w = soft_inverse_mass(world->soft, i);
        if (w <= 0.0f) {
            continue;
        }
        f64 m = 1.0 / (f64)w;
        Vec3 v = soft_velocity(world->soft, i);
        s.kinetic += 0.5 * m * (f64)vec3_dot(v, v);
        s.potential -= m * (f64)vec3_dot(g, soft_position(world->soft, i));
        s.momentum[0] += m * (f64)v.x;
        s.momentum[1] += m * (f64)v.y;
        s.momentum[2] += m * (f64)v.z;
    }
    return s;
}

static f64 root(f64 x)
{
    return (f64)sqrt(x);
}

static f64 soft_mean(const World *world, u32 soft, bool speed)
{
    SoftRange range = world->softs[soft];
    f64 sum = 0.0;
    for (u32 i = range.first; i < range.first + range.count; i++) {
        sum += speed ? (f64)vec3_length(soft_velocity(world->soft, i))
                     : (f64)soft_position(world->soft, i).y;
    }
    return sum / range.count;
}

/* What is of one body: 0 once it is gone. */
static f64 of_body(const World *world, const SceneProbe *probe)
{
    u32 slot = probe->body >= 0 ? world->body_slots[probe->body] : 0;
    if (probe->body < 0 || world->slots[slot].entity == 0) {
        return 0.0;
    }
    Quat q = rigid_orientation(world->rigid, slot);
    Vec3 spin = rigid_spin(world->rigid, slot);
    switch (probe->kind) {
    case PROBE_SPIN:
        return (f64)vec3_length(spin);
    case PROBE_TILT:
        return trig_acos((f64)quat_rotate(q, vec3(0.0f, 1.0f, 0.0f)).y) * degrees_a_radian;
    default: {
        Vec3 local = quat_rotate_inverse(q, spin);
        Symmetric3 inertia = rigid_inertia(world->rigid, slot);
        return (f64)vec3_length(symmetric_mul(&inertia, local));
    }
    }
}

static f64 of_joint(const World *world, const SceneProbe *probe)
{
    if (probe->joint < 0 || !rigid_joint_alive(world->rigid, world->joints[probe->joint])) {
        return 0.0; /* broken */
    }
    u32 slot = world->joints[probe->joint].slot;
    if (probe->kind == PROBE_JOINT_FORCE) {
        return (f64)vec3_length(rigid_joint_force(world->rigid, slot));
    }
    f64 value = (f64)rigid_joint_value(world->rigid, slot);
    return joint_turns(world->scene, probe->joint) ? value * degrees_a_radian : value;
}

static f64 of_entity(const World *world, const SceneProbe *probe, bool speed)
{
    if (probe->soft >= 0) {
        return soft_mean(world, (u32)probe->soft, speed);
    }
    if (probe->body < 0) {
        return 0.0;
    }
    u32 slot = world->body_slots[probe->body];
    if (world->slots[slot].entity == 0) {
        return 0.0; /* removed */
    }
    return speed ? (f64)vec3_length(rigid_velocity(world->rigid, slot))
                 : (f64)rigid_position(world->rigid, slot).y;
}

/* Of the air around everything: what a gas has even where it presses no more than that. */
static const f64 air_pa = 101325.0;

static f64 of_soft(const World *world, const SceneProbe *probe)
{
    if (probe->soft < 0) {
        return 0.0;
    }
    u32 body = world->softs[probe->soft].body;
    switch (probe->kind) {
    case PROBE_STRETCH:
        return (f64)soft_strain(world->soft, body);
    case PROBE_VOLUME:
        return (f64)soft_volume(world->soft, body);
    case PROBE_PRESSURE:
        return (f64)soft_pressure(world->soft, body) / 1000.0;
    default:
        return (air_pa + (f64)soft_pressure(world->soft, body)) *
               (f64)soft_volume(world->soft, body);
    }
}

/* What several probes of one moment are taken from, walked over the world at most once each. */
typedef struct Totals {
    Sums sums;
    RigidStats stats;
    bool have_sums, have_stats;
} Totals;

static const Sums *sums_of(const World *world, Totals *totals)
{
    if (!totals->have_sums) {
        totals->sums = sum_all(world);
        totals->have_sums = true;
    }
    return &totals->sums;
}

static const RigidStats *stats_of(const World *world, Totals *totals)
{
    if (!totals->have_stats) {
        rigid_stats(world->rigid, &totals->stats);
        totals->have_stats = true;
    }
    return &totals->stats;
}

static u32 softs_awake(const World *world)
{
    u32 count = 0;
    for (u32 b = 0; b < soft_bodies(world->soft); b++) {
        count += soft_awake(world->soft, b);
    }
    return count;
}

static f64 measure(const World *world, const SceneProbe *probe, Totals *totals)
{
    switch (probe->kind) {
    case PROBE_KINETIC_ENERGY:
        return sums_of(world, totals)->kinetic;
    case PROBE_POTENTIAL_ENERGY:
        return sums_of(world, totals)->potential;
    case PROBE_ENERGY:
        return sums_of(world, totals)->kinetic + sums_of(world, totals)->potential;
    case PROBE_ANGULAR_MOMENTUM:
    case PROBE_SPIN:
    case PROBE_TILT:
        return of_body(world, probe);
    case PROBE_CONTACTS:
        return (f64)stats_of(world, totals)->touching;
    case PROBE_JOINT_VALUE:
    case PROBE_JOINT_FORCE:
        return of_joint(world, probe);
    case PROBE_MOMENTUM: {
        const f64 *p = sums_of(world, totals)->momentum;
        return root(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
    }
    case PROBE_HEIGHT:
        return of_entity(world, probe, false);
    case PROBE_SPEED:
        return of_entity(world, probe, true);
    case PROBE_PENETRATION:
        return (f64)stats_of(world, totals)->penetration_max;
    case PROBE_AWAKE:
        return (f64)(stats_of(world, totals)->awake + softs_awake(world));
    case PROBE_STRETCH:
    case PROBE_VOLUME:
    case PROBE_PRESSURE:
    case PROBE_PRESSURE_VOLUME:
        return of_soft(world, probe);
    default:
        return 0.0;
    }
}

void tune_probes(const World *world, f32 *values)
{
    Totals totals = {.have_sums = false};
    for (u32 i = 0; i < world->scene->probe_count; i++) {
        values[i] = (f32)measure(world, &world->scene->probes[i], &totals);
    }
}

bool world_probe(const World *world, const char *name, f64 *value)
{
    for (u32 i = 0; i < world->scene->probe_count; i++) {
        if (strcmp(world->scene->probes[i].name, name) == 0) {
            Totals totals = {.have_sums = false};
            *value = measure(world, &world->scene->probes[i], &totals);
            return true;
        }
    }
    return false;
}
