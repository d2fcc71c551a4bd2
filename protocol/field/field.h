/*
 * field.h: the five kinds of replicated state and the description of one field. Solvers write
 * fields, the protocol carries fields, the client draws fields; nothing here knows a solver.
 * Layer: protocol/field.
 */
#ifndef PLENUM_PROTOCOL_FIELD_FIELD_H
#define PLENUM_PROTOCOL_FIELD_FIELD_H

#include "shared/base/limits.h"
#include "shared/math/quat.h"

PL_BEGIN_C

typedef enum FieldKind {
    FIELD_NONE = 0,
    FIELD_POSES = 1,   /* QPose per slot */
    FIELD_POINTS = 2,  /* QPoint per slot */
    FIELD_GRID2 = 3,   /* u16 per cell and channel */
    FIELD_GRID3 = 4,   /* u8 per voxel and channel */
    FIELD_SCALARS = 5, /* u32 (the bits of an f32) per scalar */
    FIELD_KIND_COUNT
} FieldKind;

enum {
    /* Codes of positions lie within ±this, so that the largest chunk of poses fits a packet. */
    POSITION_CODE_MAX = (1 << 28) - 1,
    /* Valid bits of QPose.flags. */
    POSE_FLAGS_MASK = 0x3F,
};
/* Finest step of a position: the whole world, relative to any origin in it, fits
 * POSITION_CODE_MAX. */
#define QUANTUM_MIN_M (1.0f / 8192.0f)
#define QUANTUM_MAX_M 1024.0f

/* One field, constant for the life of a FieldSet. Positions are quantized as round((x − origin)
 * / quantum) in i32, exact everywhere inside the world. */
typedef struct FieldDesc {
    u8 id;       /* index in the FieldSet */
    u8 kind;     /* FieldKind */
    u8 channels; /* grids: 1 or 2 (height and flow; density and temperature), else 1 */
    u8 reserved;
    char name[NAME_BYTES_MAX];
    u32 capacity; /* elements: slots, points, cells, voxels, scalars; may be 0 except for grids */
    u16 dims[3];  /* grids: cells along x, z (GRID2: dims[0] × dims[1]) or x, y, z (GRID3) */
    u16 reserved2;
    Vec3 origin;   /* m; grids: centre of the first cell */
    f32 quantum;   /* m per position step; GRID2/3: unit per step of channel 0 */
    Vec3 spacing;  /* m between grid cells along x, y, z */
    f32 value_min; /* grids: value of code 0 */
} FieldDesc;

/* A quantized pose. Free slots (not POSE_LIVE) are all zero: span codes rely on it. */
typedef struct QPose {
    i32 position[3];
    u32 rotation;   /* smallest three: bits 31..30 index of the largest, then 3 × 10 bits */
    u16 flags;      /* POSE_* */
    u16 generation; /* of the slot, so that clients do not interpolate across a reuse */
} QPose;

enum {
    POSE_LIVE = 1,
    POSE_AWAKE = 2,
    POSE_KINEMATIC = 4,
    POSE_STATIC = 8
};

/* A quantized point. Free slots are all zero. */
typedef struct QPoint {
    i32 position[3];
    u16 scalar;     /* age, temperature, ... over the field's own range */
    u16 generation; /* 0: slot is free */
} QPoint;

PL_STATIC_ASSERT(sizeof(QPose) == 20, "QPose has no padding: it is hashed");
PL_STATIC_ASSERT(sizeof(QPoint) == 16, "QPoint has no padding: it is hashed");

/* The fields of a world: immutable and reference-counted, shared by all its frames. */
typedef struct FieldSet {
    u32 references; /* changed by __atomic builtins only */
    u32 count;
    u32 frame_bytes;        /* size of a Frame's data: all fields, each 16-byte aligned */
    u32 offset[FIELDS_MAX]; /* of each field's elements in a Frame's data */
    FieldDesc fields[FIELDS_MAX];
} FieldSet;

/* Bytes of one element (all channels). */
u32 field_element_bytes(const FieldDesc *field);
/* Name of a kind: "poses", ... */
const char *field_kind_name(FieldKind kind);
/* Checks untrusted descriptions: kinds, capacities, dims = capacity, finite numbers, quantum in
 * range. 0, ERROR_FORMAT, ERROR_LIMIT or ERROR_RANGE. */
int field_check(const FieldDesc *field);

/* Whether an entity of field `own` may have this `dye` (entity.h): 0, or 1 + the field of other
 * voxels of the same cells, both with two channels. own < count. */
bool fields_hold_dye(const FieldDesc *fields, u32 count, u32 own, u32 dye);

/* Copies and checks the descriptions, assigns ids and offsets; references = 1. `channels` may be
 * 0 for 1. NULL for an invalid description, a frame of more than FRAME_BYTES_MAX, or out of
 * memory. */
FieldSet *field_set_create(const FieldDesc *fields, u32 count);
FieldSet *field_set_acquire(FieldSet *set);
void field_set_release(FieldSet *set); /* NULL is fine */
/* True if frames of the two sets have the same layout and meaning. */
bool field_set_equal(const FieldSet *a, const FieldSet *b);

PL_END_C

#endif
