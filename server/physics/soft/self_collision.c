/* self_collision.c: contact of soft bodies with each other and themselves: life cycle, and when
 * to search. */
#include "server/physics/soft/self_collision.h"

#include "shared/base/error.h"

#include <stdlib.h>

/* Limits how far a particle may move relative to the mean motion of its body before the next
 * search: its current speed plus a margin for acceleration, but not so far that the contact
 * points found become meaningless. */
static const f32 slack_speed_part = 1.2f;
static const f32 slack_keep_part = 0.05f;
static const f32 slack_m_s2 = 10.0f;
/* Both sides may move further by this part of the distance kept before a search is due: a
 * contact found that late pushes them apart, but nothing has passed through yet. */
static const f32 outrun_part = 0.3f;

void self_collision_destroy(SelfCollision *collision)
{
    if (collision == NULL) {
        return;
    }
    for (u32 i = 0; i < collision->chunk_count; i++) {
        free(collision->chunks[i].contacts);
        free(collision->chunks[i].tangles);
    }
    void *const parts[] = {
        collision->triangles,  collision->normals,        collision->edges,
        collision->points,     collision->point_triangle, collision->leaves,
        collision->leaf_boxes, collision->prisms,         collision->sticks,
        collision->nodes,      collision->bodies,         collision->seen,
        collision->slack,      collision->chunks,         collision->order,
        collision->partners,   collision->crossings,      collision->normals_predicted,
        collision->tangled};
    for (u32 i = 0; i < PL_COUNT(parts); i++) {
        free(parts[i]);
    }
    free((void *)collision->active);
    free(collision);
}

static bool can_touch(const Soft *soft, u32 a, u32 b)
{
    const SoftDef *p = &soft->bodies[a].def, *q = &soft->bodies[b].def;
    u32 group_p = p->group == 0 ? 1 : p->group, group_q = q->group == 0 ? 1 : q->group;
    u32 mask_p = p->mask == 0 ? UINT32_MAX : p->mask, mask_q = q->mask == 0 ? UINT32_MAX : q->mask;
    return (group_p & mask_q) != 0 && (group_q & mask_p) != 0;
}

int self_collision_create(Soft *soft)
{
    self_collision_destroy(soft->collision);
    soft->collision = NULL;
    bool self = false;
    for (u32 b = 0; b < soft->body_count; b++) {
        self = self || soft->bodies[b].def.self_collision;
    }
    if (soft->body_count < 2 && !self) {
        return ERROR_OK;
    }
    SelfCollision *collision = calloc(1, sizeof *collision);
    if (collision == NULL) {
        return ERROR_MEMORY;
    }
    soft->collision = collision;
    collision->bodies = calloc(soft->body_count, sizeof *collision->bodies);
    collision->order = calloc(soft->body_count, sizeof *collision->order);
    collision->crossing_capacity = 2 * soft->count;
    collision->crossings = calloc(collision->crossing_capacity + 1, sizeof *collision->crossings);
    if (collision->bodies == NULL || collision->order == NULL || collision->crossings == NULL ||
        self_collision_tree_create(soft, collision) != ERROR_OK) {
        return ERROR_MEMORY;
    }
    collision->chunk_count = (collision->leaf_count + COLLISION_CHUNK - 1) / COLLISION_CHUNK;
    collision->chunks = calloc(collision->chunk_count + 1, sizeof *collision->chunks);
    return collision->chunks == NULL ? ERROR_MEMORY : ERROR_OK;
}

u64 self_collision_memory(const SelfCollision *collision)
{
    if (collision == NULL) {
        return 0;
    }
    u64 bytes =
        sizeof *collision + (u64)collision->triangle_count *
                                (sizeof *collision->triangles + 2 * sizeof *collision->normals);
    bytes += (u64)collision->edge_count * sizeof *collision->edges;
    bytes +=
        (u64)collision->leaf_count * (sizeof *collision->leaves + sizeof *collision->leaf_boxes +
                                      sizeof *collision->prisms + 2 * sizeof *collision->nodes);
    bytes += (u64)collision->stick_count * sizeof *collision->sticks;
    bytes += (u64)collision->crossing_capacity * sizeof *collision->crossings;
    for (u32 c = 0; c < collision->chunk_count; c++) {
        bytes += (u64)collision->chunks[c].capacity * sizeof *collision->chunks[c].contacts;
        bytes += (u64)collision->chunks[c].tangle_capacity * sizeof *collision->chunks[c].tangles;
    }
    return bytes;
}

/* ---- the search ---- */

/* Shell sort with Ciura's gaps: in place, identical on every machine. */
#define SORT(items, count, type, before)                                                           \
    do {                                                                                           \
        static const u32 gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};                               \
        for (u32 sort_g = 0; sort_g < PL_COUNT(gaps); sort_g++) {                                  \
            u32 gap = gaps[sort_g];                                                                \
            for (u32 sort_i = gap; sort_i < (count); sort_i++) {                                   \
                type held = (items)[sort_i];                                                       \
                u32 at = sort_i;                                                                   \
                for (; at >= gap && before(collision, &held, &(items)[at - gap]); at -= gap) {     \
                    (items)[at] = (items)[at - gap];                                               \
                }                                                                                  \
                (items)[at] = held;                                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static bool crossing_before(const SelfCollision *collision, const CollisionCrossing *p,
                            const CollisionCrossing *q)
{
    PL_UNUSED(collision);
    if (p->kind != q->kind) {
        return p->kind < q->kind;
    }
    return p->a != q->a ? p->a < q->a : p->b < q->b;
}

static bool body_before(const SelfCollision *collision, const u32 *p, const u32 *q)
{
    f32 a = collision->bodies[*p].bounds.min.x, b = collision->bodies[*q].bounds.min.x;
    return a < b || (a == b && *p < *q);
}

/* Mean motion, and each particle's allowed motion relative to it. */
static void measure(Soft *soft, u32 b)
{
    SelfCollision *collision = soft->collision;
    CollisionBody *body = &collision->bodies[b];
    const SoftBody *from = &soft->bodies[b];
    const SoftPoint *points = soft->points + from->first;
    bool sleeps = soft_sleeps(soft, b), known = soft->rests[b].measured;
    soft->rests[b].measured = sleeps;
    if (sleeps && known) {
        return;
    }
    f32 left = collision->tick_s - collision->seen_s, share = 1.0f / (f32)from->count;
    Vec3 low = points[0].position, high = low, mean = vec3_zero();
    for (u32 i = 0; i < from->count; i++) {
        low = vec3_min(low, points[i].position);
        high = vec3_max(high, points[i].position);
        mean = vec3_add_scaled(mean, share, points[i].velocity);
    }
    f32 least = slack_keep_part * body->keep + 0.5f * slack_m_s2 * left * left;
    f32 most = f32_max(body->keep + body->cell, least);
    body->velocity = mean;
    body->slack = 0.0f;
    for (u32 i = 0; i < from->count; i++) {
        f32 speed = vec3_distance(points[i].velocity, mean);
        f32 slack = f32_clamp(least + slack_speed_part * speed * left, least, most);
        collision->slack[from->first + i] = slack;
        collision->seen[from->first + i] = points[i].position;
        body->slack = f32_max(body->slack, slack);
    }
    f32 reach = from->def.thickness + body->slack + vec3_length(mean) * left;
    Vec3 grow = vec3(reach, reach, reach);
    body->bounds = (Bounds){vec3_sub(low, grow), vec3_add(high, grow)};
}

/* Finds each pair of bodies that may touch: counts them, or writes them. */
static u32 sweep(Soft *soft, bool write)
{
    SelfCollision *collision = soft->collision;
    u32 pairs = 0;
    for (u32 i = 0; i < soft->body_count; i++) {
        u32 a = collision->order[i];
        for (u32 j = i + 1; j < soft->body_count; j++) {
            u32 b = collision->order[j];
            CollisionBody *p = &collision->bodies[a], *q = &collision->bodies[b];
            if (q->bounds.min.x > p->bounds.max.x) {
                break;
            }
            if (p->end_leaf == p->first_leaf || q->end_leaf == q->first_leaf ||
                !bounds_overlap(&p->bounds, &q->bounds) || !can_touch(soft, a, b) ||
                soft_is_absent(soft, a) || soft_is_absent(soft, b) ||
                (soft_sleeps(soft, a) && soft_sleeps(soft, b))) {
                continue;
            }
            if (write) {
                collision->partners[p->first_partner + p->partner_count] = b;
                collision->partners[q->first_partner + q->partner_count] = a;
            }
            p->partner_count++;
            q->partner_count++;
            pairs++;
        }
    }
    return pairs;
}

static void find_partners(Soft *soft)
{
    SelfCollision *collision = soft->collision;
    for (u32 b = 0; b < soft->body_count; b++) {
        collision->order[b] = b;
        collision->bodies[b].partner_count = 0;
    }
    SORT(collision->order, soft->body_count, u32, body_before);
    u32 pairs = sweep(soft, false);
    bool capacity = memory_grow((void **)&collision->partners, &collision->partner_capacity,
                                2 * pairs + 1, sizeof *collision->partners);
    u32 first = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        collision->bodies[b].first_partner = first;
        first += collision->bodies[b].partner_count;
        collision->bodies[b].partner_count = 0;
    }
    if (capacity) {
        sweep(soft, true);
    }
}

static void search(Soft *soft)
{
    SelfCollision *collision = soft->collision;
    collision->seen_s = collision->now_s;
    for (u32 b = 0; b < soft->body_count; b++) {
        measure(soft, b);
    }
    find_partners(soft);
    collision->any = false;
    for (u32 b = 0; b < soft->body_count; b++) {
        CollisionBody *body = &collision->bodies[b];
        bool self = soft->bodies[b].def.self_collision && body->end_leaf != body->first_leaf &&
                    !soft_sleeps(soft, b);
        body->fitted = self || body->partner_count != 0;
        collision->any = collision->any || body->fitted;
    }
    if (collision->any) {
        SORT(collision->crossings, collision->crossing_count, CollisionCrossing, crossing_before);
        self_collision_fit(soft);
        self_collision_find(soft);
    } else {
        collision->crossing_count = 0;
        collision->contact_count = 0;
    }
    memory_grow((void **)&collision->active, &collision->active_capacity,
                collision->contact_count + 1, sizeof *collision->active);
}

/* Did a particle move farther than the search allowed for, or will it in this substep? */
static bool outrun(const Soft *soft, f32 h)
{
    const SelfCollision *collision = soft->collision;
    f32 time = collision->now_s - collision->seen_s + h;
    for (u32 b = 0; b < soft->body_count; b++) {
        const CollisionBody *body = &collision->bodies[b];
        const SoftBody *from = &soft->bodies[b];
        Vec3 drift = vec3_scale(body->velocity, time);
        f32 late = outrun_part * body->keep;
        bool moves = body->fitted && !soft_sleeps(soft, b);
        for (u32 i = from->first; moves && i < from->first + from->count; i++) {
            Vec3 ahead = vec3_add_scaled(soft->points[i].position, h, soft->points[i].velocity);
            Vec3 own = vec3_sub(vec3_sub(ahead, collision->seen[i]), drift);
            f32 most = collision->slack[i] + late;
            if (vec3_length_squared(own) > most * most) {
                return true;
            }
        }
    }
    return false;
}

void self_collision_begin(Soft *soft, f32 tick_s)
{
    SelfCollision *collision = soft->collision;
    if (collision != NULL) {
        collision->tick_s = tick_s;
        collision->now_s = 0.0f;
        search(soft);
    }
}

/* Before the steps, when velocities are those after contact; predicted ones are not. */
void self_collision_substep(Soft *soft, f32 h)
{
    SelfCollision *collision = soft->collision;
    if (collision != NULL && collision->any && soft->step != 0) {
        collision->now_s = h * (f32)(soft->step / soft->taken);
        if (outrun(soft, h)) {
            search(soft);
        }
    }
}

void self_collision_solve(Soft *soft, f32 h)
{
    SelfCollision *collision = soft->collision;
    if (collision == NULL || !collision->any) {
        return;
    }
    u32 step = soft->step % soft->taken;
    collision->crossing_count = step == 0 ? 0 : collision->crossing_count;
    self_collision_pass(soft, h, h * (f32)(soft->taken - step), step == 0);
}

/* ---- state ---- */

static bool crossings_are_valid(const SelfCollision *collision)
{
    for (u32 i = 0; i < collision->crossing_count; i++) {
        const CollisionCrossing *at = &collision->crossings[i];
        bool edges = at->kind == COLLISION_EDGE_EDGE;
        u32 most = edges ? collision->edge_count : collision->triangle_count;
        if (at->kind > COLLISION_EDGE_EDGE || at->b >= most || (edges && at->a >= most) ||
            (at->side != 1.0f && at->side != -1.0f)) {
            return false;
        }
    }
    return true;
}

void self_collision_serialize(Soft *soft, State *state)
{
    SelfCollision *collision = soft->collision;
    if (collision == NULL) {
        return;
    }
    state_count(state, &collision->crossing_count, collision->crossing_capacity);
    if (!state->failed) {
        state_bytes(state, collision->crossings,
                    collision->crossing_count * sizeof *collision->crossings);
    }
    if (state->mode == STATE_LOAD && (state->failed || !crossings_are_valid(collision))) {
        collision->crossing_count = 0;
        state->failed = true;
    }
}
