/*
 * limits.h: all limits of Plenum with their reasons, checked against each other at compile time.
 * Layer: shared/base.
 */
#ifndef PLENUM_SHARED_BASE_LIMITS_H
#define PLENUM_SHARED_BASE_LIMITS_H

#include "shared/base/base.h"

enum {
    /* Names travel in reliable messages and are drawn over the world; 47 bytes of UTF-8 and a 0. */
    NAME_BYTES_MAX = 48,
    /* A unit such as "kg m^2/s" and a 0. */
    UNIT_BYTES_MAX = 16,
    /* A chat line or a notice and a 0. */
    TEXT_BYTES_MAX = 256,

    /* Fields of a world: a u8 on the wire, and a client allocates for each. */
    FIELDS_MAX = 64,
    /* Elements of one field: 2^20 keeps the chunk index in 16 bits at 64 elements a chunk. */
    FIELD_ELEMENTS_MAX = 1 << 20,
    /* Elements of all fields of a frame: four times the largest world; readers keep four frames. */
    FRAME_BYTES_MAX = 64 << 20,
    /* Rigid bodies of one world, spawned ones included. */
    BODIES_MAX = 65536,
    /* Bodies of a scene that start in deep overlap at one place. Beyond a dozen the contacts of
     * such a group are limited, so memory is proportional to its size; but all its pairs are
     * found in each tick. */
    OVERLAP_BODIES_MAX = 4096,
    /* Particles of one scene. */
    PARTICLES_MAX = 1 << 20,
    /* Particles of all liquids and grains of one scene: 0.6 kB each in the solver, and 100 000 take
     * most of a tick on one core. */
    LIQUID_PARTICLES_MAX = 1 << 18,
    /* Phases of one store: their colours and densities must be told apart. */
    LIQUID_PHASES_MAX = 16,
    /* Entities stored by a client; one message each when a late joiner arrives. */
    ENTITIES_MAX = 65536,
    /* Cells of a grid of air along an axis. */
    SMOKE_AXIS_MAX = 1024,
    /* Cells of all grids of water of one scene: 128 frames of 2 bytes a cell are 64 MiB. */
    WATER_CELLS_MAX = 1 << 18,
    /* Grids of water of one scene: each is a field. */
    WATERS_MAX = 16,
    /* Named parameters and probes of one world: each is a row of a panel. */
    PARAMETERS_MAX = 256,
    PROBES_MAX = 256,
    PREFABS_MAX = 256,
    MATERIALS_MAX = 256,

    /* State packets: below every usable path MTU with IP, UDP, ENet and seal overhead. */
    STATE_PACKET_BYTES_MAX = 1200,
    /* Nonce counter (8) and authentication tag (16) of every sealed datagram. */
    SEAL_OVERHEAD_BYTES = 24,
    /* Maximal state packet before sealing. */
    STATE_PAYLOAD_BYTES_MAX = STATE_PACKET_BYTES_MAX - SEAL_OVERHEAD_BYTES,
    /* A reliable message: a scene of tens of thousands of entities fits. */
    MESSAGE_BYTES_MAX = 16 << 20,
    /* Maximal reliable message from a client, which needs no large ones. */
    CLIENT_MESSAGE_BYTES_MAX = 8 << 10,
    /* A scene file: larger data belongs in mesh files. */
    SCENE_FILE_BYTES_MAX = 64 << 20,
    /* A mesh file, and the triangles of an untrusted one: this bounds a reader's memory, and
     * larger meshes are not suitable for simulation. */
    MESH_FILE_BYTES_MAX = 64 << 20,
    MESH_FILE_VERTICES_MAX = 1 << 19,
    MESH_FILE_TRIANGLES_MAX = 1 << 20,
    /* Tetrahedra of one body: about 5 for each of its points. */
    TETRAHEDRA_MAX = 1 << 20,

    /* Sessions of one host: ENet scans all peers at each service call. */
    CLIENTS_MAX = 1024,
    /* Unacknowledged inputs that a client repeats in each input packet. */
    INPUTS_UNACKED_MAX = 32,
    /* Inputs of one tick over all clients; excess ones are refused. */
    INPUTS_PER_TICK_MAX = 4096,
    /* Consecutive ticks kept by History: 2 s at 60 Hz, more than the oldest pick (500 ms). */
    HISTORY_FRAMES = 128,
    /* Decoded states kept by a receiver for each chunk, so that a baseline is never gone while
     * the sender may still use it (snapshot.h states the rule). */
    CHUNK_STATES_KEPT = 32,

    TICK_RATE_MIN = 30,
    TICK_RATE_MAX = 240,
    SUBSTEPS_MAX = 64,
    THREADS_MAX = 64,
};

/* Maximal coordinate in metres: f32 still resolves 1 mm at 8 km. */
#define WORLD_EXTENT_MAX_M      16384.0f
/* Of a shape in a scene: lengths, radii, distances of copies. */
#define SCENE_SIZE_MIN_M        0.001f
#define SCENE_SIZE_MAX_M        1000.0f
/* Maximal linear (m/s) and angular (rad/s) speed; higher speeds are clamped. */
#define SPEED_MAX_M_S           2000.0f
#define ANGULAR_SPEED_MAX_RAD_S 500.0f
/* Oldest frame a pick may refer to, in seconds. */
#define PICK_AGE_MAX_S          0.5f

PL_STATIC_ASSERT(HISTORY_FRAMES >= TICK_RATE_MAX / 2, "History must cover the oldest pick");
PL_STATIC_ASSERT((HISTORY_FRAMES & (HISTORY_FRAMES - 1)) == 0, "History is a power-of-two ring");

#endif
