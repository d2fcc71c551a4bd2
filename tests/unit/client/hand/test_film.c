/* test_film.c: the path of a film's camera, and the states of a recording between its ticks. */
#include "client/hand/film_path.h"
#include "client/hand/film_reel.h"
#include "server/author/scene_load.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the camera ---- */

static int load(FilmPath *path, const char *text, ErrorText *error)
{
    char name[] = "/tmp/plenum-test-film-XXXXXX";
    int fd = mkstemp(name);
    assert_int_equal(write(fd, text, strlen(text)), (int)strlen(text));
    close(fd);
    int result = film_path_load(path, name, error);
    unlink(name);
    return result;
}

#define LOOK(t, x) "{\"t\":" #t ",\"look_from\":[" #x ",1,8],\"look_at\":[" #x ",0,0]}\n"

static f32 eye_x(const FilmPath *path, f64 t_s)
{
    Vec3 eye, target;
    film_path_at(path, t_s, &eye, &target);
    assert_float_equal(eye.x, target.x, 1e-5f);
    assert_true(eye.y == 1.0f && eye.z == 8.0f);
    return eye.x;
}

static void test_path(void **state)
{
    (void)state;
    FilmPath path;
    ErrorText error = {0};
    assert_int_equal(load(&path, LOOK(1, 0) LOOK(2, 4) LOOK(4, 8), &error), 0);
    assert_float_equal(eye_x(&path, 0.0), 0.0f, 0.0f); /* before and after: the ends */
    assert_float_equal(eye_x(&path, 9.0), 8.0f, 0.0f);
    assert_float_equal(eye_x(&path, 2.0), 4.0f, 1e-5f);
    for (f64 t = 1.0; t < 4.0; t += 0.05) {
        assert_true(eye_x(&path, t + 0.05) >= eye_x(&path, t) - 1e-5f);
    }
    /* It begins and ends at rest, and passes the middle with one speed from both sides. */
    const f64 h = 1e-3;
    assert_true((eye_x(&path, 1.0 + h) - eye_x(&path, 1.0)) / h < 0.1);
    assert_true((eye_x(&path, 4.0) - eye_x(&path, 4.0 - h)) / h < 0.1);
    f64 in = (eye_x(&path, 2.0) - eye_x(&path, 2.0 - h)) / h;
    f64 out = (eye_x(&path, 2.0 + h) - eye_x(&path, 2.0)) / h;
    assert_true(fabs(in - 8.0 / 3.0) < 0.1 && fabs(out - in) < 0.1);
    film_path_finish(&path);
}

static void test_path_refused(void **state)
{
    (void)state;
    FilmPath path;
    ErrorText error = {0};
    assert_int_equal(load(&path, "", &error), ERROR_FORMAT);
    assert_int_equal(load(&path, LOOK(1, 0) LOOK(1, 2), &error), ERROR_FORMAT);
    assert_int_equal(load(&path, LOOK(1, 0) "{\"t\":2,\"chat\":\"x\"}\n", &error), ERROR_FORMAT);
    assert_int_equal(load(&path, "{\"t\":1,\"look_from\":[1,2]}\n", &error), ERROR_FORMAT);
    int missing = film_path_load(&path, "/nonexistent/path", &error);
    assert_true(missing != 0 && missing == (int)error.code);
}

/* ---- the reel ---- */

enum {
    TICKS = 20,
    REUSED_TICK = 8, /* the slot gets another body */
    RESET_TICK = 12  /* the world is another one */
};
#define QUANTUM 0.01f

static char recording[64];

static int record(void **state)
{
    (void)state;
    static const char json[] =
        "{\"name\":\"reel\",\"bodies\":[{\"name\":\"a\",\"position\":[0,5,0],"
        "\"shape\":{\"kind\":\"sphere\",\"radius\":0.5}}]}";
    ErrorText error = {0};
    snprintf(recording, sizeof recording, "/tmp/plenum-test-reel-%d.plrec", getpid());
    Scene *scene = scene_parse(json, sizeof json - 1, "reel", &error);
    assert_non_null(scene);
    FieldDesc field = {.kind = FIELD_POSES, .channels = 1, .name = "bodies", .capacity = 4};
    field.quantum = QUANTUM;
    FieldSet *fields = field_set_create(&field, 1);
    RecordingHead head = {.tick_rate = 60, .build = "test"};
    Entity entity = {.id = 1, .name = "a", .count = 1};
    entity.appearance.kind = APPEARANCE_SHAPE;
    entity.appearance.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.5f};
    head.world = (MessageWorld){.epoch = 1,
                                .scene = scene->bytes,
                                .scene_bytes = (u32)scene->byte_count,
                                .fields = fields->fields,
                                .field_count = 1,
                                .entities = &entity,
                                .entity_count = 1};
    RecordingWriter *writer = recording_writer_create(recording, &head, &error);
    assert_non_null(writer);
    for (u64 tick = 0; tick < TICKS; tick++) {
        bool reset = tick == RESET_TICK;
        Frame *frame = frame_create(fields, tick, reset ? 2 : 0);
        QPose *pose = frame_poses(frame, 0);
        pose->flags = POSE_LIVE;
        pose->generation = tick < REUSED_TICK ? 1 : 2;
        pose->position[0] = (i32)(100 * tick);
        pose->rotation = quantize_rotation(quat_identity());
        if (reset) {
            frame->events[0].kind = EVENT_RESET;
            frame->events[1].kind = EVENT_SPAWN;
            frame->events[1].entity = entity;
        }
        assert_int_equal(recording_writer_tick(writer, frame, NULL, 0), 0);
        frame_release(frame);
    }
    assert_int_equal(recording_writer_destroy(writer), 0);
    field_set_release(fields);
    scene_destroy(scene);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return unlink(recording);
}

static f32 shown_x(FilmReel *reel, f64 tick)
{
    ErrorText error = {0};
    Picture picture = {0};
    assert_int_equal(film_reel_move(reel, tick, &error), 0);
    film_reel_show(reel, &picture);
    assert_true(picture.entity_count == 1 && picture.entities[0].id == 1);
    return picture.poses[0][0].position.x;
}

static void test_reel(void **state)
{
    (void)state;
    ErrorText error = {0};
    FilmReel *reel = film_reel_create(recording, &error);
    assert_non_null(reel);
    assert_float_equal(shown_x(reel, 3.0), 3.0f, 1e-5f);
    assert_float_equal(shown_x(reel, 3.25), 3.25f, 1e-5f);
    assert_float_equal(shown_x(reel, 5.0), 5.0f, 1e-5f);
    assert_float_equal(shown_x(reel, 7.9), 7.0f, 1e-5f); /* not on the way to another body */
    assert_float_equal(shown_x(reel, 8.0), 8.0f, 1e-5f);
    assert_float_equal(shown_x(reel, 11.5), 11.0f, 1e-5f); /* nor to another world */
    assert_float_equal(shown_x(reel, 12.5), 12.5f, 1e-5f);
    assert_float_equal(shown_x(reel, 19.7), 19.0f, 1e-5f); /* nothing follows */
    film_reel_destroy(reel);
    ErrorText missing = {0};
    assert_null(film_reel_create("/nonexistent.plrec", &missing));
    assert_true(missing.code != 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_path),
        cmocka_unit_test(test_path_refused),
        cmocka_unit_test(test_reel),
    };
    return cmocka_run_group_tests(tests, record, tear_down);
}
