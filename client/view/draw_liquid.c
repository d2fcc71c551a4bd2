/*
 * draw_liquid.c: buffers and passes of a liquid. All of them are limited to the part of the window
 * where the liquid is, and extend a little beyond its edges. In order: depths of balls (those
 * hidden by others on all sides are omitted); two rounds of the narrow-range filter; normals; sums
 * over all balls of absorption, scattered colour and foam, limited by objects before or in the
 * liquid; the picture, blended over a copy of the scene with its own depth. The scene behind is
 * converted back to linear light, refracted and dimmed. A liquid is not highlighted by hands. It
 * casts a shadow only if 10 cm of it transmit less than 40 % of the light. Its colours: the light
 * transmitted by `clear_m` of it, and the light scattered back: clear water needs a dark second
 * colour, milk a bright one and a small `clear_m`.
 */
#include "client/view/draw_liquid.h"

#include "client/view/liquid_form.h"
#include "client/view/liquid_shader.h"
#include "client/view/projection.h"

#include <stdlib.h>
#include <string.h>

/* Half width of the filter and its range of depths, in radii of points. */
#define FILTER_RADII  5.0f
#define RANGE_RADII   6.0f
/* A liquid casts a shadow if this thickness of it transmits less than this. */
#define SHADOW_M      0.1f
#define SHADOW_PASSES 0.4f
/* Discs of points inside, for thickness: wider, so that rows of points are not visible. */
#define INNER_GROW    1.6f
/* Nearer points would fill the picture. */
#define NEAR_RADII    2.0f

enum {
    MARGIN_MIN = 12,      /* texels beyond each edge of the window */
    PIXELS_MAX = 3000000, /* larger windows are drawn at half the resolution */
};

/* By renderer. */
typedef struct Quality {
    u32 divisor;         /* of the window's size; thickness has half of that */
    u32 samples, rounds; /* of the filter; samples on each side */
    u32 inner;           /* one of this many points inside the liquid is drawn for its thickness */
} Quality;

static const Quality quality_full = {1, 14, 2, 1}, quality_coarse = {2, 6, 2, 3};

typedef struct Target {
    GLuint framebuffer, textures[2];
} Target;

struct DrawLiquid {
    LiquidForm form;
    Quality quality;
    LiquidShader shaders[LIQUID_PASS_COUNT];
    GLuint splats, screen; /* vertex arrays */
    StreamBuffer stream;
    Target depths[2]; /* [0] has a renderbuffer for the depth test */
    Target normals, sums, picture;
    GLuint depth_test;
    u32 divisor;                     /* of its size */
    u32 width, height;               /* of the window for which they were made */
    u32 depth_size[2], sums_size[2]; /* texels */
    f32 guard[2];                    /* fraction of them that the window covers */
    f32 lens[2];                     /* see LiquidShader */
    f32 low[2], high[2];             /* bounds of the liquid, -1..1 of the window */
};

/* ---- buffers ---- */

static void target_init(Target *target, u32 textures, GLenum filter)
{
    glGenFramebuffers(1, &target->framebuffer);
    glBindFramebuffer(GL_FRAMEBUFFER, target->framebuffer);
    for (u32 i = 0; i < textures; i++) {
        target->textures[i] = texture_create(filter);
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0 + i, GL_TEXTURE_2D,
                               target->textures[i], 0);
    }
    static const GLenum both[2] = {GL_COLOR_ATTACHMENT0, GL_COLOR_ATTACHMENT1};
    glDrawBuffers((GLsizei)textures, both);
}

static void target_finish(Target *target)
{
    glDeleteFramebuffers(1, &target->framebuffer);
    glDeleteTextures(2, target->textures);
}

static void texture_size(GLuint texture, GLint format, const u32 size[2])
{
    glBindTexture(GL_TEXTURE_2D, texture);
    glTexImage2D(GL_TEXTURE_2D, 0, format, (GLsizei)size[0], (GLsizei)size[1], 0, GL_RGBA, GL_FLOAT,
                 NULL);
}

static void liquid_fit(DrawLiquid *draw, u32 width, u32 height)
{
    if (draw->width == width && draw->height == height) {
        return;
    }
    draw->width = width;
    draw->height = height;
    bool huge = (u64)width * height > PIXELS_MAX;
    draw->divisor = huge ? 2 * draw->quality.divisor : draw->quality.divisor;
    const u32 window[2] = {width, height};
    for (u32 k = 0; k < 2; k++) {
        f32 texels = (f32)window[k] / (f32)draw->divisor;
        u32 margin = MARGIN_MIN + height / (16 * draw->divisor);
        draw->depth_size[k] = (u32)ceilf(texels) + 2 * margin;
        draw->sums_size[k] = (draw->depth_size[k] + 1) / 2;
        draw->guard[k] = texels / (f32)draw->depth_size[k];
    }
    glActiveTexture(GL_TEXTURE0 + FREE_UNIT);
    texture_size(draw->depths[0].textures[0], GL_R32F, draw->depth_size);
    texture_size(draw->depths[1].textures[0], GL_R32F, draw->depth_size);
    texture_size(draw->normals.textures[0], GL_RGBA32F, draw->depth_size);
    texture_size(draw->sums.textures[0], GL_RGBA16F, draw->sums_size);
    texture_size(draw->sums.textures[1], GL_RGBA16F, draw->sums_size);
    if (draw->divisor > 1) {
        texture_size(draw->picture.textures[0], GL_RGBA8, draw->depth_size);
    }
    glBindRenderbuffer(GL_RENDERBUFFER, draw->depth_test);
    glRenderbufferStorage(GL_RENDERBUFFER, GL_DEPTH_COMPONENT24, (GLsizei)draw->depth_size[0],
                          (GLsizei)draw->depth_size[1]);
    glBindFramebuffer(GL_FRAMEBUFFER, draw->depths[0].framebuffer);
    glFramebufferRenderbuffer(GL_FRAMEBUFFER, GL_DEPTH_ATTACHMENT, GL_RENDERBUFFER,
                              draw->depth_test);
}

static void splats_init(DrawLiquid *draw)
{
    glGenVertexArrays(1, &draw->screen);
    stream_buffer_begin(&draw->stream, &draw->splats);
    for (u32 i = 0; i < 3; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribDivisor(i, 1);
    }
    glBindVertexArray(0);
}

DrawLiquid *draw_liquid_create(u32 chunks, bool coarse, ErrorText *error)
{
    DrawLiquid *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->quality = coarse ? quality_coarse : quality_full;
    if (liquid_shaders_init(draw->shaders, chunks, error) != 0) {
        draw_liquid_destroy(draw);
        return NULL;
    }
    splats_init(draw);
    glGenRenderbuffers(1, &draw->depth_test);
    target_init(&draw->depths[0], 1, GL_NEAREST);
    target_init(&draw->depths[1], 1, GL_NEAREST);
    target_init(&draw->normals, 1, GL_NEAREST);
    target_init(&draw->sums, 2, GL_LINEAR);
    target_init(&draw->picture, 1, GL_LINEAR);
    glBindFramebuffer(GL_FRAMEBUFFER, 0);
    gl_check("draw_liquid_create");
    return draw;
}

void draw_liquid_destroy(DrawLiquid *draw)
{
    if (!draw) {
        return;
    }
    liquid_form_finish(&draw->form);
    liquid_shaders_finish(draw->shaders);
    target_finish(&draw->depths[0]);
    target_finish(&draw->depths[1]);
    target_finish(&draw->normals);
    target_finish(&draw->sums);
    target_finish(&draw->picture);
    glDeleteRenderbuffers(1, &draw->depth_test);
    glDeleteVertexArrays(1, &draw->splats);
    glDeleteVertexArrays(1, &draw->screen);
    glDeleteBuffers(1, &draw->stream.name);
    free(draw);
}

/* ---- gathering ---- */

static void liquid_add(DrawLiquid *draw, const Picture *picture, u32 index)
{
    const Entity *entity = &picture->entities[index];
    f32 color[3], color2[3];
    picture_colors(picture, index, color, color2);
    liquid_form_add(&draw->form, picture->points[entity->field], entity, color, color2);
}

/* Drops points at and behind the eye; finds the bounds of the others in the window. */
static void liquid_bound(DrawLiquid *draw, const FrameUniforms *frame)
{
    f32 scale[2] = {0.0f, 0.0f}; /* of a length at a distance of 1 m */
    const f32 *m = frame->view_proj.m;
    for (u32 k = 0; k < 2; k++) {
        scale[k] = sqrtf(m[k] * m[k] + m[4 + k] * m[4 + k] + m[8 + k] * m[8 + k]);
        draw->low[k] = 2.0f;
        draw->high[k] = -2.0f;
    }
    for (u32 i = 0; i < draw->form.count; i++) {
        LiquidPoint *point = &draw->form.points[i];
        Vec4 clip = mat4_transform(&frame->view_proj, point->position);
        if (clip.w < NEAR_RADII * point->radius) {
            point->radius = 0.0f; /* still casts none */
            continue;
        }
        f32 inverse = 1.0f / clip.w;
        const f32 at[2] = {clip.x * inverse, clip.y * inverse};
        for (u32 k = 0; k < 2; k++) {
            f32 wide = 1.5f * scale[k] * point->radius * inverse;
            draw->low[k] = f32_min(draw->low[k], at[k] - wide);
            draw->high[k] = f32_max(draw->high[k], at[k] + wide);
        }
    }
}

void draw_liquid_gather(DrawLiquid *draw, const Picture *picture, const FrameUniforms *frame)
{
    camera_lens(&picture->camera, draw->lens);
    liquid_form_begin(&draw->form);
    for (u32 i = 0; i < picture->entity_count && !picture->bare_liquids; i++) {
        const Entity *entity = &picture->entities[i];
        if (entity->appearance.kind == APPEARANCE_LIQUID && picture_points(picture, entity)) {
            liquid_add(draw, picture, i);
        }
    }
    if (draw->form.count > 0) {
        liquid_form_foam(&draw->form, picture->camera.eye);
        liquid_bound(draw, frame);
        stream_buffer_write(&draw->stream, draw->form.points,
                            draw->form.count * sizeof *draw->form.points);
    }
}

/* ---- drawing ---- */

void draw_liquid_cast(DrawLiquid *draw, const BallCast *cast, const Mat4 *to_clip)
{
    for (u32 i = 0; i < draw->form.body_count; i++) {
        const LiquidBody *body = &draw->form.bodies[i];
        const f32 *optical = draw->form.points[body->first].optical;
        f32 passes = expf(-SHADOW_M / 3.0f * (optical[0] + optical[1] + optical[2]));
        if (passes < SHADOW_PASSES) {
            ball_cast_show(cast, to_clip, draw->stream.name, body->first * sizeof(LiquidPoint),
                           sizeof(LiquidPoint), body->outer);
        }
    }
}

bool draw_liquid_wanted(const DrawLiquid *draw)
{
    return draw->form.count > 0 && draw->low[0] < 1.0f && draw->high[0] > -1.0f &&
           draw->low[1] < 1.0f && draw->high[1] > -1.0f;
}

/* Limits drawing to the bounds of the liquid, in a buffer of which the window covers the fraction
 * `guard`. */
static void liquid_scissor(const DrawLiquid *draw, const u32 size[2], const f32 guard[2])
{
    GLint low[2], high[2];
    for (u32 k = 0; k < 2; k++) {
        f32 edge = 1.0f / guard[k];
        f32 from = f32_clamp(draw->low[k], -edge, edge), to = f32_clamp(draw->high[k], -edge, edge);
        low[k] = (GLint)floorf((from * guard[k] * 0.5f + 0.5f) * (f32)size[k]) - 2;
        high[k] = (GLint)ceilf((to * guard[k] * 0.5f + 0.5f) * (f32)size[k]) + 2;
        low[k] = i32_max(low[k], 0);
    }
    glScissor(low[0], low[1], i32_max(high[0] - low[0], 0), i32_max(high[1] - low[1], 0));
}

static void target_begin(const DrawLiquid *draw, const Target *target, const u32 size[2])
{
    glBindFramebuffer(GL_FRAMEBUFFER, target->framebuffer);
    glViewport(0, 0, (GLsizei)size[0], (GLsizei)size[1]);
    liquid_scissor(draw, size, draw->guard);
}

static void bind_at(u32 unit, GLuint texture)
{
    glActiveTexture(GL_TEXTURE0 + unit);
    glBindTexture(GL_TEXTURE_2D, texture);
}

static const LiquidShader *liquid_use(const DrawLiquid *draw, LiquidPass pass)
{
    const LiquidShader *shader = &draw->shaders[pass];
    glUseProgram(shader->program);
    glUniform2f(shader->guard, draw->guard[0], draw->guard[1]);
    glUniform2f(shader->lens, draw->lens[0], draw->lens[1]);
    glUniform1f(shader->size, draw->form.radius);
    glUniform1f(shader->dive, draw->form.diving ? 1.0f : 0.0f);
    return shader;
}

/* Each `step`-th of some points. */
static void draw_splats(u32 first, u32 count, u32 step)
{
    for (u32 i = 0; i < 3; i++) {
        size_t at = first * sizeof(LiquidPoint) + i * 4 * sizeof(f32);
        glVertexAttribPointer(i, 4, GL_FLOAT, GL_FALSE, (GLsizei)(step * sizeof(LiquidPoint)),
                              (const void *)at);
    }
    glDrawArraysInstanced(GL_TRIANGLES, 0, 3, (GLsizei)(count / step));
}

static void splats_begin(const DrawLiquid *draw)
{
    glBindVertexArray(draw->splats);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
}

static void draw_screen(const DrawLiquid *draw)
{
    glBindVertexArray(draw->screen);
    glDrawArrays(GL_TRIANGLES, 0, 3);
}

static void liquid_depths(DrawLiquid *draw)
{
    static const f32 nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f}, far = 1.0f;
    target_begin(draw, &draw->depths[0], draw->depth_size);
    glClearBufferfv(GL_COLOR, 0, nothing);
    glClearBufferfv(GL_DEPTH, 0, &far);
    const LiquidShader *shader = liquid_use(draw, LIQUID_DEPTH);
    glUniform1f(shader->grow, 1.0f);
    splats_begin(draw);
    for (u32 i = 0; i < draw->form.body_count; i++) {
        draw_splats(draw->form.bodies[i].first, draw->form.bodies[i].outer, 1);
    }
}

static void liquid_smooth(DrawLiquid *draw, const FrameUniforms *frame)
{
    const LiquidShader *shader = liquid_use(draw, LIQUID_SMOOTH);
    f32 texel_m = frame->forward[3] * (f32)draw->divisor;
    f32 radius = draw->form.radius;
    for (u32 round = 0; round < draw->quality.rounds; round++) {
        /* The first round may skip texels; the second includes those in between. */
        f32 wide = FILTER_RADII * radius / texel_m, most = (f32)draw->quality.samples;
        glUniform4f(shader->reach, wide, RANGE_RADII * radius, most, round == 0 ? 4.0f : 1.0f);
        for (u32 k = 0; k < 2; k++) {
            bind_at(LIQUID_UNIT_DEPTH, draw->depths[k].textures[0]);
            target_begin(draw, &draw->depths[1 - k], draw->depth_size);
            glUniform2i(shader->way, k == 0, k == 1);
            draw_screen(draw);
        }
    }
    bind_at(LIQUID_UNIT_DEPTH, draw->depths[0].textures[0]);
    target_begin(draw, &draw->normals, draw->depth_size);
    liquid_use(draw, LIQUID_NORMAL);
    draw_screen(draw);
}

static void liquid_sums(DrawLiquid *draw)
{
    static const f32 nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    target_begin(draw, &draw->sums, draw->sums_size);
    glClearBufferfv(GL_COLOR, 0, nothing);
    glClearBufferfv(GL_COLOR, 1, nothing);
    const LiquidShader *shader = liquid_use(draw, LIQUID_THICKNESS);
    glUniform2f(shader->texel, 1.0f / (f32)draw->sums_size[0], 1.0f / (f32)draw->sums_size[1]);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE);
    splats_begin(draw);
    for (u32 i = 0; i < draw->form.body_count; i++) {
        const LiquidBody *body = &draw->form.bodies[i];
        u32 inner = body->count - body->outer, step = draw->quality.inner;
        glUniform1f(shader->grow, 1.0f);
        glUniform1f(shader->weight, 1.0f);
        draw_splats(body->first, body->outer, 1);
        glUniform1f(shader->grow, INNER_GROW);
        glUniform1f(shader->weight, (f32)step);
        draw_splats(body->first + body->outer, inner, step);
    }
    glDisable(GL_BLEND);
}

/* The picture at the resolution of depths. */
static void liquid_small(DrawLiquid *draw)
{
    static const f32 nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    target_begin(draw, &draw->picture, draw->depth_size);
    glClearBufferfv(GL_COLOR, 0, nothing);
    const LiquidShader *shader = liquid_use(draw, LIQUID_SURFACE);
    glUniform2f(shader->zoom, 1.0f / draw->guard[0], 1.0f / draw->guard[1]);
    draw_screen(draw);
    bind_at(LIQUID_UNIT_COLORS, draw->picture.textures[0]);
}

/* The picture in the window. */
static void liquid_large(DrawLiquid *draw, const Surface *surface)
{
    static const f32 whole[2] = {1.0f, 1.0f};
    const u32 window[2] = {surface->width, surface->height};
    glBindFramebuffer(GL_FRAMEBUFFER, surface->picture);
    glViewport(0, 0, (GLsizei)surface->width, (GLsizei)surface->height);
    liquid_scissor(draw, window, whole);
    glEnable(GL_DEPTH_TEST);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    bool small = draw->divisor > 1;
    const LiquidShader *shader = liquid_use(draw, small ? LIQUID_SPREAD : LIQUID_SURFACE);
    glUniform2f(shader->zoom, 1.0f, 1.0f);
    draw_screen(draw);
    glDisable(GL_BLEND);
}

void draw_liquid_show(DrawLiquid *draw, const Surface *surface, const FrameUniforms *frame)
{
    liquid_fit(draw, surface->width, surface->height);
    bind_at(LIQUID_UNIT_SCENE, surface->copy_color);
    bind_at(LIQUID_UNIT_SCENE_DEPTH, surface->copy_depth);
    glEnable(GL_SCISSOR_TEST);
    glDepthFunc(GL_LESS);
    liquid_depths(draw);
    glDisable(GL_DEPTH_TEST);
    liquid_smooth(draw, frame);
    liquid_sums(draw);
    bind_at(LIQUID_UNIT_FORM, draw->normals.textures[0]);
    bind_at(LIQUID_UNIT_SUMS, draw->sums.textures[0]);
    bind_at(LIQUID_UNIT_COLORS, draw->sums.textures[1]);
    if (draw->divisor > 1) {
        liquid_small(draw);
    }
    liquid_large(draw, surface);
    glDisable(GL_SCISSOR_TEST);
    glBindVertexArray(0);
    glActiveTexture(GL_TEXTURE0 + SUN_UNIT);
    gl_check("draw_liquid_show");
}
