/* field_scalars.c: the row of SCALARS: numbers without a position, always exact. */
#include "protocol/codec/chunk.h"
#include "protocol/codec/span.h"
#include "protocol/field/field_ops.h"
#include "shared/base/error.h"

#include <string.h>

static int scalars_check(const FieldDesc *field)
{
    PL_UNUSED(field);
    return ERROR_OK;
}

static bool scalars_load(const FieldDesc *field, u32 n, const void *state, u32 *values)
{
    PL_UNUSED(field);
    memcpy(values, state, n * sizeof(u32));
    return true;
}

static void scalars_store(const FieldDesc *field, u32 n, void *state, const u32 *values)
{
    PL_UNUSED(field);
    memcpy(state, values, n * sizeof(u32));
}

static f32 scalars_error(const FieldDesc *field, u32 n, const void *a, const void *b)
{
    PL_UNUSED(field);
    return memcmp(a, b, n * sizeof(u32)) != 0 ? 1.0f : 0.0f;
}

const FieldOps field_scalars_ops = {
    .name = "scalars",
    .bytes = sizeof(u32),
    .channels_max = 1,
    .axes = 1,
    .edge = {CHUNK_SCALARS, 1, 1},
    .codec = FIELD_CODEC_GRIDS,
    .coarsening = FIELD_EXACT,
    .shift_max = DETAIL_SHIFT_MAX,
    .span_chunks = SPAN_CHUNKS_MAX,
    .columns = {1, {32}},
    .check = scalars_check,
    .load = scalars_load,
    .store = scalars_store,
    .error = scalars_error,
};
