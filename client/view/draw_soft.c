/*
 * draw_soft.c: all soft bodies and height surfaces in one vertex and one index buffer; indices
 * change only with the entities, positions and normals every frame.
 */
#include "client/view/draw_soft.h"

#include "client/view/draw_rigid.h"
#include "client/view/draw_water.h"
#include "client/view/height_form.h"
#include "client/view/soft_form.h"

#include <stdlib.h>
#include <string.h>

enum {
    VERTICES_MAX = 1 << 24, /* of all objects together */
    /* Cells along a side of a height surface; without a GPU each triangle is expensive. */
    HEIGHTS_SIDE = 1024,
    HEIGHTS_SIDE_LEAN = 128,
};

typedef struct SoftThing {
    u32 entity; /* index in the picture's entities */
    u32 first_vertex, first_index;
    bool heights; /* a height surface: */
    HeightForm height_form;
    SoftForm form; /* then only the numbers of vertices and indices are used */
    f32 color[3], color2[3];
    f32 highlight[4]; /* w > 0: highlighted */
    bool shown;
} SoftThing;

struct DrawSoft {
    SoftThing *soft_bodies; /* [soft_count] */
    u32 soft_count, soft_capacity;
    SoftVertex *vertices; /* [vertex_count] */
    u32 vertex_count, vertex_capacity, index_count;
    u64 version; /* of the entities, with their number and scene */
    u32 entity_count;
    const Scene *scene;
    bool built, lean;
    const Entity *entities; /* of the last gather, for its show */
    GLuint vao, indices, cells, lit, depth;
    StreamBuffer stream;
    GLint depth_matrix, color, color2, highlight, body;
};

static const char soft_vertex[] = "layout(location = 0) in vec3 a_position;\n"
                                  "layout(location = 1) in vec3 a_normal;\n"
                                  "layout(location = 2) in vec3 a_cell;\n"
                                  "out vec3 v_world, v_normal, v_cell;\n"
                                  "void main() {\n"
                                  "    v_world = a_position;\n"
                                  "    v_normal = a_normal;\n"
                                  "    v_cell = a_cell;\n"
                                  "    gl_Position = view_proj * vec4(a_position, 1.0);\n"
                                  "}\n";

static const char soft_fragment[] =
    "uniform vec4 color, color2, highlight;\n" /* w: roughness, pattern, on */
    "uniform vec3 body;\n" /* pattern around an axis; transmitted light; separate colour of the
                            * back */
    "in vec3 v_world, v_normal, v_cell;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 n = normalize(v_normal);\n"
    "    vec3 albedo = color.rgb;\n"
    "    vec2 cell = v_cell.xy;\n"
    "    vec2 w = fwidth(cell);\n"
    "    if (body.x > 0.0) {\n" /* gores of a ball: eight pairs around y */
    "        float a = atan(v_cell.x, v_cell.z), b = atan(-v_cell.x, -v_cell.z);\n"
    "        cell = vec2(a * 2.546479, 4.0 * v_cell.y);\n"
    /* Where the angle wraps, its opposite is continuous. */
    "        w = vec2(2.546479 * min(fwidth(a), fwidth(b)), 4.0 * fwidth(v_cell.y));\n"
    "    }\n"
    "    w += 1e-5;\n"
    "    if (color2.w == 1.0) albedo = mix(albedo, color2.rgb, checker(cell, w));\n"
    "    else if (color2.w == 2.0) albedo = mix(albedo, color2.rgb, stripes(cell.x, w.x));\n"
    "    if (!gl_FrontFacing) {\n"
    "        n = -n;\n"
    "        albedo = color2.w == 0.0 && body.z > 0.0 ? color2.rgb : albedo * 0.8;\n"
    "    }\n"
    "    vec3 c = lit(v_world + n * 0.01, n, albedo, color.w, body.y);\n"
    "    if (highlight.w > 0.0) {\n"
    "        float rim = 1.0 - max(dot(n, normalize(eye.xyz - v_world)), 0.0);\n"
    "        c += highlight.rgb * (0.04 + 0.45 * rim * rim * rim) + albedo * 0.12;\n"
    "    }\n"
    "    o_color = vec4(tone(c), 1.0);\n"
    "}\n";

static const char soft_depth_vertex[] =
    "layout(location = 0) in vec3 a_position;\n"
    "uniform mat4 to_clip;\n"
    "void main() { gl_Position = to_clip * vec4(a_position, 1.0); }\n";

static const char soft_depth_fragment[] = "void main() {}\n";

static void soft_arrays(DrawSoft *draw)
{
    glGenVertexArrays(1, &draw->vao);
    glBindVertexArray(draw->vao);
    glGenBuffers(1, &draw->indices);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, draw->indices);
    glGenBuffers(1, &draw->stream.name);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
    for (u32 i = 0; i < 2; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribPointer(i, 3, GL_FLOAT, GL_FALSE, sizeof(SoftVertex),
                              (const void *)(i * sizeof(Vec3)));
    }
    glGenBuffers(1, &draw->cells);
    glBindBuffer(GL_ARRAY_BUFFER, draw->cells);
    glEnableVertexAttribArray(2);
    glVertexAttribPointer(2, 3, GL_FLOAT, GL_FALSE, sizeof(Vec3), NULL);
    glBindVertexArray(0);
}

DrawSoft *draw_soft_create(u32 chunks, ErrorText *error)
{
    DrawSoft *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->lean = (chunks & SHADER_LEAN) != 0;
    draw->lit = shader_create("soft", chunks | SHADER_LIT, soft_vertex, soft_fragment, error);
    draw->depth = draw->lit ? shader_create("soft depth", SHADER_PLAIN, soft_depth_vertex,
                                            soft_depth_fragment, error)
                            : 0;
    if (!draw->depth) {
        draw_soft_destroy(draw);
        return NULL;
    }
    draw->depth_matrix = glGetUniformLocation(draw->depth, "to_clip");
    draw->color = glGetUniformLocation(draw->lit, "color");
    draw->color2 = glGetUniformLocation(draw->lit, "color2");
    draw->highlight = glGetUniformLocation(draw->lit, "highlight");
    draw->body = glGetUniformLocation(draw->lit, "body");
    soft_arrays(draw);
    gl_check("draw_soft_create");
    return draw;
}

void draw_soft_destroy(DrawSoft *draw)
{
    if (!draw) {
        return;
    }
    for (u32 i = 0; i < draw->soft_count; i++) {
        soft_form_finish(&draw->soft_bodies[i].form);
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->indices);
    glDeleteBuffers(1, &draw->cells);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->lit);
    glDeleteProgram(draw->depth);
    free(draw->soft_bodies);
    free(draw->vertices);
    free(draw);
}

/* Height surfaces: all of a GRID2, unless light passes through them. */
static bool soft_is_heights(const Entity *entity, const Picture *picture)
{
    return entity->appearance.kind != APPEARANCE_NONE && entity->field < picture->fields->count &&
           picture->fields->fields[entity->field].kind == FIELD_GRID2 &&
           !draw_water_is(entity, picture->fields);
}

/* Entities with a form whose elements lie inside a POINTS field. */
static bool soft_is_one(const Entity *entity, const Picture *picture)
{
    bool kind =
        entity->appearance.kind == APPEARANCE_CLOTH || entity->appearance.kind == APPEARANCE_ROPE;
    if (!kind || entity->field >= picture->fields->count ||
        picture->fields->fields[entity->field].kind != FIELD_POINTS) {
        return false;
    }
    return (u64)entity->first + entity->count <= picture->fields->fields[entity->field].capacity;
}

static const SoftMesh *soft_mesh_of(const Entity *entity, const Scene *scene)
{
    u32 soft = entity->appearance.soft;
    return scene != NULL && soft != 0 && soft <= scene->soft_mesh_count
               ? &scene->soft_meshes[soft - 1]
               : NULL;
}

static bool soft_push(DrawSoft *draw, u32 index, const Picture *picture)
{
    if (draw->soft_count == draw->soft_capacity) {
        u32 capacity = draw->soft_capacity ? 2 * draw->soft_capacity : 8;
        SoftThing *grown = realloc(draw->soft_bodies, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        draw->soft_bodies = grown;
        draw->soft_capacity = capacity;
    }
    const Entity *entity = &picture->entities[index];
    SoftThing *soft = &draw->soft_bodies[draw->soft_count];
    memset(soft, 0, sizeof *soft);
    const SoftMesh *mesh = soft_mesh_of(entity, picture->scene);
    soft->heights = soft_is_heights(entity, picture);
    if (soft->heights) {
        soft->height_form = height_form_of(&picture->fields->fields[entity->field],
                                           draw->lean ? HEIGHTS_SIDE_LEAN : HEIGHTS_SIDE);
        soft->form.vertex_count = soft->height_form.columns * soft->height_form.rows;
        soft->form.surface_count = soft->form.vertex_count;
        soft->form.index_count = height_form_index_count(&soft->height_form);
    } else if (!soft_form_init(&soft->form, mesh, &entity->appearance, entity->count)) {
        return true; /* nothing to draw as a surface or tube */
    }
    if (soft->form.vertex_count > VERTICES_MAX - draw->vertex_count) {
        soft_form_finish(&soft->form);
        return true; /* beyond the vertex limit: not drawn */
    }
    soft->entity = index;
    soft->first_vertex = draw->vertex_count;
    soft->first_index = draw->index_count;
    draw->vertex_count += soft->form.vertex_count;
    draw->index_count += soft->form.index_count;
    draw->soft_count++;
    return true;
}

static void soft_forget(DrawSoft *draw)
{
    for (u32 i = 0; i < draw->soft_count; i++) {
        soft_form_finish(&draw->soft_bodies[i].form);
    }
    draw->soft_count = draw->vertex_count = draw->index_count = 0;
    draw->built = false;
}

/* Uploads indices and pattern cells, and allocates the vertices of a frame. */
static bool soft_upload(DrawSoft *draw)
{
    u32 *indices = malloc((draw->index_count + 1) * sizeof *indices);
    Vec3 *cells = calloc(draw->vertex_count + 1, sizeof *cells);
    if (draw->vertex_count > draw->vertex_capacity) {
        SoftVertex *grown = realloc(draw->vertices, draw->vertex_count * sizeof *grown);
        if (grown) {
            draw->vertices = grown;
            draw->vertex_capacity = draw->vertex_count;
        }
    }
    bool good = indices && cells && draw->vertex_count <= draw->vertex_capacity;
    if (good && draw->vertex_count > 0) {
        memset(draw->vertices, 0, draw->vertex_count * sizeof *draw->vertices);
    }
    for (u32 i = 0; good && i < draw->soft_count; i++) {
        const SoftThing *soft = &draw->soft_bodies[i];
        u32 *out = indices + soft->first_index;
        Vec3 *cell = cells + soft->first_vertex;
        if (soft->heights) {
            height_form_indices(&soft->height_form, soft->first_vertex, out);
            height_form_cells(&soft->height_form, cell);
        } else {
            soft_form_indices(&soft->form, soft->first_vertex, out);
            soft_form_cells(&soft->form, cell);
        }
    }
    if (good) {
        glBindVertexArray(draw->vao);
        glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, draw->indices);
        glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(draw->index_count * sizeof *indices),
                     indices, GL_STATIC_DRAW);
        glBindBuffer(GL_ARRAY_BUFFER, draw->cells);
        glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(draw->vertex_count * sizeof *cells), cells,
                     GL_STATIC_DRAW);
        glBindVertexArray(0);
    }
    free(indices);
    free(cells);
    return good;
}

static bool soft_rebuild(DrawSoft *draw, const Picture *picture)
{
    if (draw->built && draw->version == picture->entity_version &&
        draw->entity_count == picture->entity_count && draw->scene == picture->scene) {
        return true;
    }
    soft_forget(draw);
    for (u32 i = 0; i < picture->entity_count; i++) {
        const Entity *entity = &picture->entities[i];
        bool drawn = soft_is_one(entity, picture) || soft_is_heights(entity, picture);
        if (drawn && !soft_push(draw, i, picture)) {
            return false;
        }
    }
    if (!soft_upload(draw)) {
        return false;
    }
    draw->version = picture->entity_version;
    draw->entity_count = picture->entity_count;
    draw->scene = picture->scene;
    draw->built = true;
    return true;
}

static bool soft_is_shown(const SoftThing *soft, const ShownPoint *points)
{
    u32 last = soft->form.point_count - 1;
    return points[0].generation != 0 && points[last].generation != 0;
}

/* False: incomplete state, cannot be drawn. */
static bool soft_fill(DrawSoft *draw, SoftThing *soft, const Picture *picture)
{
    const Entity *entity = &picture->entities[soft->entity];
    SoftVertex *out = draw->vertices + soft->first_vertex;
    if (soft->heights) {
        const Grid *grid = picture->grids ? &picture->grids[entity->field].grid : NULL;
        const u32 *cells = soft->height_form.cells;
        bool shown = grid && grid->values && grid->dims[0] == cells[0] && grid->dims[2] == cells[1];
        if (shown) {
            height_form_fill(&soft->height_form, grid->values, out);
        }
        return shown;
    }
    const ShownPoint *points = picture->points[entity->field];
    bool shown = points && soft_is_shown(soft, points + entity->first);
    if (shown) {
        soft_form_fill(&soft->form, points + entity->first, out);
    }
    return shown;
}

void draw_soft_gather(DrawSoft *draw, const Picture *picture)
{
    draw->entities = picture->entities;
    if (!soft_rebuild(draw, picture)) {
        soft_forget(draw);
        return;
    }
    for (u32 i = 0; i < draw->soft_count; i++) {
        SoftThing *soft = &draw->soft_bodies[i];
        const Entity *entity = &picture->entities[soft->entity];
        soft->shown = soft_fill(draw, soft, picture);
        picture_colors(picture, soft->entity, soft->color, soft->color2);
        bool held = entity->id == picture->held && entity->id != 0;
        bool hovered = entity->id == picture->hovered && entity->id != 0;
        memcpy(soft->highlight, held ? highlight_held : highlight_hovered, 3 * sizeof(f32));
        soft->highlight[3] = held || hovered ? 1.0f : 0.0f;
    }
    if (draw->vertex_count > 0) {
        stream_buffer_write(&draw->stream, draw->vertices,
                            draw->vertex_count * sizeof *draw->vertices);
    }
}

static void soft_draw(const SoftThing *soft)
{
    glDrawElements(GL_TRIANGLES, (GLsizei)soft->form.index_count, GL_UNSIGNED_INT,
                   (const void *)(soft->first_index * sizeof(u32)));
}

void draw_soft_cast(DrawSoft *draw, const Mat4 *to_clip)
{
    glUseProgram(draw->depth);
    glUniformMatrix4fv(draw->depth_matrix, 1, GL_FALSE, to_clip->m);
    glBindVertexArray(draw->vao);
    for (u32 i = 0; i < draw->soft_count; i++) {
        if (draw->soft_bodies[i].shown) {
            soft_draw(&draw->soft_bodies[i]);
        }
    }
}

void draw_soft_show(DrawSoft *draw)
{
    glUseProgram(draw->lit);
    glBindVertexArray(draw->vao);
    for (u32 i = 0; i < draw->soft_count; i++) {
        const SoftThing *soft = &draw->soft_bodies[i];
        const Appearance *appearance = &draw->entities[soft->entity].appearance;
        if (!soft->shown) {
            continue;
        }
        bool sheet = soft->form.surface_count > 0 && !soft->heights &&
                     (soft->form.mesh == NULL || !soft->form.mesh->closed);
        glUniform4f(draw->color, soft->color[0], soft->color[1], soft->color[2],
                    f32_clamp(appearance->roughness, 0.05f, 1.0f));
        glUniform4f(draw->color2, soft->color2[0], soft->color2[1], soft->color2[2],
                    (f32)appearance->pattern);
        glUniform4fv(draw->highlight, 1, soft->highlight);
        glUniform3f(draw->body, soft->form.round && soft->form.surface_count > 0 ? 1.0f : 0.0f,
                    sheet ? 0.22f : 0.0f, sheet ? 1.0f : 0.0f);
        soft_draw(soft);
    }
    glBindVertexArray(0);
    gl_check("draw_soft_show");
}
