/*
 * ccd_flight.c: resolves the motions of a tick in order of time so that nothing tunnels: where a
 * body would enter another, the two move on as one until the end of the tick, as after an inelastic
 * impact: with the mean of their motions by mass, or with the one whose motion is prescribed
 * (kinematic, at rest). Merged bodies are then tested as a whole against others. So no sequence of
 * walls, cargo and ground lets a body through: bodies that move together do not pass each other,
 * and bodies that meet move together. Only positions change; impulses follow from the contacts of
 * the next tick. The result is independent of the order of bodies and of threads.
 */
#include "server/physics/rigid/ccd/ccd_flight.h"
#include "server/physics/rigid/ccd/ccd_sweep.h"
#include "shared/base/check.h"
#include "shared/math/trig.h"

enum {
    PAIR_GRAIN = 8,
    WORLD = 0, /* the flyer of everything at rest */
    NONE = 0xffffffffu
};

/* A heavy group that a light one would displace by less than this keeps its own motion. */
static const f32 astray_m = 0.0005f;

/* A body in the sweep. Bodies that move as one form a group: its motion is stored with its
 * leader. Everything at rest is led by flyer 0. */
typedef struct Flyer {
    Placed placed; /* its mover: that of the group at the leader, otherwise unused */
    u32 leader;
    u32 next;            /* of the group, NONE: the last */
    u32 version;         /* changes with its motion; 0: as solved */
    u32 listed, changed; /* the last meeting that listed it, and whether its motion has changed
                            since */
    bool fast;
    f32 held; /* start time of its motion with a prescribed one; 1: never */
    f32 inner, reach;
    /* Of a group, at its leader: */
    f32 mass;    /* kg, 0: prescribed motion */
    f32 inertia; /* kg m², mean about its centre */
    f32 size;    /* m, maximal distance from its centre */
} Flyer;

typedef struct Meeting {
    f32 time;
    u32 one, other; /* flyers */
    u32 version_one, version_other;
} Meeting;

static Flyer *flyer_at(const Rigid *rigid, u32 index)
{
    return &rigid->flyers[index];
}

/* A flyer with the motion of its group. */
static Placed placed_now(const Rigid *rigid, u32 index)
{
    const Flyer *flyer = flyer_at(rigid, index);
    Placed placed = flyer->placed;
    placed.mover = flyer_at(rigid, flyer->leader)->placed.mover;
    return placed;
}

static f32 inner_of(const Body *body)
{
    f32 inner = shape_inner_radius(&body->shape);
    return inner > 0.0f ? inner : INFINITY;
}

/* The flyer of a body; NONE: out of memory. */
static u32 flyer_of(Rigid *rigid, u32 slot)
{
    if (rigid->flights[slot] != 0) {
        return rigid->flights[slot];
    }
    if (!rigid_reserve(rigid, &rigid->flyers, &rigid->flyer_capacity, rigid->flyer_count + 2,
                       sizeof(Flyer))) {
        return NONE;
    }
    if (rigid->flyer_count == 0) {
        rigid->flyers[rigid->flyer_count++] = (Flyer){
            .placed = {.orientation = quat_identity(), .mover = {.orientation = quat_identity()}},
            .next = NONE};
    }
    const Body *body = &rigid->bodies[slot];
    u32 index = rigid->flyer_count++;
    Flyer flyer = {.placed = placed_of(rigid, slot),
                   .leader = index,
                   .next = NONE,
                   .held = 1.0f,
                   .inner = inner_of(body),
                   .reach = body_reach(body)};
    flyer.size = flyer.reach;
    if (!body_is_active(body)) {
        flyer.leader = WORLD;
        flyer.placed.position = body->position;
        flyer.placed.orientation = body->orientation;
    } else if (body->motion == BODY_DYNAMIC) {
        flyer.mass = body->mass;
        flyer.inertia = (body->inertia.xx + body->inertia.yy + body->inertia.zz) / 3.0f;
    }
    rigid->flyers[index] = flyer;
    rigid->flights[slot] = index;
    return index;
}

/* ---- meetings, the first on top of a heap ---- */

static bool is_earlier(const Rigid *rigid, const Meeting *a, const Meeting *b)
{
    if (a->time != b->time) {
        return a->time < b->time;
    }
    u32 a1 = flyer_at(rigid, a->one)->placed.slot, b1 = flyer_at(rigid, b->one)->placed.slot;
    if (a1 != b1) {
        return a1 < b1;
    }
    return flyer_at(rigid, a->other)->placed.slot < flyer_at(rigid, b->other)->placed.slot;
}

static bool meeting_push(Rigid *rigid, Meeting meeting)
{
    if (!rigid_reserve(rigid, &rigid->meetings, &rigid->meeting_capacity, rigid->meeting_count + 1,
                       sizeof(Meeting))) {
        return false;
    }
    u32 at = rigid->meeting_count++;
    for (; at > 0 && is_earlier(rigid, &meeting, &rigid->meetings[(at - 1) / 2]);
         at = (at - 1) / 2) {
        rigid->meetings[at] = rigid->meetings[(at - 1) / 2];
    }
    rigid->meetings[at] = meeting;
    return true;
}

static Meeting meeting_pop(Rigid *rigid)
{
    Meeting *heap = rigid->meetings, first = heap[0], last = heap[--rigid->meeting_count];
    u32 count = rigid->meeting_count, at = 0;
    for (;;) {
        u32 child = 2 * at + 1;
        if (child >= count) {
            break;
        }
        child += child + 1 < count && is_earlier(rigid, &heap[child + 1], &heap[child]);
        if (!is_earlier(rigid, &heap[child], &last)) {
            break;
        }
        heap[at] = heap[child];
        at = child;
    }
    heap[at] = last;
    return first;
}

/* ---- who may meet ---- */

static Vec3 speed_of(const Placed *placed, f32 t)
{
    Vec3 at, centre;
    Quat unused;
    placed_at(placed, t, &at, &unused);
    mover_at(&placed->mover, t, &centre, &unused);
    return vec3_add(placed->mover.shift, vec3_cross(placed->mover.rotation, vec3_sub(at, centre)));
}

/* Bodies with similar motion are not fast relative to each other. */
static bool is_slow(const Rigid *rigid, u32 one, u32 other, f32 t)
{
    const Flyer *a = flyer_at(rigid, one), *b = flyer_at(rigid, other);
    Placed pa = placed_now(rigid, one), pb = placed_now(rigid, other);
    f32 motion = vec3_distance(speed_of(&pa, t), speed_of(&pb, t)) +
                 vec3_length(pa.mover.rotation) * a->reach +
                 vec3_length(pb.mover.rotation) * b->reach;
    return motion * (1.0f - t) <= FAST_SHARE * f32_min(a->inner, b->inner);
}

static f32 meeting_time(const Rigid *rigid, u32 one, u32 other, f32 begin)
{
    bool strict = flyer_at(rigid, one)->version > 0 || flyer_at(rigid, other)->version > 0;
    Placed a = placed_now(rigid, one), b = placed_now(rigid, other);
    f32 time = placed_meet(rigid, &a, &b, begin, strict);
    return time < 1.0f ? time : INFINITY;
}

typedef struct FlightSearch {
    Rigid *rigid;
    u32 flyer;
    f32 begin;
    bool first; /* times are computed later, for all at once */
} FlightSearch;

/* In deep overlap the side from which they came is unknown. */
static bool is_stuck(const Rigid *rigid, u32 one, u32 other, f32 t)
{
    Placed a = placed_now(rigid, one), b = placed_now(rigid, other);
    Vec3 at_a, at_b;
    Quat unused;
    placed_at(&a, t, &at_a, &unused);
    placed_at(&b, t, &at_b, &unused);
    f32 near = f32_min(flyer_at(rigid, one)->inner, flyer_at(rigid, other)->inner);
    return vec3_length_squared(vec3_sub(at_a, at_b)) < near * near;
}

/* Adds a pair whose time is not yet known. */
static void meeting_list(Rigid *rigid, u32 one, u32 other)
{
    if (rigid_reserve(rigid, &rigid->meetings, &rigid->meeting_capacity, rigid->meeting_count + 1,
                      sizeof(Meeting))) {
        rigid->meetings[rigid->meeting_count++] = (Meeting){.one = one, .other = other};
    }
}

static void search_flyer(FlightSearch *search, u32 other)
{
    Rigid *rigid = search->rigid;
    u32 one = search->flyer;
    const Flyer *a = flyer_at(rigid, one), *b = flyer_at(rigid, other);
    if (a->leader == b->leader || (a->placed.slot == b->placed.slot) ||
        (search->first && b->fast && b->placed.slot < a->placed.slot) ||
        is_slow(rigid, one, other, search->begin) || is_stuck(rigid, one, other, search->begin)) {
        return;
    }
    if (search->first) {
        meeting_list(rigid, one, other);
        return;
    }
    Meeting meeting = {.time = meeting_time(rigid, one, other, search->begin),
                       .one = one,
                       .other = other,
                       .version_one = a->version,
                       .version_other = b->version};
    if (meeting.time < 1.0f) {
        meeting_push(rigid, meeting);
    }
}

static void search_visit(void *context, u32 slot)
{
    FlightSearch *search = context;
    Rigid *rigid = search->rigid;
    u32 own = flyer_at(rigid, search->flyer)->placed.slot;
    if (slot == own || rigid->bodies[slot].sensor ||
        (rigid->overlaps_deeply && !deep_overlap_keeps(rigid, own, slot)) ||
        !body_filter(rigid, own, slot)) {
        return;
    }
    u32 other = flyer_of(rigid, slot);
    if (other != NONE) {
        search_flyer(search, other);
    }
}

/* Finds the bodies that a flyer may meet after a time. */
static void search_around(Rigid *rigid, u32 flyer, f32 begin, bool first)
{
    FlightSearch search = {rigid, flyer, begin, first};
    Placed placed = placed_now(rigid, flyer);
    Bounds way = placed_bounds(&placed, begin, flyer_at(rigid, flyer)->reach);
    for (u32 i = 0; i < rigid->plane_count; i++) {
        search_visit(&search, rigid->planes[i]);
    }
    tree_query(&rigid->fixed, way, search_visit, &search);
    /* Deep overlaps of many are separated by their contacts. */
    if (!deep_overlap_has(rigid, placed.slot)) {
        tree_query(&rigid->moving, way, search_visit, &search);
    }
    /* Bodies with changed motion are not where the tree has them. */
    for (u32 i = 1; i < rigid->flyer_count && !first; i++) {
        const Flyer *other = flyer_at(rigid, i);
        if (other->version > 0 && i != flyer &&
            body_filter(rigid, flyer_at(rigid, flyer)->placed.slot, other->placed.slot)) {
            Placed there = placed_now(rigid, i);
            Bounds bounds = placed_bounds(&there, begin, other->reach);
            if (bounds_overlap(&way, &bounds)) {
                search_flyer(&search, i);
            }
        }
    }
}

/* ---- groups ---- */

/* Flyers changed by a meeting are listed in slot_scratch, with the groups that it merged. */
typedef struct Merge {
    Rigid *rigid;
    f32 time;
    u32 number; /* of the meeting */
    u32 count;
} Merge;

static void list_flyer(Merge *merge, u32 index)
{
    Flyer *flyer = flyer_at(merge->rigid, index);
    if (flyer->listed != merge->number) {
        flyer->listed = merge->number;
        merge->rigid->slot_scratch[merge->count++] = index;
    }
}

static void place_in(Merge *merge, u32 index, u32 leader, const Mover *mover)
{
    Flyer *flyer = flyer_at(merge->rigid, index);
    Placed before = placed_now(merge->rigid, index);
    Vec3 at, centre;
    Quat rotation, frame;
    placed_at(&before, merge->time, &at, &rotation);
    mover_at(mover, merge->time, &centre, &frame);
    flyer->placed.position = quat_rotate_inverse(frame, vec3_sub(at, centre));
    flyer->placed.orientation = quat_normalize(quat_mul(quat_conjugate(frame), rotation));
    flyer->leader = leader;
}

/* Makes all members of the group `gone` follow `leader`, whose new motion is the mover's. */
static void follow(Merge *merge, u32 gone, u32 leader, const Mover *mover)
{
    Rigid *rigid = merge->rigid;
    bool given = flyer_at(rigid, leader)->mass <= 0.0f;
    u32 last = gone;
    for (u32 i = gone; i != NONE; i = flyer_at(rigid, i)->next) {
        place_in(merge, i, leader, mover);
        Flyer *flyer = flyer_at(rigid, i);
        flyer->version++;
        flyer->changed = merge->number;
        flyer->held = given ? merge->time : flyer->held;
        list_flyer(merge, i);
        last = i;
    }
    /* The members of the group at rest need not be known. */
    if (leader != WORLD && gone != leader) {
        flyer_at(rigid, last)->next = flyer_at(rigid, leader)->next;
        flyer_at(rigid, leader)->next = gone;
    }
}

/* The common motion of two groups after an inelastic impact; for rotations, the mean by inertia. */
static Mover common_motion(const Merge *merge, const Flyer *a, const Flyer *b, f32 *inertia)
{
    Vec3 centre_a, centre_b;
    Quat frame, unused;
    mover_at(&a->placed.mover, merge->time, &centre_a, &frame);
    mover_at(&b->placed.mover, merge->time, &centre_b, &unused);
    f32 share = b->mass / (a->mass + b->mass);
    Vec3 centre = vec3_lerp(centre_a, centre_b, share);
    f32 ia = a->inertia + a->mass * vec3_length_squared(vec3_sub(centre_a, centre));
    f32 ib = b->inertia + b->mass * vec3_length_squared(vec3_sub(centre_b, centre));
    *inertia = ia + ib;
    f32 rotation_share = *inertia > 0.0f ? ib / *inertia : share;
    return (Mover){
        .centre = centre,
        .orientation = frame,
        .shift = vec3_lerp(a->placed.mover.shift, b->placed.mover.shift, share),
        .rotation = vec3_lerp(a->placed.mover.rotation, b->placed.mover.rotation, rotation_share),
        .from = merge->time};
}

/* Maximal displacement of a group's points from its own motion. */
static f32 led_astray(const Merge *merge, const Flyer *a, const Mover *mover)
{
    Vec3 centre;
    Quat unused;
    mover_at(&a->placed.mover, merge->time, &centre, &unused);
    Vec3 speed =
        vec3_add(mover->shift, vec3_cross(mover->rotation, vec3_sub(centre, mover->centre)));
    Vec3 rotation = vec3_sub(mover->rotation, a->placed.mover.rotation);
    return (vec3_distance(speed, a->placed.mover.shift) + vec3_length(rotation) * a->size) *
           (1.0f - merge->time);
}

/* Merges two freely moving groups, led by the heavier. */
static void join_free(Merge *merge, u32 one, u32 other)
{
    Rigid *rigid = merge->rigid;
    Flyer *a = flyer_at(rigid, one), *b = flyer_at(rigid, other);
    f32 inertia;
    Mover mover = common_motion(merge, a, b, &inertia);
    f32 gap = vec3_length(vec3_sub(a->placed.mover.centre, b->placed.mover.centre));
    if (led_astray(merge, a, &mover) <= astray_m) {
        follow(merge, other, one, &a->placed.mover);
        a->mass += b->mass;
        return;
    }
    /* Both are placed in the new motion before it overwrites the old one. */
    follow(merge, one, one, &mover);
    follow(merge, other, one, &mover);
    a->mass += b->mass;
    a->inertia = inertia;
    a->size += b->size + gap;
    a->placed.mover = mover;
}

/* A body between two prescribed motions stays with the one at rest. */
static void leave_to_rest(Merge *merge, u32 index)
{
    Rigid *rigid = merge->rigid;
    Flyer *flyer = flyer_at(rigid, index);
    u32 leader = flyer->leader;
    if (leader == WORLD || leader == index) {
        return;
    }
    for (u32 i = leader; i != NONE; i = flyer_at(rigid, i)->next) {
        if (flyer_at(rigid, i)->next == index) {
            flyer_at(rigid, i)->next = flyer->next;
            break;
        }
    }
    flyer->next = NONE;
    place_in(merge, index, WORLD, &flyer_at(rigid, WORLD)->placed.mover);
    flyer->version++;
    flyer->changed = merge->number;
    list_flyer(merge, index);
}

static void join(Merge *merge, u32 one, u32 other)
{
    Rigid *rigid = merge->rigid;
    u32 a = flyer_at(rigid, one)->leader, b = flyer_at(rigid, other)->leader;
    f32 mass_a = flyer_at(rigid, a)->mass, mass_b = flyer_at(rigid, b)->mass;
    if (a == b) {
        return;
    }
    if (mass_a <= 0.0f && mass_b <= 0.0f) {
        if (a == WORLD || b == WORLD) {
            leave_to_rest(merge, a == WORLD ? other : one);
        }
    } else if (mass_a <= 0.0f) {
        follow(merge, b, a, &flyer_at(rigid, a)->placed.mover);
    } else if (mass_b <= 0.0f) {
        follow(merge, a, b, &flyer_at(rigid, b)->placed.mover);
    } else if (mass_a > mass_b || (mass_a == mass_b && flyer_at(rigid, a)->placed.slot <
                                                           flyer_at(rigid, b)->placed.slot)) {
        join_free(merge, a, b);
    } else {
        join_free(merge, b, a);
    }
}

/* ---- bodies that fixed joints make one ---- */

/* Finds rings of bodies held together: rigid->mates is the next of the ring. */
static void mates_find(Rigid *rigid)
{
    rigid->has_mates = false;
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 a, b;
        if (rigid->joints.joints[i].def.kind != JOINT_FIXED || !joint_bodies(rigid, i, &a, &b) ||
            a == JOINT_WORLD || b == JOINT_WORLD) {
            continue;
        }
        if (!rigid->has_mates) {
            rigid->has_mates = true;
            for (u32 k = 0; k < rigid->slots; k++) {
                rigid->mates[k] = k;
            }
        }
        bool together = false;
        for (u32 k = rigid->mates[a]; k != a && !together; k = rigid->mates[k]) {
            together = k == b;
        }
        if (!together) {
            u32 swap = rigid->mates[a];
            rigid->mates[a] = rigid->mates[b];
            rigid->mates[b] = swap;
        }
    }
}

/* Bodies that met take along the bodies joined to them. */
static void join_mates(Merge *merge)
{
    Rigid *rigid = merge->rigid;
    for (u32 i = 0; i < merge->count && rigid->has_mates; i++) {
        u32 index = rigid->slot_scratch[i], slot = flyer_at(rigid, index)->placed.slot;
        for (u32 k = rigid->mates[slot]; k != slot; k = rigid->mates[k]) {
            u32 mate = flyer_of(rigid, k);
            if (mate != NONE && body_is_active(&rigid->bodies[k])) {
                list_flyer(merge, mate);
                join(merge, index, mate);
            }
        }
    }
}

/* ---- the tick ---- */

static void times_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        Meeting *meeting = &rigid->meetings[i];
        meeting->time = meeting_time(rigid, meeting->one, meeting->other, 0.0f);
    }
}

/* Builds the heap of meetings. */
static void meetings_begin(Rigid *rigid)
{
    u32 count = rigid->meeting_count;
    jobs_run(rigid->jobs, count, PAIR_GRAIN, times_range, rigid);
    rigid->meeting_count = 0;
    for (u32 i = 0; i < count; i++) {
        Meeting meeting = rigid->meetings[i];
        if (meeting.time < 1.0f) {
            meeting_push(rigid, meeting); /* at or before i */
        }
    }
}

static void meet(Merge *merge, const Meeting *meeting)
{
    Rigid *rigid = merge->rigid;
    merge->number++;
    merge->count = 0;
    merge->time = meeting->time;
    list_flyer(merge, meeting->one);
    list_flyer(merge, meeting->other);
    join(merge, meeting->one, meeting->other);
    join_mates(merge);
    for (u32 i = 0; i < merge->count; i++) {
        u32 index = rigid->slot_scratch[i];
        if (flyer_at(rigid, index)->changed == merge->number) {
            search_around(rigid, index, merge->time, false);
        }
    }
}

bool flight_init(Rigid *rigid)
{
    return rigid_reserve(rigid, &rigid->flyers, &rigid->flyer_capacity, 1, sizeof(Flyer)) &&
           rigid_reserve(rigid, &rigid->meetings, &rigid->meeting_capacity, 1, sizeof(Meeting));
}

bool flight_add(Rigid *rigid, u32 slot)
{
    u32 index = flyer_of(rigid, slot);
    if (index == NONE) {
        return false;
    }
    flyer_at(rigid, index)->fast = true;
    return true;
}

void flight_press(Rigid *rigid, u32 a, u32 b)
{
    u32 one = flyer_of(rigid, a), other = flyer_of(rigid, b);
    if (one != NONE && other != NONE &&
        flyer_at(rigid, one)->leader != flyer_at(rigid, other)->leader &&
        !is_stuck(rigid, one, other, 0.0f)) {
        meeting_list(rigid, one, other);
    }
}

void flight_solve(Rigid *rigid)
{
    Merge merge = {.rigid = rigid};
    u32 known = rigid->flyer_count;
    for (u32 i = 1; i < known; i++) {
        if (flyer_at(rigid, i)->fast && !rigid->bodies[flyer_at(rigid, i)->placed.slot].sensor) {
            search_around(rigid, i, 0.0f, true);
        }
    }
    meetings_begin(rigid);
    if (rigid->meeting_count > 0) {
        mates_find(rigid);
    }
    while (rigid->meeting_count > 0) {
        Meeting meeting = meeting_pop(rigid);
        CHECK(meeting.one < rigid->flyer_count && meeting.other < rigid->flyer_count);
        const Flyer *a = flyer_at(rigid, meeting.one), *b = flyer_at(rigid, meeting.other);
        if (a->version == meeting.version_one && b->version == meeting.version_other &&
            a->leader != b->leader) {
            meet(&merge, &meeting);
        }
    }
}

u32 flight_count(const Rigid *rigid)
{
    return rigid->flyer_count;
}

bool flight_end(const Rigid *rigid, u32 index, FlightEnd *end)
{
    CHECK(index < rigid->flyer_count);
    const Flyer *flyer = flyer_at(rigid, index);
    *end = (FlightEnd){.slot = flyer->placed.slot, .fast = flyer->fast, .held = flyer->held};
    if (flyer->version == 0) {
        return false;
    }
    Placed placed = placed_now(rigid, index);
    placed_at(&placed, 1.0f, &end->position, &end->orientation);
    return true;
}

u32 flight_partner(const Rigid *rigid, u32 index)
{
    const Flyer *flyer = flyer_at(rigid, index);
    bool pair = flyer->leader == index && flyer->mass > 0.0f && flyer->next != NONE &&
                flyer_at(rigid, flyer->next)->next == NONE;
    return pair ? flyer->next : 0;
}

u32 flight_next(const Rigid *rigid, u32 index)
{
    CHECK(index < rigid->flyer_count);
    u32 next = flyer_at(rigid, index)->next;
    return next != NONE ? next : 0;
}

u32 flight_group(const Rigid *rigid, u32 index)
{
    const Flyer *flyer = flyer_at(rigid, index);
    u32 count = 0;
    for (u32 i = index; i != 0 && flyer->leader == index && flyer->mass > 0.0f;
         i = flight_next(rigid, i)) {
        count++;
        CHECK(count < rigid->flyer_count); /* the list ends */
    }
    return count > 2 ? count : 0;
}

void flight_clear(Rigid *rigid)
{
    for (u32 i = 1; i < rigid->flyer_count; i++) {
        CHECK_ITEM(i, rigid->flyers[i].placed.slot < rigid->slots);
        rigid->flights[rigid->flyers[i].placed.slot] = 0;
    }
    rigid->flyer_count = rigid->meeting_count = 0;
}
