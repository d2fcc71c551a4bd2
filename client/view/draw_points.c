/*
 * draw_points.c: balls as instanced squares; the fragment shader computes normal and depth.
 */
#include "client/view/draw_points.h"

#include <stdlib.h>
#include <string.h>

typedef struct PointInstance {
    Vec3 position;
    f32 radius;
    f32 color[3], roughness;
} PointInstance;

struct DrawPoints {
    PointInstance *instances; /* [count] */
    u32 count, capacity;
    GLuint vao, lit;
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

DrawPoints *draw_points_create(u32 chunks, ErrorText *error)
{
    DrawPoints *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->lit = shader_create("points", chunks | SHADER_LIT, points_vertex, points_fragment, error);
    if (!draw->lit) {
        draw_points_destroy(draw);
        return NULL;
    }
    glGenVertexArrays(1, &draw->vao);
    glBindVertexArray(draw->vao);
    glGenBuffers(1, &draw->stream.name);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
    for (u32 i = 0; i < 2; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribPointer(i, 4, GL_FLOAT, GL_FALSE, sizeof(PointInstance),
                              (const void *)(i * 4 * sizeof(f32)));
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
    free(draw->instances);
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

static void points_gather_entity(DrawPoints *draw, const Picture *picture, const Entity *entity)
{
    if (entity->field >= picture->fields->count || !picture->points[entity->field] ||
        (u64)entity->first + entity->count > picture->fields->fields[entity->field].capacity ||
        !points_reserve(draw, entity->count)) {
        return;
    }
    const ShownPoint *points = picture->points[entity->field] + entity->first;
    for (u32 i = 0; i < entity->count; i++) {
        if (points[i].generation == 0) {
            continue;
        }
        PointInstance *out = &draw->instances[draw->count++];
        out->position = points[i].position;
        out->radius = f32_max(appearance_ball_radius(&entity->appearance), 0.005f);
        for (u32 k = 0; k < 3; k++) {
            f32 t = points[i].scalar;
            out->color[k] =
                entity->appearance.color[k] * (1.0f - t) + entity->appearance.color2[k] * t;
        }
        out->roughness = f32_clamp(entity->appearance.roughness, 0.05f, 1.0f);
    }
}

void draw_points_gather(DrawPoints *draw, const Picture *picture)
{
    draw->count = 0;
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (appearance_is_balls(&picture->entities[i].appearance)) {
            points_gather_entity(draw, picture, &picture->entities[i]);
        }
    }
    if (draw->count > 0) {
        stream_buffer_write(&draw->stream, draw->instances, draw->count * sizeof *draw->instances);
    }
}

void draw_points_show(DrawPoints *draw)
{
    if (draw->count > 0) {
        glUseProgram(draw->lit);
        glBindVertexArray(draw->vao);
        glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, (GLsizei)draw->count);
        glBindVertexArray(0);
        gl_check("draw_points_show");
    }
}
