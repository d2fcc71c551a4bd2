/* contact_face.c: whole triangles and segments against bodies that could pass between particles:
 * bodies smaller than a cell, and bodies fast for their size. A triangle stores the side on
 * which the body was at the start of the tick, so that crossings within it are detected. */
#include "server/physics/contact/distance.h"
#include "server/physics/rigid/narrow/gjk.h"
#include "server/physics/soft/soft_internal.h"
#include "server/physics/tree.h"

#include "shared/geometry/geometry.h"
#include "shared/geometry/triangle.h"

enum {
    GROUP = 32, /* consecutive triangles that share one broad phase query */
    SLOTS_MAX = 256,
    MEASURE_GRAIN = 16,
    PASSES_MAX = 20, /* of a step over all triangles */
};

/* A body that moves by this part of its half thickness in a substep is fast. */
static const f32 fast_part = 0.5f;
/* A dynamic body of less than this many cells of half thickness may pass through a cell of a
 * sheet that it stretches; closed bodies have an inside that stops it. Speed does not matter:
 * when triangles collided only with moving bodies, a body sank in between points as it came to
 * rest, was pushed out again, and kept a bridge swinging for ever. */
static const f32 thin_cells = 5.0f;
static const f32 flat_cosine = 0.995f;
/* Triangles are solved again while this part of the body's half thickness is lacking at one. */
static const f32 again_part = 0.4f;

/* Half the thickness of a convex shape, INFINITY for shapes that only particles collide with. */
static f32 thinness(const Shape *shape)
{
    bool solid = shape_is_convex(shape) || shape->kind == SHAPE_COMPOUND;
    return solid ? shape_inner_radius(shape) : INFINITY;
}

bool soft_contact_by_faces(const Soft *soft, const Rigid *rigid, const SoftBody *body, u32 slot)
{
    f32 thin = thinness(rigid_shape(rigid, slot));
    f32 speed = vec3_length(rigid_velocity(rigid, slot));
    f32 moved = speed * soft->tick_s / (f32)rigid_substeps(rigid);
    bool movable = rigid_motion(rigid, slot) != BODY_STATIC;
    bool stretches = !body->closed && movable && thin < thin_cells * body->cell;
    bool moves = moved > fast_part * thin || stretches;
    return body->triangle_count + body->segment_count != 0 && thin < INFINITY &&
           (thin < body->cell || moves);
}

/* ---- the tick ---- */

static u32 face_count(const SoftBody *body)
{
    return body->triangle_count + body->segment_count;
}

/* Points of the i-th triangle or segment of a body; a segment is a triangle with two equal
 * corners. */
static void face_points(const Soft *soft, const SoftBody *body, u32 i, u32 point[3])
{
    if (i < body->triangle_count) {
        memcpy(point, soft->triangles[body->first_triangle + i].point, 3 * sizeof *point);
    } else {
        const u32 *p = soft->segments[body->first_segment + i - body->triangle_count].point;
        point[0] = p[0];
        point[1] = point[2] = p[1];
    }
}

static Bounds face_bounds(const Soft *soft, const u32 point[3], f32 thickness)
{
    Bounds bounds = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    f32 fastest = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[point[k]];
        bounds.min = vec3_min(bounds.min, p->position);
        bounds.max = vec3_max(bounds.max, p->position);
        fastest = f32_max(fastest, vec3_length_squared(p->velocity));
    }
    f32 margin = thickness + (sqrtf(fastest) + CONTACT_MARGIN_M_S) * soft->tick_s;
    Vec3 grow = vec3(margin, margin, margin);
    return (Bounds){vec3_sub(bounds.min, grow), vec3_add(bounds.max, grow)};
}

static bool overlap(const Bounds *a, const Bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}

static ShapePose pose_of(const Rigid *rigid, const SoftFace *face)
{
    const Shape *shape = rigid_shape(rigid, face->slot);
    Vec3 at = rigid_position(rigid, face->slot);
    Quat rotation = rigid_orientation(rigid, face->slot);
    if (shape->kind != SHAPE_COMPOUND) {
        return (ShapePose){shape, at, rotation};
    }
    const CompoundChild *child = &shape->geometry->compound.children[face->child];
    return (ShapePose){&child->shape, vec3_add(at, quat_rotate(rotation, child->position)),
                       quat_mul(rotation, child->orientation)};
}

static Vec3 inside_of(const ShapePose *pose)
{
    Vec3 local = pose->shape->kind == SHAPE_HULL ? pose->shape->geometry->hull.inside : vec3_zero();
    return vec3_add(pose->position, quat_rotate(pose->orientation, local));
}

static Vec3 plane_of(const Soft *soft, const u32 point[3])
{
    Vec3 a = soft->points[point[0]].position;
    Vec3 ab = vec3_sub(soft->points[point[1]].position, a);
    Vec3 ac = vec3_sub(soft->points[point[2]].position, a);
    return vec3_normalize_or(vec3_cross(ab, ac), vec3_zero());
}

static void add_face(Soft *soft, const Rigid *rigid, const SoftBody *body, const u32 point[3],
                     u32 slot)
{
    const Shape *shape = rigid_shape(rigid, slot);
    u32 parts = shape->kind == SHAPE_COMPOUND ? shape->geometry->compound.child_count : 1;
    if (!memory_grow((void **)&soft->faces, &soft->face_capacity, soft->face_count + parts,
                     sizeof *soft->faces)) {
        return;
    }
    for (u32 child = 0; child < parts; child++) {
        SoftFace face = {.point = {point[0], point[1], point[2]},
                         .slot = slot,
                         .child = child,
                         .thin = thinness(shape),
                         .mover = rigid_mover(&soft->rigid_bodies, slot),
                         .body = (u32)(body - soft->bodies)};
        ShapePose pose = pose_of(rigid, &face);
        Vec3 off = vec3_sub(inside_of(&pose), soft->points[point[0]].position);
        f32 height = vec3_dot(plane_of(soft, point), off);
        face.side = height > 0.0f ? 1.0f : height < 0.0f ? -1.0f : 0.0f;
        soft->faces[soft->face_count++] = face;
    }
}

static bool is_rooted(const Soft *soft, const Rigid *rigid, u32 slot, u32 root, const u32 point[3])
{
    return root != SOFT_NONE && (soft_contact_is_rooted(soft, rigid, slot, root, point[0]) ||
                                 soft_contact_is_rooted(soft, rigid, slot, root, point[1]) ||
                                 soft_contact_is_rooted(soft, rigid, slot, root, point[2]));
}

static void begin_group(Soft *soft, Rigid *rigid, const SoftBody *body, u32 first, u32 end,
                        ContactRoots *roots)
{
    u32 slots[SLOTS_MAX], point[3];
    Bounds all = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (u32 i = first; i < end; i++) {
        face_points(soft, body, i, point);
        Bounds bounds = face_bounds(soft, point, body->def.thickness);
        all = (Bounds){vec3_min(all.min, bounds.min), vec3_max(all.max, bounds.max)};
    }
    u32 count = rigid_overlaps(rigid, all, slots, SLOTS_MAX), kept = 0;
    for (u32 s = 0; s < count; s++) {
        if (rigid_meets(rigid, slots[s], body->def.group, body->def.mask) &&
            soft_contact_by_faces(soft, rigid, body, slots[s])) {
            slots[kept++] = slots[s];
        }
    }
    for (u32 i = first; i < end && kept != 0; i++) {
        face_points(soft, body, i, point);
        Bounds bounds = face_bounds(soft, point, body->def.thickness);
        for (u32 s = 0; s < kept; s++) {
            Bounds of = rigid_bounds(rigid, slots[s]);
            u32 root = soft_contact_root(soft, rigid, body, slots[s], roots);
            if (overlap(&bounds, &of) && !is_rooted(soft, rigid, slots[s], root, point)) {
                add_face(soft, rigid, body, point, slots[s]);
            }
        }
    }
}

/* Lists pairs of triangle and body that may touch within the tick, by body and triangle, then
 * slot. */
void soft_contact_face_begin(Soft *soft, Rigid *rigid)
{
    soft->face_count = 0;
    /* Enough for most scenes from the first tick on. */
    memory_grow((void **)&soft->faces, &soft->face_capacity, 4 * soft->count, sizeof *soft->faces);
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        ContactRoots roots = {.count = 0};
        u32 count = soft_sleeps(soft, b) ? 0 : face_count(body);
        for (u32 first = 0; first < count; first += GROUP) {
            begin_group(soft, rigid, body, first, u32_min(first + GROUP, count), &roots);
        }
    }
}

/* ---- the substep ---- */

typedef struct Measure {
    const Soft *soft;
    const Rigid *rigid;
    f32 h; /* s, the whole substep */
} Measure;

static void face_corners(const Soft *soft, const SoftFace *face, Vec3 c[3])
{
    for (u32 k = 0; k < 3; k++) {
        c[k] = soft->points[face->point[k]].position;
    }
}

/* The body has passed the plane of the triangle, or is so deep that the direction of least
 * penetration may be wrong: push it out on the side it came from. */
static bool measure_plane(const Soft *soft, SoftFace *face, const ShapePose *pose, const Vec3 c[3],
                          Vec3 *at)
{
    Vec3 n = vec3_scale(plane_of(soft, face->point), face->side), inside = inside_of(pose);
    f32 w[3];
    u32 corners = triangle_nearest_weights(inside, c[0], c[1], c[2], w);
    if (corners != 7 || vec3_length_squared(n) < 0.5f) {
        return false;
    }
    f32 height = vec3_dot(n, vec3_sub(inside, c[0]));
    if (height > 0.3f * thinness(pose->shape)) {
        return false;
    }
    face->normal = vec3_neg(n);
    *at = gjk_support(pose, face->normal);
    memcpy(face->weight, w, sizeof w);
    return true;
}

static Vec3 velocity_of(const Soft *soft, const Rigid *rigid, const SoftFace *face)
{
    Vec3 v = rigid_velocity(rigid, face->slot);
    return face->mover != SOFT_NONE ? vec3_add(v, soft->rigid_bodies.movers[face->mover].bias) : v;
}

/* Where the body is flat, all corners keep their distance separately: supported at one place
 * only, a triangle on a plate would rock about it. */
static void measure_corners(SoftFace *face, const ShapePose *pose, const Vec3 c[3], f32 thickness,
                            f32 reach)
{
    for (u32 k = 0; k < 3; k++) {
        Vec3 n;
        bool flat = contact_distance(pose, c[k], reach, &n) < reach &&
                    vec3_dot(n, face->normal) > flat_cosine;
        face->keep[k] = flat ? thickness : 0.0f;
    }
}

/* m, largest excess length of its edges: the corners may be pulled back by as much at once,
 * whatever their speed. */
static f32 stretch_of(const Soft *soft, const SoftFace *face, const Vec3 c[3])
{
    f32 most = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        u32 next = k < 2 ? k + 1 : 0;
        f32 rest = vec3_distance(soft->rest[face->point[k]], soft->rest[face->point[next]]);
        most = f32_max(most, vec3_distance(c[k], c[next]) - rest);
    }
    return most;
}

/* Both at the start of the substep. */
static void measure(const Measure *with, SoftFace *face)
{
    const Soft *soft = with->soft;
    const Rigid *rigid = with->rigid;
    ShapePose pose = pose_of(rigid, face);
    f32 thickness = soft->bodies[face->body].def.thickness;
    Vec3 c[3], at = vec3_zero();
    GjkResult result;
    face_corners(soft, face, c);
    Vec3 velocity = velocity_of(soft, rigid, face);
    f32 speed = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        f32 v = vec3_distance(soft->points[face->point[k]].velocity, velocity);
        speed = f32_max(speed, v);
    }
    f32 angular_velocity =
        vec3_length(rigid_angular_velocity(rigid, face->slot)) * shape_reach(pose.shape);
    f32 reach = thickness + (speed + angular_velocity + CONTACT_MARGIN_M_S) * with->h +
                stretch_of(soft, face, c);
    face->near = 0;
    if (face->side != 0.0f && measure_plane(soft, face, &pose, c, &at)) {
        face->near = 1;
    } else if (gjk_separation_triangle_again(&pose, c, reach, &face->apart, &result) &&
               result.separation < reach) {
        face->near = 1;
        face->normal = result.normal;
        at = result.on_a;
        triangle_nearest_weights(result.on_b, c[0], c[1], c[2], face->weight);
    }
    if (face->near != 0) {
        measure_corners(face, &pose, c, thickness, reach);
        Vec3 arm = vec3_sub(at, rigid_centre(rigid, face->slot));
        face->local = quat_rotate_inverse(rigid_orientation(rigid, face->slot), arm);
    }
}

static void measure_faces(void *context, u32 first, u32 end, u32 worker)
{
    const Measure *with = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        measure(with, &with->soft->faces[i]);
    }
}

/* A triangle pinched between the body and another keeps the available gap. */
static void find_clearance(Soft *soft, const Rigid *rigid, SoftFace *face)
{
    Vec3 at = quat_rotate(rigid_orientation(rigid, face->slot), face->local);
    at = vec3_add(at, rigid_centre(rigid, face->slot));
    face->clearance = soft->bodies[face->body].def.thickness;
    face->pinched = 0;
    for (u32 k = 0; k < 3; k++) {
        Vec3 off = vec3_sub(soft->points[face->point[k]].position, at);
        f32 distance = vec3_dot(off, face->normal);
        f32 clearance =
            soft_contact_capacity(soft, face->point[k], face->normal, distance, &face->pinched);
        face->keep[k] = f32_min(face->keep[k], clearance);
        face->clearance = f32_min(face->clearance, clearance);
    }
}

void soft_contact_face_substep(Soft *soft, const Rigid *rigid, f32 h)
{
    Measure with = {soft, rigid, h};
    jobs_run(soft->jobs, soft->face_count, MEASURE_GRAIN, measure_faces, &with);
    for (u32 i = 0; i < soft->face_count; i++) {
        if (soft->faces[i].near != 0) {
            find_clearance(soft, rigid, &soft->faces[i]);
        }
    }
}

/* ---- the step ---- */

/* A point of a triangle against the body's plane there. */
typedef struct FacePoint {
    f32 weight[3];    /* of the corners */
    f32 inverse_mass; /* 1/kg, at the point */
    Vec3 at, velocity;
    f32 keep; /* m, distance kept */
} FacePoint;

static f32 exchange(Soft *soft, Rigid *rigid, const SoftFace *face, const FacePoint *place,
                    Vec3 arm, Vec3 direction, f32 speed)
{
    f32 wb = rigid_inverse_mass_at(rigid, face->slot, arm, direction);
    f32 impulse = speed / (place->inverse_mass + wb);
    for (u32 k = 0; k < 3; k++) {
        SoftPoint *p = &soft->points[face->point[k]];
        f32 part = place->weight[k] * p->inverse_mass * impulse;
        p->velocity = vec3_add_scaled(p->velocity, part, direction);
    }
    if (wb > 0.0f) {
        rigid_impulse(rigid, face->slot, arm, vec3_scale(direction, -impulse));
    }
    return impulse;
}

static void push_apart(Soft *soft, Rigid *rigid, const SoftFace *face, const FacePoint *place,
                       Vec3 arm, f32 apart)
{
    f32 wb = rigid_inverse_mass_at(rigid, face->slot, arm, face->normal);
    f32 impulse_m = apart / (place->inverse_mass + wb);
    for (u32 k = 0; k < 3; k++) {
        SoftPoint *p = &soft->points[face->point[k]];
        f32 part = place->weight[k] * p->inverse_mass * impulse_m;
        p->position = vec3_add_scaled(p->position, part, face->normal);
    }
    if (face->mover != SOFT_NONE) {
        Vec3 against = vec3_sub(place->velocity, rigid_velocity(rigid, face->slot));
        rigid_collider_push(&soft->rigid_bodies, face->mover, arm,
                            vec3_scale(face->normal, -impulse_m), against);
    }
}

/* Friction after a push of so many m/s. `slip`: m/s, of the place against the body. */
static void rub(Soft *soft, Rigid *rigid, const SoftFace *face, const FacePoint *place, Vec3 arm,
                Vec3 slip, f32 push)
{
    const SoftDef *def = &soft->bodies[face->body].def;
    f32 slipped = vec3_length(slip);
    if (slipped > 1e-6f) {
        f32 mu = rigid_friction(rigid, face->slot);
        f32 holds = sqrtf(f32_max(def->friction, def->static_friction) * mu);
        f32 rubs = sqrtf(def->friction * mu) * push;
        exchange(soft, rigid, face, place, arm, vec3_scale(slip, -1.0f / slipped),
                 slipped <= holds * push ? slipped : f32_min(slipped, rubs));
    }
}

/* `at`: the body's contact point, at the start of the step. Returns how much too near the two would
 * have come within the step, m. */
static f32 solve_place(Soft *soft, Rigid *rigid, SoftFace *face, const FacePoint *place, Vec3 at,
                       f32 h)
{
    /* Impulses act through the point of the triangle: equal and opposite moments. */
    Vec3 arm = vec3_sub(place->at, rigid_centre(rigid, face->slot));
    Vec3 moving = rigid_velocity_at(rigid, face->slot, arm);
    Vec3 against = vec3_sub(place->velocity, moving);
    f32 gap = vec3_dot(vec3_sub(place->at, at), face->normal) - place->keep;
    ContactNormal of = {gap, -vec3_dot(against, face->normal), 0.0f};
    if (face->mover != SOFT_NONE) {
        const RigidMover *mover = &soft->rigid_bodies.movers[face->mover];
        of.bias =
            vec3_dot(vec3_add(mover->bias, vec3_cross(mover->bias_angular, arm)), face->normal);
    }
    if (of.approach > CONTACT_WAKE_M_S && rigid_motion(rigid, face->slot) == BODY_DYNAMIC) {
        rigid_wake(rigid, face->slot);
    }
    f32 push, apart;
    contact_normal(&of, h, &push, &apart);
    if (push > 0.0f) {
        f32 pressed = exchange(soft, rigid, face, place, arm, face->normal, push);
        face->pressed += pressed;
        face->pressed_at = vec3_add_scaled(face->pressed_at, pressed, place->at);
    }
    if (apart > 0.0f) {
        push_apart(soft, rigid, face, place, arm, apart);
    }
    if (push > 0.0f && place->keep > 0.0f) {
        /* The push has turned the body. */
        Vec3 slip = vec3_add_scaled(against, of.approach, face->normal);
        Vec3 since = vec3_sub(rigid_velocity_at(rigid, face->slot, arm), moving);
        Vec3 along = vec3_scale(face->normal, vec3_dot(since, face->normal));
        rub(soft, rigid, face, place, arm, vec3_sub(slip, vec3_sub(since, along)), push);
    }
    return h * push;
}

/* Motion of the body along the normal of a face: at a point x, speed + turn · (x − centre). */
typedef struct FaceDrift {
    Vec3 centre, rotation;
    f32 speed; /* m/s */
} FaceDrift;

static FaceDrift drift_of(const Soft *soft, const Rigid *rigid, const SoftFace *face)
{
    Vec3 velocity = velocity_of(soft, rigid, face),
         angular_velocity = rigid_angular_velocity(rigid, face->slot);
    if (face->mover != SOFT_NONE) {
        angular_velocity =
            vec3_add(angular_velocity, soft->rigid_bodies.movers[face->mover].bias_angular);
    }
    return (FaceDrift){rigid_centre(rigid, face->slot), vec3_cross(face->normal, angular_velocity),
                       vec3_dot(velocity, face->normal)};
}

/* Will the point violate its distance within the step? */
static bool comes_near(const SoftFace *face, const FaceDrift *drift, const FacePoint *place,
                       Vec3 at, f32 h)
{
    f32 gap = vec3_dot(vec3_sub(place->at, at), face->normal) - place->keep;
    f32 moving = drift->speed + vec3_dot(vec3_sub(place->at, drift->centre), drift->rotation);
    return gap + h * (vec3_dot(place->velocity, face->normal) - moving) < 0.0f;
}

/* Solves the corners of a face separately: the separating plane supports the whole triangle, as
 * a corner pulled through the body in one step would otherwise drag it to the other side. */
static f32 solve_corners(Soft *soft, Rigid *rigid, SoftFace *face, Vec3 at, f32 h)
{
    f32 most = 0.0f;
    FaceDrift drift = drift_of(soft, rigid, face);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[face->point[k]];
        FacePoint corner = {.at = p->position,
                            .velocity = p->velocity,
                            .inverse_mass = p->inverse_mass,
                            .keep = face->keep[k]};
        corner.weight[k] = 1.0f;
        if (p->inverse_mass > 0.0f && (k != 2 || face->point[1] != face->point[2]) &&
            comes_near(face, &drift, &corner, at, h)) {
            most = f32_max(most, solve_place(soft, rigid, face, &corner, at, h));
            drift = drift_of(soft, rigid, face);
        }
    }
    return most;
}

static f32 solve_nearest(Soft *soft, Rigid *rigid, SoftFace *face, Vec3 at, f32 h)
{
    FaceDrift drift = drift_of(soft, rigid, face);
    FacePoint place = {.keep = face->clearance};
    memcpy(place.weight, face->weight, sizeof place.weight);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[face->point[k]];
        place.at = vec3_add_scaled(place.at, face->weight[k], p->position);
        place.velocity = vec3_add_scaled(place.velocity, face->weight[k], p->velocity);
        place.inverse_mass += face->weight[k] * face->weight[k] * p->inverse_mass;
    }
    return place.inverse_mass > 0.0f && comes_near(face, &drift, &place, at, h)
               ? solve_place(soft, rigid, face, &place, at, h)
               : 0.0f;
}

/* Corners of triangles first: they belong to several triangles, and correcting a place between
 * them would lift one that is already supported, which then oscillates for ever. Returns the
 * largest of their corrections, m. */
static f32 solve(Soft *soft, Rigid *rigid, SoftFace *face, f32 h)
{
    bool segment = face->point[1] == face->point[2];
    Vec3 at = quat_rotate(rigid_orientation(rigid, face->slot), face->local);
    at = vec3_add(at, rigid_centre(rigid, face->slot));
    f32 first = segment ? solve_nearest(soft, rigid, face, at, h) : 0.0f;
    f32 corners = solve_corners(soft, rigid, face, at, h);
    f32 last = segment ? 0.0f : solve_nearest(soft, rigid, face, at, h);
    return f32_max(f32_max(first, last), corners);
}

/* Is another pass needed? */
static bool solve_pass(Soft *soft, Rigid *rigid, f32 h)
{
    bool again = false;
    for (u32 i = 0; i < soft->face_count; i++) {
        SoftFace *face = &soft->faces[i];
        bool far = face->near != 0 && solve(soft, rigid, face, h) > again_part * face->thin;
        again |= far && face->point[1] != face->point[2];
    }
    return again;
}

/* Triangles about a corner push it in different directions: the last one undoes what the first
 * did, and a light corner of a stretched sheet that springs back would pass the body. A rope has no
 * such corners. */
void soft_contact_face_solve(Soft *soft, Rigid *rigid, f32 h)
{
    for (u32 i = 0; i < soft->face_count; i++) {
        soft->faces[i].pressed = 0.0f;
        soft->faces[i].pressed_at = vec3_zero();
    }
    bool again = true;
    for (u32 n = 0; n < PASSES_MAX && again; n++) {
        again = solve_pass(soft, rigid, h);
    }
}

void soft_contact_face_solve_pinched(Soft *soft, Rigid *rigid, f32 h)
{
    for (u32 i = 0; i < soft->face_count; i++) {
        if (soft->faces[i].near != 0 && soft->faces[i].pinched != 0) {
            solve(soft, rigid, &soft->faces[i], h);
        }
    }
}

/* ---- rest ---- */

bool soft_contact_face_touches(const Soft *soft, const Rigid *rigid, const SoftFace *face,
                               f32 reach)
{
    ShapePose pose = pose_of(rigid, face);
    GjkResult result;
    Vec3 c[3];
    face_corners(soft, face, c);
    return gjk_separation_triangle(&pose, c, reach, &result) && result.separation < reach;
}

bool soft_contact_face_meets(const Soft *soft, const Rigid *rigid, const SoftBody *body, u32 slot,
                             f32 reach)
{
    const Shape *shape = rigid_shape(rigid, slot);
    u32 parts = shape->kind == SHAPE_COMPOUND ? shape->geometry->compound.child_count : 1;
    Bounds of = bounds_grow(rigid_bounds(rigid, slot), reach);
    for (u32 i = 0; i < face_count(body); i++) {
        SoftFace face = {.slot = slot};
        face_points(soft, body, i, face.point);
        Bounds bounds = face_bounds(soft, face.point, 0.0f);
        for (; overlap(&bounds, &of) && face.child < parts; face.child++) {
            if (soft_contact_face_touches(soft, rigid, &face, reach)) {
                return true;
            }
        }
    }
    return false;
}
