/* build_links.c: constraints for the edges, hinges, triangles, tetrahedra and sticks of a mesh. */
#include "server/physics/soft/build.h"
#include "server/physics/soft/constraint.h"

#include <math.h>
#include <stdlib.h>

static void maker_add(Maker *maker, SoftConstraint made, const SoftShape *shape)
{
    Soft *soft = maker->soft;
    if (maker->result != ERROR_OK || !(made.compliance >= 0.0f)) {
        return;
    }
    bool capacity = memory_grow((void **)&soft->constraints, &soft->constraint_capacity,
                                soft->constraint_count + 1, sizeof *soft->constraints);
    if (capacity && shape != NULL) {
        capacity = memory_grow((void **)&soft->shapes, &soft->shape_capacity, soft->shape_count + 1,
                               sizeof *soft->shapes);
    }
    if (!capacity) {
        maker->result = error_set(maker->error, ERROR_MEMORY, "out of memory for constraint %u",
                                  maker->body->constraint_count);
        return;
    }
    made.shape = SOFT_NONE;
    if (shape != NULL) {
        made.shape = soft->shape_count;
        soft->shapes[soft->shape_count++] = *shape;
    }
    soft->constraints[soft->constraint_count++] = made;
    maker->body->constraint_count++;
}

void maker_add_distance(Maker *maker, u32 a, u32 b, f32 low, f32 high, f32 compliance,
                        ConstraintRole role)
{
    SoftConstraint made = {.point = {a, b, SOFT_NONE, SOFT_NONE},
                           .low = low,
                           .high = high,
                           .compliance = compliance,
                           .kind = CONSTRAINT_DISTANCE,
                           .role = (u8)role};
    maker_add(maker, made, NULL);
}

static void add_edge(Maker *maker, u32 a, u32 b, f32 compliance, ConstraintRole role)
{
    f32 rest = vec3_distance(maker->soft->rest[a], maker->soft->rest[b]);
    if (!(rest > 1e-6f) && compliance >= 0.0f && maker->result == ERROR_OK) {
        u32 first = maker->body->first;
        maker->result =
            error_set(maker->error, ERROR_RANGE, "edge %u-%u has no length", a - first, b - first);
    }
    maker_add_distance(maker, a, b, rest, rest, compliance, role);
}

/* Limits an edge to a range around its rest length. */
static void add_stretch(Maker *maker, u32 a, u32 b)
{
    const SoftDef *def = maker->def;
    add_edge(maker, a, b, def->stretch_compliance, ROLE_STRETCH);
    if (def->stretch_min > 0.0f || def->stretch_max > 0.0f) {
        f32 rest = vec3_distance(maker->soft->rest[a], maker->soft->rest[b]);
        f32 high = def->stretch_max > 0.0f ? def->stretch_max * rest : INFINITY;
        maker_add_distance(maker, a, b, def->stretch_min * rest, high, 0.0f, ROLE_LIMIT);
    }
}

/* ---- bending ---- */

/* Weights of Bergou et al. 2006, eq. 4 f., without their factor of 3: then ½ |Σ k x|² sums to ½
 * ∫ H² dA for a grid or equilateral triangles rolled up along a side, so that the stiffness 1 /
 * compliance of either kind of hinge is the bending stiffness of the sheet in N m. */
static void isometric_weights(const Vec3 x[4], f32 weights[4])
{
    static const u8 at[4][3] = {{0, 1, 2}, {0, 1, 3}, {1, 0, 2}, {1, 0, 3}};
    f32 cot[4];
    for (u32 i = 0; i < 4; i++) { /* between the edge and a side, at one end of the edge */
        Vec3 e = vec3_sub(x[at[i][1]], x[at[i][0]]), s = vec3_sub(x[at[i][2]], x[at[i][0]]);
        cot[i] = vec3_dot(e, s) / vec3_length(vec3_cross(e, s));
    }
    static const u32 left[3] = {0, 1, 2}, right[3] = {0, 1, 3};
    f32 per = 1.0f / sqrtf(soft_triangle_area(x, left) + soft_triangle_area(x, right));
    weights[0] = (cot[2] + cot[3]) * per;
    weights[1] = (cot[0] + cot[1]) * per;
    weights[2] = -(cot[0] + cot[2]) * per;
    weights[3] = -(cot[1] + cot[3]) * per;
}

/* A hinge between the triangles (a, b, c) and (b, a, d). */
static void add_hinge(Maker *maker, u32 a, u32 b, u32 c, u32 d)
{
    const SoftDef *def = maker->def;
    SoftConstraint made = {.point = {a, b, c, d},
                           .compliance = def->bend_compliance,
                           .kind = CONSTRAINT_ISOMETRIC,
                           .role = ROLE_BEND};
    Vec3 x[4];
    for (u32 k = 0; k < 4; k++) {
        x[k] = vec3_sub(maker->soft->rest[made.point[k]], maker->soft->rest[a]);
    }
    if (def->bend == SOFT_BEND_DISTANCE) {
        add_edge(maker, c, d, def->bend_compliance, ROLE_BEND);
        return;
    }
    SoftShape shape = {{0.0f}};
    isometric_weights(x, shape.value);
    ConstraintRows rows = {.rows = 0};
    if (def->bend == SOFT_BEND_DIHEDRAL) {
        /* Grinspun et al. 2003: θ² |e|² / (A0 + A1); |Σ k x| is |e| θ for small angles. */
        static const u32 left[3] = {0, 1, 2}, right[3] = {0, 1, 3};
        f32 areas = soft_triangle_area(x, left) + soft_triangle_area(x, right);
        made.kind = CONSTRAINT_DIHEDRAL;
        made.compliance *= areas / vec3_length_squared(x[1]);
    }
    constraint_evaluate(&made, &shape, x, &rows);
    made.low = rows.rows != 0 ? rows.value[0] : 0.0f;
    for (u32 k = 0; k < 4 && made.kind == CONSTRAINT_ISOMETRIC; k++) { /* flat ones have none */
        rows.gradient[0][k] = vec3(shape.value[k], 0.0f, 0.0f);
    }
    f32 mobility = constraint_mobility(maker->soft, &made, &rows);
    made.high = mobility > 0.0f ? made.compliance / mobility : INFINITY;
    if (made.kind == CONSTRAINT_ISOMETRIC &&
        made.low < 1e-4f * fabsf(shape.value[2]) * vec3_length(x[2])) {
        made.low = 0.0f; /* flat to rounding: then it is a quadratic form */
    }
    maker_add(maker, made, made.kind == CONSTRAINT_ISOMETRIC ? &shape : NULL);
}

/* ---- grids ---- */

static void add_grid_edges(Maker *maker)
{
    const SoftDef *def = maker->def;
    u32 w = def->mesh->grid[0], rows = def->mesh->grid[1];
    for (u32 r = 0; r < rows; r++) {
        for (u32 c = 0; c < w; c++) {
            u32 i = maker->body->first + r * w + c;
            bool right = c + 1 < w, down = r + 1 < rows;
            if (right) {
                add_stretch(maker, i, i + 1);
            }
            if (down) {
                add_stretch(maker, i, i + w);
            }
            if (right && down) {
                add_edge(maker, i, i + w + 1, def->shear_compliance, ROLE_SHEAR);
                add_edge(maker, i + 1, i + w, def->shear_compliance, ROLE_SHEAR);
            }
            if (c + 2 < w && def->bend == SOFT_BEND_DISTANCE) {
                add_edge(maker, i, i + 2, def->bend_compliance, ROLE_BEND);
            }
            if (r + 2 < rows && def->bend == SOFT_BEND_DISTANCE) {
                add_edge(maker, i, i + 2 * w, def->bend_compliance, ROLE_BEND);
            }
        }
    }
}

/* ---- meshes ---- */

/* An edge of a triangle or tetrahedron and the opposite point. */
typedef struct LinkEdge {
    u32 a, b; /* a < b */
    u32 across;
    u32 order;
} LinkEdge;

static int edge_order(const void *left, const void *right)
{
    const LinkEdge *p = left, *q = right;
    u64 k = (u64)p->a << 32 | p->b, l = (u64)q->a << 32 | q->b;
    if (k != l) {
        return k < l ? -1 : 1;
    }
    return p->order < q->order ? -1 : p->order > q->order;
}

static void put_edge(LinkEdge *edges, u32 *count, u32 a, u32 b, u32 across)
{
    LinkEdge edge = {u32_min(a, b), u32_max(a, b), across, *count};
    edges[(*count)++] = edge;
}

static u32 list_edges(const SoftMesh *mesh, LinkEdge *edges)
{
    u32 count = 0;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *p = mesh->triangles + (size_t)3 * t;
        for (u32 k = 0; k < 3; k++) {
            put_edge(edges, &count, p[k], p[(k + 1) % 3], p[(k + 2) % 3]);
        }
    }
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        const u32 *p = mesh->tetrahedra + (size_t)4 * t;
        for (u32 k = 0; k < 6; k++) {
            static const u8 pairs[6][2] = {{0, 1}, {0, 2}, {0, 3}, {1, 2}, {1, 3}, {2, 3}};
            put_edge(edges, &count, p[pairs[k][0]], p[pairs[k][1]], SOFT_NONE);
        }
    }
    qsort(edges, count, sizeof *edges, edge_order);
    return count;
}

/* Adds edges of triangles and tetrahedra once each (a grid has its own), and hinges between two
 * triangles. */
static void add_mesh_edges(Maker *maker)
{
    const SoftMesh *mesh = maker->def->mesh;
    bool grid = mesh->grid[0] != 0;
    if (grid && (maker->def->bend == SOFT_BEND_NONE || maker->def->bend == SOFT_BEND_DISTANCE)) {
        return;
    }
    size_t most = 3 * (size_t)mesh->triangle_count + 6 * (size_t)mesh->tetrahedron_count;
    LinkEdge *edges = malloc((most + 1) * sizeof *edges);
    if (edges == NULL) {
        maker->result = error_set(maker->error, ERROR_MEMORY, "out of memory for %zu edges", most);
        return;
    }
    u32 count = list_edges(mesh, edges), first = maker->body->first;
    for (u32 i = 0, end; i < count; i = end) {
        const LinkEdge *edge = &edges[i];
        for (end = i + 1; end < count && edges[end].a == edge->a && edges[end].b == edge->b;
             end++) {
        }
        if (!grid) {
            add_stretch(maker, first + edge->a, first + edge->b);
        }
        /* Triangles sort before tetrahedra. */
        bool two = end - i >= 2 && edges[i + 1].across != SOFT_NONE;
        if (two && maker->def->bend != SOFT_BEND_NONE && edge->across != edge[1].across) {
            add_hinge(maker, first + edge->a, first + edge->b, first + edge->across,
                      first + edge[1].across);
        }
    }
    free(edges);
}

static void add_areas(Maker *maker)
{
    const SoftMesh *mesh = maker->def->mesh;
    u32 first = maker->body->first;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *p = mesh->triangles + (size_t)3 * t;
        SoftConstraint made = {.point = {first + p[0], first + p[1], first + p[2], SOFT_NONE},
                               .low = soft_triangle_area(mesh->points, p),
                               .compliance = maker->def->area_compliance,
                               .kind = CONSTRAINT_AREA,
                               .role = ROLE_STRETCH};
        maker_add(maker, made, NULL);
    }
}

/* Inverse of the matrix whose columns are the rest edges, row-major. */
static void inverse_rest(const Vec3 *points, const u32 *p, f32 volume, f32 value[9])
{
    Vec3 a = vec3_sub(points[p[1]], points[p[0]]), b = vec3_sub(points[p[2]], points[p[0]]);
    Vec3 c = vec3_sub(points[p[3]], points[p[0]]);
    const Vec3 rows[3] = {vec3_cross(b, c), vec3_cross(c, a), vec3_cross(a, b)};
    f32 per = 1.0f / (6.0f * volume);
    for (u32 i = 0; i < 3; i++) {
        value[3 * i + 0] = rows[i].x * per;
        value[3 * i + 1] = rows[i].y * per;
        value[3 * i + 2] = rows[i].z * per;
    }
}

/* Adds volumes and material. The λ of stable Neo-Hookean matter is Lamé's λ + μ, which gives
 * Young's modulus and Poisson's ratio for small strains (Smith, de Goes, Kim 2018, §3.4). */
static void add_tetrahedra(Maker *maker)
{
    const SoftDef *def = maker->def;
    const SoftMesh *mesh = def->mesh;
    u32 first = maker->body->first;
    f32 mu = def->young / (2.0f * (1.0f + def->poisson));
    f32 ratio = 1.0f - 2.0f * def->poisson; /* μ / (λ + μ) */
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        const u32 *p = mesh->tetrahedra + (size_t)4 * t;
        f32 volume = soft_tetrahedron_volume(mesh->points, p);
        SoftConstraint made = {.point = {first + p[0], first + p[1], first + p[2], first + p[3]},
                               .low = volume,
                               .compliance = def->volume_compliance,
                               .kind = CONSTRAINT_VOLUME,
                               .role = ROLE_VOLUME};
        maker_add(maker, made, NULL);
        if (def->young > 0.0f) {
            SoftShape shape;
            inverse_rest(mesh->points, p, volume, shape.value);
            shape.value[9] = ratio;
            made.kind = CONSTRAINT_NEO_HOOKEAN;
            made.compliance = 1.0f / (mu * volume);
            maker_add(maker, made, &shape);
        }
    }
}

static void add_sticks(Maker *maker)
{
    const SoftDef *def = maker->def;
    const SoftMesh *mesh = def->mesh;
    u32 first = maker->body->first;
    for (u32 i = 0; i < mesh->stick_count; i++) {
        const SoftStick *stick = &mesh->sticks[i];
        if (stick->low == stick->high) {
            maker_add_distance(maker, first + stick->a, first + stick->b, stick->low, stick->high,
                               def->stretch_compliance, ROLE_STRETCH);
        } else {
            maker_add_distance(maker, first + stick->a, first + stick->b, stick->low, stick->high,
                               def->stretch_compliance, ROLE_LIMIT);
        }
        /* Consecutive sticks get a bending constraint. */
        const SoftStick *last = stick - (i > 0);
        if (i > 0 && last->b == stick->a && last->a != stick->b && def->bend != SOFT_BEND_NONE) {
            add_edge(maker, first + last->a, first + stick->b, def->bend_compliance, ROLE_BEND);
        }
    }
}

void build_links(Maker *maker)
{
    if (maker->def->mesh->grid[0] != 0) {
        add_grid_edges(maker);
    }
    add_mesh_edges(maker);
    add_areas(maker);
    add_tetrahedra(maker);
    add_sticks(maker);
}
