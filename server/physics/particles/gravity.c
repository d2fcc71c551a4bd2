/* gravity.c: see gravity.h. */
#include "server/physics/particles/gravity.h"

#include "shared/base/check.h"
#include "shared/base/memory.h"
#include "shared/math/simd.h"

#include <stdlib.h>

enum {
    LEAF = 8,   /* particles of a leaf */
    GROUP = 32, /* maximal number of particles that traverse the tree together */
    GROUP_WIDE = GROUP / SIMD_LANES,
    AXIS_BITS = 16,
    DIGIT_BITS = 12,
    DIGITS = 1 << DIGIT_BITS,
    PASSES = 3 * AXIS_BITS / DIGIT_BITS,
    GROUP_GRAIN = 8,
    DIRECT_GRAIN = 8, /* vectors */
};

typedef struct GravityPass {
    Gravity *gravity;
    const GravityOptions *options;
} GravityPass;

void gravity_finish(Gravity *g)
{
    free(g->x);
    free(g->y);
    free(g->z);
    free(g->mass);
    free(g->keys[0]);
    free(g->keys[1]);
    free(g->order[0]);
    free(g->order[1]);
    free(g->histogram);
    free(g->pulls);
    free(g->nodes);
    free(g->groups);
    *g = (Gravity){0};
}

u64 gravity_bytes(const Gravity *g)
{
    return (u64)g->capacity * (4 * sizeof(f32) + 2 * sizeof(u64) + 3 * sizeof(u32) + sizeof(Vec3)) +
           (u64)g->node_capacity * sizeof(GravityNode);
}

static bool reserve(Gravity *g, u32 count)
{
    u32 need = (count + 2 * SIMD_LANES) / SIMD_LANES * SIMD_LANES;
    if (need <= g->capacity) {
        return true;
    }
    gravity_finish(g);
    g->x = aligned_alloc(32, need * sizeof(f32));
    g->y = aligned_alloc(32, need * sizeof(f32));
    g->z = aligned_alloc(32, need * sizeof(f32));
    g->mass = aligned_alloc(32, need * sizeof(f32));
    g->pulls = malloc(need * sizeof(Vec3));
    g->groups = malloc(need * sizeof(u32));
    g->histogram = malloc(DIGITS * sizeof(u32));
    g->nodes = malloc(2 * (size_t)need * sizeof(GravityNode));
    for (u32 i = 0; i < 2; i++) {
        g->keys[i] = malloc(need * sizeof(u64));
        g->order[i] = malloc(need * sizeof(u32));
    }
    if (g->x == NULL || g->y == NULL || g->z == NULL || g->mass == NULL || g->pulls == NULL ||
        g->groups == NULL || g->histogram == NULL || g->nodes == NULL || g->keys[0] == NULL ||
        g->keys[1] == NULL || g->order[0] == NULL || g->order[1] == NULL) {
        gravity_finish(g);
        return false;
    }
    g->capacity = need;
    g->node_capacity = 2 * need;
    return true;
}

/* ---- order along a Morton curve ---- */

static u64 spread_bits(u64 v)
{
    v = (v | v << 32) & 0x001F00000000FFFFull;
    v = (v | v << 16) & 0x001F0000FF0000FFull;
    v = (v | v << 8) & 0x100F00F00F00F00Full;
    v = (v | v << 4) & 0x10C30C30C30C30C3ull;
    return (v | v << 2) & 0x1249249249249249ull;
}

static u64 axis_code(f32 at, f32 low, f32 scale)
{
    f32 code = (at - low) * scale;
    return code < 65535.0f ? (u64)(code > 0.0f ? code : 0.0f) : 65535;
}

static void sort_keys(Gravity *g)
{
    for (u32 pass = 0; pass < PASSES; pass++) {
        u32 shift = pass * DIGIT_BITS, from = pass % 2, sum = 0;
        memset(g->histogram, 0, DIGITS * sizeof(u32));
        for (u32 i = 0; i < g->count; i++) {
            g->histogram[g->keys[from][i] >> shift & (DIGITS - 1)]++;
        }
        for (u32 d = 0; d < DIGITS; d++) {
            u32 count = g->histogram[d];
            g->histogram[d] = sum;
            sum += count;
        }
        for (u32 i = 0; i < g->count; i++) {
            u32 to = g->histogram[g->keys[from][i] >> shift & (DIGITS - 1)]++;
            g->keys[1 - from][to] = g->keys[from][i];
            g->order[1 - from][to] = g->order[from][i];
        }
    }
}

PL_STATIC_ASSERT(PASSES % 2 == 0, "sorted keys end where they began");

/* Positions sorted (or as given), padded to whole vectors with massless particles. */
static void take_particles(Gravity *g, const Vec3 *positions, const f32 *masses, bool sorted)
{
    for (u32 i = 0; i < g->count; i++) {
        u32 from = sorted ? g->order[0][i] : i;
        g->x[i] = positions[from].x;
        g->y[i] = positions[from].y;
        g->z[i] = positions[from].z;
        g->mass[i] = masses[from];
    }
    for (u32 i = g->count; i < g->count + SIMD_LANES; i++) {
        g->x[i] = g->y[i] = g->z[i] = g->mass[i] = 0.0f;
    }
}

static void sort_particles(Gravity *g, const Vec3 *positions, const f32 *masses)
{
    Vec3 low = positions[0], high = positions[0];
    for (u32 i = 1; i < g->count; i++) {
        low = vec3_min(low, positions[i]);
        high = vec3_max(high, positions[i]);
    }
    Vec3 size = vec3_sub(high, low);
    f32 scale = 65535.0f / f32_max(f32_max(size.x, size.y), f32_max(size.z, 1e-20f));
    for (u32 i = 0; i < g->count; i++) {
        g->keys[0][i] = spread_bits(axis_code(positions[i].x, low.x, scale)) |
                        spread_bits(axis_code(positions[i].y, low.y, scale)) << 1 |
                        spread_bits(axis_code(positions[i].z, low.z, scale)) << 2;
        g->order[0][i] = i;
    }
    sort_keys(g);
    take_particles(g, positions, masses, true);
}

/* ---- tree ---- */

static void measure_node(const Gravity *g, GravityNode *node)
{
    f64 sum[3] = {0}, mass = 0.0;
    u32 end = node->first + node->count;
    for (u32 i = node->first; i < end; i++) {
        f64 m = (f64)g->mass[i];
        mass += m;
        sum[0] += m * (f64)g->x[i];
        sum[1] += m * (f64)g->y[i];
        sum[2] += m * (f64)g->z[i];
    }
    node->mass = (f32)mass;
    node->centre = mass > 0.0
                       ? vec3((f32)(sum[0] / mass), (f32)(sum[1] / mass), (f32)(sum[2] / mass))
                       : vec3(g->x[node->first], g->y[node->first], g->z[node->first]);
    f32 reach2 = 0.0f, q[6] = {0};
    for (u32 i = node->first; i < end; i++) {
        Vec3 d = vec3_sub(vec3(g->x[i], g->y[i], g->z[i]), node->centre);
        f32 r2 = vec3_length_squared(d), m = g->mass[i];
        reach2 = f32_max(reach2, r2);
        q[0] += m * (3.0f * d.x * d.x - r2);
        q[1] += m * (3.0f * d.y * d.y - r2);
        q[2] += m * (3.0f * d.z * d.z - r2);
        q[3] += m * 3.0f * d.x * d.y;
        q[4] += m * 3.0f * d.x * d.z;
        q[5] += m * 3.0f * d.y * d.z;
    }
    node->reach = sqrtf(reach2);
    memcpy(node->quadrupole, q, sizeof q);
}

/* First of [first, end) whose three bits at `shift` are `octant` or more. */
static u32 octant_begin(const Gravity *g, u32 first, u32 end, u32 shift, u64 octant)
{
    while (first < end) {
        u32 middle = first + (end - first) / 2;
        if ((g->keys[0][middle] >> shift & 7) < octant) {
            first = middle + 1;
        } else {
            end = middle;
        }
    }
    return first;
}

static void build_node(Gravity *g, u32 first, u32 count, u32 level, bool grouped);

static void build_children(Gravity *g, u32 first, u32 count, u32 level, bool grouped)
{
    u32 end = first + count;
    if (level == AXIS_BITS) { /* all at one place: split in halves, so that no leaf is large */
        build_node(g, first, count / 2, level, grouped);
        build_node(g, first + count / 2, count - count / 2, level, grouped);
        return;
    }
    u32 shift = 3 * (AXIS_BITS - 1 - level), from = first;
    for (u64 octant = 0; octant < 8; octant++) {
        u32 to = octant_begin(g, from, end, shift, octant + 1);
        if (to > from) {
            build_node(g, from, to - from, level + 1, grouped);
        }
        from = to;
    }
}

/* Depth first. `level` bits of each axis are common to its particles; at most AXIS_BITS calls deep,
 * and a few more where many share a place. */
static void build_node(Gravity *g, u32 first, u32 count, u32 level, bool grouped)
{
    while (count > LEAF && level < AXIS_BITS) { /* skips levels with one child */
        u32 shift = 3 * (AXIS_BITS - 1 - level);
        if ((g->keys[0][first] >> shift) != (g->keys[0][first + count - 1] >> shift)) {
            break;
        }
        level++;
    }
    u32 index = g->node_count++;
    GravityNode *node = &g->nodes[index];
    *node = (GravityNode){.first = first, .count = count, .leaf = count <= LEAF};
    measure_node(g, node);
    if (!grouped && count <= GROUP) {
        g->groups[g->group_count++] = index;
        grouped = true;
    }
    if (!node->leaf) {
        build_children(g, first, count, level, grouped);
    }
    g->nodes[index].skip = g->node_count;
}

/* ---- forces ---- */

typedef struct Targets {
    Vec3x8 at[GROUP_WIDE], pull[GROUP_WIDE];
    u32 wide;
} Targets;

/* Of one mass on all targets. */
SIMD_INLINE void pull_mass(Targets *t, f32 x, f32 y, f32 z, f32 mass, f32 softening2)
{
    f32x8 px = f32x8_set(x), py = f32x8_set(y), pz = f32x8_set(z), m = f32x8_set(mass);
    f32x8 soft = f32x8_set(softening2), one = f32x8_set(1.0f), tiny = f32x8_set(1e-24f);
    for (u32 k = 0; k < t->wide; k++) {
        f32x8 dx = px - t->at[k].x, dy = py - t->at[k].y, dz = pz - t->at[k].z;
        f32x8 r2 = dx * dx + dy * dy + dz * dz + soft;
        f32x8 inverse = one / f32x8_sqrt(f32x8_max(r2, tiny));
        f32x8 scale = f32x8_and(r2 > tiny, m * inverse * inverse * inverse);
        t->pull[k].x += scale * dx;
        t->pull[k].y += scale * dy;
        t->pull[k].z += scale * dz;
    }
}

/* Of a cell with its quadrupole: a = −M r/r³ + Q r/r⁵ − 5/2 (r·Q r) r/r⁷, r from its centre. */
SIMD_INLINE void pull_cell(Targets *t, const GravityNode *node, f32 softening2)
{
    f32x8 m = f32x8_set(node->mass), one = f32x8_set(1.0f), half5 = f32x8_set(2.5f);
    f32x8 cx = f32x8_set(node->centre.x), cy = f32x8_set(node->centre.y);
    f32x8 cz = f32x8_set(node->centre.z), tiny = f32x8_set(1e-24f);
    f32x8 q[6];
    for (u32 i = 0; i < 6; i++) {
        q[i] = f32x8_set(node->quadrupole[i]);
    }
    for (u32 k = 0; k < t->wide; k++) {
        f32x8 rx = t->at[k].x - cx, ry = t->at[k].y - cy, rz = t->at[k].z - cz;
        f32x8 r2 = f32x8_max(rx * rx + ry * ry + rz * rz + f32x8_set(softening2), tiny);
        f32x8 inverse = one / f32x8_sqrt(r2), inverse2 = inverse * inverse;
        f32x8 inverse3 = inverse * inverse2, inverse5 = inverse3 * inverse2;
        f32x8 qx = q[0] * rx + q[3] * ry + q[4] * rz;
        f32x8 qy = q[3] * rx + q[1] * ry + q[5] * rz;
        f32x8 qz = q[4] * rx + q[5] * ry + q[2] * rz;
        f32x8 along = (half5 * (rx * qx + ry * qy + rz * qz) * inverse2) * inverse5 + m * inverse3;
        i32x8 apart = r2 > tiny;
        t->pull[k].x += f32x8_and(apart, inverse5 * qx - along * rx);
        t->pull[k].y += f32x8_and(apart, inverse5 * qy - along * ry);
        t->pull[k].z += f32x8_and(apart, inverse5 * qz - along * rz);
    }
}

static void load_targets(const Gravity *g, Targets *t, u32 first, u32 count)
{
    t->wide = (count + SIMD_LANES - 1) / SIMD_LANES;
    for (u32 k = 0; k < t->wide; k++) {
        for (u32 lane = 0; lane < SIMD_LANES; lane++) {
            u32 i = first + u32_min(k * SIMD_LANES + lane, count - 1);
            t->at[k].x[lane] = g->x[i];
            t->at[k].y[lane] = g->y[i];
            t->at[k].z[lane] = g->z[i];
        }
        t->pull[k] = vec3x8_set(vec3_zero());
    }
}

static void store_targets(Gravity *g, const Targets *t, u32 first, u32 count, f32 constant)
{
    for (u32 i = 0; i < count; i++) {
        const Vec3x8 *pull = &t->pull[i / SIMD_LANES];
        u32 lane = i % SIMD_LANES;
        g->pulls[first + i] =
            vec3_scale(vec3(pull->x[lane], pull->y[lane], pull->z[lane]), constant);
    }
}

/* Half extents of a group about its middle. */
static f32 apart_from(Vec3 middle, Vec3 half, Vec3 point)
{
    Vec3 away = vec3_sub(vec3_abs(vec3_sub(point, middle)), half);
    return vec3_length(vec3_max(away, vec3_zero()));
}

static void walk_group(Gravity *g, const GravityNode *group, const GravityOptions *options)
{
    Targets targets;
    load_targets(g, &targets, group->first, group->count);
    Vec3 low = vec3(g->x[group->first], g->y[group->first], g->z[group->first]), high = low;
    for (u32 i = group->first + 1; i < group->first + group->count; i++) {
        low = vec3_min(low, vec3(g->x[i], g->y[i], g->z[i]));
        high = vec3_max(high, vec3(g->x[i], g->y[i], g->z[i]));
    }
    Vec3 middle = vec3_scale(vec3_add(low, high), 0.5f);
    Vec3 half = vec3_scale(vec3_sub(high, low), 0.5f);
    f32 soft2 = options->softening * options->softening;
    for (u32 n = 0; n < g->node_count;) {
        const GravityNode *node = &g->nodes[n];
        f32 apart = apart_from(middle, half, node->centre);
        if (node->reach < options->opening * apart || node->reach == 0.0f) {
            pull_cell(&targets, node, soft2);
            n = node->skip;
        } else if (node->leaf) {
            for (u32 i = node->first; i < node->first + node->count; i++) {
                pull_mass(&targets, g->x[i], g->y[i], g->z[i], g->mass[i], soft2);
            }
            n = node->skip;
        } else {
            n++;
        }
    }
    store_targets(g, &targets, group->first, group->count, options->constant);
}

static void walk_groups(void *context, u32 first, u32 end, u32 worker)
{
    const GravityPass *pass = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        Gravity *g = pass->gravity;
        walk_group(g, &g->nodes[g->groups[i]], pass->options);
    }
}

static void sum_directly(void *context, u32 first, u32 end, u32 worker)
{
    const GravityPass *pass = context;
    Gravity *g = pass->gravity;
    f32 soft2 = pass->options->softening * pass->options->softening;
    PL_UNUSED(worker);
    for (u32 block = first; block < end; block++) {
        u32 begin = block * GROUP, count = u32_min(GROUP, g->count - begin);
        Targets targets;
        load_targets(g, &targets, begin, count);
        for (u32 i = 0; i < g->count; i++) {
            pull_mass(&targets, g->x[i], g->y[i], g->z[i], g->mass[i], soft2);
        }
        store_targets(g, &targets, begin, count, pass->options->constant);
    }
}

/* Σ m a = 0: the remainder from rounding and cells is distributed over all. */
static Vec3 mean_pull(const Gravity *g)
{
    f64 sum[3] = {0}, mass = 0.0;
    for (u32 i = 0; i < g->count; i++) {
        f64 m = (f64)g->mass[i];
        mass += m;
        sum[0] += m * (f64)g->pulls[i].x;
        sum[1] += m * (f64)g->pulls[i].y;
        sum[2] += m * (f64)g->pulls[i].z;
    }
    return mass > 0.0 ? vec3((f32)(sum[0] / mass), (f32)(sum[1] / mass), (f32)(sum[2] / mass))
                      : vec3_zero();
}

bool gravity_accelerate(Gravity *g, const Vec3 *positions, const f32 *masses, u32 count,
                        const GravityOptions *options, Vec3 *out, Jobs *jobs)
{
    if (count == 0) {
        return true;
    }
    if (!reserve(g, count)) {
        memset(out, 0, count * sizeof *out);
        return false;
    }
    g->count = count;
    GravityPass pass = {g, options};
    bool direct = count <= GRAVITY_DIRECT_MAX || options->opening <= 0.0f;
    if (direct) {
        take_particles(g, positions, masses, false);
        jobs_run(jobs, (count + GROUP - 1) / GROUP, DIRECT_GRAIN, sum_directly, &pass);
    } else {
        sort_particles(g, positions, masses);
        g->node_count = g->group_count = 0;
        build_node(g, 0, count, 0, false);
        CHECK(g->node_count > 0 && g->group_count > 0);
        jobs_run(jobs, g->group_count, GROUP_GRAIN, walk_groups, &pass);
    }
    Vec3 mean = mean_pull(g);
    for (u32 i = 0; i < count; i++) {
        out[direct ? i : g->order[0][i]] = vec3_sub(g->pulls[i], mean);
    }
    return true;
}
