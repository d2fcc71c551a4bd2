/* lag_compensation.c: checks picks against past frames. */
#include "server/host/lag_compensation.h"

#include "protocol/field/field_ops.h"
#include "protocol/field/quantize.h"

#include <math.h>

/* A pick that appeared to hit must hit: quantization, client interpolation and the size of a
 * pixel add up to a few centimetres, more at a distance. */
static const f32 tolerance_m = 0.05f;
static const f32 tolerance_share = 0.02f;

/* The two frames around the seen tick (the same one twice at the ends) and the interpolation
 * weight of the later. */
typedef struct Moment {
    const Frame *before, *after;
    f32 share;
} Moment;

static const Frame *frame_near(const History *history, u64 tick, i32 step)
{
    for (u32 i = 0; i < 8; i++) {
        const Frame *frame = history_get(history, tick);
        if (frame != NULL) {
            return frame;
        }
        if (step < 0 && tick == 0) {
            break;
        }
        tick = step < 0 ? tick - 1 : tick + 1;
    }
    return NULL;
}

static Moment moment_find(const LagWorld *world, const Input *input)
{
    const Frame *newest = world->history->newest;
    Moment moment = {newest, newest, 0.0f};
    f64 seen = (f64)input->seen_base + (f64)input->seen_tick;
    f64 last = (f64)newest->tick;
    f64 first = last - (f64)PICK_AGE_MAX_S * world->tick_rate;
    if (!(seen < last)) {
        return moment;
    }
    seen = seen < first ? first : seen;
    seen = seen < 0.0 ? 0.0 : seen;
    const Frame *before = frame_near(world->history, (u64)seen, -1);
    const Frame *after = frame_near(world->history, (u64)seen + 1, 1);
    if (before == NULL || after == NULL) {
        return moment;
    }
    moment.before = before;
    moment.after = after;
    moment.share = (f32)((seen - (f64)before->tick) / (f64)(after->tick - before->tick));
    return moment;
}

/* Position of an element; false if it does not exist in the later frame. */
static bool element_at(const Moment *moment, const Entity *entity, u32 element, Vec3 *position)
{
    const FieldDesc *field = &moment->after->fields->fields[entity->field];
    const FieldOps *ops = field_ops(field->kind);
    return element < entity->count &&
           ops->place(field, entity->first + element, frame_field(moment->before, entity->field),
                      frame_field(moment->after, entity->field), moment->share, position);
}

/* ---- poses ---- */

static bool pose_at(const Moment *moment, const Entity *entity, Vec3 *position, Quat *orientation)
{
    const QPose *a = &frame_poses(moment->before, entity->field)[entity->first];
    const QPose *b = &frame_poses(moment->after, entity->field)[entity->first];
    if (b->generation != entity->generation || !element_at(moment, entity, 0, position)) {
        return false;
    }
    if ((a->flags & POSE_LIVE) == 0 || a->generation != b->generation) {
        a = b;
    }
    *orientation = quat_nlerp(dequantize_rotation(a->rotation), dequantize_rotation(b->rotation),
                              moment->share);
    return true;
}

/* A slightly enlarged shape, and its centre in the frame of the original. Shapes made of points are
 * replaced by their enlarged bounding box: it is tested only if the shape itself was missed. */
static Shape shape_grown(const Shape *shape, f32 by, Vec3 *middle)
{
    Shape grown = *shape;
    *middle = vec3_zero();
    grown.radius += by;
    grown.half = vec3_add(grown.half, vec3(by, by, by));
    if (shape->kind == SHAPE_CYLINDER || shape->kind == SHAPE_CONE) {
        grown.half_height += by;
    } else if (shape->kind == SHAPE_HULL || shape->kind == SHAPE_COMPOUND) {
        Bounds bounds = shape_bounds(shape, vec3_zero(), quat_identity());
        *middle = vec3_lerp(bounds.min, bounds.max, 0.5f);
        grown = (Shape){.kind = SHAPE_BOX};
        grown.half = vec3_add(vec3_sub(bounds.max, *middle), vec3(by, by, by));
    }
    return grown;
}

/* The point of the shape nearest to a point just outside it. */
static Vec3 shape_clamp(const Shape *shape, Vec3 point)
{
    switch (shape->kind) {
    case SHAPE_BOX:
        return vec3_min(vec3_max(point, vec3_neg(shape->half)), shape->half);
    case SHAPE_SPHERE:
    case SHAPE_CAPSULE: {
        f32 h = shape->kind == SHAPE_CAPSULE ? shape->half_height : 0.0f;
        Vec3 axis = vec3(0.0f, f32_clamp(point.y, -h, h), 0.0f);
        Vec3 away = vec3_sub(point, axis);
        f32 length = vec3_length(away);
        return length <= shape->radius ? point
                                       : vec3_add_scaled(axis, shape->radius / length, away);
    }
    default: {
        Bounds bounds = shape_bounds(shape, vec3_zero(), quat_identity());
        return vec3_min(vec3_max(point, bounds.min), bounds.max);
    }
    }
}

static int compensate_pose(const Moment *moment, const Entity *entity, Input *input, f32 reach_m)
{
    Vec3 position;
    Quat orientation;
    const Shape *shape = &entity->appearance.shape;
    if (entity->appearance.kind != APPEARANCE_SHAPE || input->element >= entity->count) {
        return ERROR_NOT_FOUND;
    }
    if (!pose_at(moment, entity, &position, &orientation)) {
        return ERROR_NOT_FOUND;
    }
    f32 distance = 0.0f;
    if (!shape_ray(shape, position, orientation, input->ray, reach_m, &distance, NULL)) {
        f32 far = vec3_distance(input->ray.origin, position);
        Vec3 middle;
        Shape grown = shape_grown(shape, tolerance_m + tolerance_share * far, &middle);
        middle = vec3_add(position, quat_rotate(orientation, middle));
        if (!shape_ray(&grown, middle, orientation, input->ray, reach_m, &distance, NULL)) {
            return ERROR_RANGE;
        }
    }
    Vec3 hit = vec3_add_scaled(input->ray.origin, distance, input->ray.direction);
    input->local = shape_clamp(shape, quat_rotate_inverse(orientation, vec3_sub(hit, position)));
    return 0;
}

/* A push has no ray: its point is moved onto the body, wherever it was claimed to be. */
static int compensate_push(const Moment *moment, const Entity *entity, Input *input)
{
    Vec3 position;
    Quat orientation;
    if (entity->appearance.kind != APPEARANCE_SHAPE || input->element >= entity->count ||
        !pose_at(moment, entity, &position, &orientation)) {
        return ERROR_NOT_FOUND;
    }
    input->local = shape_clamp(&entity->appearance.shape, input->local);
    return 0;
}

/* ---- points ---- */

/* Checks that the ray passes the picked element within `spacing` plus the tolerance, in range.
 * Writes the nearest point on the ray. */
static int compensate_near(const Entity *entity, const Input *input, f32 reach_m, Vec3 position,
                           f32 spacing, Vec3 *nearest)
{
    Vec3 to = vec3_sub(position, input->ray.origin);
    f32 along = vec3_dot(to, input->ray.direction);
    *nearest = vec3_add_scaled(input->ray.origin, f32_max(along, 0.0f), input->ray.direction);
    f32 allowed = tolerance_m + tolerance_share * f32_max(along, 0.0f) +
                  appearance_ball_radius(&entity->appearance) + spacing;
    bool near = along <= reach_m && vec3_distance(*nearest, position) <= allowed;
    return near ? 0 : ERROR_RANGE;
}

/* Distance to the next point: a client picks the nearest point of the surface that it hit. */
static f32 points_spacing(const Moment *moment, const Entity *entity, u32 element, Vec3 position)
{
    f32 widest = 0.0f;
    u32 steps[2] = {1, u32_max(entity->appearance.grid[0], 1)};
    for (u32 i = 0; i < 2; i++) {
        u32 next = element + steps[i] < entity->count ? element + steps[i] : element - steps[i];
        Vec3 other;
        if (element_at(moment, entity, next, &other)) {
            widest = f32_max(widest, vec3_distance(position, other));
        }
    }
    return f32_min(widest, 1.0f);
}

static int compensate_push_point(const Moment *moment, const Entity *entity, Input *input)
{
    Vec3 position;
    input->local = vec3_zero();
    return element_at(moment, entity, input->element, &position) ? 0 : ERROR_NOT_FOUND;
}

static int compensate_point(const Moment *moment, const Entity *entity, Input *input, f32 reach_m)
{
    Vec3 position, nearest;
    if (!element_at(moment, entity, input->element, &position)) {
        return ERROR_NOT_FOUND;
    }
    input->local = vec3_zero();
    return compensate_near(entity, input, reach_m, position,
                           points_spacing(moment, entity, input->element, position), &nearest);
}

/* ---- cells ---- */

/* Allowed distance of the hit from the cell's position: half a voxel; on a surface as far as the
 * neighbouring cells, which may be much higher. */
static Vec3 cell_extent(const Moment *moment, const Entity *entity, u32 element, Vec3 position)
{
    const FieldDesc *field = &moment->after->fields->fields[entity->field];
    Vec3 extent = vec3_scale(field->spacing, 0.5f);
    if (field_ops(field->kind)->axes != 2) {
        return extent;
    }
    u32 columns = field->dims[0], x = element % columns, z = element / columns;
    bool there[4] = {x > 0, x + 1 < columns, z > 0, z + 1u < field->dims[1]};
    u32 next[4] = {element - 1, element + 1, element - columns, element + columns};
    extent.y = 0.0f;
    for (u32 i = 0; i < 4; i++) {
        Vec3 other;
        if (there[i] && element_at(moment, entity, next[i], &other)) {
            extent.y = f32_max(extent.y, fabsf(other.y - position.y));
        }
    }
    return extent;
}

static Vec3 clamp_to(Vec3 point, Vec3 extent)
{
    return vec3_min(vec3_max(point, vec3_neg(extent)), extent);
}

static int compensate_push_cell(const Moment *moment, const Entity *entity, Input *input)
{
    Vec3 position;
    if (!element_at(moment, entity, input->element, &position)) {
        return ERROR_NOT_FOUND;
    }
    input->local = clamp_to(input->local, cell_extent(moment, entity, input->element, position));
    return 0;
}

static int compensate_cell(const Moment *moment, const Entity *entity, Input *input, f32 reach_m)
{
    Vec3 position, nearest;
    if (!element_at(moment, entity, input->element, &position)) {
        return ERROR_NOT_FOUND;
    }
    Vec3 extent = cell_extent(moment, entity, input->element, position);
    int result = compensate_near(entity, input, reach_m, position, vec3_length(extent), &nearest);
    input->local = clamp_to(vec3_sub(nearest, position), extent);
    return result;
}

int lag_compensate(const LagWorld *world, Input *input, f32 reach_m)
{
    static const struct {
        int (*grab)(const Moment *moment, const Entity *entity, Input *input, f32 reach_m);
        int (*push)(const Moment *moment, const Entity *entity, Input *input);
    } rules[FIELD_KIND_COUNT] = {
        [FIELD_POSES] = {compensate_pose, compensate_push},
        [FIELD_POINTS] = {compensate_point, compensate_push_point},
        [FIELD_GRID2] = {compensate_cell, compensate_push_cell},
        [FIELD_GRID3] = {compensate_cell, compensate_push_cell},
    };
    if (input->kind != INPUT_GRAB && input->kind != INPUT_PUSH) {
        return 0;
    }
    const Entity *entity = entity_list_find(world->entities, input->entity);
    const Frame *newest = world->history->newest;
    if (entity == NULL || newest == NULL || entity->field >= newest->fields->count) {
        return ERROR_NOT_FOUND;
    }
    if (!entity->movable) {
        return ERROR_DENIED;
    }
    Moment moment = moment_find(world, input);
    u8 kind = newest->fields->fields[entity->field].kind;
    if (rules[kind].grab == NULL) {
        return ERROR_UNSUPPORTED;
    }
    return input->kind == INPUT_PUSH ? rules[kind].push(&moment, entity, input)
                                     : rules[kind].grab(&moment, entity, input, reach_m);
}
