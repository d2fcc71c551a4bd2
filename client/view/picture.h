/*
 * picture.h: the contents of a picture (camera, fields, entities, marks), and helpers shared by all
 * drawers.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_PICTURE_H
#define PLENUM_CLIENT_VIEW_PICTURE_H

#include "client/link/timeline.h"
#include "protocol/scene/scene.h"

typedef struct Camera {
    Vec3 eye, target, up;
    f32 fov_y; /* radians */
    f32 near_m, far_m;
    f32 side; /* fraction of the picture's width covered at its right: the target is drawn in the
                 middle of the rest */
} Camera;

/* A line or dot drawn over the world (cursors, grabs, springs). */
typedef struct Mark {
    Vec3 from, to; /* m; equal: a dot */
    f32 color[4];
    f32 radius_px; /* of dots; width of lines */
    bool on_top;   /* not hidden by objects in front */
} Mark;

/* The complete input of one picture; arrays are borrowed for the call. */
typedef struct Picture {
    const Scene *scene; /* sky, sun */
    Camera camera;
    const FieldSet *fields;
    const Entity *entities; /* [entity_count] */
    u32 entity_count;
    u64 entity_version;              /* changes with the entities: batches are rebuilt */
    const ShownPose *const *poses;   /* [fields->count], NULL for other kinds */
    const ShownPoint *const *points; /* [fields->count] */
    const ShownGrid *grids; /* [fields->count], without values for other kinds and incomplete
                               grids; or NULL */
    const u32 *tints;  /* [entity_count] 0xFFRRGGBB replaces the entity's colours, 0: its own; or
                          NULL */
    u32 hovered, held; /* entity ids or 0: highlighted; liquids are not */
    bool bare_liquids; /* draw the points of liquids as balls */
    const Mark *marks;
    u32 mark_count;
} Picture;

/* The colours of an entity including its tint: linear RGB. */
void picture_colors(const Picture *picture, u32 entity, f32 color[3], f32 color2[3]);
/* True if the points of an entity of a POINTS field are known: points[entity->field]. */
bool picture_points(const Picture *picture, const Entity *entity);
/* Highlight colours: grabbed and hovered (linear). */
extern const f32 highlight_held[3], highlight_hovered[3];

#endif
