/*
 * liquid_form.h: selects the drawn points of a liquid, the volume of each (larger where points are
 * decimated on a narrow link), and its foam. No OpenGL.
 *
 * Foam is where air is mixed in (after Ihmsen, Akinci, Akinci, Teschner 2012, "Unified spray, foam
 * and bubbles for particle-based fluids"): points that have few others around them (spray), and
 * places where points move against each other (point_density.h).
 * Layer: client/view.
 */
#ifndef PLENUM_CLIENT_VIEW_LIQUID_FORM_H
#define PLENUM_CLIENT_VIEW_LIQUID_FORM_H

#include "client/view/picture.h"
#include "client/view/point_density.h"

enum {
    DECIMATION_MAX = 3 /* one of 2³ points is left */
};

/* The decimation of points [first, first + count) of a field: one of 2^n is left (see PROTOCOL.md,
 * reduced detail). Found from the slots in use, which are then multiples of 2^n in each chunk;
 * shifts[count] is n of each point's chunk. */
void decimation_find(const ShownPoint *points, u32 first, u32 count, u8 *shifts);

/* The balls that are drawn overlap: one that a ray meets is seen there, m. */
f32 liquid_ball_radius(const Appearance *appearance, u8 shift);

typedef struct LiquidPoint {
    Vec3 position;
    f32 radius;     /* m, of the ball drawn for it */
    f32 optical[3]; /* 1/m, absorption of red, green, blue */
    f32 volume;     /* m³ */
    f32 scatter[3]; /* colour of the light scattered back */
    f32 foam;       /* [0, 1] */
} LiquidPoint;

/* The points of one entity: first those that may be visible, then those surrounded by others. */
typedef struct LiquidBody {
    u32 first, count; /* points */
    u32 outer;        /* number of the first ones that may be visible */
} LiquidBody;

typedef struct LiquidForm {
    LiquidPoint *points; /* [count] */
    Vec3 *velocities;    /* [count] m/s */
    u8 *shifts;          /* [shift_capacity] of the entity at work */
    LiquidBody *bodies;  /* [body_count] */
    u32 count, capacity, shift_capacity, body_count, body_capacity;
    PointDensity density;
    bool diving; /* the eye is within the liquid: all points may be visible */
    f32 radius;  /* m, half the spacing, grown where decimated: mean of all points; 0 without any */
} LiquidForm;

/* Starts a frame; zero-initialized structs are valid. */
void liquid_form_begin(LiquidForm *form);
/* Adds the live points of a liquid: `points` is the field's array. Out of memory: adds none. */
void liquid_form_add(LiquidForm *form, const ShownPoint *points, const Entity *entity,
                     const f32 color[3], const f32 color2[3]);
/* Finds the foam of all points added and which of them may be visible from `eye`, and sorts each
 * body; spray is drawn as smaller drops. If out of memory: no foam, and all may be visible. */
void liquid_form_foam(LiquidForm *form, Vec3 eye);
void liquid_form_finish(LiquidForm *form);

#endif
