/*
 * fake_source.h: a Source without physics, for tests of the host: spheres that move on circles, at
 * 60 ticks per second of real time. It keeps all inputs for the test.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_FAKE_SOURCE_H
#define PLENUM_TESTS_SUPPORT_FAKE_SOURCE_H

#include "server/host/source.h"

enum {
    FAKE_SPHERES = 100,
    FAKE_INPUTS_MAX = 4096
};

/* Scene bytes are those of shared/scenes/empty.json. */
Source *fake_source_create(void);
/* Replaces the scene bytes (borrowed) of the world's description. From any thread. */
void fake_source_scene(Source *source, const u8 *bytes, u32 byte_count);
/* Copies the inputs received so far, at most max; returns their number. From any thread. */
u32 fake_source_inputs(Source *source, Input *inputs, u32 max);
/* Restarts the world at tick 0. From any thread. */
void fake_source_rewind(Source *source);
/* Makes the source report its end. From any thread. */
void fake_source_end(Source *source);

#endif
