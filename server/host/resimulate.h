/*
 * resimulate.h: re-simulates the world of a recording tick by tick from its scene, or an image of
 * it, and its inputs.
 * Layer: server/host.
 */
#ifndef PLENUM_SERVER_HOST_RESIMULATE_H
#define PLENUM_SERVER_HOST_RESIMULATE_H

#include "protocol/record/recording.h"
#include "server/world/world.h"

typedef struct Resimulation Resimulation;

/* One tick, as recorded and as re-simulated. */
typedef struct ResimulatedTick {
    u64 tick;
    u64 recorded, simulated; /* world_hash */
} ResimulatedTick;

/* kinds: additional kinds of matter as for world_create_with, or NULL. NULL with an error text. */
Resimulation *resimulation_create(const char *path, const MatterList *kinds, u32 threads,
                                  ErrorText *error);
/* The same in a new world of the recording's scene, borrowed. */
Resimulation *resimulation_on(const char *path, World *world, ErrorText *error);
void resimulation_destroy(Resimulation *resimulation); /* NULL is fine */
/* Before the first tick: the next one will be that of the last image at or before `tick`, if there
 * is one. 0 or a negative Error with a text. */
int resimulation_seek(Resimulation *resimulation, u64 tick, ErrorText *error);
/* Simulates the next recorded tick, the first of which is the scene as built, or the image that the
 * recording begins with. Where the world was rewound it continues from the image there. 0;
 * ERROR_NOT_FOUND at the end; other negative: damaged, incomplete or out of memory, with a text. */
int resimulation_next(Resimulation *resimulation, ResimulatedTick *tick, ErrorText *error);
/* Both frames of that tick; borrowed until the next call. */
void resimulation_frames(const Resimulation *resimulation, const Frame **recorded,
                         const Frame **simulated);
/* The first system of that tick (world_system_name) whose hash is not the recorded one. 0, or
 * ERROR_NOT_FOUND, *system = UINT32_MAX: the recording has no hashes of this tick, or all are
 * equal. */
int resimulation_system(const Resimulation *resimulation, u32 *system);
/* Its state after that tick; borrowed. */
World *resimulation_world(const Resimulation *resimulation);
const RecordingInfo *resimulation_info(const Resimulation *resimulation);
const RecordingHead *resimulation_head(const Resimulation *resimulation);

#endif
