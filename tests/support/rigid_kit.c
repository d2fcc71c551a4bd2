/* rigid_kit.c: see rigid_kit.h. */
#include "tests/support/rigid_kit.h"

#include "shared/geometry/geometry.h"
#include "shared/math/trig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static Rigid *world_of(const RigidDef *def)
{
    Rigid *rigid = rigid_create(def);
    if (!rigid) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    return rigid;
}

Rigid *kit_world(u32 bodies, u32 substeps, f32 gravity_m_s2)
{
    return world_of(&(RigidDef){.body_capacity = bodies,
                                .tick_s = KIT_TICK_S,
                                .substeps = substeps,
                                .gravity = {0.0f, -gravity_m_s2, 0.0f},
                                .no_sleep = true});
}

Rigid *kit_joint_world(Vec3 gravity, u32 substeps, u32 capacity)
{
    return world_of(&(RigidDef){.body_capacity = capacity,
                                .tick_s = KIT_TICK_S,
                                .substeps = substeps,
                                .gravity = gravity,
                                .joint_capacity = capacity,
                                .no_sleep = true});
}

Rigid *kit_sleeping_world(u32 bodies, u32 substeps, Vec3 gravity)
{
    return world_of(&(RigidDef){
        .body_capacity = bodies, .tick_s = KIT_TICK_S, .substeps = substeps, .gravity = gravity});
}

void kit_tick(Rigid *rigid)
{
    kit_tick_jobs(rigid, NULL);
}

void kit_tick_jobs(Rigid *rigid, Jobs *jobs)
{
    rigid_collide(rigid, jobs);
    rigid_prepare(rigid);
    for (u32 i = 0; i < rigid_substeps(rigid); i++) {
        rigid_substep(rigid);
    }
    rigid_finish(rigid);
}

void kit_tick_awake(Rigid *rigid)
{
    kit_tick(rigid);
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        rigid_keep_awake(rigid, i);
    }
}

void kit_run(Rigid *rigid, f32 seconds)
{
    for (u32 i = 0; i < (u32)(seconds * 60.0f + 0.5f); i++) {
        kit_tick(rigid);
    }
}

u32 kit_join(Rigid *rigid, const JointDef *def)
{
    JointId id = joint_def_fault(def) == NULL ? rigid_joint_add(rigid, def) : (JointId){0, 0};
    if (id.generation == 0) {
        fprintf(stderr, "a joint was refused\n");
        exit(1);
    }
    return id.slot;
}

Shape kit_ball_shape(f32 radius)
{
    return (Shape){.kind = SHAPE_SPHERE, .radius = radius};
}

Quat kit_rotation_z(f32 angle)
{
    return (Quat){trig_cos_f32(0.5f * angle), 0.0f, 0.0f, trig_sin_f32(0.5f * angle)};
}

Quat kit_rotation(Vec3 axis, f64 degrees)
{
    f64 sine, cosine;
    trig_sincos(degrees * (3.14159265358979 / 360.0), &sine, &cosine);
    return (Quat){(f32)cosine, (f32)sine * axis.x, (f32)sine * axis.y, (f32)sine * axis.z};
}

static BodyDef solid(Shape shape, Vec3 position)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.position = position;
    def.mass_kg = 1000.0f * shape_volume(&shape);
    return def;
}

BodyDef kit_box(Vec3 position, Vec3 half)
{
    return solid((Shape){.kind = SHAPE_BOX, .half = half}, position);
}
BodyDef kit_ball(Vec3 position, f32 radius)
{
    return solid((Shape){.kind = SHAPE_SPHERE, .radius = radius}, position);
}
BodyDef kit_plane(Quat orientation)
{
    BodyDef def = body_def_default();
    def.shape.kind = SHAPE_PLANE;
    def.motion = BODY_STATIC;
    def.orientation = orientation;
    return def;
}
BodyDef kit_ground(void)
{
    BodyDef def = kit_box(vec3(0.0f, -1.0f, 0.0f), vec3(100.0f, 1.0f, 100.0f));
    def.motion = BODY_STATIC;
    return def;
}

u32 kit_add(Rigid *rigid, const BodyDef *def)
{
    BodyId id = rigid_add(rigid, def);
    if (id.generation == 0) {
        fprintf(stderr, "the body is refused\n");
        exit(1);
    }
    return id.slot;
}

u64 kit_hash(Rigid *rigid)
{
    State state = {.mode = STATE_HASH};
    rigid_serialize(rigid, &state);
    return state.hash;
}

u8 *kit_save(Rigid *rigid, size_t *bytes)
{
    State count = {.mode = STATE_COUNT};
    rigid_serialize(rigid, &count);
    u8 *image = calloc(1, count.used);
    State save = {.mode = STATE_SAVE, .data = image, .bytes = count.used};
    if (image != NULL) {
        rigid_serialize(rigid, &save);
    }
    if (image == NULL || save.failed || save.used != count.used) {
        fprintf(stderr, "the world cannot be saved\n");
        exit(1);
    }
    *bytes = count.used;
    return image;
}

bool kit_load(Rigid *rigid, u8 *image, size_t bytes)
{
    State load = {.mode = STATE_LOAD, .data = image, .bytes = bytes};
    rigid_serialize(rigid, &load);
    return !load.failed;
}

Geometry *kit_field(u32 cells, f32 size_m)
{
    u32 side = cells + 1, n = 0;
    Vec3 *v = malloc(sizeof(Vec3) * side * side);
    u32 *t = malloc(sizeof(u32) * 6 * cells * cells);
    f32 half = 0.5f * size_m * (f32)cells;
    for (u32 i = 0; v != NULL && t != NULL && i < side * side; i++) {
        u32 x = i % side, z = i / side;
        v[i] = vec3(size_m * (f32)x - half, 0.0f, size_m * (f32)z - half);
        if (x < cells && z < cells) {
            const u32 corners[6] = {i, i + side + 1, i + 1, i, i + side, i + side + 1};
            memcpy(&t[n], corners, sizeof corners);
            n += 6;
        }
    }
    ErrorText error;
    Geometry *field = n > 0 ? geometry_mesh(v, side * side, t, n / 3, NULL, &error) : NULL;
    if (field == NULL) {
        fprintf(stderr, "no field\n");
        exit(1);
    }
    free(v);
    free(t);
    return field;
}

KitMotion kit_motion(const Rigid *rigid)
{
    KitMotion sum = {0};
    for (u32 i = 0; i < rigid_slots(rigid); i++) {
        f64 m = rigid_alive(rigid, rigid_at(rigid, i)) ? (f64)rigid_mass(rigid, i) : 0.0;
        if (m <= 0.0) {
            continue;
        }
        Vec3 x = rigid_centre(rigid, i), v = rigid_velocity(rigid, i);
        Quat q = rigid_orientation(rigid, i);
        Vec3 w = quat_rotate_inverse(q, rigid_angular_velocity(rigid, i));
        Symmetric3 inertia = rigid_inertia(rigid, i);
        Vec3 own = symmetric_mul(&inertia, w), l = quat_rotate(q, own);
        sum.energy += 0.5 * m * (f64)vec3_dot(v, v) + 0.5 * (f64)vec3_dot(w, own);
        sum.momentum[0] += m * (f64)v.x;
        sum.momentum[1] += m * (f64)v.y;
        sum.momentum[2] += m * (f64)v.z;
        sum.angular[0] += m * ((f64)x.y * (f64)v.z - (f64)x.z * (f64)v.y) + (f64)l.x;
        sum.angular[1] += m * ((f64)x.z * (f64)v.x - (f64)x.x * (f64)v.z) + (f64)l.y;
        sum.angular[2] += m * ((f64)x.x * (f64)v.y - (f64)x.y * (f64)v.x) + (f64)l.z;
    }
    return sum;
}

static f64 angular_distance(const KitMotion *a, const KitMotion *b)
{
    f64 sum = 0.0;
    for (u32 k = 0; k < 3; k++) {
        f64 d = a->angular[k] - b->angular[k];
        sum += d * d;
    }
    return sqrt(sum);
}

/* The greater value; NaN is greater than all. */
static f64 greater(f64 a, f64 b)
{
    return isnan(a) || a >= b ? a : b;
}

KitFlight kit_fly(Rigid *rigid, u32 ticks)
{
    KitMotion none = {0}, first = kit_motion(rigid), now = first;
    f64 most = first.energy, change = 0.0;
    for (u32 i = 0; i < ticks; i++) {
        kit_tick(rigid);
        now = kit_motion(rigid);
        most = greater(most, now.energy);
        change = greater(change, angular_distance(&now, &first));
    }
    return (KitFlight){100.0 * (most / first.energy - 1.0),
                       100.0 * (1.0 - now.energy / first.energy),
                       100.0 * change / angular_distance(&first, &none)};
}
