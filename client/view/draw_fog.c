/*
 * draw_fog.c: draws voxels in back-to-front order by traversing the grid along each axis from both
 * ends to the slab that contains the eye, so no sorting is needed. Lit by the density gradient,
 * like the surface of something dense. In large grids a few voxels share one disc: more and fainter
 * ones would cost more and vanish in the rounding of 8-bit colours.
 */
#include "client/view/draw_fog.h"

#include "client/view/draw_rigid.h"

#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MAX = 40 /* discs along an axis */
};

typedef struct FogInstance {
    u16 cell[3];
    u16 reserved;
    u8 opacity, heat, light, reserved2;
} FogInstance;

/* Of one entity. */
typedef struct Fog {
    u32 entity; /* index in the picture's entities */
    const ShownGrid *shown;
    Grid grid; /* of the discs: opacities; its values only during gather */
    f32 away;  /* m, distance of its centre from the eye */
    u32 first, count;
    f32 color[3], color2[3], glow[3];
} Fog;

struct DrawFog {
    FogInstance *instances; /* [count] */
    u32 count, capacity;
    f32 *opacities, *heats; /* [cell_capacity] of the discs of one fog */
    size_t cell_capacity;
    Fog *fogs; /* [fog_count] farthest first */
    u32 fog_count, fog_capacity;
    GLuint vao, program;
    GLint origin, spacing, radius, color, color2, glow;
    StreamBuffer stream;
};

static const char fog_vertex[] =
    "layout(location = 0) in vec3 i_cell;\n"
    "layout(location = 1) in vec3 i_holds;\n" /* opacity, heat, light */
    "uniform vec3 origin, spacing, color, color2, glow;\n"
    "uniform float radius;\n"
    "out vec2 v_corner;\n"
    "flat out vec4 v_color;\n"
    "flat out float v_number;\n"
    "void main() {\n"
    "    v_number = float(gl_InstanceID & 1023);\n"
    "    v_corner = vec2(gl_VertexID & 1, gl_VertexID >> 1) * 2.0 - 1.0;\n"
    "    vec3 p = origin + spacing * i_cell, to_eye = eye.xyz - p;\n"
    "    vec3 v = normalize(to_eye), r = normalize(cross(up.xyz, v)), u = cross(v, r);\n"
    "    vec3 albedo = mix(color, color2, i_holds.y);\n"
    "    vec3 ambient = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4);\n"
    "    vec3 c = albedo * (sun_color.rgb * (0.8 * i_holds.z) + ambient) + glow;\n"
    "    c = mix(c, 1.25 * sky_horizon.rgb, 1.0 - exp(-length(to_eye) * eye.w));\n"
    "    v_color = vec4(tone(c), i_holds.x);\n"
    "    gl_Position = view_proj * vec4(p + radius * (v_corner.x * r + v_corner.y * u), 1.0);\n"
    "}\n";

/* The weights of discs one voxel apart add up to about one. Dithering by half a colour step,
 * different for each disc (Jimenez 2014), keeps faint contributions from being rounded away. */
static const char fog_fragment[] =
    "in vec2 v_corner;\n"
    "flat in vec4 v_color;\n"
    "flat in float v_number;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    float w = max(1.0 - dot(v_corner, v_corner), 0.0);\n"
    "    float a = v_color.a * w * w;\n"
    "    vec2 p = gl_FragCoord.xy + 5.588238 * v_number;\n"
    "    float noise = fract(52.9829189 * fract(dot(p, vec2(0.06711056, 0.00583715))));\n"
    "    o_color = vec4(v_color.rgb * a + (noise - 0.5) / 255.0, a);\n"
    "}\n";

DrawFog *draw_fog_create(ErrorText *error)
{
    DrawFog *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->program = shader_create("fog", SHADER_TONE, fog_vertex, fog_fragment, error);
    if (!draw->program) {
        draw_fog_destroy(draw);
        return NULL;
    }
    draw->origin = glGetUniformLocation(draw->program, "origin");
    draw->spacing = glGetUniformLocation(draw->program, "spacing");
    draw->radius = glGetUniformLocation(draw->program, "radius");
    draw->color = glGetUniformLocation(draw->program, "color");
    draw->color2 = glGetUniformLocation(draw->program, "color2");
    draw->glow = glGetUniformLocation(draw->program, "glow");
    glGenVertexArrays(1, &draw->vao);
    glBindVertexArray(draw->vao);
    glGenBuffers(1, &draw->stream.name);
    glEnableVertexAttribArray(0);
    glEnableVertexAttribArray(1);
    glVertexAttribDivisor(0, 1);
    glVertexAttribDivisor(1, 1);
    glBindVertexArray(0);
    gl_check("draw_fog_create");
    return draw;
}

void draw_fog_destroy(DrawFog *draw)
{
    if (!draw) {
        return;
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->program);
    free(draw->instances);
    free(draw->opacities);
    free(draw->heats);
    free(draw->fogs);
    free(draw);
}

/* ---- gathering ---- */

static u8 to_byte(f32 share)
{
    return share > 0.0f ? (u8)(f32_min(share, 1.0f) * 255.0f + 0.5f) : 0; /* NaN: 0 */
}

/* Order of an axis's slabs: from both ends towards the eye. */
typedef struct Slabs {
    u32 count, eye; /* slabs [0, eye) come first, ascending, then the others, descending */
} Slabs;

static Slabs slabs_of(u32 count, f32 origin, f32 spacing, f32 eye)
{
    f32 at = (eye - origin) / spacing;
    at = at > 0.0f ? f32_min(at, (f32)count) : 0.0f;
    return (Slabs){count, u32_min((u32)at, count)};
}

static u32 slab_at(const Slabs *slabs, u32 i)
{
    return i < slabs->eye ? i : slabs->count - 1 - (i - slabs->eye);
}

/* Cosine of the gradient at a disc to the sun, [0, 1]; the surroundings count as empty. */
static f32 light_at(const Grid *grid, const u32 at[3], Vec3 sun)
{
    const u32 steps[3] = {1, grid->dims[0], grid->dims[0] * grid->dims[1]};
    size_t i = at[0] + (size_t)steps[1] * at[1] + (size_t)steps[2] * at[2];
    f32 slope[3];
    for (u32 k = 0; k < 3; k++) {
        f32 before = at[k] > 0 ? grid->values[i - steps[k]] : 0.0f;
        f32 after = at[k] + 1 < grid->dims[k] ? grid->values[i + steps[k]] : 0.0f;
        slope[k] = before - after;
    }
    Vec3 out = vec3_normalize_or(vec3(slope[0], slope[1], slope[2]), vec3_zero());
    return 0.5f + 0.5f * vec3_dot(out, sun);
}

static bool cells_reserve(DrawFog *draw, size_t cells)
{
    if (cells <= draw->cell_capacity) {
        return true;
    }
    f32 *opacities = realloc(draw->opacities, cells * sizeof *opacities);
    if (!opacities) {
        return false;
    }
    draw->opacities = opacities;
    f32 *heats = realloc(draw->heats, cells * sizeof *heats);
    if (!heats) {
        return false;
    }
    draw->heats = heats;
    draw->cell_capacity = cells;
    return true;
}

/* Reduces voxels to discs: mean density of `step` voxels along each axis, and the opacity of all
 * those along the view; heat weighted by density. */
static bool fog_reduce(DrawFog *draw, Fog *fog, f32 alpha)
{
    const Grid *voxels = &fog->shown->grid;
    Grid *grid = &fog->grid;
    u32 longest = u32_max(u32_max(voxels->dims[0], voxels->dims[1]), voxels->dims[2]);
    u32 step = (longest + SIDE_MAX - 1) / SIDE_MAX;
    for (u32 k = 0; k < 3; k++) {
        grid->dims[k] = (voxels->dims[k] + step - 1) / step;
    }
    grid->spacing = vec3_scale(voxels->spacing, (f32)step);
    grid->origin = vec3_add_scaled(voxels->origin, 0.5f * (f32)(step - 1), voxels->spacing);
    size_t cells = (size_t)grid->dims[0] * grid->dims[1] * grid->dims[2], i = 0;
    if (!cells_reserve(draw, cells)) {
        return false;
    }
    memset(draw->opacities, 0, cells * sizeof *draw->opacities);
    memset(draw->heats, 0, cells * sizeof *draw->heats);
    size_t voxel_count = (size_t)voxels->dims[0] * voxels->dims[1] * voxels->dims[2];
    const f32 *heats = fog->shown->channels > 1 ? voxels->values + voxel_count : NULL;
    f32 low = fog->shown->low;
    for (u32 z = 0; z < voxels->dims[2]; z++) {
        for (u32 y = 0; y < voxels->dims[1]; y++) {
            size_t row = ((size_t)(z / step) * grid->dims[1] + y / step) * grid->dims[0];
            for (u32 x = 0; x < voxels->dims[0]; x++, i++) {
                f32 holds = voxels->values[i] - low;
                draw->opacities[row + x / step] += holds;
                draw->heats[row + x / step] += heats ? holds * heats[i] : 0.0f;
            }
        }
    }
    f32 scale = alpha / ((fog->shown->high - low) * (f32)(step * step * step));
    for (size_t cell = 0; cell < cells; cell++) {
        f32 held = draw->opacities[cell], through = 1.0f;
        for (u32 k = 0; k < step; k++) {
            through *= 1.0f - f32_clamp(held * scale, 0.0f, 1.0f);
        }
        draw->heats[cell] = held > 0.0f ? draw->heats[cell] / held : 0.0f;
        draw->opacities[cell] = 1.0f - through;
    }
    grid->values = draw->opacities;
    return true;
}

static bool fog_reserve(DrawFog *draw, u64 more)
{
    u64 needed = draw->count + more;
    if (needed <= draw->capacity) {
        return true;
    }
    FogInstance *grown =
        needed <= UINT32_MAX ? realloc(draw->instances, needed * sizeof *grown) : NULL;
    if (!grown) {
        return false;
    }
    draw->instances = grown;
    draw->capacity = (u32)needed;
    return true;
}

static void fog_fill(DrawFog *draw, Fog *fog, const Picture *picture)
{
    const Grid *grid = &fog->grid;
    const u32 *dims = grid->dims;
    Vec3 eye = picture->camera.eye, sun = vec3_normalize_or(picture->scene->sky.sun, vec3_zero());
    fog->first = draw->count;
    if (!fog_reduce(draw, fog, picture->entities[fog->entity].appearance.color[3]) ||
        !fog_reserve(draw, (u64)dims[0] * dims[1] * dims[2])) {
        return;
    }
    Slabs slabs[3] = {slabs_of(dims[0], grid->origin.x, grid->spacing.x, eye.x),
                      slabs_of(dims[1], grid->origin.y, grid->spacing.y, eye.y),
                      slabs_of(dims[2], grid->origin.z, grid->spacing.z, eye.z)};
    for (u32 k = 0; k < dims[2]; k++) {
        u32 at[3] = {0, 0, slab_at(&slabs[2], k)};
        for (u32 j = 0; j < dims[1]; j++) {
            at[1] = slab_at(&slabs[1], j);
            size_t row = (at[1] + (size_t)dims[1] * at[2]) * dims[0];
            for (u32 i = 0; i < dims[0]; i++) {
                at[0] = slab_at(&slabs[0], i);
                u8 opacity = to_byte(grid->values[row + at[0]]);
                if (opacity == 0) {
                    continue;
                }
                draw->instances[draw->count++] =
                    (FogInstance){.cell = {(u16)at[0], (u16)at[1], (u16)at[2]},
                                  .opacity = opacity,
                                  .heat = to_byte(draw->heats[row + at[0]]),
                                  .light = to_byte(light_at(grid, at, sun))};
            }
        }
    }
    fog->count = draw->count - fog->first;
}

static bool is_fog(const Entity *entity, const Picture *picture)
{
    return entity->appearance.kind != APPEARANCE_NONE && entity->field < picture->fields->count &&
           picture->fields->fields[entity->field].kind == FIELD_GRID3 && picture->grids &&
           picture->grids[entity->field].grid.values;
}

/* Inserts a fog, sorted from far to near. */
static void fog_add(DrawFog *draw, const Picture *picture, u32 index)
{
    if (draw->fog_count == draw->fog_capacity) {
        u32 capacity = draw->fog_capacity ? 2 * draw->fog_capacity : 8;
        Fog *grown = realloc(draw->fogs, capacity * sizeof *grown);
        if (!grown) {
            return;
        }
        draw->fogs = grown;
        draw->fog_capacity = capacity;
    }
    const Entity *entity = &picture->entities[index];
    Fog fog = {.entity = index, .shown = &picture->grids[entity->field]};
    const Grid *grid = &fog.shown->grid;
    Vec3 half = vec3_scale(vec3((f32)grid->dims[0], (f32)grid->dims[1], (f32)grid->dims[2]), 0.5f);
    Vec3 middle = vec3_add(grid->origin, vec3_mul(half, grid->spacing));
    fog.away = vec3_distance(middle, picture->camera.eye);
    picture_colors(picture, index, fog.color, fog.color2);
    bool held = entity->id == picture->held && entity->id != 0;
    bool hovered = entity->id == picture->hovered && entity->id != 0;
    for (u32 k = 0; k < 3 && (held || hovered); k++) {
        fog.glow[k] = 0.12f * (held ? highlight_held : highlight_hovered)[k];
    }
    u32 at = draw->fog_count++;
    for (; at > 0 && draw->fogs[at - 1].away < fog.away; at--) {
        draw->fogs[at] = draw->fogs[at - 1];
    }
    draw->fogs[at] = fog;
}

void draw_fog_gather(DrawFog *draw, const Picture *picture)
{
    draw->count = draw->fog_count = 0;
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (is_fog(&picture->entities[i], picture)) {
            fog_add(draw, picture, i);
        }
    }
    for (u32 i = 0; i < draw->fog_count; i++) {
        fog_fill(draw, &draw->fogs[i], picture);
    }
    if (draw->count > 0) {
        stream_buffer_write(&draw->stream, draw->instances, draw->count * sizeof *draw->instances);
    }
}

/* ---- drawing ---- */

static void fog_show(const DrawFog *draw, const Fog *fog)
{
    const Grid *grid = &fog->grid;
    size_t at = fog->first * sizeof(FogInstance);
    glVertexAttribPointer(0, 3, GL_UNSIGNED_SHORT, GL_FALSE, sizeof(FogInstance),
                          (const void *)(at + offsetof(FogInstance, cell)));
    glVertexAttribPointer(1, 3, GL_UNSIGNED_BYTE, GL_TRUE, sizeof(FogInstance),
                          (const void *)(at + offsetof(FogInstance, opacity)));
    glUniform3f(draw->origin, grid->origin.x, grid->origin.y, grid->origin.z);
    glUniform3f(draw->spacing, grid->spacing.x, grid->spacing.y, grid->spacing.z);
    glUniform1f(draw->radius, f32_max(f32_max(grid->spacing.x, grid->spacing.y), grid->spacing.z));
    glUniform3fv(draw->color, 1, fog->color);
    glUniform3fv(draw->color2, 1, fog->color2);
    glUniform3fv(draw->glow, 1, fog->glow);
    glDrawArraysInstanced(GL_TRIANGLE_STRIP, 0, 4, (GLsizei)fog->count);
}

void draw_fog_show(DrawFog *draw)
{
    if (draw->count == 0) {
        return;
    }
    glUseProgram(draw->program);
    glBindVertexArray(draw->vao);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    for (u32 i = 0; i < draw->fog_count; i++) {
        if (draw->fogs[i].count > 0) {
            fog_show(draw, &draw->fogs[i]);
        }
    }
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
    glBindVertexArray(0);
    gl_check("draw_fog_show");
}
