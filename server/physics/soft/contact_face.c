/* contact_face.c: whole triangles and segments against bodies that could pass between particles:
 * bodies smaller than a cell, and bodies fast for their size. A triangle stores the side on
 * which the body was at the start of the tick, so that crossings within it are detected. */
#include "server/physics/contact/deep.h"
#include "server/physics/contact/distance.h"
#include "server/physics/soft/soft_internal.h"
#include "server/physics/tree.h"

#include "shared/geometry/geometry.h"
#include "shared/geometry/triangle.h"

enum {
    GROUP = 32, /* consecutive triangles that share one broad phase query */
    THINGS_MAX = 256,
    MEASURE_GRAIN = 16,
    PASSES_MAX = 20, /* of a step over all triangles */
};

/* A body that moves by this part of its half thickness in a substep is fast. */
static const f32 fast_part = 0.5f;
/* A dynamic body of less than this many cells of half thickness may pass through a cell of a sheet
 * that it stretches; closed bodies have an inside that stops it. Speed does not matter: when
 * triangles collided only with moving bodies, a body sank in between points as it came to rest, was
 * pushed out again, and kept a bridge swinging forever. */
static const f32 thin_cells = 5.0f;
static const f32 flat_cosine = 0.995f;
/* Triangles are solved again while one of them penetrates by more than this fraction of the body's
 * half thickness. */
static const f32 again_part = 0.4f;

static bool describe(const Soft *soft, u32 other, u32 thing, ContactBody *of)
{
    const ContactBodyOps *bodies = soft_bodies_of(soft, other);
    if (bodies == NULL) {
        return false;
    }
    bodies->describe(soft_collider_of(soft, other)->of, thing, of);
    return true;
}

bool soft_contact_by_faces(const Soft *soft, const SoftBody *body, u32 other, u32 thing)
{
    ContactBody of;
    if (body->triangle_count + body->segment_count == 0 || !describe(soft, other, thing, &of)) {
        return false;
    }
    bool stretches = !body->closed && of.moves && of.thickness < thin_cells * body->cell;
    bool moves = of.moved > fast_part * of.thickness || stretches;
    return of.thickness < INFINITY && (of.thickness < body->cell || moves);
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

static ShapePose pose_of(const Soft *soft, const SoftFace *face)
{
    ShapePose pose;
    soft_bodies_of(soft, face->other)
        ->part(soft_collider_of(soft, face->other)->of, face->thing, face->part, &pose);
    return pose;
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

static void add_face(Soft *soft, const SoftBody *body, const u32 point[3], OtherThing thing,
                     u32 root)
{
    ContactBody of;
    bool rooted = soft_contact_near_root(soft, thing, root, point[0]) ||
                  soft_contact_near_root(soft, thing, root, point[1]) ||
                  soft_contact_near_root(soft, thing, root, point[2]);
    if (!describe(soft, thing.other, thing.thing, &of) ||
        !memory_grow((void **)&soft->faces, &soft->face_capacity, soft->face_count + of.parts,
                     sizeof *soft->faces)) {
        return;
    }
    for (u32 part = 0; part < of.parts; part++) {
        SoftFace face = {.point = {point[0], point[1], point[2]},
                         .other = thing.other,
                         .thing = thing.thing,
                         .part = part,
                         .thin = of.thickness,
                         .mover = soft_others_take(soft, thing.other, thing.thing),
                         .rooted = rooted,
                         .body = (u32)(body - soft->bodies)};
        ShapePose pose = pose_of(soft, &face);
        Vec3 off = vec3_sub(inside_of(&pose), soft->points[point[0]].position);
        f32 height = vec3_dot(plane_of(soft, point), off);
        face.side = height > 0.0f ? 1.0f : height < 0.0f ? -1.0f : 0.0f;
        soft->faces[soft->face_count++] = face;
    }
}

static bool is_rooted(const Soft *soft, OtherThing thing, u32 root, const u32 point[3])
{
    return soft_contact_is_rooted(soft, thing, root, point[0]) ||
           soft_contact_is_rooted(soft, thing, root, point[1]) ||
           soft_contact_is_rooted(soft, thing, root, point[2]);
}

/* Those bodies within the bounds that collide with faces. */
static u32 find_things(const Soft *soft, const SoftBody *body, Bounds bounds, OtherThing *found)
{
    u32 things[THINGS_MAX], kept = 0;
    for (u32 o = 0; o < soft->other_count; o++) {
        const Collider *collider = soft_collider_of(soft, o);
        u32 count = contact_bodies(collider) == NULL
                        ? 0
                        : collider->ops->overlaps(collider->of, bounds, body->def.group,
                                                  body->def.mask, things, THINGS_MAX);
        for (u32 i = 0; i < count && kept < THINGS_MAX; i++) {
            if (soft_contact_by_faces(soft, body, o, things[i])) {
                found[kept++] = (OtherThing){o, things[i]};
            }
        }
    }
    return kept;
}

static void begin_group(Soft *soft, const SoftBody *body, u32 first, u32 end, ContactRoots *roots)
{
    OtherThing near[THINGS_MAX];
    u32 point[3];
    Bounds all = {{INFINITY, INFINITY, INFINITY}, {-INFINITY, -INFINITY, -INFINITY}};
    for (u32 i = first; i < end; i++) {
        face_points(soft, body, i, point);
        Bounds bounds = face_bounds(soft, point, body->def.thickness);
        all = (Bounds){vec3_min(all.min, bounds.min), vec3_max(all.max, bounds.max)};
    }
    u32 kept = find_things(soft, body, all, near);
    for (u32 i = first; i < end && kept != 0; i++) {
        face_points(soft, body, i, point);
        Bounds bounds = face_bounds(soft, point, body->def.thickness);
        for (u32 s = 0; s < kept; s++) {
            Bounds of = soft_other_bounds(soft, near[s].other, near[s].thing);
            u32 root = soft_contact_root(soft, body, near[s], roots);
            if (bounds_overlap(&bounds, &of) && !is_rooted(soft, near[s], root, point)) {
                add_face(soft, body, point, near[s], root);
            }
        }
    }
}

/* Lists pairs of triangle and thing that may touch within the tick, by body and triangle. */
void soft_contact_face_begin(Soft *soft)
{
    /* Enough for most scenes from the first tick on. */
    memory_grow((void **)&soft->faces, &soft->face_capacity, 4 * soft->count, sizeof *soft->faces);
    for (u32 b = 0; b < soft->body_count; b++) {
        const SoftBody *body = &soft->bodies[b];
        ContactRoots roots = {.count = 0};
        u32 count = soft_sleeps(soft, b) ? 0 : face_count(body);
        for (u32 first = 0; first < count; first += GROUP) {
            begin_group(soft, body, first, u32_min(first + GROUP, count), &roots);
        }
    }
}

/* ---- the substep ---- */

typedef struct Measure {
    const Soft *soft;
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
    if (height > 0.3f * shape_inner_radius(pose->shape)) {
        return false;
    }
    face->normal = vec3_neg(n);
    *at = contact_support(pose, face->normal);
    memcpy(face->weight, w, sizeof w);
    return true;
}

/* Where the body is flat, all corners keep their distance separately: a triangle on a plate that is
 * supported at one point only would rock about it. */
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
    ShapePose pose = pose_of(soft, face);
    ContactMotion motion = soft_motion_of(soft, face->other, face->thing);
    f32 thickness = soft->bodies[face->body].def.thickness;
    Vec3 c[3], at = vec3_zero();
    ContactSeparation result;
    face_corners(soft, face, c);
    Vec3 velocity = vec3_add(motion.velocity, motion.bias);
    f32 speed = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        f32 v = vec3_distance(soft->points[face->point[k]].velocity, velocity);
        speed = f32_max(speed, v);
    }
    f32 turning = vec3_length(motion.angular_velocity) * shape_reach(pose.shape);
    f32 reach =
        thickness + (speed + turning + CONTACT_MARGIN_M_S) * with->h + stretch_of(soft, face, c);
    face->near = 0;
    if (face->side != 0.0f && measure_plane(soft, face, &pose, c, &at)) {
        face->near = 1;
    } else if (contact_separation(&pose, c, reach, &face->apart, &result)) {
        face->near = 1;
        face->normal = result.normal;
        at = result.on_shape;
        triangle_nearest_weights(result.on_triangle, c[0], c[1], c[2], face->weight);
    }
    if (face->near != 0) {
        measure_corners(face, &pose, c, thickness, reach);
        face->local = quat_rotate_inverse(motion.orientation, vec3_sub(at, motion.centre));
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
static void find_clearance(Soft *soft, SoftFace *face)
{
    ContactMotion motion = soft_motion_of(soft, face->other, face->thing);
    Vec3 at = vec3_add(quat_rotate(motion.orientation, face->local), motion.centre);
    face->clearance = soft->bodies[face->body].def.thickness;
    face->pinched = 0;
    f32 between = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        Vec3 off = vec3_sub(soft->points[face->point[k]].position, at);
        f32 distance = vec3_dot(off, face->normal);
        between += face->weight[k] * distance;
        if (face->rooted != 0) {
            face->keep[k] = f32_min(face->keep[k], f32_max(distance, 0.0f));
        }
        f32 clearance =
            soft_contact_capacity(soft, face->point[k], face->normal, distance, &face->pinched);
        face->keep[k] = f32_min(face->keep[k], clearance);
        face->clearance = f32_min(face->clearance, clearance);
    }
    if (face->rooted != 0) {
        face->clearance = f32_min(face->clearance, f32_max(between, 0.0f));
    }
}

void soft_contact_face_substep(Soft *soft, f32 h)
{
    Measure with = {soft, h};
    jobs_run(soft->jobs, soft->face_count, MEASURE_GRAIN, measure_faces, &with);
    for (u32 i = 0; i < soft->face_count; i++) {
        if (soft->faces[i].near != 0) {
            find_clearance(soft, &soft->faces[i]);
        }
    }
}

/* ---- the step ---- */

/* A point of a triangle against the body's plane there. */
typedef struct FacePoint {
    f32 weight[3];    /* of the corners */
    f32 inverse_mass; /* 1/kg, at the point */
    Vec3 at, velocity;
    f32 keep;   /* m, distance kept */
    f32 driven; /* m/s, approach when this step began */
} FacePoint;

/* The thing of a face, for one contact point after the other. */
typedef struct FaceThing {
    Soft *soft;
    SoftFace *face;
    const Collider *collider;
    Vec3 at; /* m, its contact point at the start of the step */
    f32 h;   /* s */
} FaceThing;

static ContactMotion motion_of(const FaceThing *of)
{
    return soft_motion_of(of->soft, of->face->other, of->face->thing);
}

static f32 exchange(const FaceThing *of, const FacePoint *point, const ContactPlace *place,
                    Vec3 direction, f32 speed)
{
    f32 wb = of->collider->ops->inverse_mass(of->collider->of, place, direction);
    f32 impulse = speed / (point->inverse_mass + wb);
    for (u32 k = 0; k < 3; k++) {
        SoftPoint *p = &of->soft->points[of->face->point[k]];
        f32 part = point->weight[k] * p->inverse_mass * impulse;
        p->velocity = vec3_add_scaled(p->velocity, part, direction);
    }
    if (wb > 0.0f) {
        of->collider->ops->impulse(of->collider->of, place, vec3_scale(direction, -impulse));
    }
    return impulse;
}

static void push_apart(const FaceThing *of, const FacePoint *point, ContactPlace *place, f32 apart)
{
    f32 wb = of->collider->ops->inverse_mass(of->collider->of, place, of->face->normal);
    f32 impulse_m = apart / (point->inverse_mass + wb), most = 0.0f;
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &of->soft->points[of->face->point[k]];
        most = f32_max(most, point->weight[k] * p->inverse_mass * impulse_m);
    }
    impulse_m *= soft_lever_part(most, apart);
    for (u32 k = 0; k < 3; k++) {
        SoftPoint *p = &of->soft->points[of->face->point[k]];
        f32 part = point->weight[k] * p->inverse_mass * impulse_m;
        p->position = vec3_add_scaled(p->position, part, of->face->normal);
    }
    if (of->face->mover != SOFT_NONE) {
        ContactParticle particle = {.position = point->at, .velocity = point->velocity};
        of->collider->ops->push(of->collider->of, place, vec3_scale(of->face->normal, -impulse_m),
                                &particle);
    }
}

/* Friction after a push of so many m/s. `slip`: m/s, of the point against the thing. */
static void rub(const FaceThing *of, const FacePoint *point, const ContactPlace *place, Vec3 slip,
                f32 push)
{
    const SoftDef *def = &of->soft->bodies[of->face->body].def;
    f32 slipped = vec3_length(slip);
    if (slipped > 1e-6f) {
        f32 mu = of->collider->ops->friction(of->collider->of, of->face->thing);
        f32 holds = sqrtf(f32_max(def->friction, def->static_friction) * mu);
        f32 rubs = sqrtf(def->friction * mu) * push;
        exchange(of, point, place, vec3_scale(slip, -1.0f / slipped),
                 slipped <= holds * push ? slipped : f32_min(slipped, rubs));
    }
}

/* Friction that holds a rope where it comes out of the body would jam it there, stretched, and
 * release it all at once. */
static bool slides(const SoftFace *face)
{
    return face->rooted != 0 && face->point[1] == face->point[2];
}

/* Returns how much too near the two would have come within the step, m. */
static f32 solve_place(const FaceThing *of, const FacePoint *point)
{
    SoftFace *face = of->face;
    /* Impulses act through the point of the triangle: equal and opposite moments. */
    ContactMotion motion = motion_of(of);
    ContactPlace place = {
        .thing = face->thing, .mover = face->mover, .arm = vec3_sub(point->at, motion.centre)};
    Vec3 moving = contact_motion_at(&motion, place.arm);
    Vec3 against = vec3_sub(point->velocity, moving);
    f32 gap = vec3_dot(vec3_sub(point->at, of->at), face->normal) - point->keep;
    ContactNormal normal = {gap, -vec3_dot(against, face->normal), 0.0f};
    if (face->mover != SOFT_NONE) {
        normal.bias = vec3_dot(vec3_add(motion.bias, vec3_cross(motion.bias_angular, place.arm)),
                               face->normal);
    }
    if (normal.approach > CONTACT_WAKE_M_S) {
        of->collider->ops->wake(of->collider->of, face->thing);
    }
    f32 push, apart;
    contact_normal(&normal, of->h, &push, &apart);
    /* Triangles about a corner stop it one after the other. */
    if (face->mover == SOFT_NONE && -gap > point->keep) {
        f32 driven = f32_max(point->driven, normal.approach);
        apart = contact_deep_apart(&normal, driven, apart, of->h);
    }
    if (push > 0.0f) {
        f32 pressed = exchange(of, point, &place, face->normal, push);
        face->pressed += pressed;
        face->pressed_at = vec3_add_scaled(face->pressed_at, pressed, point->at);
    }
    if (apart > 0.0f) {
        push_apart(of, point, &place, apart);
    }
    if (push > 0.0f && point->keep > 0.0f && !slides(face)) {
        /* The push has rotated the body. */
        Vec3 slip = vec3_add_scaled(against, normal.approach, face->normal);
        motion = motion_of(of);
        Vec3 since = vec3_sub(contact_motion_at(&motion, place.arm), moving);
        Vec3 along = vec3_scale(face->normal, vec3_dot(since, face->normal));
        rub(of, point, &place, vec3_sub(slip, vec3_sub(since, along)), push);
    }
    return of->h * push;
}

/* Motion of the body along the normal of a face: at a point x, speed + turn · (x − centre). */
typedef struct FaceDrift {
    Vec3 centre, rotation;
    f32 speed; /* m/s */
} FaceDrift;

static FaceDrift drift_of(const FaceThing *of)
{
    ContactMotion motion = motion_of(of);
    Vec3 normal = of->face->normal;
    Vec3 rotation = vec3_add(motion.angular_velocity, motion.bias_angular);
    return (FaceDrift){motion.centre, vec3_cross(normal, rotation),
                       vec3_dot(vec3_add(motion.velocity, motion.bias), normal)};
}

/* Will the point violate its distance within the step? */
static bool comes_near(const FaceThing *of, const FaceDrift *drift, const FacePoint *point)
{
    Vec3 normal = of->face->normal;
    f32 gap = vec3_dot(vec3_sub(point->at, of->at), normal) - point->keep;
    f32 moving = drift->speed + vec3_dot(vec3_sub(point->at, drift->centre), drift->rotation);
    return gap + of->h * (vec3_dot(point->velocity, normal) - moving) < 0.0f;
}

/* Solves the corners of a face separately: the separating plane supports the whole triangle, as
 * a corner pulled through the body in one step would otherwise drag it to the other side. */
static f32 solve_corners(const FaceThing *of)
{
    const SoftFace *face = of->face;
    f32 most = 0.0f;
    FaceDrift drift = drift_of(of);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &of->soft->points[face->point[k]];
        FacePoint corner = {.at = p->position,
                            .velocity = p->velocity,
                            .inverse_mass = p->inverse_mass,
                            .keep = face->keep[k],
                            .driven = face->driven[k]};
        corner.weight[k] = 1.0f;
        if (p->inverse_mass > 0.0f && (k != 2 || face->point[1] != face->point[2]) &&
            comes_near(of, &drift, &corner)) {
            most = f32_max(most, solve_place(of, &corner));
            drift = drift_of(of);
        }
    }
    return most;
}

static f32 solve_nearest(const FaceThing *of)
{
    const SoftFace *face = of->face;
    FaceDrift drift = drift_of(of);
    FacePoint point = {.keep = face->clearance};
    memcpy(point.weight, face->weight, sizeof point.weight);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &of->soft->points[face->point[k]];
        point.at = vec3_add_scaled(point.at, face->weight[k], p->position);
        point.velocity = vec3_add_scaled(point.velocity, face->weight[k], p->velocity);
        point.inverse_mass += face->weight[k] * face->weight[k] * p->inverse_mass;
        point.driven += face->weight[k] * face->driven[k];
    }
    return point.inverse_mass > 0.0f && comes_near(of, &drift, &point) ? solve_place(of, &point)
                                                                       : 0.0f;
}

/* Corners of triangles first: they belong to several triangles, and correcting a point between them
 * would lift one that is already supported, which would then oscillate forever. Returns the largest
 * of their corrections, m. */
static f32 solve(Soft *soft, SoftFace *face, f32 h)
{
    FaceThing of = {soft, face, soft_collider_of(soft, face->other), vec3_zero(), h};
    ContactMotion motion = motion_of(&of);
    bool segment = face->point[1] == face->point[2];
    of.at = vec3_add(quat_rotate(motion.orientation, face->local), motion.centre);
    f32 first = segment ? solve_nearest(&of) : 0.0f;
    f32 corners = solve_corners(&of);
    f32 last = segment ? 0.0f : solve_nearest(&of);
    return f32_max(f32_max(first, last), corners);
}

/* Is another pass needed? */
static bool solve_pass(Soft *soft, f32 h)
{
    bool again = false;
    for (u32 i = 0; i < soft->face_count; i++) {
        SoftFace *face = &soft->faces[i];
        bool far = face->near != 0 && solve(soft, face, h) > again_part * face->thin;
        again |= far && face->point[1] != face->point[2];
    }
    return again;
}

static void measure_driven(const Soft *soft, SoftFace *face)
{
    ContactMotion motion = soft_motion_of(soft, face->other, face->thing);
    for (u32 k = 0; k < 3; k++) {
        const SoftPoint *p = &soft->points[face->point[k]];
        Vec3 moving = contact_motion_at(&motion, vec3_sub(p->position, motion.centre));
        face->driven[k] = -vec3_dot(vec3_sub(p->velocity, moving), face->normal);
    }
}

/* Triangles about a corner push it in different directions: the last one undoes what the first
 * did, and a light corner of a stretched sheet that springs back would pass the body. A rope has no
 * such corners. */
void soft_contact_face_solve(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->face_count; i++) {
        soft->faces[i].pressed = 0.0f;
        soft->faces[i].pressed_at = vec3_zero();
        if (soft->faces[i].near != 0) {
            measure_driven(soft, &soft->faces[i]);
        }
    }
    bool again = true;
    for (u32 n = 0; n < PASSES_MAX && again; n++) {
        again = solve_pass(soft, h);
    }
}

void soft_contact_face_solve_pinched(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->face_count; i++) {
        if (soft->faces[i].near != 0 && soft->faces[i].pinched != 0) {
            solve(soft, &soft->faces[i], h);
        }
    }
}

/* ---- rest ---- */

bool soft_contact_face_touches(const Soft *soft, const SoftFace *face, f32 reach)
{
    ShapePose pose = pose_of(soft, face);
    ContactSeparation result;
    Vec3 c[3];
    face_corners(soft, face, c);
    return contact_separation(&pose, c, reach, NULL, &result);
}

bool soft_contact_face_meets(const Soft *soft, const SoftBody *body, u32 other, u32 thing,
                             f32 reach)
{
    ContactBody of;
    if (!describe(soft, other, thing, &of)) {
        return false;
    }
    Bounds around = bounds_grow(soft_other_bounds(soft, other, thing), reach);
    for (u32 i = 0; i < face_count(body); i++) {
        SoftFace face = {.other = other, .thing = thing};
        face_points(soft, body, i, face.point);
        Bounds bounds = face_bounds(soft, face.point, 0.0f);
        for (; bounds_overlap(&bounds, &around) && face.part < of.parts; face.part++) {
            if (soft_contact_face_touches(soft, &face, reach)) {
                return true;
            }
        }
    }
    return false;
}
