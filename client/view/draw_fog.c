/*
 * draw_fog.c: each fog is the back of its box; a fragment marches from the near side of the box, or
 * the eye, to its far side or to an object in it (front to back; Levoy 1990), with a start that
 * differs from pixel to pixel, so that slices do not show as bands.
 */
#include "client/view/draw_fog.h"

#include "client/view/draw_rigid.h"
#include "client/view/fog_form.h"
#include "client/view/projection.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MAX = 128, /* texels along an axis */
    SIDE_MAX_COARSE = 48,
    UNIT_VOXELS = FREE_UNIT,
    UNIT_SCENE_DEPTH,
    UNIT_DYES,
    UNIT_COARSE,
};

/* Maximal number of steps through a fog, and their length in texels. */
typedef struct FogQuality {
    f32 steps_max, step;
    u32 side_max, divisor;
} FogQuality;

static const FogQuality quality_full = {128.0f, 0.8f, SIDE_MAX, 1},
                        quality_coarse = {28.0f, 1.3f, SIDE_MAX_COARSE, 2};

/* Black-body light changes within a fraction of a texel: steps are shorter by this. */
static const f32 flame_fine = 3.0f;

/* Of one entity; kept for its texture and memory. */
typedef struct Fog {
    FogForm form;
    GLuint texture, dyes;
    u32 made[3], made_dyes[3]; /* size of the textures */
    f32 away;                  /* m, distance of its centre from the eye */
    f32 color[3], highlight[3], fire;
} Fog;

struct DrawFog {
    Fog *fogs;  /* [count] in use of [capacity] */
    u32 *order; /* [count] from far to near; [capacity] */
    u32 count, capacity;
    FogQuality quality;
    f32 lens[2];
    GLuint vao, program, spread;
    GLint low, size, first, last, color, dyed, glow, march, lens_at, divisor, pixel;
    GLuint framebuffer, coarse; /* of less resolution */
    u32 width, height;          /* of it, texels */
};

static const char fog_vertex[] =
    "uniform vec3 first, last;\n"
    "out vec3 v_world;\n"
    "void main() {\n"
    /* The cube as one strip of triangles. */
    "    int bit = 1 << gl_VertexID;\n"
    "    vec3 corner = vec3((0x287a & bit) != 0, (0x02af & bit) != 0, (0x31e3 & bit) != 0);\n"
    "    v_world = mix(first, last, corner);\n"
    "    gl_Position = view_proj * vec4(v_world, 1.0);\n"
    "    gl_Position.z = 0.0;\n" /* never clipped by the far plane */
    "}\n";

/* Heat h is about 900 + 1600 h K: linear sRGB of a black body there, by its red (Planck's law). */
static const char fog_fragment[] =
    "uniform sampler3D voxels, dyes;\n"
    "uniform sampler2D scene_depths;\n"
    "uniform vec3 low, size, first, last, color, glow;\n"
    "uniform float dyed;\n"
    "uniform vec4 march;\n" /* extinction 1/m, step m, steps at most, fire */
    "uniform vec2 lens;\n"
    "uniform float divisor;\n"
    "in vec3 v_world;\n"
    "out vec4 o_color;\n"
    "vec3 black_body(float h) {\n"
    "    return vec3(1.0, 0.02 + 0.52 * h, 0.18 * h * h * h) * (14.0 * h * h * h * h * h);\n"
    "}\n"
    "void main() {\n"
    "    vec3 d = normalize(v_world - eye.xyz), per = 1.0 / (d + vec3(equal(d, vec3(0.0))) * "
    "1e-6);\n"
    "    vec3 a = (first - eye.xyz) * per, b = (last - eye.xyz) * per;\n"
    "    vec3 near = min(a, b), far = max(a, b);\n"
    "    float from = max(max(max(near.x, near.y), near.z), 0.0);\n"
    "    float to = min(min(far.x, far.y), far.z);\n"
    "    ivec2 at = ivec2(gl_FragCoord.xy * divisor);\n"
    "    float scene = texelFetch(scene_depths, at, 0).r;\n"
    "    float z = lens.y / (scene * 2.0 - 1.0 - lens.x);\n"
    "    to = min(to, z / max(dot(d, forward.xyz), 1e-3));\n"
    "    if (to <= from) discard;\n"
    "    float steps = clamp(ceil((to - from) / march.y), 1.0, march.z), m = (to - from) / steps;\n"
    /* Jimenez 2014 */
    "    float noise = fract(52.9829189 * fract(dot(gl_FragCoord.xy, vec2(0.06711056, "
    "0.00583715))));\n"
    "    vec3 ambient = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4), sum = vec3(0.0);\n"
    "    float ahead = dot(d, sun.xyz), lobe = 0.75 + 0.6 * max(ahead, 0.0) * max(ahead, 0.0);\n"
    "    float through = 1.0;\n"
    "    for (int i = 0; i < int(steps) && through > 0.01; i++) {\n"
    "        vec3 p = eye.xyz + d * (from + (float(i) + noise) * m);\n"
    "        vec4 held = texture(voxels, (p - low) / size);\n"
    "        float smoke = held.r * march.x, flame = march.w * held.g * held.g;\n"
    "        float thick = smoke + flame;\n"
    "        if (thick <= 0.0) continue;\n"
    "        float caught = through * (1.0 - exp(-thick * m));\n"
    "        vec3 dye = texture(dyes, (p - low) / size).rgb / max(held.r, 1e-5);\n"
    "        vec3 albedo = mix(color, min(dye, 1.0), dyed);\n"
    "        vec3 c = albedo * (sun_color.rgb * (lobe * held.b) +\n"
    "                           ambient * (0.55 + 0.45 * held.b)) + glow;\n"
    "        if (march.w > 0.0) c = (c * smoke + black_body(held.g) * thick) / thick;\n"
    "        sum += caught * c;\n"
    "        through *= exp(-thick * m);\n"
    "    }\n"
    "    float opacity = 1.0 - through;\n"
    "    if (opacity < 0.002) discard;\n"
    "    vec3 c = mix(sum / opacity, 1.25 * sky_horizon.rgb, 1.0 - exp(-from * eye.w));\n"
    "    o_color = vec4(tone(c) * opacity + (noise - 0.5) / 255.0, opacity);\n"
    "}\n";

static const char spread_vertex[] = "out vec2 v_uv;\n"
                                    "void main() {\n"
                                    "    v_uv = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);\n"
                                    "    gl_Position = vec4(v_uv * 2.0 - 1.0, 0.0, 1.0);\n"
                                    "}\n";

/* A tent filter over 3 × 3 texels: neighbours started at different offsets within a step. */
static const char spread_fragment[] =
    "uniform sampler2D picture;\n"
    "uniform vec2 pixel;\n"
    "in vec2 v_uv;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec4 d = vec4(pixel, -pixel) * 0.5;\n"
    "    o_color = 0.25 * (texture(picture, v_uv + d.xy) + texture(picture, v_uv + d.zy) +\n"
    "                      texture(picture, v_uv + d.xw) + texture(picture, v_uv + d.zw));\n"
    "}\n";

static void sampler_unit(GLuint program, const char *name, GLint unit)
{
    glUseProgram(program);
    glUniform1i(glGetUniformLocation(program, name), unit);
    glUseProgram(0);
}

static int programs_init(DrawFog *draw, u32 chunks, ErrorText *error)
{
    draw->program = shader_create("fog", chunks | SHADER_LIT, fog_vertex, fog_fragment, error);
    draw->spread = draw->program ? shader_create("fog spread", SHADER_PLAIN, spread_vertex,
                                                 spread_fragment, error)
                                 : 0;
    if (!draw->spread) {
        return ERROR_UNSUPPORTED;
    }
    draw->low = glGetUniformLocation(draw->program, "low");
    draw->size = glGetUniformLocation(draw->program, "size");
    draw->first = glGetUniformLocation(draw->program, "first");
    draw->last = glGetUniformLocation(draw->program, "last");
    draw->color = glGetUniformLocation(draw->program, "color");
    draw->dyed = glGetUniformLocation(draw->program, "dyed");
    draw->glow = glGetUniformLocation(draw->program, "glow");
    draw->march = glGetUniformLocation(draw->program, "march");
    draw->lens_at = glGetUniformLocation(draw->program, "lens");
    draw->divisor = glGetUniformLocation(draw->program, "divisor");
    sampler_unit(draw->program, "voxels", UNIT_VOXELS);
    sampler_unit(draw->program, "dyes", UNIT_DYES);
    sampler_unit(draw->program, "scene_depths", UNIT_SCENE_DEPTH);
    sampler_unit(draw->spread, "picture", UNIT_COARSE);
    draw->pixel = glGetUniformLocation(draw->spread, "pixel");
    return 0;
}

DrawFog *draw_fog_create(u32 chunks, bool coarse, ErrorText *error)
{
    DrawFog *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->quality = coarse ? quality_coarse : quality_full;
    if (programs_init(draw, chunks, error) != 0) {
        draw_fog_destroy(draw);
        return NULL;
    }
    glGenVertexArrays(1, &draw->vao);
    if (coarse) {
        glActiveTexture(GL_TEXTURE0 + UNIT_COARSE);
        draw->coarse = texture_create(GL_LINEAR);
        glGenFramebuffers(1, &draw->framebuffer);
        glBindFramebuffer(GL_FRAMEBUFFER, draw->framebuffer);
        glFramebufferTexture2D(GL_FRAMEBUFFER, GL_COLOR_ATTACHMENT0, GL_TEXTURE_2D, draw->coarse,
                               0);
        glBindFramebuffer(GL_FRAMEBUFFER, 0);
    }
    gl_check("draw_fog_create");
    return draw;
}

void draw_fog_destroy(DrawFog *draw)
{
    if (!draw) {
        return;
    }
    for (u32 i = 0; i < draw->capacity; i++) {
        fog_form_finish(&draw->fogs[i].form);
        glDeleteTextures(1, &draw->fogs[i].texture);
        glDeleteTextures(1, &draw->fogs[i].dyes);
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteFramebuffers(1, &draw->framebuffer);
    glDeleteTextures(1, &draw->coarse);
    glDeleteProgram(draw->program);
    glDeleteProgram(draw->spread);
    free(draw->fogs);
    free(draw->order);
    free(draw);
}

/* ---- gathering ---- */

static bool is_fog(const Entity *entity, const Picture *picture)
{
    return entity->appearance.kind != APPEARANCE_NONE && entity->field < picture->fields->count &&
           picture->fields->fields[entity->field].kind == FIELD_GRID3 && picture->grids &&
           picture->grids[entity->field].grid.values;
}

static bool fogs_reserve(DrawFog *draw)
{
    if (draw->count < draw->capacity) {
        return true;
    }
    u32 capacity = draw->capacity ? 2 * draw->capacity : 4;
    Fog *grown = realloc(draw->fogs, capacity * sizeof *grown);
    if (!grown) {
        return false;
    }
    draw->fogs = grown;
    memset(grown + draw->capacity, 0, (capacity - draw->capacity) * sizeof *grown);
    u32 *order = realloc(draw->order, capacity * sizeof *order);
    if (!order) {
        return false;
    }
    draw->order = order;
    draw->capacity = capacity;
    return true;
}

/* Four numbers of 16 bits each; `made`: size of the texture. */
static void upload(u32 unit, GLuint *texture, u32 made[3], const u32 dims[3], const void *texels)
{
    glActiveTexture(GL_TEXTURE0 + unit);
    if (!*texture) {
        glGenTextures(1, texture);
        glBindTexture(GL_TEXTURE_3D, *texture);
        static const GLenum around[3] = {GL_TEXTURE_WRAP_S, GL_TEXTURE_WRAP_T, GL_TEXTURE_WRAP_R};
        for (u32 k = 0; k < 3; k++) {
            glTexParameteri(GL_TEXTURE_3D, around[k], GL_CLAMP_TO_EDGE);
        }
        glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MIN_FILTER, GL_LINEAR);
        glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MAG_FILTER, GL_LINEAR);
        glTexParameteri(GL_TEXTURE_3D, GL_TEXTURE_MAX_LEVEL, 0);
    }
    glBindTexture(GL_TEXTURE_3D, *texture);
    GLsizei wide = (GLsizei)dims[0], high = (GLsizei)dims[1], deep = (GLsizei)dims[2];
    if (memcmp(made, dims, 3 * sizeof *made) != 0) {
        glTexImage3D(GL_TEXTURE_3D, 0, GL_RGBA16, wide, high, deep, 0, GL_RGBA, GL_UNSIGNED_SHORT,
                     texels);
        memcpy(made, dims, 3 * sizeof *made);
    } else {
        glTexSubImage3D(GL_TEXTURE_3D, 0, 0, 0, 0, wide, high, deep, GL_RGBA, GL_UNSIGNED_SHORT,
                        texels);
    }
}

static void fog_upload(Fog *fog)
{
    const FogForm *form = &fog->form;
    upload(UNIT_VOXELS, &fog->texture, fog->made, form->dims, form->texels);
    if (form->dyed) {
        upload(UNIT_DYES, &fog->dyes, fog->made_dyes, form->dims, form->dyes);
    }
}

static void fog_add(DrawFog *draw, const Picture *picture, u32 index)
{
    const Entity *entity = &picture->entities[index];
    if (!fogs_reserve(draw)) {
        return;
    }
    Fog *fog = &draw->fogs[draw->count];
    Vec3 sun = vec3_normalize_or(picture->scene->sky.sun, vec3(0.4f, 0.8f, 0.45f));
    const ShownGrid *dye = entity->dye > 0 && entity->dye <= picture->fields->count
                               ? &picture->grids[entity->dye - 1]
                               : NULL;
    if (!fog_form_fill(&fog->form, &picture->grids[entity->field], dye, &entity->appearance, sun,
                       draw->quality.side_max) ||
        !(fog->form.densest > 0.0f)) {
        return;
    }
    fog_upload(fog);
    const FogForm *form = &fog->form;
    Vec3 half = vec3_scale(vec3((f32)form->dims[0], (f32)form->dims[1], (f32)form->dims[2]), 0.5f);
    fog->away =
        vec3_distance(vec3_add(form->low, vec3_mul(half, form->spacing)), picture->camera.eye);
    f32 unused[3];
    picture_colors(picture, index, fog->color, unused);
    fog->fire = entity->appearance.glow * form->extinction;
    bool held = entity->id == picture->held && entity->id != 0;
    bool hovered = entity->id == picture->hovered && entity->id != 0;
    for (u32 k = 0; k < 3; k++) {
        f32 mark = (held ? highlight_held : highlight_hovered)[k];
        fog->highlight[k] = held || hovered ? 0.12f * mark : 0.0f;
    }
    u32 at = draw->count++;
    for (; at > 0 && draw->fogs[draw->order[at - 1]].away < fog->away; at--) {
        draw->order[at] = draw->order[at - 1];
    }
    draw->order[at] = draw->count - 1;
}

void draw_fog_gather(DrawFog *draw, const Picture *picture)
{
    draw->count = 0;
    camera_lens(&picture->camera, draw->lens);
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (is_fog(&picture->entities[i], picture)) {
            fog_add(draw, picture, i);
        }
    }
}

bool draw_fog_wanted(const DrawFog *draw)
{
    return draw->count > 0;
}

/* ---- drawing ---- */

static void fog_show(const DrawFog *draw, const Fog *fog)
{
    const FogForm *form = &fog->form;
    Vec3 size =
        vec3_mul(form->spacing, vec3((f32)form->dims[0], (f32)form->dims[1], (f32)form->dims[2]));
    const u32 *first = form->first, *last = form->last;
    Vec3 from = vec3_add(
        form->low, vec3_mul(form->spacing, vec3((f32)first[0], (f32)first[1], (f32)first[2])));
    Vec3 to = vec3_add(
        form->low,
        vec3_mul(form->spacing, vec3((f32)(last[0] + 1), (f32)(last[1] + 1), (f32)(last[2] + 1))));
    f32 texel = f32_min(f32_min(form->spacing.x, form->spacing.y), form->spacing.z);
    glActiveTexture(GL_TEXTURE0 + UNIT_VOXELS);
    glBindTexture(GL_TEXTURE_3D, fog->texture);
    glActiveTexture(GL_TEXTURE0 + UNIT_DYES);
    glBindTexture(GL_TEXTURE_3D, form->dyed ? fog->dyes : fog->texture);
    glUniform3f(draw->low, form->low.x, form->low.y, form->low.z);
    glUniform3f(draw->size, size.x, size.y, size.z);
    glUniform3f(draw->first, from.x, from.y, from.z);
    glUniform3f(draw->last, to.x, to.y, to.z);
    glUniform3fv(draw->color, 1, fog->color);
    glUniform1f(draw->dyed, form->dyed ? 1.0f : 0.0f);
    glUniform3fv(draw->glow, 1, fog->highlight);
    f32 fine = fog->fire > 0.0f ? flame_fine : 1.0f;
    glUniform4f(draw->march, form->extinction, draw->quality.step * texel / fine,
                draw->quality.steps_max * sqrtf(fine), fog->fire);
    glDrawArrays(GL_TRIANGLE_STRIP, 0, 14);
}

/* Binds the reduced-resolution target, at the size that the window requires. */
static void coarse_begin(DrawFog *draw, const Surface *surface)
{
    static const f32 nothing[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 divisor = draw->quality.divisor;
    u32 width = (surface->width + divisor - 1) / divisor;
    u32 height = (surface->height + divisor - 1) / divisor;
    if (width != draw->width || height != draw->height) {
        draw->width = width;
        draw->height = height;
        glActiveTexture(GL_TEXTURE0 + UNIT_COARSE);
        glBindTexture(GL_TEXTURE_2D, draw->coarse);
        glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA8, (GLsizei)width, (GLsizei)height, 0, GL_RGBA,
                     GL_UNSIGNED_BYTE, NULL);
    }
    glBindFramebuffer(GL_FRAMEBUFFER, draw->framebuffer);
    glViewport(0, 0, (GLsizei)width, (GLsizei)height);
    glClearBufferfv(GL_COLOR, 0, nothing);
}

static void coarse_end(DrawFog *draw, const Surface *surface)
{
    glBindFramebuffer(GL_FRAMEBUFFER, surface->picture);
    glViewport(0, 0, (GLsizei)surface->width, (GLsizei)surface->height);
    glActiveTexture(GL_TEXTURE0 + UNIT_COARSE);
    glBindTexture(GL_TEXTURE_2D, draw->coarse);
    glUseProgram(draw->spread);
    glUniform2f(draw->pixel, 1.0f / (f32)draw->width, 1.0f / (f32)draw->height);
    glDrawArrays(GL_TRIANGLES, 0, 3);
}

void draw_fog_show(DrawFog *draw, const Surface *surface)
{
    bool coarse = draw->quality.divisor > 1;
    if (coarse) {
        coarse_begin(draw, surface);
    }
    glUseProgram(draw->program);
    glUniform2f(draw->lens_at, draw->lens[0], draw->lens[1]);
    glUniform1f(draw->divisor, (f32)draw->quality.divisor);
    glActiveTexture(GL_TEXTURE0 + UNIT_SCENE_DEPTH);
    glBindTexture(GL_TEXTURE_2D, surface->copy_depth);
    glBindVertexArray(draw->vao);
    glDisable(GL_DEPTH_TEST);
    glEnable(GL_CULL_FACE);
    glCullFace(GL_FRONT); /* the back of a box is also visible to an eye inside */
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    for (u32 i = 0; i < draw->count; i++) {
        fog_show(draw, &draw->fogs[draw->order[i]]);
    }
    glDisable(GL_CULL_FACE);
    glCullFace(GL_BACK);
    if (coarse) {
        coarse_end(draw, surface);
    }
    glDisable(GL_BLEND);
    glEnable(GL_DEPTH_TEST);
    glBindVertexArray(0);
    glActiveTexture(GL_TEXTURE0 + SUN_UNIT);
    gl_check("draw_fog_show");
}
