/*
 * draw_marks.c: each mark is a screen-aligned capsule, clipped at the near plane, with soft edges.
 */
#include "client/view/draw_marks.h"

#include <stdlib.h>
#include <string.h>

enum {
    MARK_VERTICES = 6
};

typedef struct MarkVertex {
    Vec4 clip;
    f32 x, y;              /* px in the capsule's frame: along from its first end, across */
    f32 length_px, radius; /* px */
    f32 color[4];
} MarkVertex;

struct DrawMarks {
    MarkVertex *vertices; /* [capacity] */
    u32 capacity;
    GLuint vao, program;
    StreamBuffer stream;
};

static const char marks_vertex[] = "layout(location = 0) in vec4 a_clip;\n"
                                   "layout(location = 1) in vec4 a_place;\n"
                                   "layout(location = 2) in vec4 a_color;\n"
                                   "noperspective out vec4 v_place;\n"
                                   "flat out vec4 v_color;\n"
                                   "void main() {\n"
                                   "    v_place = a_place;\n"
                                   "    v_color = a_color;\n"
                                   "    gl_Position = a_clip;\n"
                                   "}\n";

static const char marks_fragment[] =
    "noperspective in vec4 v_place;\n"
    "flat in vec4 v_color;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    float along = v_place.x - clamp(v_place.x, 0.0, v_place.z);\n"
    "    float d = length(vec2(along, v_place.y)) - v_place.w;\n"
    "    float inside = clamp(0.5 - d, 0.0, 1.0), halo = clamp(1.0 - d * 0.5, 0.0, 1.0);\n"
    /* A dark edge keeps light marks readable on light ground. */
    "    float a = v_color.a * mix(0.45 * halo, 1.0, inside);\n"
    "    o_color = vec4(pow(v_color.rgb, vec3(1.0 / 2.2)) * (inside * v_color.a), a);\n"
    "}\n";

DrawMarks *draw_marks_create(ErrorText *error)
{
    DrawMarks *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->program = shader_create("marks", SHADER_PLAIN, marks_vertex, marks_fragment, error);
    if (!draw->program) {
        draw_marks_destroy(draw);
        return NULL;
    }
    stream_buffer_begin(&draw->stream, &draw->vao);
    for (u32 i = 0; i < 3; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribPointer(i, 4, GL_FLOAT, GL_FALSE, sizeof(MarkVertex),
                              (const void *)(i * 4 * sizeof(f32)));
    }
    glBindVertexArray(0);
    return draw;
}

void draw_marks_destroy(DrawMarks *draw)
{
    if (!draw) {
        return;
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->program);
    free(draw->vertices);
    free(draw);
}

/* Moves an end in front of the near plane onto it; false if the whole mark is in front. */
static bool mark_clip(Vec4 *a, Vec4 *b)
{
    f32 da = a->z + a->w, db = b->z + b->w;
    if (!(da > 1e-5f) && !(db > 1e-5f)) {
        return false;
    }
    Vec4 *out = !(da > 1e-5f) ? a : !(db > 1e-5f) ? b : NULL;
    if (out) {
        f32 t = (da - 1e-5f) / (da - db);
        Vec4 p = {a->x + (b->x - a->x) * t, a->y + (b->y - a->y) * t, a->z + (b->z - a->z) * t,
                  a->w + (b->w - a->w) * t};
        *out = p;
    }
    return a->w > 1e-6f && b->w > 1e-6f;
}

static bool mark_build(MarkVertex *out, const Mark *mark, const Mat4 *view_proj, f32 width,
                       f32 height)
{
    Vec4 ends[2] = {mat4_transform(view_proj, mark->from), mat4_transform(view_proj, mark->to)};
    if (!mark_clip(&ends[0], &ends[1])) {
        return false;
    }
    f32 ax = ends[0].x / ends[0].w * 0.5f * width, ay = ends[0].y / ends[0].w * 0.5f * height;
    f32 bx = ends[1].x / ends[1].w * 0.5f * width, by = ends[1].y / ends[1].w * 0.5f * height;
    f32 dx = bx - ax, dy = by - ay, length = sqrtf(dx * dx + dy * dy);
    f32 tx = length > 1e-3f ? dx / length : 1.0f, ty = length > 1e-3f ? dy / length : 0.0f;
    bool line = vec3_distance(mark->from, mark->to) > 1e-6f;
    f32 radius = line ? 0.5f * mark->radius_px : mark->radius_px;
    f32 edge = radius + 3.0f;
    static const f32 corners[MARK_VERTICES][2] = {{0, -1}, {1, -1}, {1, 1},
                                                  {0, -1}, {1, 1},  {0, 1}};
    for (u32 i = 0; i < MARK_VERTICES; i++) {
        bool far_end = corners[i][0] > 0.5f;
        f32 along = far_end ? edge : -edge, across = corners[i][1] * edge;
        Vec4 clip = ends[far_end ? 1 : 0];
        clip.x += (tx * along - ty * across) * 2.0f / width * clip.w;
        clip.y += (ty * along + tx * across) * 2.0f / height * clip.w;
        out[i].clip = clip;
        out[i].x = (far_end ? length : 0.0f) + along;
        out[i].y = across;
        out[i].length_px = length;
        out[i].radius = radius;
        memcpy(out[i].color, mark->color, sizeof out[i].color);
    }
    return true;
}

void draw_marks_show(DrawMarks *draw, const Picture *picture, const Mat4 *view_proj, u32 width,
                     u32 height)
{
    u32 needed = picture->mark_count * MARK_VERTICES;
    if (needed > draw->capacity) {
        MarkVertex *grown = realloc(draw->vertices, 2 * needed * sizeof *grown);
        if (!grown) {
            return;
        }
        draw->vertices = grown;
        draw->capacity = 2 * needed;
    }
    /* First the marks that objects may hide, then those on top. */
    u32 count = 0, hidden = 0;
    for (u32 pass = 0; pass < 2; pass++) {
        for (u32 i = 0; i < picture->mark_count; i++) {
            const Mark *mark = &picture->marks[i];
            if (mark->on_top == (pass == 1) &&
                mark_build(draw->vertices + count, mark, view_proj, (f32)width, (f32)height)) {
                count += MARK_VERTICES;
            }
        }
        hidden = pass == 0 ? count : hidden;
    }
    if (count == 0) {
        return;
    }
    stream_buffer_write(&draw->stream, draw->vertices, count * sizeof *draw->vertices);
    glUseProgram(draw->program);
    glBindVertexArray(draw->vao);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    if (hidden > 0) {
        glDrawArrays(GL_TRIANGLES, 0, (GLsizei)hidden);
    }
    glDisable(GL_DEPTH_TEST);
    if (count > hidden) {
        glDrawArrays(GL_TRIANGLES, (GLint)hidden, (GLsizei)(count - hidden));
    }
    glEnable(GL_DEPTH_TEST);
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
    glBindVertexArray(0);
    gl_check("draw_marks_show");
}
