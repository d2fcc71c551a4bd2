/* fuzz_scene.c: any bytes, as JSON or as FlatBuffers, give a checked scene or one line of error. */
#include "protocol/scene/scene.h"
#include "server/author/scene_load.h"
#include "shared/base/check.h"
#include "shared/geometry/geometry.h"
#include "tests/fuzz/target.h"

#include <string.h>

static void look_soft(const Scene *scene, const SceneSoft *soft)
{
    CHECK(soft->mesh < scene->soft_mesh_count && soft->appearance.soft == soft->mesh + 1);
    const SoftMesh *mesh = &scene->soft_meshes[soft->mesh];
    CHECK(soft->mass_kg > 0.0f && vec3_is_finite(soft->position) && mesh->point_count > 0);
    CHECK(soft->first_pin + soft->pin_count <= scene->pin_count);
    for (u32 p = 0; p < soft->pin_count; p++) {
        CHECK(scene->pins[soft->first_pin + p].point < mesh->point_count);
        CHECK(scene->pins[soft->first_pin + p].body < (i32)scene->body_count);
    }
    for (u32 i = 0; i < 3 * mesh->triangle_count; i++) {
        CHECK(mesh->triangles[i] < mesh->point_count);
    }
    for (u32 i = 0; i < mesh->stick_count; i++) {
        CHECK(mesh->sticks[i].a < mesh->point_count && mesh->sticks[i].b < mesh->point_count);
        CHECK(mesh->sticks[i].low <= mesh->sticks[i].high);
    }
}

static void appearance(const Scene *scene, const ErrorText *error)
{
    if (scene == NULL) {
        CHECK(error->code < 0 && error->text[0] != 0 && strchr(error->text, '\n') == NULL);
        return;
    }
    for (u32 i = 0; i < scene->body_count; i++) {
        CHECK(vec3_is_finite(scene->bodies[i].position));
        CHECK(scene->bodies[i].motion != BODY_DYNAMIC || scene->bodies[i].mass_kg > 0.0f);
    }
    for (u32 i = 0; i < scene->joint_count; i++) {
        const SceneJoint *joint = &scene->joints[i];
        CHECK(joint->a < (i32)scene->body_count && joint->b < (i32)scene->body_count);
        CHECK(joint->a != joint->b && vec3_is_finite(joint->anchor_a));
        CHECK(joint->lower <= joint->upper && quat_is_finite(joint->frame_a));
    }
    for (u32 i = 0; i < scene->geometry_count; i++) {
        CHECK(scene->geometries[i]->id == i && vec3_is_finite(scene->geometries[i]->bounds.max));
    }
    for (u32 i = 0; i < scene->soft_count; i++) {
        look_soft(scene, &scene->soft_bodies[i]);
    }
}

static void run(const u8 *data, size_t bytes)
{
    ErrorText error = {0};
    Scene *parsed = scene_parse((const char *)data, bytes, "fuzz.json", &error);
    appearance(parsed, &error);
    memset(&error, 0, sizeof error);
    Scene *packed = scene_from_bytes(data, (u32)bytes, &error);
    appearance(packed, &error);
    if (parsed != NULL) {
        Scene *again = scene_from_bytes(parsed->bytes, parsed->byte_count, &error);
        CHECK(again != NULL && again->body_count == parsed->body_count);
        scene_destroy(again);
    }
    scene_destroy(parsed);
    scene_destroy(packed);
}

const FuzzTarget fuzz_target = {
    .run = run, .size_max = 1 << 20, .memory_fixed = 256 << 20, .memory_each = 1 << 10};
