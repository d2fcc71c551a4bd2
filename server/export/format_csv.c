/*
 * format_csv.c: one row a picture (RFC 4180): tick, time, probes, poses of bodies, number and
 * centre of points. The head of a column is KIND/NAME/QUANTITY [UNIT]; names with blanks, commas or
 * quotes are quoted. Absent things have empty cells.
 */
#include "server/export/export.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Csv {
    const ExportWorld *world;
    ExportFile *file;
} Csv;

/* A cell of text; `rest` follows the name within the quotes. */
static void print_head(ExportFile *file, const char *kind, const char *name, const char *rest)
{
    char text[4 * EXPORT_NAME_BYTES_MAX];
    u32 length = 0;
    for (const char *c = name; *c != '\0'; c++) {
        if (*c == '"') {
            text[length++] = '"';
        }
        text[length++] = *c;
    }
    text[length] = '\0';
    export_print(file, ",\"%s/%s%s\"", kind, text, rest);
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    Csv *csv = calloc(1, sizeof *csv);
    if (csv == NULL) {
        return ERROR_MEMORY;
    }
    *format = csv;
    csv->world = world;
    csv->file = export_file_create(output, NULL);
    export_print(csv->file, "\"tick\",\"time [s]\"");
    for (u32 i = 0; i < world->probe_count; i++) {
        char unit[UNIT_BYTES_MAX + 8] = "";
        const ExportProbe *probe = &world->probes[i];
        if (probe->unit[0] != '\0' && strchr(probe->unit, '"') == NULL) {
            snprintf(unit, sizeof unit, " [%s]", probe->unit);
        }
        print_head(csv->file, "probe", probe->name, unit);
    }
    static const char *const pose[7] = {"/x [m]", "/y [m]", "/z [m]", "/qx", "/qy", "/qz", "/qw"};
    static const char *const points[4] = {"/count", "/x [m]", "/y [m]", "/z [m]"};
    for (u32 i = 0; i < world->thing_count; i++) {
        const ExportThing *thing = &world->things[i];
        bool body = thing->form == EXPORT_BODY;
        for (u32 k = 0; k < (body ? 7 : 4); k++) {
            print_head(csv->file, body ? "body" : "points", thing->name, (body ? pose : points)[k]);
        }
    }
    export_print(csv->file, "\r\n");
    return ERROR_OK;
}

static void print_points(ExportFile *file, const ExportState *state)
{
    f64 sum[3] = {0.0, 0.0, 0.0};
    for (u32 i = 0; i < state->point_count; i++) {
        sum[0] += (f64)state->points[i].x;
        sum[1] += (f64)state->points[i].y;
        sum[2] += (f64)state->points[i].z;
    }
    if (!state->there || state->point_count == 0) {
        export_print(file, ",0,,,");
        return;
    }
    f64 count = state->point_count;
    export_print(file, ",%u,%.9g,%.9g,%.9g", state->point_count, sum[0] / count, sum[1] / count,
                 sum[2] / count);
}

static int picture(void *format, const ExportPicture *picture)
{
    Csv *csv = format;
    export_print(csv->file, "%llu,%.9g", (unsigned long long)picture->tick, picture->time_s);
    for (u32 i = 0; i < csv->world->probe_count; i++) {
        export_print(csv->file, ",%.9g", (f64)picture->probes[i]);
    }
    for (u32 i = 0; i < csv->world->thing_count; i++) {
        const ExportState *s = &picture->states[i];
        if (csv->world->things[i].form != EXPORT_BODY) {
            print_points(csv->file, s);
        } else if (s->there) {
            export_print(csv->file, ",%.9g,%.9g,%.9g,%.9g,%.9g,%.9g,%.9g", (f64)s->position.x,
                         (f64)s->position.y, (f64)s->position.z, (f64)s->rotation.x,
                         (f64)s->rotation.y, (f64)s->rotation.z, (f64)s->rotation.w);
        } else {
            export_print(csv->file, ",,,,,,,");
        }
    }
    export_print(csv->file, "\r\n");
    return ERROR_OK;
}

static int end(void *format)
{
    PL_UNUSED(format);
    return ERROR_OK;
}

static void destroy(void *format)
{
    Csv *csv = format;
    export_file_close(csv->file);
    free(csv);
}

const ExportFormat export_csv = {
    .name = "csv",
    .about = "a table: probes, poses, centres of points; one row a tick",
    .begin = begin,
    .picture = picture,
    .end = end,
    .destroy = destroy,
};
