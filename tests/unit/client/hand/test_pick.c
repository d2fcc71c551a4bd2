/*
 * test_pick.c: rays against what is shown, and the inputs that hands make of it. Connection and
 * timeline are replaced by a fixed picture: a box before a cloth before a plane.
 */
#include "client/hand/hand.h"

#include "client/link/timeline.h"
#include "protocol/scene.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

enum {
    COLUMNS = 5,
    ROWS = 4
};

struct Connection {
    FieldSet fields;
    const Scene *scene;
    Entity entities[3];
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
    *count = 3;
    return connection->entities;
}
const Entity *connection_entity(const Connection *connection, u32 id)
{
    return id >= 1 && id <= 3 ? &connection->entities[id - 1] : NULL;
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
/* Slot 0: a box at (0, 1, 0), turned a quarter about y. Slot 1: the ground. */
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
/* An upright cloth at z = −3: columns along x from −2 to 2, rows along y from 0 to 3. */
void timeline_point_range(const Timeline *timeline, u32 field, u32 first, u32 count,
                          ShownPoint *points)
{
    (void)timeline;
    assert_int_equal(field, 1);
    for (u32 i = 0; i < count; i++) {
        u32 at = first + i;
        assert_true(at < COLUMNS * ROWS);
        points[i] = (ShownPoint){.generation = 1};
        points[i].position = vec3((f32)(at % COLUMNS) - 2.0f, (f32)(at / COLUMNS), -3.0f);
    }
}
bool timeline_point(const Timeline *timeline, u32 field, u32 element, ShownPoint *point)
{
    if (field != 1) {
        return false;
    }
    timeline_point_range(timeline, 1, element, 1, point);
    return true;
}

static void world_make(Connection *world)
{
    memset(world, 0, sizeof *world);
    world->fields.count = 2;
    world->fields.fields[0] = (FieldDesc){.kind = FIELD_POSES, .capacity = 2};
    world->fields.fields[1] = (FieldDesc){.id = 1, .kind = FIELD_POINTS, .capacity = 20};
    world->entities[0] = (Entity){.id = 1, .count = 1, .generation = 1, .movable = 1};
    world->entities[0].look.kind = APPEARANCE_SHAPE;
    world->entities[0].look.shape = (Shape){.kind = SHAPE_BOX, .half = {0.5f, 0.25f, 1.0f}};
    world->entities[1] = (Entity){.id = 2, .count = 1, .generation = 1, .first = 1};
    world->entities[1].look.kind = APPEARANCE_SHAPE;
    world->entities[1].look.shape = (Shape){.kind = SHAPE_PLANE};
    world->entities[2] = (Entity){.id = 3, .field = 1, .count = COLUMNS * ROWS, .movable = 1};
    world->entities[2].look.kind = APPEARANCE_CLOTH;
    world->entities[2].look.grid[0] = COLUMNS;
    world->entities[2].look.grid[1] = ROWS;
}

static void test_nearest(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Pick pick;
    /* At the box: turned, its long side lies along x, so its face is at z = 0.5. */
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
    /* Beside all of it: the ground, the sky, and nothing within reach. */
    assert_true(pick_ray(&world, (Ray){{9, 2, 5}, {0, -1, 0}}, 100, &pick));
    assert_int_equal(pick.entity, 2);
    assert_false(pick_ray(&world, (Ray){{9, 2, 5}, {0, 1, 0}}, 100, &pick));
    assert_false(pick_ray(&world, (Ray){{0, 1, 5}, {0, 0, -1}}, 4, &pick));
}

/* The cloth's points as a soft mesh of one triangle and one stick: nothing else is there. */
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
    Appearance *look = &world.entities[2].look;
    look->grid[0] = look->grid[1] = 0;
    look->soft = 1;
    look->radius = 0.02f;
    Pick pick;
    assert_true(pick_ray(&world, (Ray){{-1.9f, 0.7f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.entity, 3);
    assert_int_equal(pick.element, COLUMNS);
    assert_true(fabsf(pick.distance - 8.0f) < 1e-3f);
    /* Beside the triangle, where the grid was. */
    assert_false(pick_ray(&world, (Ray){{-1.2f, 1.7f, 5}, {0, 0, -1}}, 100, &pick));
    /* On the stick, near its second end; then farther off than it is thick and an aim forgives. */
    assert_true(pick_ray(&world, (Ray){{1.8f, 3.01f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.element, 19);
    assert_true(fabsf(pick.distance - 7.98f) < 1e-2f);
    assert_true(pick_ray(&world, (Ray){{1.2f, 2.95f, 5}, {0, 0, -1}}, 100, &pick));
    assert_int_equal(pick.element, 18);
    assert_false(pick_ray(&world, (Ray){{1.5f, 3.2f, 5}, {0, 0, -1}}, 100, &pick));
    /* A limit is nothing to hold on to. */
    assert_false(pick_ray(&world, (Ray){{-1.0f, 2.0f, 5}, {0, 0, -1}}, 100, &pick));
}

static void test_hand(void **state)
{
    (void)state;
    Connection world;
    world_make(&world);
    Hand hand;
    hand_init(&hand, &world);
    assert_false(hand_grab_ray(&hand, (Ray){{9, 2, 5}, {0, -1, 0}})); /* ground is not movable */
    assert_int_equal(world.input_count, 0);
    hand_move(&hand, vec3(1, 1, 1)); /* nothing held: nothing said */
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
    assert_false(hand_grab_entity(&hand, 1)); /* no room: not held */
    assert_int_equal(hand.holds, 0);
}

static u64 steps(Hand *hand, u64 now_ns, f64 seconds)
{
    u64 end_ns = now_ns + (u64)(seconds * 1e9);
    for (; now_ns < end_ns; now_ns += 16666667) {
        hand_step(hand, now_ns);
    }
    return now_ns;
}

/* A scene with hands as scenes have them by default. */
static Scene scene_of_hands(void)
{
    Scene scene;
    memset(&scene, 0, sizeof scene);
    scene.hands.frequency = 4.0f;
    scene.hands.damping = 1.0f;
    scene.hands.force_max = 1000.0f;
    return scene;
}

/* The server's answer never comes here: the box answers by itself, and when the server does not say
 * that it is held, or says that it no longer is, it goes back to where the server has it. */
static void test_answer(void **state)
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
        assert_true(poses[1].position.x == 0.0f); /* what nobody holds stays */
        Vec3 point;
        assert_true(hand_point(&hand, &point) && point.x == poses[0].position.x);
        assert_true(hand.stats.drags == 1 && hand.stats.shown_first_s < 0.1);
        world.presence.user = 1;
        world.presence.holds = lost != 0 ? 1 : 0;
        now_ns = steps(&hand, now_ns, 0.05);
        world.presence.holds = 0;
        now_ns = steps(&hand, now_ns, lost != 0 ? 0.02 : 2.0);
        assert_false(hand.held.holding);
        steps(&hand, now_ns, 3.0);
        timeline_pose(NULL, 0, 0, &poses[0]);
        hand_show_poses(&hand, 0, poses);
        assert_true(poses[0].position.x == 0.0f);
    }
}

/* Of a cloth the held point goes with the hand, its neighbours less, the far ones not at all. */
static void test_answer_soft(void **state)
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
    f32 held = points[0].position.z + 3.0f, next = points[1].position.z + 3.0f;
    assert_true(held > 0.3f && held < 0.6f);
    assert_true(next > 0.05f * held && next < 0.8f * held);
    assert_true(points[COLUMNS * ROWS - 1].position.z == -3.0f);
    hand_release(&hand);
    steps(&hand, now_ns, 3.0);
    assert_int_equal(hand.answers, 0);
    timeline_point_range(NULL, 1, 0, COLUMNS * ROWS, points);
    hand_show_points(&hand, 1, points);
    assert_true(points[0].position.z == -3.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nearest),     cmocka_unit_test(test_soft_mesh),
        cmocka_unit_test(test_hand),        cmocka_unit_test(test_answer),
        cmocka_unit_test(test_answer_soft),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
