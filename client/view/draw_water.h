/*
 * draw_water.h: transparent GRID2 entities of appearance WATER (clear_m > 0): a surface that
 * mirrors the sky, refracts and dims the scene below by Beer's law, with caustics on it, foam, and
 * sides at the borders of the grid; an eye below the surface sees through water. Heights without
 * clear_m are drawn as an opaque surface by draw_soft.
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_DRAW_WATER_H
#define PLENUM_CLIENT_VIEW_DRAW_WATER_H

#include "client/view/shader.h"

typedef struct DrawWater DrawWater;

/* NULL with an error. `chunks`: SHADER_* bits of all programs. */
DrawWater *draw_water_create(u32 chunks, ErrorText *error);
void draw_water_destroy(DrawWater *draw); /* NULL is fine */
/* Whether this entity is drawn here. */
bool draw_water_is(const Entity *entity, const FieldSet *fields);
void draw_water_gather(DrawWater *draw, const Picture *picture);
/* True if there is something to show, for which `surface_copy` is needed. */
bool draw_water_wanted(const DrawWater *draw);
/* Over opaque objects and the sky, whose copy the surface has. */
void draw_water_show(DrawWater *draw, const Surface *surface);

#endif
