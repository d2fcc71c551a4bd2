/* detail.c: see detail.h. */
#include "protocol/detail.h"

#include <string.h>

enum {
    TURN_SHIFT_MAX = 6,  /* of 10 bits */
    VOXEL_SHIFT_MAX = 4, /* of 8 bits */
    POSITION_LIMIT = POSITION_CODE_MAX + 1,
};

u32 detail_turn_shift(Detail detail)
{
    return u32_min(detail_shift(detail), TURN_SHIFT_MAX);
}

u32 detail_value_shift(const FieldDesc *field, Detail detail)
{
    u32 shift = detail_shift(detail);
    return field->kind == FIELD_GRID3 ? u32_min(shift, VOXEL_SHIFT_MAX) : shift;
}

/* The middle of what has the same upper bits. */
static i32 position_restore(i32 code, u32 shift)
{
    i32 limit = POSITION_LIMIT >> shift;
    code = code < -limit ? -limit : code >= limit ? limit - 1 : code;
    return shift == 0 ? code : code * (1 << shift) + (1 << (shift - 1));
}

/* As a position, but nothing stays nothing. */
static u32 value_restore(u32 code, u32 shift, u32 most)
{
    return code == 0 || shift == 0 ? code : u32_min((code << shift) + (1u << (shift - 1)), most);
}

/* Each of the three components to the middle of what has its upper bits; the codes know. */
static u32 rotation_snap(u32 rotation, u32 shift)
{
    u32 low = ((1u << shift) - 1) * (1u | 1u << 10 | 1u << 20);
    u32 half = shift > 0 ? (1u << (shift - 1)) * (1u | 1u << 10 | 1u << 20) : 0;
    return (rotation & ~low) | half;
}

static void poses_reduce(Detail detail, QPose *poses, u32 count)
{
    u32 shift = detail_shift(detail), turn = detail_turn_shift(detail);
    for (u32 i = 0; i < count; i++) {
        if (poses[i].flags & POSE_LIVE) {
            for (u32 k = 0; k < 3; k++) {
                poses[i].position[k] >>= shift;
            }
            poses[i].rotation = rotation_snap(poses[i].rotation, turn);
        }
    }
}

static void poses_restore(Detail detail, QPose *poses, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        if (poses[i].flags & POSE_LIVE) {
            for (u32 k = 0; k < 3; k++) {
                poses[i].position[k] = position_restore(poses[i].position[k], detail_shift(detail));
            }
        }
    }
}

static void points_reduce(Detail detail, QPoint *points, u32 count)
{
    u32 shift = detail_shift(detail), mask = (1u << detail_thin(detail)) - 1;
    for (u32 i = 0; i < count; i++) {
        if ((i & mask) != 0) {
            memset(&points[i], 0, sizeof points[i]);
        } else if (points[i].generation != 0) {
            for (u32 k = 0; k < 3; k++) {
                points[i].position[k] >>= shift;
            }
            points[i].scalar = (u16)(points[i].scalar >> shift);
        }
    }
}

static void points_restore(Detail detail, QPoint *points, u32 count)
{
    u32 shift = detail_shift(detail), mask = (1u << detail_thin(detail)) - 1;
    for (u32 i = 0; i < count; i++) {
        if ((i & mask) != 0) {
            memset(&points[i], 0, sizeof points[i]);
        } else if (points[i].generation != 0) {
            for (u32 k = 0; k < 3; k++) {
                points[i].position[k] = position_restore(points[i].position[k], shift);
            }
            points[i].scalar = (u16)value_restore(points[i].scalar, shift, UINT16_MAX);
        }
    }
}

static void cells_change(const FieldDesc *field, Detail detail, void *cells, u32 count, bool back)
{
    u32 shift = detail_value_shift(field, detail), n = count * field->channels;
    for (u32 i = 0; i < n && field->kind == FIELD_GRID2; i++) {
        u16 *value = (u16 *)cells + i;
        *value = (u16)(back ? value_restore(*value, shift, UINT16_MAX) : (u32)*value >> shift);
    }
    for (u32 i = 0; i < n && field->kind == FIELD_GRID3; i++) {
        u8 *value = (u8 *)cells + i;
        *value = (u8)(back ? value_restore(*value, shift, UINT8_MAX) : (u32)*value >> shift);
    }
}

void detail_reduce(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    if (detail == DETAIL_FULL) {
        return;
    }
    if (field->kind == FIELD_POSES) {
        poses_reduce(detail, elements, count);
    } else if (field->kind == FIELD_POINTS) {
        points_reduce(detail, elements, count);
    } else {
        cells_change(field, detail, elements, count, false);
    }
}

void detail_restore(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    if (detail == DETAIL_FULL) {
        return;
    }
    if (field->kind == FIELD_POSES) {
        poses_restore(detail, elements, count);
    } else if (field->kind == FIELD_POINTS) {
        points_restore(detail, elements, count);
    } else {
        cells_change(field, detail, elements, count, true);
    }
}

void detail_store(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    detail_reduce(field, detail, elements, count);
    detail_restore(field, detail, elements, count);
}
