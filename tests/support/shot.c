/* shot.c: see shot.h. */
#include "tests/support/shot.h"

#include "client/link/shown.h"
#include "client/view/readback.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

/* The GL driver holds memory until the process ends: not our leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

View *shot_view(void)
{
    ViewOptions options = {
        .width = SHOT_WIDTH, .height = SHOT_HEIGHT, .offscreen = true, .samples = 4};
    ErrorText error = {0};
    View *view = view_create(&options, &error);
    if (!view) {
        fail_msg("%s", error.text);
    }
    return view;
}

static void fetch(Shot *shot, Connection *client)
{
    const FieldSet *fields = connection_fields(client);
    for (u32 f = 0; f < fields->count; f++) {
        const FieldDesc *field = &fields->fields[f];
        const ShownOps *ops = shown_ops(field->kind);
        shot->shown[f] = calloc((size_t)field->capacity * field->channels + 1, ops->bytes);
        assert_true(ops->fill(connection_timeline(client), f, field, shot->shown[f]));
        if (field->kind == FIELD_POSES) {
            shot->poses[f] = shot->shown[f];
        } else if (field->kind == FIELD_POINTS) {
            shot->points[f] = shot->shown[f];
        } else if (field->kind == FIELD_GRID2 || field->kind == FIELD_GRID3) {
            shot->grids[f] = shown_grid(field, shot->shown[f]);
        }
    }
    shot->tick = timeline_tick(connection_timeline(client));
}

Shot *shot_create(Connection *client)
{
    Shot *shot = calloc(1, sizeof *shot);
    assert_non_null(shot);
    Picture *picture = &shot->picture;
    fetch(shot, client);
    for (u32 i = 0; i < 3; i++) {
        shot->scene.sky.top[i] = 0.5f;
        shot->scene.sky.horizon[i] = 0.7f;
    }
    shot->scene.sky.sun = vec3_normalize_or(vec3(0.6f, 0.7f, 0.2f), vec3_zero());
    picture->scene = &shot->scene;
    picture->fields = connection_fields(client);
    picture->entities = connection_entities(client, &picture->entity_count, NULL);
    picture->poses = shot->poses;
    picture->points = shot->points;
    picture->grids = shot->grids;
    return shot;
}

void shot_destroy(Shot *shot)
{
    for (u32 f = 0; f < FIELDS_MAX; f++) {
        free(shot->shown[f]);
    }
    free(shot->rgb);
    free(shot);
}

void shot_take(View *view, Shot *shot, const char *keep)
{
    ErrorText error = {0};
    shot->picture.entity_version++;
    view_draw(view, &shot->picture);
    free(shot->rgb);
    shot->rgb = malloc((size_t)SHOT_WIDTH * SHOT_HEIGHT * 3);
    assert_non_null(shot->rgb);
    view_read(view, shot->rgb);
    assert_true(keep == NULL || view_screenshot(view, keep, &error) == 0);
    view_present(view);
}

const u8 *shot_pixel(const Shot *shot, Vec3 point)
{
    f32 x, y;
    assert_true(camera_project(&shot->picture.camera, SHOT_WIDTH, SHOT_HEIGHT, point, &x, &y));
    assert_true(x >= 0 && y >= 0 && x < SHOT_WIDTH && y < SHOT_HEIGHT);
    return shot->rgb + 3 * ((u32)y * SHOT_WIDTH + (u32)x);
}

u32 shot_hue(const u8 *pixel)
{
    for (u32 i = 0; i < 3; i++) {
        if (pixel[i] > pixel[(i + 1) % 3] + 25 && pixel[i] > pixel[(i + 2) % 3] + 25) {
            return i;
        }
    }
    return 3;
}
