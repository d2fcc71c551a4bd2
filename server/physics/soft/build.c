/* build.c: builds particles, constraints, triangles and attachments from a definition. */
#include "server/physics/soft/build.h"
#include "server/physics/soft/body_constraint.h"

#include <stdlib.h>

SoftDef soft_def_default(void)
{
    SoftDef def = {.orientation = {1.0f, 0.0f, 0.0f, 0.0f}};
#include "server/physics/option_default_rows.h"
#include "shared/rows/soft.def"
    return def;
}

static bool grow_points(Soft *soft, u32 needed)
{
    u32 rooms[4] = {soft->capacity, soft->capacity, soft->capacity, soft->capacity};
    if (needed <= soft->capacity) {
        return true;
    }
    u32 capacity = u32_max(needed, soft->capacity * 2);
    SoftPoint *points = aligned_alloc(64, ((size_t)capacity * sizeof *points + 63) / 64 * 64);
    if (points == NULL ||
        !memory_grow((void **)&soft->rest, &rooms[0], capacity, sizeof *soft->rest) ||
        !memory_grow((void **)&soft->matter, &rooms[1], capacity, sizeof *soft->matter) ||
        !memory_grow((void **)&soft->drag, &rooms[2], capacity, sizeof *soft->drag) ||
        !memory_grow((void **)&soft->gust, &rooms[3], capacity, sizeof *soft->gust)) {
        free(points);
        return false;
    }
    if (soft->count != 0) {
        memcpy(points, soft->points, soft->count * sizeof *points);
    }
    free(soft->points);
    soft->points = points;
    soft->capacity = capacity;
    return true;
}

/* ---- particles ---- */

/* Each point's share of the mass, held in inverse_mass until the total mass is known. A grid point
 * gets the area nearest to it; summing triangles would favour one diagonal. */
static f32 share_matter(Soft *soft, const SoftMesh *mesh, u32 first)
{
    SoftPoint *points = soft->points + first;
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        const u32 *p = mesh->tetrahedra + (size_t)4 * t;
        f32 part = soft_tetrahedron_volume(mesh->points, p) / 4.0f;
        for (u32 k = 0; k < 4; k++) {
            points[p[k]].inverse_mass += part;
        }
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *p = mesh->triangles + (size_t)3 * t;
        f32 part = soft_triangle_area(mesh->points, p) / 3.0f;
        for (u32 k = 0; k < 3; k++) {
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
    /* Beside triangles a stick weighs as a band of its thickness; joint limits weigh nothing. */
    f32 wide = mesh->triangle_count == 0 ? 1.0f : 2.0f * soft->matter[first].radius;
    for (u32 i = 0; mesh->tetrahedron_count == 0 && i < mesh->stick_count; i++) {
        const SoftStick *stick = &mesh->sticks[i];
        if (stick->low == stick->high) {
            f32 part = vec3_distance(mesh->points[stick->a], mesh->points[stick->b]);
            points[stick->a].inverse_mass += 0.5f * wide * part;
            points[stick->b].inverse_mass += 0.5f * wide * part;
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
        soft->drag[first + i] = (Symmetric3){0};
        soft->gust[first + i] = vec3_zero();
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
        p->velocity = vec3_add(def->velocity, vec3_cross(def->angular_velocity, arm));
    }
    return ERROR_OK;
}

static bool add_pins(Soft *soft, const Collider *holder, const SoftDef *def, u32 first)
{
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        u32 particle = first + pin->point;
        if (pin->body.generation == 0) {
            soft->points[particle].inverse_mass = 0.0f;
            soft->points[particle].velocity = vec3_zero();
            continue;
        }
        if (!memory_grow((void **)&soft->attachments, &soft->attachment_capacity,
                         soft->attachment_count + 1, sizeof *soft->attachments)) {
            return false;
        }
        ContactMotion motion;
        holder->ops->bodies->motion(holder->of, pin->body.slot, &motion);
        Vec3 arm = vec3_sub(soft->points[particle].position, motion.centre);
        SoftAttachment attachment = {.particle = particle,
                                     .body = pin->body,
                                     .local = quat_rotate_inverse(motion.orientation, arm),
                                     .coupled = soft->points[particle].inverse_mass};
        soft->attachments[soft->attachment_count++] = attachment;
    }
    return true;
}

/* Points of no triangle and no segment must collide with bodies themselves. */
static void mark_inner(Soft *soft, SoftBody *body)
{
    SoftMatter *matter = soft->matter;
    for (u32 i = body->first; i < body->first + body->count; i++) {
        matter[i].inner = true;
    }
    for (u32 i = body->first_triangle; i < soft->triangle_count; i++) {
        const u32 *p = soft->triangles[i].point;
        matter[p[0]].inner = matter[p[1]].inner = matter[p[2]].inner = false;
    }
    for (u32 i = body->first_segment; i < soft->segment_count; i++) {
        const u32 *p = soft->segments[i].point;
        matter[p[0]].inner = matter[p[1]].inner = false;
    }
    for (u32 i = body->first; i < body->first + body->count; i++) {
        body->inner = body->inner || matter[i].inner;
    }
}

static bool add_triangles(Soft *soft, const SoftMesh *mesh, u32 first)
{
    if (!memory_grow((void **)&soft->triangles, &soft->triangle_capacity,
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

/* Adds sticks of fixed length as segments: joint limits are not matter and cannot be touched. */
static bool add_segments(Soft *soft, const SoftMesh *mesh, SoftBody *body)
{
    if (!memory_grow((void **)&soft->segments, &soft->segment_capacity,
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

static int add_body(Soft *soft, const Collider *holder, const SoftDef *def, ErrorText *error)
{
    const SoftMesh *mesh = def->mesh;
    if (!grow_points(soft, soft->count + mesh->point_count) ||
        !memory_grow((void **)&soft->bodies, &soft->body_capacity, soft->body_count + 1,
                     sizeof *soft->bodies)) {
        return error_set(error, ERROR_MEMORY, "out of memory for %u points", mesh->point_count);
    }
    int result = add_points(soft, def, error);
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
                       .columns = mesh->grid[0],
                       .ring = soft_mesh_ring_length(mesh),
                       .mass_kg = def->mass_kg};
    body->def.mesh = NULL;
    body->def.pins = NULL;
    if (!add_triangles(soft, mesh, body->first) || !add_segments(soft, mesh, body) ||
        !add_pins(soft, holder, def, body->first)) {
        return error_set(error, ERROR_MEMORY,
                         "out of memory for the triangles and pins of %u points",
                         mesh->point_count);
    }
    mark_inner(soft, body);
    if (body->closed || body->ring != 0) {
        body->rest_volume = (f32)pressure_volume(soft, body, def->volume);
        if (def->pressure > 0.0f && !(body->rest_volume > 0.0f)) {
            return error_set(error, ERROR_RANGE, "pressure %g Pa: the mesh has a volume of %g m³",
                             (double)def->pressure, (double)body->rest_volume);
        }
    }
    Maker maker = {soft, body, def, error, ERROR_OK};
    build_links(&maker);
    build_tethers(&maker);
    return maker.result;
}

int soft_add(Soft *soft, const Collider *holder, const SoftDef *def, SoftRange *range,
             ErrorText *error)
{
    u32 constraints = soft->constraint_count, shapes = soft->shape_count;
    u32 triangles = soft->triangle_count, attachments = soft->attachment_count;
    u32 segments = soft->segment_count;
    int result = build_check(soft, holder, def, error);
    result = result != ERROR_OK ? result : add_body(soft, holder, def, error);
    if (result != ERROR_OK) {
        soft->constraint_count = constraints;
        soft->shape_count = shapes;
        soft->triangle_count = triangles;
        soft->attachment_count = attachments;
        soft->segment_count = segments;
        return result;
    }
    const SoftBody *body = &soft->bodies[soft->body_count];
    *range = (SoftRange){body->first, body->count, soft->body_count, body->mass_kg};
    soft->count += body->count;
    soft->body_count++;
    return ERROR_OK;
}

int soft_build(Soft *soft)
{
    int (*const makers[])(Soft *) = {
        stiffs_create,       batches_create,        coupled_mass_create,
        loads_create,        methods_create,        body_constraints_create,
        soft_contact_create, self_collision_create, rest_create};
    for (u32 i = 0; i < PL_COUNT(makers); i++) {
        int result = makers[i](soft);
        if (result != ERROR_OK) {
            return result;
        }
    }
    return ERROR_OK;
}
