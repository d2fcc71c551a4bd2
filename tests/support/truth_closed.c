/* truth_closed.c: see truth_closed.h. */
#include "tests/support/truth_closed.h"

#include <math.h>

Closed closed_make(TruthCase *c, f32 gravity, f32 step_s)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    static const u32 substeps[] = {2, 4, 8, 8, 16};
    f32 rate = rates[truth_pick(c, PL_COUNT(rates))];
    Closed of = {.soft = soft_create(),
                 .tick_s = 1.0f / rate,
                 .gravity = gravity,
                 .substeps = substeps[truth_pick(c, PL_COUNT(substeps))]};
    RigidDef def = {.body_capacity = 16,
                    .tick_s = of.tick_s,
                    .substeps = of.substeps,
                    .gravity = vec3(0.0f, -gravity, 0.0f),
                    .joint_capacity = 4};
    u32 steps = 1 + truth_pick(c, 6);
    while (of.tick_s / (f32)(of.substeps * steps) > step_s && steps < SOFT_STEPS_MAX) {
        steps++;
    }
    of.rigid = rigid_create(&def);
    soft_set_gravity(of.soft, def.gravity);
    soft_set_wind(of.soft, vec3_zero(), 0.0f);
    soft_set_steps(of.soft, steps);
    truth_say(c, "%g Hz %u×%u", (f64)rate, of.substeps, steps);
    return of;
}

void closed_finish(Closed *of)
{
    rigid_destroy(of->rigid);
    rigid_collider_finish(&of->bodies_met);
    soft_destroy(of->soft);
}

Collider closed_collider(Closed *of)
{
    of->bodies_met.rigid = of->rigid;
    return rigid_collider(&of->bodies_met);
}

void closed_tick(Closed *of)
{
    Collider bodies = closed_collider(of);
    rigid_collide(of->rigid, NULL);
    soft_begin(of->soft, (SoftOthers){&bodies, 1}, NULL, of->tick_s);
    rigid_prepare(of->rigid);
    for (u32 s = 0; s < of->substeps; s++) {
        rigid_substep(of->rigid);
        soft_substep(of->soft, of->tick_s / (f32)of->substeps);
    }
    rigid_finish(of->rigid);
}

static void add_turning(f64 sum[3], f64 m, Vec3 x, Vec3 v)
{
    sum[0] += m * ((f64)x.y * (f64)v.z - (f64)x.z * (f64)v.y);
    sum[1] += m * ((f64)x.z * (f64)v.x - (f64)x.x * (f64)v.z);
    sum[2] += m * ((f64)x.x * (f64)v.y - (f64)x.y * (f64)v.x);
}

static void add_matter(const Closed *of, ClosedSums *s, f64 m, Vec3 x, Vec3 v)
{
    s->kinetic += 0.5 * m * (f64)vec3_dot(v, v);
    s->potential += m * (f64)of->gravity * (f64)x.y;
    s->momentum[0] += m * (f64)v.x;
    s->momentum[1] += m * (f64)v.y;
    s->momentum[2] += m * (f64)v.z;
    s->fastest = fmax(s->fastest, (f64)vec3_length(v));
    add_turning(s->angular, m, x, v);
}

ClosedSums closed_sums(const Closed *of)
{
    ClosedSums s = {0};
    for (u32 i = 0; i < of->body_count; i++) {
        u32 slot = of->bodies[i].slot;
        add_matter(of, &s, (f64)rigid_mass(of->rigid, slot), rigid_centre(of->rigid, slot),
                   rigid_velocity(of->rigid, slot));
        Quat rotation = rigid_orientation(of->rigid, slot);
        Vec3 angular_velocity =
            quat_rotate_inverse(rotation, rigid_angular_velocity(of->rigid, slot));
        Symmetric3 inertia = rigid_inertia(of->rigid, slot);
        Vec3 momentum = symmetric_mul(&inertia, angular_velocity);
        s.kinetic += 0.5 * (f64)vec3_dot(momentum, angular_velocity);
        momentum = quat_rotate(rotation, momentum);
        s.angular[0] += (f64)momentum.x;
        s.angular[1] += (f64)momentum.y;
        s.angular[2] += (f64)momentum.z;
    }
    for (u32 i = 0; i < soft_particles(of->soft); i++) {
        f32 w = soft_inverse_mass(of->soft, i);
        if (w > 0.0f) {
            add_matter(of, &s, 1.0 / (f64)w, soft_position(of->soft, i),
                       soft_velocity(of->soft, i));
        }
    }
    for (u32 i = 0; i < soft_bodies(of->soft); i++) {
        s.elastic += soft_elastic_energy(of->soft, i);
    }
    return s;
}

Shape closed_shape(TruthCase *c, f32 size)
{
    switch (truth_pick(c, 3)) {
    case 0:
        truth_say(c, " ball %.2f", (f64)size);
        return (Shape){.kind = SHAPE_SPHERE, .radius = size};
    case 1: {
        Vec3 half = vec3(size, size * truth_range(c, 0.3f, 1.0f), size);
        truth_say(c, " box %.2f %.2f", (f64)half.x, (f64)half.y);
        return (Shape){.kind = SHAPE_BOX, .half = half};
    }
    default:
        truth_say(c, " capsule %.2f", (f64)size);
        return (Shape){.kind = SHAPE_CAPSULE, .radius = 0.5f * size, .half_height = 0.5f * size};
    }
}

BodyId closed_add_body(Closed *of, Shape shape, f32 mass, Vec3 at, Quat rotation, Vec3 velocity)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.mass_kg = mass;
    def.position = at;
    def.orientation = rotation;
    def.velocity = velocity;
    def.restitution = 0.0f;
    def.family = 1; /* only with soft bodies */
    of->bodies[of->body_count] = rigid_add(of->rigid, &def);
    return of->bodies[of->body_count++];
}

void closed_add_floor(Closed *of)
{
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_PLANE};
    def.motion = BODY_STATIC;
    def.friction = 0.6f;
    rigid_add(of->rigid, &def);
}

bool closed_add_soft(Closed *of, SoftDef *def, SoftMesh *mesh, SoftRange *range)
{
    ErrorText error;
    def->mesh = mesh;
    Collider bodies = closed_collider(of);
    bool added = soft_add(of->soft, &bodies, def, range, &error) == 0;
    soft_mesh_finish(mesh);
    return added;
}
