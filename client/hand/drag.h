/*
 * drag.h: drag prediction. The server's answer to a drag is shown a round trip and the playout
 * delay late; until then the grabbed point moves as the grab spring would move it.
 *
 * A model, a mass on the grab spring, follows the target at once. The server does the same later,
 * so its shown state is compared with the model of that time, and the difference (a wall, the
 * weight, a swing) is added to the current model: shown = model(t) + filter(server − model(t −
 * lag)) (the Smith predictor, 1957). At rest that is exactly the server's answer. After release the
 * offset to the server fades without a jump in position or velocity.
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
    f32 acceleration_max; /* m/s²: the maximal force divided by the mass */
} DragSpring;

typedef struct DragPrediction {
    bool holding; /* false with a non-zero `offset`: fading */
    f64 now_s;
    Vec3 position, velocity;  /* of the model, m and m/s */
    Vec3 bias, bias_velocity; /* of the server relative to the model */
    Vec3 offset;              /* m: shown − server, the result */
    Vec3 offset_velocity;
    f32 fade; /* 1/s */
    Vec3 past[DRAG_HISTORY];
    f64 past_s[DRAG_HISTORY];
    u32 past_count, past_next;
} DragPrediction;

/* Starts a grab of a point shown at `point`. A remaining offset of an earlier grab is kept. */
void drag_begin(DragPrediction *drag, Vec3 point, f64 now_s);
/* Advances to now_s. `server`: the shown position without prediction. lag_s: age of the user
 * action reflected in the server's state. Also fades the offset after release. */
void drag_step(DragPrediction *drag, DragSpring spring, Vec3 target, Vec3 server, f64 lag_s,
               f64 now_s);
void drag_release(DragPrediction *drag, f64 lag_s);
/* Resets everything: the object is gone. */
void drag_drop(DragPrediction *drag);

/* Fraction of the offset applied to a point of a soft body at `distance_m` from the grabbed one:
 * smooth falloff over four times the offset, so that nothing is stretched by more than 40 %. */
f32 drag_share(Vec3 offset, f32 distance_m);

#endif
