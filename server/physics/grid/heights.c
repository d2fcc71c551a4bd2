/* heights.c: checks and memory of grids of water levels. */
#include "server/physics/grid/heights.h"

#include "shared/base/limits.h"

#include <stdlib.h>
#include <string.h>

Error heights_check(const u32 size[2], f32 cell_m, const WaterBorder border[HEIGHTS_SIDE_COUNT],
                    ErrorText *error)
{
    for (u32 n = 0; n < 2; n++) {
        if (size[n] < 1 || size[n] > HEIGHTS_SIDE_MAX) {
            return error_set(error, ERROR_RANGE, "size[%u] is %u, expected 1 to %u cells", n,
                             size[n], HEIGHTS_SIDE_MAX);
        }
        WaterBorder a = border[2 * n], b = border[2 * n + 1];
        if ((u32)a >= WATER_BORDER_COUNT || (u32)b >= WATER_BORDER_COUNT) {
            return error_set(error, ERROR_RANGE, "border[%u] is unknown", 2 * n);
        }
        if ((a == WATER_PERIODIC) != (b == WATER_PERIODIC)) {
            return error_set(error, ERROR_RANGE,
                             "border[%u]: periodic needs both of two opposite sides", 2 * n);
        }
    }
    if ((u64)size[0] * size[1] > FIELD_ELEMENTS_MAX) {
        return error_set(error, ERROR_LIMIT, "%u x %u cells: at most %u", size[0], size[1],
                         FIELD_ELEMENTS_MAX);
    }
    if (!(cell_m >= HEIGHTS_CELL_MIN_M && cell_m <= HEIGHTS_CELL_MAX_M)) {
        return error_set(error, ERROR_RANGE, "cell is %g m, expected %g to %g", cell_m,
                         HEIGHTS_CELL_MIN_M, HEIGHTS_CELL_MAX_M);
    }
    return ERROR_OK;
}

f32 *heights_zeros(size_t count)
{
    size_t bytes = (count * sizeof(f32) + 63) & ~(size_t)63;
    f32 *memory = aligned_alloc(64, bytes);
    return memory != NULL ? memset(memory, 0, bytes) : NULL;
}
