/*
 * format_gltf.c: glTF 2.0: bodies as nodes with tracks of translation and rotation, soft bodies as
 * meshes with morph targets between which an animation goes, loose points as point primitives with
 * morph targets that are stepped through. Things that appear or disappear have a track of their
 * scale, 1 or 0. Times count from the first picture.
 */
#include "server/export/gltf.h"
#include "server/export/shape_mesh.h"
#include "shared/base/memory.h"

#include <stdlib.h>
#include <string.h>

enum {
    HEADER_BYTES = 12,
    CHUNK_HEADER_BYTES = 8,
    CHUNK_JSON = 0x4E4F534A,
    CHUNK_BIN = 0x004E4942,
    GLB_MAGIC = 0x46546C67,
    GLB_VERSION = 2,
};

static u32 add_accessor(Gltf *gltf, GltfType type, u32 count, bool vertices)
{
    if (!memory_grow((void **)&gltf->accessors, &gltf->accessor_capacity, gltf->accessor_count + 1,
                     sizeof *gltf->accessors)) {
        return GLTF_NONE;
    }
    gltf->accessors[gltf->accessor_count] =
        (GltfAccessor){.type = type, .count = count, .vertices = vertices};
    return gltf->accessor_count++;
}

u32 gltf_accessor(Gltf *gltf, GltfType type, u32 count, bool vertices)
{
    u32 index = add_accessor(gltf, type, count, vertices);
    if (index != GLTF_NONE) {
        gltf->accessors[index].offset = gltf->bin_bytes;
        gltf->bin_bytes += (u64)count * gltf_type_bytes(type);
    }
    return index;
}

void gltf_fill(Gltf *gltf, u32 accessor, const void *data, bool bounded)
{
    GltfAccessor *a = &gltf->accessors[accessor];
    u32 numbers = a->type == GLTF_VEC3 ? 3 : 1;
    const f32 *values = data;
    a->bounded = bounded;
    for (u32 i = 0; bounded && i < a->count * numbers; i++) {
        u32 k = i % numbers;
        a->min[k] = i < numbers ? values[i] : f32_min(values[i], a->min[k]);
        a->max[k] = i < numbers ? values[i] : f32_max(values[i], a->max[k]);
    }
    export_write_at(gltf->bin, a->offset, data, (size_t)a->count * gltf_type_bytes(a->type));
}

/* ---- data known at the start ---- */

/* All three of a mesh or GLTF_NONE; false: out of memory. */
static bool add_mesh_data(Gltf *gltf, const SurfaceMesh *mesh, GltfShape *shape)
{
    *shape = (GltfShape){GLTF_NONE, GLTF_NONE, GLTF_NONE};
    if (mesh->vertex_count == 0 || mesh->index_count == 0) {
        return true;
    }
    shape->positions = gltf_accessor(gltf, GLTF_VEC3, mesh->vertex_count, true);
    shape->normals = gltf_accessor(gltf, GLTF_VEC3, mesh->vertex_count, true);
    shape->indices = gltf_accessor(gltf, GLTF_INDEX, mesh->index_count, false);
    if (shape->indices == GLTF_NONE || shape->normals == GLTF_NONE ||
        shape->positions == GLTF_NONE) {
        return false;
    }
    gltf_fill(gltf, shape->positions, mesh->positions, true);
    gltf_fill(gltf, shape->normals, mesh->normals, false);
    gltf_fill(gltf, shape->indices, mesh->indices, false);
    return true;
}

static i64 shape_number(Gltf *gltf, const Shape *shape)
{
    bool is_new;
    i64 number = numbering_get(&gltf->shape_numbers, export_shape_key(shape), &is_new);
    if (number < 0 || !is_new) {
        return number;
    }
    if (!memory_grow((void **)&gltf->shapes, &gltf->shape_capacity, (u32)number + 1,
                     sizeof *gltf->shapes)) {
        return ERROR_MEMORY;
    }
    SurfaceMesh mesh;
    bool good = export_shape_mesh(&mesh, shape) == ERROR_OK &&
                add_mesh_data(gltf, &mesh, &gltf->shapes[number]);
    surface_mesh_finish(&mesh);
    return good ? number : ERROR_MEMORY;
}

static i64 material_number(Gltf *gltf, const ExportThing *thing)
{
    const Appearance *appearance = &thing->entity.appearance;
    bool is_new, body = thing->form == EXPORT_BODY;
    i64 number = numbering_get(&gltf->material_numbers,
                               export_appearance_key(appearance) ^ (body ? 0 : 1), &is_new);
    if (number < 0 || !is_new) {
        return number;
    }
    if (!memory_grow((void **)&gltf->materials, &gltf->material_capacity, (u32)number + 1,
                     sizeof *gltf->materials)) {
        return ERROR_MEMORY;
    }
    GltfMaterial *material = &gltf->materials[number];
    for (u32 k = 0; k < 4; k++) {
        material->color[k] = f32_clamp(appearance->color[k], 0.0f, 1.0f);
    }
    material->roughness = f32_clamp(appearance->roughness, 0.0f, 1.0f);
    material->two_sided = !body;
    return number;
}

static int add_body(Gltf *gltf, const ExportThing *thing, GltfNode *node)
{
    i64 shape = shape_number(gltf, &thing->entity.appearance.shape);
    i64 material = shape >= 0 ? material_number(gltf, thing) : shape;
    if (material < 0) {
        return (int)material;
    }
    if (gltf->shapes[shape].positions == GLTF_NONE) {
        return ERROR_OK;
    }
    bool is_new;
    i64 mesh = numbering_get(&gltf->mesh_numbers, (u64)shape << 32 | (u64)(material + 1), &is_new);
    if (mesh < 0 || !memory_grow((void **)&gltf->meshes, &gltf->mesh_capacity, (u32)mesh + 1,
                                 sizeof *gltf->meshes)) {
        return ERROR_MEMORY;
    }
    gltf->meshes[mesh] = (GltfMesh){(u32)shape, (u32)material};
    node->mesh = (u32)mesh;
    return ERROR_OK;
}

/* Of all shapes over time, which are written as they come. */
static int add_soft(Gltf *gltf, const ExportThing *thing, GltfNode *node)
{
    i64 material = material_number(gltf, thing);
    if (material < 0) {
        return (int)material;
    }
    node->material = (u32)material;
    if (thing->form != EXPORT_POINTS) {
        node->indices = gltf_accessor(gltf, GLTF_INDEX, thing->index_count, false);
        if (node->indices == GLTF_NONE) {
            return ERROR_MEMORY;
        }
        gltf_fill(gltf, node->indices, thing->indices, false);
    }
    node->base = gltf_accessor(gltf, GLTF_VEC3, thing->vertices, true);
    node->first_target = gltf->accessor_count;
    for (u32 k = 1; k < gltf->sample_count; k++) {
        if (gltf_accessor(gltf, GLTF_VEC3, thing->vertices, true) == GLTF_NONE) {
            return ERROR_MEMORY;
        }
    }
    return node->base != GLTF_NONE ? ERROR_OK : ERROR_MEMORY;
}

static int add_node(Gltf *gltf, const ExportThing *thing, GltfNode *node)
{
    *node = (GltfNode){.mesh = GLTF_NONE,
                       .indices = GLTF_NONE,
                       .base = GLTF_NONE,
                       .move = -1,
                       .rotate = -1,
                       .show = -1};
    bool animated = gltf->world->picture_count > 1;
    if (thing->moves && animated) {
        node->move = spool_track(&gltf->spool, 12);
        node->rotate = spool_track(&gltf->spool, 16);
    }
    if ((thing->comes || thing->goes) && animated) {
        node->show = spool_track(&gltf->spool, 12);
    }
    if (!thing->visible) {
        return ERROR_OK;
    }
    if (thing->form == EXPORT_BODY) {
        return add_body(gltf, thing, node);
    }
    bool empty = thing->vertices == 0 || (thing->form != EXPORT_POINTS && thing->index_count == 0);
    return empty ? ERROR_OK : add_soft(gltf, thing, node);
}

static int add_nodes(Gltf *gltf)
{
    u32 count = gltf->world->thing_count, most = 1;
    u64 vertices = 0;
    gltf->nodes = calloc(u32_max(count, 1), sizeof *gltf->nodes);
    gltf->base_of = calloc(u32_max(count, 1), sizeof *gltf->base_of);
    if (gltf->nodes == NULL || gltf->base_of == NULL ||
        spool_track(&gltf->spool, 4) != 0) { /* times: track 0 */
        return ERROR_MEMORY;
    }
    int result = ERROR_OK;
    for (u32 i = 0; i < count && result == ERROR_OK; i++) {
        result = add_node(gltf, &gltf->world->things[i], &gltf->nodes[i]);
        gltf->base_of[i] = vertices;
        if (gltf->nodes[i].base != GLTF_NONE) {
            vertices += gltf->world->things[i].vertices;
            most = u32_max(most, gltf->world->things[i].vertices);
        }
    }
    gltf->base = calloc(vertices + 1, sizeof *gltf->base);
    gltf->target = malloc(most * sizeof *gltf->target);
    gltf->seconds = calloc(gltf->sample_count, sizeof *gltf->seconds);
    bool good = gltf->base != NULL && gltf->target != NULL && gltf->seconds != NULL;
    return result == ERROR_OK && !good ? ERROR_MEMORY : result;
}

/* Weights of targets 1.. at each sample: one of them is 1, or none at sample 0. */
static int add_weights(Gltf *gltf)
{
    u32 targets = gltf->sample_count - 1;
    gltf->sample_times = gltf_accessor(gltf, GLTF_SCALAR, gltf->sample_count, false);
    gltf->weights = gltf_accessor(gltf, GLTF_SCALAR, gltf->sample_count * targets, false);
    f32 *row = calloc(u32_max(targets, 1), sizeof *row);
    if (gltf->weights == GLTF_NONE || gltf->sample_times == GLTF_NONE || row == NULL) {
        free(row);
        return ERROR_MEMORY;
    }
    u64 at = gltf->accessors[gltf->weights].offset;
    for (u32 i = 0; i < gltf->sample_count; i++) {
        if (i > 0) {
            row[i - 1] = 1.0f;
        }
        export_write_at(gltf->bin, at, row, targets * sizeof *row);
        if (i > 0) {
            row[i - 1] = 0.0f;
        }
        at += targets * sizeof *row;
    }
    free(row);
    return ERROR_OK;
}

/* Accessors over the tracks of the spool. */
static int add_tracks(Gltf *gltf)
{
    gltf->spool_accessor = gltf->accessor_count;
    u64 end = spool_begin(&gltf->spool, gltf->bin, gltf->bin_bytes, gltf->world->picture_count);
    if (end == 0) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < gltf->spool.count; i++) {
        const SpoolTrack *track = &gltf->spool.tracks[i];
        GltfType type = track->bytes == 16   ? GLTF_VEC4
                        : track->bytes == 12 ? GLTF_VEC3
                                             : GLTF_SCALAR;
        u32 index = add_accessor(gltf, type, (u32)gltf->world->picture_count, false);
        if (index == GLTF_NONE) {
            return ERROR_MEMORY;
        }
        gltf->accessors[index].offset = track->offset;
    }
    gltf->bin_bytes = end;
    return ERROR_OK;
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    Gltf *gltf = calloc(1, sizeof *gltf);
    *format = gltf;
    if (gltf == NULL) {
        return ERROR_MEMORY;
    }
    gltf->world = world;
    gltf->output = output;
    if (world->picture_count > UINT32_MAX) {
        return export_output_fail(output, ERROR_LIMIT, "more pictures than glTF can count");
    }
    u64 steps = world->picture_count - 1, most = u32_max(world->shapes_max, 2) - 1;
    gltf->sample_stride = u64_max((steps + most - 1) / most, 1);
    gltf->sample_count = (u32)((steps + gltf->sample_stride - 1) / gltf->sample_stride) + 1;
    gltf->bin = export_file_scratch(output);
    int result = add_nodes(gltf);
    bool shapes = false;
    for (u32 i = 0; i < world->thing_count && result == ERROR_OK; i++) {
        shapes |= gltf->nodes[i].base != GLTF_NONE;
    }
    if (result == ERROR_OK && shapes && gltf->sample_count > 1) {
        result = add_weights(gltf);
    }
    return result == ERROR_OK && world->picture_count > 1 ? add_tracks(gltf) : result;
}

/* ---- pictures ---- */

static void put_body(Gltf *gltf, GltfNode *node, const ExportState *state)
{
    if (state->there) {
        Quat rotation = state->rotation;
        if (node->placed && quat_dot(node->rotation, rotation) < 0.0f) {
            rotation = (Quat){-rotation.w, -rotation.x, -rotation.y, -rotation.z};
        }
        bool first = !node->placed;
        node->placed = true;
        if (first || node->move >= 0) {
            node->position = state->position;
            node->rotation = rotation;
        }
    }
    /* Absent things keep their position: they are invisible. */
    const f32 rotate[4] = {node->rotation.x, node->rotation.y, node->rotation.z,
                           node->placed ? node->rotation.w : 1.0f};
    if (node->move >= 0) {
        spool_put(&gltf->spool, (u32)node->move, &node->position);
        spool_put(&gltf->spool, (u32)node->rotate, rotate);
    }
}

/* Vertices of one sample: points without a live one lie on the first, so that they do not show. */
static void put_shape(Gltf *gltf, u32 thing, const ExportState *state, u32 sample)
{
    const GltfNode *node = &gltf->nodes[thing];
    u32 count = gltf->world->things[thing].vertices;
    Vec3 *base = gltf->base + gltf->base_of[thing];
    Vec3 *out = sample == 0 ? base : gltf->target;
    bool there = state->there && state->point_count > 0;
    for (u32 i = 0; i < count; i++) {
        out[i] = !there ? base[i] : state->points[i < state->point_count ? i : 0];
        if (sample > 0) {
            out[i] = vec3_sub(out[i], base[i]);
        }
    }
    gltf_fill(gltf, sample == 0 ? node->base : node->first_target + sample - 1, out, true);
}

static int picture(void *format, const ExportPicture *picture)
{
    Gltf *gltf = format;
    const ExportWorld *world = gltf->world;
    bool last = picture->number + 1 == world->picture_count;
    bool sampled = picture->number % gltf->sample_stride == 0 || last;
    f32 seconds = (f32)((f64)(picture->tick - world->first_tick) / world->tick_rate);
    bool tracks = world->picture_count > 1;
    for (u32 i = 0; i < world->thing_count; i++) {
        GltfNode *node = &gltf->nodes[i];
        const ExportState *state = &picture->states[i];
        if (world->things[i].form == EXPORT_BODY) {
            put_body(gltf, node, state);
        }
        f32 size = state->there ? 1.0f : 0.0f;
        const f32 scale[3] = {size, size, size};
        if (node->show >= 0) {
            spool_put(&gltf->spool, (u32)node->show, scale);
        }
        if (node->base != GLTF_NONE && sampled) {
            put_shape(gltf, i, state, gltf->samples_done);
        }
    }
    if (sampled) {
        gltf->seconds[gltf->samples_done++] = seconds;
    }
    if (tracks) {
        GltfAccessor *times = &gltf->accessors[gltf->spool_accessor];
        times->bounded = true;
        times->max[0] = seconds; /* the first is 0 */
        spool_put(&gltf->spool, 0, &seconds);
        spool_next(&gltf->spool);
    }
    return ERROR_OK;
}

/* ---- end ---- */

static void finish_buffer(Gltf *gltf)
{
    if (gltf->world->picture_count > 1) {
        spool_end(&gltf->spool);
    }
    if (gltf->weights != 0) {
        gltf_fill(gltf, gltf->sample_times, gltf->seconds, true);
    }
}

static int end_gltf(void *format)
{
    Gltf *gltf = format;
    char name[512];
    finish_buffer(gltf);
    export_output_name(gltf->output, ".bin", name, sizeof name);
    ExportFile *json = export_file_create(gltf->output, NULL);
    gltf_json(gltf, json, name);
    export_file_close(json);
    ExportFile *bin = export_file_create(gltf->output, ".bin");
    export_copy(bin, gltf->bin, 0, gltf->bin_bytes);
    export_file_close(bin);
    return ERROR_OK;
}

static void write_chunk_header(ExportFile *file, u64 bytes, u32 type)
{
    const u32 header[2] = {(u32)bytes, type};
    export_write(file, header, sizeof header);
}

static int end_glb(void *format)
{
    Gltf *gltf = format;
    finish_buffer(gltf);
    ExportFile *json = export_file_scratch(gltf->output);
    gltf_json(gltf, json, NULL);
    u64 json_bytes = export_file_bytes(json), padding = (4 - json_bytes % 4) % 4;
    export_write(json, "   ", (size_t)padding);
    json_bytes += padding;
    bool binary = gltf->accessor_count > 0;
    u64 total = HEADER_BYTES + CHUNK_HEADER_BYTES + json_bytes +
                (binary ? CHUNK_HEADER_BYTES + gltf->bin_bytes : 0);
    if (total > UINT32_MAX) {
        export_file_close(json);
        return export_output_fail(gltf->output, ERROR_LIMIT,
                                  "a .glb holds at most 4 GiB, this has %.1f: use .gltf, --every, "
                                  "--only or fewer --shapes",
                                  (f64)total / 1073741824.0);
    }
    ExportFile *file = export_file_create(gltf->output, NULL);
    const u32 header[3] = {GLB_MAGIC, GLB_VERSION, (u32)total};
    export_write(file, header, sizeof header);
    write_chunk_header(file, json_bytes, CHUNK_JSON);
    export_file_flush(json);
    export_copy(file, json, 0, json_bytes);
    if (binary) {
        write_chunk_header(file, gltf->bin_bytes, CHUNK_BIN);
        export_copy(file, gltf->bin, 0, gltf->bin_bytes);
    }
    export_file_close(json);
    export_file_close(file);
    return ERROR_OK;
}

static void destroy(void *format)
{
    Gltf *gltf = format;
    export_file_close(gltf->bin);
    spool_finish(&gltf->spool);
    numbering_finish(&gltf->shape_numbers);
    numbering_finish(&gltf->mesh_numbers);
    numbering_finish(&gltf->material_numbers);
    free(gltf->accessors);
    free(gltf->shapes);
    free(gltf->meshes);
    free(gltf->materials);
    free(gltf->nodes);
    free(gltf->base);
    free(gltf->base_of);
    free(gltf->target);
    free(gltf->seconds);
    free(gltf);
}

const ExportFormat export_glb = {
    .name = "glb",
    .about = "glTF 2.0 with animation, one file",
    .begin = begin,
    .picture = picture,
    .end = end_glb,
    .destroy = destroy,
};

const ExportFormat export_gltf = {
    .name = "gltf",
    .about = "glTF 2.0 with animation, as JSON and a file .bin beside it",
    .begin = begin,
    .picture = picture,
    .end = end_gltf,
    .destroy = destroy,
};
