/* sort.c: see sort.h. */
#include "shared/base/sort.h"

static void sift_down(u64 *keys, u32 at, u32 count)
{
    u64 key = keys[at];
    for (u32 child = 2 * at + 1; child < count; child = 2 * at + 1) {
        child += child + 1 < count && keys[child + 1] > keys[child];
        if (keys[child] <= key) {
            break;
        }
        keys[at] = keys[child];
        at = child;
    }
    keys[at] = key;
}

void sort_keys(u64 *keys, u32 count)
{
    for (u32 k = count / 2; k > 0; k--) {
        sift_down(keys, k - 1, count);
    }
    for (u32 k = count; k > 1; k--) {
        u64 last = keys[k - 1];
        keys[k - 1] = keys[0];
        keys[0] = last;
        sift_down(keys, 0, k - 1);
    }
}

int f64_compare(const void *a, const void *b)
{
    f64 x = *(const f64 *)a, y = *(const f64 *)b;
    return (x > y) - (x < y);
}
