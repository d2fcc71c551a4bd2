/*
 * matter.h: what a world asks of each kind of matter, and what it offers to them.
 *
 * A kind of matter (rigid bodies, soft bodies, ...) is a solver in server/physics and a MatterOps
 * here, which makes it a part of a world: it is built from the scene, ticks with the others, writes
 * fields for clients, and is grabbed, pushed, tuned, measured, hashed, saved and loaded. Everything
 * else in server/world walks the list of kinds and knows none of them by name. What an entity is
 * made of follows from its field: a field belongs to one kind.
 *
 * estimate, create, destroy, declare, fill, owns and owns_all must be there; who can be grabbed has
 * point, drag, release and holds, too, and who declares probes has measure_own. Other functions of
 * a MatterOps that are NULL do nothing, or answer ERROR_UNSUPPORTED to a hand.
 * They are called by the owner thread of the world only. Kinds are called in their order in the
 * list, which is a part of what makes worlds repeat bit for bit.
 * Layer: server/world.
 */
#ifndef PLENUM_SERVER_WORLD_MATTER_H
#define PLENUM_SERVER_WORLD_MATTER_H

#include "server/physics/contact/contact.h"
#include "server/physics/rigid/collider.h"
#include "server/physics/state.h"
#include "server/world/world.h"

enum {
    MATTERS_MAX = 16, /* kinds of one world */
};

typedef struct Dump Dump; /* dump.h */

/* What every kind begins with: the rest of its struct is its own. */
typedef struct Matter {
    const MatterOps *ops;
    World *world;
    u32 index; /* in the world's list */
} Matter;

/* Sums over everything that has mass, added in order and in double: the same bits for any number of
 * threads. */
typedef struct MatterSums {
    f64 kinetic, potential; /* J, potential zero at y = 0 */
    f64 momentum[3];        /* kg m/s */
} MatterSums;

typedef struct MatterStats {
    WorldStats world;
    u32 awake;           /* bodies of this kind that do not sleep */
    u32 touching;        /* pairs */
    f32 penetration_max; /* m, deepest contact */
} MatterStats;

struct MatterOps {
    const char *name; /* "rigid": in errors */
    size_t bytes;     /* of the struct that begins with Matter */

    /* ---- life ----
     * create, declare and declare_states once; then reserve, clear and fill for each build of the
     * scene, the first and every reset. */

    /* Bytes that this kind will take of a scene, with its frames: before anything is built. */
    u64 (*estimate)(const Scene *scene);
    /* Memory and numbers that last; the struct is zeroed but for its Matter. 0 or a negative Error.
     * destroy follows in either case. */
    int (*create)(Matter *matter, ErrorText *error);
    void (*destroy)(Matter *matter);
    /* Its parameters, probes and fields of elements (world_add_parameter, world_add_probe,
     * world_add_field). */
    void (*declare)(Matter *matter);
    /* Its fields of states (one scalar a thing): after the fields of elements of all kinds. */
    void (*declare_states)(Matter *matter);
    /* Takes what clear and fill will need and could fail for; on an error (negative) nothing has
     * changed and the world goes on. */
    int (*reserve)(Matter *matter);
    /* Empty, as after create. */
    void (*clear)(Matter *matter);
    /* The scene's things with their entities. 0 or a negative Error, *error set if there is more to
     * say than a code. */
    int (*fill)(Matter *matter, ErrorText *error);
    /* Whether what was built can be simulated at a bounded cost: once after the first fill. */
    int (*check)(Matter *matter, ErrorText *error);

    /* ---- a tick: each of these for all kinds before the next ---- */

    void (*steer)(Matter *matter); /* what moves by a plan gets its velocities */
    void (*stir)(Matter *matter);  /* wakes what something that moves touches or holds */
    void (*begin)(Matter *matter); /* forces of the tick, and what may touch what within it */
    void (*prepare)(Matter *matter);
    void (*substep)(Matter *matter, f32 h); /* h in s */
    void (*rest)(Matter *matter);           /* tells the other kinds what rests */
    void (*finish)(Matter *matter);         /* and lets sleep what may */
    void (*report)(Matter *matter);         /* events of the tick; takes out what left the bounds */

    /* ---- what comes out ---- */

    void (*write)(const Matter *matter, Frame *frame); /* its fields, quantized */
    void (*sums)(const Matter *matter, MatterSums *sums);
    void (*stats)(const Matter *matter, MatterStats *stats); /* adds to them */
    /* The value of a probe of the scene; false if it is none of this kind's. */
    bool (*measure)(const Matter *matter, const SceneProbe *probe, f64 *value);
    /* The value of a probe that it declared itself, by number. */
    f64 (*measure_own)(const Matter *matter, u32 probe);
    /* Lines of its inside by DEBUG_ bits: how many there are, of which the first `capacity` are
     * written. Islands: how many were written. */
    u32 (*lines)(Matter *matter, u32 mask, DebugLine *lines, u32 capacity);
    u32 (*islands)(Matter *matter, DebugIsland *islands, u32 capacity);
    /* Members of the record of one of its entities, and records of what has no entity (dump.h). */
    void (*dump_entity)(const Matter *matter, const Entity *entity, Dump *dump);
    void (*dump)(const Matter *matter, Dump *dump);

    /* ---- parameters ---- */

    void (*tune)(Matter *matter);     /* takes over world_value of all that it knows */
    void (*wake_all)(Matter *matter); /* what rested may not rest under new rules */

    /* ---- hands: entities are of this kind ---- */

    bool by_element; /* hands name an element within its count; else a point of the whole */
    /* m: what an input touches, as it now is. */
    Vec3 (*point)(const Matter *matter, const Entity *entity, const Input *input);
    /* A damped spring from that point to a target (drag), until release. Index or −1: no room. */
    i32 (*grab)(Matter *matter, const Entity *entity, const Input *input);
    void (*drag)(Matter *matter, u32 constraint, Vec3 target);
    void (*release)(Matter *matter, u32 constraint);
    bool (*grabs)(const Matter *matter, u32 constraint); /* any number: whether it is a live grab */
    /* N s, at most what a hand of the scene may give. */
    void (*push)(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse);
    /* A prefab of the scene (input->index) where the input says. ERROR_UNSUPPORTED: of another
     * kind. */
    int (*spawn)(Matter *matter, const Input *input, u32 *entity);
    /* Takes a thing out; its hands let go before, its entity goes after. */
    void (*remove)(Matter *matter, const Entity *entity);
    /* An entity, mostly of another kind, is about to go: wakes what leans on it. */
    void (*leaves)(Matter *matter, const Entity *entity);

    /* ---- contact ---- */

    /* What others may touch of it: a collider for the kind with the index `user`, which meets it in
     * steps of its own; for the coming tick. NULL: nothing can be touched. */
    Collider (*collider)(Matter *matter, u32 user);

    /* ---- state: hash, save and load in one walk (state.h) ---- */

    /* What is known of its things by name: slots, ids of entities. */
    void (*serialize_names)(Matter *matter, State *state);
    void (*serialize)(Matter *matter, State *state);
    /* After a load: whether this is the nth (from 0) entity that it can have. */
    bool (*owns)(const Matter *matter, const Entity *entity, u32 nth);
    /* And whether all that it has has one of those `count` entities. */
    bool (*owns_all)(const Matter *matter, u32 count);
};

/* ---- what a world offers to its kinds ---- */

/* Parameters of every world, in this order; those of the kinds follow (shared/rows/parameter.def):
 * WORLD_GRAVITY, WORLD_WIND, ... */
enum {
#define PARAMETER_WORLD(NAME, ...) WORLD_##NAME,
#include "shared/rows/parameter.def"
    WORLD_PARAMETERS
};

const Scene *world_scene(const World *world);
Jobs *world_jobs(const World *world); /* may be NULL */
f32 world_tick_s(const World *world); /* s */
/* Changes with each build: elements of fields jump then and are not interpolated. Never 0. */
u16 world_generation(const World *world);
/* A kind by its index, in the order of the list. */
Matter *world_matter_at(const World *world, u32 index);
/* The rigid bodies, which every kind may touch. */
Rigid *world_rigid(const World *world);
/* What this kind meets, by the same code whatever it is: the colliders of the kinds before it in
 * the list (those after it meet this one). In stir and begin of each tick; returns their number. */
u32 world_colliders(const Matter *matter, Collider colliders[MATTERS_MAX]);
/* In begin: this kind meets rigid bodies by `bodies`, a collider of its own. */
void world_meets_bodies(const Matter *matter, RigidCollider *bodies);
/* Whether an entity is one of them: its `first` is a slot then. */
bool world_is_rigid(const World *world, const Entity *entity);

/* Only in declare: a field's id; FIELDS_MAX if there is no room (the world is refused). Fields of
 * no elements are not added. */
u32 world_add_field(Matter *matter, const FieldDesc *field);
/* What is said of a parameter: one row of parameter.def. */
ScalarInfo world_parameter(const char *name, const char *unit, u32 components, f32 min, f32 max,
                           Vec3 initial);
/* Only in declare: index of a parameter for world_value. */
u32 world_add_parameter(Matter *matter, ScalarInfo info);
/* Only in declare: a probe beside those of the scene; the number for measure_own. */
u32 world_add_probe(Matter *matter, const char *name, const char *unit);
const f32 *world_value(const World *world, u32 parameter); /* [4] */
Vec3 world_vector(const World *world, u32 parameter);      /* its first three */

/* The id that the next entity will have: names of spawned things say it. */
u32 world_next_entity(const World *world);
/* Adds an entity of a field of this kind: its id is filled in. 0 or a negative Error. */
int world_add_entity(Matter *matter, Entity *entity);
const Entity *world_entity(const World *world, u32 id); /* or NULL */
/* Takes an entity out of the world: lets hands go, calls leaves and remove, tells clients. */
void world_remove_entity(World *world, u32 id);
/* A zeroed event of this tick to fill; NULL (it is lost) without memory. */
Event *world_event(World *world, EventKind kind);

#endif
