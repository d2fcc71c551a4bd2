/*
 * fake_source.h: a Source without physics: spheres on circles, 60 ticks a second by the clock,
 * every input kept for the test to look at. For tests of the host.
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
/* The description has these bytes (borrowed) as its scene from now on. From any thread. */
void fake_source_scene(Source *source, const u8 *bytes, u32 byte_count);
/* Copies the inputs taken so far, at most max. From any thread. */
u32 fake_source_inputs(Source *source, Input *inputs, u32 max);
/* The world begins again at tick 0. From any thread. */
void fake_source_rewind(Source *source);
/* The source says that it has ended. From any thread. */
void fake_source_end(Source *source);

#endif
