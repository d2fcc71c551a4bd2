/* detail.c: see detail.h. */
#include "protocol/field/detail.h"

#include "protocol/field/field_ops.h"

enum {
    ROTATION_SHIFT_MAX = 6, /* of 10 bits */
    POSITION_LIMIT = POSITION_CODE_MAX + 1,
};

u32 detail_rotation_shift(Detail detail)
{
    return u32_min(detail_shift(detail), ROTATION_SHIFT_MAX);
}

u32 detail_value_shift(const FieldDesc *field, Detail detail)
{
    return u32_min(detail_shift(detail), field_ops(field->kind)->shift_max);
}

i32 detail_position_restore(i32 code, u32 shift)
{
    i32 limit = POSITION_LIMIT >> shift;
    code = code < -limit ? -limit : code >= limit ? limit - 1 : code;
    return shift == 0 ? code : code * (1 << shift) + (1 << (shift - 1));
}

u32 detail_value_restore(u32 code, u32 shift, u32 most)
{
    return code == 0 || shift == 0 ? code : u32_min((code << shift) + (1u << (shift - 1)), most);
}

void detail_reduce(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    const FieldOps *ops = field_ops(field->kind);
    if (detail != DETAIL_FULL && ops->reduce != NULL) {
        ops->reduce(field, detail, elements, count);
    }
}

void detail_restore(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    const FieldOps *ops = field_ops(field->kind);
    if (detail != DETAIL_FULL && ops->restore != NULL) {
        ops->restore(field, detail, elements, count);
    }
}

void detail_store(const FieldDesc *field, Detail detail, void *elements, u32 count)
{
    detail_reduce(field, detail, elements, count);
    detail_restore(field, detail, elements, count);
}
