/*
 * soft_form.c: normals are area-weighted sums over triangles; tubes are rings around a Catmull-Rom
 * curve with a parallel-transported frame (Bishop 1975), capped by half spheres.
 */
#include "client/view/soft_form.h"

#include "client/view/soft_crease.h"

#include "protocol/field/entity.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDES = 10, /* of a tube; a ring has one vertex more, at the pattern's seam */
    RING = SIDES + 1,
    CAP_RINGS = 2, /* of a half sphere, in addition to its pole and the tube's end */
    PARTS_MAX = 5,
    NO_POINT = 0xFFFFFFFF
};

/* cos and sin of the side's angle; the last repeats the first. */
static const f32 sides[RING][2] = {{1.0f, 0.0f},
                                   {0.809017f, 0.587785f},
                                   {0.309017f, 0.951057f},
                                   {-0.309017f, 0.951057f},
                                   {-0.809017f, 0.587785f},
                                   {-1.0f, 0.0f},
                                   {-0.809017f, -0.587785f},
                                   {-0.309017f, -0.951057f},
                                   {0.309017f, -0.951057f},
                                   {0.809017f, -0.587785f},
                                   {1.0f, 0.0f}};
/* sin and cos of 30 and 60 degrees: offset and width of the rings of a half sphere. */
static const f32 cap[CAP_RINGS][2] = {{0.5f, 0.866025f}, {0.866025f, 0.5f}};

static u32 chain_samples(const SoftChain *chain)
{
    return (chain->count - 1) * chain->parts + 1;
}

static u32 chain_rings(const SoftChain *chain)
{
    return chain_samples(chain) + 2 * CAP_RINGS;
}

static u32 chain_vertices(const SoftChain *chain)
{
    return chain_rings(chain) * RING + 2;
}

static u32 chain_indices(const SoftChain *chain)
{
    return (chain_rings(chain) - 1) * SIDES * 6 + 2 * SIDES * 3;
}

/* ---- data common to all frames ---- */

/* Diagonals alternate, so that folds have no preferred direction. */
static bool grid_triangles(SoftForm *form)
{
    u32 columns = form->grid[0], rows = form->grid[1];
    form->triangle_count = 2 * (columns - 1) * (rows - 1);
    form->own_triangles = malloc((size_t)3 * form->triangle_count * sizeof *form->own_triangles);
    if (form->own_triangles == NULL) {
        return false;
    }
    u32 *out = form->own_triangles;
    for (u32 j = 0; j + 1 < rows; j++) {
        for (u32 i = 0; i + 1 < columns; i++) {
            u32 a = j * columns + i, b = a + 1, c = a + columns, d = c + 1;
            u32 even[6] = {a, b, d, a, d, c}, odd[6] = {a, b, c, b, d, c};
            memcpy(out, (i + j) % 2 ? odd : even, sizeof even);
            out += 6;
        }
    }
    form->triangles = form->own_triangles;
    return true;
}

/* Number of sticks at each point, and the sticks themselves at points with two. */
typedef struct TubeJoint {
    u32 degree;
    u32 stick[2];
} TubeJoint;

static u32 other_end(const SoftStick *stick, u32 point)
{
    return stick->a == point ? stick->b : stick->a;
}

/* A tube continues through a point with exactly two sticks, if both are visible. */
static bool continues(const SoftMesh *mesh, const TubeJoint *joint)
{
    return joint->degree == 2 && soft_stick_is_seen(&mesh->sticks[joint->stick[0]]) &&
           soft_stick_is_seen(&mesh->sticks[joint->stick[1]]);
}

static u32 tube_parts(const SoftForm *form, f32 stick_m)
{
    f32 parts = ceilf(0.5f * stick_m / f32_max(form->radius, 1e-3f));
    return parts < 1.0f ? 1 : parts > PARTS_MAX ? PARTS_MAX : (u32)parts;
}

static void add_chain(SoftForm *form, const TubeJoint *joints, bool *used, u32 from, u32 stick)
{
    const SoftMesh *mesh = form->mesh;
    const SoftChain *last = form->chain_count > 0 ? &form->chains[form->chain_count - 1] : NULL;
    SoftChain *chain = &form->chains[form->chain_count];
    chain->first = last != NULL ? last->first + last->count : 0;
    chain->count = 0;
    f32 length = 0.0f;
    u32 at = from, *out = form->chain_points + chain->first;
    out[chain->count++] = at;
    while (stick != NO_POINT && !used[stick]) {
        used[stick] = true;
        length += mesh->sticks[stick].high;
        at = other_end(&mesh->sticks[stick], at);
        out[chain->count++] = at;
        const TubeJoint *joint = &joints[at];
        stick = !continues(mesh, joint)    ? NO_POINT
                : joint->stick[0] == stick ? joint->stick[1]
                                           : joint->stick[0];
    }
    chain->parts = chain->count > 2 ? tube_parts(form, length / (f32)(chain->count - 1)) : 1;
    form->chain_count++;
}

/* First from all ends and branches, then the remaining rings. */
static void find_chains(SoftForm *form, const TubeJoint *joints, bool *used)
{
    const SoftMesh *mesh = form->mesh;
    for (u32 pass = 0; pass < 2; pass++) {
        for (u32 i = 0; i < mesh->stick_count; i++) {
            const SoftStick *stick = &mesh->sticks[i];
            if (used[i] || !soft_stick_is_seen(stick)) {
                continue;
            }
            if (pass == 1 || !continues(mesh, &joints[stick->a])) {
                add_chain(form, joints, used, stick->a, i);
            } else if (!continues(mesh, &joints[stick->b])) {
                add_chain(form, joints, used, stick->b, i);
            }
        }
    }
}

static bool stick_chains(SoftForm *form)
{
    const SoftMesh *mesh = form->mesh;
    form->chains = calloc(mesh->stick_count, sizeof *form->chains);
    form->chain_points = malloc((size_t)2 * mesh->stick_count * sizeof *form->chain_points);
    TubeJoint *joints = calloc(mesh->point_count, sizeof *joints);
    bool *used = calloc(mesh->stick_count, sizeof *used);
    bool good = form->chains != NULL && form->chain_points != NULL && joints != NULL && used;
    for (u32 i = 0; good && i < mesh->stick_count; i++) {
        const u32 ends[2] = {mesh->sticks[i].a, mesh->sticks[i].b};
        for (u32 k = 0; k < 2; k++) {
            TubeJoint *joint = &joints[ends[k]];
            joint->stick[joint->degree < 2 ? joint->degree : 1] = i;
            joint->degree++;
        }
    }
    if (good) {
        find_chains(form, joints, used);
    }
    free(joints);
    free(used);
    return good;
}

/* All points in their order. */
static bool one_chain(SoftForm *form)
{
    form->chains = calloc(1, sizeof *form->chains);
    form->chain_points = malloc(form->point_count * sizeof *form->chain_points);
    if (form->chains == NULL || form->chain_points == NULL) {
        return false;
    }
    for (u32 i = 0; i < form->point_count; i++) {
        form->chain_points[i] = i;
    }
    form->chains[0] = (SoftChain){.first = 0, .count = form->point_count, .parts = 3};
    form->chain_count = 1;
    return true;
}

/* Closed bodies only: open ones are cloth, leaves, or thin branches. */
static bool find_creases(SoftForm *form)
{
    const SoftMesh *mesh = form->mesh;
    SoftCrease crease;
    Vec3 *rest = mesh->points, *skin = NULL;
    u32 count = mesh->skin_count > 0 ? mesh->skin_count : mesh->point_count;
    if (mesh->skin_count > 0) {
        rest = skin = malloc(count * sizeof *skin);
        if (skin == NULL) {
            return false;
        }
        soft_mesh_skin_points(mesh, mesh->points, skin);
    }
    bool good = soft_crease_find(&crease, rest, count, form->triangles, form->triangle_count);
    free(skin);
    if (crease.twin_count > 0) {
        form->own_triangles = crease.triangles;
        form->triangles = crease.triangles;
        form->twin_of = crease.twin_of;
        form->twin_count = crease.twin_count;
    }
    return good;
}

static bool form_parts(SoftForm *form, const Appearance *appearance)
{
    const SoftMesh *mesh = form->mesh;
    bool grid = form->grid[0] >= 2 && form->grid[1] >= 2 &&
                (u64)form->grid[0] * form->grid[1] == form->point_count;
    if (mesh == NULL) {
        return appearance->kind == APPEARANCE_ROPE ? form->point_count >= 2 && one_chain(form)
                                                   : grid && grid_triangles(form);
    }
    form->round = !grid;
    if (mesh->skin_count > 0) {
        form->triangles = mesh->skin_triangles;
        form->triangle_count = mesh->skin_triangle_count;
    } else if (grid) {
        if (!grid_triangles(form)) {
            return false;
        }
    } else {
        form->triangles = mesh->triangles;
        form->triangle_count = mesh->triangle_count;
    }
    if (mesh->closed && !grid && !find_creases(form)) {
        return false;
    }
    return mesh->stick_count == 0 || stick_chains(form);
}

bool soft_form_init(SoftForm *form, const SoftMesh *mesh, const Appearance *appearance,
                    u32 point_count)
{
    memset(form, 0, sizeof *form);
    form->mesh = mesh != NULL && mesh->point_count == point_count ? mesh : NULL;
    form->point_count = point_count;
    form->grid[0] = appearance->grid[0];
    form->grid[1] = appearance->grid[1];
    form->radius = f32_max(appearance->radius, 0.003f);
    u32 skin = form->mesh != NULL ? mesh->skin_count : 0;
    form->scratch = malloc(((size_t)point_count + skin + 1) * sizeof *form->scratch);
    if (form->scratch == NULL || !form_parts(form, appearance)) {
        soft_form_finish(form);
        return false;
    }
    if (form->triangle_count > 0) {
        form->surface_count = (skin > 0 ? skin : point_count) + form->twin_count;
    }
    form->vertex_count = form->surface_count;
    form->index_count = 3 * form->triangle_count;
    for (u32 i = 0; i < form->chain_count; i++) {
        form->chains[i].first_vertex = form->vertex_count;
        form->vertex_count += chain_vertices(&form->chains[i]);
        form->index_count += chain_indices(&form->chains[i]);
    }
    if (form->index_count == 0) {
        soft_form_finish(form);
        return false;
    }
    return true;
}

void soft_form_finish(SoftForm *form)
{
    free(form->own_triangles);
    free(form->twin_of);
    free(form->chains);
    free(form->chain_points);
    free(form->scratch);
    memset(form, 0, sizeof *form);
}

static u32 *put_triangle(u32 *out, u32 a, u32 b, u32 c)
{
    out[0] = a;
    out[1] = b;
    out[2] = c;
    return out + 3;
}

/* Vertices of a tube: the pole of its start, rings of RING, the pole of its end. */
static u32 *chain_write_indices(const SoftChain *chain, u32 first, u32 *out)
{
    u32 rings = chain_rings(chain), start = first, end = first + 1 + rings * RING;
    for (u32 k = 0; k < SIDES; k++) {
        out = put_triangle(out, start, first + 1 + k + 1, first + 1 + k);
    }
    for (u32 ring = 0; ring + 1 < rings; ring++) {
        for (u32 k = 0; k < SIDES; k++) {
            u32 a = first + 1 + ring * RING + k, b = a + 1, c = a + RING, d = c + 1;
            out = put_triangle(out, a, b, c);
            out = put_triangle(out, b, d, c);
        }
    }
    for (u32 k = 0; k < SIDES; k++) {
        out = put_triangle(out, end, end - RING + k, end - RING + k + 1);
    }
    return out;
}

void soft_form_indices(const SoftForm *form, u32 first_vertex, u32 *out)
{
    for (u32 i = 0; i < 3 * form->triangle_count; i++) {
        *out++ = first_vertex + form->triangles[i];
    }
    for (u32 i = 0; i < form->chain_count; i++) {
        const SoftChain *chain = &form->chains[i];
        out = chain_write_indices(chain, first_vertex + chain->first_vertex, out);
    }
}

static void round_cells(const SoftForm *form, Vec3 *cells)
{
    const SoftMesh *mesh = form->mesh;
    u32 plain = form->surface_count - form->twin_count;
    if (mesh->skin_count > 0) {
        soft_mesh_skin_points(mesh, mesh->points, cells);
    } else {
        memcpy(cells, mesh->points, plain * sizeof *cells);
    }
    for (u32 i = 0; i < form->twin_count; i++) {
        cells[plain + i] = cells[form->twin_of[i]];
    }
    Vec3 low = cells[0], high = cells[0];
    for (u32 i = 0; i < form->surface_count; i++) {
        low = vec3(f32_min(low.x, cells[i].x), f32_min(low.y, cells[i].y),
                   f32_min(low.z, cells[i].z));
        high = vec3(f32_max(high.x, cells[i].x), f32_max(high.y, cells[i].y),
                    f32_max(high.z, cells[i].z));
    }
    Vec3 middle = vec3_lerp(low, high, 0.5f), size = vec3_sub(high, low);
    f32 scale = 2.0f / f32_max(f32_max(size.x, f32_max(size.y, size.z)), 1e-6f);
    for (u32 i = 0; i < form->surface_count; i++) {
        cells[i] = vec3_scale(vec3_sub(cells[i], middle), scale);
    }
}

/* Twisted strands: a cell has a length of three radii. */
static void chain_cells(const SoftForm *form, const SoftChain *chain, Vec3 *cells)
{
    u32 rings = chain_rings(chain);
    const u32 *points = form->chain_points + chain->first;
    f32 length = 1.0f;
    if (form->mesh != NULL) {
        length = vec3_distance(form->mesh->points[points[0]], form->mesh->points[points[1]]);
    }
    f32 step = length / (f32)chain->parts / (3.0f * form->radius);
    cells[0] = vec3_zero();
    for (u32 ring = 0; ring < rings; ring++) {
        for (u32 k = 0; k < RING; k++) {
            f32 along = step * ((f32)ring - CAP_RINGS), around = 2.0f * (f32)k / SIDES;
            cells[1 + ring * RING + k] = vec3(along + around, around, 0.0f);
        }
    }
    cells[1 + rings * RING] = cells[rings * RING];
}

void soft_form_cells(const SoftForm *form, Vec3 *cells)
{
    if (form->surface_count > 0 && form->round) {
        round_cells(form, cells);
    } else if (form->surface_count > 0) {
        u32 columns = form->grid[0];
        /* About twelve pattern cells across the wider side. */
        f32 cell = 12.0f / (f32)u32_max(columns, form->grid[1]);
        for (u32 i = 0; i < form->surface_count; i++) {
            cells[i] = vec3(cell * (f32)(i % columns), cell * (f32)(i / columns), 0.0f);
        }
    }
    for (u32 i = 0; i < form->chain_count; i++) {
        chain_cells(form, &form->chains[i], cells + form->chains[i].first_vertex);
    }
}

/* ---- every frame ---- */

static void place_surface(SoftForm *form, const ShownPoint *points, SoftVertex *out)
{
    const SoftMesh *mesh = form->mesh;
    u32 plain = form->surface_count - form->twin_count;
    if (mesh != NULL && mesh->skin_count > 0) {
        for (u32 i = 0; i < form->point_count; i++) {
            form->scratch[i] = points[i].position;
        }
        Vec3 *places = form->scratch + form->point_count;
        soft_mesh_skin_points(mesh, form->scratch, places);
        for (u32 i = 0; i < plain; i++) {
            out[i].position = places[i];
        }
    } else {
        for (u32 i = 0; i < plain; i++) {
            out[i].position = points[i].position;
        }
    }
    for (u32 i = 0; i < form->twin_count; i++) {
        out[plain + i].position = out[form->twin_of[i]].position;
    }
}

/* Duplicated vertices move together, or the edge between them would open. */
static void swell(SoftForm *form, SoftVertex *out, f32 by)
{
    u32 plain = form->surface_count - form->twin_count;
    Vec3 *whole = form->scratch + (form->mesh->skin_count > 0 ? form->point_count : 0);
    for (u32 i = 0; i < plain; i++) {
        whole[i] = out[i].normal;
    }
    for (u32 i = 0; i < form->twin_count; i++) {
        Vec3 *sum = &whole[form->twin_of[i]];
        *sum = vec3_add(*sum, out[plain + i].normal);
    }
    for (u32 i = 0; i < form->surface_count; i++) {
        Vec3 way = whole[i < plain ? i : form->twin_of[i - plain]];
        way = vec3_normalize_or(way, vec3(0.0f, 1.0f, 0.0f));
        out[i].position = vec3_add_scaled(out[i].position, by, way);
    }
}

static void fill_surface(SoftForm *form, const ShownPoint *points, SoftVertex *out)
{
    const SoftMesh *mesh = form->mesh;
    place_surface(form, points, out);
    for (u32 i = 0; i < form->surface_count; i++) {
        out[i].normal = vec3_zero();
    }
    for (u32 i = 0; i < form->triangle_count; i++) {
        const u32 *p = form->triangles + (size_t)3 * i;
        SoftVertex *a = &out[p[0]], *b = &out[p[1]], *c = &out[p[2]];
        Vec3 normal =
            vec3_cross(vec3_sub(b->position, a->position), vec3_sub(c->position, a->position));
        a->normal = vec3_add(a->normal, normal);
        b->normal = vec3_add(b->normal, normal);
        c->normal = vec3_add(c->normal, normal);
    }
    if (mesh != NULL && mesh->closed) {
        swell(form, out, form->radius);
    }
    for (u32 i = 0; i < form->surface_count; i++) {
        out[i].normal = vec3_normalize_or(out[i].normal, vec3(0.0f, 1.0f, 0.0f));
    }
}

static Vec3 chain_place(const SoftForm *form, const SoftChain *chain, const ShownPoint *points,
                        i32 at)
{
    i32 last = (i32)chain->count - 1;
    const u32 *index = form->chain_points + chain->first;
    if (at < 0 || at > last) { /* mirrored beyond the end */
        Vec3 end = points[index[at < 0 ? 0 : last]].position;
        Vec3 next = points[index[at < 0 ? 1 : last - 1]].position;
        return vec3_sub(vec3_scale(end, 2.0f), next);
    }
    return points[index[at]].position;
}

/* Position and direction of a sample of the curve. */
static Vec3 chain_sample(const SoftForm *form, const SoftChain *chain, const ShownPoint *points,
                         u32 sample, Vec3 *direction)
{
    u32 span = u32_min(sample / chain->parts, chain->count - 2);
    f32 t = (f32)(sample - span * chain->parts) / (f32)chain->parts;
    Vec3 p0 = chain_place(form, chain, points, (i32)span - 1);
    Vec3 p1 = chain_place(form, chain, points, (i32)span);
    Vec3 p2 = chain_place(form, chain, points, (i32)span + 1);
    Vec3 p3 = chain_place(form, chain, points, (i32)span + 2);
    Vec3 m1 = vec3_scale(vec3_sub(p2, p0), 0.5f), m2 = vec3_scale(vec3_sub(p3, p1), 0.5f);
    f32 tt = t * t, ttt = tt * t;
    Vec3 place = vec3_scale(p1, 2.0f * ttt - 3.0f * tt + 1.0f);
    place = vec3_add_scaled(place, ttt - 2.0f * tt + t, m1);
    place = vec3_add_scaled(place, 3.0f * tt - 2.0f * ttt, p2);
    place = vec3_add_scaled(place, ttt - tt, m2);
    Vec3 slope = vec3_scale(vec3_sub(p1, p2), 6.0f * (tt - t));
    slope = vec3_add_scaled(slope, 3.0f * tt - 4.0f * t + 1.0f, m1);
    slope = vec3_add_scaled(slope, 3.0f * tt - 2.0f * t, m2);
    *direction = vec3_normalize_or(slope, vec3(1.0f, 0.0f, 0.0f));
    return place;
}

static Vec3 any_side(Vec3 direction)
{
    Vec3 axis = fabsf(direction.y) < 0.8f ? vec3(0.0f, 1.0f, 0.0f) : vec3(1.0f, 0.0f, 0.0f);
    return vec3_normalize_or(vec3_cross(direction, axis), vec3(0.0f, 0.0f, 1.0f));
}

/* A ring of `width` whose normals lean out by `lean`: (0, 1, radius) is a ring of the tube
 * itself. */
static void put_ring(SoftVertex *out, Vec3 centre, const Vec3 axes[3], f32 lean, f32 width,
                     f32 radius)
{
    for (u32 k = 0; k < RING; k++) {
        Vec3 across = vec3_add_scaled(vec3_scale(axes[0], sides[k][0]), sides[k][1], axes[1]);
        out[k].normal = vec3_add_scaled(vec3_scale(across, width), lean, axes[2]);
        out[k].position = vec3_add_scaled(centre, radius, out[k].normal);
    }
}

static void fill_chain(const SoftForm *form, const SoftChain *chain, const ShownPoint *points,
                       SoftVertex *out)
{
    u32 samples = chain_samples(chain), rings = chain_rings(chain);
    f32 radius = form->radius;
    Vec3 axes[3], direction; /* two perpendiculars and the tangent */
    Vec3 centre = chain_sample(form, chain, points, 0, &direction);
    axes[0] = any_side(direction);
    SoftVertex *ring = out + 1;
    for (u32 i = 0; i < samples; i++) {
        centre = chain_sample(form, chain, points, i, &axes[2]);
        Vec3 side = vec3_add_scaled(axes[0], -vec3_dot(axes[0], axes[2]), axes[2]);
        axes[0] = vec3_normalize_or(side, any_side(axes[2]));
        axes[1] = vec3_cross(axes[2], axes[0]);
        if (i == 0) {
            out[0].normal = vec3_neg(axes[2]);
            out[0].position = vec3_add_scaled(centre, -radius, axes[2]);
            for (u32 k = CAP_RINGS; k-- > 0; ring += RING) {
                put_ring(ring, centre, axes, -cap[k][0], cap[k][1], radius);
            }
        }
        put_ring(ring, centre, axes, 0.0f, 1.0f, radius);
        ring += RING;
    }
    for (u32 k = 0; k < CAP_RINGS; k++, ring += RING) {
        put_ring(ring, centre, axes, cap[k][0], cap[k][1], radius);
    }
    out[1 + rings * RING].normal = axes[2];
    out[1 + rings * RING].position = vec3_add_scaled(centre, radius, axes[2]);
}

void soft_form_fill(SoftForm *form, const ShownPoint *points, SoftVertex *out)
{
    if (form->surface_count > 0) {
        fill_surface(form, points, out);
    }
    for (u32 i = 0; i < form->chain_count; i++) {
        fill_chain(form, &form->chains[i], points, out + form->chains[i].first_vertex);
    }
}
