/* shape.c: bounds and mass properties of all shapes. */
#include "shared/base/limits.h"
#include "shared/geometry/geometry.h"

#define PI 3.14159265358979323846f

const char *shape_kind_name(ShapeKind kind)
{
    static const char *const names[] = {"none", "sphere", "box",  "capsule", "plane",   "cylinder",
                                        "cone", "hull",   "mesh", "terrain", "compound"};
    return (u32)kind < PL_COUNT(names) ? names[kind] : "none";
}

bool shape_is_convex(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
    case SHAPE_BOX:
    case SHAPE_CAPSULE:
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
    case SHAPE_HULL:
        return true;
    default:
        return false;
    }
}

f32 shape_volume(const Shape *shape)
{
    f32 r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return 4.0f / 3.0f * PI * r * r * r;
    case SHAPE_BOX:
        return 8.0f * shape->half.x * shape->half.y * shape->half.z;
    case SHAPE_CAPSULE:
        return PI * r * r * (2.0f * shape->half_height + 4.0f / 3.0f * r);
    case SHAPE_CYLINDER:
        return PI * r * r * 2.0f * shape->half_height;
    case SHAPE_CONE:
        return PI * r * r * 2.0f / 3.0f * shape->half_height;
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_COMPOUND:
        return shape->geometry->volume;
    default:
        return 0.0f;
    }
}

/* ---- mass ---- */

/* A cylinder and two half balls that share the mass by volume; each half ball has 2/5 m r² about
 * its ball's centre, and its own centre of mass lies 3/8 r outwards (parallel axis theorem). */
static Vec3 capsule_inertia(const Shape *shape, f32 mass_kg)
{
    f32 r = shape->radius;
    f32 height = 2.0f * shape->half_height;
    f32 length = height + 4.0f / 3.0f * r;
    if (!(length > 0.0f)) {
        return vec3_zero();
    }
    f32 cylinder_kg = mass_kg * height / length;
    f32 caps_kg = mass_kg - cylinder_kg;
    f32 along = (0.5f * cylinder_kg + 0.4f * caps_kg) * r * r;
    f32 across = cylinder_kg * (0.25f * r * r + height * height / 12.0f) +
                 caps_kg * (0.4f * r * r + 0.25f * height * height + 0.375f * height * r);
    return vec3(across, along, across);
}

Vec3 shape_inertia(const Shape *shape, f32 mass_kg)
{
    f32 rr = shape->radius * shape->radius;
    f32 hh = shape->half_height * shape->half_height;
    switch (shape->kind) {
    case SHAPE_SPHERE: {
        f32 i = 0.4f * mass_kg * rr;
        return vec3(i, i, i);
    }
    case SHAPE_BOX: {
        Vec3 s = vec3_mul(shape->half, shape->half);
        return vec3_scale(vec3(s.y + s.z, s.x + s.z, s.x + s.y), mass_kg / 3.0f);
    }
    case SHAPE_CAPSULE:
        return capsule_inertia(shape, mass_kg);
    case SHAPE_CYLINDER: {
        f32 across = mass_kg * (0.25f * rr + hh / 3.0f);
        return vec3(across, 0.5f * mass_kg * rr, across);
    }
    case SHAPE_CONE: { /* of height 2 h: 3/20 r² + 3/80 (2 h)² */
        f32 across = mass_kg * 0.15f * (rr + hh);
        return vec3(across, 0.3f * mass_kg * rr, across);
    }
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_COMPOUND: {
        Symmetric3 inertia = shape_mass(shape, mass_kg).inertia;
        return vec3(inertia.xx, inertia.yy, inertia.zz);
    }
    default:
        return vec3_zero();
    }
}

MassProperties shape_mass(const Shape *shape, f32 mass_kg)
{
    MassProperties mass = {mass_kg, vec3_zero(), symmetric_diagonal(vec3_zero())};
    switch (shape->kind) {
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_COMPOUND:
        if (shape->geometry->volume > 0.0f) {
            mass.centre = shape->geometry->centre;
            mass.inertia =
                symmetric_scale(shape->geometry->inertia, mass_kg / shape->geometry->volume);
        }
        break;
    case SHAPE_CONE: /* a quarter of the height above the base */
        mass.centre = vec3(0.0f, -0.5f * shape->half_height, 0.0f);
        mass.inertia = symmetric_diagonal(shape_inertia(shape, mass_kg));
        break;
    default:
        mass.inertia = symmetric_diagonal(shape_inertia(shape, mass_kg));
        break;
    }
    return mass;
}

/* ---- bounds ---- */

f32 shape_inner_radius(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
    case SHAPE_CAPSULE:
        return shape->radius;
    case SHAPE_BOX:
        return f32_min(shape->half.x, f32_min(shape->half.y, shape->half.z));
    case SHAPE_CYLINDER:
        return f32_min(shape->radius, shape->half_height);
    case SHAPE_CONE: {
        f32 height = 2.0f * shape->half_height, r = shape->radius;
        return r * height / (r + sqrtf(r * r + height * height));
    }
    case SHAPE_HULL:
        return shape->geometry->hull.inner_radius;
    case SHAPE_COMPOUND: {
        const Compound *compound = &shape->geometry->compound;
        f32 least = INFINITY;
        for (u32 i = 0; i < compound->child_count; i++) {
            least = f32_min(least, shape_inner_radius(&compound->children[i].shape));
        }
        return least;
    }
    default:
        return 0.0f;
    }
}

f32 shape_reach(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_BOX:
        return vec3_length(shape->half);
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return sqrtf(shape->radius * shape->radius + shape->half_height * shape->half_height);
    case SHAPE_SPHERE:
        return shape->radius;
    case SHAPE_CAPSULE:
        return shape->radius + shape->half_height;
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
    case SHAPE_COMPOUND:
        return shape->geometry->reach;
    default:
        return 0.0f;
    }
}

/* Half size of the bounding box of a rotated box. */
static Vec3 rotated_extent(Vec3 half, Quat orientation)
{
    Mat3 m = mat3_from_quat(orientation);
    Vec3 e = vec3_scale(vec3_abs(m.x), half.x);
    e = vec3_add_scaled(e, half.y, vec3_abs(m.y));
    return vec3_add_scaled(e, half.z, vec3_abs(m.z));
}

/* Half size of the bounding box of a disc about the frame's y axis: along each world axis its
 * radius times the sine of the angle between that axis and y, from the other two columns, which
 * is exact near zero. */
static Vec3 disc_extent(f32 radius, const Mat3 *m)
{
    Vec3 s = vec3_add(vec3_mul(m->x, m->x), vec3_mul(m->z, m->z));
    return vec3_scale(vec3(sqrtf(s.x), sqrtf(s.y), sqrtf(s.z)), radius);
}

static Bounds bounds_around(Vec3 centre, Vec3 extent)
{
    Bounds bounds = {vec3_sub(centre, extent), vec3_add(centre, extent)};
    return bounds;
}

/* Two discs (a cone's second one is its apex) on the frame's y axis. */
static Bounds bounds_of_discs(const Shape *shape, f32 top_radius, Vec3 position, Quat orientation)
{
    Mat3 m = mat3_from_quat(orientation);
    Vec3 up = vec3_scale(m.y, shape->half_height);
    Bounds top = bounds_around(up, disc_extent(top_radius, &m));
    Bounds base = bounds_around(vec3_neg(up), disc_extent(shape->radius, &m));
    Bounds bounds = {vec3_add(position, vec3_min(top.min, base.min)),
                     vec3_add(position, vec3_max(top.max, base.max))};
    return bounds;
}

static Bounds bounds_of_hull(const Hull *hull, Vec3 position, Quat orientation)
{
    Mat3 m = mat3_from_quat(orientation);
    Vec3 low = mat3_mul(m, hull->vertices[0]);
    Vec3 high = low;
    for (u32 i = 1; i < hull->vertex_count; i++) {
        Vec3 v = mat3_mul(m, hull->vertices[i]);
        low = vec3_min(low, v);
        high = vec3_max(high, v);
    }
    Bounds bounds = {vec3_add(position, low), vec3_add(position, high)};
    return bounds;
}

/* Bounding box of the rotated local box: not tight, but meshes and terrains rarely rotate. */
static Bounds bounds_of_box(Bounds local, Vec3 position, Quat orientation)
{
    Vec3 centre = vec3_scale(vec3_add(local.min, local.max), 0.5f);
    Vec3 half = vec3_scale(vec3_sub(local.max, local.min), 0.5f);
    return bounds_around(vec3_add(position, quat_rotate(orientation, centre)),
                         rotated_extent(half, orientation));
}

static Bounds bounds_of_compound(const Compound *compound, Vec3 position, Quat orientation)
{
    Bounds bounds = {position, position};
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        Bounds b = shape_bounds(&child->shape,
                                vec3_add(position, quat_rotate(orientation, child->position)),
                                quat_mul(orientation, child->orientation));
        bounds.min = i == 0 ? b.min : vec3_min(bounds.min, b.min);
        bounds.max = i == 0 ? b.max : vec3_max(bounds.max, b.max);
    }
    return bounds;
}

Bounds shape_bounds(const Shape *shape, Vec3 position, Quat orientation)
{
    f32 r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return bounds_around(position, vec3(r, r, r));
    case SHAPE_BOX:
        return bounds_around(position, rotated_extent(shape->half, orientation));
    case SHAPE_CAPSULE: {
        Vec3 axis = rotated_extent(vec3(0.0f, shape->half_height, 0.0f), orientation);
        return bounds_around(position, vec3_add(axis, vec3(r, r, r)));
    }
    case SHAPE_PLANE:
        return bounds_around(vec3_zero(),
                             vec3(WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M, WORLD_EXTENT_MAX_M));
    case SHAPE_CYLINDER:
        return bounds_of_discs(shape, r, position, orientation);
    case SHAPE_CONE:
        return bounds_of_discs(shape, 0.0f, position, orientation);
    case SHAPE_HULL:
        return bounds_of_hull(&shape->geometry->hull, position, orientation);
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
        return bounds_of_box(shape->geometry->bounds, position, orientation);
    case SHAPE_COMPOUND:
        return bounds_of_compound(&shape->geometry->compound, position, orientation);
    default:
        return bounds_around(position, vec3_zero());
    }
}
