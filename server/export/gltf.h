/*
 * gltf.h: a glTF 2.0 document under construction: the binary buffer in a scratch file, and its
 * description for the JSON. Each accessor has a buffer view of its own.
 * Layer: server/export, private.
 */
#ifndef PLENUM_SERVER_EXPORT_GLTF_H
#define PLENUM_SERVER_EXPORT_GLTF_H

#include "server/export/export.h"
#include "server/export/numbering.h"
#include "server/export/spool.h"

#define GLTF_NONE UINT32_MAX

typedef enum GltfType {
    GLTF_SCALAR, /* f32 */
    GLTF_VEC3,   /* f32 */
    GLTF_VEC4,   /* f32 */
    GLTF_INDEX,  /* u32 */
} GltfType;

typedef struct GltfAccessor {
    u64 offset; /* in the buffer */
    u32 count;
    GltfType type;
    bool vertices; /* attributes of vertices, else of tracks; indices are neither */
    bool bounded;  /* min and max are given */
    f32 min[3], max[3];
} GltfAccessor;

/* Positions, normals and indices of a shape. */
typedef struct GltfShape {
    u32 positions, normals, indices; /* accessors; GLTF_NONE: the shape has no triangle */
} GltfShape;

/* Of bodies: a shape and a material; two bodies that look alike share one. */
typedef struct GltfMesh {
    u32 shape, material;
} GltfMesh;

typedef struct GltfMaterial {
    f32 color[4];
    f32 roughness;
    bool two_sided;
} GltfMaterial;

typedef struct GltfNode {
    u32 mesh;               /* of a body: index in meshes; GLTF_NONE */
    u32 material;           /* not of a body */
    u32 indices;            /* not of a body: accessor, or GLTF_NONE */
    u32 base;               /* not of a body: accessor of the first shape's positions */
    u32 first_target;       /* and of the others: accessors in a row */
    i64 move, rotate, show; /* tracks, or −1 */
    bool placed;            /* the pose below is known */
    Vec3 position;
    Quat rotation;
} GltfNode;

typedef struct Gltf {
    const ExportWorld *world;
    ExportOutput *output;
    ExportFile *bin; /* scratch: the buffer */
    u64 bin_bytes;   /* bytes of it that are allocated; a multiple of 4 */
    Spool spool;
    u32 spool_accessor; /* of track 0; those of the others follow */
    GltfAccessor *accessors;
    u32 accessor_count, accessor_capacity;
    Numbering shape_numbers, mesh_numbers, material_numbers;
    GltfShape *shapes;
    u32 shape_capacity;
    GltfMesh *meshes;
    u32 mesh_capacity;
    GltfMaterial *materials;
    u32 material_capacity;
    GltfNode *nodes; /* [thing_count] */
    /* Soft bodies and liquids have this many shapes over time, at their own times. */
    u32 sample_count;
    u64 sample_stride; /* pictures from sample to sample; the last picture is the last sample */
    u32 samples_done;
    u32 sample_times, weights; /* accessors */
    Vec3 *base;                /* first shapes of all things, as their accessors have them */
    u64 *base_of;              /* [thing_count] where a thing's begin */
    Vec3 *target;              /* of the largest thing */
    f32 *seconds;              /* [sample_count] */
} Gltf;

PL_BEGIN_C
/* The index of a new accessor over bytes that are allocated here; GLTF_NONE: out of memory. */
u32 gltf_accessor(Gltf *gltf, GltfType type, u32 count, bool vertices);
u32 gltf_type_bytes(GltfType type);
/* Writes the data of an accessor; with bounds if `bounded`. */
void gltf_fill(Gltf *gltf, u32 accessor, const void *data, bool bounded);
/* The JSON; buffer_uri NULL: the buffer is the chunk after it. */
void gltf_json(const Gltf *gltf, ExportFile *file, const char *buffer_uri);
PL_END_C

#endif
