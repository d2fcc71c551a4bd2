/*
 * drawn.h: pictures built by hand, drawn without a window: shapes and points in front of a camera,
 * and bodies of liquid and grains as solvers leave them.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_DRAWN_H
#define PLENUM_TESTS_SUPPORT_DRAWN_H

#include "client/view/view.h"

enum {
    DRAWN_SHAPES = 64,
    DRAWN_ENTITIES = 80,
    DRAWN_GRIDS = 3,
    DRAWN_FIELDS = 2 + DRAWN_GRIDS
};

typedef struct Drawn {
    Scene scene;
    FieldSet fields; /* poses, points, grids */
    Entity entities[DRAWN_ENTITIES];
    ShownPose poses[DRAWN_SHAPES];
    ShownPoint *points; /* [capacity] */
    u32 point_count;    /* in use by entities */
    const ShownPose *pose_fields[DRAWN_FIELDS];
    const ShownPoint *point_fields[DRAWN_FIELDS];
    ShownGrid grids[DRAWN_FIELDS];
    f32 *values[DRAWN_FIELDS]; /* of grids */
    Picture picture;
    u32 count, shapes;
    View *view;
    u32 width, height;
    u8 *rgb; /* [height][width][3] of the last picture */
} Drawn;

/* A plain ground at height 0, a sky with the sun from above and the side. samples: 0 or 4. NULL:
 * no view. */
Drawn *drawn_create(u32 width, u32 height, u32 samples, u32 point_capacity);
void drawn_destroy(Drawn *drawn);
/* Back to the ground, the sky and the first camera. */
void drawn_clear(Drawn *drawn);
/* sRGB 0xRRGGBB to linear. */
void drawn_color(f32 out[4], u32 rgb);
u32 drawn_box(Drawn *drawn, Vec3 middle, Vec3 half, u32 rgb); /* the entity's index */
/* An entity of all points that follow from now on; the next call begins another. */
Entity *drawn_points(Drawn *drawn, AppearanceKind kind, f32 radius, u32 rgb, u32 rgb2);
/* Adds a point to the last entity; dropped beyond the capacity. */
void drawn_point(Drawn *drawn, Vec3 position, Vec3 velocity, f32 scalar);
/* Fills a box with points 2 radii apart, displaced by up to `jitter` radii, below a surface of
 * waves of this height. Returns how many. */
u32 drawn_fill(Drawn *drawn, Vec3 low, Vec3 high, f32 jitter, f32 wave_m);
/* An entity of a grid of two channels, all zero, of this kind and its number of cells along x, y
 * (1 for heights) and z, with the first cell's centre at `low`. Its values: channel 0, then 1;
 * owned. NULL: no capacity. */
Entity *drawn_grid(Drawn *drawn, const u32 dims[3], Vec3 low, Vec3 spacing, f32 **values);
/* Draws; `keep`: a file to keep the picture in, or NULL. False if it could not be read back. */
bool drawn_take(Drawn *drawn, const char *keep);
/* Draws, and keeps it as NAME_WAY.png in the folder PLENUM_PICTURES of the environment, if any. */
bool drawn_take_named(Drawn *drawn, const char *name, const char *way);
/* The pixel where a point of the world is drawn; NULL: outside. */
const u8 *drawn_pixel(const Drawn *drawn, Vec3 point);
/* What a pixel shows, linear, before the view's tone mapping. */
Vec3 drawn_light(const u8 *pixel);
/* The mean of that over a square of pixels around the projection of a point inside the picture. */
Vec3 drawn_light_at(const Drawn *drawn, Vec3 point, i32 half);

#endif
