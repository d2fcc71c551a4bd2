/*
 * scene.h: a scene as plain C structs, read from JSON or from FlatBuffers bytes, checked whole:
 * whatever this file returns is finite, in range, with every reference resolved and every Repeat
 * expanded.
 * Layer: protocol. Implemented by scene.cpp (FlatBuffers).
 */
#ifndef PLENUM_PROTOCOL_SCENE_H
#define PLENUM_PROTOCOL_SCENE_H

#include "protocol/entity.h"
#include "shared/error.h"

PL_BEGIN_C

typedef enum Motion {
    MOTION_DYNAMIC = 0,
    MOTION_STATIC = 1,
    MOTION_KINEMATIC = 2
} Motion;

typedef struct SceneBody {
    char name[NAME_BYTES_MAX];
    Shape shape;
    Motion motion;
    Vec3 position;    /* m */
    Quat orientation; /* unit */
    Vec3 velocity;    /* m/s */
    Vec3 spin;        /* rad/s */
    f32 mass_kg;      /* > 0 for dynamic bodies, 0 otherwise */
    f32 friction;     /* [0, 10] */
    f32 restitution;  /* [0, 1] */
    f32 rolling;      /* m, ≥ 0 */
    f32 gravity_scale;
    bool asleep;
    Appearance look;
} SceneBody;

typedef struct ScenePin {
    u32 point; /* index of the cloth's point */
    i32 body;  /* index in bodies, or −1: fixed in the world */
} ScenePin;

typedef struct SceneCloth {
    char name[NAME_BYTES_MAX];
    u32 columns, rows; /* points, each ≥ 2 */
    f32 size[2];       /* m along columns (local x) and rows (local y) */
    Vec3 position;     /* m, of point (0, 0) */
    Quat orientation;
    f32 area_density;                                          /* kg/m² */
    f32 stretch_compliance, shear_compliance, bend_compliance; /* m/N */
    f32 damping;                                               /* 1/s */
    f32 thickness;                                             /* m */
    f32 friction;
    ScenePin *pins; /* [pin_count] */
    u32 pin_count;
    Appearance look;
} SceneCloth;

typedef struct ScenePrefab {
    char name[NAME_BYTES_MAX];
    SceneBody body;
} ScenePrefab;

typedef enum ProbeKind {
    PROBE_KINETIC_ENERGY = 1,   /* J, of all */
    PROBE_POTENTIAL_ENERGY = 2, /* J, of all, zero at y = 0 */
    PROBE_MOMENTUM = 3,         /* kg m/s, magnitude, of all */
    PROBE_HEIGHT = 4,           /* m, y of the entity (mean of its points) */
    PROBE_SPEED = 5,            /* m/s of the entity */
    PROBE_PENETRATION = 6,      /* m, deepest contact */
    PROBE_AWAKE = 7,            /* bodies awake */
    PROBE_STRETCH = 8,          /* largest edge strain of the cloth, 1 */
    PROBE_KIND_COUNT
} ProbeKind;

typedef struct SceneProbe {
    char name[NAME_BYTES_MAX];
    ProbeKind kind;
    char of[NAME_BYTES_MAX]; /* entity name, "" if none */
    i32 body;                /* index in bodies, or −1 */
    i32 cloth;               /* index in cloths, or −1 */
} SceneProbe;

typedef struct SceneCamera {
    Vec3 eye, target; /* m */
    f32 fov_degrees;  /* vertical */
} SceneCamera;

typedef struct SceneSky {
    f32 top[3], horizon[3]; /* linear RGB */
    Vec3 sun;               /* unit, towards the sun */
    f32 fog_m;              /* distance of 63 % fog, 0 none */
} SceneSky;

typedef struct SceneHands {
    f32 force_max;   /* N */
    f32 reach;       /* m */
    f32 frequency;   /* Hz */
    f32 damping;     /* ratio */
    f32 impulse_max; /* N s */
    u32 spawn_max;   /* per user */
} SceneHands;

typedef struct Scene {
    char name[NAME_BYTES_MAX];
    char description[TEXT_BYTES_MAX];
    u32 tick_rate, substeps;
    u64 seed;
    Vec3 gravity, wind;
    Bounds bounds;
    f32 quantum; /* m */
    u32 spare_bodies;
    SceneBody *bodies;
    u32 body_count;
    SceneCloth *cloths;
    u32 cloth_count;
    ScenePrefab *prefabs;
    u32 prefab_count;
    SceneProbe *probes;
    u32 probe_count;
    SceneCamera camera;
    SceneSky sky;
    SceneHands hands;
    u8 *bytes; /* the FlatBuffers image it came from: what clients and recordings get */
    u32 byte_count;
} Scene;

/* Reads and checks a JSON scene file. NULL on error with "path:line: field: what; what is right".
 */
Scene *scene_load(const char *path, ErrorText *error);
/* The same from JSON text in memory; `name` stands for the path in errors. */
Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error);
/* From FlatBuffers bytes of a stranger (verified, then checked). The bytes are copied. */
Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error);
void scene_destroy(Scene *scene); /* NULL is fine */
const char *probe_kind_name(ProbeKind kind);
/* "J", "m", ... */
const char *probe_kind_unit(ProbeKind kind);

PL_END_C

#endif
