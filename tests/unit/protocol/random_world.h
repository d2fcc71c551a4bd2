/*
 * random_world.h: seeded random numbers, field sets of every kind, and frames whose contents move,
 * rest, jump, appear and disappear, for the property tests of the protocol.
 */
#ifndef PLENUM_TESTS_UNIT_PROTOCOL_RANDOM_WORLD_H
#define PLENUM_TESTS_UNIT_PROTOCOL_RANDOM_WORLD_H

#include "protocol/field/frame.h"
#include "protocol/field/quantize.h"
#include "shared/math/random.h"

#include <stdio.h>
#include <string.h>

typedef struct Dice {
    u64 seed, count;
} Dice;

static inline u64 dice_u64(Dice *dice)
{
    return random_u64(dice->seed, dice->count++);
}
/* 0 .. n − 1 */
static inline u32 dice_below(Dice *dice, u32 n)
{
    return (u32)(dice_u64(dice) % n);
}
static inline bool dice_chance(Dice *dice, f64 p)
{
    return (f64)(dice_u64(dice) >> 11) * 0x1p-53 < p;
}
static inline f32 dice_range(Dice *dice, f32 low, f32 high)
{
    return random_range(dice->seed, dice->count++, low, high);
}
static inline Quat dice_rotation(Dice *dice)
{
    f32 q[4]; /* in sequence: the evaluation order of arguments is unspecified */
    for (u32 i = 0; i < 4; i++) {
        q[i] = dice_range(dice, -1, 1);
    }
    return quat_normalize((Quat){q[0], q[1], q[2], q[3]});
}

static inline FieldDesc field_desc(FieldKind kind, u32 capacity)
{
    FieldDesc field = {.kind = (u8)kind, .channels = 1, .capacity = capacity};
    snprintf(field.name, sizeof field.name, "%s", field_kind_name(kind));
    field.quantum = 1.0f / 512.0f;
    field.spacing = vec3(0.1f, 0.1f, 0.1f);
    return field;
}

static inline FieldDesc field_desc_grid(FieldKind kind, u16 x, u16 y, u16 z, u8 channels)
{
    FieldDesc field = field_desc(kind, kind == FIELD_GRID2 ? (u32)x * y : (u32)x * y * z);
    field.channels = channels;
    field.dims[0] = x;
    field.dims[1] = y;
    field.dims[2] = z;
    return field;
}

/* One field of each kind; `size` about the number of elements of the linear ones. */
static inline FieldSet *random_fields(u32 size)
{
    FieldDesc fields[6] = {
        field_desc(FIELD_POSES, size),
        field_desc(FIELD_POINTS, size + 7),
        field_desc_grid(FIELD_GRID2, 37, 21, 0, 2),
        field_desc_grid(FIELD_GRID3, 11, 9, 17, 1),
        field_desc(FIELD_SCALARS, 70),
        field_desc_grid(FIELD_GRID3, 8, 8, 3, 2),
    };
    return field_set_create(fields, PL_COUNT(fields));
}

static inline Vec3 random_place(Dice *dice)
{
    f32 x = dice_range(dice, -8, 8), y = dice_range(dice, 0, 4), z = dice_range(dice, -8, 8);
    return vec3(x, y, z);
}

static inline void random_pose(Dice *dice, const FieldDesc *field, QPose *q)
{
    quantize_position(field, random_place(dice), q->position);
    q->rotation = quantize_rotation(dice_rotation(dice));
    q->flags = POSE_LIVE | POSE_AWAKE;
    q->generation = (u16)(q->generation + 1);
}

static inline void move_pose(Dice *dice, const FieldDesc *field, QPose *q)
{
    if (q->flags == 0) {
        if (dice_chance(dice, 0.5)) {
            random_pose(dice, field, q);
        }
        return;
    }
    if (dice_chance(dice, 0.01)) {
        memset(q, 0, sizeof *q);
        return;
    }
    for (u32 axis = 0; axis < 3; axis++) {
        q->position[axis] += (i32)dice_below(dice, 31) - 15;
    }
    f32 b = dice_range(dice, -0.1f, 0.1f), c = dice_range(dice, -0.1f, 0.1f);
    Quat rotation = {1.0f, b, c, 0.0f};
    q->rotation =
        quantize_rotation(quat_normalize(quat_mul(rotation, dequantize_rotation(q->rotation))));
    q->flags ^= dice_chance(dice, 0.05) ? POSE_AWAKE : 0;
}

static inline void move_point(Dice *dice, const FieldDesc *field, QPoint *q)
{
    if (q->generation == 0 || dice_chance(dice, 0.01)) {
        Vec3 p = random_place(dice);
        quantize_position(field, p, q->position);
        q->generation = (u16)dice_below(dice, 3);
    }
    for (u32 axis = 0; axis < 3; axis++) {
        q->position[axis] += (i32)dice_below(dice, 9) - 4;
    }
    q->scalar = (u16)(q->scalar + dice_below(dice, 3));
    if (q->generation == 0) {
        memset(q, 0, sizeof *q);
    }
}

/* Changes about `share` of the elements of field f. */
static inline void move_field(Dice *dice, Frame *frame, u32 f, f64 share)
{
    const FieldDesc *field = &frame->fields->fields[f];
    u8 *data = frame_field(frame, f);
    for (u32 i = 0; i < field->capacity; i++) {
        if (!dice_chance(dice, share)) {
            continue;
        }
        if (field->kind == FIELD_POSES) {
            move_pose(dice, field, (QPose *)(void *)data + i);
        } else if (field->kind == FIELD_POINTS) {
            move_point(dice, field, (QPoint *)(void *)data + i);
        } else if (field->kind == FIELD_GRID2) {
            u16 *cell = (u16 *)(void *)data + i * field->channels;
            *cell = (u16)(*cell + dice_below(dice, 65) - 32);
        } else if (field->kind == FIELD_GRID3) {
            data[i * field->channels] = (u8)dice_u64(dice);
        } else {
            ((u32 *)(void *)data)[i] = (u32)dice_u64(dice);
        }
    }
}

/* The next tick of a world: each field may rest, else part of it changes. */
static inline Frame *random_next(Dice *dice, FieldSet *fields, const Frame *before, u64 tick,
                                 f64 activity)
{
    Frame *frame = frame_create(fields, tick, 0);
    if (before != NULL) {
        memcpy(frame->data, before->data, fields->frame_bytes);
    }
    for (u32 f = 0; f < fields->count; f++) {
        if (before == NULL) {
            move_field(dice, frame, f, 0.8);
        } else if (dice_chance(dice, activity)) {
            move_field(dice, frame, f, dice_chance(dice, 0.3) ? 1.0 : 0.05);
        }
    }
    return frame;
}

#endif
