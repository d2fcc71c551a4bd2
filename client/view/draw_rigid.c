/*
 * draw_rigid.c: batches of shapes. The order within a batch is rebuilt when the entities change;
 * each frame only gathers poses. Highlighted instances come first in their batch, so that outlines
 * are one more draw of the first few.
 */
#include "client/view/draw_rigid.h"

#include "client/view/mesh.h"
#include "client/view/projection.h"
#include "shared/base/hash.h"
#include "shared/geometry/geometry.h"

#include <stdlib.h>
#include <string.h>

/* Six vec4 attributes after the mesh's two. */
typedef struct Instance {
    f32 position[3], radius;
    f32 rotation[4]; /* x, y, z, w */
    f32 core[3], cell;
    f32 color[3], roughness;
    f32 color2[3], pattern;
    f32 glow[3], outline;
} Instance;

typedef struct Batch {
    GLuint vao, vertices, indices;
    u32 index_count;
    bool open;  /* its back faces may be visible */
    Shape made; /* for batches beyond MESH_KIND_COUNT: the shape, without its geometry */
    u32 geometry;
    StreamBuffer stream;
    Instance *instances; /* [capacity] */
    u32 count, capacity, highlighted;
    u32 solid; /* of count: those behind it are glass */
} Batch;

enum {
    BATCHES_MAX = 1024 /* with more, shapes of further sizes are not drawn */
};

struct DrawRigid {
    Batch batches[BATCHES_MAX]; /* the MeshKinds, then one per distinct surface of the scene */
    u32 batch_count;
    u64 scene_hash; /* of the scene for which the surfaces were made */
    const u8 *scene_bytes;
    u32 *shaped; /* [shaped_count] indices of entities with a shape */
    u32 shaped_count, shaped_capacity;
    u64 version; /* of the entities, with their number */
    u32 entity_count;
    bool built, glassy; /* some of this frame is glass */
    GLuint lit, glass, depth, outline;
    GLint depth_matrix;
};

static const char rigid_inputs[] = "layout(location = 0) in vec3 a_corner;\n"
                                   "layout(location = 1) in vec3 a_normal;\n"
                                   "layout(location = 2) in vec4 i_position;\n"
                                   "layout(location = 3) in vec4 i_rotation;\n"
                                   "layout(location = 4) in vec4 i_core;\n"
                                   "layout(location = 5) in vec4 i_color;\n"
                                   "layout(location = 6) in vec4 i_color2;\n"
                                   "layout(location = 7) in vec4 i_glow;\n"
                                   "layout(location = 8) in vec3 a_out;\n"
                                   "vec3 rotate(vec4 q, vec3 v) {\n"
                                   "    vec3 t = 2.0 * cross(q.xyz, v);\n"
                                   "    return v + q.w * t + cross(q.xyz, t);\n"
                                   "}\n";

static const char rigid_vertex[] =
    "out vec3 v_world, v_normal, v_local, v_local_normal;\n"
    "flat out vec4 v_color, v_color2, v_glow;\n"
    "flat out vec4 v_kind;\n"
    "void main() {\n"
    "    v_local = a_corner * i_core.xyz + i_position.w * a_normal;\n"
    "    v_local_normal = a_normal;\n"
    "    v_world = i_position.xyz + rotate(i_rotation, v_local);\n"
    "    v_normal = rotate(i_rotation, a_normal);\n"
    "    v_color = i_color;\n"
    "    v_color2 = i_color2;\n"
    "    v_glow = i_glow;\n"
    "    v_kind = vec4(i_core.w, i_position.w, i_core.y, floor(i_color2.w / 16.0));\n"
    "    v_color2.w = mod(i_color2.w, 16.0);\n"
    "    gl_Position = view_proj * vec4(v_world, 1.0);\n"
    "}\n";

static const char rigid_fragment[] =
    "in vec3 v_world, v_normal, v_local, v_local_normal;\n"
    "flat in vec4 v_color, v_color2, v_glow, v_kind;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 n = normalize(gl_FrontFacing ? v_normal : -v_normal);\n"
    "    vec3 albedo = v_color.rgb;\n"
    "    float cell = v_kind.x, fade = 0.0, pattern = v_color2.w;\n"
    "    vec3 x = v_local / abs(cell), w = fwidth(x) + 1e-5;\n"
    "    if (v_kind.w > 1.5) {\n" /* a terrain: by slope and height, with lines every metre */
    "        float rock = smoothstep(0.28, 0.55, 1.0 - n.y);\n"
    "        float high = smoothstep(-0.5, 1.0, v_local.y / max(abs(cell), 0.01));\n"
    "        albedo = mix(albedo * mix(0.72, 1.25, high), v_color2.rgb, rock);\n"
    "        float level = abs(fract(v_local.y + 0.5) - 0.5) / (fwidth(v_local.y) + 1e-5);\n"
    "        albedo *= 1.0 - 0.18 * (1.0 - smoothstep(0.5, 1.5, level));\n"
    "    } else if (v_kind.w > 0.5) {\n" /* a plane: a floor with lines */
    "        float away = length(v_world - eye.xyz);\n"
    "        if (pattern == 1.0) albedo = mix(albedo, v_color2.rgb, checker(x.xz, w.xz));\n"
    "        else if (pattern == 2.0) albedo = mix(albedo, v_color2.rgb, stripes(x.x, w.x));\n"
    "        float fine = lines(x.xz, w.xz, vec2(0.008));\n"
    "        float wide = lines(x.xz * 0.1, w.xz * 0.1, vec2(0.0016));\n"
    "        albedo *= 1.0 - max(0.16 * fine, 0.34 * wide);\n"
    "        fade = smoothstep(0.25, 1.0, away / sky_horizon.w);\n"
    "    } else if (pattern > 0.0) {\n"
    "        float t;\n"
    "        if (cell < 0.0) {\n" /* a sphere or a capsule */
    "            t = pattern == 1.0 ? checker(vec2(x.y, x.x * x.z * 2.0),\n"
    "                                         vec2(w.y, w.x + w.z))\n"
    "                               : stripes(x.y + 0.5, w.y);\n"
    "        } else {\n"
    "            vec3 a = abs(v_local_normal);\n"
    "            bool top = a.y >= max(a.x, a.z), side = a.x >= a.z;\n"
    "            vec2 uv = top ? x.xz : side ? x.zy : x.xy;\n"
    "            vec2 uw = top ? w.xz : side ? w.zy : w.xy;\n"
    "            t = pattern == 1.0 ? checker(uv, uw) : stripes(uv.y * 2.0 + 0.5, uw.y * 2.0);\n"
    "        }\n"
    "        albedo = mix(albedo, v_color2.rgb, t);\n"
    "    }\n"
    "    vec3 c = lit(v_world, n, albedo, v_color.w, 0.0);\n"
    "    if (v_glow.w > 0.0) {\n"
    "        float rim = 1.0 - max(dot(n, normalize(eye.xyz - v_world)), 0.0);\n"
    "        c += v_glow.rgb * (0.10 + 0.75 * rim * rim * rim) + albedo * 0.18;\n"
    "    }\n"
    "    c = mix(c, 1.25 * sky_horizon.rgb, fade);\n"
    "    o_color = vec4(tone(c), 1.0);\n"
    "}\n";

/* A pane: its own light, thinned to its opacity, and by Schlick's law what it mirrors. */
static const char rigid_glass_fragment[] =
    "in vec3 v_world, v_normal, v_local, v_local_normal;\n"
    "flat in vec4 v_color, v_color2, v_glow, v_kind;\n"
    "out vec4 o_color;\n"
    "void main() {\n"
    "    vec3 n = normalize(gl_FrontFacing ? v_normal : -v_normal);\n"
    "    vec3 v = normalize(eye.xyz - v_world);\n"
    "    float mirrors = 0.04 + 0.96 * pow(1.0 - max(dot(n, v), 0.0), 5.0);\n"
    "    float opacity = v_glow.w + (1.0 - v_glow.w) * mirrors;\n"
    "    vec3 own = lit(v_world, n, v_color.rgb, v_color.w, 0.0);\n"
    "    vec3 c = mix(own, surroundings(reflect(-v, n)), mirrors / opacity);\n"
    "    o_color = vec4(tone(c) * opacity, opacity);\n"
    "}\n";

static const char rigid_depth_vertex[] =
    "uniform mat4 to_clip;\n"
    "void main() {\n"
    "    vec3 local = a_corner * i_core.xyz + i_position.w * a_normal;\n"
    "    gl_Position = to_clip * vec4(i_position.xyz + rotate(i_rotation, local), 1.0);\n"
    "}\n";

static const char rigid_depth_fragment[] = "void main() {}\n";

static const char rigid_outline_vertex[] =
    "flat out vec3 v_color;\n"
    "void main() {\n"
    "    vec3 local = a_corner * i_core.xyz + i_position.w * a_normal + i_glow.w * a_out;\n"
    "    v_color = i_glow.rgb;\n"
    "    gl_Position = view_proj * vec4(i_position.xyz + rotate(i_rotation, local), 1.0);\n"
    "}\n";

static const char rigid_outline_fragment[] =
    "flat in vec3 v_color;\n"
    "out vec4 o_color;\n"
    "void main() { o_color = vec4(pow(v_color, vec3(1.0 / 2.2)), 1.0); }\n";

static GLuint rigid_program(const char *name, u32 chunks, const char *vertex, const char *fragment,
                            ErrorText *error)
{
    char text[4096];
    size_t a = strlen(rigid_inputs), b = strlen(vertex);
    if (a + b >= sizeof text) {
        error_set(error, ERROR_LIMIT, "shader %s is too long", name);
        return 0;
    }
    memcpy(text, rigid_inputs, a);
    memcpy(text + a, vertex, b + 1);
    return shader_create(name, chunks, text, fragment, error);
}

/* The bound batch draws its instances from `first` on. */
static void instances_from(const Batch *batch, u32 first)
{
    glBindBuffer(GL_ARRAY_BUFFER, batch->stream.name);
    for (u32 i = 0; i < 6; i++) {
        glVertexAttribPointer(2 + i, 4, GL_FLOAT, GL_FALSE, sizeof(Instance),
                              (const void *)(first * sizeof(Instance) + i * 4 * sizeof(f32)));
    }
}

static void batch_init(Batch *batch, const Mesh *mesh)
{
    glGenVertexArrays(1, &batch->vao);
    glBindVertexArray(batch->vao);
    glGenBuffers(1, &batch->vertices);
    glBindBuffer(GL_ARRAY_BUFFER, batch->vertices);
    glBufferData(GL_ARRAY_BUFFER, (GLsizeiptr)(mesh->vertex_count * sizeof *mesh->vertices),
                 mesh->vertices, GL_STATIC_DRAW);
    for (u32 i = 0; i < 3; i++) {
        static const GLuint places[3] = {0, 1, 8};
        glEnableVertexAttribArray(places[i]);
        glVertexAttribPointer(places[i], 3, GL_FLOAT, GL_FALSE, sizeof(MeshVertex),
                              (const void *)(i * sizeof(Vec3)));
    }
    glGenBuffers(1, &batch->indices);
    glBindBuffer(GL_ELEMENT_ARRAY_BUFFER, batch->indices);
    glBufferData(GL_ELEMENT_ARRAY_BUFFER, (GLsizeiptr)(mesh->index_count * sizeof *mesh->indices),
                 mesh->indices, GL_STATIC_DRAW);
    batch->index_count = mesh->index_count;
    glGenBuffers(1, &batch->stream.name);
    for (u32 i = 0; i < 6; i++) {
        glEnableVertexAttribArray(2 + i);
        glVertexAttribDivisor(2 + i, 1);
    }
    instances_from(batch, 0);
    glBindVertexArray(0);
}

static void batch_finish(Batch *batch)
{
    glDeleteVertexArrays(1, &batch->vao);
    glDeleteBuffers(1, &batch->vertices);
    glDeleteBuffers(1, &batch->indices);
    glDeleteBuffers(1, &batch->stream.name);
    free(batch->instances);
    memset(batch, 0, sizeof *batch);
}

DrawRigid *draw_rigid_create(u32 chunks, ErrorText *error)
{
    DrawRigid *draw = calloc(1, sizeof *draw);
    if (!draw) {
        error_set(error, ERROR_MEMORY, "out of memory for drawing");
        return NULL;
    }
    draw->lit = rigid_program("rigid", chunks | SHADER_LIT, rigid_vertex, rigid_fragment, error);
    draw->glass = draw->lit ? rigid_program("rigid glass", chunks | SHADER_LIT, rigid_vertex,
                                            rigid_glass_fragment, error)
                            : 0;
    draw->depth = draw->glass ? rigid_program("rigid depth", SHADER_PLAIN, rigid_depth_vertex,
                                              rigid_depth_fragment, error)
                              : 0;
    draw->outline = draw->depth ? rigid_program("rigid outline", SHADER_PLAIN, rigid_outline_vertex,
                                                rigid_outline_fragment, error)
                                : 0;
    if (!draw->outline) {
        draw_rigid_destroy(draw);
        return NULL;
    }
    draw->depth_matrix = glGetUniformLocation(draw->depth, "to_clip");
    for (u32 i = 0; i < MESH_KIND_COUNT; i++) {
        Mesh mesh;
        if (mesh_init(&mesh, (MeshKind)i) != 0) {
            error_set(error, ERROR_MEMORY, "out of memory for meshes");
            draw_rigid_destroy(draw);
            return NULL;
        }
        batch_init(&draw->batches[i], &mesh);
        mesh_finish(&mesh);
        draw->batch_count++;
    }
    gl_check("draw_rigid_create");
    return draw;
}

void draw_rigid_destroy(DrawRigid *draw)
{
    if (!draw) {
        return;
    }
    for (u32 i = 0; i < draw->batch_count; i++) {
        batch_finish(&draw->batches[i]);
    }
    glDeleteProgram(draw->lit);
    glDeleteProgram(draw->glass);
    glDeleteProgram(draw->depth);
    glDeleteProgram(draw->outline);
    free(draw->shaped);
    free(draw);
}

/* ---- surfaces of a scene ---- */

/* Drops the surfaces of the previous scene. */
static void rigid_drop_surfaces(DrawRigid *draw, const Picture *picture)
{
    u64 hash = hash_bytes(picture->scene->bytes, picture->scene->byte_count, 1);
    if (hash == draw->scene_hash) {
        return;
    }
    while (draw->batch_count > MESH_KIND_COUNT) {
        batch_finish(&draw->batches[--draw->batch_count]);
    }
    draw->scene_hash = hash;
}

static bool same_surface(const Batch *batch, const Shape *shape, u32 geometry)
{
    return batch->made.kind == shape->kind && batch->geometry == geometry &&
           batch->made.radius == shape->radius && batch->made.half_height == shape->half_height;
}

/* The batch of a shape with its own surface; BATCHES_MAX if it cannot be drawn. */
static u32 rigid_surface(DrawRigid *draw, const Shape *shape)
{
    u32 geometry = shape->geometry != NULL ? shape->geometry->id + 1 : 0;
    for (u32 i = MESH_KIND_COUNT; i < draw->batch_count; i++) {
        if (same_surface(&draw->batches[i], shape, geometry)) {
            return i;
        }
    }
    Mesh mesh;
    if (draw->batch_count == BATCHES_MAX || mesh_init_surface(&mesh, shape) != 0) {
        return BATCHES_MAX;
    }
    Batch *batch = &draw->batches[draw->batch_count];
    batch_init(batch, &mesh);
    mesh_finish(&mesh);
    batch->made = *shape;
    batch->made.geometry = NULL;
    batch->geometry = geometry;
    batch->open = shape->kind == SHAPE_TERRAIN ||
                  (shape->kind == SHAPE_MESH && !shape->geometry->mesh.closed);
    return draw->batch_count++;
}

/* Collects the indices of entities with a shape; false if out of memory. */
static bool rigid_rebuild(DrawRigid *draw, const Picture *picture)
{
    if (draw->built && draw->version == picture->entity_version &&
        draw->entity_count == picture->entity_count && draw->scene_bytes == picture->scene->bytes) {
        return true;
    }
    if (picture->entity_count > draw->shaped_capacity) {
        u32 *grown = realloc(draw->shaped, picture->entity_count * sizeof *grown);
        if (!grown) {
            return false;
        }
        draw->shaped = grown;
        draw->shaped_capacity = picture->entity_count;
    }
    rigid_drop_surfaces(draw, picture);
    draw->shaped_count = 0;
    for (u32 i = 0; i < picture->entity_count; i++) {
        const Entity *entity = &picture->entities[i];
        if (entity->appearance.kind == APPEARANCE_SHAPE && entity->field < picture->fields->count &&
            entity->first < picture->fields->fields[entity->field].capacity) {
            draw->shaped[draw->shaped_count++] = i;
        }
    }
    draw->scene_bytes = picture->scene->bytes;
    draw->version = picture->entity_version;
    draw->entity_count = picture->entity_count;
    draw->built = true;
    return true;
}

static Instance *batch_push(Batch *batch)
{
    if (batch->count == batch->capacity) {
        u32 capacity = batch->capacity ? 2 * batch->capacity : 64;
        Instance *grown = realloc(batch->instances, capacity * sizeof *grown);
        if (!grown) {
            return NULL;
        }
        batch->instances = grown;
        batch->capacity = capacity;
    }
    return &batch->instances[batch->count++];
}

enum {
    SHELLS = 12,
    SHELLS_ENTITIES = 4096 /* with more, one pass per shell costs more than it saves */
};

/* Above this radius in pixels the coarse sphere would show corners. */
#define SPHERE_NEAR_PX 22.0f

static u32 rigid_batch(DrawRigid *draw, const Shape *shape, f32 away, f32 pixel_m)
{
    switch (shape->kind) {
    case SHAPE_SPHERE:
        return shape->radius > SPHERE_NEAR_PX * pixel_m * away ? MESH_SPHERE_NEAR : MESH_SPHERE_FAR;
    case SHAPE_BOX:
        return MESH_BOX;
    case SHAPE_CAPSULE:
        return MESH_CAPSULE;
    case SHAPE_PLANE:
        return MESH_PLANE;
    case SHAPE_CYLINDER:
    case SHAPE_CONE:
        return rigid_surface(draw, shape);
    case SHAPE_HULL:
    case SHAPE_MESH:
    case SHAPE_TERRAIN:
        return shape->geometry != NULL ? rigid_surface(draw, shape) : BATCHES_MAX;
    default:
        return BATCHES_MAX;
    }
}

/* Size of the pattern's cells; for a terrain the height of its hills. */
static f32 surface_cell(const Shape *shape)
{
    if (shape->kind == SHAPE_TERRAIN) {
        const Terrain *terrain = &shape->geometry->terrain;
        return f32_max(f32_max(fabsf(terrain->high), fabsf(terrain->low)), 0.1f);
    }
    f32 size = f32_max(shape->radius, shape->half_height);
    if (shape->geometry != NULL) {
        Bounds bounds = shape->geometry->bounds;
        Vec3 half = vec3_scale(vec3_sub(bounds.max, bounds.min), 0.5f);
        size = f32_max(half.x, f32_max(half.y, half.z));
    }
    return size > 2.0f ? 1.0f : f32_max(0.5f * size, 0.01f);
}

/* Core, radius and pattern cell of a shape: see mesh.h. */
static void instance_shape(Instance *out, const Shape *shape)
{
    switch (shape->kind) {
    case SHAPE_BOX: {
        f32 low = f32_min(shape->half.x, f32_min(shape->half.y, shape->half.z));
        f32 high = f32_max(shape->half.x, f32_max(shape->half.y, shape->half.z));
        f32 bevel = f32_min(0.12f * low, 0.03f);
        out->radius = f32_max(bevel, 1e-4f);
        out->core[0] = shape->half.x - bevel;
        out->core[1] = shape->half.y - bevel;
        out->core[2] = shape->half.z - bevel;
        out->cell = high > 2.0f ? 1.0f : high * 0.5f;
        break;
    }
    case SHAPE_CAPSULE:
        out->radius = shape->radius;
        out->core[1] = shape->half_height;
        out->cell = -0.5f * (shape->radius + shape->half_height);
        break;
    case SHAPE_SPHERE:
        out->radius = shape->radius;
        out->cell = -0.5f * shape->radius;
        break;
    default: /* has its own surface */
        out->core[0] = out->core[1] = out->core[2] = 1.0f;
        out->cell = surface_cell(shape);
        break;
    }
}

/* A plane's quad follows the eye in multiples of its pattern's period. */
static void instance_plane(Instance *out, const ShownPose *pose, const Picture *picture)
{
    const f32 step = 20.0f;
    Vec3 local =
        quat_rotate_inverse(pose->orientation, vec3_sub(picture->camera.eye, pose->position));
    Vec3 centre = vec3(roundf(local.x / step) * step, 0.0f, roundf(local.z / step) * step);
    Vec3 position = vec3_add(pose->position, quat_rotate(pose->orientation, centre));
    memcpy(out->position, &position, sizeof out->position);
    f32 extent = f32_min(picture->camera.far_m, 600.0f);
    out->core[0] = out->core[2] = extent;
    out->radius = 0.0f;
    out->cell = 1.0f;
}

/* Drawn over what is behind it. */
static bool is_glass(const Appearance *appearance)
{
    return appearance->color[3] > 0.0f && appearance->color[3] < 1.0f;
}

static void instance_fill(Instance *out, const Entity *entity, const Shape *shape,
                          const ShownPose *pose, const Picture *picture, f32 outline_m)
{
    const Appearance *appearance = &entity->appearance;
    memset(out, 0, sizeof *out);
    memcpy(out->position, &pose->position, sizeof out->position);
    out->rotation[0] = pose->orientation.x;
    out->rotation[1] = pose->orientation.y;
    out->rotation[2] = pose->orientation.z;
    out->rotation[3] = pose->orientation.w;
    if (shape->kind == SHAPE_PLANE) {
        instance_plane(out, pose, picture);
    } else {
        instance_shape(out, shape);
    }
    picture_colors(picture, (u32)(entity - picture->entities), out->color, out->color2);
    out->roughness = f32_clamp(appearance->roughness, 0.05f, 1.0f);
    f32 ground = shape->kind == SHAPE_PLANE ? 1.0f : shape->kind == SHAPE_TERRAIN ? 2.0f : 0.0f;
    out->pattern = (f32)appearance->pattern + 16.0f * ground;
    if (outline_m > 0.0f) {
        memcpy(out->glow, entity->id == picture->held ? highlight_held : highlight_hovered,
               sizeof out->glow);
        out->outline = outline_m;
    } else if (is_glass(appearance)) {
        out->outline = appearance->color[3]; /* glass has no outline, but an opacity */
    }
}

/* One of SHELLS distance ranges around that of the camera's target. */
static i32 shell_of(const Camera *camera, f32 away)
{
    f32 share = away / f32_max(vec3_distance(camera->eye, camera->target), 0.1f) - 0.5f;
    return (i32)(f32_clamp(share, 0.0f, 0.999f) * (f32)SHELLS);
}

static void rigid_push(DrawRigid *draw, const Picture *picture, const Entity *entity,
                       const Shape *shape, const ShownPose *pose, f32 pixel_m, bool highlighted)
{
    f32 away = vec3_distance(pose->position, picture->camera.eye);
    u32 index = rigid_batch(draw, shape, away, pixel_m);
    Instance *instance = index < BATCHES_MAX ? batch_push(&draw->batches[index]) : NULL;
    if (instance) {
        bool outlined = highlighted && index != MESH_PLANE;
        instance_fill(instance, entity, shape, pose, picture,
                      outlined ? 2.5f * pixel_m * away : 0.0f);
        draw->batches[index].highlighted += outlined ? 1 : 0;
    }
}

/* What is drawn together, in this order. */
typedef enum DrawLayer {
    LAYER_HIGHLIGHTED,
    LAYER_SOLID,
    LAYER_GLASS
} DrawLayer;

static DrawLayer layer_of(const Picture *picture, const Entity *entity)
{
    bool chosen =
        entity->id != 0 && (entity->id == picture->hovered || entity->id == picture->held);
    return is_glass(&entity->appearance) ? LAYER_GLASS : chosen ? LAYER_HIGHLIGHTED : LAYER_SOLID;
}

static void rigid_gather_entity(DrawRigid *draw, const Picture *picture, u32 index, f32 pixel_m,
                                DrawLayer layer, i32 shell)
{
    const Entity *entity = &picture->entities[index];
    bool highlighted = layer == LAYER_HIGHLIGHTED;
    const ShownPose *poses = picture->poses[entity->field];
    if (layer_of(picture, entity) != layer || !poses || appearance_is_clear(&entity->appearance)) {
        return;
    }
    const ShownPose *pose = &poses[entity->first];
    if (!(pose->flags & POSE_LIVE) || pose->generation != entity->generation) {
        return;
    }
    f32 away = vec3_distance(pose->position, picture->camera.eye);
    if (shell >= 0 && shell != shell_of(&picture->camera, away)) {
        return;
    }
    const Shape *shape = &entity->appearance.shape;
    if (shape->kind != SHAPE_COMPOUND) {
        rigid_push(draw, picture, entity, shape, pose, pixel_m, highlighted);
        return;
    }
    for (u32 i = 0; shape->geometry && i < shape->geometry->compound.child_count; i++) {
        const CompoundChild *child = &shape->geometry->compound.children[i];
        ShownPose part = *pose;
        part.position = vec3_add(pose->position, quat_rotate(pose->orientation, child->position));
        part.orientation = quat_mul(pose->orientation, child->orientation);
        rigid_push(draw, picture, entity, &child->shape, &part, pixel_m, highlighted);
    }
}

void draw_rigid_gather(DrawRigid *draw, const Picture *picture, f32 pixel_m)
{
    for (u32 i = 0; i < draw->batch_count; i++) {
        draw->batches[i].count = draw->batches[i].solid = 0;
        draw->batches[i].highlighted = 0;
    }
    if (!rigid_rebuild(draw, picture)) {
        return;
    }
    if (picture->hovered || picture->held) {
        for (u32 i = 0; i < draw->shaped_count; i++) {
            rigid_gather_entity(draw, picture, draw->shaped[i], pixel_m, LAYER_HIGHLIGHTED, -1);
        }
    }
    /* Roughly front to back, so that hidden fragments are not shaded. */
    i32 shells = draw->shaped_count <= SHELLS_ENTITIES ? SHELLS : 1;
    for (i32 shell = 0; shell < shells; shell++) {
        for (u32 i = 0; i < draw->shaped_count; i++) {
            rigid_gather_entity(draw, picture, draw->shaped[i], pixel_m, LAYER_SOLID,
                                shells > 1 ? shell : -1);
        }
    }
    draw->glassy = false;
    for (u32 i = 0; i < draw->batch_count; i++) {
        draw->batches[i].solid = draw->batches[i].count;
    }
    for (u32 i = 0; i < draw->shaped_count; i++) {
        rigid_gather_entity(draw, picture, draw->shaped[i], pixel_m, LAYER_GLASS, -1);
    }
    for (u32 i = 0; i < draw->batch_count; i++) {
        Batch *batch = &draw->batches[i];
        draw->glassy = draw->glassy || batch->count > batch->solid;
        if (batch->count > 0) {
            stream_buffer_write(&batch->stream, batch->instances,
                                batch->count * sizeof *batch->instances);
        }
    }
}

static void batch_draw(const Batch *batch, u32 count)
{
    if (count > 0) {
        glBindVertexArray(batch->vao);
        glDrawElementsInstanced(GL_TRIANGLES, (GLsizei)batch->index_count, GL_UNSIGNED_INT, NULL,
                                (GLsizei)count);
    }
}

void draw_rigid_cast(DrawRigid *draw, const Mat4 *to_clip)
{
    glUseProgram(draw->depth);
    glUniformMatrix4fv(draw->depth_matrix, 1, GL_FALSE, to_clip->m);
    for (u32 i = 0; i < draw->batch_count; i++) {
        if (i != MESH_PLANE) {
            batch_draw(&draw->batches[i], draw->batches[i].solid);
        }
    }
}

/* Silhouettes of highlighted objects, visible through objects in front: the objects into the
 * stencil, then their inflated copies where the stencil is empty. */
static void rigid_outlines(DrawRigid *draw, const Mat4 *view_proj)
{
    glEnable(GL_STENCIL_TEST);
    glDisable(GL_DEPTH_TEST);
    glUseProgram(draw->depth);
    glUniformMatrix4fv(draw->depth_matrix, 1, GL_FALSE, view_proj->m);
    glStencilFunc(GL_ALWAYS, 1, 1);
    glStencilOp(GL_KEEP, GL_KEEP, GL_REPLACE);
    glColorMask(GL_FALSE, GL_FALSE, GL_FALSE, GL_FALSE);
    for (u32 i = 0; i < draw->batch_count; i++) {
        batch_draw(&draw->batches[i], draw->batches[i].highlighted);
    }
    glColorMask(GL_TRUE, GL_TRUE, GL_TRUE, GL_TRUE);
    glStencilFunc(GL_EQUAL, 0, 1);
    glStencilOp(GL_KEEP, GL_KEEP, GL_KEEP);
    glUseProgram(draw->outline);
    for (u32 i = 0; i < draw->batch_count; i++) {
        batch_draw(&draw->batches[i], draw->batches[i].highlighted);
    }
    glEnable(GL_DEPTH_TEST);
    glDisable(GL_STENCIL_TEST);
}

static void cull(const Batch *batch)
{
    if (batch->open) {
        glDisable(GL_CULL_FACE);
    } else {
        glEnable(GL_CULL_FACE);
    }
}

void draw_rigid_show_glass(DrawRigid *draw)
{
    if (!draw->glassy) {
        return;
    }
    glUseProgram(draw->glass);
    glEnable(GL_BLEND);
    glBlendFunc(GL_ONE, GL_ONE_MINUS_SRC_ALPHA);
    glDepthMask(GL_FALSE);
    for (u32 i = 0; i < draw->batch_count; i++) {
        const Batch *batch = &draw->batches[i];
        if (batch->count > batch->solid) {
            cull(batch);
            glBindVertexArray(batch->vao);
            instances_from(batch, batch->solid);
            batch_draw(batch, batch->count - batch->solid);
            glBindVertexArray(batch->vao);
            instances_from(batch, 0);
        }
    }
    glDepthMask(GL_TRUE);
    glDisable(GL_BLEND);
    glDisable(GL_CULL_FACE);
    glBindVertexArray(0);
    gl_check("draw_rigid_show_glass");
}

void draw_rigid_show(DrawRigid *draw, const Mat4 *view_proj)
{
    glUseProgram(draw->lit);
    u32 highlighted = 0;
    for (u32 i = 0; i < draw->batch_count; i++) {
        cull(&draw->batches[i]);
        batch_draw(&draw->batches[i], draw->batches[i].solid);
        highlighted += draw->batches[i].highlighted;
    }
    glEnable(GL_CULL_FACE);
    if (highlighted > 0) {
        rigid_outlines(draw, view_proj);
    }
    glDisable(GL_CULL_FACE);
    glBindVertexArray(0);
    gl_check("draw_rigid_show");
}
