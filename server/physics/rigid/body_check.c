/* body_check.c: validates body definitions. They come from scenes and clients, so they are data:
 * whatever would break the solver (a NaN pose, no size, no mass) is refused here, once. */
#include "server/physics/rigid/rigid.h"
#include "shared/base/limits.h"
#include "shared/geometry/geometry.h"

/* Inertias of smaller bodies cannot be inverted in single precision together with metre-sized
 * ones. */
#define BODY_SIZE_MIN_M    1e-4f
#define BODY_MASS_MIN_KG   1e-6f
#define BODY_MASS_MAX_KG   1e9f
#define BODY_ROLLING_MAX   1e6f
#define BODY_QUAT_LENGTH_2 1e-6f

static bool in_range(f32 value, f32 least, f32 most)
{
    /* False for NaN. */
    return value >= least && value <= most;
}

static bool size_is_valid(f32 size)
{
    return in_range(size, BODY_SIZE_MIN_M, WORLD_EXTENT_MAX_M);
}

static bool vector_is_valid(Vec3 v, f32 most)
{
    return in_range(v.x, -most, most) && in_range(v.y, -most, most) && in_range(v.z, -most, most);
}

static bool geometry_is(const Shape *shape, GeometryKind kind)
{
    return shape->geometry != NULL && shape->geometry->kind == kind;
}

static bool shape_is_valid(const Shape *shape, BodyMotion motion)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return size_is_valid(shape->radius);
    case SHAPE_BOX:
        return size_is_valid(shape->half.x) && size_is_valid(shape->half.y) &&
               size_is_valid(shape->half.z);
    case SHAPE_CAPSULE:
        return size_is_valid(shape->radius) && in_range(shape->half_height, 0, WORLD_EXTENT_MAX_M);
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return size_is_valid(shape->radius) && size_is_valid(shape->half_height);
    case SHAPE_PLANE:
        return motion == BODY_STATIC;
    case SHAPE_HULL:
        return geometry_is(shape, GEOMETRY_HULL);
    case SHAPE_MESH:
        return geometry_is(shape, GEOMETRY_MESH) && motion != BODY_DYNAMIC;
    case SHAPE_TERRAIN:
        return geometry_is(shape, GEOMETRY_TERRAIN) && motion == BODY_STATIC;
    case SHAPE_COMPOUND:
        return geometry_is(shape, GEOMETRY_COMPOUND);
    case SHAPE_NONE:
    case SHAPE_KIND_COUNT:
        break;
    }
    return false;
}

bool body_def_is_valid(const BodyDef *def)
{
    Quat q = def->orientation;
    f32 length2 = quat_dot(q, q);
    bool valid = (u32)def->motion < BODY_MOTION_COUNT;
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    valid = valid && in_range(def->member, (least) < 0.0f ? -(bears) : (least), bears);
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    valid = valid && vector_is_valid(def->member, bears);
#include "shared/rows/body.def"
    if (def->motion == BODY_DYNAMIC &&
        !in_range(def->mass_kg, BODY_MASS_MIN_KG, BODY_MASS_MAX_KG)) {
        return false;
    }
    return valid && shape_is_valid(&def->shape, def->motion) &&
           in_range(length2, BODY_QUAT_LENGTH_2, 1.0f / BODY_QUAT_LENGTH_2) &&
           in_range(def->rolling, 0.0f, BODY_ROLLING_MAX);
}
