/* numbering.c: see numbering.h. Open addressing, at most half full. */
#include "server/export/numbering.h"

#include "shared/base/error.h"
#include "shared/base/hash.h"
#include "shared/geometry/geometry.h"

#include <stdlib.h>
#include <string.h>

static u32 place_of(const Numbering *numbering, u64 key)
{
    u32 mask = numbering->capacity - 1, at = (u32)key & mask;
    while (numbering->keys[at] != 0 && numbering->keys[at] != key) {
        at = (at + 1) & mask;
    }
    return at;
}

static bool grow(Numbering *numbering)
{
    Numbering bigger = {.capacity = u32_max(64, 2 * numbering->capacity),
                        .count = numbering->count};
    bigger.keys = calloc(bigger.capacity, sizeof *bigger.keys);
    bigger.numbers = calloc(bigger.capacity, sizeof *bigger.numbers);
    if (bigger.keys == NULL || bigger.numbers == NULL) {
        numbering_finish(&bigger);
        return false;
    }
    for (u32 i = 0; i < numbering->capacity; i++) {
        if (numbering->keys[i] != 0) {
            u32 at = place_of(&bigger, numbering->keys[i]);
            bigger.keys[at] = numbering->keys[i];
            bigger.numbers[at] = numbering->numbers[i];
        }
    }
    numbering_finish(numbering);
    *numbering = bigger;
    return true;
}

i64 numbering_get(Numbering *numbering, u64 key, bool *is_new)
{
    key = key != 0 ? key : 1;
    *is_new = false;
    if (2 * (numbering->count + 1) > numbering->capacity && !grow(numbering)) {
        return ERROR_MEMORY;
    }
    u32 at = place_of(numbering, key);
    if (numbering->keys[at] == 0) {
        numbering->keys[at] = key;
        numbering->numbers[at] = numbering->count++;
        *is_new = true;
    }
    return numbering->numbers[at];
}

void numbering_finish(Numbering *numbering)
{
    free(numbering->keys);
    free(numbering->numbers);
    memset(numbering, 0, sizeof *numbering);
}

u64 export_shape_key(const Shape *shape)
{
    const f32 sizes[5] = {shape->radius, shape->half_height, shape->half.x, shape->half.y,
                          shape->half.z};
    const u32 kinds[2] = {shape->kind, shape->geometry != NULL ? shape->geometry->id + 1 : 0};
    return hash_bytes(sizes, sizeof sizes, hash_bytes(kinds, sizeof kinds, 0));
}

u64 export_appearance_key(const Appearance *appearance)
{
    const f32 shown[5] = {appearance->color[0], appearance->color[1], appearance->color[2],
                          appearance->color[3], appearance->roughness};
    return hash_bytes(shown, sizeof shown, 1);
}
