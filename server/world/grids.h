/*
 * grids.h: shared by the kinds of matter on grids (air, water): each grid of the scene has a field
 * and an entity of all of its cells.
 * Layer: server/world, private.
 */
#ifndef PLENUM_SERVER_WORLD_GRIDS_H
#define PLENUM_SERVER_WORLD_GRIDS_H

#include "server/world/matter.h"

typedef struct GridList {
    u32 count;     /* 0 at first: its owner counts what is made */
    u32 *entities; /* [count] ids */
    u32 *fields;   /* [count] */
} GridList;

/* Of an entity, beside its cells. */
typedef struct GridThing {
    const char *name;
    u32 cells;
    f32 mass_kg; /* as clients see it */
    Appearance appearance;
} GridThing;

/* For at most `capacity` grids. False if out of memory; grid_list_destroy follows in either
 * case. */
bool grid_list_create(GridList *list, u32 capacity);
void grid_list_destroy(GridList *list);
/* The index of the grid that an entity is. */
u32 grid_list_find(const GridList *list, const Entity *entity);
/* Adds the entity of a grid: in fill. 0 or a negative Error. */
int grid_list_add(Matter *matter, GridList *list, u32 index, const GridThing *thing);
/* As MatterOps.owns, for a grid of so many cells. */
bool grid_list_owns(const GridList *list, const Entity *entity, u32 nth, u32 cells);

#endif
