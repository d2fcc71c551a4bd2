/* crowd.c: contact of soft bodies with each other and themselves: life, and when to search. */
#include "server/physics/soft/crowd.h"

#include "shared/base/error.h"

#include <stdlib.h>

/* How far a particle may go on its own, beside the mean motion of its body, until pairs are
 * searched for again: its speed now with some more for what speeds it up, but not so far that the
 * places found would mean nothing. */
static const f32 slack_speed_part = 1.2f;
static const f32 slack_keep_part = 0.05f;
static const f32 slack_m_s2 = 10.0f;
/* Both sides may go on by this part of what is kept between them before a search is due: a contact
 * that is found so late pushes them apart, but nothing has gone through yet. */
static const f32 outrun_part = 0.3f;

void crowd_destroy(Crowd *crowd)
{
    if (crowd == NULL) {
        return;
    }
    for (u32 i = 0; i < crowd->chunk_count; i++) {
        free(crowd->chunks[i].contacts);
        free(crowd->chunks[i].tangles);
    }
    void *const parts[] = {
        crowd->triangles,      crowd->normals,       crowd->edges,      crowd->points,
        crowd->point_triangle, crowd->leaves,        crowd->leaf_boxes, crowd->prisms,
        crowd->sticks,         crowd->nodes,         crowd->bodies,     crowd->seen,
        crowd->slack,          crowd->chunks,        crowd->order,      crowd->partners,
        crowd->crossings,      crowd->normals_ahead, crowd->tangled};
    for (u32 i = 0; i < PL_COUNT(parts); i++) {
        free(parts[i]);
    }
    free((void *)crowd->active);
    free(crowd);
}

static bool can_touch(const Soft *soft, u32 a, u32 b)
{
    const SoftDef *p = &soft->bodies[a].def, *q = &soft->bodies[b].def;
    u32 group_p = p->group == 0 ? 1 : p->group, group_q = q->group == 0 ? 1 : q->group;
    u32 mask_p = p->mask == 0 ? UINT32_MAX : p->mask, mask_q = q->mask == 0 ? UINT32_MAX : q->mask;
    return (group_p & mask_q) != 0 && (group_q & mask_p) != 0;
}

int crowd_create(Soft *soft)
{
    crowd_destroy(soft->crowd);
    soft->crowd = NULL;
    bool self = false;
    for (u32 b = 0; b < soft->body_count; b++) {
        self = self || soft->bodies[b].def.self_collision;
    }
    if (soft->body_count < 2 && !self) {
        return ERROR_OK;
    }
    Crowd *crowd = calloc(1, sizeof *crowd);
    if (crowd == NULL) {
        return ERROR_MEMORY;
    }
    soft->crowd = crowd;
    crowd->bodies = calloc(soft->body_count, sizeof *crowd->bodies);
    crowd->order = calloc(soft->body_count, sizeof *crowd->order);
    crowd->crossing_room = 2 * soft->count;
    crowd->crossings = calloc(crowd->crossing_room + 1, sizeof *crowd->crossings);
    if (crowd->bodies == NULL || crowd->order == NULL || crowd->crossings == NULL ||
        crowd_tree_create(soft, crowd) != ERROR_OK) {
        return ERROR_MEMORY;
    }
    crowd->chunk_count = (crowd->leaf_count + CROWD_CHUNK - 1) / CROWD_CHUNK;
    crowd->chunks = calloc(crowd->chunk_count + 1, sizeof *crowd->chunks);
    return crowd->chunks == NULL ? ERROR_MEMORY : ERROR_OK;
}

u64 crowd_memory(const Crowd *crowd)
{
    if (crowd == NULL) {
        return 0;
    }
    u64 bytes = sizeof *crowd + (u64)crowd->triangle_count *
                                    (sizeof *crowd->triangles + 2 * sizeof *crowd->normals);
    bytes += (u64)crowd->edge_count * sizeof *crowd->edges;
    bytes += (u64)crowd->leaf_count * (sizeof *crowd->leaves + sizeof *crowd->leaf_boxes +
                                       sizeof *crowd->prisms + 2 * sizeof *crowd->nodes);
    bytes += (u64)crowd->stick_count * sizeof *crowd->sticks;
    bytes += (u64)crowd->crossing_room * sizeof *crowd->crossings;
    for (u32 c = 0; c < crowd->chunk_count; c++) {
        bytes += (u64)crowd->chunks[c].room * sizeof *crowd->chunks[c].contacts;
        bytes += (u64)crowd->chunks[c].tangle_room * sizeof *crowd->chunks[c].tangles;
    }
    return bytes;
}

/* ---- the search ---- */

/* Shell's sort by Ciura's gaps: in place, the same on every machine. */
#define SORT(items, count, type, before)                                                           \
    do {                                                                                           \
        static const u32 gaps[] = {701, 301, 132, 57, 23, 10, 4, 1};                               \
        for (u32 sort_g = 0; sort_g < PL_COUNT(gaps); sort_g++) {                                  \
            u32 gap = gaps[sort_g];                                                                \
            for (u32 sort_i = gap; sort_i < (count); sort_i++) {                                   \
                type held = (items)[sort_i];                                                       \
                u32 at = sort_i;                                                                   \
                for (; at >= gap && before(crowd, &held, &(items)[at - gap]); at -= gap) {         \
                    (items)[at] = (items)[at - gap];                                               \
                }                                                                                  \
                (items)[at] = held;                                                                \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static bool crossing_before(const Crowd *crowd, const CrowdCrossing *p, const CrowdCrossing *q)
{
    PL_UNUSED(crowd);
    if (p->kind != q->kind) {
        return p->kind < q->kind;
    }
    return p->a != q->a ? p->a < q->a : p->b < q->b;
}

static bool body_before(const Crowd *crowd, const u32 *p, const u32 *q)
{
    f32 a = crowd->bodies[*p].bounds.min.x, b = crowd->bodies[*q].bounds.min.x;
    return a < b || (a == b && *p < *q);
}

/* Mean motion, and what each particle may do beside it. */
static void measure(Soft *soft, u32 b)
{
    Crowd *crowd = soft->crowd;
    CrowdBody *body = &crowd->bodies[b];
    const SoftBody *from = &soft->bodies[b];
    const SoftPoint *points = soft->points + from->first;
    bool sleeps = soft_sleeps(soft, b), known = soft->rests[b].measured;
    soft->rests[b].measured = sleeps;
    if (sleeps && known) {
        return;
    }
    f32 left = crowd->tick_s - crowd->seen_s, share = 1.0f / (f32)from->count;
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
        crowd->slack[from->first + i] = slack;
        crowd->seen[from->first + i] = points[i].position;
        body->slack = f32_max(body->slack, slack);
    }
    f32 reach = from->def.thickness + body->slack + vec3_length(mean) * left;
    Vec3 grow = vec3(reach, reach, reach);
    body->bounds = (Bounds){vec3_sub(low, grow), vec3_add(high, grow)};
}

static bool overlap(const Bounds *a, const Bounds *b)
{
    return a->min.x <= b->max.x && b->min.x <= a->max.x && a->min.y <= b->max.y &&
           b->min.y <= a->max.y && a->min.z <= b->max.z && b->min.z <= a->max.z;
}

/* Calls for each pair of bodies that may touch: counts them, or writes them down. */
static u32 sweep(Soft *soft, bool write)
{
    Crowd *crowd = soft->crowd;
    u32 pairs = 0;
    for (u32 i = 0; i < soft->body_count; i++) {
        u32 a = crowd->order[i];
        for (u32 j = i + 1; j < soft->body_count; j++) {
            u32 b = crowd->order[j];
            CrowdBody *p = &crowd->bodies[a], *q = &crowd->bodies[b];
            if (q->bounds.min.x > p->bounds.max.x) {
                break;
            }
            if (p->end_leaf == p->first_leaf || q->end_leaf == q->first_leaf ||
                !overlap(&p->bounds, &q->bounds) || !can_touch(soft, a, b) ||
                (soft_sleeps(soft, a) && soft_sleeps(soft, b))) {
                continue;
            }
            if (write) {
                crowd->partners[p->first_partner + p->partner_count] = b;
                crowd->partners[q->first_partner + q->partner_count] = a;
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
    Crowd *crowd = soft->crowd;
    for (u32 b = 0; b < soft->body_count; b++) {
        crowd->order[b] = b;
        crowd->bodies[b].partner_count = 0;
    }
    SORT(crowd->order, soft->body_count, u32, body_before);
    u32 pairs = sweep(soft, false);
    bool room = soft_grow((void **)&crowd->partners, &crowd->partner_room, 2 * pairs + 1,
                          sizeof *crowd->partners);
    u32 first = 0;
    for (u32 b = 0; b < soft->body_count; b++) {
        crowd->bodies[b].first_partner = first;
        first += crowd->bodies[b].partner_count;
        crowd->bodies[b].partner_count = 0;
    }
    if (room) {
        sweep(soft, true);
    }
}

static void search(Soft *soft)
{
    Crowd *crowd = soft->crowd;
    crowd->seen_s = crowd->now_s;
    for (u32 b = 0; b < soft->body_count; b++) {
        measure(soft, b);
    }
    find_partners(soft);
    crowd->any = false;
    for (u32 b = 0; b < soft->body_count; b++) {
        CrowdBody *body = &crowd->bodies[b];
        bool self = soft->bodies[b].def.self_collision && body->end_leaf != body->first_leaf &&
                    !soft_sleeps(soft, b);
        body->fitted = self || body->partner_count != 0;
        crowd->any = crowd->any || body->fitted;
    }
    if (crowd->any) {
        SORT(crowd->crossings, crowd->crossing_count, CrowdCrossing, crossing_before);
        crowd_fit(soft);
        crowd_find(soft);
    } else {
        crowd->crossing_count = 0;
        crowd->contact_count = 0;
    }
    soft_grow((void **)&crowd->active, &crowd->active_room, crowd->contact_count + 1,
              sizeof *crowd->active);
}

/* Did a particle go farther than what the search allowed for, or will it in this substep? */
static bool outrun(const Soft *soft, f32 h)
{
    const Crowd *crowd = soft->crowd;
    f32 time = crowd->now_s - crowd->seen_s + h;
    for (u32 b = 0; b < soft->body_count; b++) {
        const CrowdBody *body = &crowd->bodies[b];
        const SoftBody *from = &soft->bodies[b];
        Vec3 drift = vec3_scale(body->velocity, time);
        f32 late = outrun_part * body->keep;
        bool moves = body->fitted && !soft_sleeps(soft, b);
        for (u32 i = from->first; moves && i < from->first + from->count; i++) {
            Vec3 ahead = vec3_add_scaled(soft->points[i].position, h, soft->points[i].velocity);
            Vec3 own = vec3_sub(vec3_sub(ahead, crowd->seen[i]), drift);
            f32 most = crowd->slack[i] + late;
            if (vec3_length_squared(own) > most * most) {
                return true;
            }
        }
    }
    return false;
}

void crowd_begin(Soft *soft, f32 tick_s)
{
    Crowd *crowd = soft->crowd;
    if (crowd != NULL) {
        crowd->tick_s = tick_s;
        crowd->now_s = 0.0f;
        search(soft);
    }
}

/* Before the steps, when velocities are those that contacts have left: predicted ones are not. */
void crowd_substep(Soft *soft, f32 h)
{
    Crowd *crowd = soft->crowd;
    if (crowd != NULL && crowd->any && soft->step != 0) {
        crowd->now_s = h * (f32)(soft->step / soft->steps);
        if (outrun(soft, h)) {
            search(soft);
        }
    }
}

void crowd_solve(Soft *soft, f32 h)
{
    Crowd *crowd = soft->crowd;
    if (crowd == NULL || !crowd->any) {
        return;
    }
    u32 step = soft->step % soft->steps;
    crowd->crossing_count = step == 0 ? 0 : crowd->crossing_count;
    crowd_pass(soft, h, h * (f32)(soft->steps - step), step == 0);
}

/* ---- state ---- */

static bool crossings_are_sane(const Crowd *crowd)
{
    for (u32 i = 0; i < crowd->crossing_count; i++) {
        const CrowdCrossing *at = &crowd->crossings[i];
        bool edges = at->kind == CROWD_EDGE_EDGE;
        u32 most = edges ? crowd->edge_count : crowd->triangle_count;
        if (at->kind > CROWD_EDGE_EDGE || at->b >= most || (edges && at->a >= most) ||
            (at->side != 1.0f && at->side != -1.0f)) {
            return false;
        }
    }
    return true;
}

void crowd_walk(Soft *soft, State *state)
{
    Crowd *crowd = soft->crowd;
    if (crowd == NULL) {
        return;
    }
    state_count(state, &crowd->crossing_count, crowd->crossing_room);
    if (!state->failed) {
        state_bytes(state, crowd->crossings, crowd->crossing_count * sizeof *crowd->crossings);
    }
    if (state->mode == STATE_LOAD && (state->failed || !crossings_are_sane(crowd))) {
        crowd->crossing_count = 0;
        state->failed = true;
    }
}
