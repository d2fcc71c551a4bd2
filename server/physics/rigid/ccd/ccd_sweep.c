/*
 * ccd_sweep.c: see ccd_sweep.h.
 * Method: two sweeps by conservative advancement with rotation (Mirtich 1996; bounds on the closing
 * speed as in Zhang, Lee, Kim 2006): the first, with a thinner shape, distinguishes motions that
 * must be stopped from rolling along a surface or grazing an edge; the second finds the time of
 * touch.
 */
#include "server/physics/rigid/ccd/ccd_sweep.h"
#include "server/physics/rigid/narrow/gjk.h"
#include "shared/math/trig.h"

/* Distance at which the centre of a stuck body is stopped. */
static const f32 seed_m = 0.001f;
/* In strict mode, near bodies that penetrate by this fraction of an inner radius are stopped. */
static const f32 strict_share = 0.1f;

/* A body at a surface may penetrate by this much, nearer than `floor_m` by a tenth, and is held
 * while its penetration of a piece is at most this fraction of the piece's thickness. */
static const f32 near_m = 0.0001f, floor_m = 0.0005f, inner_share = 0.5f;

enum {
    STEPS_MAX = 64, /* of one sweep: then it stops at the current time, before any touch */
    NEAR_STEPS = 8  /* for motion that starts at a surface */
};

/* A convex piece of a body, or a triangle or a plane of one. */
typedef enum PartKind {
    PART_CONVEX,
    PART_TRIANGLE,
    PART_PLANE
} PartKind;

typedef struct SweepPart {
    PartKind kind;
    const Shape *shape;
    Vec3 position; /* in the mover's frame */
    Quat orientation;
    Vec3 corners[3]; /* likewise; for a plane: a point, and its normal in [1] */
    f32 reach;       /* m, maximal distance from the origin of the frame */
} SweepPart;

/* ---- motions ---- */

static Quat rotation_since(Vec3 rotation, f32 share, Quat orientation)
{
    f32 angle = vec3_length(rotation);
    if (!(fabsf(share) * angle > 1e-6f)) {
        return orientation;
    }
    f64 sine, cosine;
    trig_sincos(0.5 * (f64)(share * angle), &sine, &cosine);
    Vec3 axis = vec3_scale(rotation, (f32)sine / angle);
    Quat rotated = {(f32)cosine, axis.x, axis.y, axis.z};
    return quat_normalize(quat_mul(rotated, orientation));
}

Mover mover_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    Mover mover = {.centre = body->position, .orientation = body->orientation};
    if (body_is_active(body)) {
        mover.shift = state->shift;
        mover.rotation = state->rotation;
        /* An explicit substep rotates by 2 atan(θ/2), not by θ. */
        f32 steps = body_is_pgs(rigid, slot) ? 1.0f : (f32)rigid->substeps;
        f32 angle = vec3_length(state->rotation), half = 0.5f * angle / steps;
        if (half > 0.05f) {
            mover.rotation = vec3_scale(mover.rotation, trig_atan2_f32(half, 1.0f) / half);
        }
        mover.centre = vec3_sub(mover.centre, mover.shift);
        mover.orientation = rotation_since(mover.rotation, -1.0f, mover.orientation);
    }
    return mover;
}

void mover_at(const Mover *mover, f32 t, Vec3 *centre, Quat *orientation)
{
    f32 share = t - mover->from;
    *centre = vec3_add_scaled(mover->centre, share, mover->shift);
    *orientation = rotation_since(mover->rotation, share, mover->orientation);
}

Placed placed_of(const Rigid *rigid, u32 slot)
{
    return (Placed){.slot = slot, .orientation = quat_identity(), .mover = mover_of(rigid, slot)};
}

void placed_at(const Placed *placed, f32 t, Vec3 *centre, Quat *orientation)
{
    Vec3 at;
    Quat rotation;
    mover_at(&placed->mover, t, &at, &rotation);
    *centre = vec3_add(at, quat_rotate(rotation, placed->position));
    *orientation = quat_mul(rotation, placed->orientation);
}

Bounds placed_bounds(const Placed *placed, f32 t, f32 reach)
{
    Vec3 start, end;
    Quat unused;
    placed_at(placed, t, &start, &unused);
    placed_at(placed, 1.0f, &end, &unused);
    /* Maximal height of the arc above its chord. */
    f32 angle = vec3_length(placed->mover.rotation) * (1.0f - t);
    f32 bulge = vec3_length(placed->position) * f32_min(0.125f * angle * angle, 2.0f);
    return bounds_grow((Bounds){vec3_min(start, end), vec3_max(start, end)},
                       reach + STOP_M + bulge);
}

static SweepPart part_convex(const Shape *shape, Vec3 position, Quat orientation)
{
    return (SweepPart){.kind = PART_CONVEX,
                       .shape = shape,
                       .position = position,
                       .orientation = orientation,
                       .reach = vec3_length(position) + shape_outer_radius(shape)};
}

static ShapePose part_pose(const Mover *mover, const SweepPart *part, f32 t)
{
    Vec3 centre;
    Quat orientation;
    mover_at(mover, t, &centre, &orientation);
    return (ShapePose){part->shape, vec3_add(centre, quat_rotate(orientation, part->position)),
                       quat_mul(orientation, part->orientation)};
}

static void part_separation(const Mover *a, const SweepPart *part_a, const Mover *b,
                            const SweepPart *part_b, f32 t, GjkResult *result)
{
    ShapePose pose = part_pose(a, part_a, t);
    if (part_b->kind == PART_CONVEX) {
        ShapePose other = part_pose(b, part_b, t);
        gjk_separation(&pose, &other, INFINITY, result);
        return;
    }
    Vec3 centre, corners[3];
    Quat orientation;
    mover_at(b, t, &centre, &orientation);
    if (part_b->kind == PART_TRIANGLE) {
        for (u32 i = 0; i < 3; i++) {
            corners[i] = vec3_add(centre, quat_rotate(orientation, part_b->corners[i]));
        }
        gjk_separation_triangle(&pose, corners, INFINITY, result);
        return;
    }
    Vec3 normal = quat_rotate(orientation, part_b->corners[1]);
    Vec3 at = vec3_add(centre, quat_rotate(orientation, part_b->corners[0]));
    Vec3 lowest = gjk_support(&pose, vec3_neg(normal));
    result->separation = vec3_dot(vec3_sub(lowest, at), normal);
    result->normal = vec3_neg(normal);
    result->on_a = result->on_b = lowest;
}

/* Upper bound of the closing speed of two parts along a direction, m per tick. */
static f32 closing_speed(const Mover *a, const SweepPart *part_a, const Mover *b,
                         const SweepPart *part_b, Vec3 normal)
{
    f32 speed = vec3_dot(vec3_sub(a->shift, b->shift), normal);
    return speed + vec3_length(vec3_cross(a->rotation, normal)) * part_a->reach +
           vec3_length(vec3_cross(b->rotation, normal)) * part_b->reach;
}

/* Closing speed at the nearest points, m per tick. */
static f32 closing_at(const Mover *a, const Mover *b, f32 t, const GjkResult *result)
{
    Vec3 centre_a, centre_b;
    Quat unused;
    mover_at(a, t, &centre_a, &unused);
    mover_at(b, t, &centre_b, &unused);
    Vec3 of_a = vec3_add(a->shift, vec3_cross(a->rotation, vec3_sub(result->on_a, centre_a)));
    Vec3 of_b = vec3_add(b->shift, vec3_cross(b->rotation, vec3_sub(result->on_b, centre_b)));
    return vec3_dot(vec3_sub(of_a, of_b), result->normal);
}

typedef enum Sweep {
    SWEEP_MISS,
    SWEEP_HIT,
    SWEEP_NEAR /* nearer than the target from the start */
} Sweep;

/* The first time from *time to before `end` at which the parts are as near as `target`. */
static Sweep sweep(const Mover *a, const SweepPart *part_a, const Mover *b, const SweepPart *part_b,
                   f32 target, f32 end, f32 *time)
{
    GjkResult result;
    f32 t = *time;
    for (u32 i = 0; i < STEPS_MAX; i++) {
        part_separation(a, part_a, b, part_b, t, &result);
        f32 gap = result.separation - target;
        if (gap <= 0.1f * STOP_M) {
            *time = t;
            return i > 0 ? SWEEP_HIT : SWEEP_NEAR;
        }
        f32 speed = closing_speed(a, part_a, b, part_b, result.normal);
        if (!(speed * (end - t) > gap)) {
            return SWEEP_MISS;
        }
        t += gap / speed;
    }
    *time = t;
    return SWEEP_HIT;
}

/* ---- the thinner shape ---- */

typedef struct Thin {
    Shape shape;
    Geometry geometry;
    Vec3 vertices[HULL_VERTICES_MAX];
} Thin;

/* Boxes and round shapes shrink uniformly; hulls and cones are scaled about an inner point,
 * which removes at least half as much. */
static const Shape *thin_shape(const Shape *shape, Thin *thin)
{
    f32 off = THIN_SHARE * shape_inner_radius(shape);
    thin->shape = *shape;
    switch (shape->kind) {
    case SHAPE_BOX:
        thin->shape.half = vec3_sub(shape->half, vec3(off, off, off));
        break;
    case SHAPE_CYLINDER:
        thin->shape.radius -= off;
        thin->shape.half_height -= off;
        break;
    case SHAPE_CONE:
        thin->shape.radius *= 1.0f - 0.5f * THIN_SHARE;
        thin->shape.half_height *= 1.0f - 0.5f * THIN_SHARE;
        break;
    case SHAPE_HULL: {
        const Hull *hull = &shape->geometry->hull;
        thin->geometry = *shape->geometry;
        for (u32 i = 0; i < hull->vertex_count; i++) {
            thin->vertices[i] = vec3_lerp(hull->vertices[i], hull->inside, 0.5f * THIN_SHARE);
        }
        thin->geometry.hull.vertices = thin->vertices;
        thin->shape.geometry = &thin->geometry;
        break;
    }
    default:
        thin->shape.radius -= off;
        break;
    }
    return &thin->shape;
}

/* An inner point: the last resort for stuck bodies. */
static SweepPart seed_part(const SweepPart *whole, Shape *point)
{
    const Shape *shape = whole->shape;
    Vec3 middle = vec3_zero();
    if (shape->kind == SHAPE_HULL) {
        middle = shape->geometry->hull.inside;
    } else if (shape->kind == SHAPE_CONE) {
        middle.y = shape_inner_radius(shape) - shape->half_height;
    }
    *point = (Shape){.kind = SHAPE_SPHERE};
    middle = vec3_add(whole->position, quat_rotate(whole->orientation, middle));
    return part_convex(point, middle, quat_identity());
}

/* ---- two parts ---- */

/* Whether the bounding balls of two parts stay separate during the whole motion. */
static bool balls_part(const Mover *a, const SweepPart *part_a, const Mover *b,
                       const SweepPart *part_b, f32 begin)
{
    if (part_b->kind == PART_PLANE) {
        return false;
    }
    Vec3 way = vec3_sub(a->shift, b->shift);
    Vec3 at = vec3_sub(vec3_add_scaled(a->centre, begin - a->from, a->shift),
                       vec3_add_scaled(b->centre, begin - b->from, b->shift));
    f32 length2 = vec3_length_squared(way);
    f32 ahead = length2 > 0.0f ? -vec3_dot(at, way) / length2 : 0.0f;
    ahead = f32_clamp(ahead, 0.0f, 1.0f - begin);
    f32 reach = part_a->reach + part_b->reach + STOP_M + RIGID_MARGIN_M;
    return vec3_length_squared(vec3_add_scaled(at, ahead, way)) > reach * reach;
}

/* Whether the second of two pieces is the one that could pass through the other. */
static bool second_is_thinner(const SweepPart *a, const SweepPart *b)
{
    f32 one = shape_inner_radius(a->shape), other = shape_inner_radius(b->shape);
    return other < one ||
           (other == one && shape_outer_radius(b->shape) < shape_outer_radius(a->shape));
}

/* Sweeps the thinner shape of one part against the other. */
static Sweep sweep_thin(const Mover *a, const SweepPart *whole, const Mover *b,
                        const SweepPart *part, f32 begin, f32 *time)
{
    Thin thin;
    SweepPart core = *whole;
    core.shape = thin_shape(whole->shape, &thin);
    *time = begin;
    return sweep(a, &core, b, part, 0.0f, 1.0f, time);
}

/* Whether a point at a surface, or slightly below it, penetrates. With rotation it may do so
 * later: rotating walls approach with the square of time. */
static bool sweep_near(const Mover *a, const SweepPart *seed, const Mover *b, const SweepPart *part,
                       f32 begin, f32 *time)
{
    GjkResult result;
    part_separation(a, seed, b, part, begin, &result);
    f32 inner = part->kind == PART_CONVEX ? shape_inner_radius(part->shape) : 0.0f;
    f32 slack = result.separation > floor_m ? near_m : 0.1f * near_m;
    f32 least = result.separation - slack;
    if (result.separation < -inner_share * inner) {
        return false; /* the side from which it came is unknown */
    }
    for (u32 i = 0; i <= NEAR_STEPS; i++) {
        f32 t = begin + (1.0f - begin) * (f32)i / NEAR_STEPS;
        part_separation(a, seed, b, part, t, &result);
        if (result.separation < least) {
            *time = begin + (1.0f - begin) * (f32)(i > 0 ? i - 1 : 0) / NEAR_STEPS;
            return true;
        }
        if (result.separation < least + 2.0f * slack &&
            closing_at(a, b, t, &result) * (1.0f - begin) > slack * NEAR_STEPS) {
            *time = t;
            return true;
        }
        if (result.separation > seed_m + 0.2f * STOP_M) {
            *time = t;
            return sweep(a, seed, b, part, seed_m, 1.0f, time) == SWEEP_HIT;
        }
    }
    return false;
}

/* A body that is already stuck penetrates at most to its centre: that of the smaller piece. */
static Sweep sweep_seed(const Mover *a, const SweepPart *whole, const Mover *b,
                        const SweepPart *part, f32 begin, f32 *time)
{
    Shape point;
    if (part->kind == PART_CONVEX &&
        shape_outer_radius(part->shape) < shape_outer_radius(whole->shape)) {
        const Mover *mover = a;
        const SweepPart *swap = whole;
        a = b;
        b = mover;
        whole = part;
        part = swap;
    }
    SweepPart seed = seed_part(whole, &point);
    *time = begin;
    Sweep found = sweep(a, &seed, b, part, seed_m, 1.0f, time);
    if (found != SWEEP_NEAR) {
        return found;
    }
    return sweep_near(a, &seed, b, part, begin, time) ? SWEEP_HIT : SWEEP_MISS;
}

/* Whether a near body would penetrate by a fraction of its thickness. */
static bool goes_in(const Mover *mover_a, const SweepPart *a, const Mover *mover_b,
                    const SweepPart *b, f32 begin)
{
    GjkResult result;
    part_separation(mover_a, a, mover_b, b, begin, &result);
    f32 inner = shape_inner_radius(a->shape);
    if (b->kind == PART_CONVEX) {
        inner = f32_min(inner, shape_inner_radius(b->shape));
    }
    return closing_at(mover_a, mover_b, begin, &result) * (1.0f - begin) > strict_share * inner;
}

/* placed_meet for two parts, of which a is convex, up to a known time. */
static f32 parts_meet(const Mover *mover_a, const SweepPart *a, const Mover *mover_b,
                      const SweepPart *b, f32 begin, f32 end, bool strict)
{
    f32 time = begin, touch = begin;
    if (balls_part(mover_a, a, mover_b, b, begin)) {
        return INFINITY;
    }
    Sweep whole = sweep(mover_a, a, mover_b, b, STOP_M, f32_min(end, 1.0f), &touch);
    if (whole == SWEEP_MISS) {
        return INFINITY;
    }
    if (whole == SWEEP_NEAR && strict && goes_in(mover_a, a, mover_b, b, begin)) {
        return begin;
    }
    Sweep thin = b->kind == PART_CONVEX && second_is_thinner(a, b)
                     ? sweep_thin(mover_b, b, mover_a, a, begin, &time)
                     : sweep_thin(mover_a, a, mover_b, b, begin, &time);
    if (thin == SWEEP_NEAR) {
        thin = sweep_seed(mover_a, a, mover_b, b, begin, &time);
    }
    if (thin != SWEEP_HIT) {
        return INFINITY;
    }
    return whole == SWEEP_HIT ? touch : time;
}

/* Whether one part overlaps the other. */
static void parts_pass(const Mover *mover_a, const SweepPart *a, const Mover *mover_b,
                       const SweepPart *b, Passing *passing)
{
    GjkResult result;
    f32 time = 0.0f;
    if (balls_part(mover_a, a, mover_b, b, 0.0f)) {
        return;
    }
    part_separation(mover_a, a, mover_b, b, 0.0f, &result);
    passing->before = passing->before || result.separation <= 0.0f;
    part_separation(mover_a, a, mover_b, b, 1.0f, &result);
    passing->after = passing->after || result.separation <= 0.0f;
    passing->between =
        passing->between || sweep(mover_a, a, mover_b, b, 0.0f, 1.0f, &time) != SWEEP_MISS;
}

/* ---- all parts of two bodies ---- */

typedef struct Pairing Pairing;
struct Pairing {
    const Placed *a, *b;
    f32 begin, time;
    bool strict;
    Passing *passing;
    void (*meet)(Pairing *pairing, const SweepPart *a, const SweepPart *b);
    /* Of b: its shape in the mover's frame. */
    Vec3 origin;
    Quat orientation;
    const Geometry *geometry;
    SweepPart part; /* of a */
};

/* Times after the earliest one found do not matter, so the order of parts does not either. */
static void pairing_meet(Pairing *p, const SweepPart *a, const SweepPart *b)
{
    f32 time = parts_meet(&p->a->mover, a, &p->b->mover, b, p->begin, p->time, p->strict);
    p->time = f32_min(p->time, time);
}

static void pairing_pass(Pairing *p, const SweepPart *a, const SweepPart *b)
{
    parts_pass(&p->a->mover, a, &p->b->mover, b, p->passing);
}

static void pairing_touch(Pairing *p, const SweepPart *a, const SweepPart *b)
{
    const Mover *mover_a = &p->a->mover, *mover_b = &p->b->mover;
    f32 time = 0.0f, end = f32_min(p->time, 1.0f);
    if (!balls_part(mover_a, a, mover_b, b, 0.0f) &&
        sweep(mover_a, a, mover_b, b, 0.0f, end, &time) == SWEEP_HIT) {
        p->time = f32_min(p->time, time);
    }
}

/* Transforms a point from the shape's frame to the mover's. */
static Vec3 shape_point(const Pairing *p, Vec3 x)
{
    return vec3_add(p->origin, quat_rotate(p->orientation, x));
}

static bool pairing_triangle(void *context, u32 triangle)
{
    Pairing *p = context;
    SweepPart part = {.kind = PART_TRIANGLE, .orientation = quat_identity()};
    if (p->geometry->kind == GEOMETRY_MESH) {
        mesh_triangle(&p->geometry->mesh, triangle, part.corners);
    } else {
        terrain_triangle(&p->geometry->terrain, triangle, part.corners);
    }
    for (u32 i = 0; i < 3; i++) {
        part.corners[i] = shape_point(p, part.corners[i]);
        part.reach = f32_max(part.reach, vec3_length(part.corners[i]));
    }
    p->meet(p, &p->part, &part);
    return true;
}

/* Bounds of a's motion in the frame of a mesh or terrain; all of it if that moves itself. */
static Bounds local_bounds(const Rigid *rigid, const Pairing *p)
{
    const Mover *mover = &p->b->mover;
    if (vec3_length_squared(mover->shift) > 0.0f || vec3_length_squared(mover->rotation) > 0.0f) {
        return p->geometry->bounds;
    }
    Bounds way = placed_bounds(p->a, p->begin, body_reach(&rigid->bodies[p->a->slot]));
    ShapePose pose = body_pose(&rigid->bodies[p->b->slot]);
    Vec3 half = bounds_half(way);
    Mat3 m = mat3_from_quat(pose.orientation);
    Vec3 at = mat3_mul_transposed(m, vec3_sub(bounds_middle(way), pose.position));
    Vec3 extent = vec3(vec3_dot(vec3_abs(m.x), half), vec3_dot(vec3_abs(m.y), half),
                       vec3_dot(vec3_abs(m.z), half));
    return (Bounds){vec3_sub(at, extent), vec3_add(at, extent)};
}

/* A part of a against all of b. */
static void pairing_part(const Rigid *rigid, Pairing *p)
{
    const Shape *shape = &rigid->bodies[p->b->slot].shape;
    if (shape->kind == SHAPE_PLANE) {
        SweepPart part = {
            .kind = PART_PLANE,
            .corners = {p->origin, quat_rotate(p->orientation, vec3(0.0f, 1.0f, 0.0f))}};
        p->meet(p, &p->part, &part);
    } else if (shape->kind == SHAPE_COMPOUND) {
        const Compound *compound = &shape->geometry->compound;
        for (u32 i = 0; i < compound->child_count; i++) {
            const CompoundChild *child = &compound->children[i];
            SweepPart part = part_convex(&child->shape, shape_point(p, child->position),
                                         quat_mul(p->orientation, child->orientation));
            p->meet(p, &p->part, &part);
        }
    } else if (shape->kind == SHAPE_MESH) {
        mesh_query(&shape->geometry->mesh, local_bounds(rigid, p), pairing_triangle, p);
    } else if (shape->kind == SHAPE_TERRAIN) {
        terrain_query(&shape->geometry->terrain, local_bounds(rigid, p), pairing_triangle, p);
    } else if (shape_is_convex(shape)) {
        SweepPart part = part_convex(shape, p->origin, p->orientation);
        p->meet(p, &p->part, &part);
    }
}

static bool is_solid(const Rigid *rigid, const Placed *placed)
{
    const Shape *shape = &rigid->bodies[placed->slot].shape;
    return shape_is_convex(shape) || shape->kind == SHAPE_COMPOUND;
}

/* All parts of one against all of the other; two surfaces never meet. */
static void pairing_run(const Rigid *rigid, Pairing *p)
{
    if (!is_solid(rigid, p->a)) {
        const Placed *swap = p->a;
        p->a = p->b;
        p->b = swap;
    }
    if (!is_solid(rigid, p->a)) {
        return;
    }
    const Body *a = &rigid->bodies[p->a->slot], *b = &rigid->bodies[p->b->slot];
    p->geometry = b->shape.geometry;
    p->origin = vec3_add(p->b->position, quat_rotate(p->b->orientation, body_local_origin(b)));
    p->orientation = p->b->orientation;
    Vec3 origin = vec3_add(p->a->position, quat_rotate(p->a->orientation, body_local_origin(a)));
    if (a->shape.kind != SHAPE_COMPOUND) {
        p->part = part_convex(&a->shape, origin, p->a->orientation);
        pairing_part(rigid, p);
        return;
    }
    const Compound *compound = &a->shape.geometry->compound;
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        p->part = part_convex(&child->shape,
                              vec3_add(origin, quat_rotate(p->a->orientation, child->position)),
                              quat_mul(p->a->orientation, child->orientation));
        pairing_part(rigid, p);
    }
}

f32 placed_meet(const Rigid *rigid, const Placed *a, const Placed *b, f32 begin, bool strict)
{
    Pairing p = {.a = a, .b = b, .begin = begin, .time = INFINITY, .strict = strict};
    p.meet = pairing_meet;
    pairing_run(rigid, &p);
    return p.time;
}

f32 placed_touch(const Rigid *rigid, const Placed *a, const Placed *b)
{
    Pairing p = {.a = a, .b = b, .time = INFINITY, .meet = pairing_touch};
    pairing_run(rigid, &p);
    return p.time;
}

void placed_pass(const Rigid *rigid, const Placed *a, const Placed *b, Passing *passing)
{
    Pairing p = {.a = a, .b = b, .passing = passing};
    p.meet = pairing_pass;
    pairing_run(rigid, &p);
}
