/*
 * codec_cloth.c: cloth of the real solver as points: a sheet held at its corners in a wind that
 * turns and gusts, and a ball that falls on it; and dumps of points of others.
 */
#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"
#include "shared/math/random.h"
#include "tests/bench/codec_points_world.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    SUBSTEPS = 4,
    STEPS = 2, /* of the cloth in a substep */
};

#define TICK_S (1.0f / 60.0f)

static void stop(const char *text)
{
    fprintf(stderr, "plenum-bench: %s\n", text);
    exit(EXIT_FAILURE);
}

static void add_cloth(Soft *soft, u64 seed, u32 side)
{
    ErrorText error;
    SoftMesh mesh;
    SoftRange range;
    f32 edge = random_range(seed, 0, 1.6f, 2.6f);
    if (soft_mesh_grid(&mesh, side, side, edge, edge, &error) != 0) {
        stop(error.text);
    }
    SoftPin pins[4] = {{.point = 0},
                       {.point = side - 1},
                       {.point = side * (side - 1)},
                       {.point = side * side - 1}};
    SoftDef def = soft_def_default();
    def.mesh = &mesh;
    def.mass_kg = 0.2f * edge * edge;
    def.damping = 0.2f;
    def.shear_compliance = 1e-4f;
    def.bend_compliance = 0.02f;
    def.thickness = 0.015f;
    def.friction = 0.5f;
    def.pins = pins;
    def.pin_count = 4;
    if (seed % 2 == 0) { /* held at one edge: it hangs */
        pins[0] = pins[2];
        pins[1] = pins[3];
        def.pin_count = 2;
    } else { /* lies flat */
        def.orientation = (Quat){0.70710678f, 0.70710678f, 0.0f, 0.0f};
    }
    def.position = (Vec3){-0.5f * edge, 2.0f, -0.5f * edge};
    if (soft_add(soft, NULL, &def, &range, &error) != 0) {
        stop(error.text);
    }
    soft_mesh_finish(&mesh);
    soft_set_steps(soft, STEPS);
    if (soft_build(soft) != 0) {
        stop("the cloth cannot be built");
    }
}

static void add_ball(Rigid *rigid, u64 seed)
{
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_SPHERE, .radius = random_range(seed, 1, 0.1f, 0.25f)};
    def.motion = BODY_DYNAMIC;
    def.mass_kg = random_range(seed, 2, 0.5f, 3.0f);
    def.position = (Vec3){random_range(seed, 3, -0.3f, 0.3f), random_range(seed, 4, 3.2f, 4.5f),
                          random_range(seed, 5, -0.3f, 0.3f)};
    if (seed % 2 == 0) { /* flies against the sheet that hangs */
        def.position.z -= 3.0f;
        def.velocity = (Vec3){0.0f, 2.0f, 4.0f};
    }
    rigid_add(rigid, &def);
}

static void tick(RigidCollider *bodies, Soft *soft, u64 seed, u32 frame)
{
    Rigid *rigid = bodies->rigid;
    Collider collider = rigid_collider(bodies);
    f32 rotation = (f32)frame * TICK_S * random_range(seed, 6, 0.2f, 1.0f);
    f32 speed = random_range(seed, 7, 1.0f, 5.0f) * (1.0f + 0.4f * sinf(3.1f * rotation));
    soft_set_wind(soft, (Vec3){speed * cosf(rotation), 0.2f * speed, speed * sinf(rotation)}, 1.2f);
    rigid_collide(rigid, NULL);
    soft_begin(soft, (SoftOthers){&collider, 1}, NULL, TICK_S);
    rigid_prepare(rigid);
    for (u32 s = 0; s < SUBSTEPS; s++) {
        rigid_substep(rigid);
        soft_substep(soft, TICK_S / SUBSTEPS);
    }
    rigid_finish(rigid);
}

PointTrace codec_cloth(u64 seed, u32 side, u32 frames)
{
    RigidDef def = {
        .body_capacity = 4, .tick_s = TICK_S, .substeps = SUBSTEPS, .gravity = {0, -9.81f, 0}};
    Rigid *rigid = rigid_create(&def);
    RigidCollider bodies = {.rigid = rigid};
    Soft *soft = soft_create();
    PointTrace trace = {.frames = frames, .count = side * side};
    trace.at = malloc((size_t)frames * trace.count * 3 * sizeof *trace.at);
    if (rigid == NULL || soft == NULL || trace.at == NULL) {
        stop("out of memory");
    }
    add_cloth(soft, seed, side);
    add_ball(rigid, seed);
    soft_set_gravity(soft, (Vec3){0, -9.81f, 0});
    for (u32 f = 0; f < frames; f++) {
        f32 *out = trace.at + (size_t)f * trace.count * 3;
        for (u32 i = 0; i < trace.count; i++, out += 3) {
            Vec3 at = soft_position(soft, i);
            out[0] = at.x;
            out[1] = at.y;
            out[2] = at.z;
        }
        tick(&bodies, soft, seed, f);
    }
    soft_destroy(soft);
    rigid_destroy(rigid);
    rigid_collider_finish(&bodies);
    return trace;
}

PointTrace codec_points_load(const char *path, u32 count)
{
    FILE *file = fopen(path, "rb");
    PointTrace trace = {.count = count};
    size_t frame = (size_t)count * 3 * sizeof *trace.at, bytes = 0;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "plenum-bench: %s: cannot be read\n", path);
        exit(EXIT_FAILURE);
    }
    long end = ftell(file);
    bytes = end > 0 ? (size_t)end : 0;
    if (bytes == 0 || bytes % frame != 0 || bytes / frame > UINT32_MAX) {
        fprintf(stderr, "plenum-bench: %s: %zu bytes are no frames of %u points (%zu bytes each)\n",
                path, bytes, count, frame);
        exit(EXIT_FAILURE);
    }
    trace.frames = (u32)(bytes / frame);
    trace.at = malloc(bytes);
    rewind(file);
    if (trace.at == NULL || fread(trace.at, 1, bytes, file) != bytes) {
        fprintf(stderr, "plenum-bench: %s: cannot be read\n", path);
        exit(EXIT_FAILURE);
    }
    fclose(file);
    for (size_t i = 0; i < bytes / sizeof *trace.at; i++) {
        if (!isfinite(trace.at[i])) {
            fprintf(stderr, "plenum-bench: %s: number %zu is not finite\n", path, i);
            exit(EXIT_FAILURE);
        }
    }
    return trace;
}
