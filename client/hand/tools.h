/*
 * tools.h: the mouse in the world: hovering, grabbing and carrying, pushing, spawning, removing;
 * and the marks that show one's own hand and those of others.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_TOOLS_H
#define PLENUM_CLIENT_HAND_TOOLS_H

#include "client/hand/hand.h"
#include "client/view/view.h"

enum {
    TOOLS_LABELS_MAX = 128,
    TOOLS_MARKS_MAX = 4 * TOOLS_LABELS_MAX
};

/* A name over the world. */
typedef struct Label {
    Vec3 at; /* m */
    char text[NAME_BYTES_MAX];
    u32 color; /* 0xRRGGBB */
} Label;

typedef struct Tools {
    Connection *connection; /* borrowed */
    Hand hand;
    bool dragging; /* the mouse, not a script, holds */
    f32 depth_m;   /* of the held point along the view axis */
    Pick hover;    /* entity 0: nothing under the cursor */
    u32 prefab;    /* chosen */
    Mark marks[TOOLS_MARKS_MAX];
    u32 mark_count;
    Label labels[TOOLS_LABELS_MAX];
    u32 label_count;
} Tools;

void tools_init(Tools *tools, Connection *connection);
/* What the ray touches now. */
void tools_hover(Tools *tools, Ray ray);
/* Left button: true if something is held from now on. */
bool tools_grab(Tools *tools, const Camera *camera, Ray ray);
/* The held point follows the ray in the plane that faces the camera. */
void tools_drag(Tools *tools, const Camera *camera, Ray ray);
/* Wheel clicks while holding: > 0 farther. */
void tools_reach(Tools *tools, f32 clicks);
void tools_release(Tools *tools);
/* Pushes what the ray touches along the ray; strength in 0..1. False if nothing is there. */
bool tools_push(Tools *tools, Ray ray, f32 strength);
/* Spawns the chosen prefab where the ray ends. */
bool tools_spawn(Tools *tools, Ray ray);
/* Removes what the ray touches. */
bool tools_remove(Tools *tools);
/* Centre and size of an entity as shown; false if it is not. */
bool tools_entity_place(const Tools *tools, u32 entity, Vec3 *centre, f32 *radius_m);
/* Height of the highest ground (planes that one can stand on, terrains) at a point's place, m;
 * −INFINITY: none. */
f32 tools_floor(const Tools *tools, Vec3 at);
/* Marks and labels of this frame: own hand at once, the others' cursors, hands and names. */
void tools_draw(Tools *tools);

#endif
