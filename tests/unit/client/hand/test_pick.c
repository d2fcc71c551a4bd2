/*
 * test_pick.c: rays against the shown world, and the inputs that grabs produce. Connection and
 * timeline are replaced by a fixed picture: a box in front of a cloth in front of a plane.
 */
#include "client/hand/hand.h"

#include "client/link/timeline.h"
#include "protocol/scene/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    COLUMNS = 5,
    ROWS = 4,
    ENTITIES = 6,
    BALLS = 3,
};

/* Heights that rise by 0.2 m a cell along x and 0.1 m along z, and one dense voxel among faint
 * ones. */
static const FieldDesc heights_field = {.id = 2,
                                        .kind = FIELD_GRID2,
                                        .channels = 1,
                                        .capacity = 8 * 6,
                                        .dims = {8, 6},
                                        .origin = {20, 2, -1},
                                        .quantum = 0.001f,
                                        .spacing = {0.5f, 0, 1},
                                        .value_min = 0.0f};
static const FieldDesc voxels_field = {.id = 3,
                                       .kind = FIELD_GRID3,
                                       .channels = 1,
                                       .capacity = 5 * 5 * 5,
                                       .dims = {5, 5, 5},
                                       .origin = {40, 2, 0},
                                       .quantum = 1.0f / 255.0f,
                                       .spacing = {0.5f, 0.25f, 1}};

struct Connection {
    FieldSet fields;
    const Scene *scene;
    Entity entities[ENTITIES];
    Input inputs[16];
    u32 input_count;
    bool full;         /* takes no inputs */
    Presence presence; /* of user 1 */
};
struct Timeline {
    int unused;
};

static struct Timeline shown;

struct Timeline *connection_timeline(Connection *connection)
{
    (void)connection;
    return &shown;
}
const Scene *connection_scene(const Connection *connection)
{
    return connection->scene;
}
const FieldSet *connection_fields(const Connection *connection)
{
    return &connection->fields;
}
const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version)
{
    (void)version;
    *count = ENTITIES;
    return connection->entities;
}
const Entity *connection_entity(const Connection *connection, u32 id)
{
    return id >= 1 && id <= ENTITIES ? &connection->entities[id - 1] : NULL;
}
u32 connection_input(Connection *connection, const Input *input)
{
    if (connection->full) {
        return 0;
    }
    Input checked = *input;
    checked.sequence = connection->input_count + 1;
    assert_int_equal(input_check(&checked), 0);
    connection->inputs[connection->input_count++] = checked;
    return connection->input_count;
}
u32 connection_user(const Connection *connection)
{
    (void)connection;
    return 1;
}
u32 connection_tick_rate(const Connection *connection)
{
    (void)connection;
    return 60;
}
const Presence *connection_presences(const Connection *connection, u32 *count)
{
    *count = 1;
    return &connection->presence;
}
void connection_stats(const Connection *connection, ConnectionStats *stats)
{
    (void)connection;
    memset(stats, 0, sizeof *stats);
    stats->rtt_ms = 150.0;
}
f64 timeline_delay_s(const Timeline *timeline)
{
    (void)timeline;
    return 0.05;
}
f64 timeline_tick(const Timeline *timeline)
{
    (void)timeline;
    return 1234.25;
}

f64 timeline_tick_of(const Timeline *timeline, u32 field, u32 element)
{
    (void)field;
    (void)element;
    (void)timeline;
    return 1234.25;
}
/* Slot 0: a box at (0, 1, 0), rotated by 90° about y. Slot 1: the ground. */
bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    (void)timeline;
    if (field != 0) {
        return false;
    }
    *pose = (ShownPose){.orientation = quat_identity(), .flags = POSE_LIVE, .generation = 1};
    if (element == 0) {
        pose->position = vec3(0, 1, 0);
        pose->orientation = quat_normalize((Quat){1, 0, 1, 0});
    }
    return true;
}
/* A vertical cloth at z = −3: columns along x from −2 to 2, rows along y from 0 to 3. */
void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    (void)timeline;
    assert_true(field == 1 || field == 4);
    for (u32 i = 0; i < count && field == 4; i++) {
        points[i] = (ShownPoint){.generation = 1, .position = {60, 1, 0.5f * (f32)(first + i)}};
    }
    for (u32 i = 0; i < count && field == 1; i++) {
        u32 at = first + i;
        assert_true(at < COLUMNS * ROWS);
        points[i] = (ShownPoint){.generation = 1};
        points[i].position = vec3((f32)(at % COLUMNS) - 2.0f, (f32)(at / COLUMNS), -3.0f);
    }
}
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    if (field != 1 && field != 4) {
        return false;
    }
    timeline_point_range(timeline, field, element, 1, point);
    return true;
}
bool timeline_grid(const Timeline *timeline, u32 field, u32 channel, f32 *values)
{
    (void)timeline;
    assert_int_equal(channel, 0);
    for (u32 i = 0; i < heights_field.capacity && field == 2; i++) {
        values[i] = 0.2f * (f32)(i % 8) + 0.1f * (f32)(i / 8);
    }
    for (u32 i = 0; i < voxels_field.capacity && field == 3; i++) {
        values[i] = i == 2 + 5 * (2 + 5 * 2) ? 1.0f : 0.2f;
    }
    return true;
}
bool timeline_cell(const Timeline *timeline, u32 field, u32 channel, u32 element, f32 *value)
{
    f32 values[5 * 5 * 5];
    timeline_grid(timeline, field, channel, values);
    *value = values[element];
    return true;
}
void timeline_poses(const Timeline *timeline, u32 field, ShownPose *poses)
{
    (void)timeline, (void)field, (void)poses;
    fail();
}
void timeline_points(const Timeline *timeline, u32 field, ShownPoint *points)
{
    (void)timeline, (void)field, (void)points;
    fail();
}
bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    (void)timeline, (void)field, (void)scalars;
    return false;
}

static void world_make(Connection *world)
{
    memset(world, 0, sizeof *world);
    world->fields.count = 5;
    world->fields.fields[2] = heights_field;
    world->fields.fields[3] = voxels_field;
    world->fields.fields[4] = (FieldDesc){.id = 4, .kind = FIELD_POINTS, .capacity = BALLS};
    world->entities[3] =
        (Entity){.id = 4, .field = 2, .count = heights_field.capacity, .movable = 1};
    world->entities[3].appearance.kind = APPEARANCE_WATER;
    world->entities[4] = (Entity){.id = 5, .field = 3, .count = voxels_field.capacity};
    world->entities[4].appearance.kind = APPEARANCE_SMOKE;
    world->entities[5] = (Entity){.id = 6, .field = 4, .count = BALLS, .movable = 1};
    world->entities[5].appearance.kind = APPEARANCE_SPRITES;
    world->entities[5].appearance.radius = 0.2f;
    world->fields.fields[0] = (FieldDesc){.kind = FIELD_POSES, .capacity = 2};
    world->fields.fields[1] = (FieldDesc){.id = 1, .kind = FIELD_POINTS, .capacity = 20};
    world->entities[0] = (Entity){.id = 1, .count = 1, .generation = 1, .movable = 1};
    world->entities[0].appearance.kind = APPEARANCE_SHAPE;
    world->entities[0].appearance.color[3] = 1.0f;
    world->entities[0].appearance.shape = (Shape){.kind = SHAPE_BOX, .half = {0.5f, 0.25f, 1.0f}};
    world->entities[1] = (Entity){.id = 2, .count = 1, .generation = 1, .first = 1};
    world->entities[1].appearance.kind = APPEARANCE_SHAPE;
    world->entities[1].appearance.color[3] = 1.0f;
    world->entities[1].appearance.shape = (Shape){.kind = SHAPE_PLANE};
    world->entities[2] = (Entity){.id = 3, .field = 1, .count = COLUMNS * ROWS, .movable = 1};
    world->entities[2].appearance.kind = APPEARANCE_CLOTH;
    world->entities[2].appearance.grid[0] = COLUMNS;
    world->entities[2].appearance.grid[1] = ROWS;
}

static void test_nearest(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    /* At the box: it is rotated, its long side lies along x, so its face is at z = 0.5. */
    assert_true(pick_ray(&world, (Ray){{0.75f, 1, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.entity, 1);
    assert_true(fabsf(pick.distance - 4.5f) < 1e-3f);
    assert_true(fabsf(pick.normal.z - 1.0f) < 1e-3f);
    assert_true(fabsf(fabsf(pick.local.z) - 0.75f) < 1e-3f);
    assert_true(vec3_distance(pick.point, vec3(0.75f, 1, 0.5f)) < 1e-3f);
    /* Past it: the cloth, from both sides, and its nearest point. */
    assert_true(pick_ray(&world, (Ray){{1.1f, 2.2f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.entity, 3);
    assert_int_equal(pick.element, 2 * COLUMNS + 3);
    assert_true(fabsf(pick.distance - 8.0f) < 1e-3f && pick.normal.z > 0.99f);
    assert_true(pick_ray(&world, (Ray){{1.1f, 2.2f, -9}, {0, 0, 1}}, 100, &pick));
    assert_int_equal(pick.entity, 3);
    assert_true(pick.normal.z < -0.99f);
    /* Beside everything: the ground, the sky, and nothing within reach. */
    assert_true(pick_ray(&world, (Ray){{9, 2, 5}, {0, -1, 0}}, 100, &pick));
    assert_int_equal(pick.entity, 2);
    assert_false(pick_ray(&world, (Ray){{9, 2, 5}, {0, 1, 0}}, 100, &pick));
    assert_false(pick_ray(&world, (Ray){{0, 1, 5}, {0, 0, -1}}, 4, &pick));
}

static void test_glass_is_reached_through(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    const Ray ray = {{0.75f, 1, 5}, {0, 0, -1}};
    f32 *opacity = &world.entities[0].appearance.color[3];
    *opacity = 0.5f;
    assert_true(pick_ray(&world, ray, 100, &pick));
    assert_int_equal(pick.entity, 1);
    *opacity = 0.4f;
    assert_false(pick_ray(&world, ray, 100, &pick) && pick.entity == 1);
}

/* From above, on the slope y = 2 + 0.4 (x − 20) + 0.1 (z + 1); nearest cells at (20 + i / 2, j −
 * 1). */
static void test_heights(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    const Vec3 normal = vec3_normalize_or(vec3(-0.4f, 1, -0.1f), vec3_zero());
    for (u32 i = 0; i < 40; i++) {
        f32 x = 20.05f + 0.085f * (f32)i, z = -0.9f + 0.12f * (f32)i;
        f32 y = 2.0f + 0.4f * (x - 20.0f) + 0.1f * (z + 1.0f);
        Vec3 at = vec3(x, y, z), from = vec3_add(at, vec3(3, 5, 1));
        Ray ray = {from, vec3_normalize_or(vec3_sub(at, from), vec3_zero())};
        assert_true(pick_ray(&world, ray, 100, &pick));
        assert_int_equal(pick.entity, 4);
        assert_true(vec3_distance(pick.point, at) < 1e-3f);
        assert_true(vec3_distance(pick.normal, normal) < 1e-3f);
        u32 column = pick.element % 8, row = pick.element / 8;
        Vec3 cell = vec3(20.0f + 0.5f * (f32)column, 2.0f + 0.2f * (f32)column + 0.1f * (f32)row,
                         (f32)row - 1.0f);
        assert_true(vec3_distance(vec3_add(cell, pick.local), at) < 1e-3f);
        /* Nearest by barycentric weight: no farther than half a cell along both axes. */
        assert_true(fabsf(pick.local.x) <= 0.3334f && fabsf(pick.local.z) <= 0.6667f);
    }
    /* Along the surface from outside its bounds, from below, and beside it. */
    assert_true(pick_ray(&world, (Ray){{10, 2.5f, 0.5f}, {1, 0, 0}}, 100, &pick));
    assert_true(fabsf(pick.point.x - 20.875f) < 1e-3f);
    assert_true(pick_ray(&world, (Ray){{21, 0.5f, 1}, {0, 1, 0}}, 100, &pick));
    assert_true(pick.entity == 4 && pick.normal.y < -0.9f);
    assert_true(pick_ray(&world, (Ray){{19.9f, 5, 1}, {0, -1, 0}}, 100, &pick));
    assert_int_equal(pick.entity, 2);
    assert_false(pick_ray(&world, (Ray){{21, 5, 1}, {0, -1, 0}}, 2, &pick));
    /* It is grabbed where it was picked, and has no prediction of its own. */
    Hand hand;
    Vec3 point;
    hand_init(&hand, &world);
    assert_true(hand_grab_ray(&hand, (Ray){{21.1f, 5, 1}, {0, -1, 0}}));
    assert_true(hand_point(&hand, &point));
    assert_true(vec3_distance(point, vec3(21.1f, 2.64f, 1)) < 1e-3f);
}

static void test_voxels(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    /* The dense one: 0.5 × 0.25 × 1 m about (41, 2.5, 2). */
    for (u32 i = 0; i < 3; i++) {
        Vec3 half = vec3(0.25f, 0.125f, 0.5f), centre = vec3(41, 2.5f, 2), to = vec3_zero();
        f32 *axis = i == 0 ? &to.x : i == 1 ? &to.y : &to.z;
        f32 reach = i == 0 ? half.x : i == 1 ? half.y : half.z;
        for (f32 way = -1; way < 2; way += 2) {
            *axis = way;
            Ray ray = {vec3_add_scaled(centre, -1.4f, to), to};
            assert_true(pick_ray(&world, ray, 100, &pick));
            assert_int_equal(pick.entity, 5);
            assert_int_equal(pick.element, 2 + 5 * (2 + 5 * 2));
            assert_true(fabsf(pick.distance - (1.4f - reach)) < 1e-4f);
            assert_true(vec3_distance(pick.normal, vec3_neg(to)) < 1e-4f);
            assert_true(vec3_distance(pick.local, vec3_scale(to, -reach)) < 1e-4f);
        }
    }
    /* Faint ones are passed; a ray that starts inside a dense one hits at once. */
    assert_true(pick_ray(&world, (Ray){{40.4f, 5, 2}, {0, -1, 0}}, 100, &pick));
    assert_int_equal(pick.entity, 2);
    assert_true(pick_ray(&world, (Ray){{41, 2.5f, 2}, {0, 0, 1}}, 100, &pick));
    assert_true(pick.entity == 5 && pick.distance == 0.0f);
    Vec3 slanted = vec3_normalize_or(vec3(1, 0.5f, 2), vec3_zero());
    Ray ray = {vec3_add_scaled(vec3(41, 2.5f, 2), -9.0f, slanted), slanted};
    ray.origin.y += 9.0f * slanted.y; /* horizontal, above the ground */
    ray.direction = vec3_normalize_or(vec3_sub(vec3(41, 2.5f, 2), ray.origin), vec3_zero());
    assert_true(pick_ray(&world, ray, 100, &pick));
    assert_int_equal(pick.entity, 5);
}

static void test_balls(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    assert_true(pick_ray(&world, (Ray){{58, 1.1f, 0.5f}, {1, 0, 0}}, 100, &pick));
    assert_true(pick.entity == 6 && pick.element == 1);
    assert_true(fabsf(pick.distance - (2.0f - sqrtf(0.03f))) < 1e-4f);
    assert_true(fabsf(pick.normal.y - 0.5f) < 1e-3f);
    /* The nearest of several in a row. */
    assert_true(pick_ray(&world, (Ray){{60, 1, -5}, {0, 0, 1}}, 100, &pick));
    assert_true(pick.entity == 6 && pick.element == 0);
    assert_true(fabsf(pick.distance - 4.8f) < 1e-4f);
    assert_false(pick_ray(&world, (Ray){{58, 1.3f, 0.5f}, {1, 0, 0}}, 100, &pick));
}

/* The balls as a liquid: hit at its drawn surface, at the point in front; sparks are not hit. */
static void test_liquid(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Appearance *appearance = &world.entities[5].appearance;
    appearance->kind = APPEARANCE_LIQUID;
    appearance->radius = 0.2f;
    Pick pick;
    assert_true(pick_ray(&world, (Ray){{60, 1, -5}, {0, 0, 1}}, 100, &pick));
    assert_true(pick.entity == 6 && pick.element == 0);
    f32 ball = 5.0f - pick.distance;
    assert_true(ball > 0.2f && ball < 0.4f); /* balls overlap, so there are no gaps */
    assert_true(pick_ray(&world, (Ray){{58, 1, 0.25f}, {1, 0, 0}}, 100, &pick));
    appearance->kind = APPEARANCE_BILLBOARDS;
    assert_false(pick_ray(&world, (Ray){{58, 1, 0.5f}, {1, 0, 0}}, 100, &pick) && pick.entity == 6);
}

/* The cloth's points as a soft mesh of one triangle and one stick, and nothing else. */
static void test_soft_mesh(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Vec3 places[COLUMNS * ROWS];
    memset(places, 0, sizeof places);
    u32 triangles[3] = {0, 1, COLUMNS};                        /* (−2, 0), (−1, 0), (−2, 1) */
    SoftStick sticks[2] = {{18, 19, 1, 1}, {10, 12, 0.5f, 9}}; /* (1, 3) to (2, 3); a limit */
    SoftMesh mesh = {.points = places,
                     .triangles = triangles,
                     .sticks = sticks,
                     .point_count = COLUMNS * ROWS,
                     .triangle_count = 1,
                     .stick_count = 2};
    Scene scene;
    memset(&scene, 0, sizeof scene);
    scene.soft_meshes = &mesh;
    scene.soft_mesh_count = 1;
    world.scene = &scene;
    Appearance *appearance = &world.entities[2].appearance;
    appearance->grid[0] = appearance->grid[1] = 0;
    appearance->soft = 1;
    appearance->radius = 0.02f;
    Pick pick;
    assert_true(pick_ray(&world, (Ray){{-1.9f, 0.7f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.entity, 3);
    assert_int_equal(pick.element, COLUMNS);
    assert_true(fabsf(pick.distance - 8.0f) < 1e-3f);
    /* Beside the triangle, where the grid was. */
    assert_false(pick_ray(&world, (Ray){{-1.2f, 1.7f, 5}, {0, 0, -1}}, 100, &pick));
    /* On the stick, near its second end; then farther away than its thickness and the aim's
     * tolerance. */
    assert_true(pick_ray(&world, (Ray){{1.8f, 3.01f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.element, 19);
    assert_true(fabsf(pick.distance - 7.98f) < 1e-2f);
    assert_true(pick_ray(&world, (Ray){{1.2f, 2.95f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.element, 18);
    assert_false(pick_ray(&world, (Ray){{1.5f, 3.2f, 5}, {0, 0, -1}}, 100, &pick));
    /* A limit cannot be grabbed. */
    assert_false(pick_ray(&world, (Ray){{-1.0f, 2.0f, 5}, {0, 0, -1}}, 100, &pick));
}

static void test_grab(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Hand hand;
    hand_init(&hand, &world);
    assert_false(hand_grab_ray(&hand, (Ray){{9, 2, 5}, {0, -1, 0}})); /* ground is not movable */
    assert_int_equal(world.input_count, 0);
    hand_move(&hand, vec3(1, 1, 1)); /* no grab: no input */
    hand_release(&hand);
    assert_int_equal(world.input_count, 0);
    assert_true(hand_grab_ray(&hand, (Ray){{0.75f, 1, 5}, {0, 0, -1}}));
    assert_int_equal(world.inputs[0].kind, INPUT_GRAB);
    assert_int_equal(world.inputs[0].entity, 1);
    assert_int_equal(world.inputs[0].seen_base, 1234);
    assert_true(world.inputs[0].seen_tick == 0.25f);
    Vec3 point;
    assert_true(hand_point(&hand, &point));
    assert_true(vec3_distance(point, vec3(0.75f, 1, 0.5f)) < 1e-3f);
    hand_move(&hand, vec3(0, 3, 0));
    assert_int_equal(world.inputs[1].kind, INPUT_MOVE);
    assert_true(world.inputs[1].target.y == 3.0f);
    hand_release(&hand);
    assert_int_equal(world.inputs[2].kind, INPUT_RELEASE);
    assert_false(hand_point(&hand, &point));
    assert_true(hand_grab_entity(&hand, 3));
    assert_int_equal(world.inputs[3].entity, 3);
    hand_release(&hand);
    world.full = true;
    assert_false(hand_grab_entity(&hand, 1)); /* full: not grabbed */
    assert_int_equal(hand.grabbed, 0);
}

static u64 steps(Hand *hand, u64 now_ns, f64 seconds)
{
    u64 end_ns = now_ns + (u64)(seconds * 1e9);
    for (; now_ns < end_ns; now_ns += 16666667) {
        hand_step(hand, now_ns);
    }
    return now_ns;
}

/* A scene with the default grab parameters. */
static Scene scene_of_hands(void)
{
    Scene scene;
    memset(&scene, 0, sizeof scene);
    scene.hands.frequency = 4.0f;
    scene.hands.damping = 1.0f;
    scene.hands.force_max = 1000.0f;
    return scene;
}

/* The server never answers here: the box is predicted, and if the server does not confirm the grab,
 * or ends it, the box returns to the server's position. */
static void test_prediction(void **state)
{
    (void)state;
    for (u32 lost = 0; lost < 2; lost++) {
        Connection world;
        world_make(&world);
        Scene scene = scene_of_hands();
        world.scene = &scene;
        world.entities[0].mass_kg = 5.0f;
        Hand hand;
        hand_init(&hand, &world);
        assert_true(hand_grab_entity(&hand, 1));
        u64 now_ns = steps(&hand, 1000000000, 0.1);
        hand_move(&hand, vec3(1, 1, 0));
        now_ns = steps(&hand, now_ns, 0.15);
        ShownPose poses[2];
        timeline_pose(NULL, 0, 0, &poses[0]);
        timeline_pose(NULL, 0, 1, &poses[1]);
        hand_show_poses(&hand, 0, poses);
        assert_true(poses[0].position.x > 0.5f && poses[0].position.x < 1.0f);
        assert_true(poses[1].position.x == 0.0f); /* an entity that nobody holds stays */
        Vec3 point;
        assert_true(hand_point(&hand, &point) && point.x == poses[0].position.x);
        assert_true(hand.stats.drags == 1 && hand.stats.shown_first_s < 0.1);
        world.presence.user = 1;
        world.presence.grabbed = lost != 0 ? 1 : 0;
        now_ns = steps(&hand, now_ns, 0.05);
        world.presence.grabbed = 0;
        now_ns = steps(&hand, now_ns, lost != 0 ? 0.02 : 2.0);
        assert_false(hand.drag.holding);
        steps(&hand, now_ns, 3.0);
        timeline_pose(NULL, 0, 0, &poses[0]);
        hand_show_poses(&hand, 0, poses);
        assert_true(poses[0].position.x == 0.0f);
    }
}

/* The grabbed point of a cloth follows the grab, its neighbours less, distant ones not at all. */
static void test_prediction_of_soft_bodies(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Scene scene = scene_of_hands();
    world.scene = &scene;
    world.entities[2].mass_kg = 1.0f;
    Hand hand;
    hand_init(&hand, &world);
    assert_true(hand_grab_entity(&hand, 3));
    u64 now_ns = steps(&hand, 1000000000, 0.1);
    hand_move(&hand, vec3(-2, 0, -2.4f));
    now_ns = steps(&hand, now_ns, 0.15);
    ShownPoint points[COLUMNS * ROWS];
    timeline_point_range(NULL, 1, 0, COLUMNS * ROWS, points);
    hand_show_points(&hand, 1, points);
    f32 drag = points[0].position.z + 3.0f, next = points[1].position.z + 3.0f;
    assert_true(drag > 0.3f && drag < 0.6f);
    assert_true(next > 0.05f * drag && next < 0.8f * drag);
    assert_true(points[COLUMNS * ROWS - 1].position.z == -3.0f);
    hand_release(&hand);
    steps(&hand, now_ns, 3.0);
    assert_int_equal(hand.answers, 0);
    timeline_point_range(NULL, 1, 0, COLUMNS * ROWS, points);
    hand_show_points(&hand, 1, points);
    assert_true(points[0].position.z == -3.0f);
}

/* How a liquid flows around a grab cannot be predicted: its points stay as shown, and so does the
 * end of the grab's spring. */
static void test_no_prediction_of_liquids(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Scene scene = scene_of_hands();
    world.scene = &scene;
    world.entities[2].mass_kg = 1.0f;
    world.entities[2].appearance.kind = APPEARANCE_LIQUID;
    Hand hand;
    hand_init(&hand, &world);
    assert_true(hand_grab_entity(&hand, 3));
    u64 now_ns = steps(&hand, 1000000000, 0.1);
    hand_move(&hand, vec3(-2, 0, -2.4f));
    steps(&hand, now_ns, 0.15);
    ShownPoint points[COLUMNS * ROWS], before[COLUMNS * ROWS];
    timeline_point_range(NULL, 1, 0, COLUMNS * ROWS, points);
    memcpy(before, points, sizeof points);
    hand_show_points(&hand, 1, points);
    assert_memory_equal(points, before, sizeof points);
    Vec3 end;
    assert_true(hand_point(&hand, &end));
    assert_true(vec3_distance(end, points[0].position) < 1e-5f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),
        cmocka_unit_test(test_glass_is_reached_through),
        cmocka_unit_test(test_soft_mesh),
        cmocka_unit_test(test_grab),
        cmocka_unit_test(test_prediction),
        cmocka_unit_test(test_prediction_of_soft_bodies),
        cmocka_unit_test(test_heights),
        cmocka_unit_test(test_voxels),
        cmocka_unit_test(test_balls),
        cmocka_unit_test(test_liquid),
        cmocka_unit_test(test_no_prediction_of_liquids),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
