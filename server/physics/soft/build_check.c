/* build_check.c: no number of a definition is used before it is seen here. */
#include "server/physics/soft/build.h"

#include "shared/limits.h"

/* Shorter edges have no direction to keep (m); flatter things no area or volume. */
static const f32 edge_min = 1e-6f, area_min = 1e-13f, volume_min = 1e-20f;

typedef struct Field {
    const char *name;
    f32 value, low, high;
    const char *unit;
} Field;

static int check_fields(const Field *fields, u32 count, ErrorText *error)
{
    for (u32 i = 0; i < count; i++) {
        const Field *f = &fields[i];
        if (!(f->value >= f->low && f->value <= f->high)) {
            return error_set(error, ERROR_RANGE, "%s %g%s: %g to %g", f->name, (double)f->value,
                             f->unit, (double)f->low, (double)f->high);
        }
    }
    return ERROR_OK;
}

static int check_numbers(const SoftDef *def, ErrorText *error)
{
    const f32 far = WORLD_EXTENT_MAX_M, any = -3.4e38f;
    const f32 q = quat_dot(def->orientation, def->orientation);
    const Field fields[] = {
        {"position.x", def->position.x, -far, far, " m"},
        {"position.y", def->position.y, -far, far, " m"},
        {"position.z", def->position.z, -far, far, " m"},
        {"orientation's length squared", q, 0.99f, 1.01f, ""},
        {"velocity.x", def->velocity.x, -1e3f, 1e3f, " m/s"},
        {"velocity.y", def->velocity.y, -1e3f, 1e3f, " m/s"},
        {"velocity.z", def->velocity.z, -1e3f, 1e3f, " m/s"},
        {"spin.x", def->spin.x, -1e4f, 1e4f, " rad/s"},
        {"spin.y", def->spin.y, -1e4f, 1e4f, " rad/s"},
        {"spin.z", def->spin.z, -1e4f, 1e4f, " rad/s"},
        {"mass_kg", def->mass_kg, 1e-9f, 1e9f, ""},
        {"iterations", (f32)def->iterations, 1.0f, SOFT_ITERATIONS_MAX, ""},
        {"stiffness", def->stiffness, 0.0f, 1.0f, ""},
        {"stretch_compliance", def->stretch_compliance, any, 1e12f, " m/N"},
        {"shear_compliance", def->shear_compliance, any, 1e12f, " m/N"},
        {"bend_compliance", def->bend_compliance, any, 1e12f, ""},
        {"area_compliance", def->area_compliance, any, 1e12f, ""},
        {"volume_compliance", def->volume_compliance, any, 1e12f, ""},
        {"stretch_min", def->stretch_min, 0.0f, 1.0f, ""},
        {"stretch_max", def->stretch_max, def->stretch_max == 0.0f ? 0.0f : 1.0f, 100.0f, ""},
        {"young", def->young, 0.0f, 1e12f, " Pa"},
        {"poisson", def->poisson, 0.0f, 0.499f, ""},
        {"pressure", def->pressure, 0.0f, 1e8f, " Pa"},
        {"inflate_s", def->inflate_s, 0.0f, 1e5f, " s"},
        {"match_stiffness", def->match_stiffness, 1e-6f, 1.0f, ""},
        {"match_beta", def->match_beta, 0.0f, 1.0f, ""},
        {"yield", def->yield, 0.0f, 100.0f, ""},
        {"creep", def->creep, 0.0f, 1e5f, " 1/s"},
        {"plastic_max", def->plastic_max, 0.0f, 10.0f, ""},
        {"damping", def->damping, 0.0f, 1e5f, " 1/s"},
        {"smoothing", def->smoothing, 0.0f, 1e5f, " 1/s"},
        {"spring_damping", def->spring_damping, any, 1e3f, " s"},
        {"thickness", def->thickness, 0.0f, 10.0f, " m"},
        {"friction", def->friction, 0.0f, 100.0f, ""},
        {"static_friction", def->static_friction, 0.0f, 100.0f, ""},
        {"rolling_resistance", def->rolling_resistance, 0.0f, 1.0f, ""},
        {"contact_stiffness", def->contact_stiffness, 0.0f, 1e9f, " N/m"},
    };
    int result = check_fields(fields, PL_COUNT(fields), error);
    if (result != ERROR_OK) {
        return result;
    }
    const struct {
        const char *name;
        u32 value, count;
    } kinds[] = {{"method", (u32)def->method, SOFT_METHOD_COUNT},
                 {"bend", (u32)def->bend, SOFT_BEND_ISOMETRIC + 1},
                 {"volume", (u32)def->volume, SOFT_VOLUME_ELLIPSOID + 1},
                 {"match", (u32)def->match, SOFT_MATCH_QUADRATIC + 1}};
    for (u32 i = 0; i < PL_COUNT(kinds); i++) {
        if (kinds[i].value >= kinds[i].count) {
            return error_set(error, ERROR_RANGE, "%s %u: below %u", kinds[i].name, kinds[i].value,
                             kinds[i].count);
        }
    }
    return ERROR_OK;
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
        return error_set(error, ERROR_LIMIT, "%u points: a world has 1 to %d in all",
                         mesh->point_count, PARTICLES_MAX);
    }
    for (u32 i = 0; i < mesh->point_count; i++) {
        if (!(vec3_length(mesh->points[i]) <= 2.0f * WORLD_EXTENT_MAX_M)) {
            return error_set(error, ERROR_RANGE, "point %u: not a place in the world", i);
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

static int check_pins(const Rigid *rigid, const SoftDef *def, ErrorText *error)
{
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        if (pin->point >= def->mesh->point_count) {
            return error_set(error, ERROR_RANGE, "pin %u: point %u of %u", i, pin->point,
                             def->mesh->point_count);
        }
        if (pin->body.generation != 0 && (rigid == NULL || !rigid_alive(rigid, pin->body))) {
            return error_set(error, ERROR_RANGE, "pin %u: its body does not live", i);
        }
    }
    return ERROR_OK;
}

/* A number alone may be fine and still mean nothing for this mesh. */
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

int build_check(const Soft *soft, const Rigid *rigid, const SoftDef *def, ErrorText *error)
{
    int result = check_mesh(soft, def->mesh, error);
    result = result != ERROR_OK ? result : check_numbers(def, error);
    result = result != ERROR_OK ? result : check_pins(rigid, def, error);
    return result != ERROR_OK ? result : check_together(def, error);
}
