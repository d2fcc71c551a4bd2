/*
 * scene.h: a scene as plain C structs, read from FlatBuffers bytes (of JSON: server/author),
 * checked whole: whatever this file returns is finite, in range, with every reference resolved and
 * every Repeat expanded. Layer: protocol/scene. Implemented by scene.cpp (FlatBuffers).
 */
#ifndef PLENUM_PROTOCOL_SCENE_SCENE_H
#define PLENUM_PROTOCOL_SCENE_SCENE_H

#include "protocol/field/entity.h"
#include "shared/base/error.h"
#include "shared/base/kinds.h"
#include "shared/geometry/geometry.h"
#include "shared/soft/soft_mesh.h"

PL_BEGIN_C

enum {
    /* Shapes made of more than numbers, over all bodies and prefabs. */
    GEOMETRIES_MAX = 4096,
    SOFT_MESHES_MAX = 4096,
    SOFT_BODIES_MAX = 4096,
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

/* The options of shared/rows/body.def, in SI units; mass_kg is > 0 for dynamic bodies, else 0. */
typedef struct SceneBody {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/body.def"
    i32 path; /* index in paths, or −1 */
    Appearance appearance;
} SceneBody;

/* Between body a and body b as they stand at the start: the options of shared/rows/joint.def, in SI
 * units and radians. Local frames: x is the axis of hinges, sliders and twist, y the second axis of
 * a universal joint. */
typedef struct SceneJoint {
    char name[NAME_BYTES_MAX];
    JointKind kind;
    i32 a, b;                     /* indices in bodies, or −1: the world; not both */
    bool limited, driven, sprung; /* limits, motor, spring hold */
    bool collide;                 /* a and b may touch */
#define MEMBER(type, name) type name;
#include "shared/rows/joint.def"
} SceneJoint;

/* Whether the joint's free motion is a turn, told in degrees, or a shift. */
static inline bool scene_joint_turns(const SceneJoint *joint)
{
    return joint->kind == JOINT_HINGE || joint->kind == JOINT_CONE_TWIST;
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
    Appearance appearance;
} SceneSoft;

typedef struct ScenePrefab {
    char name[NAME_BYTES_MAX];
    SceneBody body;
} ScenePrefab;

typedef enum ProbeKind {
#define PROBE(NAME, key, number, unit, of, doc) PROBE_##NAME = number,
#include "shared/rows/probe.def"
    PROBE_KIND_COUNT
} ProbeKind;

typedef struct SceneProbe {
    char name[NAME_BYTES_MAX];
    ProbeKind kind;
    char of[NAME_BYTES_MAX]; /* entity name, "" if none */
    i32 body;                /* index in bodies, or −1 */
    i32 soft;                /* index in soft_bodies, or −1 */
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
    RigidMethod method;
    u32 iterations, pyramid_sides; /* of RIGID_IMPULSES */
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
    SceneSoft *soft_bodies; /* those of `cloths` first */
    u32 soft_count;
    ScenePin *pins; /* of all soft bodies; copies share them */
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

/* Points the shape of an appearance to the scene's geometry that its id names. False if it must
 * have one and that is not there or of another kind, or has one and must not; or if it names a soft
 * mesh that is not there. */
bool scene_resolve(const Scene *scene, Appearance *appearance);
/* From FlatBuffers bytes of a stranger (verified, then checked). The bytes are copied. */
Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error);
void scene_destroy(Scene *scene); /* NULL is fine */
const char *probe_kind_name(ProbeKind kind);
/* "J", "m", ... */
const char *probe_kind_unit(ProbeKind kind);

PL_END_C

#endif
