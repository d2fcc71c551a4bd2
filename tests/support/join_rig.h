/*
 * join_rig.h: a real host and clients with the real connection code in one thread, in virtual time
 * and over simulated networks: durations are exact to the millisecond and reproducible (except for
 * the keys). The world is a real one, or has a description of any size.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_JOIN_RIG_H
#define PLENUM_TESTS_SUPPORT_JOIN_RIG_H

#include "client/link/connection.h"
#include "server/host/host.h"
#include "tests/support/netsim.h"

struct MatterList;

typedef struct JoinRig {
    Host *host;
    Link *link;     /* the host's */
    Source *source; /* the host's */
    u64 start_ns, now_ns;
    u64 poll_ms;    /* interval at which clients poll; 16: once per frame */
    u64 host_ns;    /* time of a processor used by the host's thread, including its world's ticks */
    u64 world_ns;   /* used by these */
    bool unsettled; /* steps do not wait for other threads of the host */
} JoinRig;

/* A world of `scene` (borrowed) at 60 ticks and 30 snapshots per second of virtual time. Its
 * description contains scene_bytes[scene_byte_count] (borrowed) unless that is NULL. */
void join_rig_start(JoinRig *rig, const Scene *scene, const u8 *scene_bytes, u32 scene_byte_count);
/* The same with further kinds of matter (world.h). */
void join_rig_start_kinds(JoinRig *rig, const Scene *scene, const struct MatterList *kinds);
/* The same with any source, which it takes over; the source may read the rig's clock. */
void join_rig_start_with(JoinRig *rig, Source *source);
/* The same with further options of the host; clients_max and snapshot_rate are set. */
void join_rig_start_options(JoinRig *rig, Source *source, const HostOptions *wanted);
/* The source alone, for other hosts: a world of `scene` (borrowed) at the clock of `rig`
 * (borrowed). */
Source *join_rig_source(JoinRig *rig, const Scene *scene);
void join_rig_stop(JoinRig *rig);
Connection *join_rig_connect(JoinRig *rig, const NetsimOptions *up, const NetsimOptions *down);
/* Advances by one millisecond. */
void join_rig_step(JoinRig *rig, Connection **clients, u32 count);
/* The same while server and world stand still: clients continue. */
void join_rig_stall(JoinRig *rig, Connection **clients, u32 count);
/* Passes an input (a spawn, a reset) to the next tick. */
void join_rig_input(JoinRig *rig, const Input *input);
f64 join_rig_ms(const JoinRig *rig); /* since the start */
/* Whether the client has a state for every element of every entity. */
bool join_picture_whole(Connection *client);

/* A shipped scene; the program ends if it cannot be loaded. */
Scene *join_scene(const char *name);
/* Returns a valid scene with incompressible bytes, a terrain of random heights: *bytes is at least
 * `byte_count` and at most one percent more. Free it. NULL: out of memory. */
u8 *join_large_scene(u32 byte_count, u32 *bytes);

#endif
