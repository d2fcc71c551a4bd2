/* field.c: descriptions of fields, checked, and the shared set of them. */
#include "protocol/field.h"
#include "shared/error.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    FIELD_ALIGN = 16
};

u32 field_element_bytes(const FieldDesc *field)
{
    switch ((FieldKind)field->kind) {
    case FIELD_POSES:
        return sizeof(QPose);
    case FIELD_POINTS:
        return sizeof(QPoint);
    case FIELD_GRID2:
        return (u32)sizeof(u16) * field->channels;
    case FIELD_GRID3:
        return (u32)sizeof(u8) * field->channels;
    case FIELD_SCALARS:
        return sizeof(u32);
    case FIELD_NONE:
    case FIELD_KIND_COUNT:
        break;
    }
    return 0;
}

const char *field_kind_name(FieldKind kind)
{
    static const char *const names[FIELD_KIND_COUNT] = {
        [FIELD_NONE] = "none",   [FIELD_POSES] = "poses", [FIELD_POINTS] = "points",
        [FIELD_GRID2] = "grid2", [FIELD_GRID3] = "grid3", [FIELD_SCALARS] = "scalars",
    };
    return (u32)kind < FIELD_KIND_COUNT ? names[kind] : "unknown";
}

static bool in_world(Vec3 p)
{
    return vec3_is_finite(p) && fabsf(p.x) <= WORLD_EXTENT_MAX_M &&
           fabsf(p.y) <= WORLD_EXTENT_MAX_M && fabsf(p.z) <= WORLD_EXTENT_MAX_M;
}

static int check_grid(const FieldDesc *field)
{
    u64 cells = (u64)field->dims[0] * field->dims[1];
    if (field->kind == FIELD_GRID3) {
        cells *= field->dims[2];
    }
    if (cells == 0 || cells != field->capacity || field->channels < 1 || field->channels > 2) {
        return ERROR_FORMAT;
    }
    Vec3 s = field->spacing;
    bool ranged = in_world(s) && s.x > 0.0f && s.z > 0.0f;
    ranged = ranged && (field->kind == FIELD_GRID2 || s.y > 0.0f);
    ranged = ranged && isfinite(field->value_min) && isfinite(field->quantum);
    return ranged && field->quantum > 0.0f ? ERROR_OK : ERROR_RANGE;
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
    if (field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3) {
        return check_grid(field);
    }
    if (field->channels != 1) {
        return ERROR_FORMAT;
    }
    bool positions = field->kind == FIELD_POSES || field->kind == FIELD_POINTS;
    if (positions && !(field->quantum >= QUANTUM_MIN_M && field->quantum <= QUANTUM_MAX_M)) {
        return ERROR_RANGE;
    }
    return ERROR_OK;
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
    __atomic_fetch_add(&set->references, 1, __ATOMIC_RELAXED);
    return set;
}

void field_set_release(FieldSet *set)
{
    if (set != NULL && __atomic_sub_fetch(&set->references, 1, __ATOMIC_ACQ_REL) == 0) {
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
