/*
 * manifold_compound.c: compounds against everything, child by child.
 */
#include "server/physics/rigid/narrow/manifold_solid.h"

static ShapePose child_pose(const ShapePose *compound, const CompoundChild *child)
{
    ShapePose pose = {
        &child->shape,
        vec3_add(compound->position, quat_rotate(compound->orientation, child->position)),
        quat_mul(compound->orientation, child->orientation)};
    return pose;
}

/* Radius about the pose's position; infinite for planes and ground. */
static f32 reach_of(const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_PLANE:
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
        return INFINITY;
    case SHAPE_HULL:
    case SHAPE_COMPOUND: {
        const Bounds *b = &shape->geometry->bounds;
        return vec3_length(vec3_max(vec3_abs(b->min), vec3_abs(b->max)));
    }
    default:
        return shape_reach(shape);
    }
}

static void add_child(const ShapePose *child, u32 index, const ShapePose *other, f32 margin,
                      Vec3 origin, ManifoldCollide *collide, Gather *gather)
{
    f32 reach = reach_of(child->shape) + reach_of(other->shape) + margin;
    Vec3 d = vec3_sub(child->position, other->position);
    if (vec3_length_squared(d) > reach * reach) {
        return;
    }
    Manifold found[MANIFOLDS_MAX];
    u32 count = collide(child, other, margin, found, MANIFOLDS_MAX);
    for (u32 i = 0; i < count; i++) {
        for (u32 p = 0; p < found[i].count; p++) {
            ManifoldPoint *point = &found[i].points[p];
            u32 cut = point->feature & FEATURE_CUT;
            point->feature = (feature_mix(index, point->feature) & ~FEATURE_CUT) | cut;
            point->position = vec3_sub(point->position, origin);
        }
        gather_add(gather, found[i].normal, found[i].points, found[i].count);
    }
}

u32 manifold_compound(const ShapePose *compound, const ShapePose *other, f32 margin,
                      ManifoldCollide *collide, Manifold *manifolds, u32 capacity)
{
    const Compound *children = &compound->shape->geometry->compound;
    Gather gather;
    gather_begin(&gather, 1e-3f * reach_of(compound->shape));
    for (u32 i = 0; i < children->child_count; i++) {
        ShapePose child = child_pose(compound, &children->children[i]);
        add_child(&child, i, other, margin, compound->position, collide, &gather);
    }
    u32 count = gather_end(&gather, manifolds, capacity);
    for (u32 i = 0; i < count; i++) {
        for (u32 p = 0; p < manifolds[i].count; p++) {
            manifolds[i].points[p].position =
                vec3_add(manifolds[i].points[p].position, compound->position);
        }
    }
    return count;
}
