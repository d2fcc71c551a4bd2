/*
 * export.h: writes the contents of a recording in formats that other programs read. A recording is
 * read twice: the first time to find its things, the second time to pass one picture of the world
 * after the other to a format. Lengths are in metres, times in seconds of world time, axes are the
 * world's: y is up, right-handed.
 * Layer: server/export.
 */
#ifndef PLENUM_SERVER_EXPORT_EXPORT_H
#define PLENUM_SERVER_EXPORT_EXPORT_H

#include "protocol/scene/scene.h"
#include "server/export/output.h"

enum {
    /* A name, and a number that makes it unique. */
    EXPORT_NAME_BYTES_MAX = NAME_BYTES_MAX + 24,
};

/* How a thing moves, which decides how formats carry it. */
typedef enum ExportForm {
    EXPORT_NOTHING, /* no format has it: a fog */
    EXPORT_BODY,    /* a pose, and a shape in its frame */
    EXPORT_SURFACE, /* vertices of fixed triangles */
    EXPORT_LINES,   /* vertices of fixed segments */
    EXPORT_POINTS,  /* loose points: the live ones, in no order */
} ExportForm;

/* An entity while it exists; one that is removed and returns is two things. */
typedef struct ExportThing {
    Entity entity; /* its appearance is resolved: shapes point into the scene */
    ExportForm form;
    char name[EXPORT_NAME_BYTES_MAX]; /* unique in the export */
    u32 vertices;                     /* SURFACE, LINES: of each picture; POINTS: maximum at a
                                       * time */
    u32 *indices;                     /* [index_count]; SURFACE: 3 a triangle, counter-clockwise
                                         from outside; LINES: 2 a segment */
    u32 index_count;
    bool visible;     /* has an appearance: a shape, triangles, ... */
    bool moves;       /* BODY: its pose changes while it is present */
    bool comes, goes; /* it is absent in some picture before, after its presence */
    bool seen;        /* there in some picture */
} ExportThing;

/* One number of a probe. */
typedef struct ExportProbe {
    char name[EXPORT_NAME_BYTES_MAX]; /* unique in the export; with ".x" of a vector */
    char unit[UNIT_BYTES_MAX];
    u32 field, scalar; /* where it is in a frame */
} ExportProbe;

/* Everything known before the first picture. */
typedef struct ExportWorld {
    const Scene *scene;
    u32 tick_rate;       /* Hz */
    u64 picture_count;   /* > 0 */
    u64 first_tick;      /* of the first picture */
    u64 created_unix_s;  /* when it was recorded */
    u32 every;           /* ticks from picture to picture */
    ExportThing *things; /* [thing_count] */
    u32 thing_count;
    ExportProbe *probes; /* [probe_count] */
    u32 probe_count;
    u32 shapes_max; /* see ExportOptions */
} ExportWorld;

typedef struct ExportState {
    bool there;
    Vec3 position; /* BODY: m */
    Quat rotation; /* BODY: unit */
    Vec3 *points;  /* [point_count] m; not of BODY */
    u32 point_count;
} ExportState;

typedef struct ExportPicture {
    u64 number; /* from 0 */
    u64 tick;
    f64 time_s;                /* tick / tick rate */
    const ExportState *states; /* [thing_count] */
    const f32 *probes;         /* [probe_count] */
} ExportPicture;

/* One row of formats.c. Functions return 0 or a negative Error; texts go to the output. */
typedef struct ExportFormat {
    const char *name;  /* of --format, and the ending of its file */
    const char *about; /* for --help */
    bool folder;       /* one file a picture, in a folder */
    /* Borrows world and output until destroy. *format is destroyed by the caller even after an
     * error, if it is not NULL. */
    int (*begin)(void **format, const ExportWorld *world, ExportOutput *output);
    int (*picture)(void *format, const ExportPicture *picture);
    int (*end)(void *format);
    void (*destroy)(void *format);
} ExportFormat;

extern const ExportFormat export_csv, export_obj, export_ply, export_glb, export_gltf, export_mcap,
    export_usda;
/* [*count] all formats. */
const ExportFormat *const *export_formats(u32 *count);
/* By its name; NULL if there is none. */
const ExportFormat *export_format_named(const char *name);

typedef struct ExportOptions {
    const char *recording; /* path */
    const ExportFormat *format;
    f64 from_s, to_s; /* world time, inclusive; to_s < 0: to the end */
    u32 every;        /* ticks from picture to picture, > 0 */
    const char *only; /* names and patterns, with commas between them; NULL: everything */
    u32 shapes_max;   /* glTF: maximal number of shapes of a soft body or liquid over time, ≥ 2 */
    /* Called repeatedly with the completed fraction, 0 to 1; may be NULL. */
    void (*progress)(void *context, f64 done);
    void *progress_context;
} ExportOptions;

typedef struct ExportSummary {
    u64 pictures;
    u32 things, probes; /* that were written */
    u32 left_out;       /* things that no format has: fogs */
} ExportSummary;

PL_BEGIN_C
/* 0 or a negative Error with a text. The caller commits or drops the output. */
int export_run(const ExportOptions *options, ExportOutput *output, ExportSummary *summary,
               ErrorText *error);
PL_END_C

#endif
