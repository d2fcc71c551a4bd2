/* weld.c: a hash table of positions. */
#include "shared/geometry/weld.h"

#include <stdlib.h>
#include <string.h>

#define NONE UINT32_MAX

static bool same_place(Vec3 a, Vec3 b)
{
    return a.x == b.x && a.y == b.y && a.z == b.z;
}

static u64 place_hash(Vec3 v)
{
    f32 positive[3] = {v.x + 0.0f, v.y + 0.0f, v.z + 0.0f}; /* −0 is the same position as 0 */
    u32 bits[3];
    memcpy(bits, positive, sizeof bits);
    u64 h = ((u64)bits[0] << 32 | bits[1]) * 0x9E3779B97F4A7C15ull;
    h = (h ^ (h >> 29) ^ bits[2]) * 0xBF58476D1CE4E5B9ull;
    return h ^ (h >> 32);
}

bool weld_vertices(const Vec3 *vertices, u32 count, u32 *first)
{
    size_t capacity = 16;
    while (capacity < 2 * (size_t)count) {
        capacity *= 2;
    }
    u32 *table = malloc(capacity * sizeof *table);
    if (table == NULL) {
        return false;
    }
    memset(table, 0xFF, capacity * sizeof *table);
    for (u32 i = 0; i < count; i++) {
        size_t slot = place_hash(vertices[i]) & (capacity - 1);
        while (table[slot] != NONE && !same_place(vertices[table[slot]], vertices[i])) {
            slot = (slot + 1) & (capacity - 1);
        }
        if (table[slot] == NONE) {
            table[slot] = i;
        }
        first[i] = table[slot];
    }
    free(table);
    return true;
}
