/*
 * rods.h: marks for parts of a scene that no field draws: rods and springs of joints, sensors; and
 * the list of marks.
 * Layer: client/hand (no SDL).
 */
#ifndef PLENUM_CLIENT_HAND_RODS_H
#define PLENUM_CLIENT_HAND_RODS_H

#include "client/view/picture.h"

/* The marks of one picture. */
typedef struct MarkList {
    Mark *items; /* [count], owned */
    u32 count, capacity;
} MarkList;

/* Frees the marks; a zeroed list is empty. */
void mark_list_finish(MarkList *list);
/* If out of memory the mark is omitted. */
void mark_list_put(MarkList *list, const Mark *mark);
/* color: 0xRRGGBB; from = to: a dot. */
void mark_list_add(MarkList *list, Vec3 from, Vec3 to, u32 color, f32 radius_px, bool on_top);
/* The twelve edges of a box along the axes. */
void mark_list_box(MarkList *list, Vec3 low, Vec3 high, u32 color);

/* A world as shown in this picture; all borrowed. */
typedef struct RodsWorld {
    const Scene *scene;
    const FieldSet *fields;
    const Entity *entities; /* [entity_count], ascending id */
    u32 entity_count;
    u64 entity_version;
    u32 world; /* number of the world, as by connection_worlds */
    /* Shown pose of an element; false: none. */
    bool (*pose)(const void *context, u32 field, u32 element, ShownPose *pose);
    /* All values of a scalar field; unknown ones are unchanged. */
    void (*scalars)(const void *context, u32 field, f32 *values);
    const void *context;
} RodsWorld;

/* State kept from picture to picture: the entities that joints connect. Begins as {0}. */
typedef struct Rods {
    u32 (*ends)[2]; /* [end_count] entity ids of a joint's ends; owned */
    f32 *whole;     /* [end_count] 1 if intact, 0 if broken; owned */
    u32 end_count;
    u64 ends_version;
    u32 ends_world;
} Rods;

/* Frees its tables. */
void rods_finish(Rods *rods);
/* Adds the marks of rods, springs and sensors. */
void rods_collect(Rods *rods, const RodsWorld *world, MarkList *marks);
/* Values of the scalar field `name` for `count` objects of the scene: 1 if unknown. */
void rods_scalars(const RodsWorld *world, const char *name, u32 count, f32 *values);

#endif
