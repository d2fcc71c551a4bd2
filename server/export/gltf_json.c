/* gltf_json.c: the JSON of a glTF document, in the order of the specification's chapters. */
#include "server/export/gltf.h"
#include "server/export/text.h"
#include "shared/base/version.h"

/* glTF's numbers for types of components, targets of buffers and modes of primitives. */
enum {
    COMPONENT_U32 = 5125,
    COMPONENT_F32 = 5126,
    TARGET_VERTICES = 34962,
    TARGET_INDICES = 34963,
    MODE_POINTS = 0,
    MODE_LINES = 1,
    MODE_TRIANGLES = 4,
};

u32 gltf_type_bytes(GltfType type)
{
    return type == GLTF_VEC3 ? 12 : type == GLTF_VEC4 ? 16 : 4;
}

static void comma(ExportFile *file, u32 index)
{
    if (index > 0) {
        export_write(file, ",", 1);
    }
}

static void print_buffers(const Gltf *gltf, ExportFile *file, const char *uri)
{
    export_print(file, ",\"buffers\":[{\"byteLength\":%llu", (unsigned long long)gltf->bin_bytes);
    if (uri != NULL) {
        export_print(file, ",\"uri\":");
        export_print_quoted(file, uri);
    }
    export_print(file, "}],\"bufferViews\":[");
    for (u32 i = 0; i < gltf->accessor_count; i++) {
        const GltfAccessor *a = &gltf->accessors[i];
        comma(file, i);
        export_print(file, "{\"buffer\":0,\"byteOffset\":%llu,\"byteLength\":%llu",
                     (unsigned long long)a->offset,
                     (unsigned long long)a->count * gltf_type_bytes(a->type));
        if (a->vertices || a->type == GLTF_INDEX) {
            export_print(file, ",\"target\":%d",
                         a->type == GLTF_INDEX ? TARGET_INDICES : TARGET_VERTICES);
        }
        export_write(file, "}", 1);
    }
    export_print(file, "],\"accessors\":[");
    static const char *const types[] = {[GLTF_SCALAR] = "SCALAR",
                                        [GLTF_VEC3] = "VEC3",
                                        [GLTF_VEC4] = "VEC4",
                                        [GLTF_INDEX] = "SCALAR"};
    for (u32 i = 0; i < gltf->accessor_count; i++) {
        const GltfAccessor *a = &gltf->accessors[i];
        comma(file, i);
        export_print(file, "{\"bufferView\":%u,\"componentType\":%d,\"count\":%u,\"type\":\"%s\"",
                     i, a->type == GLTF_INDEX ? COMPONENT_U32 : COMPONENT_F32, a->count,
                     types[a->type]);
        if (a->bounded) {
            u32 numbers = a->type == GLTF_VEC3 ? 3 : 1;
            export_print(file, ",\"min\":");
            export_print_numbers(file, a->min, numbers);
            export_print(file, ",\"max\":");
            export_print_numbers(file, a->max, numbers);
        }
        export_write(file, "}", 1);
    }
    export_write(file, "]", 1);
}

static void print_materials(const Gltf *gltf, ExportFile *file)
{
    u32 count = gltf->material_numbers.count;
    for (u32 i = 0; i < count; i++) {
        const GltfMaterial *m = &gltf->materials[i];
        export_print(file, i == 0 ? ",\"materials\":[" : ",");
        export_print(file, "{\"pbrMetallicRoughness\":{\"baseColorFactor\":");
        export_print_numbers(file, m->color, 4);
        export_print(file, ",\"metallicFactor\":0,\"roughnessFactor\":");
        export_print_number(file, (f64)m->roughness);
        export_print(file, "}%s%s}", m->color[3] < 1.0f ? ",\"alphaMode\":\"BLEND\"" : "",
                     m->two_sided ? ",\"doubleSided\":true" : "");
    }
    export_print(file, count > 0 ? "]" : "");
}

/* Meshes of bodies first, then one for each other drawable thing. */
static void print_meshes(const Gltf *gltf, ExportFile *file)
{
    const ExportWorld *world = gltf->world;
    u32 count = 0;
    for (u32 i = 0; i < gltf->mesh_numbers.count; i++) {
        const GltfMesh *mesh = &gltf->meshes[i];
        const GltfShape *shape = &gltf->shapes[mesh->shape];
        export_print(file, count++ == 0 ? ",\"meshes\":[" : ",");
        export_print(file,
                     "{\"primitives\":[{\"attributes\":{\"POSITION\":%u,\"NORMAL\":%u},"
                     "\"indices\":%u,\"material\":%u}]}",
                     shape->positions, shape->normals, shape->indices, mesh->material);
    }
    for (u32 i = 0; i < world->thing_count; i++) {
        const GltfNode *node = &gltf->nodes[i];
        if (node->base == GLTF_NONE) {
            continue;
        }
        ExportForm form = world->things[i].form;
        export_print(file, count++ == 0 ? ",\"meshes\":[" : ",");
        export_print(file,
                     "{\"primitives\":[{\"attributes\":{\"POSITION\":%u},\"material\":%u,"
                     "\"mode\":%d",
                     node->base, node->material,
                     form == EXPORT_SURFACE ? MODE_TRIANGLES
                     : form == EXPORT_LINES ? MODE_LINES
                                            : MODE_POINTS);
        if (node->indices != GLTF_NONE) {
            export_print(file, ",\"indices\":%u", node->indices);
        }
        for (u32 k = 1; k < gltf->sample_count; k++) {
            export_print(file, "%s{\"POSITION\":%u}", k == 1 ? ",\"targets\":[" : ",",
                         node->first_target + k - 1);
        }
        export_print(file, gltf->sample_count > 1 ? "]}]}" : "}]}");
    }
    export_print(file, count > 0 ? "]" : "");
}

static void print_node(const Gltf *gltf, ExportFile *file, u32 thing, u32 *next_mesh)
{
    const GltfNode *node = &gltf->nodes[thing];
    export_print(file, "{\"name\":");
    export_print_quoted(file, gltf->world->things[thing].name);
    if (node->mesh != GLTF_NONE) {
        export_print(file, ",\"mesh\":%u", node->mesh);
    } else if (node->base != GLTF_NONE) {
        export_print(file, ",\"mesh\":%u", (*next_mesh)++);
    }
    if (node->placed) {
        const f32 move[3] = {node->position.x, node->position.y, node->position.z};
        const f32 rotate[4] = {node->rotation.x, node->rotation.y, node->rotation.z,
                               node->rotation.w};
        export_print(file, ",\"translation\":");
        export_print_numbers(file, move, 3);
        export_print(file, ",\"rotation\":");
        export_print_numbers(file, rotate, 4);
    }
    export_write(file, "}", 1);
}

/* Node i is thing i; the last one holds them all. */
static void print_nodes(const Gltf *gltf, ExportFile *file)
{
    u32 count = gltf->world->thing_count, next_mesh = gltf->mesh_numbers.count;
    export_print(file, ",\"nodes\":[");
    for (u32 i = 0; i < count; i++) {
        print_node(gltf, file, i, &next_mesh);
        export_write(file, ",", 1);
    }
    export_print(file, "{\"name\":\"world\"");
    for (u32 i = 0; i < count; i++) {
        export_print(file, "%s%u", i == 0 ? ",\"children\":[" : ",", i);
    }
    export_print(file, count > 0 ? "]}]" : "}]");
    export_print(file, ",\"scenes\":[{\"nodes\":[%u]}],\"scene\":0", count);
}

/* ---- animation ---- */

typedef struct GltfChannel {
    u32 node;
    const char *path;
    u32 times, values; /* accessors */
    const char *interpolation;
} GltfChannel;

/* Calls `print` for each channel of the animation, in one order. */
static u32 each_channel(const Gltf *gltf, ExportFile *file,
                        void (*print)(ExportFile *file, u32 index, const GltfChannel *channel))
{
    u32 count = 0, times = gltf->spool_accessor;
    for (u32 i = 0; i < gltf->world->thing_count; i++) {
        const GltfNode *node = &gltf->nodes[i];
        const i64 tracks[3] = {node->move, node->rotate, node->show};
        static const char *const paths[3] = {"translation", "rotation", "scale"};
        for (u32 k = 0; k < 3; k++) {
            GltfChannel channel = {i, paths[k], times, gltf->spool_accessor + (u32)tracks[k],
                                   k == 2 ? "STEP" : "LINEAR"};
            if (tracks[k] >= 0) {
                print(file, count++, &channel);
            }
        }
        GltfChannel shapes = {i, "weights", gltf->sample_times, gltf->weights,
                              gltf->world->things[i].form == EXPORT_POINTS ? "STEP" : "LINEAR"};
        if (node->base != GLTF_NONE && gltf->sample_count > 1) {
            print(file, count++, &shapes);
        }
    }
    return count;
}

static void print_channel(ExportFile *file, u32 index, const GltfChannel *channel)
{
    export_print(file, "%s{\"sampler\":%u,\"target\":{\"node\":%u,\"path\":\"%s\"}}",
                 index == 0 ? ",\"animations\":[{\"name\":\"recording\",\"channels\":[" : ",",
                 index, channel->node, channel->path);
}

static void print_sampler(ExportFile *file, u32 index, const GltfChannel *channel)
{
    export_print(file, "%s{\"input\":%u,\"output\":%u,\"interpolation\":\"%s\"}",
                 index == 0 ? "],\"samplers\":[" : ",", channel->times, channel->values,
                 channel->interpolation);
}

void gltf_json(const Gltf *gltf, ExportFile *file, const char *buffer_uri)
{
    export_print(file, "{\"asset\":{\"version\":\"2.0\",\"generator\":\"plenum %s\"}",
                 PLENUM_VERSION);
    print_nodes(gltf, file);
    print_meshes(gltf, file);
    print_materials(gltf, file);
    if (each_channel(gltf, file, print_channel) > 0) {
        each_channel(gltf, file, print_sampler);
        export_print(file, "]}]");
    }
    if (gltf->accessor_count > 0) {
        print_buffers(gltf, file, buffer_uri);
    }
    export_write(file, "}", 1);
}
