/* build_check.c: every number of a definition is checked here before use. */
#include "server/physics/option.h"
#include "server/physics/soft/build.h"

#include "shared/base/limits.h"

/* Shorter edges (m) have no usable direction; flatter elements no usable area or volume. */
static const f32 edge_min = 1e-6f, area_min = 1e-13f, volume_min = 1e-20f;

/* Checks members, in SI units, under their names. */
static int check_numbers(const SoftDef *def, ErrorText *error)
{
    const OptionRange own[] = {{"orientation's length squared", "",
                                quat_dot(def->orientation, def->orientation), 0.99f, 0.99f, 1.01f},
                               {"mass_kg", "", def->mass_kg, 1e-9f, 1e-9f, 1e9f}};
    int result = option_check_number(&own[0], error);
    result = result != ERROR_OK ? result : option_check_number(&own[1], error);
#include "server/physics/option_check_rows.h"
#include "shared/rows/soft.def"
    return result;
}

static int check_triangles(const SoftMesh *mesh, ErrorText *error)
{
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *p = mesh->triangles + (size_t)3 * t;
        for (u32 k = 0; k < 3; k++) {
            if (p[k] >= mesh->point_count) {
                return error_set(error, ERROR_RANGE, "triangle %u: point %u of %u", t, p[k],
                                 mesh->point_count);
            }
        }
        for (u32 k = 0; k < 3; k++) {
            u32 a = p[k], b = p[(k + 1) % 3];
            if (!(vec3_distance(mesh->points[a], mesh->points[b]) > edge_min)) {
                return error_set(error, ERROR_RANGE, "triangle %u: edge %u-%u has no length", t, a,
                                 b);
            }
        }
        if (!(soft_triangle_area(mesh->points, p) > area_min)) {
            return error_set(error, ERROR_RANGE, "triangle %u has no area", t);
        }
    }
    return ERROR_OK;
}

static int check_tetrahedra(const SoftMesh *mesh, ErrorText *error)
{
    for (u32 t = 0; t < mesh->tetrahedron_count; t++) {
        const u32 *p = mesh->tetrahedra + (size_t)4 * t;
        for (u32 k = 0; k < 4; k++) {
            if (p[k] >= mesh->point_count) {
                return error_set(error, ERROR_RANGE, "tetrahedron %u: point %u of %u", t, p[k],
                                 mesh->point_count);
            }
        }
        if (!(soft_tetrahedron_volume(mesh->points, p) > volume_min)) {
            return error_set(error, ERROR_RANGE, "tetrahedron %u has no volume, or is inside out",
                             t);
        }
    }
    return ERROR_OK;
}

static int check_sticks(const SoftMesh *mesh, ErrorText *error)
{
    for (u32 i = 0; i < mesh->stick_count; i++) {
        const SoftStick *s = &mesh->sticks[i];
        if (s->a >= mesh->point_count || s->b >= mesh->point_count) {
            return error_set(error, ERROR_RANGE, "stick %u: points %u and %u of %u", i, s->a, s->b,
                             mesh->point_count);
        }
        if (!(s->low >= 0.0f && s->high >= s->low && s->high > edge_min && s->low < 1e9f) ||
            s->a == s->b) {
            return error_set(error, ERROR_RANGE,
                             "stick %u, %u-%u: length %g to %g m: 0 <= low <= high, high > 0", i,
                             s->a, s->b, (double)s->low, (double)s->high);
        }
    }
    return ERROR_OK;
}

static int check_mesh(const Soft *soft, const SoftMesh *mesh, ErrorText *error)
{
    if (mesh->point_count == 0 || mesh->point_count > PARTICLES_MAX - soft->count) {
        return error_set(error, ERROR_LIMIT, "%u points: expected 1 to %d in all bodies",
                         mesh->point_count, PARTICLES_MAX);
    }
    for (u32 i = 0; i < mesh->point_count; i++) {
        if (!(vec3_length(mesh->points[i]) <= 2.0f * WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE, "point %u: outside the world", i);
        }
    }
    if (mesh->grid[0] != 0 && (u64)mesh->grid[0] * mesh->grid[1] != mesh->point_count) {
        return error_set(error, ERROR_RANGE, "a grid of %u x %u with %u points", mesh->grid[0],
                         mesh->grid[1], mesh->point_count);
    }
    int result = check_triangles(mesh, error);
    result = result != ERROR_OK ? result : check_tetrahedra(mesh, error);
    return result != ERROR_OK ? result : check_sticks(mesh, error);
}

static int check_pins(const Collider *holder, const SoftDef *def, ErrorText *error)
{
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        if (pin->point >= def->mesh->point_count) {
            return error_set(error, ERROR_RANGE, "pin %u: point %u of %u", i, pin->point,
                             def->mesh->point_count);
        }
        if (pin->body.generation != 0 &&
            (holder == NULL || !holder->ops->bodies->alive(holder->of, pin->body))) {
            return error_set(error, ERROR_RANGE, "pin %u: its body does not exist", i);
        }
    }
    return ERROR_OK;
}

/* Checks combinations: valid numbers may still be meaningless for this mesh. */
static int check_together(const SoftDef *def, ErrorText *error)
{
    const SoftMesh *mesh = def->mesh;
    if (def->young > 0.0f && mesh->tetrahedron_count == 0) {
        return error_set(error, ERROR_RANGE, "young %g Pa: the mesh has no tetrahedra",
                         (double)def->young);
    }
    if (def->pressure > 0.0f && !mesh->closed && soft_mesh_ring_length(mesh) == 0) {
        return error_set(error, ERROR_RANGE,
                         "pressure %g Pa: the mesh is neither a closed surface nor a ring",
                         (double)def->pressure);
    }
    if (def->yield > 0.0f && def->match == SOFT_MATCH_NONE) {
        return error_set(error, ERROR_RANGE, "yield %g: only of bodies with match",
                         (double)def->yield);
    }
    return ERROR_OK;
}

int build_check(const Soft *soft, const Collider *holder, const SoftDef *def, ErrorText *error)
{
    int result = check_mesh(soft, def->mesh, error);
    result = result != ERROR_OK ? result : check_numbers(def, error);
    result = result != ERROR_OK ? result : check_pins(holder, def, error);
    return result != ERROR_OK ? result : check_together(def, error);
}
