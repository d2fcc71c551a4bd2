/* foxglove.c: see foxglove.h. Field numbers are those of foxglove_schema.c. */
#include "server/export/foxglove.h"

#include "server/export/color.h"
#include "server/export/shape_mesh.h"

enum {
    LINE_LIST = 2,
    DELETE_ALL = 1,
    NUMERIC_FLOAT32 = 7,
};

static void put_time(Proto *out, u32 field, u64 time_ns)
{
    size_t mark = proto_open(out, field);
    proto_uint(out, 1, time_ns / 1000000000);
    proto_uint(out, 2, time_ns % 1000000000);
    proto_close(out, mark);
}

static void put_vector(Proto *out, u32 field, Vec3 v)
{
    size_t mark = proto_open(out, field);
    proto_double(out, 1, (f64)v.x);
    proto_double(out, 2, (f64)v.y);
    proto_double(out, 3, (f64)v.z);
    proto_close(out, mark);
}

static void put_quaternion(Proto *out, u32 field, Quat q)
{
    size_t mark = proto_open(out, field);
    proto_double(out, 1, (f64)q.x);
    proto_double(out, 2, (f64)q.y);
    proto_double(out, 3, (f64)q.z);
    proto_double(out, 4, (f64)q.w);
    proto_close(out, mark);
}

static void put_pose(Proto *out, u32 field, Vec3 position, Quat rotation)
{
    size_t mark = proto_open(out, field);
    put_vector(out, 1, position);
    put_quaternion(out, 2, rotation);
    proto_close(out, mark);
}

static void put_color(Proto *out, u32 field, const f32 color[4])
{
    size_t mark = proto_open(out, field);
    for (u32 i = 0; i < 3; i++) {
        proto_double(out, i + 1, export_srgb(color[i]));
    }
    proto_double(out, 4, (f64)f32_clamp(color[3], 0.0f, 1.0f));
    proto_close(out, mark);
}

/* ---- poses ---- */

static void put_transform(Proto *out, u64 time_ns, const char *parent, const char *child,
                          Vec3 position, Quat rotation)
{
    size_t mark = proto_open(out, 1);
    put_time(out, 1, time_ns);
    proto_string(out, 2, parent);
    proto_string(out, 3, child);
    put_vector(out, 4, position);
    put_quaternion(out, 5, rotation);
    proto_close(out, mark);
}

void foxglove_transforms(Proto *out, const ExportWorld *world, const ExportPicture *picture,
                         u64 time_ns, bool moves)
{
    if (!moves) {
        /* A quarter turn about x: y of ours is z of theirs. */
        const Quat up = {0.70710678f, 0.70710678f, 0.0f, 0.0f};
        put_transform(out, time_ns, FOXGLOVE_ROOT_FRAME, FOXGLOVE_FRAME, vec3_zero(), up);
    }
    for (u32 i = 0; i < world->thing_count; i++) {
        const ExportThing *thing = &world->things[i];
        const ExportState *state = &picture->states[i];
        if (thing->form == EXPORT_BODY && state->there && thing->moves == moves) {
            put_transform(out, time_ns, FOXGLOVE_FRAME, thing->name, state->position,
                          state->rotation);
        }
    }
}

/* ---- shapes ---- */

static void put_triangles(Proto *out, const Vec3 *points, u32 count, const u32 *indices,
                          u32 index_count, const f32 color[4])
{
    size_t mark = proto_open(out, 12);
    put_pose(out, 1, vec3_zero(), quat_identity());
    for (u32 i = 0; i < count; i++) {
        put_vector(out, 2, points[i]);
    }
    put_color(out, 3, color);
    proto_blob(out, 5, indices, index_count * sizeof *indices);
    proto_close(out, mark);
}

/* Shapes supported by Foxglove; false: not one of them. */
static bool put_primitive(Proto *out, const Shape *shape, const f32 color[4])
{
    f32 across = 2.0f * shape->radius;
    u32 field = shape->kind == SHAPE_BOX ? 8 : shape->kind == SHAPE_SPHERE ? 9 : 0;
    if (field == 0) {
        return false;
    }
    Vec3 size = field == 8 ? vec3_scale(shape->half, 2.0f) : vec3(across, across, across);
    size_t mark = proto_open(out, field);
    put_pose(out, 1, vec3_zero(), quat_identity());
    put_vector(out, 2, size);
    put_color(out, 3, color);
    proto_close(out, mark);
    return true;
}

static size_t open_entity(Proto *out, u64 time_ns, const char *frame, const char *id)
{
    size_t mark = proto_open(out, 2);
    put_time(out, 1, time_ns);
    proto_string(out, 2, frame);
    proto_string(out, 3, id);
    proto_uint(out, 5, 1); /* it follows its frame */
    return mark;
}

static void put_deletion(Proto *out, u64 time_ns)
{
    size_t mark = proto_open(out, 1);
    put_time(out, 1, time_ns);
    proto_uint(out, 2, DELETE_ALL);
    proto_close(out, mark);
}

int foxglove_bodies(Proto *out, const ExportWorld *world, const ExportPicture *picture, u64 time_ns)
{
    put_deletion(out, time_ns);
    for (u32 i = 0; i < world->thing_count && !out->failed; i++) {
        const ExportThing *thing = &world->things[i];
        const Appearance *appearance = &thing->entity.appearance;
        if (thing->form != EXPORT_BODY || !thing->visible || !picture->states[i].there) {
            continue;
        }
        size_t mark = open_entity(out, time_ns, thing->name, thing->name);
        if (!put_primitive(out, &appearance->shape, appearance->color)) {
            SurfaceMesh mesh;
            Error result = export_shape_mesh(&mesh, &appearance->shape);
            put_triangles(out, mesh.positions, mesh.vertex_count, mesh.indices, mesh.index_count,
                          appearance->color);
            surface_mesh_finish(&mesh);
            if (result != ERROR_OK) {
                return result;
            }
        }
        proto_close(out, mark);
    }
    return ERROR_OK;
}

static void put_lines(Proto *out, const ExportThing *thing, const ExportState *state)
{
    const Appearance *appearance = &thing->entity.appearance;
    size_t mark = proto_open(out, 11);
    proto_uint(out, 1, LINE_LIST);
    put_pose(out, 2, vec3_zero(), quat_identity());
    proto_double(out, 3, 2.0 * (f64)appearance->radius);
    for (u32 i = 0; i < state->point_count; i++) {
        put_vector(out, 5, state->points[i]);
    }
    put_color(out, 6, appearance->color);
    proto_blob(out, 8, thing->indices, thing->index_count * sizeof *thing->indices);
    proto_close(out, mark);
}

void foxglove_soft(Proto *out, const ExportWorld *world, const ExportPicture *picture, u64 time_ns)
{
    put_deletion(out, time_ns);
    for (u32 i = 0; i < world->thing_count && !out->failed; i++) {
        const ExportThing *thing = &world->things[i];
        const ExportState *state = &picture->states[i];
        bool surface = thing->form == EXPORT_SURFACE, lines = thing->form == EXPORT_LINES;
        if ((!surface && !lines) || !thing->visible || !state->there) {
            continue;
        }
        size_t mark = open_entity(out, time_ns, FOXGLOVE_FRAME, thing->name);
        if (surface) {
            put_triangles(out, state->points, state->point_count, thing->indices,
                          thing->index_count, thing->entity.appearance.color);
        } else {
            put_lines(out, thing, state);
        }
        proto_close(out, mark);
    }
}

void foxglove_points(Proto *out, const ExportState *state, u64 time_ns)
{
    put_time(out, 1, time_ns);
    proto_string(out, 2, FOXGLOVE_FRAME);
    put_pose(out, 3, vec3_zero(), quat_identity());
    proto_fixed32(out, 4, sizeof(Vec3));
    static const char *const axes[3] = {"x", "y", "z"};
    for (u32 i = 0; i < 3; i++) {
        size_t mark = proto_open(out, 5);
        proto_string(out, 1, axes[i]);
        proto_fixed32(out, 2, i * (u32)sizeof(f32));
        proto_uint(out, 3, NUMERIC_FLOAT32);
        proto_close(out, mark);
    }
    proto_blob(out, 6, state->points, state->point_count * sizeof *state->points);
}

void foxglove_probes(Proto *out, const ExportWorld *world, const ExportPicture *picture,
                     u64 time_ns)
{
    put_time(out, 1, time_ns);
    for (u32 i = 0; i < world->probe_count; i++) {
        size_t mark = proto_open(out, 2);
        proto_string(out, 1, world->probes[i].name);
        proto_double(out, 2, (f64)picture->probes[i]);
        proto_string(out, 3, world->probes[i].unit);
        proto_close(out, mark);
    }
}
