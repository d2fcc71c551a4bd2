/* drawn.c: see drawn.h. */
#include "tests/support/drawn.h"

#include "client/link/shown.h"
#include "client/view/readback.h"
#include "shared/base/check.h"
#include "shared/math/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void drawn_color(f32 out[4], u32 rgb)
{
    for (u32 i = 0; i < 3; i++) {
        out[i] = powf((f32)(rgb >> (16 - 8 * i) & 255) / 255.0f, 2.2f);
    }
    out[3] = 1.0f;
}

static Entity *drawn_entity(Drawn *drawn, u8 field, u32 first, u32 count)
{
    Entity *entity = &drawn->entities[drawn->count++];
    *entity = (Entity){
        .id = drawn->count, .field = field, .first = first, .count = count, .generation = 1};
    entity->appearance.roughness = 0.6f;
    return entity;
}

static u32 drawn_shape(Drawn *drawn, Shape shape, Vec3 middle, u32 rgb)
{
    u32 slot = drawn->shapes++;
    Entity *entity = drawn_entity(drawn, 0, slot, 1);
    entity->movable = shape.kind != SHAPE_PLANE;
    entity->appearance.kind = APPEARANCE_SHAPE;
    entity->appearance.shape = shape;
    drawn_color(entity->appearance.color, rgb);
    drawn_color(entity->appearance.color2, rgb);
    drawn->poses[slot] = (ShownPose){middle, quat_identity(), POSE_LIVE, 1};
    return drawn->count - 1;
}

u32 drawn_box(Drawn *drawn, Vec3 middle, Vec3 half, u32 rgb)
{
    return drawn_shape(drawn, (Shape){.kind = SHAPE_BOX, .half = half}, middle, rgb);
}

void drawn_clear(Drawn *drawn)
{
    drawn->count = drawn->shapes = drawn->point_count = 0;
    drawn->fields.count = 2;
    drawn->scene = (Scene){0};
    f32 top[4], horizon[4];
    drawn_color(top, 0x5B8FD0);
    drawn_color(horizon, 0xD9E6F0);
    memcpy(drawn->scene.sky.top, top, sizeof drawn->scene.sky.top);
    memcpy(drawn->scene.sky.horizon, horizon, sizeof drawn->scene.sky.horizon);
    drawn->scene.sky.sun = vec3_normalize_or(vec3(0.45f, 0.75f, 0.35f), vec3(0, 1, 0));
    drawn->picture = (Picture){
        .scene = &drawn->scene,
        .camera = {vec3(2, 1.8f, 3), vec3(0, 0.4f, 0), vec3(0, 1, 0), 0.8f, 0.05f, 300.0f, 0.0f},
        .fields = &drawn->fields,
        .entities = drawn->entities,
        .poses = drawn->pose_fields,
        .points = drawn->point_fields,
        .grids = drawn->grids};
    drawn_shape(drawn, (Shape){.kind = SHAPE_PLANE}, vec3_zero(), 0x9A9FA6);
    drawn->entities[0].appearance.roughness = 0.9f;
}

Drawn *drawn_create(u32 width, u32 height, u32 samples, u32 point_capacity)
{
    Drawn *drawn = calloc(1, sizeof *drawn);
    ViewOptions options = {.width = width, .height = height, .offscreen = true, .samples = samples};
    ErrorText error = {0};
    if (drawn == NULL) {
        return NULL;
    }
    drawn->view = view_create(&options, &error);
    drawn->points = calloc(point_capacity, sizeof *drawn->points);
    if (drawn->view == NULL || drawn->points == NULL) {
        fprintf(stderr, "%s\n", error.text);
        drawn_destroy(drawn);
        return NULL;
    }
    drawn->width = width;
    drawn->height = height;
    drawn->fields.count = 2;
    drawn->fields.fields[0].kind = FIELD_POSES;
    drawn->fields.fields[0].capacity = DRAWN_SHAPES;
    drawn->fields.fields[1].kind = FIELD_POINTS;
    drawn->fields.fields[1].capacity = point_capacity;
    drawn->pose_fields[0] = drawn->poses;
    drawn->point_fields[1] = drawn->points;
    drawn_clear(drawn);
    return drawn;
}

void drawn_destroy(Drawn *drawn)
{
    if (drawn != NULL) {
        view_destroy(drawn->view);
        free(drawn->points);
        for (u32 f = 0; f < DRAWN_FIELDS; f++) {
            free(drawn->values[f]);
        }
        free(drawn->rgb);
        free(drawn);
    }
}

Entity *drawn_points(Drawn *drawn, AppearanceKind kind, f32 radius, u32 rgb, u32 rgb2)
{
    Entity *entity = drawn_entity(drawn, 1, drawn->point_count, 0);
    entity->appearance.kind = kind;
    entity->appearance.radius = radius;
    drawn_color(entity->appearance.color, rgb);
    drawn_color(entity->appearance.color2, rgb2);
    return entity;
}

void drawn_point(Drawn *drawn, Vec3 position, Vec3 velocity, f32 scalar)
{
    Entity *entity = &drawn->entities[drawn->count - 1];
    if (drawn->point_count < drawn->fields.fields[1].capacity) {
        drawn->points[drawn->point_count++] = (ShownPoint){position, scalar, 1, velocity};
        entity->count++;
    }
}

u32 drawn_fill(Drawn *drawn, Vec3 low, Vec3 high, f32 jitter, f32 wave_m)
{
    f32 r = drawn->entities[drawn->count - 1].appearance.radius;
    u32 before = drawn->point_count;
    for (f32 y = low.y + r; y <= high.y + wave_m; y += 2.0f * r) {
        for (f32 z = low.z + r; z <= high.z - 0.99f * r; z += 2.0f * r) {
            for (f32 x = low.x + r; x <= high.x - 0.99f * r; x += 2.0f * r) {
                u32 i = drawn->point_count;
                f32 top = high.y + wave_m * sinf(5.0f * x + 1.3f * z) * cosf(4.0f * z);
                if (y <= top - 0.99f * r) {
                    Vec3 off = vec3(random_range(1, i, -1, 1), random_range(2, i, -1, 1),
                                    random_range(3, i, -1, 1));
                    drawn_point(drawn, vec3_add_scaled(vec3(x, y, z), jitter * r, off), vec3_zero(),
                                0.0f);
                }
            }
        }
    }
    return drawn->point_count - before;
}

Entity *drawn_grid(Drawn *drawn, const u32 dims[3], Vec3 low, Vec3 spacing, f32 **values)
{
    u32 f = drawn->fields.count, cells = dims[0] * dims[1] * dims[2];
    if (f == DRAWN_FIELDS) {
        return NULL;
    }
    bool heights = dims[1] == 1;
    free(drawn->values[f]);
    drawn->values[f] = calloc(2 * (size_t)cells, sizeof(f32));
    if (drawn->values[f] == NULL) {
        return NULL;
    }
    drawn->fields.fields[f] = (FieldDesc){
        .id = (u8)f,
        .kind = heights ? FIELD_GRID2 : FIELD_GRID3,
        .channels = 2,
        .capacity = cells,
        .dims = {(u16)dims[0], (u16)(heights ? dims[2] : dims[1]), (u16)(heights ? 1 : dims[2])},
        .origin = low,
        .quantum = heights ? 1.0f / 16384.0f : 1.0f / 255.0f,
        .spacing = spacing};
    drawn->grids[f] = shown_grid(&drawn->fields.fields[f], drawn->values[f]);
    drawn->fields.count = f + 1;
    Entity *entity = drawn_entity(drawn, (u8)f, 0, cells);
    entity->appearance.kind = heights ? APPEARANCE_WATER : APPEARANCE_SMOKE;
    *values = drawn->values[f];
    return entity;
}

bool drawn_take(Drawn *drawn, const char *keep)
{
    ErrorText error = {0};
    drawn->picture.entity_count = drawn->count;
    drawn->picture.entity_version++;
    view_draw(drawn->view, &drawn->picture);
    free(drawn->rgb);
    drawn->rgb = malloc((size_t)drawn->width * drawn->height * 3);
    if (drawn->rgb != NULL) {
        view_read(drawn->view, drawn->rgb);
    }
    bool kept = keep == NULL || view_screenshot(drawn->view, keep, &error) == 0;
    view_present(drawn->view);
    return drawn->rgb != NULL && kept;
}

bool drawn_take_named(Drawn *drawn, const char *name, const char *way)
{
    char path[256];
    const char *folder = getenv("PLENUM_PICTURES");
    snprintf(path, sizeof path, "%s/%s_%s.png", folder ? folder : "", name, way);
    return drawn_take(drawn, folder ? path : NULL);
}

const u8 *drawn_pixel(const Drawn *drawn, Vec3 point)
{
    f32 x, y;
    if (!camera_project(&drawn->picture.camera, drawn->width, drawn->height, point, &x, &y) ||
        x < 0 || y < 0 || x >= (f32)drawn->width || y >= (f32)drawn->height) {
        return NULL;
    }
    return drawn->rgb + 3 * ((size_t)(u32)y * drawn->width + (u32)x);
}

/* The inverse of tone() in shader.c, by halving. */
static f64 tone_curve(f64 x)
{
    x *= 0.52;
    return x * (2.51 * x + 0.03) / (x * (2.43 * x + 0.59) + 0.14);
}

Vec3 drawn_light(const u8 *pixel)
{
    f64 c[3], grey, out[3];
    for (u32 k = 0; k < 3; k++) {
        c[k] = pow(pixel[k] / 255.0, 2.2);
    }
    grey = 0.21 * c[0] + 0.72 * c[1] + 0.07 * c[2];
    for (u32 k = 0; k < 3; k++) {
        f64 wanted = grey + (c[k] - grey) / 1.12, low = 0.0, high = 20.0;
        for (u32 i = 0; i < 50; i++) {
            f64 middle = 0.5 * (low + high);
            *(tone_curve(middle) < wanted ? &low : &high) = middle;
        }
        out[k] = low;
    }
    return vec3((f32)out[0], (f32)out[1], (f32)out[2]);
}

Vec3 drawn_light_at(const Drawn *d, Vec3 point, i32 half)
{
    const u8 *middle = drawn_pixel(d, point);
    CHECK(middle != NULL);
    i32 at = (i32)((middle - d->rgb) / 3), x0 = at % (i32)d->width, y0 = at / (i32)d->width;
    Vec3 sum = vec3_zero();
    u32 count = 0;
    for (i32 y = y0 - half; y <= y0 + half; y++) {
        for (i32 x = x0 - half; x <= x0 + half; x++) {
            if (x >= 0 && y >= 0 && x < (i32)d->width && y < (i32)d->height) {
                sum = vec3_add(sum, drawn_light(d->rgb + 3 * ((u32)y * d->width + (u32)x)));
                count++;
            }
        }
    }
    return vec3_scale(sum, 1.0f / (f32)count);
}
