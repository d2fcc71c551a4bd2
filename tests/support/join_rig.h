/*
 * join_rig.h: a real host and clients of the real connection code in one thread and in virtual
 * time, over simulated networks: how long joining takes, to the millisecond and the same each time
 * (but for the keys). The world is a real one, or one whose description is as large as is wished.
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
    u64 poll_ms; /* of clients; 16: one a picture */
    u64 host_ns; /* real time that the host took, its world's ticks included */
} JoinRig;

/* A world of `scene` (borrowed), 60 ticks a second of virtual time, 30 snapshots a second. The
 * description's scene is scene_bytes[scene_byte_count] (borrowed) where that is not NULL. */
void join_rig_start(JoinRig *rig, const Scene *scene, const u8 *scene_bytes, u32 scene_byte_count);
/* The same with further kinds of matter (world.h). */
void join_rig_start_kinds(JoinRig *rig, const Scene *scene, const struct MatterList *kinds);
/* The same of any source, which is taken and may watch the rig's clock. */
void join_rig_start_with(JoinRig *rig, Source *source);
void join_rig_stop(JoinRig *rig);
Connection *join_rig_connect(JoinRig *rig, const NetsimOptions *up, const NetsimOptions *down);
/* One millisecond. */
void join_rig_step(JoinRig *rig, Connection **clients, u32 count);
/* One in which the server stands, its world's clock with it; clients go on, each millisecond. */
void join_rig_stall(JoinRig *rig, Connection **clients, u32 count);
/* For the next tick: a spawn, a reset. */
void join_rig_input(JoinRig *rig, const Input *input);
f64 join_rig_ms(const JoinRig *rig); /* since the start */
/* True if every element of every entity of the client's world has a state. */
bool join_picture_whole(Connection *client);

/* A valid scene whose bytes do not compress: a terrain of random heights. *bytes at least
 * `byte_count` and at most a percent more, malloc'ed. NULL: no memory. */
u8 *join_large_scene(u32 byte_count, u32 *bytes);

#endif
