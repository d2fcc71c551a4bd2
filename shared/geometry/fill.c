/* fill.c: lattice points in convex shapes. See fill.h. */
#include "shared/geometry/fill.h"

#include "shared/geometry/geometry.h"

/* A side that is a whole number of spacings long holds as many points, whatever rounding says. */
static const f32 side_slack = 1e-3f;

static bool in_hull(const Hull *hull, Vec3 p)
{
    for (u32 i = 0; i < hull->face_count; i++) {
        if (!(vec3_dot(hull->normals[i], p) <= hull->offsets[i])) {
            return false;
        }
    }
    return true;
}

static bool contains(const Shape *shape, Vec3 p)
{
    f32 across = p.x * p.x + p.z * p.z, r = shape->radius;
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return vec3_dot(p, p) <= r * r;
    case SHAPE_BOX:
        return fabsf(p.x) <= shape->half.x && fabsf(p.y) <= shape->half.y &&
               fabsf(p.z) <= shape->half.z;
    case SHAPE_CAPSULE: {
        f32 beyond = f32_max(fabsf(p.y) - shape->half_height, 0.0f);
        return across + beyond * beyond <= r * r;
    }
    case SHAPE_PLANE:
        return p.y <= 0.0f;
    case SHAPE_CYLINDER:
        return fabsf(p.y) <= shape->half_height && across <= r * r;
    case SHAPE_CONE: {
        f32 here = r * (shape->half_height - p.y) / (2.0f * shape->half_height);
        return fabsf(p.y) <= shape->half_height && across <= here * here;
    }
    case SHAPE_HULL:
        return in_hull(&shape->geometry->hull, p);
    default:
        return false;
    }
}

bool fill_contains(const FillVolume *volume, Vec3 point)
{
    Vec3 p = quat_rotate_inverse(volume->orientation, vec3_sub(point, volume->position));
    return contains(&volume->shape, p);
}

/* The lattice of a volume in its frame: `count` points along each axis from `first`. */
typedef struct FillLattice {
    Vec3 first; /* m */
    u64 count[3];
} FillLattice;

static f32 first_of(f32 min, f32 max, f32 spacing, u64 *count)
{
    f64 sides = ((f64)max - (f64)min) / (f64)spacing;
    *count = (u64)(sides + (f64)side_slack);
    return 0.5f * (min + max) - 0.5f * (f32)(*count > 0 ? *count - 1 : 0) * spacing;
}

static FillLattice lattice_of(const FillVolume *volume, f32 spacing)
{
    FillLattice lattice = {0};
    if (shape_is_convex(&volume->shape)) {
        Bounds local = shape_bounds(&volume->shape, vec3_zero(), quat_identity());
        lattice.first.x = first_of(local.min.x, local.max.x, spacing, &lattice.count[0]);
        lattice.first.y = first_of(local.min.y, local.max.y, spacing, &lattice.count[1]);
        lattice.first.z = first_of(local.min.z, local.max.z, spacing, &lattice.count[2]);
    }
    return lattice;
}

u64 fill_cells(const FillVolume *volume, f32 spacing_m)
{
    FillLattice lattice = lattice_of(volume, spacing_m);
    f64 cells = (f64)lattice.count[0] * (f64)lattice.count[1] * (f64)lattice.count[2];
    return cells < 1e18 ? (u64)cells : UINT64_MAX;
}

bool fill_visit(const FillVolume *volume, f32 spacing_m, bool (*visit)(void *context, Vec3 point),
                void *context)
{
    FillLattice lattice = lattice_of(volume, spacing_m);
    for (u64 y = 0; y < lattice.count[1]; y++) {
        for (u64 z = 0; z < lattice.count[2]; z++) {
            for (u64 x = 0; x < lattice.count[0]; x++) {
                Vec3 at = {lattice.first.x + (f32)x * spacing_m,
                           lattice.first.y + (f32)y * spacing_m,
                           lattice.first.z + (f32)z * spacing_m};
                if (contains(&volume->shape, at) &&
                    !visit(context,
                           vec3_add(volume->position, quat_rotate(volume->orientation, at)))) {
                    return false;
                }
            }
        }
    }
    return true;
}
