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

/* What elements of which kind are drawn as. */
typedef enum AppearanceKind {
    APPEARANCE_NONE = 0,
    APPEARANCE_SHAPE = 1,      /* POSES: the shape; POINTS: a ball of the shape's radius each */
    APPEARANCE_CLOTH = 2,      /* POINTS: a smooth two-sided surface: its soft mesh or its grid */
    APPEARANCE_SPRITES = 3,    /* POINTS: balls of `radius` */
    APPEARANCE_LIQUID = 4,     /* POINTS: one smooth transparent surface around all of them */
    APPEARANCE_WATER = 5,      /* GRID2, its default: a surface, transparent if clear_m > 0;
                                * channel 1 is foam */
    APPEARANCE_SMOKE = 6,      /* GRID3, its default: a fog */
    APPEARANCE_ROPE = 7,       /* POINTS: tubes of `radius` along the sticks of its soft mesh,
                                * or from each point to the next */
    APPEARANCE_GRAINS = 8,     /* POINTS: sand, snow: rough balls of `radius`, each with its own
                                * tone between `color` and `color2` */
    APPEARANCE_BILLBOARDS = 9, /* POINTS: sparks, smoke, spray: images that face the viewer and
                                * change with their age */
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

/* Colours are linear RGBA in [0, 1]. */
typedef struct Appearance {
    AppearanceKind kind;
    Pattern pattern;
    Shape shape;  /* SHAPE; its geometry is NULL until scene_resolve has set it */
    u32 geometry; /* index in the scene's geometries + 1; 0: the shape needs none */
    u32 soft;     /* index in the scene's soft_meshes + 1, to which the points belong; 0: none */
    /* LIQUID, WATER: what passes through `clear_m` of it of white light. BILLBOARDS: at birth, A is
     * the opacity. SMOKE: if clear_m is 0, A is the opacity of a voxel of full density. */
    f32 color[4];
    /* The second tone of patterns, the back of a cloth. LIQUID, WATER: of the light that its depth
     * scatters back. BILLBOARDS: at the end of life. */
    f32 color2[4];
    f32 roughness; /* [0, 1] */
    f32 radius;  /* m, of points. LIQUID: half their spacing at rest: each is (2 radius)³ of it */
    u32 grid[2]; /* CLOTH on a regular grid: points along u and v (rows of u), both ≥ 2;
                    * 0: its triangles are in its soft mesh */
    union {
        f32 clear_m; /* LIQUID, WATER: see color; 0 is 1 m for LIQUID, opaque for WATER. SMOKE: m of
                      * full density that let 1/e of the light pass */
        f32 spread; /* SPRITES, GRAINS, BILLBOARDS: [0, 1]: radii are random_point_size × radius */
    };
    /* BILLBOARDS. The age of a point is its scalar: 0 at birth, 1 at the end of its life. */
    BillboardImage image;
    f32 growth;  /* ≥ -1: at the end of life the radius is (1 + growth) times that at birth */
    f32 fade_in; /* [0, 1] of life, during which opacity rises from 0 */
    /* [0, 1]: the part of the colour that is its own light, added to what is behind; the rest is
     * lit and covers it. SMOKE: the share of the light of a black body of the temperature that
     * channel 1 gives, 900 to 2500 K. */
    f32 glow;
    f32 stretch_s; /* ≥ 0 s: it is longer along its motion by velocity times this */
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
    /* GRID3: FieldDesc.id + 1 of a second field, of the same cells, that dyes this one; 0: none.
     * Red is channel 1 of this field, green and blue are the channels of the second, each as the
     * square root of linear light in [0, 1]. */
    u32 dye;
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
