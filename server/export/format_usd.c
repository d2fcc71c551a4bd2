/*
 * format_usd.c: USD as text (.usda): bodies as Xforms with time samples of translation and
 * orientation around a mesh that equal shapes share, soft bodies as Meshes, ropes as BasisCurves,
 * loose points as Points with time samples of their points. A time code is a tick; absent things
 * are invisible.
 */
#include "server/export/export.h"
#include "server/export/numbering.h"
#include "server/export/shape_mesh.h"
#include "server/export/spool.h"
#include "server/export/text.h"
#include "shared/base/memory.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    TRACK_TICK = 0, /* u64 */
    BATCH = 256,    /* records that are read together */
};

/* One record of a body's track. */
typedef struct UsdPose {
    f32 position[3];
    f32 rotation[4]; /* w x y z */
    u32 there;
} UsdPose;

typedef struct UsdTrack {
    u32 track; /* BODY: UsdPose; else [1 + 3 vertices] u32: count, then the bits of positions */
    i64 shape; /* of a body; −1: none */
} UsdTrack;

typedef struct Usd {
    const ExportWorld *world;
    ExportFile *file, *scratch;
    Spool spool;
    Numbering shape_numbers;
    const Shape **shapes; /* [shape_numbers.count] */
    u32 shape_capacity;
    UsdTrack *tracks; /* [thing_count] */
    u32 *record;      /* of the largest thing */
    u64 last_tick;
    bool sampled; /* a sample of the body is printed */
} Usd;

/* ---- names ---- */

/* An identifier: invalid characters become '_', and then the thing's number makes it unique. */
static void print_identifier(ExportFile *file, const char *name, u32 index)
{
    char text[EXPORT_NAME_BYTES_MAX + 2];
    u32 length = 0;
    bool changed = strstr(name, "__") != NULL || isdigit((unsigned char)name[0]);
    if (isdigit((unsigned char)name[0])) {
        text[length++] = '_';
    }
    for (const char *c = name; *c != '\0'; c++) {
        bool fits = isalnum((unsigned char)*c) || *c == '_';
        text[length++] = fits ? *c : '_';
        changed |= !fits;
    }
    text[length] = '\0';
    export_print(file, changed ? "\"%s__%u\"" : "\"%s\"", text, index);
}

/* ---- meshes ---- */

static void print_vectors(ExportFile *file, const f32 *v, u32 count)
{
    export_write(file, "[", 1);
    for (u32 i = 0; i < count; i++) {
        export_print(file, i == 0 ? "(%.9g, %.9g, %.9g)" : ", (%.9g, %.9g, %.9g)", (f64)v[3 * i],
                     (f64)v[3 * i + 1], (f64)v[3 * i + 2]);
    }
    export_write(file, "]", 1);
}

static void print_counts(ExportFile *file, const char *name, u32 value, u32 count)
{
    export_print(file, "int[] %s = [", name);
    for (u32 i = 0; i < count; i++) {
        export_print(file, i == 0 ? "%u" : ", %u", value);
    }
    export_print(file, "]\n");
}

static void print_triangles(ExportFile *file, const u32 *indices, u32 count)
{
    print_counts(file, "faceVertexCounts", 3, count / 3);
    export_print(file, "int[] faceVertexIndices = [");
    for (u32 i = 0; i < count; i++) {
        export_print(file, i == 0 ? "%u" : ", %u", indices[i]);
    }
    export_print(file, "]\nuniform token subdivisionScheme = \"none\"\n");
}

static int print_shape(ExportFile *file, const Shape *shape, u32 number)
{
    SurfaceMesh mesh;
    Error result = export_shape_mesh(&mesh, shape);
    export_print(file, "def Mesh \"shape_%u\"\n{\n", number);
    print_triangles(file, mesh.indices, mesh.index_count);
    export_print(file, "point3f[] points = ");
    print_vectors(file, (const f32 *)mesh.positions, mesh.vertex_count);
    export_print(file, "\nnormal3f[] normals = ");
    print_vectors(file, (const f32 *)mesh.normals, mesh.vertex_count);
    export_print(file, " (interpolation = \"vertex\")\n}\n");
    surface_mesh_finish(&mesh);
    return result;
}

static void print_color(ExportFile *file, const Appearance *appearance)
{
    export_print(file,
                 "color3f[] primvars:displayColor = [(%.6g, %.6g, %.6g)]\n"
                 "float[] primvars:displayOpacity = [%.6g]\n",
                 (f64)appearance->color[0], (f64)appearance->color[1], (f64)appearance->color[2],
                 (f64)appearance->color[3]);
}

/* ---- pictures ---- */

static int add_shape(Usd *usd, const Shape *shape, i64 *number)
{
    bool is_new;
    *number = numbering_get(&usd->shape_numbers, export_shape_key(shape), &is_new);
    if (*number < 0 || !memory_grow((void **)&usd->shapes, &usd->shape_capacity, (u32)*number + 1,
                                    sizeof(Shape *))) {
        return ERROR_MEMORY;
    }
    usd->shapes[*number] = is_new ? shape : usd->shapes[*number];
    return ERROR_OK;
}

static int begin(void **format, const ExportWorld *world, ExportOutput *output)
{
    Usd *usd = calloc(1, sizeof *usd);
    *format = usd;
    if (usd == NULL) {
        return ERROR_MEMORY;
    }
    usd->world = world;
    usd->file = export_file_create(output, NULL);
    usd->scratch = export_file_scratch(output);
    usd->tracks = calloc(u32_max(world->thing_count, 1), sizeof *usd->tracks);
    u32 most = 1;
    if (usd->tracks == NULL || spool_track(&usd->spool, sizeof(u64)) != TRACK_TICK) {
        return ERROR_MEMORY;
    }
    for (u32 i = 0; i < world->thing_count; i++) {
        const ExportThing *thing = &world->things[i];
        bool body = thing->form == EXPORT_BODY;
        u32 words = 1 + 3 * thing->vertices;
        i64 track = spool_track(&usd->spool, body ? sizeof(UsdPose) : words * sizeof(u32));
        usd->tracks[i] = (UsdTrack){.track = (u32)track, .shape = -1};
        most = u32_max(most, words);
        if (track < 0 ||
            (body && thing->visible &&
             add_shape(usd, &thing->entity.appearance.shape, &usd->tracks[i].shape) != 0)) {
            return ERROR_MEMORY;
        }
    }
    usd->record = calloc(most, sizeof *usd->record);
    u64 end = spool_begin(&usd->spool, usd->scratch, 0, world->picture_count);
    return usd->record != NULL && end != 0 ? ERROR_OK : ERROR_MEMORY;
}

static int picture(void *format, const ExportPicture *picture)
{
    Usd *usd = format;
    spool_put(&usd->spool, TRACK_TICK, &picture->tick);
    for (u32 i = 0; i < usd->world->thing_count; i++) {
        const ExportThing *thing = &usd->world->things[i];
        const ExportState *s = &picture->states[i];
        if (!s->there) {
            continue; /* its record is zero */
        }
        if (thing->form == EXPORT_BODY) {
            const UsdPose pose = {{s->position.x, s->position.y, s->position.z},
                                  {s->rotation.w, s->rotation.x, s->rotation.y, s->rotation.z},
                                  1};
            spool_put(&usd->spool, usd->tracks[i].track, &pose);
        } else {
            usd->record[0] = s->point_count;
            memcpy(usd->record + 1, s->points, s->point_count * sizeof *s->points);
            spool_put(&usd->spool, usd->tracks[i].track, usd->record);
        }
    }
    usd->last_tick = picture->tick;
    spool_next(&usd->spool);
    return ERROR_OK;
}

/* ---- tracks ---- */

typedef void UsdPrint(Usd *usd, u32 thing, u64 tick, const u32 *record);

/* Calls `print` with each record of a thing's track and its tick. */
static void each_record(Usd *usd, u32 thing, u32 *records, u32 batch, UsdPrint *print)
{
    u32 track = usd->tracks[thing].track;
    u64 ticks[BATCH];
    u32 words = usd->spool.tracks[track].bytes / sizeof(u32);
    for (u64 at = 0; at < usd->world->picture_count;) {
        u64 count = u64_min(usd->world->picture_count - at, batch);
        spool_read(&usd->spool, TRACK_TICK, at, count, ticks);
        spool_read(&usd->spool, track, at, count, records);
        for (u64 i = 0; i < count; i++) {
            print(usd, thing, ticks[i], records + i * words);
        }
        at += count;
    }
}

/* Static things have one sample. */
static bool is_sampled(Usd *usd, u32 thing)
{
    bool first = !usd->sampled;
    usd->sampled = true;
    return first || usd->world->things[thing].moves;
}

static void print_translation(Usd *usd, u32 thing, u64 tick, const u32 *record)
{
    const UsdPose *pose = (const UsdPose *)record;
    if (pose->there != 0 && is_sampled(usd, thing)) {
        export_print(usd->file, "%llu: (%.9g, %.9g, %.9g),\n", (unsigned long long)tick,
                     (f64)pose->position[0], (f64)pose->position[1], (f64)pose->position[2]);
    }
}

static void print_orientation(Usd *usd, u32 thing, u64 tick, const u32 *record)
{
    const UsdPose *pose = (const UsdPose *)record;
    if (pose->there != 0 && is_sampled(usd, thing)) {
        export_print(usd->file, "%llu: (%.9g, %.9g, %.9g, %.9g),\n", (unsigned long long)tick,
                     (f64)pose->rotation[0], (f64)pose->rotation[1], (f64)pose->rotation[2],
                     (f64)pose->rotation[3]);
    }
}

static void print_there(Usd *usd, u64 tick, bool there)
{
    export_print(usd->file, "%llu: \"%s\",\n", (unsigned long long)tick,
                 there ? "inherited" : "invisible");
}

static void print_body_there(Usd *usd, u32 thing, u64 tick, const u32 *record)
{
    PL_UNUSED(thing);
    print_there(usd, tick, ((const UsdPose *)record)->there != 0);
}

static void print_points_there(Usd *usd, u32 thing, u64 tick, const u32 *record)
{
    PL_UNUSED(thing);
    print_there(usd, tick, record[0] > 0);
}

/* A surface without vertices is not a valid mesh: it has no sample while absent. */
static void print_points(Usd *usd, u32 thing, u64 tick, const u32 *record)
{
    if (record[0] == 0 && usd->world->things[thing].form == EXPORT_SURFACE) {
        return;
    }
    export_print(usd->file, "%llu: ", (unsigned long long)tick);
    print_vectors(usd->file, (const f32 *)(const void *)(record + 1), record[0]);
    export_print(usd->file, ",\n");
}

static void print_head(Usd *usd, const char *type, u32 thing)
{
    export_print(usd->file, "def %s ", type);
    print_identifier(usd->file, usd->world->things[thing].name, thing);
    export_print(usd->file, "\n{\ncustom string plenum:name = ");
    export_print_quoted(usd->file, usd->world->things[thing].name);
    export_print(usd->file, "\n");
}

static void print_body(Usd *usd, u32 index)
{
    const ExportThing *thing = &usd->world->things[index];
    const UsdTrack *track = &usd->tracks[index];
    UsdPose poses[BATCH];
    u32 *records = (u32 *)poses;
    print_head(usd, "Xform", index);
    usd->sampled = false;
    export_print(usd->file, "double3 xformOp:translate.timeSamples = {\n");
    each_record(usd, index, records, BATCH, print_translation);
    usd->sampled = false;
    export_print(usd->file, "}\nquatf xformOp:orient.timeSamples = {\n");
    each_record(usd, index, records, BATCH, print_orientation);
    export_print(usd->file, "}\nuniform token[] xformOpOrder = [\"xformOp:translate\", "
                            "\"xformOp:orient\"]\n");
    if (thing->comes || thing->goes) {
        export_print(usd->file, "token visibility.timeSamples = {\n");
        each_record(usd, index, records, BATCH, print_body_there);
        export_print(usd->file, "}\n");
    }
    if (track->shape >= 0) {
        export_print(usd->file,
                     "def Mesh \"shape\" (\nprepend references = </Shapes/shape_%u>\n)\n{\n",
                     (u32)track->shape);
        print_color(usd->file, &thing->entity.appearance);
        export_print(usd->file, "}\n");
    }
    export_print(usd->file, "}\n");
}

/* Curves have the vertices of their segments in order: each vertex of the thing may be in many. */
static void print_curve_points(Usd *usd, u32 index, u64 tick, const u32 *record)
{
    const ExportThing *thing = &usd->world->things[index];
    const f32 *points = (const f32 *)(const void *)(record + 1);
    if (record[0] == 0) {
        return;
    }
    export_print(usd->file, "%llu: [", (unsigned long long)tick);
    for (u32 i = 0; i < thing->index_count; i++) {
        const f32 *p = points + 3 * thing->indices[i];
        export_print(usd->file, i == 0 ? "(%.9g, %.9g, %.9g)" : ", (%.9g, %.9g, %.9g)", (f64)p[0],
                     (f64)p[1], (f64)p[2]);
    }
    export_print(usd->file, "],\n");
}

static void print_soft(Usd *usd, u32 index)
{
    const ExportThing *thing = &usd->world->things[index];
    const Appearance *appearance = &thing->entity.appearance;
    u32 *record = usd->record; /* of the largest thing: the pictures are over */
    bool lines = thing->form == EXPORT_LINES, points = thing->form == EXPORT_POINTS;
    print_head(usd, points ? "Points" : lines ? "BasisCurves" : "Mesh", index);
    if (thing->form == EXPORT_SURFACE) {
        print_triangles(usd->file, thing->indices, thing->index_count);
    } else {
        f64 width = 2.0 * (f64)(points ? appearance_ball_radius(appearance) : appearance->radius);
        export_print(usd->file, "float[] widths = [%.9g] (interpolation = \"constant\")\n", width);
    }
    if (lines) {
        export_print(usd->file, "uniform token type = \"linear\"\n");
        print_counts(usd->file, "curveVertexCounts", 2, thing->index_count / 2);
    }
    print_color(usd->file, appearance);
    export_print(usd->file, "point3f[] points.timeSamples = {\n");
    each_record(usd, index, record, 1, lines ? print_curve_points : print_points);
    export_print(usd->file, "}\n");
    if (thing->comes || thing->goes) {
        export_print(usd->file, "token visibility.timeSamples = {\n");
        each_record(usd, index, record, 1, print_points_there);
        export_print(usd->file, "}\n");
    }
    export_print(usd->file, "}\n");
}

static int end(void *format)
{
    Usd *usd = format;
    const ExportWorld *world = usd->world;
    spool_end(&usd->spool);
    export_print(usd->file,
                 "#usda 1.0\n(\ndefaultPrim = \"World\"\nmetersPerUnit = 1\nupAxis = \"Y\"\n"
                 "startTimeCode = %llu\nendTimeCode = %llu\ntimeCodesPerSecond = %u\n"
                 "framesPerSecond = %.9g\n)\n",
                 (unsigned long long)world->first_tick, (unsigned long long)usd->last_tick,
                 world->tick_rate, (f64)world->tick_rate / world->every);
    export_print(usd->file, "class Scope \"Shapes\"\n{\n");
    int result = ERROR_OK;
    for (u32 i = 0; i < usd->shape_numbers.count && result == ERROR_OK; i++) {
        result = print_shape(usd->file, usd->shapes[i], i);
    }
    export_print(usd->file, "}\ndef Xform \"World\"\n{\n");
    for (u32 i = 0; i < world->thing_count && result == ERROR_OK; i++) {
        if (world->things[i].form == EXPORT_BODY) {
            print_body(usd, i);
        } else if (world->things[i].visible) {
            print_soft(usd, i);
        }
    }
    export_print(usd->file, "}\n");
    return result;
}

static void destroy(void *format)
{
    Usd *usd = format;
    export_file_close(usd->file);
    export_file_close(usd->scratch);
    spool_finish(&usd->spool);
    numbering_finish(&usd->shape_numbers);
    free(usd->shapes);
    free(usd->tracks);
    free(usd->record);
    free(usd);
}

const ExportFormat export_usda = {
    .name = "usda",
    .about = "USD as text, with time samples",
    .begin = begin,
    .picture = picture,
    .end = end,
    .destroy = destroy,
};
