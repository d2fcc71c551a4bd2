/*
 * scene.h: a scene as plain C structs, read from FlatBuffers bytes (from JSON: server/author) and
 * fully checked: all values are finite and in range, all references resolved, all Repeats expanded.
 * Layer: protocol/scene. Implemented by scene.cpp (FlatBuffers).
 */
#ifndef PLENUM_PROTOCOL_SCENE_SCENE_H
#define PLENUM_PROTOCOL_SCENE_SCENE_H

#include "protocol/field/entity.h"
#include "shared/base/error.h"
#include "shared/base/kinds.h"
#include "shared/base/limits.h"
#include "shared/geometry/fill.h"
#include "shared/geometry/geometry.h"
#include "shared/soft/soft_mesh.h"

PL_BEGIN_C

enum {
    /* Shapes with shared geometry, over all bodies and prefabs. */
    GEOMETRIES_MAX = 4096,
    SOFT_MESHES_MAX = 4096,
    SOFT_BODIES_MAX = 4096,
    /* Waypoints of a kinematic body. */
    PATH_POINTS_MAX = 256,
    JOINTS_MAX = 65536,
    PARTICLE_SYSTEMS_OF_SCENE_MAX = 256,
    CLOTH_EDGE_MAX = 1024,
    ROPE_POINTS_MAX = 65536,
};

/* Path of a kinematic body: the options of shared/rows/path.def. Cyclic; point i is reached at time
 * (i / count) × period_s. */
typedef struct ScenePath {
    Vec3 *points; /* [count] m, relative to the body's initial position; owned by the Scene */
    u32 count;    /* 0: none */
#define MEMBER(type, name) type name;
#include "shared/rows/path.def"
} ScenePath;

/* The options of shared/rows/body.def, in SI units; mass_kg is > 0 for dynamic bodies, else 0. */
typedef struct SceneBody {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/body.def"
    i32 path; /* index in paths, or −1 */
    Appearance appearance;
} SceneBody;

/* A joint between the initial poses of bodies a and b: the options of shared/rows/joint.def, in
 * SI units and radians. Local frames: x is the axis of hinges, sliders and twist, y the second
 * axis of a universal joint. */
typedef struct SceneJoint {
    char name[NAME_BYTES_MAX];
    JointKind kind;
    i32 a, b;                     /* indices in bodies, or −1: the world; not both */
    bool limited, driven, sprung; /* limits, motor, spring are active */
    bool collide;                 /* a and b collide */
#define MEMBER(type, name) type name;
#include "shared/rows/joint.def"
} SceneJoint;

/* Whether the joint's free motion is a rotation, in degrees, or a translation. */
static inline bool scene_joint_rotates(const SceneJoint *joint)
{
    return joint->kind == JOINT_HINGE || joint->kind == JOINT_CONE_TWIST;
}

typedef struct ScenePin {
    u32 point; /* index of the body's point */
    i32 body;  /* index in bodies, or −1: fixed in the world */
} ScenePin;

/* Cloth, rope, balloon, jelly: a soft mesh of the scene and its behaviour: the options of
 * shared/rows/soft.def, in SI units. A negative compliance disables the constraint. */
typedef struct SceneSoft {
    char name[NAME_BYTES_MAX];
    u32 mesh; /* index in soft_meshes */
#define MEMBER(type, name) type name;
#include "shared/rows/soft.def"
    u32 first_pin, pin_count; /* in pins */
    Appearance appearance;
} SceneSoft;

/* Where particles enter the world, a round nozzle: the options of shared/rows/source.def. The
 * direction is a unit vector; stop_s < 0: never. */
typedef struct SceneSource {
#define MEMBER(type, name) type name;
#include "shared/rows/source.def"
    f32 spread; /* tangent of spread_degrees */
} SceneSource;

/* A liquid or grains: the options of shared/rows/liquid.def, in SI units. */
typedef struct SceneLiquid {
    char name[NAME_BYTES_MAX];
    bool grains;
#define MEMBER(type, name) type name;
#include "shared/rows/liquid.def"
    u32 filled;                     /* particles that its volumes hold, bodies in them included */
    u32 first_fill, fill_count;     /* in liquid_volumes */
    u32 first_drain, drain_count;   /* in liquid_volumes */
    u32 first_source, source_count; /* in sources */
    Appearance appearance;
} SceneLiquid;

/* Makes smoke, heat, fuel or wind: the options of shared/rows/smoke_source.def. A box has half
 * extents and no radius; stop_s < 0: never. */
typedef struct SceneSmokeSource {
#define MEMBER(type, name) type name;
#include "shared/rows/smoke_source.def"
    /* Body or prefab that carries it, which position and velocity are relative to; "": none. */
    char of[NAME_BYTES_MAX];
} SceneSmokeSource;

/* The options of shared/rows/smoke_side.def. */
typedef struct SceneSmokeSide {
#define MEMBER(type, name) type name;
#include "shared/rows/smoke_side.def"
} SceneSmokeSide;

enum {
    SCENE_SMOKES_MAX = 8,         /* of a scene */
    SCENE_SMOKE_SOURCES_MAX = 56, /* of one; the solver has capacity for hands besides */
};

/* Air on a grid: the options of shared/rows/smoke_grid.def and smoke.def. */
typedef struct SceneSmoke {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#include "shared/rows/smoke_grid.def"
#define MEMBER(type, name) type name;
#include "shared/rows/smoke.def"
    SceneSmokeSide sides[6]; /* low x, high x, low y, ... */
    SceneSmokeSource sources[SCENE_SMOKE_SOURCES_MAX];
    u32 source_count;
    Appearance appearance;
} SceneSmoke;

/* A field of force or air: the options of shared/rows/particle_force.def. The axis is a unit
 * vector. */
typedef struct SceneParticleForce {
#define MEMBER(type, name) type name;
#include "shared/rows/particle_force.def"
} SceneParticleForce;

/* The options of shared/rows/particle_start.def. */
typedef struct SceneParticle {
#define MEMBER(type, name) type name;
#include "shared/rows/particle_start.def"
} SceneParticle;

/* The options of shared/rows/particles.def, in SI units and radians. */
typedef struct SceneParticles {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/particles.def"
    Shape shape;                  /* of the emitter; SHAPE_NONE: a point */
    i32 flees;                    /* index in bodies, or −1 */
    u32 first_force, force_count; /* in particle_forces */
    u32 first_start, start_count; /* in particles */
    Appearance appearance;
} SceneParticles;

/* Of shallow water at the start: the options of shared/rows/water_basin.def. */
typedef struct SceneBasin {
#define MEMBER(type, name) type name;
#include "shared/rows/water_basin.def"
} SceneBasin;

/* The options of shared/rows/water_source.def; stop_s < 0: never. */
typedef struct SceneSpring {
#define MEMBER(type, name) type name;
#include "shared/rows/water_source.def"
    char of[NAME_BYTES_MAX]; /* as of a SceneSmokeSource */
} SceneSpring;

/* The options of shared/rows/water_gauge.def. */
typedef struct SceneGauge {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/water_gauge.def"
} SceneGauge;

/* Water on a grid: the options of shared/rows/water.def, in SI units. */
typedef struct SceneWater {
    char name[NAME_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/water.def"
    u32 cells[2];                   /* along x and z; cells · cell is width and length */
    u32 first_basin, basin_count;   /* in basins */
    u32 first_spring, spring_count; /* in springs */
    u32 first_gauge, gauge_count;   /* in gauges */
    u32 first_dam, dam_count;       /* in dams */
    i32 spray;                      /* index in liquids, or −1 */
    Appearance appearance;
} SceneWater;

typedef enum PrefabKind {
    PREFAB_BODY,
    PREFAB_SOFT,
    PREFAB_MATTER /* the meaning of its name is known to that kind of matter only */
} PrefabKind;

/* What clients may spawn. */
typedef struct ScenePrefab {
    char name[NAME_BYTES_MAX];
    PrefabKind kind;
    SceneBody body; /* PREFAB_BODY */
    SceneSoft soft; /* PREFAB_SOFT: at the origin, without pins */
#define MEMBER(type, name) type name;
#include "shared/rows/prefab.def"
    char matter[NAME_BYTES_MAX]; /* PREFAB_MATTER: name of the kind of matter */
} ScenePrefab;

typedef enum ProbeKind {
    PROBE_MATTER = 0, /* measured by the named kind of matter */
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
    i32 liquid;              /* index in liquids, or −1 */
    Ray ray;                 /* of PROBE_RANGE, its origin of PROBE_MATTER too, */
#define MEMBER(type, name) type name;
#include "shared/rows/probe_option.def"
    /* Of PROBE_MATTER: names of the kind of matter and of what it measures. */
    char matter[NAME_BYTES_MAX], quantity[NAME_BYTES_MAX];
} SceneProbe;

/* The options of shared/rows/camera.def. */
typedef struct SceneCamera {
#define MEMBER(type, name) type name;
#include "shared/rows/camera.def"
} SceneCamera;

typedef struct SceneSky {
    f32 top[3], horizon[3]; /* linear RGB */
#define MEMBER(type, name) type name;
#include "shared/rows/sky.def"
} SceneSky;

/* The options of shared/rows/hands.def, in SI units. */
typedef struct SceneHands {
#define MEMBER(type, name) type name;
#include "shared/rows/hands.def"
} SceneHands;

enum {
    SCENE_WARNINGS_MAX = 32
};

typedef struct Scene {
    char name[NAME_BYTES_MAX];
    char description[TEXT_BYTES_MAX];
#define MEMBER(type, name) type name;
#include "shared/rows/scene.def"
    /* Created once, in the order of the scene, shared by copies; referenced by shapes. The index
     * is the id that entities use on the wire. */
    Geometry **geometries;
    u32 geometry_count;
    ScenePath *paths;
    u32 path_count;
    SceneBody *bodies;
    u32 body_count;
    SceneJoint *joints;
    u32 joint_count;
    /* Created once, shared by copies, referenced by entities like geometries. */
    SoftMesh *soft_meshes;
    u32 soft_mesh_count;
    SceneSoft *soft_bodies; /* those of `cloths` first */
    u32 soft_count;
    ScenePin *pins; /* of all soft bodies; copies share them */
    u32 pin_count;
    SceneLiquid *liquids; /* then grains */
    u32 liquid_count;
    FillVolume *liquid_volumes; /* of all of them: what they fill and their drains */
    u32 liquid_volume_count;
    SceneSource *sources;
    u32 source_count;
    SceneSmoke *smokes;
    u32 smoke_count;
    SceneParticles *particle_systems;
    u32 particle_system_count;
    SceneParticleForce *particle_forces; /* of all systems */
    u32 particle_force_count;
    SceneParticle *particles; /* there at the start, of all systems */
    u32 particle_count;
    SceneWater *waters;
    u32 water_count;
    u32 *dams; /* of all waters, indices in bodies */
    u32 dam_count;
    SceneBasin *basins; /* of all waters, like the next two */
    u32 basin_count;
    SceneSpring *springs;
    u32 spring_count;
    SceneGauge *gauges;
    u32 gauge_count;
    ScenePrefab *prefabs;
    u32 prefab_count;
    SceneProbe *probes;
    u32 probe_count;
    SceneCamera camera;
    SceneSky sky;
    SceneHands hands;
    ErrorText *warnings; /* [warning_count] repaired defects, with their location */
    u32 warning_count;   /* at most SCENE_WARNINGS_MAX are kept */
    u8 *bytes;           /* its FlatBuffers image, sent to clients and recorded */
    u32 byte_count;
} Scene;

/* Resolves the geometry id of an appearance's shape. False if a required geometry is missing or
 * of another kind, if an unneeded one is given, or if the soft mesh does not exist. */
bool scene_resolve(const Scene *scene, Appearance *appearance);
/* Reads untrusted FlatBuffers bytes (verified, then checked). Copies them. NULL with an error
 * text. */
Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error);
void scene_destroy(Scene *scene); /* NULL is fine */
/* Particles of one layer of a source's nozzle: those of a square lattice in its disc. */
f64 scene_source_points(const SceneSource *source, f32 spacing_m);
/* m, the largest distance of a prefab's points from its origin; of PREFAB_MATTER 0. */
f32 scene_prefab_reach(const Scene *scene, u32 prefab);
const char *probe_kind_name(ProbeKind kind);
/* "J", "m", ... */
const char *probe_kind_unit(ProbeKind kind);

PL_END_C

#endif
