/*
 * tools.h: mouse interaction in the world: hovering, grabbing, dragging, pushing, spawning,
 * removing; and the marks of the user's own and other users' grabs.
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

/* A name drawn over the world. */
typedef struct Label {
    Vec3 at; /* m */
    char text[NAME_BYTES_MAX];
    u32 color; /* 0xRRGGBB */
} Label;

typedef struct Tools {
    Connection *connection; /* borrowed */
    Hand hand;
    bool dragging; /* the grab belongs to the mouse, not to a script */
    f32 depth_m;   /* of the grabbed point along the view axis */
    Pick hover;    /* entity 0: nothing under the cursor */
    u32 prefab;    /* selected */
    Mark marks[TOOLS_MARKS_MAX];
    u32 mark_count;
    Label labels[TOOLS_LABELS_MAX];
    u32 label_count;
} Tools;

/* Nothing is selected; the connection is borrowed. */
void tools_init(Tools *tools, Connection *connection);
/* Updates what the ray hits. */
void tools_hover(Tools *tools, Ray ray);
/* Left button: true if something was grabbed. */
bool tools_grab(Tools *tools, const Camera *camera, Ray ray);
/* Drags the grabbed point along the ray in the plane facing the camera. */
void tools_drag(Tools *tools, const Camera *camera, Ray ray);
/* Wheel clicks while dragging: > 0 farther. */
void tools_reach(Tools *tools, f32 clicks);
void tools_release(Tools *tools);
/* Pushes what the ray hits along the ray; strength in 0..1. False if it hits nothing. */
bool tools_push(Tools *tools, Ray ray, f32 strength);
/* Spawns the selected prefab at the end of the ray. */
bool tools_spawn(Tools *tools, Ray ray);
/* Removes what the ray hits. */
bool tools_remove(Tools *tools);
/* Centre and size of an entity as shown; false if it is not shown. */
bool tools_entity_place(const Tools *tools, u32 entity, Vec3 *centre, f32 *radius_m);
/* Height of the highest ground (walkable planes, terrains) at a point, m; −INFINITY: none. */
f32 tools_floor(const Tools *tools, Vec3 at);
/* Marks and labels of this frame: the user's own grab, other users' cursors, grabs and names. */
void tools_draw(Tools *tools);

#endif
