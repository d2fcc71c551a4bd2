/*
 * pick.c: ray picking against the shown state, one row per kind of field: bodies by their shapes,
 * soft bodies by triangles and sticks, liquids and clouds by balls, grids by cells; not billboards.
 */
#include "client/hand/hand.h"

#include "client/link/shown.h"
#include "client/view/liquid_form.h"
#include "shared/math/random.h"

#include <stdlib.h>
#include <string.h>

/* Extra radius of thin ropes per metre of distance. */
static const f32 rope_aim = 0.008f;
static const f32 ball_aim = 0.004f;
/* Fraction of a fog's maximal density above which voxels can be picked. */
#define PICK_DENSITY 0.25f

typedef struct PickWorld {
    const Timeline *timeline;
    const FieldSet *fields;
    const Scene *scene; /* or NULL */
} PickWorld;

static void pick_triangle(const Entity *entity, const Vec3 corners[3], const u32 element[3],
                          Ray ray, Pick *pick)
{
    f32 distance, u, v;
    if (!triangle_ray(corners, ray, pick->distance, 0.0f, &distance, &u, &v)) {
        return;
    }
    Vec3 normal = vec3_normalize_or(
        vec3_cross(vec3_sub(corners[1], corners[0]), vec3_sub(corners[2], corners[0])),
        vec3(0.0f, 1.0f, 0.0f));
    f32 w = 1.0f - u - v;
    pick->entity = entity->id;
    pick->element = w >= u && w >= v ? element[0] : u >= v ? element[1] : element[2];
    pick->distance = distance;
    pick->normal = vec3_dot(normal, ray.direction) > 0.0f ? vec3_neg(normal) : normal;
    pick->local = vec3_zero();
}

static void pick_corners(const Entity *entity, const ShownPoint *points, const u32 element[3],
                         Ray ray, Pick *pick)
{
    const ShownPoint *a = &points[element[0]], *b = &points[element[1]], *c = &points[element[2]];
    if (a->generation != 0 && b->generation != 0 && c->generation != 0) {
        Vec3 corners[3] = {a->position, b->position, c->position};
        pick_triangle(entity, corners, element, ray, pick);
    }
}

static void pick_grid(const Entity *entity, const ShownPoint *points, Ray ray, Pick *pick)
{
    u32 columns = entity->appearance.grid[0], rows = entity->appearance.grid[1];
    if (columns < 2 || rows < 2 || (u64)columns * rows > entity->count) {
        return;
    }
    for (u32 row = 1; row < rows; row++) {
        for (u32 column = 1; column < columns; column++) {
            u32 i = row * columns + column;
            u32 upper[3] = {i - columns - 1, i - columns, i - 1},
                lower[3] = {i, i - 1, i - columns};
            pick_corners(entity, points, upper, ray, pick);
            pick_corners(entity, points, lower, ray, pick);
        }
    }
}

/* Nearest point of the ray to the stick: picks the nearer end. */
static void pick_stick(const Entity *entity, const ShownPoint *points, u32 a, u32 b, Ray ray,
                       Pick *pick)
{
    if (points[a].generation == 0 || points[b].generation == 0) {
        return;
    }
    Vec3 along = vec3_sub(points[b].position, points[a].position);
    Vec3 from = vec3_sub(points[a].position, ray.origin);
    f32 dd = vec3_dot(along, along), dr = vec3_dot(along, ray.direction);
    f32 fr = vec3_dot(from, ray.direction), fd = vec3_dot(from, along);
    f32 across = dd - dr * dr; /* the ray's direction is a unit vector */
    f32 s = across > 1e-9f ? f32_clamp((fr * dr - fd) / across, 0.0f, 1.0f) : 0.0f;
    f32 t = fr + s * dr;
    Vec3 apart = vec3_sub(vec3_add_scaled(from, s, along), vec3_scale(ray.direction, t));
    f32 radius = f32_max(entity->appearance.radius, rope_aim * t);
    f32 off = vec3_length(apart);
    if (t < 0.0f || off > radius || t - radius > pick->distance) {
        return;
    }
    pick->entity = entity->id;
    pick->element = s <= 0.5f ? a : b;
    pick->distance = f32_max(t - f32_min(radius, entity->appearance.radius), 0.0f);
    pick->normal = off > 1e-6f ? vec3_scale(apart, -1.0f / off) : vec3_neg(ray.direction);
    pick->local = vec3_zero();
}

static void pick_mesh(const Entity *entity, const SoftMesh *mesh, const ShownPoint *points, Ray ray,
                      Pick *pick)
{
    for (u32 i = 0; i < mesh->triangle_count; i++) {
        pick_corners(entity, points, mesh->triangles + (size_t)3 * i, ray, pick);
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        if (mesh->sticks[i].low == mesh->sticks[i].high) {
            pick_stick(entity, points, mesh->sticks[i].a, mesh->sticks[i].b, ray, pick);
        }
    }
}

/* Liquids are hit where their surface is drawn. Balls have an extra radius per metre of distance,
 * since small ones are hard to hit. */
static void pick_balls(const Entity *entity, const ShownPoint *points, Ray ray, Pick *pick)
{
    bool liquid = entity->appearance.kind == APPEARANCE_LIQUID;
    f32 size = liquid ? liquid_ball_radius(&entity->appearance, 0)
                      : appearance_ball_radius(&entity->appearance);
    f32 spread = liquid ? 0.0f : entity->appearance.spread;
    for (u32 i = 0; i < entity->count; i++) {
        Vec3 to = vec3_sub(points[i].position, ray.origin);
        f32 along = vec3_dot(to, ray.direction);
        f32 own = size * random_point_size(points[i].generation, entity->first + i, spread);
        f32 radius = f32_max(own, ball_aim * along);
        f32 off = vec3_length_squared(to) - along * along, inside = radius * radius - off;
        f32 distance = along - sqrtf(f32_max(inside, 0.0f));
        if (points[i].generation == 0 || inside < 0.0f || along < 0.0f ||
            distance > pick->distance) {
            continue;
        }
        pick->entity = entity->id;
        pick->element = i;
        pick->distance = f32_max(distance, 0.0f);
        Vec3 out = vec3_add_scaled(vec3_neg(to), pick->distance, ray.direction);
        pick->normal = vec3_normalize_or(out, vec3_neg(ray.direction));
        pick->local = vec3_zero();
    }
}

static void pick_points(const PickWorld *world, const Entity *entity, Ray ray, Pick *pick)
{
    const Scene *scene = world->scene;
    ShownPoint *points = malloc((entity->count + 1) * sizeof *points);
    if (points == NULL) {
        return; /* out of memory: picks nothing */
    }
    timeline_point_range(world->timeline, entity->field, entity->first, entity->count, points);
    u32 soft = entity->appearance.soft;
    const SoftMesh *mesh = scene != NULL && soft != 0 && soft <= scene->soft_mesh_count
                               ? &scene->soft_meshes[soft - 1]
                               : NULL;
    if (mesh != NULL && mesh->point_count == entity->count) {
        pick_mesh(entity, mesh, points, ray, pick);
    } else if (appearance_is_balls(&entity->appearance)) {
        pick_balls(entity, points, ray, pick);
    } else if (entity->appearance.kind == APPEARANCE_ROPE) {
        for (u32 i = 1; i < entity->count; i++) {
            pick_stick(entity, points, i - 1, i, ray, pick);
        }
    } else {
        pick_grid(entity, points, ray, pick);
    }
    free(points);
}

/* Hands reach through glass of less opacity. */
static const f32 reached_through = 0.5f;

static void pick_poses(const PickWorld *world, const Entity *entity, Ray ray, Pick *pick)
{
    const Timeline *timeline = world->timeline;
    bool solid = entity->appearance.kind == APPEARANCE_SHAPE &&
                 entity->appearance.color[3] >= reached_through;
    for (u32 i = 0; i < entity->count && solid; i++) {
        ShownPose pose;
        if (!timeline_pose(timeline, entity->field, entity->first + i, &pose) ||
            (pose.flags & POSE_LIVE) == 0 ||
            (entity->count == 1 && pose.generation != entity->generation)) {
            continue;
        }
        f32 distance;
        Vec3 normal;
        if (shape_ray(&entity->appearance.shape, pose.position, pose.orientation, ray,
                      pick->distance, &distance, &normal)) {
            Vec3 point = vec3_add_scaled(ray.origin, distance, ray.direction);
            pick->entity = entity->id;
            pick->element = i;
            pick->distance = distance;
            pick->normal = normal;
            pick->local = quat_rotate_inverse(pose.orientation, vec3_sub(point, pose.position));
        }
    }
}

static void pick_grid_field(const PickWorld *world, const Entity *entity, Ray ray, Pick *pick)
{
    const FieldDesc *field = &world->fields->fields[entity->field];
    f32 *values = calloc(field->capacity, sizeof *values);
    ShownGrid shown = shown_grid(field, values);
    GridHit hit;
    if (values != NULL && timeline_grid(world->timeline, entity->field, 0, values)) {
        f32 threshold = shown.low + PICK_DENSITY * (shown.high - shown.low);
        bool met = shown.grid.heights
                       ? grid_ray_heights(&shown.grid, ray, pick->distance, &hit)
                       : grid_ray_voxels(&shown.grid, ray, pick->distance, threshold, &hit);
        if (met) {
            pick->entity = entity->id;
            pick->element = hit.element;
            pick->distance = hit.distance;
            pick->normal = hit.normal;
            pick->local =
                vec3_sub(hit.point, grid_centre(&shown.grid, hit.element, values[hit.element]));
        }
    }
    free(values);
}

bool pick_ray(Connection *connection, Ray ray, f32 max_m, Pick *pick)
{
    static void (*const picks[FIELD_KIND_COUNT])(const PickWorld *, const Entity *, Ray, Pick *) = {
        [FIELD_POSES] = pick_poses,
        [FIELD_POINTS] = pick_points,
        [FIELD_GRID2] = pick_grid_field,
        [FIELD_GRID3] = pick_grid_field,
    };
    memset(pick, 0, sizeof *pick);
    pick->distance = max_m;
    PickWorld world = {connection_timeline(connection), connection_fields(connection),
                       connection_scene(connection)};
    if (world.timeline == NULL) {
        return false;
    }
    u32 count;
    const Entity *entities = connection_entities(connection, &count, NULL);
    for (u32 i = 0; i < count; i++) {
        u8 kind = world.fields->fields[entities[i].field].kind;
        AppearanceKind drawn = entities[i].appearance.kind;
        if (picks[kind] != NULL && drawn != APPEARANCE_NONE && drawn != APPEARANCE_BILLBOARDS) {
            picks[kind](&world, &entities[i], ray, pick);
        }
    }
    pick->point = vec3_add_scaled(ray.origin, pick->distance, ray.direction);
    return pick->entity != 0;
}
