/* engine_plenum.c: Plenum's rigid bodies as an engine of engine.h. */
#include "shared/base/limits.h"
#include "tests/bench/engine.h"
#include "tests/bench/rigid_world.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct PlenumWorld {
    Rigid *rigid;
    Jobs *jobs;
} PlenumWorld;

static void *plenum_create(const Setup *setup, u32 threads)
{
    PlenumWorld *w = calloc(1, sizeof(*w));
    if (!w || !(w->jobs = jobs_create(threads))) {
        fprintf(stderr, "out of memory\n");
        exit(1);
    }
    w->rigid = setup_rigid(setup, false);
    return w;
}

static void plenum_destroy(void *world)
{
    PlenumWorld *w = world;
    rigid_destroy(w->rigid);
    jobs_destroy(w->jobs);
    free(w);
}

static void plenum_step(void *world)
{
    PlenumWorld *w = world;
    setup_tick(w->rigid, w->jobs);
}

static void plenum_pose(void *world, u32 body, Vec3 *position, Quat *orientation)
{
    const Rigid *rigid = ((PlenumWorld *)world)->rigid;
    *position = rigid_position(rigid, body);
    *orientation = rigid_orientation(rigid, body);
}

const Engine engine_plenum = {"plenum",       THREADS_MAX, plenum_create,
                              plenum_destroy, plenum_step, plenum_pose};
