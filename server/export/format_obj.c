/*
 * format_obj.c: a folder of Wavefront .obj files, one a picture, named after the tick, with all
 * surfaces and lines in world coordinates, and materials.mtl.
 */
#include "server/export/color.h"
#include "server/export/export.h"
#include "server/export/shape_mesh.h"
#include "shared/math/quat.h"

#include <stdio.h>
#include <stdlib.h>

typedef struct Obj {
    const ExportWorld *world;
    ExportOutput *output;
    Vec3 *normals; /* of the largest surface */
} Obj;

/* Names in .obj end at a blank. */
static void print_name(ExportFile *file, const char *command, const char *name)
{
    char text[EXPORT_NAME_BYTES_MAX];
    u32 length = 0;
    for (const char *c = name; *c != '\0'; c++) {
        text[length++] = *c == ' ' || *c == '\t' ? '_' : *c;
    }
    text[length] = '\0';
    export_print(file, "%s %s\n", command, text);
}

static bool is_written(const ExportThing *thing)
{
    return thing->visible && thing->form != EXPORT_POINTS;
}

static void write_materials(const ExportWorld *world, ExportOutput *output)
{
    ExportFile *file = export_file_create(output, "materials.mtl");
    for (u32 i = 0; i < world->thing_count; i++) {
        const Appearance *appearance = &world->things[i].entity.appearance;
        if (is_written(&world->things[i])) {
            export_print(file, "newmtl material-%u\nKd %.6g %.6g %.6g\nd %.6g\n", i,
                         export_srgb(appearance->color[0]), export_srgb(appearance->color[1]),
                         export_srgb(appearance->color[2]), (f64)appearance->color[3]);
        }
    }
    export_file_close(file);
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    Obj *obj = calloc(1, sizeof *obj);
    u32 most = 1;
    for (u32 i = 0; i < world->thing_count; i++) {
        most = u32_max(most, world->things[i].vertices);
    }
    *format = obj;
    if (obj == NULL) {
        return ERROR_MEMORY;
    }
    obj->world = world;
    obj->output = output;
    obj->normals = malloc(most * sizeof *obj->normals);
    write_materials(world, output);
    return obj->normals != NULL ? ERROR_OK : ERROR_MEMORY;
}

static void print_vector(ExportFile *file, const char *command, Vec3 v)
{
    export_print(file, "%s %.9g %.9g %.9g\n", command, (f64)v.x, (f64)v.y, (f64)v.z);
}

/* Vertices have the numbers from *next on; each has its own normal. */
static void print_faces(ExportFile *file, const u32 *indices, u32 index_count, u32 next)
{
    for (u32 i = 0; i + 2 < index_count; i += 3) {
        u32 a = indices[i] + next, b = indices[i + 1] + next, c = indices[i + 2] + next;
        export_print(file, "f %u//%u %u//%u %u//%u\n", a, a, b, b, c, c);
    }
}

static int print_body(ExportFile *file, const ExportThing *thing, const ExportState *state,
                      u32 *next)
{
    SurfaceMesh mesh;
    Error result = export_shape_mesh(&mesh, &thing->entity.appearance.shape);
    for (u32 i = 0; i < mesh.vertex_count; i++) {
        print_vector(file, "v",
                     vec3_add(state->position, quat_rotate(state->rotation, mesh.positions[i])));
    }
    for (u32 i = 0; i < mesh.vertex_count; i++) {
        print_vector(file, "vn", quat_rotate(state->rotation, mesh.normals[i]));
    }
    print_faces(file, mesh.indices, mesh.index_count, *next);
    *next += mesh.vertex_count;
    surface_mesh_finish(&mesh);
    return result;
}

/* Lines use vertices only, but the normals' numbers must keep step. */
static void print_points(const Obj *obj, ExportFile *file, const ExportThing *thing,
                         const ExportState *state, u32 *next)
{
    bool lines = thing->form == EXPORT_LINES;
    export_normals(state->points, state->point_count, thing->indices,
                   lines ? 0 : thing->index_count, obj->normals);
    for (u32 i = 0; i < state->point_count; i++) {
        print_vector(file, "v", state->points[i]);
    }
    for (u32 i = 0; i < state->point_count; i++) {
        print_vector(file, "vn", obj->normals[i]);
    }
    if (!lines) {
        print_faces(file, thing->indices, thing->index_count, *next);
    }
    for (u32 i = 0; lines && i + 1 < thing->index_count; i += 2) {
        export_print(file, "l %u %u\n", thing->indices[i] + *next, thing->indices[i + 1] + *next);
    }
    *next += state->point_count;
}

static int picture(void *format, const ExportPicture *picture)
{
    Obj *obj = format;
    char name[32];
    snprintf(name, sizeof name, "%08llu.obj", (unsigned long long)picture->tick);
    ExportFile *file = export_file_create(obj->output, name);
    export_print(file, "# tick %llu, %.9g s, metres, y up\nmtllib materials.mtl\n",
                 (unsigned long long)picture->tick, picture->time_s);
    u32 next = 1;
    int result = ERROR_OK;
    for (u32 i = 0; i < obj->world->thing_count && result == ERROR_OK; i++) {
        const ExportThing *thing = &obj->world->things[i];
        const ExportState *state = &picture->states[i];
        if (!is_written(thing) || !state->there) {
            continue;
        }
        print_name(file, "o", thing->name);
        export_print(file, "usemtl material-%u\n", i);
        if (thing->form == EXPORT_BODY) {
            result = print_body(file, thing, state, &next);
        } else {
            print_points(obj, file, thing, state, &next);
        }
        if (export_output_error(obj->output, NULL) != ERROR_OK) {
            break;
        }
    }
    export_file_close(file);
    return result;
}

static int end(void *format)
{
    PL_UNUSED(format);
    return ERROR_OK;
}

static void destroy(void *format)
{
    Obj *obj = format;
    free(obj->normals);
    free(obj);
}

const ExportFormat export_obj = {
    .name = "obj",
    .about = "a folder: surfaces and lines of each tick as Wavefront OBJ",
    .folder = true,
    .begin = begin,
    .picture = picture,
    .end = end,
    .destroy = destroy,
};
