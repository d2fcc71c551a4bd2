/* draw_billboards.c: see draw_billboards.h. */
#include "client/view/draw_billboards.h"

#include "client/view/billboard_image.h"
#include "client/view/projection.h"
#include "shared/math/random.h"

#include <stdlib.h>
#include <string.h>

typedef struct BillboardInstance {
    Vec3 position;
    f32 radius;
    Vec3 trail;  /* m, velocity times stretch */
    u8 color[4]; /* square roots of RGB, opacity */
    u8 tile, rotation, glow, reserved;
} BillboardInstance;

enum {
    UNIT_SHEET = FREE_UNIT,
    UNIT_SCENE_DEPTH,
};

struct DrawBillboards {
    BillboardInstance *instances, *sorted; /* [capacity] */
    u32 *keys; /* [3 · capacity] distances, and two orders of instances */
    u32 count, capacity;
    f32 lens[2];
    GLuint vao, program, sheet;
    GLint lens_at;
    StreamBuffer stream;
};

static const char billboard_vertex[] =
    "layout(location = 0) in vec4 i_position;\n" /* w: radius */
    "layout(location = 1) in vec3 i_trail;\n"
    "layout(location = 2) in vec4 i_color;\n"
    "layout(location = 3) in vec4 i_kind;\n" /* tile, rotation, glow */
    "out vec2 v_uv;\n"
    "out vec4 v_color;\n"
    "flat out vec3 v_depth;\n" /* along the view, radius, glow */
    "void main() {\n"
    "    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;\n"
    "    vec3 to_eye = eye.xyz - i_position.xyz, v = normalize(to_eye);\n"
    "    vec3 r = normalize(cross(up.xyz, v)), u = cross(v, r);\n"
    "    vec3 trail = i_trail - v * dot(i_trail, v), p = i_position.xyz;\n"
    "    float size = i_position.w, extra = length(trail), rotation = i_kind.y * 6.2831853;\n"
    "    if (extra > 0.05 * size) {\n"
    "        vec3 a = trail / extra, b = cross(v, a);\n"
    "        p += a * (corner.y * (size + 0.5 * extra) - 0.5 * extra) + b * (corner.x * size);\n"
    "    } else {\n"
    "        vec2 c = mat2(cos(rotation), sin(rotation), -sin(rotation), cos(rotation)) * corner;\n"
    "        p += size * (c.x * r + c.y * u);\n"
    "    }\n"
    "    float tile = floor(i_kind.x * 255.0 + 0.5);\n"
    "    v_uv = (vec2(mod(tile, 4.0), floor(tile * 0.25)) + 0.5 + 0.48 * corner) * 0.25;\n"
    "    vec3 albedo = i_color.rgb * i_color.rgb;\n"
    "    float glow = i_kind.z, away = -dot(to_eye, forward.xyz);\n"
    "    float shade = glow < 1.0 ? sun_glance(i_position.xyz + sun.xyz * (1.6 * sun.w)) : 1.0;\n"
    "    float fog = 1.0 - exp(-length(to_eye) * "
    "eye.w);\n"
    "    vec3 side = normalize(p - i_position.xyz + v * size);\n"
    "    vec3 light = sun_color.rgb * (shade * (0.45 + 0.30 * dot(side, sun.xyz)));\n"
    "    light += 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4);\n"
    "    vec3 own = albedo * (1.5 * glow * (1.0 - fog));\n"
    "    vec3 shone = mix(albedo * light, 1.25 * sky_horizon.rgb, fog) * (1.0 - glow);\n"
    "    v_color = vec4(tone(shone + own), i_color.a * smoothstep(0.4, 1.6, away / size));\n"
    "    v_depth = vec3(away, size, glow);\n"
    "    gl_Position = view_proj * vec4(p, 1.0);\n"
    "}\n";

/* Additive light would be white before bright backgrounds, so it also covers a little. */
static const char billboard_fragment[] =
    "uniform sampler2D sheet, scene_depths;\n"
    "uniform vec2 lens;\n"
    "in vec2 v_uv;\n"
    "in vec4 v_color;\n"
    "flat in vec3 v_depth;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec2 image = texture(sheet, v_uv).rg;\n"
    "    float scene = texelFetch(scene_depths, ivec2(gl_FragCoord.xy), 0).r;\n"
    "    float z = lens.y / (scene * 2.0 - 1.0 - lens.x);\n"
    "    float a = image.r * v_color.a * clamp((z - v_depth.x) / v_depth.y + 0.5, 0.0, 1.0);\n"
    "    if (a < 0.004) discard;\n"
    "    vec3 white = vec3(max(max(v_color.r, v_color.g), v_color.b));\n"
    "    vec3 c = mix(v_color.rgb * mix(0.75 + 0.3 * image.g, 1.0, v_depth.z), white,\n"
    "                 0.6 * image.g * v_depth.z);\n"
    "    o_color = vec4(c * a, a * (1.0 - 0.65 * v_depth.z));\n"
    "}\n";

static void sheet_init(DrawBillboards *draw, u8 *texels)
{
    billboard_sheet(texels);
    glActiveTexture(GL_TEXTURE0 + FREE_UNIT);
    draw->sheet = texture_create(GL_LINEAR);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MAX_LEVEL, SHEET_LEVELS - 1);
    glTexParameteri(GL_TEXTURE_2D, GL_TEXTURE_MIN_FILTER, GL_LINEAR_MIPMAP_NEAREST);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 1);
    glTexImage2D(GL_TEXTURE_2D, 0, GL_RG8, SHEET_EDGE, SHEET_EDGE, 0, GL_RG, GL_UNSIGNED_BYTE,
                 texels);
    glPixelStorei(GL_UNPACK_ALIGNMENT, 4);
    glGenerateMipmap(GL_TEXTURE_2D);
}

static void attribute(GLuint at, GLint size, GLenum type, size_t offset)
{
    glEnableVertexAttribArray(at);
    glVertexAttribPointer(at, size, type, type == GL_UNSIGNED_BYTE, sizeof(BillboardInstance),
                          (const void *)offset);
    glVertexAttribDivisor(at, 1);
}

DrawBillboards *draw_billboards_create(u32 chunks, ErrorText *error)
{
    DrawBillboards *draw = calloc(1, sizeof *draw);
    u8 *texels = malloc((size_t)2 * SHEET_EDGE * SHEET_EDGE);
    if (!draw || !texels) {
        free(draw);
        free(texels);
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    sheet_init(draw, texels);
    free(texels);
    draw->program = shader_create("billboards", chunks | SHADER_LIT | SHADER_LIT_VERTEX,
                                  billboard_vertex, billboard_fragment, error);
    if (!draw->program) {
        draw_billboards_destroy(draw);
        return NULL;
    }
    draw->lens_at = glGetUniformLocation(draw->program, "lens");
    glUseProgram(draw->program);
    glUniform1i(glGetUniformLocation(draw->program, "sheet"), UNIT_SHEET);
    glUniform1i(glGetUniformLocation(draw->program, "scene_depths"), UNIT_SCENE_DEPTH);
    glUseProgram(0);
    stream_buffer_begin(&draw->stream, &draw->vao);
    attribute(0, 4, GL_FLOAT, 0);
    attribute(1, 3, GL_FLOAT, offsetof(BillboardInstance, trail));
    attribute(2, 4, GL_UNSIGNED_BYTE, offsetof(BillboardInstance, color));
    attribute(3, 4, GL_UNSIGNED_BYTE, offsetof(BillboardInstance, tile));
    glBindVertexArray(0);
    gl_check("draw_billboards_create");
    return draw;
}

void draw_billboards_destroy(DrawBillboards *draw)
{
    if (!draw) {
        return;
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->program);
    glDeleteTextures(1, &draw->sheet);
    free(draw->instances);
    free(draw->sorted);
    free(draw->keys);
    free(draw);
}

/* ---- gathering ---- */

static bool billboards_reserve(DrawBillboards *draw, u32 more)
{
    u64 needed = (u64)draw->count + more;
    if (needed <= draw->capacity) {
        return true;
    }
    u64 capacity = needed + needed / 2;
    BillboardInstance *instances = realloc(draw->instances, capacity * sizeof *instances);
    if (!instances) {
        return false;
    }
    draw->instances = instances;
    BillboardInstance *sorted = realloc(draw->sorted, capacity * sizeof *sorted);
    if (!sorted) {
        return false;
    }
    draw->sorted = sorted;
    u32 *keys = realloc(draw->keys, 3 * capacity * sizeof *keys);
    if (!keys) {
        return false;
    }
    draw->keys = keys;
    draw->capacity = (u32)capacity;
    return true;
}

static u8 to_byte(f32 share)
{
    return (u8)(f32_clamp(share, 0.0f, 1.0f) * 255.0f + 0.5f);
}

static BillboardInstance billboard_at(const Appearance *appearance, const f32 color[3],
                                      const f32 color2[3], const ShownPoint *point, u32 slot)
{
    f32 age = f32_clamp(point->scalar, 0.0f, 1.0f);
    f32 opacity = appearance->color[3] + (appearance->color2[3] - appearance->color[3]) * age;
    if (age < appearance->fade_in) {
        opacity *= age / appearance->fade_in;
    }
    u32 first, variants;
    billboard_tiles(appearance->image, &first, &variants);
    u64 chance = random_u64(point->generation, slot);
    /* Flames are upright; others have a random orientation and rotate slowly. */
    f32 rotation = appearance->image == BILLBOARD_FLAME
                       ? 0.0f
                       : (f32)(chance >> 40) / 16777216.0f + (chance & 1 ? 0.2f : -0.2f) * age;
    f32 size = appearance->radius * random_point_size(point->generation, slot, appearance->spread);
    BillboardInstance out = {.position = point->position,
                             .radius = f32_max(size * (1.0f + appearance->growth * age), 1e-4f),
                             .trail = vec3_scale(point->velocity, appearance->stretch_s),
                             .tile = (u8)(first + (u32)(chance >> 8 & 0xffff) % variants),
                             .rotation = to_byte(rotation - floorf(rotation)),
                             .glow = to_byte(appearance->glow)};
    for (u32 k = 0; k < 3; k++) {
        out.color[k] = to_byte(sqrtf(f32_max(color[k] + (color2[k] - color[k]) * age, 0.0f)));
    }
    out.color[3] = to_byte(opacity);
    return out;
}

static void billboards_add(DrawBillboards *draw, const Picture *picture, u32 index)
{
    const Entity *entity = &picture->entities[index];
    if (!picture_points(picture, entity) || !billboards_reserve(draw, entity->count)) {
        return;
    }
    const ShownPoint *points = picture->points[entity->field] + entity->first;
    f32 color[3], color2[3];
    picture_colors(picture, index, color, color2);
    for (u32 i = 0; i < entity->count; i++) {
        if (points[i].generation != 0) {
            BillboardInstance one =
                billboard_at(&entity->appearance, color, color2, &points[i], entity->first + i);
            if (one.color[3] > 0) {
                draw->instances[draw->count++] = one;
            }
        }
    }
}

/* From far to near by distances in 2^16 steps: two rounds of a radix sort. */
static void billboards_sort(DrawBillboards *draw, const Camera *camera)
{
    CameraAxes axes = camera_axes(camera);
    f32 low = 0.0f, high = 0.0f;
    u32 *from = draw->keys + draw->capacity, *to = from + draw->capacity;
    for (u32 round = 0; round < 2; round++) {
        f32 scale = high > low ? 65535.0f / (high - low) : 0.0f;
        for (u32 i = 0; i < draw->count; i++) {
            f32 away = vec3_dot(vec3_sub(draw->instances[i].position, camera->eye), axes.forward);
            if (round == 0) {
                low = i == 0 ? away : f32_min(low, away);
                high = i == 0 ? away : f32_max(high, away);
            } else {
                draw->keys[i] = (u32)f32_clamp((high - away) * scale, 0.0f, 65535.0f);
                from[i] = i;
            }
        }
    }
    for (u32 shift = 0; shift < 16; shift += 8) {
        u32 starts[257] = {0};
        for (u32 i = 0; i < draw->count; i++) {
            starts[(draw->keys[i] >> shift & 255) + 1]++;
        }
        for (u32 k = 0; k < 256; k++) {
            starts[k + 1] += starts[k];
        }
        for (u32 i = 0; i < draw->count; i++) {
            to[starts[draw->keys[from[i]] >> shift & 255]++] = from[i];
        }
        u32 *other = from;
        from = to;
        to = other;
    }
    for (u32 i = 0; i < draw->count; i++) {
        draw->sorted[i] = draw->instances[from[i]];
    }
}

void draw_billboards_gather(DrawBillboards *draw, const Picture *picture)
{
    draw->count = 0;
    camera_lens(&picture->camera, draw->lens);
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (picture->entities[i].appearance.kind == APPEARANCE_BILLBOARDS) {
            billboards_add(draw, picture, i);
        }
    }
    if (draw->count > 0) {
        billboards_sort(draw, &picture->camera);
        stream_buffer_write(&draw->stream, draw->sorted, draw->count * sizeof *draw->sorted);
    }
}

/* ---- drawing ---- */

bool draw_billboards_wanted(const DrawBillboards *draw)
{
    return draw->count > 0;
}

void draw_billboards_show(DrawBillboards *draw, const Surface *surface)
{
    if (draw->count == 0) {
        return;
    }
    glUseProgram(draw->program);
    glUniform2f(draw->lens_at, draw->lens[0], draw->lens[1]);
    glActiveTexture(GL_TEXTURE0 + UNIT_SHEET);
    glBindTexture(GL_TEXTURE_2D, draw->sheet);
    glActiveTexture(GL_TEXTURE0 + UNIT_SCENE_DEPTH);
    glBindTexture(GL_TEXTURE_2D, surface->copy_depth);
    glBindVertexArray(draw->vao);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, (GLsizei)draw->count);
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
    glBindVertexArray(0);
    glActiveTexture(GL_TEXTURE0 + SUN_UNIT);
    gl_check("draw_billboards_show");
}
