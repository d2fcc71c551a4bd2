/*
 * matter.h: the interface that each kind of matter implements, and the services of the world for
 * it.
 *
 * A kind of matter (rigid bodies, soft bodies, ...) is a solver in server/physics and a MatterOps
 * here, which integrates it into a world: it is built from the scene, ticks with the others, writes
 * fields for clients, and is grabbed, pushed, tuned, measured, hashed, saved and loaded. All other
 * code in server/world iterates over the list of kinds without knowing them. The kind of an entity
 * follows from its field: a field belongs to one kind.
 *
 * estimate, create, destroy, declare, fill, owns and owns_all are required; kinds that can be
 * grabbed also need point, drag, release and grabs, kinds that declare or find probes measure_own,
 * and kinds that spawn spawned.
 * Other functions may be NULL: they do nothing, or user input gets ERROR_UNSUPPORTED. All are
 * called from the world's owner thread only. Kinds are called in list order, which determinism
 * depends on.
 * Layer: server/world.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_H
#define PLENUM_SERVER_WORLD_MATTER_H

#include "server/physics/contact/contact.h"
#include "server/physics/contact/medium.h"
#include "server/physics/rigid/collider.h"
#include "server/physics/state.h"
#include "server/world/world.h"

enum {
    MATTERS_MAX = 16, /* kinds of one world */
};

typedef struct Dump Dump; /* dump.h */

/* Common header of every kind's struct. */
typedef struct Matter {
    const MatterOps *ops;
    World *world;
    u32 index; /* in the world's list */
} Matter;

/* Sums over everything with mass, added in order and in double: the same bits for any number of
 * threads. */
typedef struct MatterSums {
    f64 kinetic, potential; /* J, potential zero at y = 0 */
    f64 momentum[3];        /* kg m/s */
} MatterSums;

typedef struct MatterStats {
    WorldStats world;
    u32 awake;           /* awake bodies of this kind */
    u32 touching;        /* pairs */
    f32 penetration_max; /* m, deepest contact */
} MatterStats;

typedef struct MatterParcel {
    f32 size_m, mass_kg; /* diameter; of one */
} MatterParcel;

struct MatterOps {
    const char *name; /* e.g. "rigid", in errors */
    size_t bytes;     /* size of the struct that begins with Matter */

    /* ---- life ----
     * create, declare and declare_states once; then reserve, clear and fill for each build of the
     * scene, the first and every reset. */

    /* Estimated memory in bytes for a scene, including its frames: before anything is built. */
    u64 (*estimate)(const Scene *scene);
    /* Allocates lasting memory; the struct is zeroed but for its Matter. 0 or a negative Error.
     * destroy follows in either case. */
    int (*create)(Matter *matter, ErrorText *error);
    void (*destroy)(Matter *matter);
    /* Declares its parameters, probes and element fields (world_add_parameter, world_add_probe,
     * world_add_field). */
    void (*declare)(Matter *matter);
    /* Declares its state fields (one scalar per thing): after the element fields of all kinds. */
    void (*declare_states)(Matter *matter);
    /* Allocates everything for which clear and fill could fail; on an error (negative) nothing
     * has changed and the world continues. */
    int (*reserve)(Matter *matter);
    /* Empties it, as after create. */
    void (*clear)(Matter *matter);
    /* Creates the scene's things with their entities. 0 or a negative Error; *error is set if
     * there are details. */
    int (*fill)(Matter *matter, ErrorText *error);
    /* Whether the built scene can be simulated at a bounded cost: once after the first fill. */
    int (*check)(Matter *matter, ErrorText *error);

    /* ---- a tick: each of these for all kinds before the next ---- */

    void (*steer)(Matter *matter); /* sets velocities of things with prescribed motion */
    void (*stir)(Matter *matter);  /* wakes things that something moving touches or holds */
    void (*begin)(Matter *matter); /* forces and candidate contacts of the tick */
    void (*prepare)(Matter *matter);
    void (*substep)(Matter *matter, f32 h); /* h in s */
    void (*rest)(Matter *matter);           /* reports things at rest to the others */
    void (*finish)(Matter *matter);         /* and puts things to sleep */
    void (*report)(Matter *matter);         /* events; removes things out of bounds */

    /* ---- what comes out ---- */

    void (*write)(const Matter *matter, Frame *frame); /* its fields, quantized */
    void (*sums)(const Matter *matter, MatterSums *sums);
    void (*stats)(const Matter *matter, MatterStats *stats); /* adds to them */
    f64 (*elastic)(const Matter *matter);                    /* J, stored in deformation */
    /* The value of a probe of the scene; false if it is not of this kind. */
    bool (*measure)(const Matter *matter, const SceneProbe *probe, f64 *value);
    /* Resolves a PROBE_MATTER of the scene that names this kind: returns a number for measure_own
     * (unlike those of probes that it declares) and the unit; or a negative Error with a text.
     * Called before declare. */
    i32 (*find_probe)(const Matter *matter, const SceneProbe *probe, const char **unit,
                      ErrorText *error);
    /* The value, by number, of a probe it declared or found. */
    f64 (*measure_own)(const Matter *matter, u32 probe);
    /* Debug lines of the solver by DEBUG_ bits: returns their total; the first `capacity` are
     * written. Islands: the number written. */
    u32 (*lines)(Matter *matter, u32 mask, DebugLine *lines, u32 capacity);
    u32 (*islands)(Matter *matter, DebugIsland *islands, u32 capacity);
    /* Writes the members of one entity's record, and records of things without an entity
     * (dump.h). */
    void (*dump_entity)(const Matter *matter, const Entity *entity, Dump *dump);
    void (*dump)(const Matter *matter, Dump *dump);

    /* ---- parameters ---- */

    void (*tune)(Matter *matter);     /* applies world_value of all its parameters */
    void (*wake_all)(Matter *matter); /* resting things may move under new parameters */

    /* ---- hands: entities are of this kind ---- */

    bool by_element; /* inputs name an element within its count; otherwise a point of the whole */
    /* m: the current position of the point that an input refers to. */
    Vec3 (*point)(const Matter *matter, const Entity *entity, const Input *input);
    /* Adds a damped spring from that point to a target (drag), until release. Index, or −1: no
     * capacity. */
    i32 (*grab)(Matter *matter, const Entity *entity, const Input *input);
    void (*drag)(Matter *matter, u32 constraint, Vec3 target);
    void (*release)(Matter *matter, u32 constraint);
    /* Sets the colour (linear, [0, 1]) of what a hand adds. NULL: it adds nothing coloured. */
    void (*dye)(Matter *matter, u32 constraint, Vec3 color);
    bool (*grabs)(const Matter *matter, u32 constraint); /* is it a live grab? */
    /* Applies an impulse, N s, limited by the scene. */
    void (*push)(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse);
    /* Creates a prefab of the scene at the input's position: a PREFAB_MATTER only if it names
     * this kind. ERROR_UNSUPPORTED: another kind creates it; ERROR_LIMIT: no capacity. */
    int (*spawn)(Matter *matter, const ScenePrefab *prefab, const Input *input, u32 *entity);
    /* Whether it can spawn a PREFAB_MATTER that names it; asked when the world is built. NULL:
     * none. */
    bool (*knows_prefab)(const Matter *matter, const ScenePrefab *prefab);
    /* Number of live things that a user spawned. */
    u32 (*spawned)(const Matter *matter, u32 user);
    /* Whether users may remove it. NULL: all. */
    bool (*can_remove)(const Matter *matter, const Entity *entity);
    /* Removes a thing; its grabs are released before, its entity is removed after. */
    void (*remove)(Matter *matter, const Entity *entity);
    /* An entity, usually of another kind, is about to be removed: wakes things in contact with
     * it. */
    void (*leaves)(Matter *matter, const Entity *entity);

    /* ---- contact ---- */

    /* Its collider for the kind with the index `user`, which carries it along in its own steps; for
     * the coming tick. With its own index: for queries between ticks. NULL, or one without ops: no
     * collisions. */
    Collider (*collider)(Matter *matter, u32 user);
    /* Its media (contact/medium.h), at most `capacity`; returns their number. */
    u32 (*media)(Matter *matter, Medium *media, u32 capacity);
    /* The entity that a thing of its collider belongs to; 0: none. Needed for sensors. */
    u32 (*entity_of)(const Matter *matter, u32 thing);

    /* ---- parcels: matter that one kind hands over to another ----
     * Drops of a substance, of one mass and size. Between ticks of the kind that offers them: in
     * finish of a later kind. */

    /* The number of one of its substances by name; −1: it is not of this kind, or has none. */
    i32 (*find_parcels)(const Matter *matter, const char *name);
    MatterParcel (*parcel)(const Matter *matter, i32 parcels);
    /* Adds one; false: no capacity. */
    bool (*add_parcel)(Matter *matter, i32 parcels, Vec3 position, Vec3 velocity);
    /* Offers each to `take`, and removes those that it takes over. */
    void (*offer_parcels)(Matter *matter, i32 parcels,
                          bool (*take)(void *context, Vec3 position, Vec3 velocity), void *context);

    /* ---- state: hash, save and load by one serialize function (state.h) ---- */

    /* Serializes its tables of names: slots, ids of entities. */
    void (*serialize_names)(Matter *matter, State *state);
    void (*serialize)(Matter *matter, State *state);
    /* After a load: whether this may be its nth (from 0) entity. */
    bool (*owns)(const Matter *matter, const Entity *entity, u32 nth);
    /* And whether each of its things has one of those `count` entities. */
    bool (*owns_all)(const Matter *matter, u32 count);
    /* NULL if its stores are consistent between ticks, else the reason: asked after each tick of
     * debug and sanitizer builds. NULL: its solver checks itself. */
    const char *(*validate)(const Matter *matter);
};

/* ---- what a world offers to its kinds ---- */

/* Parameters of every world, in this order; those of the kinds follow
 * (shared/rows/parameter.def): WORLD_GRAVITY, WORLD_WIND, ... */
enum {
#define PARAMETER_WORLD(NAME, ...) WORLD_##NAME,
#include "shared/rows/parameter.def"
    WORLD_PARAMETERS
};

/* The scene that the world was built from; borrowed. */
const Scene *world_scene(const World *world);
Jobs *world_jobs(const World *world); /* may be NULL */
f32 world_tick_s(const World *world); /* s */
/* Changes with each build: field elements then jump without interpolation. Never 0. */
u16 world_generation(const World *world);
/* Returns a kind by its index in the list. */
Matter *world_matter_at(const World *world, u32 index);
u32 world_matters(const World *world);
/* Whether the scene has anything of a kind after this one: fields, once declared. */
bool world_has_others(const Matter *matter);
/* The rigid bodies, which every kind may collide with. */
Rigid *world_rigid(const World *world);
/* Lists what this kind collides with: the colliders of the kinds before it in the list (those
 * after it collide with this one). Call in stir and begin of each tick; returns their number. */
u32 world_colliders(const Matter *matter, Collider colliders[MATTERS_MAX]);
/* Lists the media of all kinds; returns their number. */
u32 world_media(const World *world, Medium media[MEDIA_MAX]);
/* Whether an entity is a rigid body: then its `first` is a slot. */
bool world_is_rigid(const World *world, const Entity *entity);

/* Only in declare: adds a field and returns its id; FIELDS_MAX if there are too many (the world is
 * refused). Fields without elements are not added. */
u32 world_add_field(Matter *matter, const FieldDesc *field);
/* Only in declare: entities of `field` are dyed by another one (Entity.dye). Ignores FIELDS_MAX. */
void world_dye_field(Matter *matter, u32 field, u32 dye);
/* Description of a parameter: one row of parameter.def. */
ScalarInfo world_parameter(const char *name, const char *unit, u32 components, f32 min, f32 max,
                           Vec3 initial);
/* Only in declare: adds a parameter; returns its index for world_value. */
u32 world_add_parameter(Matter *matter, ScalarInfo info);
/* Only in declare: adds a probe beside those of the scene; returns the number for measure_own. */
u32 world_add_probe(Matter *matter, const char *name, const char *unit);
const f32 *world_value(const World *world, u32 parameter); /* [4] */
Vec3 world_vector(const World *world, u32 parameter);      /* its first three */

/* The id of the next entity: names of spawned things contain it. */
u32 world_next_entity(const World *world);
/* Adds an entity of a field of this kind and fills in its id. 0 or a negative Error. */
int world_add_entity(Matter *matter, Entity *entity);
const Entity *world_entity(const World *world, u32 id); /* or NULL */
/* Removes an entity from the world: releases grabs, calls leaves and remove, notifies clients. */
void world_remove_entity(World *world, u32 id);
/* Returns a zeroed event of this tick to fill; NULL (the event is lost) if out of memory. */
Event *world_event(World *world, EventKind kind);

#endif
