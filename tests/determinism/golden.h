/* golden.h: thirteen scenes that contain everything, with three active users in each, whose hashes
 * are stored in the tree (golden/hashes): test_golden.c compares them, golden_harness.c does so
 * for other compilers. Only world.h is used, so that the hashes remain valid when its
 * implementation changes. */
#ifndef PLENUM_TESTS_DETERMINISM_GOLDEN_H
#define PLENUM_TESTS_DETERMINISM_GOLDEN_H

#include "protocol/stream/snapshot.h"
#include "server/author/scene_load.h"
#include "server/world/world.h"
#include "shared/base/hash.h"
#include "shared/math/random.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    GOLDEN_TICKS = 600,
    GOLDEN_EVERY = 60,
    GOLDEN_ROWS = GOLDEN_TICKS / GOLDEN_EVERY,
    GOLDEN_SCENES = 13,
    GOLDEN_INPUTS_MAX = 8,
    GOLDEN_RESET_AT = 470,
    /* For one client on a line of 3 Mbit/s. */
    GOLDEN_BUDGET_BYTES = 12000,
};

typedef struct GoldenScene {
    const char *path; /* scene file without .json; the last part is its name */
    bool reset;       /* a user resets it at GOLDEN_RESET_AT */
} GoldenScene;

static const GoldenScene golden_scenes[GOLDEN_SCENES] = {
    {"tests/determinism/golden/machines", true}, /* every joint, motor and shape */
    {"tests/determinism/golden/matter", true},   /* every soft shape, method and constraint */
    {"tests/determinism/golden/liquids", true},  /* liquids and grains, sources, drains */
    {"tests/determinism/golden/waters", true},   /* both methods of water, gate, spray */
    {"tests/determinism/golden/smokes", true},   /* air on grids and all that is in it */
    {"shared/scenes/stacks", true},              /* walls, pyramids, sleep */
    {"shared/scenes/conveyor", true},            /* moving surfaces, a path, a turntable */
    {"shared/scenes/marble_run", false},         /* a mesh, a sensor */
    {"shared/scenes/terrain", false},            /* shapes of every kind on hills */
    {"shared/scenes/ragdolls", false},           /* figures on stairs */
    {"shared/scenes/side_by_side", true},        /* both methods for rigid bodies */
    {"shared/scenes/rope_bridge", false},        /* bodies on a soft body */
    {"shared/scenes/wrecking_ball", false},      /* great ratios of mass */
};

static inline const char *golden_name(const GoldenScene *scene)
{
    return strrchr(scene->path, '/') + 1;
}

/* The hashes of one tick: the full state as by world_hash; everything that clients can know of it,
 * with all events so far; and all packets so far to a client that acknowledges each. */
typedef struct GoldenRow {
    u64 world, frame, wire;
} GoldenRow;

typedef struct GoldenRun {
    GoldenRow rows[GOLDEN_ROWS];
    u32 sent[INPUT_KIND_COUNT];
    u32 events[EVENT_KIND_COUNT];
    u64 wire_bytes;
} GoldenRun;

/* Called with each frame, including tick 0, and the inputs that led to it. */
typedef void GoldenWatch(void *context, World *world, const Frame *frame, const Input *inputs,
                         u32 count);

static inline void golden_need(bool good, const char *text)
{
    if (!good) {
        fprintf(stderr, "golden: %s\n", text);
        exit(1);
    }
}

/* ---- users' inputs ---- */

typedef struct GoldenHands {
    u64 seed;
    Vec3 middle, eye; /* m: centre of the users' targets, origin of their rays */
    u32 prefabs;
    bool reset;
    u32 tick;
    u32 count;
    Input inputs[GOLDEN_INPUTS_MAX];
} GoldenHands;

static inline Input *golden_input(GoldenHands *hands, InputKind kind, u32 user)
{
    golden_need(hands->count < GOLDEN_INPUTS_MAX,
                "more inputs in a tick than there is capacity for");
    Input *input = &hands->inputs[hands->count++];
    memset(input, 0, sizeof *input);
    input->kind = kind;
    input->user = user;
    input->sequence = hands->tick * GOLDEN_INPUTS_MAX + hands->count;
    input->rotation = quat_identity();
    input->ray.origin = hands->eye;
    input->ray.direction = vec3(0.0f, 0.0f, -1.0f);
    return input;
}

/* Picks an existing entity: mostly a movable one, sometimes a fixed one or an element that does not
 * exist, which is refused. */
static inline void golden_pick(const GoldenHands *hands, World *world, Input *input)
{
    u64 dice = random_u64(hands->seed, (u64)hands->tick * 64 + hands->count);
    MessageWorld list;
    world_describe(world, &list);
    u32 movable = 0;
    for (u32 i = 0; i < list.entity_count; i++) {
        movable += list.entities[i].movable;
    }
    bool any = dice % 16 == 0 || movable == 0;
    u32 left = (u32)(dice >> 8) % (any ? u32_max(list.entity_count, 1) : movable);
    for (u32 i = 0; i < list.entity_count; i++) {
        const Entity *entity = &list.entities[i];
        if ((any || entity->movable) && left-- == 0) {
            input->entity = entity->id;
            input->element = (u32)(dice >> 40) % (entity->count + (dice % 16 == 1));
            input->local = vec3(0.1f, -0.05f, 0.08f);
            return;
        }
    }
}

/* Grabs, drags to and fro for a while, and releases, or, every other time, grabs the next without
 * release. */
static inline void golden_drag(GoldenHands *hands, World *world, u32 user, u32 period)
{
    u32 phase = hands->tick % period, round = hands->tick / period;
    if (phase == 5) {
        golden_pick(hands, world, golden_input(hands, INPUT_GRAB, user));
    } else if (phase == period - 8 && (round + user) % 2 == 0) {
        golden_input(hands, INPUT_RELEASE, user);
    } else if (phase > 5 && phase % 2 == 0) {
        f32 back = (f32)(phase % 40 < 20 ? phase % 40 : 40 - phase % 40) / 20.0f;
        f32 side = user == 1 ? 1.0f : -1.0f;
        Input *move = golden_input(hands, INPUT_MOVE, user);
        move->target = vec3_add(hands->middle, vec3(side * (1.5f - 3.0f * back), 0.8f + 0.5f * back,
                                                    0.7f * side + (f32)(round % 3) - 1.0f));
    }
}

/* Each parameter once; also an unknown one and one out of range. */
static inline void golden_tune(GoldenHands *hands, u32 number)
{
    static const f32 values[][4] = {{0.5f, -7.0f, 0.3f},
                                    {3.0f, 0.2f, -2.0f},
                                    {2.0f},
                                    {6.0f},
                                    {0.6f},
                                    {0.3f},
                                    {20.0f},
                                    {0.2f},
                                    {0.6f},
                                    {1.0f},
                                    {1e6f}};
    if (number < PL_COUNT(values)) {
        Input *set = golden_input(hands, INPUT_SET, 3);
        set->index = number < 10 ? number : 0;
        memcpy(set->values, values[number], sizeof set->values);
    }
}

static inline void golden_act(GoldenHands *hands, World *world, u32 tick)
{
    hands->tick = tick;
    hands->count = 0;
    /* The world sorts inputs by user: those of the third come first in the list. */
    u64 dice = random_u64(hands->seed + 1, tick);
    if (tick % 23 == 7) {
        Input *push = golden_input(hands, INPUT_PUSH, 3);
        golden_pick(hands, world, push);
        push->vector = vec3((f32)(dice % 41) - 20.0f, 30.0f, (f32)(dice / 64 % 41) - 20.0f);
    }
    if (tick % 37 == 12) {
        Input *spawn = golden_input(hands, INPUT_SPAWN, 3);
        spawn->index = (u32)dice % (hands->prefabs + 1); /* one of them does not exist */
        f32 away = (f32)(dice / 256 % 21) * 0.1f - 1.0f;
        spawn->target = vec3_add(hands->middle, vec3(away, 2.5f, -0.5f * away));
        spawn->vector = vec3(-away, 1.0f, 0.5f);
    }
    if (tick % 97 == 60) {
        golden_pick(hands, world, golden_input(hands, INPUT_REMOVE, 3));
    }
    if (tick >= 100 && tick % 30 == 10) {
        golden_tune(hands, (tick - 100) / 30);
    }
    if (tick == GOLDEN_RESET_AT && hands->reset) {
        golden_input(hands, INPUT_RESET, 3);
    }
    golden_drag(hands, world, 2, 70);
    golden_drag(hands, world, 1, 90);
    if (tick % 25 == 12) {
        golden_input(hands, INPUT_DYE, 1 + tick / 25 % 2)->index = (u32)(dice >> 20) & 0xFFFFFF;
    }
}

/* ---- hashes ---- */

/* Member by member: structs have padding. */
static inline u64 golden_event(const Event *event, u64 hash)
{
    const Entity *entity = &event->entity;
    u32 numbers[] = {
        event->kind,   event->user,        event->sequence, (u32)event->code,       event->a,
        event->b,      event->element,     entity->id,      entity->field,          entity->first,
        entity->count, entity->generation, entity->movable, entity->appearance.kind};
    f32 values[] = {event->position.x, event->position.y, event->position.z,
                    event->impulse,    event->speed,      entity->mass_kg};
    hash = hash_bytes(numbers, sizeof numbers, hash);
    hash = hash_bytes(values, sizeof values, hash);
    return hash_bytes(entity->name, strnlen(entity->name, sizeof entity->name), hash);
}

/* A client that receives and acknowledges every packet. */
typedef struct GoldenWire {
    History history;
    ChunkCache *cache;
    SnapshotSender *sender;
    SnapshotReceiver *receiver;
    u64 hash, bytes;
} GoldenWire;

static inline void golden_packet(void *context, const u8 *packet, u32 bytes)
{
    GoldenWire *wire = context;
    wire->hash = hash_bytes(packet, bytes, wire->hash);
    wire->bytes += bytes;
    golden_need(snapshot_receiver_push(wire->receiver, packet, bytes, NULL) == 0,
                "a packet does not decode");
}

static inline void golden_wire_create(GoldenWire *wire, FieldSet *fields)
{
    memset(wire, 0, sizeof *wire);
    history_init(&wire->history);
    wire->cache = chunk_cache_create();
    wire->sender = snapshot_sender_create(fields);
    wire->receiver = snapshot_receiver_create(fields);
    golden_need(wire->cache && wire->sender && wire->receiver, "no memory");
}

static inline void golden_wire_destroy(GoldenWire *wire)
{
    snapshot_receiver_destroy(wire->receiver);
    snapshot_sender_destroy(wire->sender);
    chunk_cache_destroy(wire->cache);
    history_finish(&wire->history);
}

static inline void golden_send(GoldenWire *wire, Frame *frame, const SnapshotView *view)
{
    history_push(&wire->history, frame);
    if (frame->tick % 3 == 0) { /* 20 a second */
        u64 now_ms = frame->tick * 1000 / 60;
        SnapshotHeader header = {.send_ms = (u16)now_ms, .speed = 1024};
        golden_need(chunk_cache_begin(wire->cache, &wire->history), "no memory");
        snapshot_sender_build(wire->sender, wire->cache, view, &header,
                              (SnapshotLine){GOLDEN_BUDGET_BYTES, now_ms, 20}, golden_packet, wire);
        snapshot_sender_ack(wire->sender, snapshot_receiver_ack(wire->receiver), NULL);
    }
}

/* Runs the scene for a number of ticks, a multiple of GOLDEN_EVERY. `watch` and jobs may be NULL.
 * Ends the program with a message if something fails. */
static inline void golden_run(const GoldenScene *which, u32 ticks, Jobs *jobs, GoldenWatch *watch,
                              void *context, GoldenRun *run)
{
    char path[128];
    ErrorText error = {.text = ""};
    snprintf(path, sizeof path, "%s.json", which->path);
    Scene *scene = scene_load(path, &error);
    World *world = scene != NULL ? world_create(scene, jobs, &error) : NULL;
    golden_need(world != NULL, error.text);
    GoldenHands hands = {.seed = hash_bytes(golden_name(which), strlen(golden_name(which)), 0),
                         .middle = scene->camera.target,
                         .eye = scene->camera.eye,
                         .prefabs = scene->prefab_count,
                         .reset = which->reset};
    SnapshotView view = {.eye = scene->camera.eye, .forward = {0, 0, -1}, .pixels_per_radian = 900};
    GoldenWire wire;
    golden_wire_create(&wire, world_fields(world));
    memset(run, 0, sizeof *run);
    u64 events = 0;
    for (u32 tick = 0; tick <= ticks; tick++) {
        if (tick > 0) {
            golden_act(&hands, world, tick);
            world_tick(world, hands.inputs, hands.count);
        }
        Frame *frame = world_frame(world);
        golden_need(frame != NULL, "no memory");
        for (u32 i = 0; i < hands.count; i++) {
            run->sent[hands.inputs[i].kind]++;
        }
        for (u32 i = 0; i < frame->event_count; i++) {
            run->events[frame->events[i].kind]++;
            events = golden_event(&frame->events[i], events);
        }
        golden_send(&wire, frame, &view);
        if (watch != NULL) {
            watch(context, world, frame, hands.inputs, hands.count);
        }
        if (tick > 0 && tick % GOLDEN_EVERY == 0) {
            GoldenRow row = {.world = world_hash(world),
                             .frame = hash_bytes(frame->data, frame->fields->frame_bytes, events),
                             .wire = wire.hash};
            run->rows[tick / GOLDEN_EVERY - 1] = row;
        }
        frame_release(frame);
    }
    run->wire_bytes = wire.bytes;
    golden_wire_destroy(&wire);
    world_destroy(world);
    scene_destroy(scene);
}

#endif
