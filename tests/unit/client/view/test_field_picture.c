/*
 * test_field_picture.c: heights, voxels and bare points as a client draws them: the surface in
 * place and shaded by its slopes, the fog where the blob is, balls where points are. With
 * PLENUM_PICTURE=FILE.png in the environment the picture is kept for inspection.
 */
#include "client/link/shown.h"
#include "tests/support/field_source.h"
#include "tests/support/join_rig.h"
#include "tests/support/shot.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static f64 time_of(const Shot *shot)
{
    return shot->tick / FIELD_SOURCE_HZ;
}

/* Over the lake, clear of the objects in front of it: blue at the surface, and sky beyond its far
 * edge; slopes that face the sun (towards +x) are brighter than others. */
static void must_show_lake(const Shot *shot)
{
    f64 towards = 0.0, away = 0.0;
    u32 facing = 0, turned = 0;
    for (u32 i = 0; i < 60; i++) {
        f32 x = -4.6f + 0.05f * (f32)i, z = 2.4f;
        Vec3 at = vec3(x, field_wave(x, z, time_of(shot)), z);
        const u8 *c = shot_pixel(shot, at);
        if (shot_hue(c) != 2) {
            fail_msg("lake at %g: %u %u %u", (f64)x, c[0], c[1], c[2]);
        }
        f64 phase = cos(1.5 * (f64)x + 0.7 * (f64)z - 3.0 * time_of(shot));
        if (phase < -0.5) { /* falls along x: facing the sun */
            towards += c[2];
            facing++;
        } else if (phase > 0.5) {
            away += c[2];
            turned++;
        }
    }
    assert_true(facing > 5 && turned > 5);
    assert_true(towards / facing > away / turned + 8.0);
    /* The surface ends at its near edge: 10 cm in front of it there is sky. */
    f32 edge = -3.5f + 0.2f * 35.0f, x = -2.0f;
    f32 high = field_wave(x, edge, time_of(shot));
    assert_int_equal(shot_hue(shot_pixel(shot, vec3(x, high + 0.02f, edge - 0.1f))), 2);
    assert_int_equal(shot_hue(shot_pixel(shot, vec3(x, high - 0.25f, edge))), 3);
}

static void must_show_blob(const Shot *shot)
{
    Vec3 centre = field_blob_centre(time_of(shot));
    assert_int_equal(shot_hue(shot_pixel(shot, centre)), 0);
    for (f32 way = -1; way < 2; way += 2) {
        assert_int_equal(shot_hue(shot_pixel(shot, vec3_add(centre, vec3(0.4f * way, 0, 0)))), 0);
        assert_int_equal(shot_hue(shot_pixel(shot, vec3_add(centre, vec3(0, 0.4f * way, 0)))), 0);
        assert_int_not_equal(shot_hue(shot_pixel(shot, vec3_add(centre, vec3(2.0f * way, 0, 0)))),
                             0);
    }
}

static void test_fields_are_drawn(void **state)
{
    (void)state;
    const char *keep = getenv("PLENUM_PICTURE");
    JoinRig rig = {0};
    NetsimOptions line = {.delay_ms = 5};
    join_rig_start_with(&rig, field_source_create(&rig.start_ns, &rig.now_ns));
    Connection *client = join_rig_connect(&rig, &line, &line);
    for (u32 i = 0; i < 1500; i++) {
        join_rig_step(&rig, &client, 1);
    }
    assert_int_equal(connection_state(client), CONNECTION_LIVE);
    Shot *shot = shot_create(client);
    shot->picture.camera =
        (Camera){vec3(0, 5.5f, 10), vec3(0.4f, 1.8f, 0), vec3(0, 1, 0), 0.8f, 0.1f, 200.0f, 0};
    View *view = shot_view();
    shot_take(view, shot, keep);
    must_show_lake(shot);
    must_show_blob(shot);
    for (u32 i = 0; i < FIELD_SWARM_POINTS; i += 10) {
        assert_int_equal(shot_hue(shot_pixel(shot, field_swarm(i, time_of(shot)))), 1);
    }
    /* Incomplete fields are not drawn at all, nor those without an appearance. */
    Entity entities[FIELD_SOURCE_FIELDS];
    memcpy(entities, shot->picture.entities, sizeof entities);
    entities[FIELD_SWARM].appearance.kind = APPEARANCE_NONE;
    shot->picture.entities = entities;
    shot->grids[FIELD_WAVE].grid.values = NULL;
    shot->grids[FIELD_BLOB].grid.values = NULL;
    shot_take(view, shot, NULL);
    for (u32 i = 0; i < SHOT_WIDTH * SHOT_HEIGHT; i++) {
        assert_int_equal(shot_hue(shot->rgb + 3 * i), 3);
    }
    view_destroy(view);
    shot_destroy(shot);
    connection_destroy(client);
    join_rig_stop(&rig);
}

/* A picture of one fog of side³ voxels in a cube of 3.2 m about the origin, all of `density`, dyed
 * black where z < 0 and red where z > 0. values: [4][side³]. */
static Shot *fog_create(FieldSet *fields, Entity *entity, f32 *values, u32 side)
{
    static const ShownPose *const poses[1];
    static const ShownPoint *const points[1];
    Shot *shot = calloc(1, sizeof *shot);
    assert_non_null(shot);
    f32 gap = 3.2f / (f32)side, corner = -1.6f + 0.5f * gap;
    u32 cells = side * side * side;
    fields->count = 2; /* the second: green and blue */
    fields->fields[0] = (FieldDesc){.kind = FIELD_GRID3,
                                    .channels = 2,
                                    .capacity = side * side * side,
                                    .dims = {(u16)side, (u16)side, (u16)side},
                                    .origin = {corner, corner, corner},
                                    .quantum = 1.0f / 255.0f,
                                    .spacing = {gap, gap, gap}};
    fields->fields[1] = fields->fields[0];
    shot->grids[0] = shown_grid(&fields->fields[0], values);
    shot->grids[1] = shown_grid(&fields->fields[1], values + 2 * (size_t)cells);
    for (u32 i = 0; i < cells; i++) {
        values[cells + i] = sqrtf(i / (side * side) >= side / 2 ? 0.9f : 0.02f);
        values[2 * (size_t)cells + i] = values[3 * (size_t)cells + i] = sqrtf(0.02f);
    }
    entity->id = 1;
    entity->count = cells;
    entity->appearance.kind = APPEARANCE_SMOKE;
    entity->dye = 2;
    memcpy(entity->appearance.color, (f32[4]){0, 1, 0, 1}, sizeof entity->appearance.color);
    for (u32 i = 0; i < 3; i++) {
        shot->scene.sky.top[i] = shot->scene.sky.horizon[i] = 0.7f;
    }
    shot->scene.sky.sun = vec3(0, 1, 0);
    shot->picture = (Picture){.scene = &shot->scene,
                              .fields = fields,
                              .entities = entity,
                              .entity_count = 1,
                              .poses = poses,
                              .points = points,
                              .grids = shot->grids};
    return shot;
}

/* The centre of the picture, seen from there. */
static const u8 *seen_from(View *view, Shot *shot, Vec3 eye)
{
    shot->picture.camera = (Camera){eye, vec3_zero(), vec3(0, 1, 0), 0.8f, 0.1f, 200.0f, 0};
    shot_take(view, shot, NULL);
    return shot_pixel(shot, vec3_zero());
}

/* The fog attenuates what is behind it by its optical depth, from whichever side it is seen; nearer
 * fog hides farther fog; a finer grid of the same fog looks the same. */
static void test_fog_attenuates_by_its_depth(void **state)
{
    (void)state;
    static const Vec3 eyes[4] = {{0, 0.3f, 6}, {-6, 0.2f, 0.5f}, {1, 0.2f, -6}, {4, -4, 3}};
    static const u32 sides[2] = {16, 64};
    f32 *values = calloc(4 * 64 * 64 * 64, sizeof *values);
    View *view = shot_view();
    assert_non_null(values);
    u8 coarse[4][3];
    for (u32 s = 0; s < 2; s++) {
        FieldSet fields = {0};
        Entity entity = {0};
        u32 side = sides[s], cells = side * side * side;
        Shot *shot = fog_create(&fields, &entity, values, side);
        f32 share = 16.0f / (f32)side; /* of the depth of a voxel of the coarse grid */
        for (u32 e = 0; e < PL_COUNT(eyes); e += 1 + 2 * s) {
            i32 before = 256;
            for (u32 k = 0; k < 4; k++) {
                for (u32 i = 0; i < cells; i++) {
                    values[i] = 0.06f * (f32)k * share;
                }
                i32 light = seen_from(view, shot, eyes[e])[1];
                assert_true(light < before - 4);
                before = light;
            }
            assert_true(before < 50);
            memcpy(coarse[e], s == 0 ? shot_pixel(shot, vec3_zero()) : coarse[e], 3);
            for (u32 c = 0; c < 3; c++) {
                assert_true(abs((int)coarse[e][c] - (int)shot_pixel(shot, vec3_zero())[c]) < 25);
            }
        }
        for (u32 i = 0; i < cells; i++) {
            values[i] = 0.5f;
        }
        assert_int_equal(shot_hue(seen_from(view, shot, vec3(0, 0.3f, 6))), 0);
        assert_int_equal(shot_hue(seen_from(view, shot, vec3(0.1f, 0.3f, -6))), 3);
        assert_int_equal(shot_hue(seen_from(view, shot, vec3(1, 0.3f, 1))), 0); /* from inside */
        free(shot->rgb);
        free(shot);
    }
    view_destroy(view);
    free(values);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_are_drawn),
        cmocka_unit_test(test_fog_attenuates_by_its_depth),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
