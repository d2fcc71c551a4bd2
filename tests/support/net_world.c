/* net_world.c: see net_world.h. */
#include "tests/support/net_world.h"

#include "protocol/field/quantize.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <stdlib.h>
#include <string.h>

enum {
    KICK_TICKS = 30,
    TILE = 8, /* points of a chunk: 8 × 8 */
};

static const f32 tick_s = 1.0f / (f32)NET_WORLD_HZ;
static const f32 kick_reach_m = 3.0f;
static const f32 body_gap_m = 0.8f;
static const f32 floor_m = 0.2f;
static const f32 point_gap_m = 0.1f;

typedef struct Body {
    Vec3 at, v, angular_velocity;
    Quat rotation;
    bool awake;
} Body;

static void kick(Body *bodies, u32 count, u64 seed, u32 number, f32 half)
{
    u64 dice = (u64)number * 1000000u;
    Vec3 place = vec3(random_range(seed, dice, -half, half), 0.0f,
                      random_range(seed, dice + 1, -half, half));
    for (u32 i = 0; i < count; i++) {
        Vec3 away = vec3_sub(bodies[i].at, place);
        f32 distance = vec3_length(away);
        if (distance > kick_reach_m) {
            continue;
        }
        f32 blow = 1.5f * (kick_reach_m - distance);
        Body *body = &bodies[i];
        body->v = vec3_add_scaled(body->v, blow / f32_max(distance, 0.3f), away);
        body->v.y += random_range(seed, dice + 2 + 2 * i, 2.0f, 6.0f);
        body->angular_velocity = vec3_scale(vec3(away.z, 0.5f, -away.x),
                                            random_range(seed, dice + 3 + 2 * i, 0.5f, 3.0f));
        body->awake = true;
    }
}

static void body_step(Body *body)
{
    if (!body->awake) {
        return;
    }
    body->v.y -= 9.81f * tick_s;
    body->at = vec3_add_scaled(body->at, tick_s, body->v);
    Quat rotation = {1.0f, 0.5f * tick_s * body->angular_velocity.x,
                     0.5f * tick_s * body->angular_velocity.y,
                     0.5f * tick_s * body->angular_velocity.z};
    body->rotation = quat_normalize(quat_mul(rotation, body->rotation));
    if (body->at.y < floor_m) {
        body->at.y = floor_m;
        body->v = vec3(0.6f * body->v.x, -0.3f * body->v.y, 0.6f * body->v.z);
        body->angular_velocity = vec3_scale(body->angular_velocity, 0.6f);
        if (vec3_length(body->v) < 0.25f) {
            body->v = body->angular_velocity = vec3_zero();
            body->awake = false;
        }
    }
}

/* A wave that travels along the sheet during a gust: zero and at rest between gusts. */
static Vec3 point_at(u32 side, u32 i, u32 tick)
{
    u32 tile = i / (TILE * TILE), in = i % (TILE * TILE);
    u32 tiles = side / TILE;
    u32 column = tile % tiles * TILE + in % TILE, row = tile / tiles * TILE + in / TILE;
    f64 t = (f64)tick * (f64)tick_s;
    f64 gust = trig_sin(t * 1.57); /* 4 s: two of wind, two of calm */
    f64 high = gust > 0.0 ? gust * gust * (f64)row / (f64)side : 0.0;
    f64 phase = (f64)column * 0.25 - t * 9.0 + (f64)row * 0.1;
    return vec3((f32)column * point_gap_m - (f32)side * point_gap_m * 0.5f,
                3.0f - (f32)row * point_gap_m * 0.3f + (f32)(0.15 * high * trig_cos(phase)),
                (f32)row * point_gap_m * 0.6f + (f32)(0.4 * high * trig_sin(phase)) - 8.0f);
}

static void frame_fill(const NetWorld *world, Frame *frame, const Body *bodies, u32 side)
{
    QPose *poses = frame_poses(frame, NET_FIELD_BODIES);
    for (u32 i = 0; i < world->bodies; i++) {
        quantize_position(&world->fields->fields[NET_FIELD_BODIES], bodies[i].at,
                          poses[i].position);
        poses[i].rotation = quantize_rotation(bodies[i].rotation);
        poses[i].flags = (u16)(POSE_LIVE | (bodies[i].awake ? POSE_AWAKE : 0));
        poses[i].generation = 1;
    }
    QPoint *points = frame_points(frame, NET_FIELD_POINTS);
    for (u32 i = 0; i < world->points; i++) {
        quantize_position(&world->fields->fields[NET_FIELD_POINTS],
                          point_at(side, i, (u32)frame->tick), points[i].position);
        points[i].generation = 1;
    }
}

static FieldSet *make_fields(u32 bodies, u32 points)
{
    FieldDesc fields[2] = {
        {.kind = FIELD_POSES,
         .name = "bodies",
         .channels = 1,
         .capacity = bodies,
         .quantum = 1.0f / 512.0f},
        {.kind = FIELD_POINTS,
         .name = "sheet",
         .channels = 1,
         .capacity = points,
         .quantum = 1.0f / 1024.0f},
    };
    return field_set_create(fields, 2);
}

static bool frames_make(NetWorld *world, Body *bodies, u32 side, u64 seed)
{
    u32 edge = 1;
    while (edge * edge < world->bodies) {
        edge++;
    }
    f32 half = 0.5f * (f32)(edge - 1) * body_gap_m;
    for (u32 i = 0; i < world->bodies; i++) {
        bodies[i].at =
            vec3((f32)(i % edge) * body_gap_m - half, floor_m, (f32)(i / edge) * body_gap_m - half);
        bodies[i].rotation = quat_identity();
    }
    for (u32 t = 0; t < world->count; t++) {
        if (t % KICK_TICKS == 0) {
            kick(bodies, world->bodies, seed, t / KICK_TICKS, half);
        }
        for (u32 i = 0; i < world->bodies; i++) {
            body_step(&bodies[i]);
        }
        world->frames[t] = frame_create(world->fields, t + 1, 0);
        if (world->frames[t] == NULL) {
            return false;
        }
        frame_fill(world, world->frames[t], bodies, side);
    }
    return true;
}

NetWorld *net_world_create(u32 bodies, u32 side, u32 ticks, u64 seed)
{
    NetWorld *world = calloc(1, sizeof *world);
    Body *state = calloc(bodies, sizeof *state);
    if (world == NULL || state == NULL) {
        free(world);
        free(state);
        return NULL;
    }
    world->bodies = bodies;
    world->points = side * side;
    world->count = ticks;
    world->fields = make_fields(bodies, side * side);
    world->frames = calloc(ticks, sizeof(Frame *));
    bool good =
        world->fields != NULL && world->frames != NULL && frames_make(world, state, side, seed);
    free(state);
    if (!good) {
        net_world_destroy(world);
        return NULL;
    }
    return world;
}

void net_world_destroy(NetWorld *world)
{
    if (world == NULL) {
        return;
    }
    for (u32 i = 0; world->frames != NULL && i < world->count; i++) {
        frame_release(world->frames[i]);
    }
    free(world->frames);
    field_set_release(world->fields);
    free(world);
}
