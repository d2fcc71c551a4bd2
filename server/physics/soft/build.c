/* build.c: a definition becomes particles, constraints, triangles and attachments. */
#include "server/physics/soft/store.h"

#include "shared/error.h"
#include "shared/limits.h"

#include <stdlib.h>

SoftDef soft_def_default(void)
{
    SoftDef def = {.orientation = {1.0f, 0.0f, 0.0f, 0.0f},
                   .iterations = 10,
                   .stiffness = 1.0f,
                   .stretch_compliance = 1e-7f,
                   .shear_compliance = 1e-5f,
                   .bend = SOFT_BEND_DISTANCE,
                   .bend_compliance = 1e-2f,
                   .area_compliance = -1.0f,
                   .volume_compliance = -1.0f,
                   .match_stiffness = 1.0f,
                   .damping = 0.1f,
                   .spring_damping = -1.0f,
                   .thickness = 0.02f,
                   .friction = 0.4f};
    return def;
}

bool soft_grow(void **items, u32 *room, u32 needed, size_t size)
{
    if (needed <= *room) {
        return true;
    }
    u32 larger = u32_max(needed, *room * 2);
    void *moved = realloc(*items, larger * size);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *room = larger;
    return true;
}

static bool grow_points(Soft *soft, u32 needed)
{
    u32 rooms[3] = {soft->room, soft->room, soft->room};
    if (needed <= soft->room) {
        return true;
    }
    u32 room = u32_max(needed, soft->room * 2);
    SoftPoint *points = aligned_alloc(64, ((size_t)room * sizeof *points + 63) / 64 * 64);
    if (points == NULL || !soft_grow((void **)&soft->rest, &rooms[0], room, sizeof *soft->rest) ||
        !soft_grow((void **)&soft->matter, &rooms[1], room, sizeof *soft->matter) ||
        !soft_grow((void **)&soft->wind_velocity, &rooms[2], room, sizeof *soft->wind_velocity)) {
        free(points);
        return false;
    }
    if (soft->count != 0) {
        memcpy(points, soft->points, soft->count * sizeof *points);
    }
    free(soft->points);
    soft->points = points;
    soft->room = room;
    return true;
}

/* ---- constraints ---- */

typedef struct Maker {
    Soft *soft;
    SoftBody *body;
    bool full; /* no memory for one */
} Maker;

static void add_constraint(Maker *maker, SoftConstraint made)
{
    Soft *soft = maker->soft;
    if (!soft_grow((void **)&soft->constraints, &soft->constraint_room, soft->constraint_count + 1,
                   sizeof *soft->constraints)) {
        maker->full = true;
        return;
    }
    soft->constraints[soft->constraint_count++] = made;
    maker->body->constraint_count++;
}

static void add_distance(Maker *maker, u32 a, u32 b, f32 low, f32 high, f32 compliance,
                         ConstraintRole role)
{
    SoftConstraint made = {.point = {a, b, SOFT_NONE, SOFT_NONE},
                           .low = low,
                           .high = high,
                           .compliance = compliance,
                           .shape = SOFT_NONE,
                           .kind = CONSTRAINT_DISTANCE,
                           .role = (u8)role};
    if (compliance >= 0.0f) {
        add_constraint(maker, made);
    }
}

static void add_edge(Maker *maker, u32 a, u32 b, f32 compliance, ConstraintRole role)
{
    f32 rest = vec3_distance(maker->soft->rest[a], maker->soft->rest[b]);
    add_distance(maker, a, b, rest, rest, compliance, role);
}

static void add_grid_edges(Maker *maker, const SoftDef *def)
{
    u32 w = def->mesh->grid[0], rows = def->mesh->grid[1];
    for (u32 r = 0; r < rows; r++) {
        for (u32 c = 0; c < w; c++) {
            u32 i = maker->body->first + r * w + c;
            bool right = c + 1 < w, down = r + 1 < rows;
            if (right) {
                add_edge(maker, i, i + 1, def->stretch_compliance, ROLE_STRETCH);
            }
            if (down) {
                add_edge(maker, i, i + w, def->stretch_compliance, ROLE_STRETCH);
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

/* An edge of a triangle or a tetrahedron and the point opposite to it. */
typedef struct Edge {
    u32 a, b; /* a < b */
    u32 across;
    u32 order;
} Edge;

static int edge_order(const void *left, const void *right)
{
    const Edge *p = left, *q = right;
    u64 k = (u64)p->a << 32 | p->b, l = (u64)q->a << 32 | q->b;
    if (k != l) {
        return k < l ? -1 : 1;
    }
    return p->order < q->order ? -1 : p->order > q->order;
}

static void put_edge(Edge *edges, u32 *count, u32 a, u32 b, u32 across)
{
    Edge edge = {u32_min(a, b), u32_max(a, b), across, *count};
    edges[(*count)++] = edge;
}

/* Edges of triangles and tetrahedra once each, and bending across those between two triangles. */
static void add_mesh_edges(Maker *maker, const SoftDef *def)
{
    const SoftMesh *mesh = def->mesh;
    size_t most = 3 * (size_t)mesh->triangle_count + 6 * (size_t)mesh->tetrahedron_count;
    Edge *edges = malloc((most + 1) * sizeof *edges);
    if (edges == NULL) {
        maker->full = true;
        return;
    }
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
    u32 first = maker->body->first;
    for (u32 i = 0, end; i < count; i = end) {
        for (end = i + 1; end < count && edges[end].a == edges[i].a && edges[end].b == edges[i].b;
             end++) {
        }
        add_edge(maker, first + edges[i].a, first + edges[i].b, def->stretch_compliance,
                 ROLE_STRETCH);
        bool two = end - i >= 2 && edges[i + 1].across != SOFT_NONE;
        if (two && def->bend == SOFT_BEND_DISTANCE) {
            add_edge(maker, first + edges[i].across, first + edges[i + 1].across,
                     def->bend_compliance, ROLE_BEND);
        }
    }
    free(edges);
}

static void add_sticks(Maker *maker, const SoftDef *def)
{
    const SoftMesh *mesh = def->mesh;
    u32 first = maker->body->first;
    for (u32 i = 0; i < mesh->stick_count; i++) {
        const SoftStick *stick = &mesh->sticks[i];
        add_distance(maker, first + stick->a, first + stick->b, stick->low, stick->high,
                     def->stretch_compliance, ROLE_STRETCH);
        /* A chain of sticks bends. */
        if (i > 0 && mesh->sticks[i - 1].b == stick->a && def->bend == SOFT_BEND_DISTANCE) {
            add_edge(maker, first + mesh->sticks[i - 1].a, first + stick->b, def->bend_compliance,
                     ROLE_BEND);
        }
    }
}

/* ---- particles ---- */

static f32 triangle_area(const Vec3 *points, const u32 *p)
{
    Vec3 side = vec3_sub(points[p[1]], points[p[0]]);
    return 0.5f * vec3_length(vec3_cross(side, vec3_sub(points[p[2]], points[p[0]])));
}

static f32 tetrahedron_volume(const Vec3 *points, const u32 *p)
{
    Vec3 a = vec3_sub(points[p[1]], points[p[0]]), b = vec3_sub(points[p[2]], points[p[0]]);
    return vec3_dot(vec3_cross(a, b), vec3_sub(points[p[3]], points[p[0]])) / 6.0f;
}

/* What each point has of the matter, in inverse_mass for now. A point of a grid has the area that
 * is nearest to it; sums of triangles would favour one diagonal. */
static f32 share_matter(Soft *soft, const SoftMesh *mesh, u32 first)
{
    SoftPoint *points = soft->points + first;
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        const u32 *p = mesh->tetrahedra + (size_t)4 * t;
        f32 part = tetrahedron_volume(mesh->points, p) / 4.0f;
        for (u32 k = 0; k < 4; k++) {
            points[p[k]].inverse_mass += part;
        }
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *p = mesh->triangles + (size_t)3 * t;
        f32 part = triangle_area(mesh->points, p) / 3.0f;
        for (u32 k = 0; k < 3; k++) {
            soft->matter[first + p[k]].wind_area += part;
            points[p[k]].inverse_mass +=
                mesh->tetrahedron_count == 0 && mesh->grid[0] == 0 ? part : 0.0f;
        }
    }
    if (mesh->grid[0] != 0) {
        for (u32 i = 0; i < mesh->point_count; i++) {
            u32 c = i % mesh->grid[0], r = i / mesh->grid[0];
            points[i].inverse_mass = (c == 0 || c + 1 == mesh->grid[0] ? 0.5f : 1.0f) *
                                     (r == 0 || r + 1 == mesh->grid[1] ? 0.5f : 1.0f);
        }
    }
    if (mesh->tetrahedron_count == 0 && mesh->triangle_count == 0) {
        for (u32 i = 0; i < mesh->stick_count; i++) {
            const SoftStick *stick = &mesh->sticks[i];
            f32 part = 0.5f * vec3_distance(mesh->points[stick->a], mesh->points[stick->b]);
            points[stick->a].inverse_mass += part;
            points[stick->b].inverse_mass += part;
        }
    }
    f32 sum = 0.0f;
    for (u32 i = 0; i < mesh->point_count; i++) {
        sum += points[i].inverse_mass;
    }
    return sum;
}

static int add_points(Soft *soft, const SoftDef *def, ErrorText *error)
{
    const SoftMesh *mesh = def->mesh;
    u32 first = soft->count;
    Vec3 middle = vec3_zero();
    for (u32 i = 0; i < mesh->point_count; i++) {
        Vec3 at = vec3_add(def->position, quat_rotate(def->orientation, mesh->points[i]));
        middle = vec3_add_scaled(middle, 1.0f / (f32)mesh->point_count, at);
        SoftPoint point = {.position = at};
        SoftMatter matter = {.radius = def->thickness,
                             .friction = def->friction,
                             .static_friction = f32_max(def->friction, def->static_friction),
                             .damping = def->damping,
                             .body = soft->body_count};
        soft->points[first + i] = point;
        soft->matter[first + i] = matter;
        soft->rest[first + i] = mesh->points[i];
        soft->wind_velocity[first + i] = vec3_zero();
    }
    f32 sum = share_matter(soft, mesh, first);
    for (u32 i = first; i < first + mesh->point_count; i++) {
        SoftPoint *p = &soft->points[i];
        if (!(p->inverse_mass > 0.0f)) {
            return error_set(
                error, ERROR_RANGE,
                "point %u belongs to no triangle, tetrahedron or stick: it has no mass", i - first);
        }
        p->inverse_mass = sum / (p->inverse_mass * def->mass_kg);
        Vec3 arm = vec3_sub(p->position, middle);
        p->velocity = vec3_add(def->velocity, vec3_cross(def->spin, arm));
    }
    return ERROR_OK;
}

static bool add_pins(Soft *soft, const Rigid *rigid, const SoftDef *def, u32 first)
{
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        u32 particle = first + pin->point;
        if (pin->body.generation == 0) {
            soft->points[particle].inverse_mass = 0.0f;
            soft->points[particle].velocity = vec3_zero();
            continue;
        }
        if (!soft_grow((void **)&soft->attachments, &soft->attachment_room,
                       soft->attachment_count + 1, sizeof *soft->attachments)) {
            return false;
        }
        u32 slot = pin->body.slot;
        Vec3 arm = vec3_sub(soft->points[particle].position, rigid_centre(rigid, slot));
        SoftAttachment attachment = {particle,
                                     pin->body,
                                     quat_rotate_inverse(rigid_orientation(rigid, slot), arm),
                                     {0.0f, 0.0f, 0.0f},
                                     soft->points[particle].inverse_mass};
        soft->attachments[soft->attachment_count++] = attachment;
    }
    return true;
}

static bool add_triangles(Soft *soft, const SoftMesh *mesh, u32 first)
{
    if (!soft_grow((void **)&soft->triangles, &soft->triangle_room,
                   soft->triangle_count + mesh->triangle_count, sizeof *soft->triangles)) {
        return false;
    }
    for (u32 i = 0; i < mesh->triangle_count; i++) {
        const u32 *p = mesh->triangles + (size_t)3 * i;
        SoftTriangle triangle = {{first + p[0], first + p[1], first + p[2]}};
        soft->triangles[soft->triangle_count++] = triangle;
    }
    return true;
}

/* Sticks of one length: limits of joints are no matter that could be touched. */
static bool add_segments(Soft *soft, const SoftMesh *mesh, SoftBody *body)
{
    if (!soft_grow((void **)&soft->segments, &soft->segment_room,
                   soft->segment_count + mesh->stick_count, sizeof *soft->segments)) {
        return false;
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        const SoftStick *stick = &mesh->sticks[i];
        if (stick->low == stick->high) {
            SoftSegment segment = {{body->first + stick->a, body->first + stick->b}};
            soft->segments[soft->segment_count++] = segment;
            body->segment_count++;
        }
    }
    return true;
}

static int check(const Soft *soft, const Rigid *rigid, const SoftDef *def, ErrorText *error)
{
    const SoftMesh *mesh = def->mesh;
    if (mesh->point_count == 0 || mesh->point_count > PARTICLES_MAX - soft->count) {
        return error_set(error, ERROR_LIMIT, "%u points: a world has 1 to %d in all",
                         mesh->point_count, PARTICLES_MAX);
    }
    if (!(def->mass_kg > 0.0f) || !(def->mass_kg <= 1e9f)) {
        return error_set(error, ERROR_RANGE, "mass %g kg: more than 0, at most 1e9",
                         (double)def->mass_kg);
    }
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        if (pin->point >= mesh->point_count) {
            return error_set(error, ERROR_RANGE, "pin %u: point %u of %u", i, pin->point,
                             mesh->point_count);
        }
        if (pin->body.generation != 0 && (rigid == NULL || !rigid_alive(rigid, pin->body))) {
            return error_set(error, ERROR_RANGE, "pin %u: its body does not live", i);
        }
    }
    return ERROR_OK;
}

int soft_add(Soft *soft, const Rigid *rigid, const SoftDef *def, SoftRange *range, ErrorText *error)
{
    int result = check(soft, rigid, def, error);
    if (result != ERROR_OK) {
        return result;
    }
    const SoftMesh *mesh = def->mesh;
    if (!grow_points(soft, soft->count + mesh->point_count) ||
        !soft_grow((void **)&soft->bodies, &soft->body_room, soft->body_count + 1,
                   sizeof *soft->bodies)) {
        return error_set(error, ERROR_MEMORY, "no memory for %u points", mesh->point_count);
    }
    result = add_points(soft, def, error);
    if (result != ERROR_OK) {
        return result;
    }
    SoftBody *body = &soft->bodies[soft->body_count];
    *body = (SoftBody){.def = *def,
                       .first = soft->count,
                       .count = mesh->point_count,
                       .first_constraint = soft->constraint_count,
                       .first_triangle = soft->triangle_count,
                       .triangle_count = mesh->triangle_count,
                       .first_segment = soft->segment_count,
                       .closed = mesh->closed,
                       .mass_kg = def->mass_kg};
    body->def.mesh = NULL;
    body->def.pins = NULL;
    Maker maker = {soft, body, false};
    if (mesh->grid[0] != 0) {
        add_grid_edges(&maker, def);
    } else {
        add_mesh_edges(&maker, def);
    }
    add_sticks(&maker, def);
    if (maker.full || !add_triangles(soft, mesh, body->first) || !add_segments(soft, mesh, body) ||
        !add_pins(soft, rigid, def, body->first)) {
        return error_set(error, ERROR_MEMORY, "no memory for the constraints of %u points",
                         mesh->point_count);
    }
    *range = (SoftRange){body->first, body->count, soft->body_count, body->mass_kg};
    soft->count += mesh->point_count;
    soft->body_count++;
    return ERROR_OK;
}

int soft_build(Soft *soft)
{
    int (*const makers[])(Soft *) = {packs_create, methods_create, wholes_create, crowd_create,
                                     touch_create};
    for (u32 i = 0; i < PL_COUNT(makers); i++) {
        int result = makers[i](soft);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_OK;
}
