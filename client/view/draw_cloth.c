/*
 * draw_cloth.c: all cloths in one vertex and one index buffer; the indices change only when the
 * entities do, positions and normals every frame.
 */
#include "client/view/draw_cloth.h"

#include "client/view/draw_rigid.h"

#include <stdlib.h>
#include <string.h>

typedef struct ClothVertex {
    Vec3 position, normal;
    f32 u, v; /* in cells of the pattern: about square on the cloth */
} ClothVertex;

typedef struct Cloth {
    u32 entity; /* index in the picture's entities */
    u32 first_vertex, columns, rows;
    u32 first_index, index_count;
    f32 highlight[4]; /* w > 0: highlighted */
    bool shown;
} Cloth;

struct DrawCloth {
    Cloth *cloths; /* [cloth_count] */
    u32 cloth_count, cloth_capacity;
    ClothVertex *vertices; /* [vertex_count] */
    u32 vertex_count, vertex_capacity;
    u64 version; /* of the entities, with their number */
    u32 entity_count;
    bool built;
    const Entity *entities; /* of the last gather, for its show */
    GLuint vao, indices, lit, depth;
    StreamBuffer stream;
    GLint depth_matrix, color, color2, highlight;
};

static const char cloth_vertex[] = "layout(location = 0) in vec3 a_position;\n"
                                   "layout(location = 1) in vec3 a_normal;\n"
                                   "layout(location = 2) in vec2 a_cell;\n"
                                   "out vec3 v_world, v_normal;\n"
                                   "out vec2 v_cell;\n"
                                   "void main() {\n"
                                   "    v_world = a_position;\n"
                                   "    v_normal = a_normal;\n"
                                   "    v_cell = a_cell;\n"
                                   "    gl_Position = view_proj * vec4(a_position, 1.0);\n"
                                   "}\n";

static const char cloth_fragment[] =
    "uniform vec4 color, color2, highlight;\n" /* w: roughness, pattern, on */
    "in vec3 v_world, v_normal;\n"
    "in vec2 v_cell;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 n = normalize(v_normal);\n"
    "    vec3 albedo = color.rgb;\n"
    "    vec2 w = fwidth(v_cell) + 1e-5;\n"
    "    if (color2.w == 1.0) albedo = mix(albedo, color2.rgb, checker(v_cell, w));\n"
    "    else if (color2.w == 2.0) albedo = mix(albedo, color2.rgb, stripes(v_cell.x, w.x));\n"
    "    if (!gl_FrontFacing) {\n"
    "        n = -n;\n"
    "        albedo = color2.w == 0.0 ? color2.rgb : albedo * 0.8;\n"
    "    }\n"
    "    vec3 c = lit(v_world + n * 0.01, n, albedo, color.w, 0.22);\n"
    "    if (highlight.w > 0.0) {\n"
    "        float rim = 1.0 - max(dot(n, normalize(eye.xyz - v_world)), 0.0);\n"
    "        c += highlight.rgb * (0.04 + 0.45 * rim * rim * rim) + albedo * 0.12;\n"
    "    }\n"
    "    o_color = vec4(tone(c), 1.0);\n"
    "}\n";

static const char cloth_depth_vertex[] =
    "layout(location = 0) in vec3 a_position;\n"
    "uniform mat4 to_clip;\n"
    "void main() { gl_Position = to_clip * vec4(a_position, 1.0); }\n";

static const char cloth_depth_fragment[] = "void main() {}\n";

DrawCloth *draw_cloth_create(u32 chunks, ErrorText *error)
{
    DrawCloth *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "no memory to draw with");
        return NULL;
    }
    draw->lit = shader_create("cloth", chunks | SHADER_LIT, cloth_vertex, cloth_fragment, error);
    draw->depth = draw->lit ? shader_create("cloth depth", SHADER_PLAIN, cloth_depth_vertex,
                                            cloth_depth_fragment, error)
                            : 0;
    if (!draw->depth) {
        draw_cloth_destroy(draw);
        return NULL;
    }
    draw->depth_matrix = glGetUniformLocation(draw->depth, "to_clip");
    draw->color = glGetUniformLocation(draw->lit, "color");
    draw->color2 = glGetUniformLocation(draw->lit, "color2");
    draw->highlight = glGetUniformLocation(draw->lit, "highlight");
    glGenVertexArrays(1, &draw->vao);
    glBindVertexArray(draw->vao);
    glGenBuffers(1, &draw->indices);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, draw->indices);
    glGenBuffers(1, &draw->stream.name);
    glBindBuffer(GL_ARRAY_BUFFER, draw->stream.name);
    static const GLint sizes[3] = {3, 3, 2};
    for (u32 i = 0; i < 3; i++) {
        glEnableVertexAttribArray(i);
        glVertexAttribPointer(i, sizes[i], GL_FLOAT, GL_FALSE, sizeof(ClothVertex),
                              (const void *)(i * sizeof(Vec3)));
    }
    glBindVertexArray(0);
    gl_check("draw_cloth_create");
    return draw;
}

void draw_cloth_destroy(DrawCloth *draw)
{
    if (!draw) {
        return;
    }
    glDeleteVertexArrays(1, &draw->vao);
    glDeleteBuffers(1, &draw->indices);
    glDeleteBuffers(1, &draw->stream.name);
    glDeleteProgram(draw->lit);
    glDeleteProgram(draw->depth);
    free(draw->cloths);
    free(draw->vertices);
    free(draw);
}

/* Grid entities whose elements really lie inside a POINTS field. */
static bool cloth_is_one(const Entity *entity, const Picture *picture)
{
    if (entity->look.kind != APPEARANCE_CLOTH || entity->field >= picture->fields->count) {
        return false;
    }
    u64 columns = entity->look.grid[0], rows = entity->look.grid[1];
    u64 capacity = picture->fields->fields[entity->field].capacity;
    return columns >= 2 && rows >= 2 && columns * rows == entity->count &&
           (u64)entity->first + entity->count <= capacity;
}

static bool cloth_push(DrawCloth *draw, u32 index, const Entity *entity, u32 *index_count)
{
    if (draw->cloth_count == draw->cloth_capacity) {
        u32 capacity = draw->cloth_capacity ? 2 * draw->cloth_capacity : 8;
        Cloth *grown = realloc(draw->cloths, capacity * sizeof *grown);
        if (!grown) {
            return false;
        }
        draw->cloths = grown;
        draw->cloth_capacity = capacity;
    }
    Cloth *cloth = &draw->cloths[draw->cloth_count++];
    memset(cloth, 0, sizeof *cloth);
    cloth->entity = index;
    cloth->columns = entity->look.grid[0];
    cloth->rows = entity->look.grid[1];
    cloth->first_vertex = draw->vertex_count;
    cloth->first_index = *index_count;
    cloth->index_count = 6 * (cloth->columns - 1) * (cloth->rows - 1);
    draw->vertex_count += entity->count;
    *index_count += cloth->index_count;
    return true;
}

static void cloth_write_indices(const Cloth *cloth, u32 *out)
{
    for (u32 j = 0; j + 1 < cloth->rows; j++) {
        for (u32 i = 0; i + 1 < cloth->columns; i++) {
            u32 a = cloth->first_vertex + j * cloth->columns + i;
            u32 b = a + 1, c = a + cloth->columns, d = c + 1;
            /* Diagonals alternate, so that folds have no preferred direction. */
            u32 even[6] = {a, b, d, a, d, c}, odd[6] = {a, b, c, b, d, c};
            memcpy(out, (i + j) % 2 ? odd : even, sizeof even);
            out += 6;
        }
    }
}

static bool cloth_rebuild(DrawCloth *draw, const Picture *picture)
{
    if (draw->built && draw->version == picture->entity_version &&
        draw->entity_count == picture->entity_count) {
        return true;
    }
    u32 index_count = 0;
    draw->cloth_count = 0;
    draw->vertex_count = 0;
    for (u32 i = 0; i < picture->entity_count; i++) {
        const Entity *entity = &picture->entities[i];
        if (cloth_is_one(entity, picture) && !cloth_push(draw, i, entity, &index_count)) {
            return false;
        }
    }
    u32 *indices = malloc((index_count ? index_count : 1) * sizeof *indices);
    if (draw->vertex_count > draw->vertex_capacity) {
        ClothVertex *grown = realloc(draw->vertices, draw->vertex_count * sizeof *grown);
        if (grown) {
            draw->vertices = grown;
            draw->vertex_capacity = draw->vertex_count;
        }
    }
    if (!indices || draw->vertex_count > draw->vertex_capacity) {
        free(indices);
        draw->cloth_count = 0;
        return false;
    }
    for (u32 i = 0; i < draw->cloth_count; i++) {
        cloth_write_indices(&draw->cloths[i], indices + draw->cloths[i].first_index);
    }
    glBindVertexArray(draw->vao);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, draw->indices);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(index_count * sizeof *indices), indices,
                 GL_STATIC_DRAW);
    glBindVertexArray(0);
    free(indices);
    draw->version = picture->entity_version;
    draw->entity_count = picture->entity_count;
    draw->built = true;
    return true;
}

static void cloth_fill(DrawCloth *draw, Cloth *cloth, const ShownPoint *points)
{
    ClothVertex *out = draw->vertices + cloth->first_vertex;
    u32 columns = cloth->columns, rows = cloth->rows;
    /* About twelve pattern cells across the wider side. */
    f32 cell = 12.0f / (f32)u32_max(columns, rows);
    for (u32 j = 0; j < rows; j++) {
        for (u32 i = 0; i < columns; i++) {
            u32 at = j * columns + i;
            u32 left = i > 0 ? at - 1 : at, right = i + 1 < columns ? at + 1 : at;
            u32 low = j > 0 ? at - columns : at, high = j + 1 < rows ? at + columns : at;
            Vec3 along_u = vec3_sub(points[right].position, points[left].position);
            Vec3 along_v = vec3_sub(points[high].position, points[low].position);
            out[at].position = points[at].position;
            out[at].normal =
                vec3_normalize_or(vec3_cross(along_u, along_v), vec3(0.0f, 1.0f, 0.0f));
            out[at].u = cell * (f32)i;
            out[at].v = cell * (f32)j;
        }
    }
}

void draw_cloth_gather(DrawCloth *draw, const Picture *picture)
{
    draw->entities = picture->entities;
    if (!cloth_rebuild(draw, picture)) {
        draw->cloth_count = 0;
        draw->built = false;
        return;
    }
    for (u32 i = 0; i < draw->cloth_count; i++) {
        Cloth *cloth = &draw->cloths[i];
        const Entity *entity = &picture->entities[cloth->entity];
        const ShownPoint *points = picture->points[entity->field];
        cloth->shown = points && points[entity->first].generation != 0;
        if (cloth->shown) {
            cloth_fill(draw, cloth, points + entity->first);
        }
        bool held = entity->id == picture->held && entity->id != 0;
        bool hovered = entity->id == picture->hovered && entity->id != 0;
        memcpy(cloth->highlight, held ? highlight_held : highlight_hovered, 3 * sizeof(f32));
        cloth->highlight[3] = held || hovered ? 1.0f : 0.0f;
    }
    if (draw->vertex_count > 0) {
        stream_buffer_write(&draw->stream, draw->vertices,
                            draw->vertex_count * sizeof *draw->vertices);
    }
}

static void cloth_draw(const Cloth *cloth)
{
    glDrawElements(GL_TRIANGLES, (GLsizei)cloth->index_count, GL_UNSIGNED_INT,
                   (const void *)(cloth->first_index * sizeof(u32)));
}

void draw_cloth_cast(DrawCloth *draw, const Mat4 *to_clip)
{
    glUseProgram(draw->depth);
    glUniformMatrix4fv(draw->depth_matrix, 1, GL_FALSE, to_clip->m);
    glBindVertexArray(draw->vao);
    for (u32 i = 0; i < draw->cloth_count; i++) {
        if (draw->cloths[i].shown) {
            cloth_draw(&draw->cloths[i]);
        }
    }
}

void draw_cloth_show(DrawCloth *draw)
{
    glUseProgram(draw->lit);
    glBindVertexArray(draw->vao);
    for (u32 i = 0; i < draw->cloth_count; i++) {
        const Cloth *cloth = &draw->cloths[i];
        const Appearance *look = &draw->entities[cloth->entity].look;
        if (!cloth->shown) {
            continue;
        }
        glUniform4f(draw->color, look->color[0], look->color[1], look->color[2],
                    f32_clamp(look->roughness, 0.05f, 1.0f));
        glUniform4f(draw->color2, look->color2[0], look->color2[1], look->color2[2],
                    (f32)look->pattern);
        glUniform4fv(draw->highlight, 1, cloth->highlight);
        cloth_draw(cloth);
    }
    glBindVertexArray(0);
    gl_check("draw_cloth_show");
}
