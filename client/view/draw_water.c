/* draw_water.c: see draw_water.h. */
#include "client/view/draw_water.h"

#include "client/view/draw_rigid.h"
#include "client/view/height_form.h"
#include "client/view/projection.h"
#include "client/view/water_form.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    SIDE_MAX = 1024, /* vertices along a side; without a GPU each triangle is expensive */
    SIDE_MAX_LEAN = 128,
    UNIT_WATER = FREE_UNIT,
    UNIT_SCENE,
    UNIT_SCENE_DEPTH,
    SIDES = 4,
};

/* Of one entity; kept for its texture, indices and memory. */
typedef struct Water {
    HeightForm form;
    WaterTexel *texels; /* [capacity] */
    u32 *indices;       /* [index_capacity] */
    size_t capacity, index_capacity;
    GLuint texture, index_buffer;
    u32 made[2], built[3]; /* size of the texture; of the indices' cells and their step */
    f32 bottom;            /* m: lowest height that the field can hold */
    f32 absorb[3], scatter[3], highlight[3];
    bool dives; /* the eye is in it */
    f32 above;  /* m, height of the surface over the eye */
} Water;

struct DrawWater {
    Water *waters; /* [count] in use of [capacity] */
    u32 count, capacity, side_max;
    f32 lens[2];
    GLuint vao, surface, within;
    GLint uniforms[2][10];
};

enum { /* uniforms */
    LOW,
    GRID,
    ABSORB,
    SCATTER,
    GLOW,
    LENS,
    PIXEL,
    SIDE,
    ABOVE,
    BOTTOM
};

/* Cell of a vertex: indices along a grid of columns, or along one side, alternating top and
 * bottom. */
static const char water_vertex[] =
    "uniform sampler2D water;\n"
    "uniform vec4 low;\n"   /* centre of the first cell; step of vertices */
    "uniform vec4 grid;\n"  /* cells along x and z, m between them */
    "uniform ivec2 side;\n" /* which side, -1: the surface; columns */
    "uniform float bottom;\n"
    "out vec3 v_world;\n"
    "flat out vec3 v_side;\n"
    "void main() {\n"
    "    int columns = side.y, step = int(low.w);\n"
    "    ivec2 most = ivec2(grid.xy) - 1, cell;\n"
    "    v_side = vec3(0.0);\n"
    "    float down = 0.0;\n"
    "    if (side.x < 0) {\n"
    "        cell = ivec2(gl_VertexID % columns, gl_VertexID / columns) * step;\n"
    "    } else {\n"
    "        int at = (gl_VertexID >> 1) * step;\n"
    "        down = float(gl_VertexID & 1);\n"
    "        bool along_x = side.x < 2, far = (side.x & 1) == 1;\n"
    "        cell = along_x ? ivec2(at, far ? most.y : 0) : ivec2(far ? most.x : 0, at);\n"
    "        float way = far ? 1.0 : -1.0;\n"
    "        v_side = along_x ? vec3(0.0, 0.0, way) : vec3(way, 0.0, 0.0);\n"
    "    }\n"
    "    cell = min(cell, most);\n"
    "    float h = texelFetch(water, cell, 0).r;\n"
    "    if (down > 0.0) h = min(bottom, h);\n"
    "    v_world = low.xyz + vec3(float(cell.x) * grid.z, h, float(cell.y) * grid.w);\n"
    "    gl_Position = view_proj * vec4(v_world, 1.0);\n"
    "}\n";

/* Sunlight refracted at the surface is gathered where its rays converge: the surface's curvature
 * times the depth is, to first order, the change of a bundle's cross-section by (1 - 1/n). */
static const char common[] =
    "uniform sampler2D water, scene, scene_depths;\n"
    "uniform vec4 low, grid;\n"
    "uniform vec3 absorb, scatter, glow;\n"
    "uniform vec2 lens, pixel;\n"
    "out vec4 o_color;\n"
    "vec4 water_at(vec2 xz) {\n"
    "    return texture(water, ((xz - low.xz) / grid.zw + 0.5) / grid.xy);\n"
    "}\n"
    "float scene_at(vec2 uv) {\n"
    "    return lens.y / (texture(scene_depths, uv).r * 2.0 - 1.0 - lens.x);\n"
    "}\n"
    "vec3 place_at(vec2 uv, float z) {\n"
    "    vec2 w = uv * 2.0 - 1.0;\n"
    "    return eye.xyz + (forward.xyz + right.xyz * (w.x + right.w) + up.xyz * w.y) * z;\n"
    "}\n"
    "float caustic(vec3 q) {\n"
    "    vec3 s = refract(-sun.xyz, vec3(0.0, 1.0, 0.0), 0.75);\n"
    "    float deep = max(low.y + water_at(q.xz).r - q.y, 0.0);\n"
    "    vec2 from = q.xz - s.xz / min(s.y, -0.3) * -deep;\n"
    "    vec2 g = grid.zw;\n"
    "    float bend = (water_at(from + vec2(g.x, 0.0)).g - water_at(from - vec2(g.x, 0.0)).g) / "
    "(2.0 * g.x) +\n"
    "                 (water_at(from + vec2(0.0, g.y)).b - water_at(from - vec2(0.0, g.y)).b) / "
    "(2.0 * g.y);\n"
    "    return clamp(1.0 / max(1.0 + 0.25 * deep * bend, 0.25), 0.4, 3.0);\n"
    "}\n";

/* The scene behind where the refracted ray leaves the water; foam; Fresnel's share of the sky. */
static const char surface_fragment[] =
    "uniform float bottom;\n"
    "in vec3 v_world;\n"
    "flat in vec3 v_side;\n"
    "float hash(vec2 p) { return fract(sin(dot(p, vec2(127.1, 311.7))) * 43758.5453); }\n"
    "float cells(vec2 p) {\n" /* distance to the nearest of random points (Worley 1996) */
    "    vec2 base = floor(p), f = fract(p);\n"
    "    float near = 1.0;\n"
    "    for (int i = 0; i < 9; i++) {\n"
    "        vec2 o = vec2(i % 3 - 1, i / 3 - 1);\n"
    "        vec2 d = o + vec2(hash(base + o), hash(base + o + 17.0)) - f;\n"
    "        near = min(near, dot(d, d));\n"
    "    }\n"
    "    return sqrt(near);\n"
    "}\n"
    "void main() {\n"
    "    vec2 uv = gl_FragCoord.xy * pixel;\n"
    "    vec3 p = v_world, to_eye = eye.xyz - p, v = normalize(to_eye);\n"
    "    vec4 here = water_at(p.xz);\n"
    "    bool top = dot(v_side, v_side) == 0.0;\n"
    "    vec3 facing = normalize(cross(dFdx(p), dFdy(p)));\n"
    /* Steeper than waves can be: there water falls over an edge, as particles. */
    "    if (top && abs(facing.y) < 0.2) discard;\n"
    "    vec3 n = top ? normalize(vec3(-here.g, 1.0, -here.b)) : v_side;\n"
    "    bool below = dot(n, v) < 0.0 && !gl_FrontFacing && top;\n"
    "    if (!top && dot(n, v) <= 0.0) discard;\n"
    "    if (below) n = -n;\n"
    "    n = normalize(n + v * max(0.05 - dot(n, v), 0.0));\n"
    "    float z = -dot(to_eye, forward.xyz), straight = scene_at(uv);\n"
    "    vec3 q = place_at(uv, straight);\n"
    "    vec3 bent = refract(-v, n, below ? 1.333 : 0.75);\n"
    "    if (!below) {\n"
    "        float way = min(top ? max(p.y - q.y, 0.0) / max(-bent.y, 0.2) : distance(p, q),\n"
    "                        distance(p, q));\n"
    "        vec4 clip = view_proj * vec4(p + bent * min(way, 6.0), 1.0);\n"
    "        vec2 to = clip.xy / max(clip.w, 1e-3) * 0.5 + 0.5, edge = min(to, 1.0 - to);\n"
    "        to = mix(uv, to, smoothstep(0.0, 0.06, min(edge.x, edge.y)));\n"
    "        float behind = scene_at(to);\n"
    "        if (behind > z) {\n"
    "            uv = to;\n"
    "            q = place_at(to, behind);\n"
    "        }\n"
    "    }\n"
    "    float passed = below ? 0.0 : distance(p, q);\n"
    "    float shade = sun_glance(p + n * (1.6 * sun.w));\n"
    "    vec3 ambient = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4);\n"
    "    vec3 light = sun_color.rgb * (shade * (0.3 + 0.7 * max(sun.y, 0.0)));\n"
    "    float deep = max(low.y + water_at(q.xz).r - q.y, 0.0);\n"
    "    vec3 c = untone(texture(scene, uv).rgb), pass = exp(-absorb * passed);\n"
    "    vec3 gathered = mix(vec3(1.0), vec3(caustic(q)), 0.55 * shade * exp(-absorb * deep));\n"
    "    if (!below) c *= gathered * exp(-0.6 * absorb * deep);\n"
    "    c = c * pass + scatter * (0.45 * light + ambient) * (1.0 - pass);\n"
    "    float away = 1.0 - clamp(dot(n, v), 0.0, 1.0);\n"
    "    float fresnel = 0.02 + 0.98 * away * away * away * away * away;\n"
    "    vec3 r = reflect(-v, n);\n"
    "    if (below) {\n" /* total reflection of the bottom; otherwise the sky above */
    "        float total = dot(bent, bent) < 0.5 ? 1.0 : fresnel;\n"
    "        float way = min((p.y - low.y - bottom) / max(-r.y, 0.02), 30.0);\n"
    "        vec4 clip = view_proj * vec4(p + r * way, 1.0);\n"
    "        vec2 to = clip.xy / max(clip.w, 1e-3) * 0.5 + 0.5, edge = min(to, 1.0 - to);\n"
    "        float known = clip.w > 0.0 ? smoothstep(0.0, 0.1, min(edge.x, edge.y)) : 0.0;\n"
    "        vec3 mirrored = mix(0.5 * (0.45 * light + ambient), untone(texture(scene, "
    "clamp(to, 0.0, 1.0)).rgb),\n"
    "                            known);\n"
    "        vec3 fades = exp(-absorb * way);\n"
    "        vec3 own = scatter * (0.45 * light + ambient);\n"
    "        c = mix(c, mirrored * fades + own * (1.0 - fades), total);\n"
    "        fades = exp(-absorb * length(to_eye));\n"
    "        c = c * fades + own * (1.0 - fades);\n"
    "    } else {\n"
    "        c = mix(c, surroundings(r), fresnel);\n"
    "        float nh = max(dot(n, normalize(v + sun.xyz)), 0.0), glint = pow(nh, 240.0);\n"
    "        c += sun_color.rgb * (shade * 2.2 * glint * fresnel * 8.0);\n"
    "    }\n"
    /* Bubbles smaller than a pixel are averaged. */
    "    vec2 wide = fwidth(p.xz);\n"
    "    vec2 seen = clamp(1.2 - max(wide.x, wide.y) * vec2(20.0, 44.0), 0.0, 1.0);\n"
    "    if (here.a > 0.01 && top) {\n"
    "        float large = mix(0.5, cells(p.xz * 14.0), seen.x);\n"
    "        float bubbles = 0.6 * large + 0.4 * mix(0.5, cells(p.xz * 31.0), seen.y);\n"
    "        float foam = smoothstep(0.85 - here.a, 1.35 - here.a, 1.0 - bubbles) *\n"
    "                     smoothstep(0.01, 0.1, here.a);\n"
    "        vec3 white = vec3(0.92, 0.95, 0.96) * (1.0 - 0.45 * bubbles * (1.0 - 0.5 * here.a));\n"
    "        c = mix(c, white * (0.8 * light + ambient), 0.9 * foam);\n"
    "    }\n"
    "    c += glow * (0.2 + 0.8 * away * away);\n"
    "    c = mix(c, 1.25 * sky_horizon.rgb, 1.0 - exp(-length(to_eye) * eye.w));\n"
    "    float cover = below ? 1.0 : smoothstep(0.0, 0.012, max(passed, -dot(q - p, n)));\n"
    "    o_color = vec4(tone(c), 1.0) * cover;\n"
    "}\n";

static const char within_vertex[] = "out vec2 v_uv;\n"
                                    "void main() {\n"
                                    "    v_uv = vec2((gl_VertexID << 1) & 2, gl_VertexID & 2);\n"
                                    "    gl_Position = vec4(v_uv * 2.0 - 1.0, 0.0, 1.0);\n"
                                    "}\n";

/* For an eye below the surface: water up to the scene or the surface above. */
static const char within_fragment[] =
    "uniform float above;\n"
    "in vec2 v_uv;\n"
    "void main() {\n"
    "    float z = scene_at(v_uv);\n"
    "    vec3 q = place_at(v_uv, z), d = q - eye.xyz;\n"
    "    float far = length(d), up_m = d.y / max(far, 1e-4);\n"
    "    if (up_m > 1e-4) far = min(far, above / up_m);\n"
    "    vec3 a = (low.xyz - 0.5 * vec3(grid.z, 0.0, grid.w) - eye.xyz) / d;\n"
    "    vec3 b = (low.xyz + vec3(grid.x * grid.z, 0.0, grid.y * grid.w) - eye.xyz) / d;\n"
    "    float out_x = max(a.x, b.x), out_z = max(a.z, b.z);\n"
    "    far = min(far, min(out_x, out_z) * length(d));\n"
    "    vec3 ambient = 0.82 * mix(sky_horizon.rgb, sky_top.rgb, 0.4), pass = exp(-absorb * far);\n"
    "    vec3 light = sun_color.rgb * (0.3 + 0.7 * max(sun.y, 0.0));\n"
    "    vec3 c = untone(texture(scene, v_uv).rgb);\n"
    "    if (q.y < eye.y + above) c *= mix(1.0, caustic(q), 0.55);\n"
    "    c = c * pass + scatter * (0.45 * light + ambient) * (1.0 - pass) + 0.0 * glow;\n"
    "    o_color = vec4(tone(c), 1.0);\n"
    "}\n";

static void uniforms_find(GLuint program, GLint out[10])
{
    static const char *const names[10] = {"low",  "grid",  "absorb", "scatter", "glow",
                                          "lens", "pixel", "side",   "above",   "bottom"};
    for (u32 i = 0; i < 10; i++) {
        out[i] = glGetUniformLocation(program, names[i]);
    }
    glUseProgram(program);
    glUniform1i(glGetUniformLocation(program, "water"), UNIT_WATER);
    glUniform1i(glGetUniformLocation(program, "scene"), UNIT_SCENE);
    glUniform1i(glGetUniformLocation(program, "scene_depths"), UNIT_SCENE_DEPTH);
    glUseProgram(0);
}

DrawWater *draw_water_create(u32 chunks, ErrorText *error)
{
    DrawWater *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->side_max = (chunks & SHADER_LEAN) != 0 ? SIDE_MAX_LEAN : SIDE_MAX;
    char fragment[sizeof common + sizeof surface_fragment + sizeof within_fragment];
    snprintf(fragment, sizeof fragment, "%s%s", common, surface_fragment);
    draw->surface = shader_create("water", chunks | SHADER_LIT, water_vertex, fragment, error);
    snprintf(fragment, sizeof fragment, "%s%s", common, within_fragment);
    draw->within = draw->surface ? shader_create("under water", chunks | SHADER_LIT, within_vertex,
                                                 fragment, error)
                                 : 0;
    if (!draw->within) {
        draw_water_destroy(draw);
        return NULL;
    }
    uniforms_find(draw->surface, draw->uniforms[0]);
    uniforms_find(draw->within, draw->uniforms[1]);
    glGenVertexArrays(1, &draw->vao);
    gl_check("draw_water_create");
    return draw;
}

void draw_water_destroy(DrawWater *draw)
{
    if (!draw) {
        return;
    }
    for (u32 i = 0; i < draw->capacity; i++) {
        free(draw->waters[i].texels);
        free(draw->waters[i].indices);
        glDeleteTextures(1, &draw->waters[i].texture);
        glDeleteBuffers(1, &draw->waters[i].index_buffer);
    }
    free(draw->waters);
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteProgram(draw->surface);
    glDeleteProgram(draw->within);
    free(draw);
}

/* ---- gathering ---- */

bool draw_water_is(const Entity *entity, const FieldSet *fields)
{
    return entity->appearance.kind == APPEARANCE_WATER && entity->appearance.clear_m > 0.0f &&
           entity->field < fields->count && fields->fields[entity->field].kind == FIELD_GRID2;
}

static bool waters_reserve(DrawWater *draw)
{
    if (draw->count < draw->capacity) {
        return true;
    }
    u32 capacity = draw->capacity ? 2 * draw->capacity : 4;
    Water *grown = realloc(draw->waters, capacity * sizeof *grown);
    if (!grown) {
        return false;
    }
    memset(grown + draw->capacity, 0, (capacity - draw->capacity) * sizeof *grown);
    draw->waters = grown;
    draw->capacity = capacity;
    return true;
}

static bool water_reserve(Water *water, size_t cells)
{
    size_t indices = height_form_index_count(&water->form);
    if (cells > water->capacity) {
        WaterTexel *grown = realloc(water->texels, cells * sizeof *grown);
        if (!grown) {
            return false;
        }
        water->texels = grown;
        water->capacity = cells;
    }
    if (indices > water->index_capacity) {
        u32 *grown = realloc(water->indices, indices * sizeof *grown);
        if (!grown) {
            return false;
        }
        water->indices = grown;
        water->index_capacity = indices;
    }
    return true;
}

static void water_upload(Water *water)
{
    const HeightForm *form = &water->form;
    GLsizei wide = (GLsizei)form->cells[0], deep = (GLsizei)form->cells[1];
    glActiveTexture(GL_TEXTURE0 + UNIT_WATER);
    if (!water->texture) {
        water->texture = texture_create(GL_LINEAR);
        glGenBuffers(1, &water->index_buffer);
    }
    glBindTexture(GL_TEXTURE_2D, water->texture);
    if (memcmp(water->made, form->cells, sizeof water->made) != 0) {
        glTexImage2D(GL_TEXTURE_2D, 0, GL_RGBA32F, wide, deep, 0, GL_RGBA, GL_FLOAT, water->texels);
        memcpy(water->made, form->cells, sizeof water->made);
    } else {
        glTexSubImage2D(GL_TEXTURE_2D, 0, 0, 0, wide, deep, GL_RGBA, GL_FLOAT, water->texels);
    }
    const u32 built[3] = {form->cells[0], form->cells[1], form->step};
    if (memcmp(water->built, built, sizeof built) != 0) {
        height_form_indices(form, 0, water->indices);
        glBindVertexArray(0);
        glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, water->index_buffer);
        glBufferData(GL_ELEMENT_ARRAY_BUFFER,
                     (GLsizeiptr)(height_form_index_count(form) * sizeof *water->indices),
                     water->indices, GL_STATIC_DRAW);
        glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, 0);
        memcpy(water->built, built, sizeof built);
    }
}

static void water_colors(Water *water, const Picture *picture, u32 index)
{
    const Entity *entity = &picture->entities[index];
    f32 color[3];
    picture_colors(picture, index, color, water->scatter);
    bool held = entity->id == picture->held && entity->id != 0;
    bool hovered = entity->id == picture->hovered && entity->id != 0;
    for (u32 k = 0; k < 3; k++) {
        f32 passes = f32_clamp(color[k], 0.001f, 0.999f);
        water->absorb[k] = -logf(passes) / entity->appearance.clear_m;
        f32 mark = (held ? highlight_held : highlight_hovered)[k];
        water->highlight[k] = held || hovered ? 0.15f * mark : 0.0f;
    }
}

static void water_add(DrawWater *draw, const Picture *picture, u32 index)
{
    const Entity *entity = &picture->entities[index];
    const FieldDesc *field = &picture->fields->fields[entity->field];
    const ShownGrid *shown = picture->grids ? &picture->grids[entity->field] : NULL;
    bool known = shown && shown->grid.values && shown->grid.dims[0] == field->dims[0] &&
                 shown->grid.dims[2] == field->dims[1];
    if (!known || field->dims[0] < 2 || field->dims[1] < 2 || !waters_reserve(draw)) {
        return;
    }
    Water *water = &draw->waters[draw->count];
    water->form = height_form_of(field, draw->side_max);
    if (!water_reserve(water, (size_t)field->dims[0] * field->dims[1])) {
        return;
    }
    water_form_fill(shown, water->texels);
    water_upload(water);
    water_colors(water, picture, index);
    water->bottom = field->value_min;
    Vec3 eye = picture->camera.eye;
    f32 height;
    water->dives = water_form_height(&shown->grid, eye.x, eye.z, &height) && eye.y < height &&
                   eye.y > field->origin.y + field->value_min;
    water->above = water->dives ? height - eye.y : 0.0f;
    draw->count++;
}

void draw_water_gather(DrawWater *draw, const Picture *picture)
{
    draw->count = 0;
    camera_lens(&picture->camera, draw->lens);
    for (u32 i = 0; i < picture->entity_count; i++) {
        if (draw_water_is(&picture->entities[i], picture->fields)) {
            water_add(draw, picture, i);
        }
    }
}

bool draw_water_wanted(const DrawWater *draw)
{
    return draw->count > 0;
}

/* ---- drawing ---- */

static void water_use(const DrawWater *draw, const Water *water, u32 which, const Surface *surface)
{
    const GLint *at = draw->uniforms[which];
    const HeightForm *form = &water->form;
    glUseProgram(which == 0 ? draw->surface : draw->within);
    glActiveTexture(GL_TEXTURE0 + UNIT_WATER);
    glBindTexture(GL_TEXTURE_2D, water->texture);
    glUniform4f(at[LOW], form->origin.x, form->origin.y, form->origin.z, (f32)form->step);
    glUniform4f(at[GRID], (f32)form->cells[0], (f32)form->cells[1], form->spacing.x,
                form->spacing.z);
    glUniform3fv(at[ABSORB], 1, water->absorb);
    glUniform3fv(at[SCATTER], 1, water->scatter);
    glUniform3fv(at[GLOW], 1, water->highlight);
    glUniform2f(at[LENS], draw->lens[0], draw->lens[1]);
    glUniform2f(at[PIXEL], 1.0f / (f32)surface->width, 1.0f / (f32)surface->height);
    glUniform1f(at[ABOVE], water->above);
    glUniform1f(at[BOTTOM], water->bottom);
}

static void water_show(const DrawWater *draw, const Water *water, const Surface *surface)
{
    const HeightForm *form = &water->form;
    if (water->dives) {
        glDisable(GL_DEPTH_TEST);
        water_use(draw, water, 1, surface);
        glDrawArrays(GL_TRIANGLES, 0, 3);
        glEnable(GL_DEPTH_TEST);
    }
    water_use(draw, water, 0, surface);
    glUniform2i(draw->uniforms[0][SIDE], -1, (GLint)form->columns);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, water->index_buffer);
    glDrawElements(GL_TRIANGLES, (GLsizei)height_form_index_count(form), GL_UNSIGNED_INT, NULL);
    for (u32 side = 0; side < SIDES && !water->dives; side++) {
        glUniform2i(draw->uniforms[0][SIDE], (GLint)side, (GLint)form->columns);
        glDrawArrays(GL_TRIANGLE_STRIP, 0, (GLsizei)(2 * (side < 2 ? form->columns : form->rows)));
    }
}

void draw_water_show(DrawWater *draw, const Surface *surface)
{
    glActiveTexture(GL_TEXTURE0 + UNIT_SCENE);
    glBindTexture(GL_TEXTURE_2D, surface->copy_color);
    glActiveTexture(GL_TEXTURE0 + UNIT_SCENE_DEPTH);
    glBindTexture(GL_TEXTURE_2D, surface->copy_depth);
    glBindVertexArray(draw->vao);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    for (u32 i = 0; i < draw->count; i++) {
        water_show(draw, &draw->waters[i], surface);
    }
    glDisable(GL_BLEND);
    glBindVertexArray(0);
    glActiveTexture(GL_TEXTURE0 + SUN_UNIT);
    gl_check("draw_water_show");
}
