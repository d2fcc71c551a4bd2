/*
 * draw_points.c: balls as instanced squares; the fragment shader computes normal and depth.
 */
#include "client/view/draw_points.h"

#include "client/view/liquid_form.h"
#include "client/view/point_density.h"
#include "shared/math/random.h"

#include <stdlib.h>
#include <string.h>

typedef struct PointInstance {
    Vec3 position;
    f32 radius;
    f32 color[3], roughness;
} PointInstance;

struct DrawPoints {
    PointInstance *instances; /* [count] grains, then balls */
    u32 grain_count, count, capacity;
    PointDensity density;
    u8 *shifts; /* [shift_capacity] */
    u32 shift_capacity;
    GLuint vao, lit, grains;
    StreamBuffer stream;
};

static const char points_vertex[] =
    "layout(location = 0) in vec4 i_position;\n"
    "layout(location = 1) in vec4 i_color;\n"
    "out vec3 v_world;\n"
    "flat out vec4 v_ball, v_color;\n"
    "void main() {\n"
    "    vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;\n"
    /* The square is in front of the ball, large enough to cover it in perspective. */
    "    vec3 v = normalize(eye.xyz - i_position.xyz);\n"
    "    vec3 r = normalize(cross(up.xyz, v)), u = cross(v, r);\n"
    "    v_world = i_position.xyz + i_position.w * (v + 1.1 * (corner.x * r + corner.y * u));\n"
    "    v_ball = i_position;\n"
    "    v_color = i_color;\n"
    "    gl_Position = view_proj * vec4(v_world, 1.0);\n"
    "}\n";

static const char points_fragment[] =
    "in vec3 v_world;\n"
    "flat in vec4 v_ball, v_color;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 d = normalize(v_world - eye.xyz), o = eye.xyz - v_ball.xyz;\n"
    "    float b = dot(o, d), q = b * b - dot(o, o) + v_ball.w * v_ball.w;\n"
    "    if (q < 0.0) discard;\n"
    "    vec3 p = eye.xyz + d * (-b - sqrt(q));\n"
    "    vec4 clip = view_proj * vec4(p, 1.0);\n"
    "    gl_FragDepth = 0.5 * clip.z / clip.w + 0.5;\n"
    "    vec3 n = (p - v_ball.xyz) / v_ball.w;\n"
    "    o_color = vec4(tone(lit(p, n, v_color.rgb, v_color.w, 0.0)), 1.0);\n"
    "}\n";

/* Shadow and sky visibility are constant over a grain. */
static const char grains_vertex[] =
    "layout(location = 0) in vec4 i_position;\n"
    "layout(location = 1) in vec4 i_color;\n"
    "out vec2 v_corner;\n"
    "flat out vec3 v_right, v_up, v_view, v_color;\n"
    "flat out vec4 v_light;\n" /* sun, sky, fog, roughness */
    "void main() {\n"
    "    v_corner = vec2((float(gl_VertexID) - 1.0) * 1.7320508, gl_VertexID == 1 ? 2.0 : -1.0);\n"
    "    vec3 to_eye = eye.xyz - i_position.xyz, c = i_position.xyz;\n"
    "    v_view = normalize(to_eye);\n"
    "    v_right = normalize(cross(up.xyz, v_view));\n"
    "    v_up = cross(v_view, v_right);\n"
    "    v_color = i_color.rgb;\n"
    "    float fog = 1.0 - exp(-length(to_eye) * eye.w);\n"
    "    v_light = vec4(sun_glance(c + sun.xyz * (1.5 * i_position.w + 1.6 * sun.w)),\n"
    "                   sky_glance(c + vec3(0.0, 1.5 * i_position.w + 0.05, 0.0)),\n"
    "                   fog, i_color.w);\n"
    "    gl_Position = view_proj * vec4(c + i_position.w * (v_corner.x * v_right + v_corner.y * "
    "v_up), 1.0);\n"
    "}\n";

static const char grains_fragment[] =
    "in vec2 v_corner;\n"
    "flat in vec3 v_right, v_up, v_view, v_color;\n"
    "flat in vec4 v_light;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    float q = 1.0 - dot(v_corner, v_corner);\n"
    "    if (q < 0.0) discard;\n"
    "    vec3 n = v_corner.x * v_right + v_corner.y * v_up + sqrt(q) * v_view;\n"
    "    vec3 ground = vec3(0.36, 0.33, 0.30) * (0.35 + 0.30 * max(sun.y, 0.0));\n"
    "    vec3 above = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4);\n"
    "    vec3 ambient = mix(ground, above, 0.5 + 0.5 * n.y) * v_light.y;\n"
    "    float direct = max(dot(n, sun.xyz), 0.0) * v_light.x;\n"
    "    vec3 c = v_color * (sun_color.rgb * direct + ambient);\n"
    "    float glint = pow(max(dot(n, normalize(v_view + sun.xyz)), 0.0), 40.0);\n"
    "    c += sun_color.rgb * (direct * glint * (1.0 - v_light.w) * 0.5);\n"
    "    o_color = vec4(tone(mix(c, 1.25 * sky_horizon.rgb, v_light.z)), 1.0);\n"
    "}\n";

DrawPoints *draw_points_create(u32 chunks, ErrorText *error)
{
    DrawPoints *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->lit = shader_create("points", chunks | SHADER_LIT, points_vertex, points_fragment, error);
    draw->grains = draw->lit ? shader_create("grains", chunks | SHADER_LIT | SHADER_LIT_VERTEX,
                                             grains_vertex, grains_fragment, error)
                             : 0;
    if (!draw->grains) {
        draw_points_destroy(draw);
        return NULL;
    }
    stream_buffer_begin(&draw->stream, &draw->vao);
    for (u32 i = 0; i < 2; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribDivisor(i, 1);
    }
    glBindVertexArray(0);
    gl_check("draw_points_create");
    return draw;
}

void draw_points_destroy(DrawPoints *draw)
{
    if (!draw) {
        return;
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->lit);
    glDeleteProgram(draw->grains);
    free(draw->instances);
    free(draw->shifts);
    point_density_finish(&draw->density);
    free(draw);
}

static bool points_reserve(DrawPoints *draw, u32 more)
{
    u64 needed = (u64)draw->count + more;
    if (needed <= draw->capacity) {
        return true;
    }
    u64 capacity = needed + needed / 2;
    PointInstance *grown = realloc(draw->instances, capacity * sizeof *grown);
    if (!grown) {
        return false;
    }
    draw->instances = grown;
    draw->capacity = (u32)capacity;
    return true;
}

/* Decimated points stand for several: their balls have the volume of all. */
static bool points_shifts(DrawPoints *draw, const ShownPoint *points, const Entity *entity)
{
    if (entity->count > draw->shift_capacity) {
        u8 *grown = realloc(draw->shifts, entity->count);
        if (!grown) {
            return false;
        }
        draw->shifts = grown;
        draw->shift_capacity = entity->count;
    }
    decimation_find(points, entity->first, entity->count, draw->shifts);
    return true;
}

static void points_gather_entity(DrawPoints *draw, const Picture *picture, u32 index)
{
    static const f32 grow[DECIMATION_MAX + 1] = {1.0f, 1.2599210f, 1.5874011f, 2.0f};
    const Entity *entity = &picture->entities[index];
    const Appearance *appearance = &entity->appearance;
    if (!picture_points(picture, entity) || !points_reserve(draw, entity->count)) {
        return;
    }
    const ShownPoint *points = picture->points[entity->field] + entity->first;
    bool grains = appearance->kind == APPEARANCE_GRAINS;
    bool decimated =
        (grains || appearance->kind == APPEARANCE_LIQUID) && points_shifts(draw, points, entity);
    f32 color[3], color2[3],
        radius = f32_max(appearance_ball_radius(appearance), grains ? 0.0005f : 0.005f);
    picture_colors(picture, index, color, color2);
    f32 spread = appearance->kind == APPEARANCE_LIQUID ? 0.0f : appearance->spread;
    for (u32 i = 0; i < entity->count; i++) {
        if (points[i].generation == 0) {
            continue;
        }
        PointInstance *out = &draw->instances[draw->count++];
        out->position = points[i].position;
        f32 size = random_point_size(points[i].generation, entity->first + i, spread);
        out->radius = (decimated ? radius * grow[draw->shifts[i]] : radius) * size;
        f32 t = points[i].scalar;
        if (grains) { /* few are as dark as the second colour */
            t = random_f32(points[i].generation, entity->first + i);
            t *= t;
        }
        for (u32 k = 0; k < 3; k++) {
            out->color[k] = color[k] * (1.0f - t) + color2[k] * t;
        }
        out->roughness = f32_clamp(appearance->roughness, 0.05f, 1.0f);
    }
}

/* Omits grains that are hidden by surrounding ones: most of a heap. */
static void grains_bare(DrawPoints *draw)
{
    f32 sum = 0.0f;
    u32 left = 0;
    for (u32 i = 0; i < draw->count; i++) {
        sum += draw->instances[i].radius;
    }
    f32 radius = draw->count > 0 ? sum / (f32)draw->count : 0.0f;
    if (draw->count == 0 || !point_density_begin(&draw->density, draw->count, radius)) {
        return;
    }
    for (u32 i = 0; i < draw->count; i++) {
        f32 size = draw->instances[i].radius / radius;
        point_density_add(&draw->density, draw->instances[i].position, vec3_zero(),
                          size * size * size);
    }
    for (u32 i = 0; i < draw->count; i++) {
        if (!point_density_hides(&draw->density, draw->instances[i].position)) {
            draw->instances[left++] = draw->instances[i];
        }
    }
    draw->count = left;
}

static bool is_ball(const Picture *picture, const Appearance *appearance)
{
    return appearance->kind == APPEARANCE_LIQUID
               ? picture->bare_liquids
               : appearance_is_balls(appearance) && appearance->kind != APPEARANCE_GRAINS;
}

void draw_points_gather(DrawPoints *draw, const Picture *picture)
{
    draw->count = 0;
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (picture->entities[i].appearance.kind == APPEARANCE_GRAINS) {
            points_gather_entity(draw, picture, i);
        }
    }
    grains_bare(draw);
    draw->grain_count = draw->count;
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (is_ball(picture, &picture->entities[i].appearance)) {
            points_gather_entity(draw, picture, i);
        }
    }
    if (draw->count > 0) {
        stream_buffer_write(&draw->stream, draw->instances, draw->count * sizeof *draw->instances);
    }
}

void draw_points_cast(DrawPoints *draw, const BallCast *cast, const Mat4 *to_clip)
{
    ball_cast_show(cast, to_clip, draw->stream.name, 0, sizeof(PointInstance), draw->count);
}

/* Three corners are a triangle around each disc, four a square. */
static void points_show(GLuint program, GLsizei corners, u32 first, u32 count)
{
    if (count == 0) {
        return;
    }
    glUseProgram(program);
    for (u32 i = 0; i < 2; i++) {
        size_t at = first * sizeof(PointInstance) + i * 4 * sizeof(f32);
        glVertexAttribPointer(i, 4, GL_FLOAT, GL_FALSE, sizeof(PointInstance), (const void *)at);
    }
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, corners, (GLsizei)count);
}

void draw_points_show(DrawPoints *draw)
{
    if (draw->count == 0) {
        return;
    }
    glBindVertexArray(draw->vao);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
    points_show(draw->grains, 3, 0, draw->grain_count);
    points_show(draw->lit, 4, draw->grain_count, draw->count - draw->grain_count);
    glBindVertexArray(0);
    gl_check("draw_points_show");
}
