/*
 * engine.h: a rigid-body engine as the measurements see it, so that the same code drives Plenum and
 * its peers on the scenes of rigid_scenes.h.
 * Layer: tests. C and C++.
 */
#ifndef PLENUM_TESTS_BENCH_ENGINE_H
#define PLENUM_TESTS_BENCH_ENGINE_H

#include "tests/bench/rigid_scenes.h"

typedef struct Engine {
    const char *name;
    u32 threads_max;
    /* A world of the scene, nothing of which sleeps; ends the program if it cannot be made. */
    void *(*create)(const Setup *setup, u32 threads);
    void (*destroy)(void *world);
    void (*step)(void *world); /* of SETUP_TICK_S */
    /* The pose of a body of the scene. */
    void (*pose)(void *world, u32 body, Vec3 *position, Quat *orientation);
} Engine;

PL_BEGIN_C
extern const Engine engine_plenum;
extern const Engine engine_bullet;
extern const Engine engine_ode;
PL_END_C

#endif
