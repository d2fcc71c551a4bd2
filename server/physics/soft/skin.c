/*
 * skin.c: closed surfaces of springs with a gas inside, for the solver of whole bodies (stiff.c).
 * One pass over the edges, even chain by chain, fails for a skin in which the gas moves a light
 * point by more than a cell in a step: each edge sees only its neighbours, and the stretch is
 * unbounded. An edge of length l and rest length r pulls by (l − r) / α; its stiffness is 1 / α
 * along it and that of its tension, (1 − r / l) / α, across. The gas pushes by p ∇V; its stiffness
 * is −dp/dV ∇V ∇Vᵀ − p ∇²V, whose blocks are those of the edges: with c and d the third points of
 * the triangles at an edge from a to b, ∇V at a changes by δb × (c − d) / 6 and at b by δa × (d −
 * c) / 6.
 */
#include "server/physics/soft/stiff.h"

#include "shared/math/symmetric.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLORS = 64
};

/* Shorter edges have no direction. */
static const f32 length_min = 1e-9f; /* m */
/* Of the rest volume: stiffness does not increase below this volume. */
static const f64 volume_least = 1e-2;
/* Pa, of the air outside. */
static const f64 air_pressure = 101325.0;

/* Eight edges without a common point; unused lanes repeat the first, so both store the same. */
typedef struct SkinEdges {
    u32 point[2][SIMD_LANES]; /* of the body */
    u32 wing[2][SIMD_LANES];  /* third points of its triangles; its first point if it has not two */
    f32 rest[SIMD_LANES];     /* m */
    f32 stiff[SIMD_LANES];    /* N/m, 1 / α */
    f32 along[3][SIMD_LANES]; /* in this step: direction × √(stiffness along − across) */
    f32 across[SIMD_LANES];   /* N/m */
    f32 bulge[3][SIMD_LANES]; /* N/m, −p / 6 from the second wing to the first */
} __attribute__((aligned(32))) SkinEdges;

/* Eight triangles without a common point, padded like edges. */
typedef struct SkinFaces {
    u32 point[3][SIMD_LANES];
    f32 counts[SIMD_LANES];     /* 1; 0: unused lane */
    f32 side[2][3][SIMD_LANES]; /* in this step: m, from the first point to the others */
} __attribute__((aligned(32))) SkinFaces;

struct Skin {
    SkinEdges *edges; /* [edge_count] */
    SkinFaces *faces; /* [face_count] */
    u32 edge_count, face_count;
    Symmetric3 *inverse; /* [body->count] 1/kg, of the diagonal blocks of M + h² K in this step */
    f64 rest_volume;     /* m³ */
};

/* ---- at the start ---- */

bool skin_has(const SoftConstraint *c)
{
    return c->kind == CONSTRAINT_DISTANCE && c->role == ROLE_STRETCH && c->low == c->high;
}

bool skin_is(const Soft *soft, const SoftBody *body)
{
    const SoftDef *def = &body->def;
    u32 edges = 0;
    if (def->method != SOFT_XPBD || !(def->pressure > 0.0f) || def->volume != SOFT_VOLUME_GAUSS ||
        !body->closed) {
        return false;
    }
    for (u32 i = 0; i < body->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[body->first_constraint + i];
        if (skin_has(c) && !(c->compliance > 0.0f)) {
            return false;
        }
        edges += skin_has(c);
    }
    return edges > 0;
}

void skin_destroy(Skin *skin)
{
    if (skin != NULL) {
        free(skin->edges);
        free(skin->faces);
        free(skin->inverse);
        free(skin);
    }
}

u64 skin_memory(const Skin *skin)
{
    return skin == NULL ? 0
                        : sizeof *skin + skin->edge_count * sizeof *skin->edges +
                              (u64)skin->face_count * sizeof *skin->faces;
}

/* Assigns a position to each item: 8 × batch + lane, so that those of a batch share no point of the
 * body; returns the number of batches. */
static u32 place_items(const u32 *points, u32 each, u32 count, u64 *taken, u32 point_count,
                       u32 *places)
{
    u32 fill[COLORS] = {0}, open[COLORS] = {0}, batches = 0;
    memset(taken, 0, point_count * sizeof *taken);
    for (u32 i = 0; i < count; i++) {
        u64 no = 0;
        for (u32 k = 0; k < each; k++) {
            no |= taken[points[each * i + k]];
        }
        if (~no == 0) { /* its own batch */
            places[i] = SIMD_LANES * batches++;
            continue;
        }
        u32 color = (u32)__builtin_ctzll(~no);
        if (fill[color] == 0) {
            open[color] = batches++;
        }
        for (u32 k = 0; k < each; k++) {
            taken[points[each * i + k]] |= 1ull << color;
        }
        places[i] = SIMD_LANES * open[color] + fill[color];
        fill[color] = (fill[color] + 1) % SIMD_LANES;
    }
    return batches;
}

static void *batches_of(u32 count, size_t size)
{
    size_t bytes = ((size_t)u32_max(count, 1) * size + 63) / 64 * 64;
    void *batches = aligned_alloc(64, bytes);
    if (batches != NULL) {
        memset(batches, 0, bytes);
    }
    return batches;
}

/* Copies the points of the first lane to all. */
static void repeat_points(u32 *point, u32 each, u32 lane)
{
    for (u32 k = 0; k < each; k++) {
        for (u32 l = lane == 0 ? 1 : SIMD_LANES; l < SIMD_LANES; l++) {
            point[k * SIMD_LANES + l] = point[k * SIMD_LANES];
        }
    }
}

static int wing_order(const void *left, const void *right)
{
    const u32 *a = left, *b = right;
    if (a[0] != b[0]) {
        return a[0] < b[0] ? -1 : 1;
    }
    return a[1] < b[1] ? -1 : a[1] > b[1];
}

/* Third point of the triangle with the edge from a to b, or SOFT_NONE. wings: [count][3], sorted.
 */
static u32 find_wing(const u32 *wings, u32 count, u32 a, u32 b)
{
    const u32 key[3] = {a, b, 0};
    const u32 *found = bsearch(key, wings, count, 3 * sizeof *wings, wing_order);
    return found != NULL ? found[2] : SOFT_NONE;
}

/* Needs the edges of the batches. */
static bool fill_wings(const Soft *soft, const SoftBody *body, Skin *skin)
{
    const SoftTriangle *triangles = soft->triangles + body->first_triangle;
    u32 count = 3 * body->triangle_count;
    u32 *wings = malloc(3 * (size_t)count * sizeof *wings);
    for (u32 i = 0; wings != NULL && i < count; i++) {
        for (u32 k = 0; k < 3; k++) {
            wings[3 * i + k] = triangles[i / 3].point[(i + k) % 3] - body->first;
        }
    }
    if (wings == NULL) {
        return false;
    }
    qsort(wings, count, 3 * sizeof *wings, wing_order);
    for (u32 i = 0; i < skin->edge_count * SIMD_LANES; i++) {
        SkinEdges *batch = &skin->edges[i / SIMD_LANES];
        u32 lane = i % SIMD_LANES, a = batch->point[0][lane], b = batch->point[1][lane];
        u32 c = find_wing(wings, count, a, b), d = find_wing(wings, count, b, a);
        bool two = c != SOFT_NONE && d != SOFT_NONE;
        batch->wing[0][lane] = two ? c : a;
        batch->wing[1][lane] = two ? d : a;
    }
    free(wings);
    return true;
}

/* Temporary memory of skin_create. */
typedef struct SkinLists {
    u32 *list, *places;
    u64 *taken;
} SkinLists;

static bool fill_edges(const Soft *soft, const SoftBody *body, Skin *skin, StiffPoint *points,
                       SkinLists lists, f32 *limit)
{
    u32 *list = lists.list, *places = lists.places;
    u32 count = 0;
    for (u32 i = 0; i < body->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[body->first_constraint + i];
        for (u32 k = 0; skin_has(c) && k < 2; k++) {
            list[count++] = c->point[k] - body->first;
        }
    }
    count /= 2;
    skin->edge_count = place_items(list, 2, count, lists.taken, body->count, places);
    skin->edges = batches_of(skin->edge_count, sizeof *skin->edges);
    for (u32 i = 0, n = 0; skin->edges != NULL && i < body->constraint_count; i++) {
        const SoftConstraint *c = &soft->constraints[body->first_constraint + i];
        if (!skin_has(c)) {
            continue;
        }
        u32 lane = places[n] % SIMD_LANES;
        SkinEdges *batch = &skin->edges[places[n] / SIMD_LANES];
        f32 stiff = 1.0f / c->compliance, weight = 0.0f;
        for (u32 k = 0; k < 2; k++) {
            batch->point[k][lane] = list[2 * n + k];
            points[list[2 * n + k]].own += stiff / 3.0f;
            weight += soft_inverse_mass(soft, c->point[k]);
        }
        repeat_points(batch->point[0], 2, lane);
        for (u32 l = lane; l < (lane == 0 ? SIMD_LANES : lane + 1); l++) {
            batch->rest[l] = c->low;
            batch->stiff[l] = stiff;
        }
        *limit = f32_max(*limit, weight * stiff);
        n++;
    }
    return skin->edges != NULL;
}

static bool fill_faces(const Soft *soft, const SoftBody *body, Skin *skin, SkinLists lists)
{
    u32 *list = lists.list;
    const u32 *places = lists.places;
    const SoftTriangle *triangles = soft->triangles + body->first_triangle;
    for (u32 i = 0; i < 3 * body->triangle_count; i++) {
        list[i] = triangles[i / 3].point[i % 3] - body->first;
    }
    skin->face_count =
        place_items(list, 3, body->triangle_count, lists.taken, body->count, lists.places);
    skin->faces = batches_of(skin->face_count, sizeof *skin->faces);
    for (u32 i = 0; skin->faces != NULL && i < body->triangle_count; i++) {
        u32 lane = places[i] % SIMD_LANES;
        SkinFaces *batch = &skin->faces[places[i] / SIMD_LANES];
        for (u32 k = 0; k < 3; k++) {
            batch->point[k][lane] = list[3 * i + k];
        }
        repeat_points(batch->point[0], 3, lane);
        batch->counts[lane] = 1.0f;
    }
    return skin->faces != NULL;
}

Skin *skin_create(const Soft *soft, const SoftBody *body, StiffPoint *points, f32 *limit)
{
    Skin *skin = calloc(1, sizeof *skin);
    u32 most = u32_max(body->constraint_count, body->triangle_count);
    SkinLists lists = {malloc(3 * (size_t)most * sizeof *lists.list),
                       malloc(most * sizeof *lists.places),
                       malloc(body->count * sizeof *lists.taken)};
    if (skin != NULL) {
        skin->inverse = calloc(body->count, sizeof *skin->inverse);
    }
    bool made = skin != NULL && skin->inverse != NULL && lists.list != NULL &&
                lists.places != NULL && lists.taken != NULL &&
                fill_edges(soft, body, skin, points, lists, limit) &&
                fill_wings(soft, body, skin) && fill_faces(soft, body, skin, lists);
    free(lists.list);
    free(lists.places);
    free(lists.taken);
    if (!made) {
        skin_destroy(skin);
        return NULL;
    }
    skin->rest_volume = (f64)body->rest_volume;
    return skin;
}

/* ---- in a step ---- */

static void edge_forces(Skin *skin, StiffPoint *points, f32 h, f32 stiffer, f32 pressure)
{
    const f32x8 one = f32x8_set(1.0f), zero = f32x8_set(0.0f);
    for (u32 i = 0; i < skin->edge_count; i++) {
        SkinEdges *batch = &skin->edges[i];
        Vec3x8 d = vec3x8_sub(stiff_gather(&points->direction, batch->point[1]),
                              stiff_gather(&points->direction, batch->point[0]));
        f32x8 length = f32x8_sqrt(vec3x8_dot(d, d)), rest = f32x8_load(batch->rest);
        f32x8 stiff = f32x8_load(batch->stiff) * stiffer;
        f32x8 per = f32x8_and((i32x8)(length > length_min), one / length);
        f32x8 across = stiff * f32x8_max(one - rest * per, zero);
        f32x8 root = per * f32x8_sqrt(stiff - across);
        f32x8_store(batch->along[0], d.x * root);
        f32x8_store(batch->along[1], d.y * root);
        f32x8_store(batch->along[2], d.z * root);
        f32x8_store(batch->across, across);
        Vec3x8 wings = vec3x8_sub(stiff_gather(&points->direction, batch->wing[0]),
                                  stiff_gather(&points->direction, batch->wing[1]));
        f32x8_store(batch->bulge[0], wings.x * (-pressure / 6.0f));
        f32x8_store(batch->bulge[1], wings.y * (-pressure / 6.0f));
        f32x8_store(batch->bulge[2], wings.z * (-pressure / 6.0f));
        Vec3x8 pull = vec3x8_scale(d, h * stiff * (length - rest) * per);
        stiff_scatter(&points->residual, batch->point[0], pull);
        stiff_scatter(&points->residual, batch->point[1], (Vec3x8){-pull.x, -pull.y, -pull.z});
        Vec3x8 n = vec3x8_scale(d, root);
        Vec3x8 diagonal = {n.x * n.x + across, n.y * n.y + across, n.z * n.z + across};
        Vec3x8 off = {n.x * n.y, n.x * n.z, n.y * n.z};
        for (u32 k = 0; k < 2; k++) {
            stiff_scatter(&points->image, batch->point[k], diagonal);
            stiff_scatter(&points->change, batch->point[k], off);
        }
    }
}

static void clear(StiffPoint *points, u32 count)
{
    for (u32 i = 0; i < count; i++) {
        points[i].image = points[i].change = (StiffVector){{0.0f, 0.0f, 0.0f, 0.0f}};
    }
}

/* Inverts the blocks of K, stored in `image` and `change`. */
static void invert_blocks(Skin *skin, StiffPoint *points, u32 count, f32 h)
{
    for (u32 i = 0; i < count; i++) {
        const f32 *d = points[i].image.at, *o = points[i].change.at;
        f32 m = points[i].mass, hh = h * h;
        Symmetric3 block = {m + hh * d[0], m + hh * d[1], m + hh * d[2],
                            hh * o[0],     hh * o[1],     hh * o[2]};
        skin->inverse[i] = m > 0.0f ? symmetric_inverse(&block) : (Symmetric3){0};
    }
    clear(points, count);
}

/* Six times the volume; computes the sides of the triangles. */
static f64 face_volume(Skin *skin, const StiffPoint *points)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < skin->face_count; i++) {
        SkinFaces *batch = &skin->faces[i];
        Vec3x8 a = stiff_gather(&points->direction, batch->point[0]);
        for (u32 k = 0; k < 2; k++) {
            Vec3x8 d = vec3x8_sub(stiff_gather(&points->direction, batch->point[k + 1]), a);
            f32x8_store(batch->side[k][0], d.x);
            f32x8_store(batch->side[k][1], d.y);
            f32x8_store(batch->side[k][2], d.z);
        }
        Vec3x8 b = {f32x8_load(batch->side[0][0]), f32x8_load(batch->side[0][1]),
                    f32x8_load(batch->side[0][2])};
        Vec3x8 c = {f32x8_load(batch->side[1][0]), f32x8_load(batch->side[1][1]),
                    f32x8_load(batch->side[1][2])};
        f32x8 part = vec3x8_dot(a, vec3x8_cross(b, c)) * f32x8_load(batch->counts);
        sum += ((f64)(part[0] + part[4]) + (f64)(part[1] + part[5])) +
               ((f64)(part[2] + part[6]) + (f64)(part[3] + part[7]));
    }
    return sum;
}

SIMD_INLINE Vec3x8 side_of(const SkinFaces *batch, u32 k)
{
    return (Vec3x8){f32x8_load(batch->side[k][0]), f32x8_load(batch->side[k][1]),
                    f32x8_load(batch->side[k][2])};
}

/* ∇V: a third of the area of its triangles; stored in `image` temporarily. */
static void find_gradient(const Skin *skin, StiffPoint *points, u32 count, Vec3 *gradient)
{
    for (u32 i = 0; i < skin->face_count; i++) {
        const SkinFaces *batch = &skin->faces[i];
        Vec3x8 n = vec3x8_cross(side_of(batch, 0), side_of(batch, 1));
        n = vec3x8_scale(n, f32x8_set(1.0f / 6.0f));
        for (u32 k = 0; k < 3; k++) {
            stiff_scatter(&points->image, batch->point[k], n);
        }
    }
    for (u32 i = 0; i < count; i++) {
        gradient[i] = vec3(points[i].image.at[0], points[i].image.at[1], points[i].image.at[2]);
    }
}

static f64 held_volume(const Skin *skin, f64 volume)
{
    f64 least = volume_least * skin->rest_volume;
    return volume > least ? volume : least;
}

f64 skin_pressure(const Skin *skin, const SkinStep *step, f64 volume)
{
    return step->amount / held_volume(skin, volume) - air_pressure;
}

/* The gas at a volume, with the secant stiffness between there and where it would push the
 * points without edges: (p + air) (V + p give) = n R T. */
static SkinGas gas_at(const Skin *skin, const StiffPoint *points, u32 count, f64 volume,
                      const SkinStep *step, const Vec3 *gradient)
{
    f64 give = 0.0, held = held_volume(skin, volume);
    for (u32 i = 0; i < count; i++) {
        f32 m = points[i].mass;
        give += m > 0.0f ? (f64)(vec3_length_squared(gradient[i]) / m) : 0.0;
    }
    give *= (f64)step->h * (f64)step->h;
    f64 bare = volume - air_pressure * give;
    f64 root = sqrt(bare * bare + 4.0 * give * step->amount);
    f64 end = bare > 0.0 ? 0.5 * (bare + root) : 2.0 * give * step->amount / (root - bare);
    SkinGas gas = {.volume = volume, .pressure = skin_pressure(skin, step, volume)};
    gas.curve = step->amount / (held * held);
    if (fabs(end - volume) > 1e-6 * held) {
        gas.curve = step->amount * (1.0 / held - 1.0 / end) / (end - volume);
    }
    return gas;
}

SkinGas skin_forces(Skin *skin, StiffPoint *points, u32 count, const SkinStep *step, Vec3 *gradient)
{
    const f32 h = step->h;
    f64 volume = face_volume(skin, points) / 6.0 + step->taken;
    clear(points, count);
    find_gradient(skin, points, count, gradient);
    clear(points, count);
    SkinGas gas = gas_at(skin, points, count, volume, step, gradient);
    edge_forces(skin, points, h, step->stiffer, step->bulges ? (f32)gas.pressure : 0.0f);
    invert_blocks(skin, points, count, h);
    f32 push = h * (f32)gas.pressure;
    for (u32 i = 0; i < count; i++) {
        f32 *r = points[i].residual.at;
        r[0] += push * gradient[i].x;
        r[1] += push * gradient[i].y;
        r[2] += push * gradient[i].z;
    }
    return gas;
}

Vec3 skin_ease(const Skin *skin, u32 point, Vec3 residual)
{
    return symmetric_mul(&skin->inverse[point], residual);
}

void skin_image(const Skin *skin, StiffPoint *points, u32 count, const SkinGas *gas, f32 h,
                const Vec3 *gradient)
{
    const f32x8 hh = f32x8_set(h * h);
    for (u32 i = 0; i < skin->edge_count; i++) {
        const SkinEdges *batch = &skin->edges[i];
        Vec3x8 a = stiff_gather(&points->direction, batch->point[0]);
        Vec3x8 b = stiff_gather(&points->direction, batch->point[1]), d = vec3x8_sub(b, a);
        Vec3x8 n = {f32x8_load(batch->along[0]), f32x8_load(batch->along[1]),
                    f32x8_load(batch->along[2])};
        Vec3x8 bulge = {f32x8_load(batch->bulge[0]), f32x8_load(batch->bulge[1]),
                        f32x8_load(batch->bulge[2])};
        Vec3x8 pull = vec3x8_scale(d, f32x8_load(batch->across));
        pull = vec3x8_add_scaled(pull, vec3x8_dot(n, d), n);
        Vec3x8 at_a = vec3x8_sub(vec3x8_cross(b, bulge), pull);
        Vec3x8 at_b = vec3x8_sub(pull, vec3x8_cross(a, bulge));
        stiff_scatter(&points->image, batch->point[0], vec3x8_scale(at_a, hh));
        stiff_scatter(&points->image, batch->point[1], vec3x8_scale(at_b, hh));
    }
    f64 rate = 0.0;
    for (u32 i = 0; i < count; i++) {
        const f32 *d = points[i].direction.at;
        rate += (f64)(gradient[i].x * d[0] + gradient[i].y * d[1] + gradient[i].z * d[2]);
    }
    f32 push = (f32)((f64)(h * h) * gas->curve * rate);
    for (u32 i = 0; i < count; i++) {
        f32 *a = points[i].image.at;
        a[0] += push * gradient[i].x;
        a[1] += push * gradient[i].y;
        a[2] += push * gradient[i].z;
    }
}
