/* stage.c: see stage.h. */
#include "tests/support/stage.h"

#include "server/author/scene_load.h"
#include "server/world/world_internal.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

Stage *stage_create_with(const char *json, const MatterList *kinds)
{
    ErrorText error = {.text = ""};
    Stage *stage = calloc(1, sizeof *stage);
    assert_non_null(stage);
    stage->scene = scene_parse(json, strlen(json), "stage", &error);
    if (stage->scene != NULL) {
        stage->world = world_create_with(stage->scene, kinds, NULL, &error);
    }
    if (stage->world == NULL) {
        stage_destroy(stage);
        stage = NULL;
        fail_msg("%s", error.text);
    }
    return stage;
}

Stage *stage_create(const char *json)
{
    return stage_create_with(json, NULL);
}

Stage *stage_of(const char *members)
{
    size_t bytes = strlen(members) + sizeof "{\"name\":\"t\",}";
    char *json = malloc(bytes);
    assert_non_null(json);
    snprintf(json, bytes, "{\"name\":\"t\",%s}", members);
    Stage *stage = stage_create(json);
    free(json);
    return stage;
}

void stage_destroy(Stage *stage)
{
    frame_release(stage->frame);
    world_destroy(stage->world);
    scene_destroy(stage->scene);
    free(stage);
}

static void tick_without_frame(Stage *stage, const Input *inputs, u32 count)
{
    world_tick(stage->world, inputs, count);
    for (u32 i = 0; i < stage->world->event_count; i++) {
        const Event *event = &stage->world->events[i];
        stage->events[event->kind]++;
        stage->last[event->kind] = *event;
    }
}

static void take_frame(Stage *stage)
{
    frame_release(stage->frame);
    stage->frame = world_frame(stage->world);
    assert_non_null(stage->frame);
}

void stage_tick(Stage *stage, const Input *inputs, u32 count)
{
    tick_without_frame(stage, inputs, count);
    take_frame(stage);
}

void stage_run(Stage *stage, u32 ticks)
{
    for (u32 i = 0; i < ticks; i++) {
        tick_without_frame(stage, NULL, 0);
    }
    if (ticks > 0) {
        take_frame(stage);
    }
}

f64 stage_probe(const Stage *stage, const char *name)
{
    f64 value = NAN;
    if (!world_probe(stage->world, name, &value)) {
        fail_msg("no probe \"%s\"", name);
    }
    return value;
}

void stage_set(Stage *stage, const char *parameter, f32 value)
{
    MessageWorld about;
    world_describe(stage->world, &about);
    for (u32 i = 0; i < about.parameter_count; i++) {
        if (strcmp(about.parameters[i].name, parameter) == 0) {
            Input input = {.kind = INPUT_SET,
                           .user = 1,
                           .sequence = 1,
                           .rotation = {1.0f, 0.0f, 0.0f, 0.0f},
                           .ray = {{0.0f, 2.0f, 5.0f}, {0.0f, 0.0f, -1.0f}},
                           .index = i,
                           .values = {value}};
            stage_tick(stage, &input, 1);
            return;
        }
    }
    fail_msg("no parameter \"%s\"", parameter);
}

Matter *stage_matter(const Stage *stage, const MatterOps *ops)
{
    for (u32 i = 0; i < world_matters(stage->world); i++) {
        Matter *matter = world_matter_at(stage->world, i);
        if (matter->ops == ops) {
            return matter;
        }
    }
    return NULL;
}
