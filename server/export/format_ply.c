/*
 * format_ply.c: a folder of binary PLY files, one a picture, named after the tick, with the points
 * of liquids, grains and particles: position, colour, radius and object of each; the objects' names
 * are comments in the header.
 */
#include "server/export/color.h"
#include "server/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Ply {
    const ExportWorld *world;
    ExportOutput *output;
} Ply;

static bool is_written(const ExportThing *thing)
{
    return thing->visible && thing->form == EXPORT_POINTS;
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    u32 count = 0;
    for (u32 i = 0; i < world->thing_count; i++) {
        count += is_written(&world->things[i]);
    }
    if (count == 0) {
        return export_output_fail(output, ERROR_NOT_FOUND,
                                  "nothing to write: there are no loose points; obj has surfaces");
    }
    Ply *ply = calloc(1, sizeof *ply);
    *format = ply;
    if (ply == NULL) {
        return ERROR_MEMORY;
    }
    ply->world = world;
    ply->output = output;
    return ERROR_OK;
}

static void write_points(ExportFile *file, const ExportThing *thing, u32 index,
                         const ExportState *state)
{
    enum {
        BYTES = 23
    };
    const Appearance *appearance = &thing->entity.appearance;
    f32 radius = appearance_ball_radius(appearance);
    i32 object = (i32)index;
    u8 color[3];
    for (u32 k = 0; k < 3; k++) {
        color[k] = (u8)(255.0 * export_srgb(appearance->color[k]) + 0.5);
    }
    for (u32 i = 0; i < state->point_count; i++) {
        u8 point[BYTES];
        memcpy(point, &state->points[i], 12);
        memcpy(point + 12, color, 3);
        memcpy(point + 15, &radius, 4);
        memcpy(point + 19, &object, 4);
        export_write(file, point, sizeof point);
    }
}

static int picture(void *format, const ExportPicture *picture)
{
    Ply *ply = format;
    char name[32];
    snprintf(name, sizeof name, "%08llu.ply", (unsigned long long)picture->tick);
    ExportFile *file = export_file_create(ply->output, name);
    u64 count = 0;
    for (u32 i = 0; i < ply->world->thing_count; i++) {
        count += is_written(&ply->world->things[i]) ? picture->states[i].point_count : 0;
    }
    export_print(file,
                 "ply\nformat binary_little_endian 1.0\ncomment tick %llu, %.9g s, metres, y up\n",
                 (unsigned long long)picture->tick, picture->time_s);
    for (u32 i = 0; i < ply->world->thing_count; i++) {
        if (is_written(&ply->world->things[i])) {
            export_print(file, "comment object %u %s\n", i, ply->world->things[i].name);
        }
    }
    export_print(file,
                 "element vertex %llu\nproperty float x\nproperty float y\nproperty float z\n"
                 "property uchar red\nproperty uchar green\nproperty uchar blue\n"
                 "property float radius\nproperty int object\nend_header\n",
                 (unsigned long long)count);
    for (u32 i = 0; i < ply->world->thing_count; i++) {
        if (is_written(&ply->world->things[i])) {
            write_points(file, &ply->world->things[i], i, &picture->states[i]);
        }
    }
    export_file_close(file);
    return ERROR_OK;
}

static int end(void *format)
{
    PL_UNUSED(format);
    return ERROR_OK;
}

static void destroy(void *format)
{
    free(format);
}

const ExportFormat export_ply = {
    .name = "ply",
    .about = "a folder: points of liquids, grains and particles of each tick as binary PLY",
    .folder = true,
    .begin = begin,
    .picture = picture,
    .end = end,
    .destroy = destroy,
};
