/* emitter.c: see emitter.h. Points by inverse transform sampling (Devroye 1986, II.2): each shape's
 * coordinates are the inverses of their cumulative distributions. */
#include "server/physics/particles/emitter.h"

#include "shared/base/limits.h"
#include "shared/geometry/geometry.h"
#include "shared/math/random.h"
#include "shared/math/trig.h"

#include <stdlib.h>

static const f32 two_pi = 6.2831853f;

enum {
    NUMBERS = 9 /* random numbers of a particle */
};

/* Largest number of particles per second: a world's whole store each tick. */
static const f32 rate_max = 1e8f;
static const f32 lifetime_max_s = 1e6f;
static const f32 time_max_s = 1e6f;
/* Particles of one step. */
static const f64 due_max = 1e9;
static const f32 pi_up = 3.1415930f; /* π rounded up */

EmitterDef emitter_default(void)
{
    return (EmitterDef){.orientation = quat_identity(),
                        .direction = vec3(0.0f, 1.0f, 0.0f),
                        .lifetime_s = {1.0f, 0.0f},
                        .size = {0.01f, 0.0f}};
}

/* ---- checks ---- */

static bool within(f32 value, f32 least, f32 most)
{
    return value >= least && value <= most; /* false for NaN */
}

static bool within_vector(Vec3 v, f32 most)
{
    return within(v.x, -most, most) && within(v.y, -most, most) && within(v.z, -most, most);
}

/* A range whose smallest number must be positive. */
static bool positive(EmitterRange range, f32 most)
{
    return within(range.mean, 0.0f, most) && within(range.spread, 0.0f, most) &&
           range.mean - range.spread > 0.0f && range.mean + range.spread <= most;
}

static const char *wrong_shape(const EmitterDef *def)
{
    const Shape *shape = &def->shape;
    Vec3 half = shape->half;
    switch (shape->kind) {
    case SHAPE_NONE:
        return NULL;
    case SHAPE_SPHERE:
        return within(shape->radius, 1e-6f, WORLD_EXTENT_MAX_M) ? NULL : "radius";
    case SHAPE_BOX:
        return within_vector(half, WORLD_EXTENT_MAX_M) && half.x >= 0.0f && half.y >= 0.0f &&
                       half.z >= 0.0f
                   ? NULL
                   : "half extents";
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return within(shape->radius, 1e-6f, WORLD_EXTENT_MAX_M) &&
                       within(shape->half_height, 1e-6f, WORLD_EXTENT_MAX_M)
                   ? NULL
                   : "radius or height";
    case SHAPE_MESH:
        return shape->geometry == NULL ? "mesh"
               : !def->surface         ? "surface: a mesh emits from its surface only"
                                       : NULL;
    default:
        return "kind of shape: a point, sphere, box, cylinder, cone or mesh";
    }
}

static const char *wrong_member(const EmitterDef *def)
{
    const char *shape = wrong_shape(def);
    f32 unit = vec3_length(def->direction);
    const Quat *q = &def->orientation;
    f32 norm = q->w * q->w + q->x * q->x + q->y * q->y + q->z * q->z;
    return shape != NULL                                          ? shape
           : !within_vector(def->position, WORLD_EXTENT_MAX_M)    ? "position"
           : !within(norm, 0.999f, 1.001f)                        ? "orientation"
           : !within_vector(def->velocity, SPEED_MAX_M_S)         ? "velocity"
           : !within(def->rate, 0.0f, rate_max)                   ? "rate"
           : def->rate > 0.0f && def->burst > 0                   ? "burst: not beside a rate"
           : !within(def->start_s, 0.0f, time_max_s)              ? "start"
           : !within(def->stop_s, 0.0f, time_max_s)               ? "stop"
           : def->stop_s != 0.0f && !(def->stop_s > def->start_s) ? "stop: before the start"
           : (u32)def->aim >= EMITTER_AIM_COUNT                   ? "aim"
           : !within(unit, 0.999f, 1.001f)                        ? "direction: not a unit vector"
           : !within(def->spread_rad, 0.0f, pi_up)                ? "spread"
           : !within(def->speed.mean, -SPEED_MAX_M_S, SPEED_MAX_M_S) ? "speed"
           : !within(def->speed.spread, 0.0f, SPEED_MAX_M_S)         ? "spread of the speed"
           : !positive(def->lifetime_s, lifetime_max_s) ? "lifetime: must stay above zero"
           : !positive(def->size, WORLD_EXTENT_MAX_M)   ? "size: must stay above zero"
                                                        : NULL;
}

int emitter_check(const EmitterDef *def, ErrorText *error)
{
    const char *wrong = wrong_member(def);
    return wrong == NULL ? ERROR_OK : error_set(error, ERROR_RANGE, "emitter: %s", wrong);
}

int emitter_init(Emitter *emitter, const EmitterDef *def, ErrorText *error)
{
    int result = emitter_check(def, error);
    *emitter = (Emitter){.def = *def};
    if (result != ERROR_OK || def->shape.kind != SHAPE_MESH) {
        return result;
    }
    const TriangleMesh *mesh = &def->shape.geometry->mesh;
    emitter->areas = malloc(mesh->triangle_count * sizeof *emitter->areas);
    if (emitter->areas == NULL) {
        return error_set(error, ERROR_MEMORY, "emitter: out of memory");
    }
    f64 sum = 0.0;
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        Vec3 c[3];
        mesh_triangle(mesh, t, c);
        sum += 0.5 * (f64)vec3_length(vec3_cross(vec3_sub(c[1], c[0]), vec3_sub(c[2], c[0])));
        emitter->areas[t] = (f32)sum;
    }
    return ERROR_OK;
}

void emitter_finish(Emitter *emitter)
{
    free(emitter->areas);
    *emitter = (Emitter){0};
}

/* ---- when ---- */

EmitterBatch emitter_advance(const Emitter *emitter, EmitterState *state, f64 dt, f32 factor,
                             u32 most)
{
    const EmitterDef *def = &emitter->def;
    f64 begin = state->time_s, end = begin + dt, start = (f64)def->start_s;
    f64 from = start > begin ? start : begin;
    f64 to = def->stop_s > 0.0f && (f64)def->stop_s < end ? (f64)def->stop_s : end;
    f64 rate = (f64)def->rate * (f64)factor, due = 0.0;
    EmitterBatch batch = {.first = state->given};
    state->time_s = end;
    if (def->burst > 0 && start >= begin && start < end) {
        due = (f64)def->burst * (f64)factor;
        batch.oldest_s = end - start;
    } else if (rate > 0.0 && to > from) {
        due = state->owed + rate * (to - from);
        f64 first = (1.0 - state->owed) / rate; /* s from `from` to the first particle */
        batch.oldest_s = end - from - first > 0.0 ? end - from - first : 0.0;
        batch.interval_s = 1.0 / rate;
    }
    due = due < due_max ? due : due_max;
    u64 whole = (u64)due;
    state->owed = def->burst > 0 || rate <= 0.0 || to <= from ? state->owed : due - (f64)whole;
    batch.count = u32_min((u32)whole, most);
    state->given += batch.count;
    return batch;
}

/* ---- where ---- */

static Vec3 on_sphere(f32 u, f32 v)
{
    f32 y = 1.0f - 2.0f * u, r = sqrtf(f32_max(1.0f - y * y, 0.0f));
    return vec3(r * trig_cos_f32(two_pi * v), y, r * trig_sin_f32(two_pi * v));
}

/* The cube root by Newton's method in double: the same bits everywhere. */
static f32 cube_root(f32 u)
{
    f64 x = 1.0;
    if (!(u > 0.0f)) {
        return 0.0f;
    }
    for (u32 i = 0; i < 64; i++) {
        f64 next = (2.0 * x + (f64)u / (x * x)) / 3.0;
        if (next == x) {
            break;
        }
        x = next;
    }
    return (f32)x;
}

static Vec3 on_box(Vec3 half, const f32 u[4], Vec3 *outward)
{
    f32 x = half.y * half.z, y = half.x * half.z, z = half.x * half.y;
    f32 pick = u[2] * (x + y + z), side = u[3] < 0.5f ? -1.0f : 1.0f;
    f32 a = 2.0f * u[0] - 1.0f, b = 2.0f * u[1] - 1.0f;
    if (pick < x) {
        *outward = vec3(side, 0.0f, 0.0f);
        return vec3(side * half.x, a * half.y, b * half.z);
    }
    if (pick < x + y) {
        *outward = vec3(0.0f, side, 0.0f);
        return vec3(a * half.x, side * half.y, b * half.z);
    }
    *outward = vec3(0.0f, 0.0f, side);
    return vec3(a * half.x, b * half.y, side * half.z);
}

static Vec3 on_cylinder(const Shape *shape, const f32 u[4], Vec3 *outward)
{
    f32 c = trig_cos_f32(two_pi * u[0]), s = trig_sin_f32(two_pi * u[0]);
    f32 height = 2.0f * shape->half_height; /* areas over 2 π r: caps r, side height */
    if (u[2] * (shape->radius + height) < height) {
        *outward = vec3(c, 0.0f, s);
        return vec3(shape->radius * c, (2.0f * u[1] - 1.0f) * shape->half_height,
                    shape->radius * s);
    }
    f32 r = shape->radius * sqrtf(u[1]), side = u[3] < 0.5f ? -1.0f : 1.0f;
    *outward = vec3(0.0f, side, 0.0f);
    return vec3(r * c, side * shape->half_height, r * s);
}

static Vec3 on_cone(const Shape *shape, const f32 u[4], Vec3 *outward)
{
    f32 c = trig_cos_f32(two_pi * u[0]), s = trig_sin_f32(two_pi * u[0]);
    f32 height = 2.0f * shape->half_height;
    f32 slant = sqrtf(shape->radius * shape->radius + height * height);
    f32 part = sqrtf(u[1]); /* of the way from the apex, or from the middle of the base */
    if (u[2] * (shape->radius + slant) < slant) {
        *outward = vec3(c * height / slant, shape->radius / slant, s * height / slant);
        return vec3(part * shape->radius * c, shape->half_height - part * height,
                    part * shape->radius * s);
    }
    *outward = vec3(0.0f, -1.0f, 0.0f);
    return vec3(part * shape->radius * c, -shape->half_height, part * shape->radius * s);
}

static Vec3 on_mesh(const Emitter *emitter, const f32 u[4], Vec3 *outward)
{
    const TriangleMesh *mesh = &emitter->def.shape.geometry->mesh;
    u32 low = 0, high = mesh->triangle_count - 1;
    f32 wanted = u[2] * emitter->areas[high];
    while (low < high) {
        u32 middle = (low + high) / 2;
        if (emitter->areas[middle] > wanted) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    Vec3 corner[3];
    mesh_triangle(mesh, low, corner);
    Vec3 ab = vec3_sub(corner[1], corner[0]), ac = vec3_sub(corner[2], corner[0]);
    f32 root = sqrtf(u[0]); /* Osada et al. 2002, "Shape distributions", eq. 1 */
    *outward = vec3_normalize_or(vec3_cross(ab, ac), vec3(0.0f, 1.0f, 0.0f));
    return vec3_add_scaled(vec3_add_scaled(corner[0], root * (1.0f - u[1]), ab), root * u[1], ac);
}

static Vec3 on_surface(const Emitter *emitter, const f32 u[4], Vec3 *outward)
{
    const Shape *shape = &emitter->def.shape;
    switch (shape->kind) {
    case SHAPE_BOX:
        return on_box(shape->half, u, outward);
    case SHAPE_CYLINDER:
        return on_cylinder(shape, u, outward);
    case SHAPE_CONE:
        return on_cone(shape, u, outward);
    case SHAPE_MESH:
        return on_mesh(emitter, u, outward);
    default:
        *outward = on_sphere(u[0], u[1]);
        return vec3_scale(*outward, shape->radius);
    }
}

static Vec3 in_volume(const Shape *shape, const f32 u[4])
{
    f32 c = trig_cos_f32(two_pi * u[0]), s = trig_sin_f32(two_pi * u[0]);
    f32 r = shape->radius * sqrtf(u[1]), part;
    switch (shape->kind) {
    case SHAPE_BOX:
        return vec3((2.0f * u[0] - 1.0f) * shape->half.x, (2.0f * u[1] - 1.0f) * shape->half.y,
                    (2.0f * u[2] - 1.0f) * shape->half.z);
    case SHAPE_CYLINDER:
        return vec3(r * c, (2.0f * u[2] - 1.0f) * shape->half_height, r * s);
    case SHAPE_CONE:
        part = cube_root(u[2]);
        return vec3(part * r * c, (1.0f - 2.0f * part) * shape->half_height, part * r * s);
    default:
        return vec3_scale(on_sphere(u[0], u[1]), shape->radius * cube_root(u[2]));
    }
}

Vec3 emitter_place(const Emitter *emitter, const f32 u[4], Vec3 *outward)
{
    const EmitterDef *def = &emitter->def;
    if (def->shape.kind == SHAPE_NONE) {
        *outward = on_sphere(u[0], u[1]);
        return vec3_zero();
    }
    if (def->surface) {
        return on_surface(emitter, u, outward);
    }
    Vec3 place = in_volume(&def->shape, u);
    *outward = vec3_normalize_or(place, vec3(0.0f, 1.0f, 0.0f));
    return place;
}

/* ---- how ---- */

/* A direction within `spread` of a unit axis, uniform in solid angle. */
static Vec3 within_cone(Vec3 axis, f32 spread_rad, f32 u, f32 v)
{
    if (!(spread_rad > 0.0f)) {
        return axis;
    }
    f32 least = trig_cos_f32(spread_rad), cosine = 1.0f - u * (1.0f - least);
    f32 sine = sqrtf(f32_max(1.0f - cosine * cosine, 0.0f));
    Vec3 side = vec3_perpendicular(axis), other = vec3_cross(axis, side);
    Vec3 across = vec3_add(vec3_scale(side, trig_cos_f32(two_pi * v)),
                           vec3_scale(other, trig_sin_f32(two_pi * v)));
    return vec3_add(vec3_scale(axis, cosine), vec3_scale(across, sine));
}

static f32 drawn(EmitterRange range, f32 u)
{
    return range.mean + range.spread * (2.0f * u - 1.0f);
}

EmitterParticle emitter_particle(const Emitter *emitter, u64 number)
{
    const EmitterDef *def = &emitter->def;
    f32 u[NUMBERS];
    for (u32 i = 0; i < NUMBERS; i++) {
        u[i] = random_f32(def->seed, number * NUMBERS + i);
    }
    Vec3 outward;
    Vec3 place = emitter_place(emitter, u, &outward);
    Vec3 axis = def->aim == EMITTER_OUTWARD ? outward : def->direction;
    Vec3 way = within_cone(axis, def->spread_rad, u[4], u[5]);
    EmitterParticle out;
    out.position = vec3_add(def->position, quat_rotate(def->orientation, place));
    out.velocity =
        vec3_add_scaled(def->velocity, drawn(def->speed, u[6]), quat_rotate(def->orientation, way));
    out.lifetime_s = drawn(def->lifetime_s, u[7]);
    out.size = drawn(def->size, u[8]);
    return out;
}
