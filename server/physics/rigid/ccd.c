/*
 * ccd.c: what moves farther in a tick than it is thick is swept along its way, so that nothing is
 * jumped over. Contacts look ahead only as far as a body is thick (ccd_margin), so that what flies
 * past an edge is left alone; at the end of the tick each fast body is taken back along its way to
 * the moment when it first touched what its core would have entered. It keeps the velocity that it
 * had then: the contact is solved in the next tick. All ways are those of the tick as it was
 * solved, so that the result does not depend on the order of bodies.
 * Method: two sweeps by conservative advancement with rotation (Mirtich 1996; bounds on the closing
 * speed as in Zhang, Lee, Kim 2006): the first, of a thinner shape, tells what must be stopped from
 * what merely rolls along a surface or brushes an edge; the second finds the moment of touch. What
 * counts as fast follows Box2D v3 (Catto).
 */
#include "server/physics/rigid/body.h"
#include "server/physics/rigid/gjk.h"
#include "shared/trig.h"

/* A body whose points move farther than this share of its inner radius is fast. */
static const f32 fast_share = 0.5f;
/* The thinner shape: what is left when this share of the inner radius is taken off all around. */
static const f32 thin_share = 0.5f;
/* Distance at which a body is stopped: within the margin of contacts. */
static const f32 stop_m = 0.005f;
/* Distance at which the middle of a body that is stuck is stopped. */
static const f32 seed_m = 0.001f;
/* Motions below it stay within the bounds that broad_refresh made. */
static const f32 still_m = RIGID_MARGIN_M * 0.5f;

enum {
    FOLLOW_GRAIN = 128,
    FLIGHT_GRAIN = 16,
    STEPS_MAX = 64 /* of one sweep: then it stops where it is, which is before any touch */
};

/* ---- how thick a shape is ---- */

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

/* Farthest that a point of the shape is from the origin of its frame. */
static f32 outer_radius(const Shape *shape)
{
    if (shape->kind != SHAPE_COMPOUND && shape->kind != SHAPE_MESH) {
        return shape_reach(shape);
    }
    Bounds b = shape->geometry->bounds;
    return vec3_length(vec3_max(vec3_abs(b.min), vec3_abs(b.max)));
}

/* ---- motions ---- */

/* The way of a body in this tick. */
typedef struct Mover {
    Vec3 centre; /* of mass, at the end */
    Quat orientation;
    Vec3 shift, turn; /* m, rad */
} Mover;

/* A convex piece of a moving body, or a triangle or a plane of one. */
typedef enum PartKind {
    PART_CONVEX,
    PART_TRIANGLE,
    PART_PLANE
} PartKind;

typedef struct Part {
    PartKind kind;
    const Shape *shape;
    Vec3 position; /* in the body's frame, from its centre of mass */
    Quat orientation;
    Vec3 corners[3]; /* likewise; of a plane: a point, and its normal in [1] */
    f32 reach;       /* m, farthest point from the centre of mass */
} Part;

static Mover mover_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    const BodyState *state = &rigid->states[slot];
    Mover mover = {body->position, body->orientation, vec3_zero(), vec3_zero()};
    if (body_is_active(body)) {
        mover.shift = state->shift;
        mover.turn = state->turn;
        /* An explicit substep turns by 2 atan(θ/2), not by θ. */
        f32 steps = body_is_plain(rigid, slot) ? 1.0f : (f32)rigid->substeps;
        f32 angle = vec3_length(state->turn), half = 0.5f * angle / steps;
        if (half > 0.05f) {
            mover.turn = vec3_scale(mover.turn, trig_atan2_f32(half, 1.0f) / half);
        }
    }
    return mover;
}

/* Pose at time t of the tick, 0..1. */
static void mover_at(const Mover *mover, f32 t, Vec3 *centre, Quat *orientation)
{
    f32 back = 1.0f - t, angle = vec3_length(mover->turn);
    *centre = vec3_add_scaled(mover->centre, -back, mover->shift);
    *orientation = mover->orientation;
    if (angle > 1e-6f) {
        f64 sine, cosine;
        trig_sincos(0.5 * (f64)(back * angle), &sine, &cosine);
        Vec3 axis = vec3_scale(mover->turn, -(f32)sine / angle);
        Quat turned = {(f32)cosine, axis.x, axis.y, axis.z};
        *orientation = quat_normalize(quat_mul(turned, mover->orientation));
    }
}

/* Of the body's frame (its shape's) relative to its centre of mass. */
static Vec3 local_origin(const Body *body)
{
    ShapePose pose = body_pose(body);
    return quat_rotate_inverse(body->orientation, vec3_sub(pose.position, body->position));
}

static Part part_convex(const Shape *shape, Vec3 position, Quat orientation)
{
    return (Part){.kind = PART_CONVEX,
                  .shape = shape,
                  .position = position,
                  .orientation = orientation,
                  .reach = vec3_length(position) + outer_radius(shape)};
}

static ShapePose part_pose(const Mover *mover, const Part *part, f32 t)
{
    Vec3 centre;
    Quat orientation;
    mover_at(mover, t, &centre, &orientation);
    return (ShapePose){part->shape, vec3_add(centre, quat_rotate(orientation, part->position)),
                       quat_mul(orientation, part->orientation)};
}

static void part_separation(const Mover *a, const Part *part_a, const Mover *b, const Part *part_b,
                            f32 t, GjkResult *result)
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
}

/* How fast the gap between two parts along a direction can close, m a tick. */
static f32 closing_speed(const Mover *a, const Part *part_a, const Mover *b, const Part *part_b,
                         Vec3 normal)
{
    f32 speed = vec3_dot(vec3_sub(a->shift, b->shift), normal);
    return speed + vec3_length(vec3_cross(a->turn, normal)) * part_a->reach +
           vec3_length(vec3_cross(b->turn, normal)) * part_b->reach;
}

typedef enum Sweep {
    SWEEP_MISS,
    SWEEP_HIT,
    SWEEP_NEAR /* nearer than the target from the start */
} Sweep;

/* The first time before `end` at which the parts are as near as `target`. */
static Sweep sweep(const Mover *a, const Part *part_a, const Mover *b, const Part *part_b,
                   f32 target, f32 end, f32 *time)
{
    GjkResult result;
    f32 t = 0.0f;
    *time = 0.0f;
    for (u32 i = 0; i < STEPS_MAX; i++) {
        part_separation(a, part_a, b, part_b, t, &result);
        f32 gap = result.separation - target;
        if (gap <= 0.1f * stop_m) {
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

/* Boxes and round shapes lose the same all around; hulls and cones are scaled about a point well
 * inside, which takes off at least half as much. */
static const Shape *thin_shape(const Shape *shape, Thin *thin)
{
    f32 off = thin_share * shape_inner_radius(shape);
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
        thin->shape.radius *= 1.0f - 0.5f * thin_share;
        thin->shape.half_height *= 1.0f - 0.5f * thin_share;
        break;
    case SHAPE_HULL: {
        const Hull *hull = &shape->geometry->hull;
        thin->geometry = *shape->geometry;
        for (u32 i = 0; i < hull->vertex_count; i++) {
            thin->vertices[i] = vec3_lerp(hull->vertices[i], hull->inside, 0.5f * thin_share);
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

/* A point well inside: the last that may pass, whatever else is stuck. */
static Part seed_part(const Part *whole, Shape *point)
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

/* ---- one body against another ---- */

typedef struct Flight Flight;
struct Flight {
    const Rigid *rigid;
    u32 slot;
    Mover mover;
    f32 reach;     /* m, farthest point from the centre of mass */
    Bounds bounds; /* of its whole way */
    Part whole, thin, seed;
    f32 time; /* until which it may move */
    /* What is done with each part of another body. */
    void (*meet)(Flight *flight, const Part *part);
    /* Of the body that it is held against: */
    Mover other;
    Vec3 other_origin;
    const Geometry *geometry;
};

/* Is a point that is at a surface, and not yet below it, about to go in? */
static bool goes_in(const Mover *a, const Part *point, const Mover *b, const Part *part)
{
    GjkResult result;
    part_separation(a, point, b, part, 0.0f, &result);
    return result.separation >= 0.0f &&
           vec3_dot(vec3_sub(a->shift, b->shift), result.normal) > 0.0f;
}

/* Do the balls around two parts stay apart all the way? */
static bool balls_part(const Mover *a, const Part *part_a, const Mover *b, const Part *part_b)
{
    Vec3 end = vec3_sub(a->centre, b->centre), way = vec3_sub(a->shift, b->shift);
    f32 length2 = vec3_length_squared(way);
    f32 back = length2 > 0.0f ? f32_clamp(vec3_dot(end, way) / length2, 0.0f, 1.0f) : 0.0f;
    f32 reach = part_a->reach + part_b->reach + stop_m + RIGID_MARGIN_M;
    return part_b->kind != PART_PLANE &&
           vec3_length_squared(vec3_add_scaled(end, -back, way)) > reach * reach;
}

/* Shortens the flight to the first touch with a part whose inside it would enter. What comes later
 * than the time found so far cannot matter, so that the order of parts does not. */
static void flight_meet(Flight *flight, const Part *part)
{
    const Mover *mover = &flight->mover, *other = &flight->other;
    f32 time = 0.0f, touch = 0.0f;
    if (balls_part(mover, &flight->whole, other, part)) {
        return;
    }
    Sweep whole = sweep(mover, &flight->whole, other, part, stop_m, flight->time, &touch);
    if (whole == SWEEP_MISS) {
        return;
    }
    Sweep thin = sweep(mover, &flight->thin, other, part, 0.0f, 1.0f, &time);
    if (thin == SWEEP_NEAR) { /* stuck already: no deeper than its middle */
        thin = sweep(mover, &flight->seed, other, part, seed_m, 1.0f, &time);
        thin = thin == SWEEP_NEAR && goes_in(mover, &flight->seed, other, part) ? SWEEP_HIT : thin;
    }
    if (thin == SWEEP_HIT) {
        flight->time = f32_min(flight->time, whole == SWEEP_HIT ? touch : time);
    }
}

static bool flight_triangle(void *context, u32 triangle)
{
    Flight *flight = context;
    Part part = {.kind = PART_TRIANGLE, .orientation = quat_identity()};
    if (flight->geometry->kind == GEOMETRY_MESH) {
        mesh_triangle(&flight->geometry->mesh, triangle, part.corners);
    } else {
        terrain_triangle(&flight->geometry->terrain, triangle, part.corners);
    }
    for (u32 i = 0; i < 3; i++) {
        part.corners[i] = vec3_add(part.corners[i], flight->other_origin);
        part.reach = f32_max(part.reach, vec3_length(part.corners[i]));
    }
    flight->meet(flight, &part);
    return true;
}

/* The way's bounds in the frame of a body that may itself move: then all of it is looked at. */
static Bounds local_bounds(const Flight *flight, const Body *body, bool moves)
{
    if (moves) {
        return body->shape.geometry->bounds;
    }
    ShapePose pose = body_pose(body);
    Vec3 middle = vec3_scale(vec3_add(flight->bounds.min, flight->bounds.max), 0.5f);
    Vec3 half = vec3_scale(vec3_sub(flight->bounds.max, flight->bounds.min), 0.5f);
    Mat3 m = mat3_from_quat(pose.orientation);
    Vec3 at = mat3_mul_transposed(m, vec3_sub(middle, pose.position));
    Vec3 extent = vec3(vec3_dot(vec3_abs(m.x), half), vec3_dot(vec3_abs(m.y), half),
                       vec3_dot(vec3_abs(m.z), half));
    return (Bounds){vec3_sub(at, extent), vec3_add(at, extent)};
}

static void flight_against(Flight *flight, u32 slot)
{
    const Body *body = &flight->rigid->bodies[slot];
    const Shape *shape = &body->shape;
    flight->other = mover_of(flight->rigid, slot);
    flight->other_origin = local_origin(body);
    flight->geometry = shape->geometry;
    bool moves = body_is_active(body);
    if (shape->kind == SHAPE_PLANE) {
        Part part = {.kind = PART_PLANE, .corners = {flight->other_origin, {0.0f, 1.0f, 0.0f}}};
        flight->meet(flight, &part);
    } else if (shape->kind == SHAPE_COMPOUND) {
        const Compound *compound = &shape->geometry->compound;
        for (u32 i = 0; i < compound->child_count; i++) {
            const CompoundChild *child = &compound->children[i];
            Part part = part_convex(&child->shape, vec3_add(flight->other_origin, child->position),
                                    child->orientation);
            flight->meet(flight, &part);
        }
    } else if (shape->kind == SHAPE_MESH) {
        mesh_query(&shape->geometry->mesh, local_bounds(flight, body, moves), flight_triangle,
                   flight);
    } else if (shape->kind == SHAPE_TERRAIN) {
        terrain_query(&shape->geometry->terrain, local_bounds(flight, body, moves), flight_triangle,
                      flight);
    } else if (shape_is_convex(shape)) {
        Part part = part_convex(shape, flight->other_origin, quat_identity());
        flight->meet(flight, &part);
    }
}

/* One piece of the body, at its place in the body's frame, against another body. */
static void flight_part(Flight *flight, const Shape *shape, Vec3 position, Quat orientation,
                        u32 slot)
{
    Thin thin;
    Shape point;
    position = vec3_add(local_origin(&flight->rigid->bodies[flight->slot]), position);
    flight->whole = part_convex(shape, position, orientation);
    flight->thin = flight->whole;
    flight->thin.shape = thin_shape(shape, &thin);
    flight->seed = seed_part(&flight->whole, &point);
    flight_against(flight, slot);
}

/* Bodies that fly along with each other are not fast for each other. */
static bool parts_slowly(const Flight *flight, u32 slot)
{
    const Rigid *rigid = flight->rigid;
    const Body *body = &rigid->bodies[slot];
    if (!body_is_active(body)) {
        return false;
    }
    const BodyState *a = &rigid->states[flight->slot], *b = &rigid->states[slot];
    f32 reach = vec3_length(local_origin(body)) + outer_radius(&body->shape);
    f32 motion = vec3_distance(a->shift, b->shift) + vec3_length(a->turn) * flight->reach +
                 vec3_length(b->turn) * reach;
    return motion <= fast_share * shape_inner_radius(&rigid->bodies[flight->slot].shape);
}

/* The whole body against another. */
static void flight_body(Flight *flight, u32 slot)
{
    const Shape *shape = &flight->rigid->bodies[flight->slot].shape;
    if (shape->kind != SHAPE_COMPOUND) {
        flight_part(flight, shape, vec3_zero(), quat_identity(), slot);
        return;
    }
    const Compound *compound = &shape->geometry->compound;
    for (u32 i = 0; i < compound->child_count; i++) {
        const CompoundChild *child = &compound->children[i];
        flight_part(flight, &child->shape, child->position, child->orientation, slot);
    }
}

static void flight_visit(void *context, u32 slot)
{
    Flight *flight = context;
    const Rigid *rigid = flight->rigid;
    if (slot != flight->slot && !rigid->bodies[slot].sensor &&
        body_filter(rigid, flight->slot, slot) && !parts_slowly(flight, slot)) {
        flight_body(flight, slot);
    }
}

/* ---- all bodies ---- */

f32 ccd_turning(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_KINEMATIC) {
        return 0.0f;
    }
    f32 spin = vec3_length(rigid->states[slot].spin);
    f32 reach = vec3_length(local_origin(body)) + outer_radius(&body->shape);
    return f32_min(spin * rigid->def.tick_s, 2.0f) * reach;
}

f32 ccd_margin(const Rigid *rigid, u32 slot_a, u32 slot_b)
{
    const Body *a = &rigid->bodies[slot_a], *b = &rigid->bodies[slot_b];
    Vec3 v = vec3_sub(rigid->states[slot_b].velocity, rigid->states[slot_a].velocity);
    f32 ahead = vec3_length(v) * rigid->def.tick_s;
    if (ahead > RIGID_MARGIN_M && a->motion != BODY_KINEMATIC && b->motion != BODY_KINEMATIC) {
        f32 thick_a = a->motion == BODY_DYNAMIC ? shape_inner_radius(&a->shape) : INFINITY;
        f32 thick_b = b->motion == BODY_DYNAMIC ? shape_inner_radius(&b->shape) : INFINITY;
        ahead = f32_min(ahead, fast_share * f32_min(thick_a, thick_b));
    }
    ahead += f32_max(ccd_turning(rigid, slot_a), ccd_turning(rigid, slot_b));
    return RIGID_MARGIN_M + ahead;
}

/* How far the farthest point of a body moved in this tick, at most. */
static f32 motion_of(const Rigid *rigid, u32 slot, f32 reach)
{
    const BodyState *state = &rigid->states[slot];
    return vec3_length(state->shift) + vec3_length(state->turn) * reach;
}

/* Everything between its place at the start and at the end of the tick. */
static Bounds way_bounds(const Rigid *rigid, u32 slot, f32 reach)
{
    Vec3 end = rigid->bodies[slot].position;
    Vec3 start = vec3_sub(end, rigid->states[slot].shift);
    Bounds bounds = {vec3_min(start, end), vec3_max(start, end)};
    return bounds_grow(bounds, reach + stop_m);
}

/* What rigid->flights says of a body until its flight is known. */
#define FLIGHT_WHOLE 1.0f /* it keeps all its way */
#define FLIGHT_LEFT  2.0f /* and has left its bounds in the tree */
#define FLIGHT_FAST  (-1.0f)

/* The tree must hold bodies where they are, also for queries between two ticks; their bounds were
 * made from the velocities at the start. */
static void follow_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        Body *body = &rigid->bodies[slot];
        f32 reach = vec3_length(local_origin(body)) + outer_radius(&body->shape);
        f32 motion = motion_of(rigid, slot, reach);
        rigid->flights[slot] = FLIGHT_WHOLE;
        if (motion <= still_m) {
            continue;
        }
        bool fast = motion > fast_share * shape_inner_radius(&body->shape);
        ShapePose pose = body_pose(body);
        Bounds need = shape_bounds(&body->shape, pose.position, pose.orientation);
        need = fast ? bounds_union(need, way_bounds(rigid, slot, reach)) : need;
        if (!bounds_contain(&body->fat, &need)) {
            /* From where it was, and on as the next tick will have it: it need not move then. */
            need = bounds_union(need, rigid->ways[slot]);
            Bounds here = shape_bounds(&body->shape, pose.position, pose.orientation);
            body->fat = bounds_union(need, broad_ahead(rigid, slot, &here));
            body->flags |= BODY_MOVED;
            rigid->flights[slot] = FLIGHT_LEFT;
        }
        bool solid = shape_is_convex(&body->shape) || body->shape.kind == SHAPE_COMPOUND;
        if (fast && solid && !rigid->def.no_ccd) {
            rigid->flights[slot] *= FLIGHT_FAST;
        }
    }
}

/* The way of a body through this tick, as it is now. */
static Flight flight_of(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    f32 reach = vec3_length(local_origin(body)) + outer_radius(&body->shape);
    return (Flight){.rigid = rigid,
                    .slot = slot,
                    .mover = mover_of(rigid, slot),
                    .reach = reach,
                    .bounds = way_bounds(rigid, slot, reach),
                    .time = 1.0f,
                    .meet = flight_meet};
}

static f32 flight_time(const Rigid *rigid, u32 slot)
{
    const Body *body = &rigid->bodies[slot];
    if (body->motion != BODY_DYNAMIC || body->sensor) {
        return FLIGHT_WHOLE; /* nothing stops it, but it may pass through sensors */
    }
    Flight flight = flight_of(rigid, slot);
    for (u32 i = 0; i < rigid->plane_count; i++) {
        flight_visit(&flight, rigid->planes[i]);
    }
    tree_query(&rigid->fixed, flight.bounds, flight_visit, &flight);
    tree_query(&rigid->moving, flight.bounds, flight_visit, &flight);
    return flight.time;
}

static void flight_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        u32 slot = rigid->active[i];
        if (rigid->flights[slot] < 0.0f) {
            rigid->flights[slot] = flight_time(rigid, slot);
        }
    }
}

/* ---- sensors that are passed within the tick ---- */

typedef struct Passage {
    Rigid *rigid;
    Flight flight; /* of the fast body, along the way that it kept */
    bool before, between,
        after; /* is it in the sensor as the tick begins, on the way, at its end? */
} Passage;

static void passage_meet(Flight *flight, const Part *part)
{
    Passage *passage = (Passage *)((char *)flight - offsetof(Passage, flight));
    GjkResult result;
    f32 time;
    if (balls_part(&flight->mover, &flight->whole, &flight->other, part)) {
        return;
    }
    part_separation(&flight->mover, &flight->whole, &flight->other, part, 0.0f, &result);
    passage->before = passage->before || result.separation <= 0.0f;
    part_separation(&flight->mover, &flight->whole, &flight->other, part, 1.0f, &result);
    passage->after = passage->after || result.separation <= 0.0f;
    passage->between = passage->between || sweep(&flight->mover, &flight->whole, &flight->other,
                                                 part, 0.0f, 1.0f, &time) != SWEEP_MISS;
}

/* What is in a sensor at the end of a tick is found as the next one begins; what came and went
 * before is told here. */
static void passage_visit(void *context, u32 slot)
{
    Passage *passage = context;
    Rigid *rigid = passage->rigid;
    u32 fast = passage->flight.slot;
    bool one = rigid->bodies[fast].sensor != 0, other = rigid->bodies[slot].sensor != 0;
    /* Of two fast bodies the one with the lower slot looks at the other. */
    if (slot == fast || one == other || !body_filter(rigid, fast, slot) ||
        (slot < fast && body_is_active(&rigid->bodies[slot]) && rigid->flights[slot] < 0.0f)) {
        return;
    }
    passage->before = passage->between = passage->after = false;
    flight_body(&passage->flight, slot);
    u32 a = u32_min(fast, slot), b = u32_max(fast, slot);
    if (passage->between && !passage->before && !passage->after &&
        rigid->overlap_count + 2 <= RIGID_OVERLAPS_MAX) {
        rigid->overlaps[rigid->overlap_count++] = (RigidOverlap){a, b, true};
        rigid->overlaps[rigid->overlap_count++] = (RigidOverlap){a, b, false};
    }
}

static void pass_sensors(Rigid *rigid, u32 slot)
{
    Passage passage = {.rigid = rigid, .flight = flight_of(rigid, slot)};
    passage.flight.meet = passage_meet;
    for (u32 i = 0; i < rigid->plane_count; i++) {
        passage_visit(&passage, rigid->planes[i]);
    }
    tree_query(&rigid->fixed, passage.flight.bounds, passage_visit, &passage);
    tree_query(&rigid->moving, passage.flight.bounds, passage_visit, &passage);
}

/* Takes a body back to the moment that its flight keeps. */
static void flight_end(Rigid *rigid, u32 slot, f32 time)
{
    if (!(time < 1.0f)) {
        return;
    }
    Body *body = &rigid->bodies[slot];
    BodyState *state = &rigid->states[slot];
    Mover mover = mover_of(rigid, slot);
    mover_at(&mover, time, &body->position, &body->orientation);
    /* What gravity gave it on the way that it has not gone: it would bounce too high. */
    f32 lost_s = (1.0f - time) * rigid->def.tick_s;
    state->velocity =
        vec3_add_scaled(state->velocity, -lost_s * state->gravity_scale, rigid->gravity);
    state->shift = vec3_scale(state->shift, time);
    state->turn = vec3_scale(state->turn, time);
}

void ccd_finish(Rigid *rigid)
{
    jobs_run(rigid->jobs, rigid->active_count, FOLLOW_GRAIN, follow_range, rigid);
    u32 left = 0, count = 0;
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (fabsf(rigid->flights[slot]) == FLIGHT_LEFT) {
            rigid->parents[left++] = slot;
        }
    }
    broad_follow(rigid, rigid->parents, left);
    for (u32 i = 0; i < rigid->active_count; i++) {
        u32 slot = rigid->active[i];
        if (rigid->flights[slot] < 0.0f) {
            rigid->parents[count++] = slot;
        }
    }
    if (count == 0) {
        return;
    }
    jobs_run(rigid->jobs, rigid->active_count, FLIGHT_GRAIN, flight_range, rigid);
    for (u32 i = 0; i < count; i++) {
        flight_end(rigid, rigid->parents[i], rigid->flights[rigid->parents[i]]);
    }
    for (u32 i = 0; i < count; i++) {
        rigid->flights[rigid->parents[i]] = FLIGHT_FAST;
    }
    for (u32 i = 0; i < count; i++) {
        pass_sensors(rigid, rigid->parents[i]);
    }
}
