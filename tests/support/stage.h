/*
 * stage.h: a world built from the text of a scene, for tests of single features: run ticks, give
 * inputs, read probes, set parameters, find a kind of matter. Every function fails the running
 * cmocka test, with a text, if it cannot do what is asked.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_STAGE_H
#define PLENUM_TESTS_SUPPORT_STAGE_H

#include "server/world/matter.h"
#include "server/world/world.h"

typedef struct Stage {
    Scene *scene;
    World *world;
    Frame *frame;                 /* of the last tick by stage_tick or stage_run; NULL: none yet */
    u32 events[EVENT_KIND_COUNT]; /* number of events in such ticks, by kind */
    Event last[EVENT_KIND_COUNT]; /* the newest event of each kind */
} Stage;

/* Builds a world, without threads, from the text of a scene file; an invalid scene fails the test
 * with the error of the scene reader. */
Stage *stage_create(const char *json);
/* The same with additional kinds of matter, as for world_create_with; NULL: none. */
Stage *stage_create_with(const char *json, const MatterList *kinds);
/* From the members of a scene without its name and braces: "gravity":[0,0,0],"bodies":[...] */
Stage *stage_of(const char *members);
void stage_destroy(Stage *stage);

/* One tick with inputs (may be NULL if count is 0); takes its frame and counts its events. */
void stage_tick(Stage *stage, const Input *inputs, u32 count);
/* Ticks without inputs; takes the frame of the last. */
void stage_run(Stage *stage, u32 ticks);

/* The current value of a probe of the scene, in its unit. */
f64 stage_probe(const Stage *stage, const char *name);
/* Sets the first value of a parameter in a tick of its own, as an input of user 1. */
void stage_set(Stage *stage, const char *parameter, f32 value);
/* The world's matter of a kind; NULL: it has none. */
Matter *stage_matter(const Stage *stage, const MatterOps *ops);

#endif
