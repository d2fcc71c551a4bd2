/* field.c: the table of kinds; checked descriptions of fields, and their shared set. */
#include "protocol/field/field_ops.h"
#include "shared/base/check.h"
#include "shared/base/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELD_ALIGN = 16
};

static const FieldOps no_ops = {
    .name = "none",
    .channels_max = 1,
    .axes = 1,
    .edge = {1, 1, 1},
    .codec = FIELD_CODEC_GRIDS,
    .span_chunks = 1,
};

const FieldOps *const field_rows[FIELD_KIND_COUNT] = {
    [FIELD_NONE] = &no_ops,
    [FIELD_POSES] = &field_poses_ops,
    [FIELD_POINTS] = &field_points_ops,
    [FIELD_GRID2] = &field_heights_ops,
    [FIELD_GRID3] = &field_voxels_ops,
    [FIELD_SCALARS] = &field_scalars_ops,
};

u32 field_element_bytes(const FieldDesc *field)
{
    return (u32)field_ops(field->kind)->bytes * field->channels;
}

const char *field_kind_name(FieldKind kind)
{
    return (u32)kind < FIELD_KIND_COUNT ? field_rows[kind]->name : "unknown";
}

static bool in_world(Vec3 p)
{
    return vec3_is_finite(p) && fabsf(p.x) <= WORLD_EXTENT_MAX_M &&
           fabsf(p.y) <= WORLD_EXTENT_MAX_M && fabsf(p.z) <= WORLD_EXTENT_MAX_M;
}

int field_check(const FieldDesc *field)
{
    if (field->kind == FIELD_NONE || field->kind >= FIELD_KIND_COUNT ||
        memchr(field->name, 0, sizeof field->name) == NULL) {
        return ERROR_FORMAT;
    }
    if (field->capacity > FIELD_ELEMENTS_MAX) {
        return ERROR_LIMIT;
    }
    if (!in_world(field->origin)) {
        return ERROR_RANGE;
    }
    const FieldOps *ops = field_ops(field->kind);
    if (field->channels < 1 || field->channels > ops->channels_max) {
        return ERROR_FORMAT;
    }
    return ops->check(field);
}

bool fields_hold_dye(const FieldDesc *fields, u32 count, u32 own, u32 dye)
{
    if (dye == 0) {
        return true;
    }
    if (dye > count || dye - 1 == own) {
        return false;
    }
    const FieldDesc *a = &fields[own], *b = &fields[dye - 1];
    return a->kind == FIELD_GRID3 && b->kind == FIELD_GRID3 && a->channels == 2 &&
           b->channels == 2 && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

FieldSet *field_set_create(const FieldDesc *fields, u32 count)
{
    if (count > FIELDS_MAX) {
        return NULL;
    }
    FieldSet *set = calloc(1, sizeof *set);
    if (set == NULL) {
        return NULL;
    }
    set->references = 1;
    set->count = count;
    for (u32 i = 0; i < count; i++) {
        FieldDesc *field = &set->fields[i];
        *field = fields[i];
        field->id = (u8)i;
        field->channels = field->channels == 0 ? 1 : field->channels;
        if (field_check(field) != ERROR_OK) {
            free(set);
            return NULL;
        }
        set->offset[i] = set->frame_bytes;
        u32 bytes = field->capacity * field_element_bytes(field);
        set->frame_bytes += (bytes + FIELD_ALIGN - 1) / FIELD_ALIGN * FIELD_ALIGN;
        if (set->frame_bytes > FRAME_BYTES_MAX) {
            free(set);
            return NULL;
        }
    }
    return set;
}

FieldSet *field_set_acquire(FieldSet *set)
{
    u32 before = __atomic_fetch_add(&set->references, 1, __ATOMIC_RELAXED);
    CHECK(before > 0); /* else it is gone */
    return set;
}

void field_set_release(FieldSet *set)
{
    if (set == NULL) {
        return;
    }
    u32 left = __atomic_sub_fetch(&set->references, 1, __ATOMIC_ACQ_REL);
    CHECK(left != UINT32_MAX);
    if (left == 0) {
        free(set);
    }
}

static bool field_equal(const FieldDesc *a, const FieldDesc *b)
{
    return a->kind == b->kind && a->channels == b->channels && a->capacity == b->capacity &&
           memcmp(a->dims, b->dims, sizeof a->dims) == 0 &&
           memcmp(&a->origin, &b->origin, sizeof a->origin) == 0 &&
           memcmp(&a->quantum, &b->quantum, sizeof a->quantum) == 0 &&
           memcmp(&a->spacing, &b->spacing, sizeof a->spacing) == 0 &&
           memcmp(&a->value_min, &b->value_min, sizeof a->value_min) == 0 &&
           strcmp(a->name, b->name) == 0;
}

bool field_set_equal(const FieldSet *a, const FieldSet *b)
{
    if (a == b) {
        return true;
    }
    if (a == NULL || b == NULL || a->count != b->count) {
        return false;
    }
    for (u32 i = 0; i < a->count; i++) {
        if (!field_equal(&a->fields[i], &b->fields[i])) {
            return false;
        }
    }
    return true;
}
