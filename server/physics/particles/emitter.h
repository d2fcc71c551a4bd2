/*
 * emitter.h: where, when and how new particles appear: points on or in a shape, at a rate or in a
 * burst, with seeded random speed, direction, lifetime and size. The nth particle of an emitter is
 * a pure function of its definition, seed and n, so the same seed gives the same world for any
 * number of threads. Units SI; directions and shapes in the emitter's frame.
 * Layer: server/physics/particles.
 */
#ifndef PLENUM_SERVER_PHYSICS_PARTICLES_EMITTER_H
#define PLENUM_SERVER_PHYSICS_PARTICLES_EMITTER_H

#include "shared/base/error.h"
#include "shared/base/kinds.h"
#include "shared/geometry/shape.h"
#include "shared/math/quat.h"

/* A number drawn uniformly from [mean − spread, mean + spread]. */
typedef struct EmitterRange {
    f32 mean, spread;
} EmitterRange;

typedef struct EmitterDef {
    Shape shape;   /* SHAPE_NONE: a point; sphere, box, cylinder, cone or mesh (surface only) */
    bool surface;  /* on the shape's surface, else uniformly in its volume */
    Vec3 position; /* m */
    Quat orientation;
    Vec3 velocity; /* m/s of the emitter, which its particles inherit */
    f32 rate;      /* particles per second, ≥ 0 */
    u32 burst;     /* particles at once at start_s; 0 if there is a rate */
    f32 start_s;   /* s, ≥ 0 */
    f32 stop_s;    /* s, > start_s, or 0: never */
    EmitterAim aim;
    Vec3 direction;     /* unit, in the emitter's frame */
    f32 spread_rad;     /* half angle of the cone of directions, uniform in solid angle; [0, π] */
    EmitterRange speed; /* m/s */
    EmitterRange lifetime_s; /* > 0 */
    EmitterRange size;       /* m, radius of a particle, > 0 */
    u64 seed;
} EmitterDef;

/* What survives a tick. All zero at first. */
typedef struct EmitterState {
    f64 time_s; /* since the world began */
    f64 owed;   /* particles due, [0, 1): the fraction that a rate carries over from tick to tick */
    u64 given;  /* particles so far: the number of the next one */
} EmitterState;

/* The particles of one step: numbers `first` .. `first + count` − 1. */
typedef struct EmitterBatch {
    u64 first;
    u32 count;
    f64 oldest_s;   /* s from the appearance of the first to the end of the step */
    f64 interval_s; /* s between two of them; 0: all at once */
} EmitterBatch;

typedef struct EmitterParticle {
    Vec3 position; /* m, world, at its appearance */
    Vec3 velocity; /* m/s, world */
    f32 lifetime_s;
    f32 size; /* m */
} EmitterParticle;

/* A definition with the table for choosing triangles of a mesh by area. */
typedef struct Emitter {
    EmitterDef def;
    f32 *areas; /* [triangles of a mesh] m², running sum; NULL otherwise */
} Emitter;

/* Nothing is emitted; zeros but for identity, up and 1 s, 1 cm. */
EmitterDef emitter_default(void);
/* Checks a definition: 0, or ERROR_RANGE with a text that names the member. */
int emitter_check(const EmitterDef *def, ErrorText *error);
/* The shape's geometry is borrowed. 0, ERROR_RANGE or ERROR_MEMORY; then emitter_finish is not
 * needed. */
int emitter_init(Emitter *emitter, const EmitterDef *def, ErrorText *error);
void emitter_finish(Emitter *emitter);

/* Advances the clock by dt (s) and returns what appears meanwhile, at most `most` (further
 * particles are given up, not owed). The fraction of a rate is carried over, so the sum over any
 * number of steps is rate × time within one particle. `factor` scales rate and burst. */
EmitterBatch emitter_advance(const Emitter *emitter, EmitterState *state, f64 dt, f32 factor,
                             u32 most);
/* The nth particle of the emitter. Thread-safe. */
EmitterParticle emitter_particle(const Emitter *emitter, u64 number);
/* Age (s) at the end of the step of the ith particle of a batch. */
static inline f32 emitter_age(const EmitterBatch *batch, u32 i)
{
    return (f32)(batch->oldest_s - batch->interval_s * (f64)i);
}
/* A point of the shape in its own frame, with the direction away from it; u: in [0, 1). */
Vec3 emitter_place(const Emitter *emitter, const f32 u[4], Vec3 *outward);

#endif
