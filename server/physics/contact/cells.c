/* cells.c: see cells.h. Particles are radix sorted by bucket: one counting sort per 11 bits,
 * least significant first. Blocks of particles are counted and moved in parallel; blocks do not
 * depend on the number of threads. */
#include "server/physics/contact/cells.h"

#include "shared/base/check.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK = 4096, /* particles counted together */
    DIGIT_BITS = 11,
    DIGITS = 1 << DIGIT_BITS,
    BITS_MIN = 6,
    BITS_MAX = 22,
    AXIS_BITS = 21, /* of a cell's number along an axis */
};

static const f32 axis_max = 1048575.0f; /* 2^20 − 1 */

static u32 blocks_of(u32 count)
{
    return (count + BLOCK - 1) / BLOCK;
}

/* Two buckets per particle, or fewer for very many. */
static u32 bits_for(u32 count)
{
    u32 bits = BITS_MIN;
    while (bits < BITS_MAX && (1u << bits) < 2 * count) {
        bits++;
    }
    return bits;
}

void cells_finish(Cells *cells)
{
    free(cells->order);
    free(cells->keys);
    free(cells->places);
    free(cells->starts);
    free(cells->own);
    for (u32 i = 0; i < 2; i++) {
        free(cells->bucket[i]);
        free(cells->item[i]);
    }
    free(cells->histogram);
    *cells = (Cells){0};
}

bool cells_reserve(Cells *cells, u32 capacity)
{
    if (capacity <= cells->capacity) {
        return true;
    }
    CHECK(capacity < 1u << 24);
    u32 room = u32_max(capacity, 2 * cells->capacity);
    size_t n = room;
    Cells made = {.capacity = room};
    made.order = malloc(n * sizeof *made.order);
    made.keys = malloc(n * sizeof *made.keys);
    made.places = malloc(n * sizeof *made.places);
    made.starts = malloc(((size_t)1 << bits_for(room)) * sizeof *made.starts + sizeof(u32));
    made.own = malloc(n * sizeof *made.own);
    made.histogram = malloc((size_t)blocks_of(room) * DIGITS * sizeof *made.histogram);
    bool all = made.order && made.keys && made.places && made.starts && made.own && made.histogram;
    for (u32 i = 0; i < 2; i++) {
        made.bucket[i] = malloc(n * sizeof **made.bucket);
        made.item[i] = malloc(n * sizeof **made.item);
        all = all && made.bucket[i] && made.item[i];
    }
    if (!all) {
        cells_finish(&made);
        return false;
    }
    cells_finish(cells);
    *cells = made;
    return true;
}

/* ---- cells ---- */

/* NaN maps to some cell, too. */
static i32 axis_of(f32 x, f32 size)
{
    f32 cell = floorf(x / size);
    return (i32)(!(cell > -axis_max) ? -axis_max : cell < axis_max ? cell : axis_max);
}

static u64 key_of(i32 x, i32 y, i32 z)
{
    const u64 mask = (1u << AXIS_BITS) - 1;
    return ((u64)(u32)x & mask) | ((u64)(u32)y & mask) << AXIS_BITS |
           ((u64)(u32)z & mask) << (2 * AXIS_BITS);
}

/* Fibonacci hashing of both halves of the key. */
static u32 bucket_of(u64 key, u32 bits)
{
    key ^= key >> 32;
    return (u32)(key * 0x9e3779b97f4a7c15u >> (64 - bits));
}

/* ---- sorting ---- */

typedef struct Sort {
    Cells *cells;
    const u8 *positions;
    size_t stride;
    const u32 *from_bucket, *from_item;
    u32 *to_bucket, *to_item;
    u32 shift, digit_bits;
} Sort;

static void find_cells(void *context, u32 first, u32 end, u32 worker)
{
    const Sort *sort = context;
    Cells *cells = sort->cells;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Vec3 p;
        memcpy(&p, sort->positions + i * sort->stride, sizeof p);
        cells->own[i] =
            key_of(axis_of(p.x, cells->size), axis_of(p.y, cells->size), axis_of(p.z, cells->size));
        cells->bucket[0][i] = bucket_of(cells->own[i], cells->bits);
        cells->item[0][i] = i;
    }
}

static u32 digit_of(const Sort *sort, u32 bucket)
{
    return bucket >> sort->shift & ((1u << sort->digit_bits) - 1);
}

static void count_digits(void *context, u32 first, u32 end, u32 worker)
{
    const Sort *sort = context;
    u32 *histogram = sort->cells->histogram + (size_t)(first / BLOCK) * DIGITS;
    PL_UNUSED(worker);
    memset(histogram, 0, DIGITS * sizeof *histogram);
    for (u32 i = first; i < end; i++) {
        histogram[digit_of(sort, sort->from_bucket[i])]++;
    }
}

/* Prefix sums: counts become the output positions of each block and digit. */
static void add_up(u32 *histogram, u32 blocks, u32 digits)
{
    u32 sum = 0;
    for (u32 d = 0; d < digits; d++) {
        for (u32 b = 0; b < blocks; b++) {
            u32 *at = &histogram[(size_t)b * DIGITS + d], count = *at;
            *at = sum;
            sum += count;
        }
    }
}

static void move_items(void *context, u32 first, u32 end, u32 worker)
{
    const Sort *sort = context;
    u32 *place = sort->cells->histogram + (size_t)(first / BLOCK) * DIGITS;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        u32 to = place[digit_of(sort, sort->from_bucket[i])]++;
        sort->to_bucket[to] = sort->from_bucket[i];
        sort->to_item[to] = sort->from_item[i];
    }
}

/* Each range fills the starts of the buckets that begin in it, and of the empty ones before
 * them. */
static void gather(void *context, u32 first, u32 end, u32 worker)
{
    const Sort *sort = context;
    Cells *cells = sort->cells;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        u32 item = sort->from_item[i];
        cells->order[i] = item;
        cells->keys[i] = cells->own[item];
        memcpy(&cells->places[i], sort->positions + item * sort->stride, sizeof(Vec3));
        u32 from = i == 0 ? 0 : sort->from_bucket[i - 1] + 1;
        for (u32 b = from; b <= sort->from_bucket[i]; b++) {
            cells->starts[b] = i;
        }
    }
    if (end == cells->count) {
        for (u32 b = sort->from_bucket[end - 1] + 1; b <= 1u << cells->bits; b++) {
            cells->starts[b] = end;
        }
    }
}

void cells_build(Cells *cells, const Vec3 *positions, size_t stride, u32 count, f32 size,
                 Jobs *jobs)
{
    CHECK(count <= cells->capacity && size > 0.0f);
    cells->count = count;
    cells->size = size;
    cells->bits = bits_for(count);
    if (count == 0) {
        return;
    }
    Sort sort = {.cells = cells, .positions = (const u8 *)positions, .stride = stride};
    jobs_run(jobs, count, BLOCK, find_cells, &sort);
    u32 passes = (cells->bits + DIGIT_BITS - 1) / DIGIT_BITS;
    sort.digit_bits = (cells->bits + passes - 1) / passes;
    for (u32 pass = 0; pass < passes; pass++) {
        u32 from = pass % 2;
        sort.shift = pass * sort.digit_bits;
        sort.from_bucket = cells->bucket[from];
        sort.from_item = cells->item[from];
        sort.to_bucket = cells->bucket[1 - from];
        sort.to_item = cells->item[1 - from];
        jobs_run(jobs, count, BLOCK, count_digits, &sort);
        add_up(cells->histogram, blocks_of(count), 1u << sort.digit_bits);
        jobs_run(jobs, count, BLOCK, move_items, &sort);
    }
    sort.from_bucket = cells->bucket[passes % 2];
    sort.from_item = cells->item[passes % 2];
    jobs_run(jobs, count, BLOCK, gather, &sort);
}

/* ---- queries ---- */

typedef struct Near {
    Vec3 low, high;
    f32 radius2;
    u32 *near, capacity, count;
} Near;

static void look_at(const Cells *cells, u32 i, Near *found)
{
    Vec3 p = cells->places[i], off = vec3_sub(p, vec3_min(vec3_max(p, found->low), found->high));
    if (vec3_length_squared(off) <= found->radius2) {
        if (found->count < found->capacity) {
            found->near[found->count] = cells->order[i];
        }
        found->count++;
    }
}

static void look_in_cell(const Cells *cells, u64 key, Near *found)
{
    u32 bucket = bucket_of(key, cells->bits);
    for (u32 i = cells->starts[bucket]; i < cells->starts[bucket + 1]; i++) {
        if (cells->keys[i] == key) { /* else another cell in the same bucket */
            look_at(cells, i, found);
        }
    }
}

u32 cells_near(const Cells *cells, Vec3 point, f32 radius, u32 *near, u32 capacity)
{
    return cells_around(cells, point, point, radius, near, capacity);
}

u32 cells_around(const Cells *cells, Vec3 low, Vec3 high, f32 radius, u32 *near, u32 capacity)
{
    Near found = {low, high, radius * radius, near, capacity, 0};
    if (cells->count == 0 || !vec3_is_finite(low) || !vec3_is_finite(high) || !(radius >= 0.0f)) {
        return 0;
    }
    i32 first[3], last[3];
    const f32 least[3] = {low.x, low.y, low.z}, most[3] = {high.x, high.y, high.z};
    u64 all = 1;
    for (u32 k = 0; k < 3; k++) {
        first[k] = axis_of(least[k] - radius, cells->size);
        last[k] = axis_of(most[k] + radius, cells->size);
        all *= (u64)(last[k] - first[k] + 1); /* < 2^63 */
    }
    if (all > cells->count) { /* fewer particles than cells */
        for (u32 i = 0; i < cells->count; i++) {
            look_at(cells, i, &found);
        }
        return found.count;
    }
    for (i32 z = first[2]; z <= last[2]; z++) {
        for (i32 y = first[1]; y <= last[1]; y++) {
            for (i32 x = first[0]; x <= last[0]; x++) {
                look_in_cell(cells, key_of(x, y, z), &found);
            }
        }
    }
    return found.count;
}
