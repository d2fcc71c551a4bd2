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
#include "shared/geometry.h"
#include "shared/kinds.h"
#include "shared/soft_mesh.h"

PL_BEGIN_C

typedef enum Motion {
    MOTION_DYNAMIC = 0,
    MOTION_STATIC = 1,
    MOTION_KINEMATIC = 2
} Motion;

enum {
    /* Shapes made of more than numbers, over all bodies and prefabs. */
    GEOMETRIES_MAX = 4096,
    SOFT_MESHES_MAX = 4096,
    SOFTS_MAX = 4096,
    /* Waypoints of a kinematic body. */
    PATH_POINTS_MAX = 256,
    JOINTS_MAX = 65536,
};

/* Where a kinematic body goes: point i at time (i / count) × period_s, and around. */
typedef struct ScenePath {
    Vec3 *points; /* [count] m, from the body's position at the start; owned by the Scene */
    u32 count;    /* 0: none */
    f32 period_s, phase;
} ScenePath;

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
    bool asleep, sensor;
    bool plain;                          /* by impulses in a scene of soft steps */
    u32 group, mask, family;             /* as in server/physics: groups, what collides, kin */
    f32 linear_damping, angular_damping; /* 1/s */
    Vec3 surface_velocity;               /* m/s, in the body's frame */
    i32 path;                            /* index in paths, or −1 */
    Appearance look;
} SceneBody;

/* Numbered as the solver's kinds are. */
typedef enum SceneJointKind {
    SCENE_JOINT_BALL = 1,
    SCENE_JOINT_HINGE = 2,
    SCENE_JOINT_SLIDER = 3,
    SCENE_JOINT_FIXED = 4,
    SCENE_JOINT_DISTANCE = 5,
    SCENE_JOINT_CONE_TWIST = 6,
    SCENE_JOINT_UNIVERSAL = 7,
    SCENE_JOINT_MOTOR = 8,
    SCENE_JOINT_SPRING = 9,
    SCENE_JOINT_KIND_COUNT
} SceneJointKind;

/* Between body a and body b as they stand at the start. Local frames: x is the axis of hinges,
 * sliders and twist, y the second axis of a universal joint. */
typedef struct SceneJoint {
    char name[NAME_BYTES_MAX];
    SceneJointKind kind;
    i32 a, b;                        /* indices in bodies, or −1: the world; not both */
    Vec3 anchor_a, anchor_b;         /* m, local */
    Quat frame_a, frame_b;           /* local */
    bool limited, driven, sprung;    /* limits, motor, spring hold */
    bool collide;                    /* a and b may touch */
    f32 lower, upper;                /* rad or m */
    f32 swing;                       /* rad, half angle of the cone */
    f32 speed;                       /* rad/s or m/s */
    f32 force, torque;               /* N or N m; N m */
    Vec3 motor_velocity, motor_spin; /* m/s, rad/s */
    f32 rest;                        /* rad or m */
    f32 frequency, damping;          /* Hz, ratio */
    f32 break_force, break_torque;   /* N, N m; 0: never */
} SceneJoint;

/* Whether the joint's free motion is a turn, told in degrees, or a shift. */
static inline bool scene_joint_turns(const SceneJoint *joint)
{
    return joint->kind == SCENE_JOINT_HINGE || joint->kind == SCENE_JOINT_CONE_TWIST;
}

typedef struct ScenePin {
    u32 point; /* index of the body's point */
    i32 body;  /* index in bodies, or −1: fixed in the world */
} ScenePin;

/* Cloth, rope, balloon, jelly: a soft mesh of the scene and how it behaves: the options of
 * shared/rows/soft.def, in SI units. Compliances are negative where there is no such constraint. */
typedef struct SceneSoft {
    char name[NAME_BYTES_MAX];
    u32 mesh; /* index in soft_meshes */
#define MEMBER(type, name) type name;
#include "shared/rows/soft.def"
    u32 first_pin, pin_count; /* in pins */
    Appearance look;
} SceneSoft;

typedef struct ScenePrefab {
    char name[NAME_BYTES_MAX];
    SceneBody body;
} ScenePrefab;

typedef enum ProbeKind {
    PROBE_KINETIC_ENERGY = 1,    /* J, of all */
    PROBE_POTENTIAL_ENERGY = 2,  /* J, of all, zero at y = 0 */
    PROBE_MOMENTUM = 3,          /* kg m/s, magnitude, of all */
    PROBE_HEIGHT = 4,            /* m, y of the entity (mean of its points) */
    PROBE_SPEED = 5,             /* m/s of the entity */
    PROBE_PENETRATION = 6,       /* m, deepest contact */
    PROBE_AWAKE = 7,             /* bodies awake */
    PROBE_STRETCH = 8,           /* largest edge strain of the soft body, 1 */
    PROBE_ENERGY = 9,            /* J, kinetic and potential of all */
    PROBE_ANGULAR_MOMENTUM = 10, /* kg m²/s, magnitude, of the body about its centre */
    PROBE_SPIN = 11,             /* rad/s of the body */
    PROBE_TILT = 12,             /* degrees between the body's y axis and the world's */
    PROBE_CONTACTS = 13,         /* pairs that touch */
    PROBE_JOINT_VALUE = 14,      /* degrees or m of the joint; 0 once broken */
    PROBE_JOINT_FORCE = 15,      /* N on b in the last tick */
    PROBE_VOLUME = 16,           /* m³ inside a closed soft body */
    PROBE_PRESSURE = 17,         /* kPa above the air's inside it */
    PROBE_PRESSURE_VOLUME = 18,  /* J, whole pressure times volume */
    PROBE_KIND_COUNT
} ProbeKind;

typedef struct SceneProbe {
    char name[NAME_BYTES_MAX];
    ProbeKind kind;
    char of[NAME_BYTES_MAX]; /* entity name, "" if none */
    i32 body;                /* index in bodies, or −1 */
    i32 soft;                /* index in softs, or −1 */
    i32 joint;               /* index in joints, or −1 */
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

typedef enum SceneMethod {
    SCENE_SOFT_STEP = 0,
    SCENE_IMPULSES = 1
} SceneMethod;

enum {
    SCENE_WARNINGS_MAX = 32
};

typedef struct Scene {
    char name[NAME_BYTES_MAX];
    char description[TEXT_BYTES_MAX];
    u32 tick_rate, substeps;
    u64 seed;
    Vec3 gravity, wind;
    Bounds bounds;
    f32 quantum; /* m */
    u32 spare_bodies;
    bool no_sleep; /* what rests is simulated all the same */
    SceneMethod method;
    u32 iterations, pyramid_sides; /* of SCENE_IMPULSES */
    f32 baumgarte;
    /* Made once, in the order of the scene, shared by copies; what shapes point to. The index of
     * one is its id, which is what entities say on the wire. */
    Geometry **geometries;
    u32 geometry_count;
    ScenePath *paths;
    u32 path_count;
    SceneBody *bodies;
    u32 body_count;
    SceneJoint *joints;
    u32 joint_count;
    /* Made once, shared by copies, named by entities like geometries. */
    SoftMesh *soft_meshes;
    u32 soft_mesh_count;
    SceneSoft *softs; /* those of `cloths` first */
    u32 soft_count;
    ScenePin *pins; /* of all softs; copies share them */
    u32 pin_count;
    u32 soft_steps; /* of soft bodies in each substep */
    ScenePrefab *prefabs;
    u32 prefab_count;
    SceneProbe *probes;
    u32 probe_count;
    SceneCamera camera;
    SceneSky sky;
    SceneHands hands;
    ErrorText *warnings; /* [warning_count] what had to be repaired, with its place */
    u32 warning_count;   /* at most SCENE_WARNINGS_MAX are kept */
    u8 *bytes;           /* the FlatBuffers image it came from: what clients and recordings get */
    u32 byte_count;
} Scene;

/* Reads and checks a JSON scene file and the mesh files that it names, which become part of its
 * bytes. NULL on error with "path:line: field: what; what is right".
 */
Scene *scene_load(const char *path, ErrorText *error);
/* The same from JSON text in memory, which cannot name files; `name` stands for the path in errors.
 */
Scene *scene_parse(const char *json, size_t bytes, const char *name, ErrorText *error);
/* Points the shape of an appearance to the scene's geometry that its id names. False if it must
 * have one and that is not there or of another kind, or has one and must not; or if it names a soft
 * mesh that is not there. */
bool scene_resolve(const Scene *scene, Appearance *look);
/* From FlatBuffers bytes of a stranger (verified, then checked). The bytes are copied. */
Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error);
void scene_destroy(Scene *scene); /* NULL is fine */
const char *probe_kind_name(ProbeKind kind);
/* "J", "m", ... */
const char *probe_kind_unit(ProbeKind kind);

PL_END_C

#endif
