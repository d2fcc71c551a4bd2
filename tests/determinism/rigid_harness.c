/* rigid_harness.c: prints the hash of a pile after 120 ticks with a grab. test_builds.c compiles
 * it, with the solver, in several ways; argument "time" prints ms a tick of a large pile. */
#include "server/physics/rigid/rigid.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"

#include <inttypes.h>
#include <stdio.h>

static void build(Rigid *rigid, u32 count, bool boxes)
{
    BodyDef ground = body_def_default();
    ground.shape.kind = SHAPE_PLANE;
    ground.motion = BODY_STATIC;
    rigid_add(rigid, &ground);
    u32 side = boxes ? 10 : 4;
    for (u32 i = 0; i < count; i++) {
        BodyDef def = body_def_default();
        def.position = vec3((f32)(i % side) * 0.8f + random_range(7, i, -0.05f, 0.05f),
                            0.6f + (f32)(i / (side * side)) * 0.9f, (f32)(i / side % side) * 0.8f);
        def.shape.kind = boxes || i % 3 == 1 ? SHAPE_BOX : i % 3 ? SHAPE_CAPSULE : SHAPE_SPHERE;
        def.shape.radius = 0.25f;
        def.shape.half_height = 0.2f;
        def.shape.half = vec3(0.3f, 0.25f, 0.35f);
        def.orientation = quat_normalize(
            (Quat){1.0f, random_range(8, i, -1, 1), random_range(9, i, -1, 1), 0.3f});
        def.restitution = 0.2f;
        def.rolling = 0.01f;
        rigid_add(rigid, &def);
    }
}

int main(int argc, char **argv)
{
    PL_UNUSED(argv);
    bool timing = argc > 1;
    u32 count = timing ? 1000 : 60, ticks = timing ? 300 : 120;
    RigidDef def = {.body_capacity = count + 1,
                    .tick_s = 1.0f / 60.0f,
                    .substeps = 4,
                    .gravity = {0.0f, -9.81f, 0.0f}};
    Rigid *rigid = rigid_create(&def);
    if (!rigid) {
        return 1;
    }
    build(rigid, count, timing);
    RigidGrab grab = {.body = rigid_at(rigid, 5),
                      .local = {0.1f, 0.1f, 0.0f},
                      .target = {1.0f, 2.0f, 1.0f},
                      .frequency = 5.0f,
                      .damping = 1.0f,
                      .force_max = 5e4f};
    rigid_grab_add(rigid, &grab);
    u64 start = 0;
    for (u32 i = 0; i < ticks; i++) {
        if (i == 100) {
            start = clock_now_ns();
        }
        rigid_collide(rigid, NULL);
        rigid_prepare(rigid);
        for (u32 s = 0; s < rigid_substeps(rigid); s++) {
            rigid_substep(rigid);
        }
        rigid_finish(rigid);
    }
    if (timing) {
        RigidStats stats;
        rigid_stats(rigid, &stats);
        printf("%.2f ms a tick, %u contacts touch, %u awake\n",
               (double)(clock_now_ns() - start) / 1e6 / (ticks - 100), stats.touching, stats.awake);
    }
    State state = {.mode = STATE_HASH};
    rigid_serialize(rigid, &state);
    printf("%016" PRIx64 "\n", state.hash);
    rigid_destroy(rigid);
    return 0;
}
