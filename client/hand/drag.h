/*
 * drag.h: the local answer of what a hand holds. The server's answer to a drag is shown a round
 * trip and the playout delay late; until then the held point moves as the hand's own spring would
 * move it.
 *
 * A model, a mass on the hand's spring, follows the target at once. The server does the same later,
 * so what is shown of it now is compared with the model of then, and the difference (a wall, the
 * weight, a swing) is added to the model of now: shown = model(t) + filter(server − model(t − lag))
 * (the predictor of Smith 1957). At rest that is exactly the server's answer. Let go, the offset to
 * the server fades away without a jump in position or speed.
 * Pure: time, target and the server's answer are arguments.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_DRAG_H
#define PLENUM_CLIENT_HAND_DRAG_H

#include "shared/math/vec.h"

enum {
    DRAG_HISTORY = 256 /* at least 8 ms apart: 2 s */
};

typedef struct DragSpring {
    f32 frequency;        /* Hz */
    f32 damping;          /* ratio */
    f32 acceleration_max; /* m/s²: the strongest force over the mass */
} DragSpring;

typedef struct DragPrediction {
    bool holding; /* false and `offset` not zero: fades away */
    f64 now_s;
    Vec3 position, velocity;  /* of the model, m and m/s */
    Vec3 bias, bias_velocity; /* of the server against the model */
    Vec3 offset;              /* m: shown − server, the result */
    Vec3 offset_velocity;
    f32 fade; /* 1/s */
    Vec3 past[DRAG_HISTORY];
    f64 past_s[DRAG_HISTORY];
    u32 past_count, past_next;
} DragPrediction;

/* The hand takes a point shown at `point`. What is left of a former offset stays in sight. */
void drag_begin(DragPrediction *drag, Vec3 point, f64 now_s);
/* Goes on to now_s. `server`: where the point would be shown without all this. lag_s: how old the
 * hand's doing is that the server's answer shows. Also fades what was let go. */
void drag_step(DragPrediction *drag, DragSpring spring, Vec3 target, Vec3 server, f64 lag_s,
               f64 now_s);
void drag_release(DragPrediction *drag, f64 lag_s);
/* Forgets all at once: the thing is gone. */
void drag_drop(DragPrediction *drag);

/* Share of the offset that a point of a soft body has at `distance_m` from the held one: falls
 * softly over four times the offset, so that nothing is stretched by more than 40 %. */
f32 drag_share(Vec3 offset, f32 distance_m);

#endif
