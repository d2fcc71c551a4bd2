/*
 * entity.h: what a client knows of an object besides its field elements: its name, its range in a
 * field, and its appearance. The client knows kinds and appearances, never solvers. Elements of the
 * kinds: a body is one pose; a cloth, a rope or a cloud is a range of points; a surface or a fog is
 * a whole grid, never a part of one.
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_ENTITY_H
#define PLENUM_PROTOCOL_FIELD_ENTITY_H

#include "protocol/field/field.h"
#include "shared/geometry/shape.h"

PL_BEGIN_C

typedef enum AppearanceKind {
    APPEARANCE_NONE = 0,
    APPEARANCE_SHAPE = 1,   /* POSES: one shape per pose; POINTS: a ball of the shape's radius
                               each */
    APPEARANCE_CLOTH = 2,   /* POINTS: two-sided smooth surface of its soft mesh, or of its grid */
    APPEARANCE_SPRITES = 3, /* POINTS: balls of `radius` */
    APPEARANCE_LIQUID = 4,  /* POINTS: one smooth transparent surface around all of them */
    APPEARANCE_WATER = 5,   /* GRID2: a surface, transparent if clear_m > 0 (channel 1: foam); also
                               the default for GRID2 except NONE */
    APPEARANCE_SMOKE = 6,   /* GRID3: a fog; also the default for GRID3 except NONE */
    APPEARANCE_ROPE = 7, /* POINTS: tubes of `radius` along the sticks of its soft mesh, or through
                             consecutive points */
    APPEARANCE_GRAINS = 8,     /* POINTS: sand, snow: rough balls of `radius`, each of its own tone
                                  between `color` and `color2` */
    APPEARANCE_BILLBOARDS = 9, /* POINTS: sparks, smoke, spray: pictures that face the viewer and
                                  change with their age */
    APPEARANCE_KIND_COUNT
} AppearanceKind;

typedef enum Pattern {
    PATTERN_PLAIN = 0,
    PATTERN_CHECKER = 1, /* two tones, 1 m: for ground */
    PATTERN_STRIPES = 2,
    PATTERN_COUNT
} Pattern;

/* Pictures of billboards. */
typedef enum BillboardImage {
    BILLBOARD_DOT = 0, /* soft round */
    BILLBOARD_SPARK = 1,
    BILLBOARD_SMOKE = 2, /* four puffs, one for each point */
    BILLBOARD_SNOWFLAKE = 3,
    BILLBOARD_DROP = 4,
    BILLBOARD_RING = 5,
    BILLBOARD_FLAME = 6,
    BILLBOARD_IMAGE_COUNT
} BillboardImage;

/* The age of a point of BILLBOARDS is its scalar: 0 at birth, 1 at the end of its life. */
typedef struct Appearance {
    AppearanceKind kind;
    Pattern pattern;
    Shape shape;   /* APPEARANCE_SHAPE; its geometry is NULL until resolved by scene_resolve */
    u32 geometry;  /* index in the scene's geometries + 1; 0: the shape needs none */
    u32 soft;      /* index in the scene's soft_meshes + 1, to which the points belong; 0: none */
    f32 color[4];  /* linear RGBA in [0, 1]; LIQUID, WATER: what `clear_m` of it lets pass of white
                      light; BILLBOARDS: at birth, A is the opacity; SMOKE: A is the opacity of a
                      voxel of full density, if clear_m is 0 */
    f32 color2[4]; /* of patterns and of a cloth's back; LIQUID, WATER: of light scattered back from
                      its depth; BILLBOARDS: at the end of life */
    f32 roughness; /* [0, 1] */
    f32 radius;  /* m, of points; LIQUID: half their spacing at rest: each is (2 radius)³ of it */
    u32 grid[2]; /* APPEARANCE_CLOTH of a regular grid: points along u and v (row-major, u
                      fastest), both ≥ 2; 0 if the triangles are explicit */
    union {
        f32 clear_m; /* LIQUID, WATER, SMOKE: see color; LIQUID: 0: 1 m; WATER: 0: opaque; SMOKE: m
                      * of full density that transmit 1/e of the light */
        f32 spread; /* SPRITES, GRAINS, BILLBOARDS: [0, 1], radii are random_point_size × radius */
    };
    /* BILLBOARDS */
    BillboardImage image;
    f32 growth;    /* ≥ -1: at the end of life the radius is (1 + growth) times that at birth */
    f32 fade_in;   /* [0, 1] of life during which opacity rises from 0 */
    f32 glow;      /* [0, 1] of the colour that is its own light, added to what is behind; the rest
                      is lit and covers it; SMOKE: of the light of a black body as hot as channel 1
                      says, 900 to 2500 K */
    f32 stretch_s; /* ≥ 0 s: it is longer by velocity times this, along its motion */
} Appearance;

/* POD of fixed size; triangles and sticks are in the scene's soft meshes. */
typedef struct Entity {
    u32 id; /* unique in a session, never reused; 0 is none */
    char name[NAME_BYTES_MAX];
    u8 field;       /* FieldDesc.id */
    u8 movable;     /* users may grab or push it */
    u16 generation; /* POSES: generation of its slot */
    u32 first;      /* first element in the field; GRID2 and GRID3: 0 */
    u32 count;      /* elements: 1 for a rigid body; GRID2 and GRID3: all */
    f32 mass_kg;    /* 0 for static */
    u32 dye;        /* GRID3: FieldDesc.id + 1 of a second field, of the same cells, with their
                       colour: channel 1 of its own field is red, those of the second are green and
                       blue, as square roots of linear light in [0, 1]; 0: not dyed */
    Appearance appearance;
} Entity;

/* A shape without opacity is neither drawn nor picked: a pane, a tank's front. */
static inline bool appearance_is_clear(const Appearance *appearance)
{
    return appearance->kind == APPEARANCE_SHAPE && appearance->color[3] <= 0.0f;
}
/* Radius of the balls that represent points without a surface, m. */
static inline f32 appearance_ball_radius(const Appearance *appearance)
{
    return appearance->kind == APPEARANCE_SHAPE ? appearance->shape.radius : appearance->radius;
}
/* True for points that are picked as balls: no fixed surface and no tube connects them. */
static inline bool appearance_is_balls(const Appearance *appearance)
{
    bool bare =
        appearance->kind == APPEARANCE_CLOTH && appearance->grid[0] == 0 && appearance->soft == 0;
    return appearance->kind == APPEARANCE_SHAPE || appearance->kind == APPEARANCE_SPRITES ||
           appearance->kind == APPEARANCE_LIQUID || appearance->kind == APPEARANCE_GRAINS || bare;
}
/* True for unconnected points: some may be omitted, and moving one does not move others. */
static inline bool appearance_is_loose(const Appearance *appearance)
{
    return appearance->kind == APPEARANCE_LIQUID || appearance->kind == APPEARANCE_GRAINS ||
           appearance->kind == APPEARANCE_SPRITES || appearance->kind == APPEARANCE_BILLBOARDS;
}

PL_END_C

#endif
