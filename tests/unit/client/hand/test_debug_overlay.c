/*
 * test_debug_overlay.c: which entities are greyed when asleep: bodies by their poses, soft bodies
 * by the field that lists those awake. Connection and timeline are the test's own.
 */
#include "client/hand/debug_overlay.h"

#include "client/link/timeline.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum {
    GROUND,
    BOX,
    FLAG,
    JELLY,
    ENTITIES
};

static struct {
    Scene scene;
    SceneBody bodies[2];
    SceneSoft soft_bodies[2];
    FieldSet fields;
    Entity entities[ENTITIES];
    u32 count;
    u16 box_flags;
    f32 awake[2];
} fake;

const Scene *connection_scene(const Connection *connection)
{
    (void)connection;
    return &fake.scene;
}

const FieldSet *connection_fields(const Connection *connection)
{
    (void)connection;
    return &fake.fields;
}

const Entity *connection_entities(const Connection *connection, u32 *count, u64 *version)
{
    (void)connection;
    *count = fake.count;
    if (version != NULL) {
        *version = 1;
    }
    return fake.entities;
}

const Entity *connection_entity(const Connection *connection, u32 id)
{
    (void)connection;
    return id > 0 && id <= fake.count ? &fake.entities[id - 1] : NULL;
}

const Entity *connection_entity_named(const Connection *connection, const char *name)
{
    (void)connection;
    (void)name;
    return NULL;
}

u32 connection_worlds(const Connection *connection)
{
    (void)connection;
    return 1;
}

const DebugPicture *connection_debug(Connection *connection)
{
    (void)connection;
    return NULL;
}

void connection_debug_subscribe(Connection *connection, u32 mask)
{
    (void)connection;
    assert_int_equal(mask, 0); /* no subscription is needed */
}

Timeline *connection_timeline(Connection *connection)
{
    (void)connection;
    return (Timeline *)&fake;
}

bool timeline_pose(const Timeline *timeline, u32 field, u32 element, ShownPose *pose)
{
    (void)timeline;
    assert_int_equal(field, 0);
    memset(pose, 0, sizeof *pose);
    pose->flags = element == BOX ? fake.box_flags : POSE_LIVE | POSE_STATIC;
    return true;
}

bool timeline_scalars(const Timeline *timeline, u32 field, f32 *scalars)
{
    (void)timeline;
    assert_int_equal(field, 2);
    memcpy(scalars, fake.awake, sizeof fake.awake);
    return true;
}

static void entity_put(u32 index, const char *name, u8 field)
{
    Entity *entity = &fake.entities[index];
    entity->id = index + 1;
    entity->field = field;
    entity->first = index;
    entity->movable = index != GROUND;
    strcpy(entity->name, name);
}

static void begin(void)
{
    memset(&fake, 0, sizeof fake);
    fake.scene.bodies = fake.bodies;
    fake.scene.soft_bodies = fake.soft_bodies;
    fake.scene.body_count = fake.scene.soft_count = 2;
    strcpy(fake.soft_bodies[0].name, "flag");
    strcpy(fake.soft_bodies[1].name, "jelly");
    fake.fields.count = 3;
    fake.fields.fields[0].kind = FIELD_POSES;
    fake.fields.fields[1].kind = FIELD_POINTS;
    fake.fields.fields[2].kind = FIELD_SCALARS;
    fake.fields.fields[2].capacity = 2;
    strcpy(fake.fields.fields[2].name, "soft_bodies");
    entity_put(GROUND, "ground", 0);
    entity_put(BOX, "box", 0);
    entity_put(FLAG, "flag", 1);
    entity_put(JELLY, "jelly", 1);
    fake.count = ENTITIES;
    fake.box_flags = POSE_LIVE | POSE_AWAKE;
    fake.awake[0] = fake.awake[1] = 1.0f;
}

static void check_grey(DebugOverlay *overlay, bool box, bool flag, bool jelly)
{
    debug_overlay_collect(overlay, NULL, 0);
    assert_int_equal(overlay->tint_count, fake.count);
    assert_int_equal(overlay->tints[GROUND], 0);
    assert_true((overlay->tints[BOX] != 0) == box);
    assert_true((overlay->tints[FLAG] != 0) == flag);
    assert_true(fake.count <= JELLY || (overlay->tints[JELLY] != 0) == jelly);
}

static void test_sleepers_are_grey(void **state)
{
    (void)state;
    DebugOverlay overlay;
    begin();
    debug_overlay_init(&overlay, NULL);
    debug_overlay_show(&overlay, OVERLAY_SLEEP);
    check_grey(&overlay, false, false, false);
    fake.awake[1] = 0.0f;
    check_grey(&overlay, false, false, true);
    fake.box_flags = POSE_LIVE;
    fake.awake[0] = 0.0f;
    fake.awake[1] = 1.0f;
    check_grey(&overlay, true, true, false);
    /* An older server does not send this field. */
    strcpy(fake.fields.fields[2].name, "others");
    check_grey(&overlay, true, false, false);
    /* An entity that no longer exists does not grey another. */
    strcpy(fake.fields.fields[2].name, "soft_bodies");
    fake.awake[1] = 0.0f;
    fake.count = JELLY;
    check_grey(&overlay, true, true, false);
    debug_overlay_finish(&overlay);
}

static void test_words(void **state)
{
    (void)state;
    u32 show = 7;
    assert_true(debug_overlay_parse("", &show));
    assert_int_equal(show, 0);
    assert_true(debug_overlay_parse("contacts,points,sleep", &show));
    assert_int_equal(show, DEBUG_CONTACTS | OVERLAY_POINTS | OVERLAY_SLEEP);
    /* All that explains the world; points would replace the liquids. */
    assert_true(debug_overlay_parse("all", &show));
    assert_int_equal(show, DEBUG_ALL | OVERLAY_SLEEP);
    assert_false(debug_overlay_parse("contacts,pints", &show));
    assert_string_equal(debug_overlay_name(OVERLAY_POINTS), "points");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sleepers_are_grey),
                                       cmocka_unit_test(test_words)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
