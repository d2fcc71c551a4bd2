/* soft_kit.c: see soft_kit.h. */
#include "tests/support/soft_kit.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

SoftKit soft_kit_create(Vec3 gravity)
{
    RigidDef def = {.body_capacity = 16,
                    .tick_s = SOFT_KIT_TICK_S,
                    .substeps = SOFT_KIT_SUBSTEPS,
                    .gravity = gravity};
    SoftKit kit = {.rigid = rigid_create(&def), .soft = soft_create()};
    assert_non_null(kit.rigid);
    assert_non_null(kit.soft);
    soft_set_gravity(kit.soft, gravity);
    soft_set_wind(kit.soft, vec3_zero(), 0.0f);
    return kit;
}

void soft_kit_destroy(SoftKit *kit)
{
    rigid_destroy(kit->rigid);
    soft_destroy(kit->soft);
    rigid_collider_finish(&kit->bodies);
}

Collider soft_kit_collider(SoftKit *kit)
{
    kit->bodies.rigid = kit->rigid;
    return rigid_collider(&kit->bodies);
}

void soft_kit_ticks(SoftKit *kit, u32 count)
{
    Collider bodies = soft_kit_collider(kit);
    for (u32 i = 0; i < count; i++) {
        rigid_collide(kit->rigid, kit->jobs);
        soft_begin(kit->soft, (SoftOthers){&bodies, 1}, kit->jobs, SOFT_KIT_TICK_S);
        rigid_prepare(kit->rigid);
        for (u32 s = 0; s < SOFT_KIT_SUBSTEPS; s++) {
            rigid_substep(kit->rigid);
            soft_substep(kit->soft, SOFT_KIT_TICK_S / SOFT_KIT_SUBSTEPS);
        }
        rigid_finish(kit->rigid);
    }
}

SoftRange soft_kit_add(SoftKit *kit, SoftDef *def, SoftMesh *mesh)
{
    SoftRange range;
    ErrorText error;
    Collider bodies = soft_kit_collider(kit);
    def->mesh = mesh;
    int result = soft_add(kit->soft, &bodies, def, &range, &error);
    soft_mesh_finish(mesh);
    if (result != 0) {
        fail_msg("%s", error.text);
    }
    assert_int_equal(soft_build(kit->soft), 0);
    return range;
}

SoftDef soft_kit_cloth_def(void)
{
    SoftDef def = soft_def_default();
    def.damping = 0.0f;
    def.friction = 0.5f;
    return def;
}

SoftRange soft_kit_add_cloth(SoftKit *kit, SoftDef *def, u32 columns, u32 rows, f32 width,
                             f32 height)
{
    SoftMesh mesh;
    ErrorText error;
    assert_int_equal(soft_mesh_grid(&mesh, columns, rows, width, height, &error), 0);
    if (def->mass_kg == 0.0f) {
        def->mass_kg = 0.2f * width * height;
    }
    return soft_kit_add(kit, def, &mesh);
}

BodyId soft_kit_add_body(SoftKit *kit, Shape shape, BodyMotion motion, f32 mass, Vec3 at,
                         Vec3 velocity)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.motion = motion;
    def.mass_kg = mass;
    def.position = at;
    def.velocity = velocity;
    return rigid_add(kit->rigid, &def);
}

static Vec3 mean(const SoftKit *kit, SoftRange range, Vec3 (*of)(const Soft *, u32))
{
    f64 s[3] = {0};
    for (u32 i = range.first; i < range.first + range.count; i++) {
        Vec3 v = of(kit->soft, i);
        s[0] += (f64)v.x;
        s[1] += (f64)v.y;
        s[2] += (f64)v.z;
    }
    f64 n = range.count;
    return vec3((f32)(s[0] / n), (f32)(s[1] / n), (f32)(s[2] / n));
}

Vec3 soft_kit_mean_position(const SoftKit *kit, SoftRange range)
{
    return mean(kit, range, soft_position);
}

Vec3 soft_kit_mean_velocity(const SoftKit *kit, SoftRange range)
{
    return mean(kit, range, soft_velocity);
}

static void add_to(f64 sum[3], f64 m, Vec3 v)
{
    sum[0] += m * (f64)v.x;
    sum[1] += m * (f64)v.y;
    sum[2] += m * (f64)v.z;
}

void soft_kit_momentum(const SoftKit *kit, f64 sum[3])
{
    memset(sum, 0, 3 * sizeof *sum);
    for (u32 i = 0; i < soft_particles(kit->soft); i++) {
        f32 w = soft_inverse_mass(kit->soft, i);
        if (w > 0.0f) {
            add_to(sum, 1.0 / (f64)w, soft_velocity(kit->soft, i));
        }
    }
    for (u32 i = 0; i < rigid_slots(kit->rigid); i++) {
        if (rigid_at(kit->rigid, i).generation != 0) {
            add_to(sum, (f64)rigid_mass(kit->rigid, i), rigid_velocity(kit->rigid, i));
        }
    }
}

f64 soft_kit_drift(const f64 before[3], const f64 after[3], f64 scale)
{
    f64 worst = 0.0;
    for (u32 i = 0; i < 3; i++) {
        f64 change = after[i] - before[i];
        worst = change > worst ? change : -change > worst ? -change : worst;
    }
    return worst / scale;
}
