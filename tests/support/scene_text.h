/*
 * scene_text.h: JSON of a scene, written piece by piece. A text that is too long, or that is no
 * scene, ends the program: it is the test that is wrong.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_SCENE_TEXT_H
#define PLENUM_TESTS_SUPPORT_SCENE_TEXT_H

#include "protocol/scene/scene.h"
#include "server/world/world.h"
#include "shared/math/vec.h"

/* Zeroed: empty. */
typedef struct SceneText {
    char json[8192];
    size_t used;
} SceneText;

void scene_text_add(SceneText *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A static box of half sizes `half` (m) as the next element of an array of bodies. */
void scene_text_wall(SceneText *text, const char *name, Vec3 at, Vec3 half);
/* The world of the scene; the caller destroys both. */
World *scene_text_world(const SceneText *text, Scene **scene);
/* The liquids and grains of a world; NULL: it has none. */
const struct Liquid *scene_text_liquid(const World *world);

#endif
