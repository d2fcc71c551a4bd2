/* scene_text.c: see scene_text.h. */
#include "tests/support/scene_text.h"

#include "server/author/scene_load.h"
#include "server/world/matter_liquid.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void scene_text_add(SceneText *text, const char *format, ...)
{
    va_list list;
    size_t left = sizeof text->json - text->used;
    va_start(list, format);
    int wrote = vsnprintf(text->json + text->used, left, format, list);
    va_end(list);
    if (wrote < 0 || (size_t)wrote >= left) {
        fprintf(stderr, "truth: a scene is too long\n");
        exit(EXIT_FAILURE);
    }
    text->used += (size_t)wrote;
}

void scene_text_wall(SceneText *text, const char *name, Vec3 at, Vec3 half)
{
    scene_text_add(text,
                   "%s{\"name\":\"%s\",\"motion\":\"static\",\"position\":[%.9g,%.9g,%.9g],"
                   "\"shape\":{\"kind\":\"box\",\"half\":[%.9g,%.9g,%.9g]}}",
                   text->used > 0 && text->json[text->used - 1] == '[' ? "" : ",", name, (f64)at.x,
                   (f64)at.y, (f64)at.z, (f64)half.x, (f64)half.y, (f64)half.z);
}

World *scene_text_world(const SceneText *text, Scene **scene)
{
    ErrorText error = {.text = ""};
    *scene = scene_parse(text->json, text->used, "t.json", &error);
    World *world = *scene != NULL ? world_create(*scene, NULL, &error) : NULL;
    if (world == NULL) {
        fprintf(stderr, "truth: %s\n%s\n", error.text, text->json);
        exit(EXIT_FAILURE);
    }
    return world;
}

const Liquid *scene_text_liquid(const World *world)
{
    for (u32 i = 0; i < world_matters(world); i++) {
        const Matter *matter = world_matter_at(world, i);
        if (matter->ops == &matter_liquid) {
            return liquid_of_const(matter)->liquid;
        }
    }
    return NULL;
}
