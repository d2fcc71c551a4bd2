/* codec_world.c: see codec_world.h. */
#include "tests/bench/codec_world.h"
#include "tests/bench/bench.h"

#include "protocol/field/quantize.h"
#include "server/physics/rigid/rigid.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE = 30,
    CUBES = SIDE * SIDE + 1,
    DROPPED = 600,
    TRACE_NUMBERS = 8,
    TRACE_CUBES = 901,
};

static const f32 tick_s = 1.0f / 60.0f;
static const f32 quantum_m = 1.0f / 512.0f;

static void add(Rigid *rigid, Shape shape, f32 mass, Vec3 at, Quat orientation)
{
    BodyDef def = body_def_default();
    def.shape = shape;
    def.position = at;
    def.orientation = orientation;
    def.mass_kg = mass;
    def.motion = mass > 0.0f ? BODY_DYNAMIC : BODY_STATIC;
    def.friction = 0.6f;
    if (rigid_add(rigid, &def).generation == 0) {
        fprintf(stderr, "plenum-bench: a body is refused\n");
        exit(1);
    }
}

static Shape box(f32 x, f32 y, f32 z)
{
    return (Shape){.kind = SHAPE_BOX, .half = {x, y, z}};
}

static Rigid *make(u32 capacity)
{
    RigidDef def = {.body_capacity = capacity,
                    .tick_s = tick_s,
                    .substeps = 4,
                    .gravity = {0.0f, -9.81f, 0.0f}};
    Rigid *rigid = rigid_create(&def);
    if (rigid == NULL) {
        fprintf(stderr, "plenum-bench: out of memory\n");
        exit(1);
    }
    return rigid;
}

static Rigid *make_cubes(u64 seed)
{
    Rigid *rigid = make(CUBES + 1);
    add(rigid, box(0.75f, 0.75f, 0.75f), 30.0f, vec3(0.0f, 2.0f, 0.0f), quat_identity());
    for (u32 i = 0; i < SIDE * SIDE; i++) {
        f32 x = ((f32)(i % SIDE) - 14.5f) * 0.8f, z = ((f32)(i / SIDE) - 14.5f) * 0.8f;
        Quat rotation = {1.0f, 0.0f, 0.0f, 0.0f};
        if (seed % 2 != 0) { /* some start askew */
            rotation.y = random_range(seed, 9000 + i, -0.3f, 0.3f);
            rotation = quat_normalize(rotation);
        }
        add(rigid, box(0.2f, 0.2f, 0.2f), 0.6f, vec3(x, 0.2f, z), rotation);
    }
    add(rigid, box(100.0f, 1.0f, 100.0f), 0.0f, vec3(0.0f, -1.0f, 0.0f), quat_identity());
    return rigid;
}

static Rigid *make_drop(u64 seed)
{
    Rigid *rigid = make(DROPPED + 5);
    for (u32 i = 0; i < DROPPED; i++) {
        f32 size = random_range(seed, i, 0.15f, 0.35f);
        Shape shape = box(size, 0.8f * size, size);
        if (i % 3 != 0) {
            shape = (Shape){.kind = i % 3 == 1 ? SHAPE_SPHERE : SHAPE_CAPSULE,
                            .radius = size,
                            .half_height = i % 3 == 1 ? 0.0f : size};
        }
        Vec3 at = vec3((f32)(i % 8) * 1.2f - 4.2f, 1.0f + (f32)(i / 64) * 1.2f,
                       (f32)(i / 8 % 8) * 1.2f - 4.2f);
        at.x += random_range(seed, 1000 + i, -0.1f, 0.1f);
        add(rigid, shape, 1.0f, at, quat_identity());
    }
    add(rigid, box(20.0f, 1.0f, 20.0f), 0.0f, vec3(0.0f, -1.0f, 0.0f), quat_identity());
    for (u32 i = 0; i < 4; i++) {
        f32 side = i % 2 == 0 ? -5.5f : 5.5f;
        bool x = i < 2;
        add(rigid, x ? box(0.5f, 5.0f, 6.0f) : box(6.0f, 5.0f, 0.5f), 0.0f,
            x ? vec3(side, 5.0f, 0.0f) : vec3(0.0f, 5.0f, side), quat_identity());
    }
    return rigid;
}

/* What the big cube does in a world: each seed has a hand of its own. */
typedef struct Manner {
    f32 pace;   /* m/s */
    f32 reach;  /* m of its force on the small ones */
    f32 blow;   /* m/s² a metre of nearness, or m/s² of the pull */
    f32 lift;   /* m/s² */
    f32 swirl;  /* m/s² */
    f32 active; /* share of the time */
} Manner;

static Manner manner_of(CodecWorld kind, u64 seed)
{
    bool rolls = kind == CODEC_WORLD_ROLL;
    return (Manner){.pace = random_range(seed, 1, 3.0f, 9.0f),
                    .reach = random_range(seed, 2, 2.2f, rolls ? 3.2f : 5.0f),
                    .blow = rolls ? random_range(seed, 3, 25.0f, 60.0f)
                                  : random_range(seed, 3, 3.0f, 14.0f),
                    .lift = rolls ? 0.0f : random_range(seed, 4, 2.0f, 16.0f),
                    .swirl = rolls ? 0.0f : random_range(seed, 5, -6.0f, 6.0f),
                    .active = rolls ? 1.0f : random_range(seed, 6, 0.6f, 1.0f)};
}

/* Drives towards a place that changes every two seconds, and in spells of some seconds blows the
 * small ones up and away, or draws them to itself all the time. */
static void drive(Rigid *rigid, CodecWorld kind, u64 seed, u32 tick)
{
    u32 leg = tick / 120, spell = tick / 200;
    Manner manner = manner_of(kind, seed);
    Vec3 to = vec3(random_range(seed, 100 + 2 * leg, -11.0f, 11.0f), 0.75f,
                   random_range(seed, 101 + 2 * leg, -11.0f, 11.0f));
    Vec3 at = rigid_position(rigid, 0), v = rigid_velocity(rigid, 0);
    Vec3 way = vec3_sub(to, at);
    way.y = 0.0f;
    Vec3 wanted = vec3_scale(way, manner.pace / f32_max(vec3_length(way), 2.0f));
    Vec3 force = vec3_scale(vec3_sub(wanted, v), 90.0f);
    bool rolls = kind == CODEC_WORLD_ROLL, acts = random_f32(seed, 500 + spell) < manner.active;
    force.y = !rolls && acts ? 30.0f * (9.81f + 8.0f * (1.6f - at.y) - 3.0f * v.y) : 0.0f;
    rigid_push(rigid, 0, vec3(0.0f, rolls ? 0.6f : 0.0f, 0.0f), force, vec3_zero());
    for (u32 i = 1; acts && i < CUBES; i++) {
        Vec3 d = vec3_sub(rigid_position(rigid, i), at);
        f32 r = vec3_length(d);
        if (r > manner.reach) {
            continue;
        }
        Vec3 out = vec3_scale(d, 1.0f / f32_max(r, 0.1f));
        Vec3 push = vec3_scale(out, rolls ? -manner.blow : manner.blow * (manner.reach - r));
        push.y += manner.lift;
        push = vec3_add_scaled(push, manner.swirl, vec3(-out.z, 0.0f, out.x));
        rigid_push(rigid, i, vec3_zero(), vec3_scale(push, 0.6f), vec3_zero());
    }
}

/* Smallest three with 9 bits as the challenge has them. */
static u32 rotation9(Quat q)
{
    f32 c[4] = {q.w, q.x, q.y, q.z};
    u32 largest = 0, shift = 20;
    for (u32 i = 1; i < 4; i++) {
        largest = fabsf(c[i]) > fabsf(c[largest]) ? i : largest;
    }
    u32 code = largest << 30;
    f32 sign = c[largest] < 0.0f ? -1.0f : 1.0f;
    for (u32 i = 0; i < 4; i++) {
        if (i != largest) {
            f32 part = (sign * c[i] * 1.41421356f + 1.0f) * 0.5f * 511.0f + 0.5f;
            code |= (u32)f32_clamp(part, 0.0f, 511.0f) << shift;
            shift -= 10;
        }
    }
    return code;
}

PoseTrace codec_world(CodecWorld kind, u64 seed, u32 frames)
{
    bool drop = kind == CODEC_WORLD_DROP;
    u32 count = drop ? DROPPED : CUBES;
    PoseTrace trace = {bench_get((size_t)frames * count, sizeof(QPose)), frames, count,
                       drop ? 10 : 9};
    Rigid *rigid = drop ? make_drop(seed) : make_cubes(seed);
    FieldDesc field = {.kind = FIELD_POSES, .capacity = count, .quantum = quantum_m};
    for (u32 f = 0; f < frames; f++) {
        for (u32 i = 0; i < count; i++) {
            QPose *pose = &trace.poses[(size_t)f * count + i];
            Quat q = rigid_orientation(rigid, i);
            quantize_position(&field, rigid_position(rigid, i), pose->position);
            pose->rotation = drop ? quantize_rotation(q) : rotation9(q);
            pose->flags = (u16)(POSE_LIVE | (rigid_awake(rigid, i) ? POSE_AWAKE : 0));
            pose->generation = 1;
        }
        if (!drop) {
            drive(rigid, kind, seed, f);
        }
        rigid_collide(rigid, NULL);
        rigid_prepare(rigid);
        for (u32 s = 0; s < rigid_substeps(rigid); s++) {
            rigid_substep(rigid);
        }
        rigid_finish(rigid);
    }
    rigid_destroy(rigid);
    return trace;
}

/* Axes turn round (z up becomes y up), components of quaternions with them. */
static bool convert(const i32 in[TRACE_NUMBERS], QPose *pose)
{
    i32 c[4] = {-1, -1, -1, -1}; /* x, y, z, w as the challenge numbers them */
    u32 next = 1;
    if (in[0] < 0 || in[0] > 3) {
        return false;
    }
    for (i32 k = 0; k < 4; k++) {
        if (k != in[0]) {
            c[k] = in[next++];
            if (c[k] < 0 || c[k] > 511) {
                return false;
            }
        }
    }
    const i32 ours[4] = {c[3], c[1], c[2], c[0]};
    u32 shift = 20;
    for (u32 k = 0; k < 4; k++) {
        if (ours[k] < 0) {
            pose->rotation |= k << 30;
        } else {
            pose->rotation |= (u32)ours[k] << shift;
            shift -= 10;
        }
    }
    for (u32 axis = 0; axis < 3; axis++) {
        i32 at = in[4 + (axis + 1) % 3];
        if (at < -POSITION_CODE_MAX || at > POSITION_CODE_MAX) {
            return false;
        }
        pose->position[axis] = at;
    }
    pose->flags = (u16)(POSE_LIVE | (in[7] != 0 ? POSE_AWAKE : 0));
    pose->generation = 1;
    return in[7] == 0 || in[7] == 1;
}

PoseTrace codec_trace_load(const char *path)
{
    static const size_t frame_bytes = sizeof(i32) * TRACE_CUBES * TRACE_NUMBERS;
    FILE *file = fopen(path, "rb");
    long size = -1;
    if (file == NULL || fseek(file, 0, SEEK_END) != 0 || (size = ftell(file)) < 0) {
        fprintf(stderr, "plenum-bench: %s: cannot be read\n", path);
        exit(1);
    }
    rewind(file);
    u32 frames = (u32)((size_t)size / frame_bytes);
    if (frames == 0 || (size_t)size % frame_bytes != 0 || frames > 1u << 20) {
        fprintf(stderr, "plenum-bench: %s: %ld bytes; frames have %zu (901 cubes of 8 numbers)\n",
                path, size, frame_bytes);
        exit(1);
    }
    PoseTrace trace = {bench_get((size_t)frames * TRACE_CUBES, sizeof(QPose)), frames, TRACE_CUBES,
                       9};
    for (size_t i = 0; i < (size_t)frames * TRACE_CUBES; i++) {
        u8 bytes[sizeof(i32) * TRACE_NUMBERS];
        i32 numbers[TRACE_NUMBERS];
        if (fread(bytes, sizeof bytes, 1, file) != 1) {
            fprintf(stderr, "plenum-bench: %s: cannot be read\n", path);
            exit(1);
        }
        for (u32 k = 0; k < TRACE_NUMBERS; k++) {
            const u8 *b = bytes + 4 * k;
            numbers[k] = (i32)((u32)b[0] | (u32)b[1] << 8 | (u32)b[2] << 16 | (u32)b[3] << 24);
        }
        if (!convert(numbers, &trace.poses[i])) {
            fprintf(stderr, "plenum-bench: %s: frame %zu, cube %zu: a number is out of range\n",
                    path, i / TRACE_CUBES, i % TRACE_CUBES);
            exit(1);
        }
    }
    fclose(file);
    return trace;
}

void codec_trace_free(PoseTrace *trace)
{
    free(trace->poses);
    trace->poses = NULL;
}
