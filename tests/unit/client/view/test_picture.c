/*
 * test_picture.c: pictures drawn offscreen of a world built by hand: objects in their colours and
 * places, shadows where the sun does not reach, consistent rays and projections, PNG files that
 * read back. With PLENUM_PICTURE=FILE.png in the environment the big picture is kept for
 * inspection.
 */
#include "client/view/readback.h"
#include "client/view/view.h"
#include "shared/base/clock.h"
#include "shared/geometry/geometry.h"
#include "shared/math/random.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/support/near.h"

/* The GL driver holds memory until the process ends: not our leak. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
    return "detect_leaks=0";
}

enum {
    WIDTH = 640,
    HEIGHT = 360,
    POSES = 512,
    GRID = 30,
    ENTITIES = POSES + 1
};

typedef struct World {
    Scene scene;
    FieldSet fields;
    Entity entities[ENTITIES];
    ShownPose poses[POSES];
    ShownPoint points[GRID * GRID];
    const ShownPose *pose_fields[2];
    const ShownPoint *point_fields[2];
    Mark marks[4];
    Picture picture;
    u32 count;
} World;

static void color(f32 out[4], u32 rgb)
{
    for (u32 i = 0; i < 3; i++) {
        f32 c = (f32)(rgb >> (16 - 8 * i) & 255) / 255.0f;
        out[i] = powf(c, 2.2f);
    }
    out[3] = 1.0f;
}

static u32 put(World *world, Shape shape, Vec3 position, Quat orientation, u32 rgb, Pattern pattern)
{
    u32 i = world->count++;
    Entity *entity = &world->entities[i];
    entity->id = i + 1;
    entity->field = 0;
    entity->first = i;
    entity->count = 1;
    entity->generation = 1;
    entity->movable = shape.kind != SHAPE_PLANE;
    entity->appearance.kind = APPEARANCE_SHAPE;
    entity->appearance.shape = shape;
    entity->appearance.pattern = pattern;
    entity->appearance.roughness = 0.5f;
    color(entity->appearance.color, rgb);
    color(entity->appearance.color2, 0xF2EAD8);
    ShownPose pose = {position, orientation, POSE_LIVE, 1};
    world->poses[i] = pose;
    return entity->id;
}

static Shape box(f32 x, f32 y, f32 z)
{
    Shape shape = {.kind = SHAPE_BOX, .half = {x, y, z}};
    return shape;
}

static Shape ball(f32 radius)
{
    Shape shape = {.kind = SHAPE_SPHERE, .radius = radius};
    return shape;
}

static Shape capsule(f32 radius, f32 half_height)
{
    Shape shape = {.kind = SHAPE_CAPSULE, .radius = radius, .half_height = half_height};
    return shape;
}

static World *world_create(void)
{
    World *world = calloc(1, sizeof *world);
    assert_non_null(world);
    world->fields.count = 2;
    world->fields.fields[0].kind = FIELD_POSES;
    world->fields.fields[0].capacity = POSES;
    world->fields.fields[1].kind = FIELD_POINTS;
    world->fields.fields[1].capacity = GRID * GRID;
    world->pose_fields[0] = world->poses;
    world->point_fields[1] = world->points;
    f32 top[4], horizon[4];
    color(top, 0x5B8FD0);
    color(horizon, 0xD9E6F0);
    memcpy(world->scene.sky.top, top, sizeof world->scene.sky.top);
    memcpy(world->scene.sky.horizon, horizon, sizeof world->scene.sky.horizon);
    world->scene.sky.sun = vec3_normalize_or(vec3(0.45f, 0.75f, 0.35f), vec3(0, 1, 0));
    Camera camera = {vec3(7, 4.6f, 9), vec3(0, 1.1f, 0), vec3(0, 1, 0), 0.8f, 0.1f, 600.0f, 0.0f};
    world->picture.camera = camera;
    Shape plane = {.kind = SHAPE_PLANE};
    put(world, plane, vec3_zero(), quat_identity(), 0x9A9FA6, PATTERN_CHECKER);
    color(world->entities[0].appearance.color2, 0x8B9098);
    world->entities[0].appearance.roughness = 0.9f;
    return world;
}

static const Picture *world_picture(World *world)
{
    Picture *picture = &world->picture;
    picture->scene = &world->scene;
    picture->fields = &world->fields;
    picture->entities = world->entities;
    picture->entity_count = world->count;
    picture->entity_version++;
    picture->poses = world->pose_fields;
    picture->points = world->point_fields;
    picture->marks = world->marks;
    return picture;
}

static void put_cloth(World *world, Vec3 corner)
{
    Entity *entity = &world->entities[world->count++];
    entity->id = world->count;
    entity->field = 1;
    entity->first = 0;
    entity->count = GRID * GRID;
    entity->appearance.kind = APPEARANCE_CLOTH;
    entity->appearance.grid[0] = entity->appearance.grid[1] = GRID;
    entity->appearance.roughness = 0.85f;
    entity->appearance.pattern = PATTERN_STRIPES;
    color(entity->appearance.color, 0xC8402F);
    color(entity->appearance.color2, 0xF4E9D8);
    for (u32 j = 0; j < GRID; j++) {
        for (u32 i = 0; i < GRID; i++) {
            f32 u = (f32)i / (GRID - 1), v = (f32)j / (GRID - 1);
            ShownPoint *point = &world->points[j * GRID + i];
            point->position =
                vec3_add(corner, vec3(2.4f * u, 2.0f * v - 0.15f * sinf(3.14159f * u),
                                      0.25f * sinf(9.0f * u) * (1.2f - v) + 0.3f * (1 - v)));
            point->generation = 1;
        }
    }
}

static void put_things(World *world)
{
    static const u32 palette[] = {0xE4572E, 0xF3A712, 0x29335C, 0x76B041, 0x3DA5D9,
                                  0x8E5572, 0xEDE3D0, 0x2A9D8F, 0xE9C46A, 0xB5485D};
    for (u32 row = 0; row < 8; row++) {
        for (u32 i = 0; i < 8 - row; i++) {
            f32 x = ((f32)i - 0.5f * (f32)(7 - row)) * 0.62f;
            put(world, box(0.3f, 0.3f, 0.3f), vec3(x, 0.3f + 0.6f * (f32)row, -1.5f),
                quat_identity(), palette[(row * 3 + i) % 10], PATTERN_PLAIN);
        }
    }
    for (u32 i = 0; i < 24; i++) {
        Vec3 at = vec3(random_range(7, i, -4.5f, 4.5f), 0.25f, random_range(8, i, 0.0f, 4.5f));
        f32 t = random_range(9, i, 0.0f, 1.5f);
        Quat rotation = {cosf(t), 0, sinf(t), 0};
        put(world, box(0.25f, 0.25f, 0.25f), at, rotation, palette[i % 10], PATTERN_PLAIN);
    }
    for (u32 i = 0; i < 10; i++) {
        f32 r = 0.18f + 0.03f * (f32)i;
        put(world, ball(r), vec3(-4.0f + 0.9f * (f32)i, r, 1.6f + 0.3f * (f32)(i % 3)),
            quat_identity(), palette[(i + 3) % 10], i % 3 ? PATTERN_PLAIN : PATTERN_STRIPES);
        Quat lie = {0.70710678f, 0.5f, 0, 0.5f};
        put(world, capsule(0.12f + 0.02f * (f32)i, 0.3f),
            vec3(-4.0f + 0.9f * (f32)i, 0.14f + 0.02f * (f32)i, 3.4f), lie, palette[(i + 6) % 10],
            PATTERN_PLAIN);
    }
    put(world, box(1.2f, 0.06f, 0.8f), vec3(3.4f, 0.9f, -0.6f), quat_identity(), 0x9C6B4A,
        PATTERN_PLAIN);
    put(world, capsule(0.08f, 1.3f), vec3(-4.7f, 1.38f, 0.0f), quat_identity(), 0x565E68, 0);
    put(world, capsule(0.08f, 1.3f), vec3(-2.3f, 1.38f, 0.0f), quat_identity(), 0x565E68, 0);
    put_cloth(world, vec3(-4.7f, 0.7f, 0.0f));
}

static View *view_open(u32 width, u32 height)
{
    ViewOptions options = {.width = width, .height = height, .offscreen = true, .samples = 4};
    ErrorText error = {0};
    View *view = view_create(&options, &error);
    if (!view) {
        print_error("%s\n", error.text);
    }
    assert_non_null(view);
    return view;
}

/* Draws and reads back: rgb[HEIGHT][WIDTH][3]; writes it to the file `keep`, too, unless NULL. */
static u8 *shoot(View *view, World *world, const char *keep)
{
    ErrorText error = {0};
    u32 width, height;
    view_draw(view, world_picture(world));
    view_size(view, &width, &height);
    u8 *rgb = malloc((size_t)width * height * 3);
    assert_non_null(rgb);
    view_read(view, rgb);
    assert_true(keep == NULL || view_screenshot(view, keep, &error) == 0);
    view_present(view);
    return rgb;
}

/* A screenshot has the pixels that are read. */
static void expect_in_file(const char *path, const u8 *rgb)
{
    ErrorText error = {0};
    u32 width, height;
    u8 *file = png_read(path, &width, &height, &error);
    assert_non_null(file);
    assert_int_equal(width, WIDTH);
    assert_int_equal(height, HEIGHT);
    assert_memory_equal(file, rgb, WIDTH * HEIGHT * 3);
    free(file);
    unlink(path);
}

static const u8 *pixel(const World *world, const u8 *rgb, Vec3 point)
{
    f32 x, y;
    assert_true(camera_project(&world->picture.camera, WIDTH, HEIGHT, point, &x, &y));
    assert_true(x >= 0 && y >= 0 && x < WIDTH && y < HEIGHT);
    return rgb + 3 * ((u32)y * WIDTH + (u32)x);
}

/* The nearest thing hit by a ray, which the picture must show there: an index of entities, or
 * ENTITIES for the sky. */
static u32 seen_at(const World *world, f32 x, f32 y)
{
    Ray ray = camera_ray(&world->picture.camera, WIDTH, HEIGHT, x, y);
    f32 nearest = 600.0f;
    u32 seen = ENTITIES;
    for (u32 i = 0; i < world->count; i++) {
        const Entity *entity = &world->entities[i];
        f32 distance;
        if (entity->appearance.kind == APPEARANCE_SHAPE &&
            shape_ray(&entity->appearance.shape, world->poses[i].position,
                      world->poses[i].orientation, ray, nearest, &distance, NULL)) {
            nearest = distance;
            seen = i;
        }
    }
    return seen;
}

/* Cosine between the pixel and a colour, both linear: lighting changes brightness, not hue. */
static f32 likeness(const u8 *pixel, const f32 wanted[4])
{
    f32 c[4];
    color(c, (u32)pixel[0] << 16 | (u32)pixel[1] << 8 | pixel[2]);
    Vec3 a = vec3(c[0], c[1], c[2]), b = vec3(wanted[0], wanted[1], wanted[2]);
    return vec3_dot(vec3_normalize_or(a, vec3_zero()), vec3_normalize_or(b, vec3_zero()));
}

/* How far the picture agrees with rays. */
typedef struct Seen {
    u32 tried, right; /* pixels of objects */
    u32 sky, blue;    /* pixels of the sky, and those between its two colours */
    u32 things;       /* objects with a correct pixel */
    bool thing_right[ENTITIES];
} Seen;

static Seen compare_with_rays(const World *world, const u8 *rgb)
{
    Seen seen = {0};
    for (u32 y = 1; y < HEIGHT; y += 3) {
        for (u32 x = 1; x < WIDTH; x += 3) {
            const u8 *c = rgb + 3 * (y * WIDTH + x);
            u32 i = seen_at(world, (f32)x + 0.5f, (f32)y + 0.5f);
            if (i == ENTITIES) {
                seen.sky++;
                seen.blue += c[2] > c[0] && c[2] > 150;
            } else if (i > 0 && world->entities[i].appearance.pattern == PATTERN_PLAIN) {
                bool right = likeness(c, world->entities[i].appearance.color) > 0.95f;
                seen.tried++;
                seen.right += right;
                seen.things += right && !seen.thing_right[i];
                seen.thing_right[i] = seen.thing_right[i] || right;
            }
        }
    }
    return seen;
}

/* Mean difference of an object's pixels in two pictures, 0 to 255. */
static f32 thing_changed(const World *world, u32 thing, const u8 *a, const u8 *b)
{
    u32 count = 0, sum = 0;
    for (u32 y = 1; y < HEIGHT; y += 3) {
        for (u32 x = 1; x < WIDTH; x += 3) {
            if (seen_at(world, (f32)x + 0.5f, (f32)y + 0.5f) == thing) {
                for (u32 k = 3 * (y * WIDTH + x); k < 3 * (y * WIDTH + x) + 3; k++, count++) {
                    sum += (u32)abs((int)a[k] - (int)b[k]);
                }
            }
        }
    }
    assert_true(count > 30);
    return (f32)sum / (f32)count;
}

/* Everything at once: each object in its colour where rays hit it, sky around them, marks over
 * them, and the hovered object highlighted. */
static void test_big_picture(void **state)
{
    (void)state;
    const char *keep = getenv("PLENUM_PICTURE");
    World *world = world_create();
    put_things(world);
    world->picture.hovered = 4;
    world->picture.held = 20;
    Mark line = {world->poses[19].position, vec3(-1.5f, 3.4f, 1.0f), {1, 0.62f, 0.12f, 1}, 3, true};
    Mark dot = {line.to, line.to, {1, 0.62f, 0.12f, 1}, 6, true};
    world->marks[0] = line;
    world->marks[1] = dot;
    world->picture.mark_count = 2;
    View *view = view_open(WIDTH, HEIGHT);
    u8 *rgb = shoot(view, world, NULL);
    Seen seen = compare_with_rays(world, rgb);
    print_message("%u of %u pixels of %u things are right, %u of %u of the sky\n", seen.right,
                  seen.tried, seen.things, seen.blue, seen.sky);
    /* The rest is behind the cloth, at edges or marked. */
    expect_within("share of pixels in the thing's colour", (f64)seen.right / seen.tried, 0.89, 1);
    expect_within("things in their colour", seen.things, 76, ENTITIES);
    expect_within("share of the sky that is blue", (f64)seen.blue / seen.sky, 0.99, 1);
    const u8 *c = pixel(world, rgb, dot.to);
    assert_true(c[0] > 220 && c[1] > 130 && c[1] < 230 && c[2] < 130);
    world->picture.hovered = world->picture.held = world->picture.mark_count = 0;
    char path[128];
    snprintf(path, sizeof path, "/tmp/plenum-test-picture-%d.png", (int)getpid());
    u8 *bare = shoot(view, world, path);
    expect_in_file(path, bare);
    expect_within("hovered thing stands out by", (f64)thing_changed(world, 3, rgb, bare), 8, 120);
    expect_within("held thing stands out by", (f64)thing_changed(world, 19, rgb, bare), 8, 120);
    expect_at_most("another changes by", (f64)thing_changed(world, 2, rgb, bare), 1.0);
    free(bare);
    free(rgb);
    view_destroy(view);
    if (keep) {
        view = view_open(1280, 720);
        free(shoot(view, world, keep));
        u64 start = clock_now_ns();
        for (u32 i = 0; i < 20; i++) {
            view_draw(view, world_picture(world));
            view_present(view);
        }
        print_message("%.1f ms a picture\n", (f64)(clock_now_ns() - start) / 20e6);
        view_destroy(view);
    }
    free(world);
}

static void test_objects_have_their_colors(void **state)
{
    (void)state;
    World *world = world_create();
    put(world, ball(0.5f), vec3(-2, 0.5f, 0), quat_identity(), 0xD02020, PATTERN_PLAIN);
    put(world, box(0.5f, 0.5f, 0.5f), vec3(0, 0.5f, 0), quat_identity(), 0x20A030, PATTERN_PLAIN);
    put(world, capsule(0.4f, 0.4f), vec3(2, 0.8f, 0), quat_identity(), 0x2040D0, PATTERN_PLAIN);
    View *view = view_open(WIDTH, HEIGHT);
    u8 *rgb = shoot(view, world, NULL);
    for (u32 i = 0; i < 3; i++) {
        const u8 *c = pixel(world, rgb, world->poses[1 + i].position);
        u32 a = (i + 1) % 3, b = (i + 2) % 3;
        if (!(c[i] > 90 && c[i] > c[a] + 40 && c[i] > c[b] + 40)) {
            fail_msg("thing %u: expected mostly channel %u, got %u %u %u", i, i, c[0], c[1], c[2]);
        }
    }
    /* A slot that is free or reused by another entity draws nothing. */
    world->poses[1].flags = 0;
    world->poses[2].generation = 2;
    u8 *without = shoot(view, world, NULL);
    for (u32 i = 0; i < 2; i++) {
        const u8 *c = pixel(world, without, world->poses[1 + i].position);
        assert_true(abs((int)c[0] - (int)c[1]) < 30 && abs((int)c[1] - (int)c[2]) < 30);
    }
    free(rgb);
    free(without);
    view_destroy(view);
    free(world);
}

static bool is_red(const u8 *c)
{
    return c[0] > c[1] + 25 && c[0] > c[2] + 25;
}

/* Red pixels are those that rays hit: the share of pixels where the two disagree. */
static f32 silhouette_error(View *view, World *world)
{
    u8 *rgb = shoot(view, world, getenv("PLENUM_SILHOUETTE"));
    const Entity *thing = &world->entities[1];
    const ShownPose *pose = &world->poses[1];
    u32 tried = 0, wrong = 0, hits = 0;
    for (u32 y = 1; y < HEIGHT; y += 3) {
        for (u32 x = 1; x < WIDTH; x += 3) {
            Ray ray =
                camera_ray(&world->picture.camera, WIDTH, HEIGHT, (f32)x + 0.5f, (f32)y + 0.5f);
            bool hit = shape_ray(&thing->appearance.shape, pose->position, pose->orientation, ray,
                                 100.0f, NULL, NULL);
            tried += hit;
            hits += hit;
            wrong += hit != is_red(rgb + 3 * (y * WIDTH + x));
        }
    }
    free(rgb);
    assert_true(hits > 60);
    return (f32)wrong / (f32)tried;
}

static void must_match(View *view, Shape shape, const u8 *scene, u32 scene_bytes)
{
    World *world = world_create();
    u8 *bytes = malloc(scene_bytes);
    memcpy(bytes, scene, scene_bytes);
    world->scene.bytes = bytes; /* the bytes identify the surfaces */
    world->scene.byte_count = scene_bytes;
    Quat rotation = quat_normalize((Quat){0.8f, 0.3f, -0.4f, 0.2f});
    bool ground = shape.kind == SHAPE_TERRAIN;
    put(world, shape, vec3(0, ground ? 0.3f : 1.6f, 0), ground ? quat_identity() : rotation,
        0xD02020, PATTERN_PLAIN);
    color(world->entities[1].appearance.color2, 0xD02020);
    static u64 version = 100; /* as a connection counts: unique to each world */
    world->picture.entity_version = version += 10;
    for (u32 i = 0; i < 2; i++) {
        world->picture.camera.side = i ? 0.3f : 0.0f; /* a panel at the right shifts the lens */
        f32 error = silhouette_error(view, world);
        if (!(error < 0.08f)) {
            fail_msg("%s: picture and rays differ in %.1f %% of its pixels (side %g)",
                     shape_kind_name(shape.kind), (f64)(100.0f * error),
                     (f64)world->picture.camera.side);
        }
    }
    free(bytes);
    free(world);
}

static void test_every_shape_is_drawn_where_rays_hit_it(void **state)
{
    (void)state;
    View *view = view_open(WIDTH, HEIGHT);
    ErrorText error;
    Vec3 points[16];
    for (u32 i = 0; i < 16; i++) {
        points[i] =
            vec3(random_range(1, i, -1, 1), random_range(2, i, -1, 1), random_range(3, i, -1, 1));
    }
    Geometry *hull = geometry_hull(points, 12, HULL_VERTICES_MAX, &error);
    Geometry *other = geometry_hull(points + 8, 8, HULL_VERTICES_MAX, &error);
    static const Vec3 corners[5] = {
        {-1.2f, 0, -1}, {1, 0, -1}, {1, 0, 1}, {-1, 0, 1}, {0, 1.2f, 0}};
    static const u32 faces[12] = {0, 4, 1, 1, 4, 2, 2, 4, 3, 3, 4, 0};
    Geometry *mesh = geometry_mesh(corners, 5, faces, 4, NULL, &error);
    f32 heights[25];
    for (u32 i = 0; i < 25; i++) {
        heights[i] = random_range(4, i, 0.0f, 1.5f);
    }
    Geometry *terrain = geometry_terrain(heights, 5, 5, 0.8f, &error);
    assert_true(hull && other && mesh && terrain);
    CompoundChild children[3] = {
        {.shape = box(0.9f, 0.2f, 0.3f), .position = {0.4f, 0.5f, 0}, .orientation = {1, 0, 0, 0}},
        {.shape = {.kind = SHAPE_HULL, .geometry = hull},
         .position = {-0.6f, -0.5f, 0.3f},
         .orientation = {0.8f, 0, 0.6f, 0}},
        {.shape = ball(0.4f), .position = {1, 0, 0}, .orientation = {1, 0, 0, 0}}};
    Geometry *compound = geometry_compound(children, 3, &error);
    assert_non_null(compound);
    static const u8 one[4] = {1, 2, 3, 4}, two[4] = {5, 6, 7, 8};
    must_match(view, (Shape){.kind = SHAPE_CYLINDER, .radius = 0.7f, .half_height = 0.9f}, one, 4);
    must_match(view, (Shape){.kind = SHAPE_CONE, .radius = 0.9f, .half_height = 0.9f}, one, 4);
    must_match(view, (Shape){.kind = SHAPE_HULL, .geometry = hull}, one, 4);
    /* Another scene with another first geometry. */
    must_match(view, (Shape){.kind = SHAPE_HULL, .geometry = other}, two, 4);
    must_match(view, (Shape){.kind = SHAPE_MESH, .geometry = mesh}, one, 4);
    must_match(view, (Shape){.kind = SHAPE_TERRAIN, .geometry = terrain}, two, 4);
    must_match(view, (Shape){.kind = SHAPE_COMPOUND, .geometry = compound}, one, 4);
    geometry_destroy(compound);
    geometry_destroy(terrain);
    geometry_destroy(mesh);
    geometry_destroy(other);
    geometry_destroy(hull);
    view_destroy(view);
}

static void test_tints_replace_colors(void **state)
{
    (void)state;
    World *world = world_create();
    put(world, ball(0.5f), vec3(-2, 0.5f, 0), quat_identity(), 0xD02020, PATTERN_PLAIN);
    put(world, box(0.5f, 0.5f, 0.5f), vec3(0, 0.5f, 0), quat_identity(), 0xD02020, PATTERN_PLAIN);
    const u32 tints[3] = {0, 0xFF2030E0, 0};
    world->picture.tints = tints;
    View *view = view_open(WIDTH, HEIGHT);
    u8 *rgb = shoot(view, world, NULL);
    const u8 *ball_color = pixel(world, rgb, world->poses[1].position);
    assert_true(ball_color[2] > ball_color[0] + 60);
    assert_true(is_red(pixel(world, rgb, world->poses[2].position)));
    free(rgb);
    view_destroy(view);
    free(world);
}

/* A pane of glass lets what is behind it through, less the more opaque it is, and nothing where it
 * is hidden. */
static void test_glass_is_seen_through(void **state)
{
    (void)state;
    World *world = world_create();
    put(world, box(0.5f, 0.5f, 0.5f), vec3(0, 0.5f, 0), quat_identity(), 0x20A030, PATTERN_PLAIN);
    u32 pane = put(world, box(1.5f, 1.0f, 0.02f), vec3(0, 1.0f, 1.5f), quat_identity(), 0xD02020,
                   PATTERN_PLAIN);
    View *view = view_open(WIDTH, HEIGHT);
    i32 redder = -512, least = 512;
    for (u32 k = 0; k < 5; k++) { /* from none to all of it */
        world->entities[pane - 1].appearance.color[3] = 0.25f * (f32)k;
        u8 *rgb = shoot(view, world, NULL);
        const u8 *c = pixel(world, rgb, vec3(0, 0.5f, 0.5f));
        i32 now = (i32)c[0] - (i32)c[1];
        print_message("opacity %.2f: %u %u %u\n", 0.25 * k, c[0], c[1], c[2]);
        assert_true(now > redder + 8);
        redder = now;
        least = k == 0 ? now : least;
        free(rgb);
    }
    assert_true(least < -60 && redder > 60);
    world->entities[pane - 1].appearance.color[3] = 0.5f;
    world->poses[pane - 1].position.z = -1.5f;
    u8 *behind = shoot(view, world, NULL);
    const u8 *c = pixel(world, behind, vec3(0, 0.5f, 0.5f));
    assert_in_range(least + 512 - ((i32)c[0] - (i32)c[1]), 506, 518);
    free(behind);
    view_destroy(view);
    free(world);
}

static void test_cloth_has_two_sides(void **state)
{
    (void)state;
    World *world = world_create();
    put_cloth(world, vec3(-1.2f, 0.5f, 0));
    Entity *cloth = &world->entities[world->count - 1];
    cloth->appearance.pattern = PATTERN_PLAIN;
    color(cloth->appearance.color, 0xD02020);
    color(cloth->appearance.color2, 0x2040D0);
    View *view = view_open(WIDTH, HEIGHT);
    Vec3 middle = world->points[GRID / 2 * GRID + GRID / 2].position;
    u8 *front = shoot(view, world, NULL);
    const u8 *c = pixel(world, front, middle);
    assert_true(c[0] > c[2] + 40);
    world->picture.camera.eye.z = -9;
    u8 *back = shoot(view, world, NULL);
    c = pixel(world, back, middle);
    assert_true(c[2] > c[0] + 30);
    free(front);
    free(back);
    view_destroy(view);
    free(world);
}

static void test_shadow_is_darker(void **state)
{
    (void)state;
    World *world = world_create();
    world->entities[0].appearance.pattern = PATTERN_PLAIN;
    put(world, box(0.5f, 0.5f, 0.5f), vec3(0, 2.0f, 0), quat_identity(), 0x20A030, PATTERN_PLAIN);
    View *view = view_open(WIDTH, HEIGHT);
    u8 *rgb = shoot(view, world, NULL);
    Vec3 sun = world->scene.sky.sun;
    Vec3 shaded = vec3_add_scaled(vec3(0, 2, 0), -2.0f / sun.y, sun);
    shaded.x += 0.13f; /* beside the lines of the floor */
    shaded.z += 0.13f;
    const u8 *dark = pixel(world, rgb, shaded);
    const u8 *light = pixel(world, rgb, vec3(shaded.x + 2.0f, 0, shaded.z));
    if (!(dark[1] + 35 < light[1])) {
        fail_msg("shadow %u should be darker than %u", dark[1], light[1]);
    }
    free(rgb);
    view_destroy(view);
    free(world);
}

static void test_marks_are_drawn(void **state)
{
    (void)state;
    World *world = world_create();
    Mark line = {vec3(-1, 1, 0), vec3(1, 1, 0), {1, 0, 1, 1}, 6, true};
    world->marks[0] = line;
    world->picture.mark_count = 1;
    View *view = view_open(WIDTH, HEIGHT);
    u8 *rgb = shoot(view, world, NULL);
    const u8 *c = pixel(world, rgb, vec3(0, 1, 0));
    assert_true(c[0] > 220 && c[1] < 40 && c[2] > 220);
    /* Behind the eye: no result, and no failure. */
    world->marks[0].from = vec3_scale(world->picture.camera.eye, 2.0f);
    world->marks[0].to = vec3_scale(world->picture.camera.eye, 3.0f);
    free(shoot(view, world, NULL));
    free(rgb);
    view_destroy(view);
    free(world);
}

static void test_ray_and_project_agree(void **state)
{
    (void)state;
    Camera camera = {vec3(3, 2, 5), vec3(-1, 0.5f, 0), vec3(0, 1, 0), 0.9f, 0.1f, 100.0f, 0.25f};
    for (u32 i = 0; i < 200; i++) {
        f32 x = random_range(1, i, 0, WIDTH), y = random_range(2, i, 0, HEIGHT);
        Ray ray = camera_ray(&camera, WIDTH, HEIGHT, x, y);
        assert_float_equal(vec3_length(ray.direction), 1.0f, 1e-5f);
        Vec3 p = vec3_add_scaled(ray.origin, random_range(3, i, 0.5f, 50.0f), ray.direction);
        f32 px, py;
        assert_true(camera_project(&camera, WIDTH, HEIGHT, p, &px, &py));
        assert_float_equal(px, x, 0.05f);
        assert_float_equal(py, y, 0.05f);
    }
    /* A panel over the right quarter leaves three quarters: their centre looks at the target. */
    Ray middle = camera_ray(&camera, WIDTH, HEIGHT, WIDTH * 0.375f, HEIGHT / 2.0f);
    Vec3 towards = vec3_normalize_or(vec3_sub(camera.target, camera.eye), vec3_zero());
    assert_true(vec3_distance(middle.direction, towards) < 1e-5f);
    f32 px, py;
    assert_false(camera_project(&camera, WIDTH, HEIGHT, vec3(7, 4, 10), &px, &py));
}

static void test_png_round_trip(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "/tmp/plenum-test-png-%d.png", (int)getpid());
    u8 rgb[7 * 5 * 3];
    for (u32 i = 0; i < sizeof rgb; i++) {
        rgb[i] = (u8)random_u64(5, i);
    }
    ErrorText error = {0};
    assert_int_equal(png_write(path, rgb, 7, 5, &error), 0);
    u32 width, height;
    u8 *back = png_read(path, &width, &height, &error);
    assert_non_null(back);
    assert_int_equal(width, 7);
    assert_int_equal(height, 5);
    assert_memory_equal(back, rgb, sizeof rgb);
    free(back);
    FILE *file = fopen(path, "wb");
    fputs("not a picture", file);
    fclose(file);
    assert_null(png_read(path, &width, &height, &error));
    unlink(path);
    assert_null(png_read(path, &width, &height, &error));
    assert_int_equal(error.code, ERROR_IO);
    assert_true(png_write("/nowhere/at/all.png", rgb, 7, 5, &error) < 0);
    assert_true(png_write(path, rgb, 0, 5, &error) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ray_and_project_agree),
        cmocka_unit_test(test_png_round_trip),
        cmocka_unit_test(test_big_picture),
        cmocka_unit_test(test_objects_have_their_colors),
        cmocka_unit_test(test_every_shape_is_drawn_where_rays_hit_it),
        cmocka_unit_test(test_tints_replace_colors),
        cmocka_unit_test(test_glass_is_seen_through),
        cmocka_unit_test(test_cloth_has_two_sides),
        cmocka_unit_test(test_shadow_is_darker),
        cmocka_unit_test(test_marks_are_drawn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
