/*
 * world.h: one simulated world: builds solvers from a scene, ticks them, writes fields. The whole
 * interface of server/world: the host knows nothing else of the simulation. One owner thread at a
 * time. Deterministic: the same scene and inputs give the same bits for any number of threads.
 * Layer: server/world (includes server/physics, protocol, shared).
 */
#ifndef PLENUM_SERVER_WORLD_WORLD_H
#define PLENUM_SERVER_WORLD_WORLD_H

#include "protocol/field/frame.h"
#include "protocol/scene/scene.h"
#include "protocol/session/input.h"
#include "protocol/session/message.h"
#include "shared/base/jobs.h"

typedef struct World World;
typedef struct MatterOps MatterOps; /* matter.h */

/* Additional kinds of matter, beside those of every world: solvers of an embedding program. All
 * borrowed, must outlive the world. */
typedef struct MatterList {
    const MatterOps *const *kinds; /* [count] */
    u32 count;
} MatterList;

/* Builds a world from a checked scene (borrowed, must outlive the world). jobs may be NULL. NULL
 * on error (out of memory, limits). */
World *world_create(const Scene *scene, Jobs *jobs, ErrorText *error);
/* The same with additional kinds of matter, after the others; NULL: none. */
World *world_create_with(const Scene *scene, const MatterList *kinds, Jobs *jobs, ErrorText *error);
void world_destroy(World *world); /* NULL is fine */
/* Upper estimate of the memory of a world of this scene with HISTORY_FRAMES of its frames,
 * before anything is built. It covers piles in which each body touches twenty others; bodies
 * that start in the same place may take more. kinds: as for world_create_with. */
u64 world_memory_estimate(const Scene *scene, const MatterList *kinds);

/* Simulates one tick (ARCHITECTURE.md, "The tick"): inputs are applied in (user, sequence)
 * order, whatever order the caller passes them in, and every input either takes effect or yields
 * an EVENT_REFUSED. Inputs have passed input_check and the host's lag compensation (`local` is
 * then final). */
void world_tick(World *world, const Input *inputs, u32 count);
/* The parts of a tick, in order. */
typedef enum WorldPhase {
    WORLD_PHASE_INPUTS,
    WORLD_PHASE_CONTACTS, /* paths, sources, broad and narrow phase */
    WORLD_PHASE_SUBSTEPS,
    WORLD_PHASE_FINISH, /* sleep, events, removals, probes */
    WORLD_PHASES
} WorldPhase;
/* Called at the end of each phase, so that a caller with a clock can measure them; changes
 * nothing. */
typedef void WorldObserver(void *context, WorldPhase ended);
void world_observe(World *world, WorldObserver *observer, void *context);

/* The quantized frame of the current tick with the tick's events; the caller releases it. Call
 * once after each world_tick, and once before the first for tick 0. NULL: out of memory. */
Frame *world_frame(World *world);
u64 world_tick_number(const World *world);
/* XXH3 over the full-precision state: bodies, particles, caches, parameters, clocks. */
u64 world_hash(const World *world);
/* The same, with the low words of the hash after each system: the world itself, then each kind of
 * matter in order. */
u64 world_hash_systems(const World *world, u32 systems[FRAME_SYSTEMS_MAX], u32 *count);
/* "rigid", "liquid", ...; static or as long as the world. */
const char *world_system_name(const World *world, u32 system);

/* All data of MESSAGE_WORLD except the epoch; arrays are borrowed until the next call on world. */
void world_describe(World *world, MessageWorld *out);
FieldSet *world_fields(const World *world); /* borrowed */

/* Exact image of the dynamic state: *bytes, owned by the caller (free). 0 or a negative Error. */
int world_save(const World *world, u8 **image, size_t *bytes);
/* The same into the caller's memory: *image of *capacity bytes (NULL of 0 is fine) is replaced by
 * larger memory if it is too small; *bytes is then the size needed, even if that memory cannot be
 * had. */
int world_save_into(const World *world, u8 **image, size_t *capacity, size_t *bytes);
/* Restores an image saved by a world of the same scene; the world continues bit for bit. On an
 * error it is unchanged. */
int world_load(World *world, const u8 *image, size_t bytes, ErrorText *error);

/* Between ticks: releases all grabs and drops the events of the tick, for a world that continues
 * with other users. */
void world_empty_hands(World *world);

/* Between ticks: after world_load, sends all entities again as events of the next frame, behind an
 * EVENT_RESET with the code EVENT_RESET_BACK or EVENT_RESET_LOAD. */
void world_resend_entities(World *world, i32 code);

/* The first hit of a ray: bodies other than sensors, soft bodies, particles. */
typedef struct WorldHit {
    u32 entity;
    f32 distance; /* m along the ray */
    Vec3 point;   /* m */
    Vec3 normal;  /* unit, against the ray */
} WorldHit;
/* Between ticks. A unit direction; within max m (finite). */
bool world_ray(const World *world, Ray ray, f32 max, WorldHit *hit);
/* A probe's value by name; false if there is none. */
bool world_probe(const World *world, const char *name, f64 *value);

/* The parts of the last tick's debug picture selected by DEBUG_ bits. Arrays are borrowed until
 * the next call; computed only here, so an unobserved world has no cost. 0 or ERROR_MEMORY. */
int world_debug(World *world, u32 mask, DebugPicture *out);

typedef struct WorldStats {
    u32 bodies, bodies_awake, contacts, particles, constraints, islands;
    u64 memory_bytes;
} WorldStats;
void world_stats(const World *world, WorldStats *stats);

#endif
