/*
 * fuzz_world.c: scenes of strangers whose every number may be wrong: refused with a text, or a
 * world that continues for a second and can be saved and loaded. An input is a list of edits of the
 * numbers of one of some scenes, in the order of its text.
 */
#include "server/author/scene_load.h"
#include "shared/base/check.h"
#include "tests/fuzz/target.h"
#include "tests/support/feed.h"
#include "tests/support/world_stage.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    TOKENS_MAX = 4000,
    EDITS_MAX = 12,
    TICKS = 60,
    TICKS_LARGE = 16,      /* of the large templates */
    MEMORY_MAX = 48 << 20, /* of a world, by its estimate; a server has an option for it */
    WORK_MAX = 4000        /* bodies, points and particles times steps per tick */
};

typedef struct Template {
    char *text;
    size_t bytes;
    struct {
        u32 at, bytes;
    } numbers[TOKENS_MAX];
    u32 count;
} Template;

#define SMALL "tests/fuzz/corpus/scene/"
static const char *const paths[] = {"tests/fuzz/image_scene.json",
                                    "tests/fuzz/matter_scene.json",
                                    SMALL "balloons.json",
                                    SMALL "cloth.json",
                                    SMALL "conveyor.json",
                                    SMALL "incline.json",
                                    SMALL "jelly.json",
                                    SMALL "liquids.json",
                                    SMALL "particles.json",
                                    SMALL "parts.json",
                                    SMALL "plant.json",
                                    SMALL "rope_bridge.json",
                                    SMALL "seesaw.json",
                                    SMALL "t_handle.json"};
static Template templates[PL_COUNT(paths)];
static char *edited;

static void template_read(Template *template, const char *path)
{
    FILE *file = fopen(path, "rb");
    CHECK(file != NULL);
    template->text = calloc(1, 64 << 10);
    CHECK(template->text != NULL);
    template->bytes = fread(template->text, 1, 64 << 10, file);
    fclose(file);
    CHECK(template->bytes < 64 << 10);
    bool quoted = false;
    for (u32 at = 0; at < template->bytes; at++) {
        const char *text = template->text + at;
        quoted ^= *text == '"';
        if (!quoted && (isdigit((unsigned char)*text) || *text == '-')) {
            u32 bytes = (u32)strspn(text, "-+.0123456789eE");
            CHECK(template->count < TOKENS_MAX);
            template->numbers[template->count].at = at;
            template->numbers[template->count++].bytes = bytes;
            at += bytes - 1;
        }
    }
}

static void prepare(void)
{
    for (u32 i = 0; i < PL_COUNT(paths); i++) {
        template_read(&templates[i], paths[i]);
    }
    edited = malloc((64 << 10) + EDITS_MAX * 64);
    CHECK(edited != NULL);
}

/* Instead of a number of the template: a special one, an integer, itself times a factor, or any. */
static void number_write(const char *old, Feed *feed, char *out, size_t room)
{
    static const char *const special[] = {"0",   "-1", "1e-7", "10000",      "-10000", "1e38",
                                          "1e6", "-0", "0.5",  "4294967295", "2",      "3",
                                          "180", "90", "255",  "65535",      "0.001",  "1e300"};
    static const f64 factors[] = {-1.0, 0.001, 0.01, 0.1, 0.5, 0.9, 1.1, 2.0, 4.0, 10.0, 100.0};
    u32 kind = feed_u8(feed);
    if (kind < 80) {
        snprintf(out, room, "%s", special[kind % PL_COUNT(special)]);
    } else if (kind < 120) {
        snprintf(out, room, "%d", (i32)feed_u8(feed) - 64);
    } else if (kind < 220) {
        snprintf(out, room, "%.9g", strtod(old, NULL) * factors[kind % PL_COUNT(factors)]);
    } else {
        f32 value = feed_f32(feed);
        snprintf(out, room, "%.9g", isfinite(value) ? (f64)value : 1e39);
    }
}

/* Replaces some numbers; returns the length of the text. */
static size_t edit(const Template *template, Feed *feed)
{
    char number[EDITS_MAX][32];
    u32 which[EDITS_MAX], count = 0;
    while (count < EDITS_MAX && feed->left >= 3) {
        u32 low = feed_u8(feed), high = feed_u8(feed);
        which[count] = (low | high << 8) % template->count;
        number_write(template->text + template->numbers[which[count]].at, feed, number[count],
                     sizeof number[count]);
        count++;
    }
    size_t used = 0, from = 0;
    for (u32 i = 0; i < template->count; i++) {
        for (u32 e = 0; e < count; e++) {
            if (which[e] == i && template->numbers[i].at >= from) {
                size_t before = template->numbers[i].at - from, bytes = strlen(number[e]);
                memcpy(edited + used, template->text + from, before);
                memcpy(edited + used + before, number[e], bytes);
                used += before + bytes;
                from = template->numbers[i].at + template->numbers[i].bytes;
            }
        }
    }
    memcpy(edited + used, template->text + from, template->bytes - from);
    return used + template->bytes - from;
}

static bool is_small(const Scene *scene)
{
    u64 work = scene->body_count + 8ull * scene->joint_count;
    for (u32 i = 0; i < scene->soft_mesh_count; i++) {
        work += scene->soft_meshes[i].point_count;
    }
    return work * scene->substeps < WORK_MAX && world_memory_estimate(scene, NULL) < MEMORY_MAX;
}

static void run(const u8 *data, size_t bytes)
{
    Feed feed = {data, bytes};
    ErrorText error = {0};
    u32 which = feed_u8(&feed) % PL_COUNT(paths);
    const Template *template = &templates[which];
    size_t length = edit(template, &feed);
    Scene *scene = scene_parse(edited, length, "fuzz.json", &error);
    CHECK(scene != NULL || (error.code < 0 && error.text[0] != 0));
    if (scene != NULL && is_small(scene)) {
        World *world = world_create(scene, NULL, &error);
        CHECK(world != NULL || (error.code < 0 && error.text[0] != 0));
        if (world != NULL) {
            world_stage_go_on(world, which < 2 ? TICKS_LARGE : TICKS);
        }
        world_destroy(world);
    }
    scene_destroy(scene);
}

const FuzzTarget fuzz_target = {
    .prepare = prepare, .run = run, .size_max = 1 + 12 * EDITS_MAX, .memory_fixed = 512 << 20};
