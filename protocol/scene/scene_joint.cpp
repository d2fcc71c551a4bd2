// scene_joint.cpp: joints of a scene: between two bodies, between a body and the world, along the
// copies of a body; and jointed figures. Everything is converted to the bodies' own frames here, at
// their initial poses.
#include "protocol/scene/scene_builder_cpp.h"

#include <algorithm>
#include <cfloat>

namespace plenum
{

namespace
{

constexpr u32 bit(JointKind kind)
{
    return 1u << kind;
}

constexpr u32 BALL = bit(JOINT_BALL), HINGE = bit(JOINT_HINGE), SLIDER = bit(JOINT_SLIDER);
constexpr u32 DISTANCE = bit(JOINT_DISTANCE), CONE_TWIST = bit(JOINT_CONE_TWIST);
constexpr u32 UNIVERSAL = bit(JOINT_UNIVERSAL), MOTOR = bit(JOINT_MOTOR);
constexpr u32 SPRING = bit(JOINT_SPRING);
constexpr f32 RADIANS = 3.14159265f / 180.0f;

bool is_angular(JointKind kind)
{
    return kind == JOINT_HINGE || kind == JOINT_CONE_TWIST;
}

// The rotation that maps x and y to these two perpendicular unit vectors.
Quat quat_of_axes(Vec3 x, Vec3 y)
{
    Vec3 z = vec3_cross(x, y);
    f32 trace = x.x + y.y + z.z;
    Quat q;
    if (trace > 0.0f) {
        q = Quat{1.0f + trace, y.z - z.y, z.x - x.z, x.y - y.x};
    } else if (x.x >= y.y && x.x >= z.z) {
        q = Quat{y.z - z.y, 1.0f + x.x - y.y - z.z, y.x + x.y, z.x + x.z};
    } else if (y.y >= z.z) {
        q = Quat{z.x - x.z, y.x + x.y, 1.0f + y.y - x.x - z.z, z.y + y.z};
    } else {
        q = Quat{x.y - y.x, z.x + x.z, z.y + y.z, 1.0f + z.z - x.x - y.y};
    }
    return quat_normalize(q);
}

Vec3 any_perpendicular(Vec3 v)
{
    Vec3 other = fabsf(v.y) < 0.9f ? vec3(0.0f, 1.0f, 0.0f) : vec3(0.0f, 0.0f, 1.0f);
    return vec3_normalize_or(vec3_sub(other, vec3_scale(v, vec3_dot(other, v))),
                             vec3(1.0f, 0.0f, 0.0f));
}

struct Pose {
    Vec3 position;
    Quat orientation;
};

Vec3 to_local(const Pose &pose, Vec3 point)
{
    return quat_rotate_inverse(pose.orientation, vec3_sub(point, pose.position));
}

Vec3 to_world(const Pose &pose, Vec3 point)
{
    return vec3_add(pose.position, quat_rotate(pose.orientation, point));
}

Pose pose_of(const std::vector<SceneBody> &bodies, i32 body)
{
    return body < 0 ? Pose{vec3_zero(), quat_identity()}
                    : Pose{bodies[(u32)body].position, bodies[(u32)body].orientation};
}

} // namespace

// ---- one joint ---------------------------------------------------------------------------------

bool Builder::joint_fields(const JsonPath &at, const fb::Joint *in, JointKind kind)
{
#define ROW_ONLY(key, initial, kinds)                                                              \
    if (is_given(in->key(), initial) && ((kinds)&bit(kind)) == 0) {                                \
        return fail(at, #key, "a %s joint has none; leave it out", joint_kind_names[kind]);        \
    }
#include "shared/rows/joint.def"
    if (kind == JOINT_SPRING && !(in->frequency() > 0.0f)) {
        return fail(at, "frequency", "missing; a spring needs one > 0 Hz");
    }
    if (in->speed() != 0.0f && !(in->force() > 0.0f)) {
        return fail(at, "force", "missing; a motor with a speed needs one > 0");
    }
    return true;
}

bool Builder::joint_body(const JsonPath &at, const char *field, const flatbuffers::String *in,
                         i32 *out)
{
    *out = -1;
    if (in == nullptr || in->size() == 0) {
        return true;
    }
    char wanted[NAME_BYTES_MAX];
    if (!name(at, field, in, wanted)) {
        return false;
    }
    auto found = entities_.find(wanted);
    if (found == entities_.end() || found->second < 0) {
        return fail(at, field, "no body \"%s\"; name one of bodies", wanted);
    }
    *out = found->second;
    return true;
}

bool Builder::joint_limits(const JsonPath &at, const fb::Joint *in, SceneJoint *out)
{
    bool angular = is_angular(out->kind), hinge = out->kind == JOINT_HINGE;
    if (out->kind == JOINT_CONE_TWIST) {
        out->limited = in->limits() != nullptr || in->swing() != 0.0f;
        f32 swing = in->swing() != 0.0f ? in->swing() : 180.0f;
        if (!number(at, "swing", swing, 0.1f, 180.0f, &swing)) {
            return false;
        }
        out->swing = swing * RADIANS;
        out->lower = -180.0f * RADIANS;
        out->upper = 180.0f * RADIANS;
    }
    if (in->limits() == nullptr) {
        return true;
    }
    f32 low = out->kind == JOINT_DISTANCE ? 0.0f : angular ? -180.0f : -SCENE_SIZE_MAX_M;
    f32 high = angular ? 180.0f : SCENE_SIZE_MAX_M, values[2];
    // Hinges do not count full rotations, so an unbounded range is no limit.
    if (!floats(at, "limits", in->limits(), {2, 2, low, high}, values)) {
        return false;
    }
    if (!(values[0] <= values[1])) {
        return fail(at, "limits", "[%g, %g]; give the lower limit first", (double)values[0],
                    (double)values[1]);
    }
    out->limited = !hinge || values[0] > -180.0f || values[1] < 180.0f;
    out->lower = angular ? values[0] * RADIANS : values[0];
    out->upper = angular ? values[1] * RADIANS : values[1];
    return true;
}

bool Builder::joint_values(const JsonPath &at, const fb::Joint *in, SceneJoint *out)
{
    f32 rest, rest_max = is_angular(out->kind) ? 180.0f : SCENE_SIZE_MAX_M;
    bool good = joint_fields(at, in, out->kind) && joint_limits(at, in, out);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/joint.def"
    if (!good || !number(at, "rest", in->rest(), -rest_max, rest_max, &rest)) {
        return false;
    }
    out->rest = is_angular(out->kind) ? rest * RADIANS : rest;
    if (out->friction > 0.0f && out->kind == JOINT_SLIDER) {
        if (out->force_max > 0.0f) {
            return fail(at, "friction", "a motor holds with its force, too; leave out one of them");
        }
        out->force_max = out->friction; // a motor that holds still
        out->friction = 0.0f;
    }
    out->sprung = out->frequency > 0.0f;
    out->driven = out->force_max > 0.0f || out->torque_max > 0.0f;
    out->collide = in->collide();
    if (out->kind == JOINT_MOTOR && !out->driven) {
        return fail(at, "force", "missing; a motor needs a force or a torque > 0");
    }
    return true;
}

// Anchors and frames of a joint with known bodies; `anchor` is in world coordinates.
bool Builder::joint_place(const JsonPath &at, const fb::Joint *in, Vec3 anchor, SceneJoint *out)
{
    Pose a = pose_of(bodies_, out->a), b = pose_of(bodies_, out->b);
    Vec3 axis, second;
    if (!vector(at, "axis", in->axis(), vec3(0.0f, 1.0f, 0.0f), 1e6f, &axis)) {
        return false;
    }
    if (!(vec3_length(axis) > 1e-3f)) {
        return fail(at, "axis", "has no direction; give a vector");
    }
    axis = vec3_normalize_or(axis, vec3(0.0f, 1.0f, 0.0f));
    if (!vector(at, "axis2", in->axis2(), any_perpendicular(axis), 1e6f, &second)) {
        return false;
    }
    second = vec3_sub(second, vec3_scale(axis, vec3_dot(second, axis)));
    if (!(vec3_length(second) > 1e-3f)) {
        return fail(at, "axis2", "is parallel to axis; must be perpendicular to it");
    }
    Quat frame = quat_of_axes(axis, vec3_normalize_or(second, any_perpendicular(axis)));
    if (out->kind == JOINT_MOTOR) { // it has no axis: its velocities are in a's frame
        frame = a.orientation;
    }
    out->frame_a = quat_normalize(quat_mul(quat_conjugate(a.orientation), frame));
    out->frame_b = quat_normalize(quat_mul(quat_conjugate(b.orientation), frame));
    out->anchor_a = to_local(a, anchor);
    out->anchor_b = to_local(b, anchor);
    return true;
}

// Anchors given in the frames of the bodies, and lengths derived from them. `from` is the origin
// of an anchor in world coordinates.
bool Builder::joint_anchors(const JsonPath &at, const fb::Joint *in, Vec3 from, SceneJoint *out)
{
    if (!vector(at, "anchor_a", in->anchor_a(), out->anchor_a, WORLD_EXTENT_MAX_M,
                &out->anchor_a) ||
        !vector(at, "anchor_b", in->anchor_b(), out->anchor_b, WORLD_EXTENT_MAX_M,
                &out->anchor_b)) {
        return false;
    }
    if (in->anchor_a() != nullptr && out->a < 0) {
        out->anchor_a = vec3_add(out->anchor_a, from);
    }
    f32 length = vec3_distance(to_world(pose_of(bodies_, out->a), out->anchor_a),
                               to_world(pose_of(bodies_, out->b), out->anchor_b));
    if (out->kind == JOINT_DISTANCE && in->limits() == nullptr) {
        if (!(length > 1e-3f)) {
            return fail(at, "anchor_a", "both anchors coincide; a rod needs a length");
        }
        out->limited = true;
        out->lower = out->upper = length;
    }
    if (out->kind == JOINT_SPRING && in->rest() == 0.0f) {
        out->rest = length;
    }
    return true;
}

bool Builder::add_joint(const JsonPath &at, const SceneJoint &given)
{
    if (joints_.size() >= JOINTS_MAX) {
        return fail(at, nullptr, "too many joints; at most %d in a scene", JOINTS_MAX);
    }
    bool movable = (given.a >= 0 && bodies_[(u32)given.a].motion == BODY_DYNAMIC) ||
                   (given.b >= 0 && bodies_[(u32)given.b].motion == BODY_DYNAMIC);
    if (given.a == given.b) {
        return fail(at, "b", "is the same as a; name two bodies, or one and the world");
    }
    if (!movable) {
        return fail(at, "b", "neither can move; a or b must be dynamic");
    }
    if (!unique(at, &joint_names_, given.name, (i32)joints_.size())) {
        return false;
    }
    joints_.push_back(given);
    return true;
}

// ---- joints of copies --------------------------------------------------------------------------

bool Builder::joint_chain(const JsonPath &at, const fb::Joint *in, const SceneJoint &first,
                          const Copies &along, Vec3 offset)
{
    u32 nx = along.count[0], ny = along.count[1], nz = along.count[2];
    u32 axis = (u32)in->along(), made = 0;
    if (along.stairs) {
        return fail(at, "chain", "has a repeat with stairs; a chain needs a full grid");
    }
    u32 step = axis == 0 ? 1 : axis == 1 ? nx * nz : nx;
    for (u32 j = 0; j + (axis == 1) < ny; j++) {
        for (u32 k = 0; k + (axis == 2) < nz; k++) {
            for (u32 i = 0; i + (axis == 0) < nx; i++) {
                SceneJoint copy = first;
                copy.a = (i32)(along.first + (j * nz + k) * nx + i);
                copy.b = copy.a + (i32)step;
                Vec3 middle =
                    vec3_lerp(bodies_[(u32)copy.a].position, bodies_[(u32)copy.b].position, 0.5f);
                memset(copy.name, 0, sizeof copy.name);
                if (!copy_name(at, first.name, made++, copy.name) ||
                    !joint_place(at, in, vec3_add(middle, offset), &copy) ||
                    !joint_anchors(at, in, vec3_zero(), &copy) || !add_joint(at, copy)) {
                    return false;
                }
            }
        }
    }
    return made > 0 || fail(at, "chain", "has fewer than two copies along that axis");
}

bool Builder::joint_copies(const JsonPath &at, const fb::Joint *in, const SceneJoint &first)
{
    bool chain = in->chain() != nullptr;
    const char *field = chain ? "chain" : "each";
    if (chain && (in->each() != nullptr || in->a() != nullptr)) {
        return fail(at, field, "joins copies to each other; leave out a and each");
    }
    if (in->b() != nullptr) {
        return fail(at, "b", "is each copy in turn; leave it out");
    }
    char wanted[NAME_BYTES_MAX];
    if (!name(at, field, chain ? in->chain() : in->each(), wanted)) {
        return false;
    }
    auto found = copies_.find(wanted);
    if (found == copies_.end()) {
        return fail(at, field, "no body \"%s\" with a repeat; name one of bodies", wanted);
    }
    const Copies &copies = found->second;
    Vec3 offset;
    if (!vector(at, "anchor", in->anchor(), vec3_zero(), SCENE_SIZE_MAX_M, &offset)) {
        return false;
    }
    if (chain) {
        return joint_chain(at, in, first, copies, offset);
    }
    for (u32 i = 0;; i++) {
        // Copies are consecutive: their names show where they end.
        char body[NAME_BYTES_MAX];
        auto copy_found = copy_name(at, wanted, i, body) ? entities_.find(body) : entities_.end();
        if (copy_found == entities_.end() || copy_found->second != (i32)(copies.first + i)) {
            return true;
        }
        SceneJoint copy = first;
        copy.b = copy_found->second;
        memset(copy.name, 0, sizeof copy.name);
        if (!copy_name(at, first.name, i, copy.name) ||
            !joint_place(at, in, vec3_add(bodies_[(u32)copy.b].position, offset), &copy) ||
            !joint_anchors(at, in, bodies_[(u32)copy.b].position, &copy) || !add_joint(at, copy)) {
            return false;
        }
    }
}

bool Builder::joint(const JsonPath &at, const fb::Joint *in)
{
    SceneJoint made = {};
    if (!name(at, "name", in->name(), made.name)) {
        return false;
    }
    if (!choice(at, "kind", (u32)in->kind(), joint_kind_names, JOINT_BALL, JOINT_KIND_COUNT)) {
        return false;
    }
    if (in->along() > fb::Axis::MAX) {
        return fail(at, "along", "unknown; one of x, y, z");
    }
    made.kind = (JointKind)in->kind();
    if (!joint_values(at, in, &made) || !joint_body(at, "a", in->a(), &made.a) ||
        !joint_body(at, "b", in->b(), &made.b)) {
        return false;
    }
    if (in->chain() != nullptr || in->each() != nullptr) {
        return joint_copies(at, in, made);
    }
    Vec3 pa = pose_of(bodies_, made.a >= 0 ? made.a : made.b).position;
    Vec3 pb = pose_of(bodies_, made.b >= 0 ? made.b : made.a).position;
    Vec3 anchor;
    return vector(at, "anchor", in->anchor(), vec3_lerp(pa, pb, 0.5f), WORLD_EXTENT_MAX_M,
                  &anchor) &&
           joint_place(at, in, anchor, &made) && joint_anchors(at, in, vec3_zero(), &made) &&
           add_joint(at, made);
}

bool Builder::joints(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "joints", in->joints(), JOINTS_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "joints", i};
        if (!joint(here, in->joints()->Get(i))) {
            return false;
        }
    }
    return true;
}

// ---- figures -----------------------------------------------------------------------------------

namespace
{

// Lengths are fractions of the height, the origin is the ground between the feet, z is forward,
// x is the figure's left. Masses are fractions of the total (after Dempster 1955, rounded).
struct RagdollPart {
    const char *name;
    Vec3 centre;
    f32 radius, half_height;
    bool across; // the capsule lies along x
    f32 mass;
};

const RagdollPart parts[RAGDOLL_BODIES] = {
    {"pelvis", {0.0f, 0.545f, 0.0f}, 0.062f, 0.040f, true, 0.15f},
    {"chest", {0.0f, 0.715f, 0.0f}, 0.080f, 0.030f, false, 0.31f},
    {"head", {0.0f, 0.925f, 0.0f}, 0.055f, 0.020f, false, 0.07f},
    {"upper-arm-left", {0.115f, 0.715f, 0.0f}, 0.027f, 0.066f, false, 0.03f},
    {"forearm-left", {0.115f, 0.530f, 0.0f}, 0.024f, 0.075f, false, 0.025f},
    {"upper-arm-right", {-0.115f, 0.715f, 0.0f}, 0.027f, 0.066f, false, 0.03f},
    {"forearm-right", {-0.115f, 0.530f, 0.0f}, 0.024f, 0.075f, false, 0.025f},
    {"thigh-left", {0.052f, 0.400f, 0.0f}, 0.042f, 0.078f, false, 0.115f},
    {"shin-left", {0.052f, 0.145f, 0.0f}, 0.034f, 0.110f, false, 0.065f},
    {"thigh-right", {-0.052f, 0.400f, 0.0f}, 0.042f, 0.078f, false, 0.115f},
    {"shin-right", {-0.052f, 0.145f, 0.0f}, 0.034f, 0.110f, false, 0.065f},
};

// Knees and elbows rotate about x: a knee's shin moves back with increasing angle.
struct RagdollJoint {
    const char *name;
    u32 a, b;
    JointKind kind;
    Vec3 anchor;
    f32 swing, lower, upper; // degrees
};

const RagdollJoint links[RAGDOLL_JOINTS] = {
    {"spine", 0, 1, JOINT_CONE_TWIST, {0.0f, 0.610f, 0.0f}, 35.0f, -35.0f, 35.0f},
    {"neck", 1, 2, JOINT_CONE_TWIST, {0.0f, 0.835f, 0.0f}, 40.0f, -60.0f, 60.0f},
    {"shoulder-left", 1, 3, JOINT_CONE_TWIST, {0.105f, 0.790f, 0.0f}, 100.0f, -60.0f, 60.0f},
    {"elbow-left", 3, 4, JOINT_HINGE, {0.115f, 0.625f, 0.0f}, 0.0f, -145.0f, 0.0f},
    {"shoulder-right", 1, 5, JOINT_CONE_TWIST, {-0.105f, 0.790f, 0.0f}, 100.0f, -60.0f, 60.0f},
    {"elbow-right", 5, 6, JOINT_HINGE, {-0.115f, 0.625f, 0.0f}, 0.0f, -145.0f, 0.0f},
    {"hip-left", 0, 7, JOINT_CONE_TWIST, {0.052f, 0.510f, 0.0f}, 70.0f, -30.0f, 30.0f},
    {"knee-left", 7, 8, JOINT_HINGE, {0.052f, 0.280f, 0.0f}, 0.0f, 0.0f, 140.0f},
    {"hip-right", 0, 9, JOINT_CONE_TWIST, {-0.052f, 0.510f, 0.0f}, 70.0f, -30.0f, 30.0f},
    {"knee-right", 9, 10, JOINT_HINGE, {-0.052f, 0.280f, 0.0f}, 0.0f, 0.0f, 140.0f},
};

// N m of dry friction in a joint for each metre and kilogram of a figure: 1e-4 of its weight times
// its height, a twentieth of the moment of a forearm's weight there, a sixtieth of that of a head.
const f32 JOINT_FRICTION = 1e-3f;

SceneJoint link_joint(const RagdollJoint &link, const std::vector<SceneBody> &bodies, u32 first,
                      const Pose &figure, f32 size, f32 mass)
{
    SceneJoint made = {};
    made.kind = link.kind;
    made.a = (i32)(first + link.a);
    made.b = (i32)(first + link.b);
    made.limited = true;
    made.damping = 1.0f;
    made.swing = link.swing * RADIANS;
    made.lower = link.lower * RADIANS;
    made.upper = link.upper * RADIANS;
    // Torque scales with weight times length. Without friction a forearm that hangs on an upright
    // axis creeps like a gate for half a minute, and a head that hangs free swings as long.
    made.friction = JOINT_FRICTION * size * mass;
    Vec3 anchor = to_world(figure, vec3_scale(link.anchor, size));
    bool hinge = link.kind == JOINT_HINGE;
    Quat frame =
        hinge ? quat_identity() : quat_of_axes(vec3(0.0f, -1.0f, 0.0f), vec3(1.0f, 0.0f, 0.0f));
    frame = quat_mul(figure.orientation, frame);
    Pose a = pose_of(bodies, made.a), b = pose_of(bodies, made.b);
    made.anchor_a = to_local(a, anchor);
    made.anchor_b = to_local(b, anchor);
    made.frame_a = quat_normalize(quat_mul(quat_conjugate(a.orientation), frame));
    made.frame_b = quat_normalize(quat_mul(quat_conjugate(b.orientation), frame));
    return made;
}

} // namespace

// One ragdoll: `part` has the options shared by its bodies, and the ragdoll's orientation, velocity
// and angular velocity.
bool Builder::ragdoll_copy(const JsonPath &at, const fb::Ragdoll *in, const SceneBody &part,
                           const char *name, Vec3 position)
{
    Pose figure = {position, part.orientation};
    f32 size = in->size();
    u32 first = (u32)bodies_.size();
    Vec3 middle = to_world(figure, vec3(0.0f, 0.55f * size, 0.0f));
    for (const RagdollPart &p : parts) {
        SceneBody made = part;
        int length = snprintf(made.name, sizeof made.name, "%s-%s", name, p.name);
        if (length >= (int)sizeof made.name) {
            return fail(at, "name", "too long with \"-%s\" behind it; at most %d bytes", p.name,
                        NAME_BYTES_MAX - 1);
        }
        made.shape.kind = SHAPE_CAPSULE;
        made.shape.radius = p.radius * size;
        made.shape.half_height = p.half_height * size;
        made.appearance.shape = made.shape;
        made.mass_kg = p.mass * in->mass();
        made.family = RAGDOLL_FAMILY_FIRST + families_;
        made.position = to_world(figure, vec3_scale(p.centre, size));
        made.velocity = vec3_add(
            part.velocity, vec3_cross(part.angular_velocity, vec3_sub(made.position, middle)));
        if (p.across) {
            made.orientation =
                quat_mul(figure.orientation, quat_about(vec3(0.0f, 0.0f, 1.0f), 90.0f));
        }
        if (!add_body(at, made)) {
            return false;
        }
    }
    families_++;
    for (const RagdollJoint &link : links) {
        SceneJoint made = link_joint(link, bodies_, first, figure, size, in->mass());
        int length = snprintf(made.name, sizeof made.name, "%s-%s", name, link.name);
        if (length >= (int)sizeof made.name) {
            return fail(at, "name", "too long with \"-%s\" behind it; at most %d bytes", link.name,
                        NAME_BYTES_MAX - 1);
        }
        if (!add_joint(at, made)) {
            return false;
        }
    }
    return true;
}

// Each option alone, by its row.
bool Builder::ragdoll_options(const JsonPath &at, const fb::Ragdoll *in, RagdollOptions *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/ragdoll.def"
    return good;
}

bool Builder::ragdoll(const JsonPath &at, const fb::Ragdoll *in)
{
    SceneBody part = body_default();
    // Muscles and joints of a limp body still dissipate some of its motion.
    part.angular_damping = 4.0f;
    const fb::Material *surface = nullptr;
    RagdollOptions options;
    if (!name(at, "name", in->name(), part.name) || !material(at, in->material(), &surface) ||
        !ragdoll_options(at, in, &options)) {
        return false;
    }
    part.position = options.position;
    part.orientation = options.orientation;
    part.velocity = options.velocity;
    part.angular_velocity = options.angular_velocity;
    take_material(surface, &part);
    // Flesh deforms: without rolling resistance a head rolls to and fro for ten seconds.
    part.rolling = std::max(part.rolling, 0.005f * options.size);
    if (!appearance(at, in->color(), surface, &part.appearance)) {
        return false;
    }
    std::vector<Copy> placed = {Copy{0, vec3_zero()}};
    if (in->repeat() != nullptr) {
        placed.clear();
        if (!copies(at, in->repeat(), RAGDOLL_BODIES, &placed)) {
            return false;
        }
    }
    for (const Copy &copy : placed) {
        char own[NAME_BYTES_MAX];
        snprintf(own, sizeof own, "%s", part.name);
        if (in->repeat() != nullptr && !copy_name(at, part.name, copy.index, own)) {
            return false;
        }
        SceneBody shared = part;
        memset(shared.name, 0, sizeof shared.name);
        if (!ragdoll_copy(at, in, shared, own, vec3_add(part.position, copy.offset))) {
            return false;
        }
    }
    return true;
}

bool Builder::ragdolls(const JsonPath &at, const fb::Scene *in)
{
    for (u32 i = 0; in->ragdolls() != nullptr && i < in->ragdolls()->size(); i++) {
        JsonPath here = {&at, "ragdolls", i};
        if (!ragdoll(here, in->ragdolls()->Get(i))) {
            return false;
        }
    }
    return true;
}

} // namespace plenum
