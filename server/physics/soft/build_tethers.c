/*
 * build_tethers.c: long-range attachments. A solver that iterates over single edges lets a long
 * cloth sag too far; a tether from each point to the nearest pin, as long as the path there at
 * rest, supports the whole cloth at once. A body that hangs on a sheet is supported in the same
 * way, by tethers as elastic as the sheet.
 */
#include "server/physics/soft/build.h"

#include <stdlib.h>

enum {
    /* Separate groups of pins to each of which a point has a tether; with more groups, only to
     * the nearest pin of all. */
    ISLANDS_MAX = 16
};

typedef struct TetherLink {
    u32 to;
    f32 length, compliance;
} TetherLink;

typedef struct Reach {
    f32 way;        /* m, path to the nearest pin of an island */
    f32 compliance; /* m/N, of that path */
    u32 pin;        /* that pin; SOFT_NONE: unreachable */
} Reach;

/* All indices are local to the body. */
typedef struct Tethers {
    Maker *maker;
    u32 count;
    u32 *start; /* [count + 1] in links */
    TetherLink *links;
    u32 *island;  /* [count] of pins, else SOFT_NONE */
    BodyId *body; /* [count] of pins */
    u32 island_count;
    Reach *reach; /* [islands × count] */
    u32 *heap;    /* [count] points by path length, then index */
    u32 *place;   /* [count] position in the heap; SOFT_NONE: absent */
    u32 heap_count;
} Tethers;

static bool is_link(const SoftConstraint *c)
{
    return c->kind == CONSTRAINT_DISTANCE && c->role != ROLE_BEND && c->high < 1e9f;
}

/* Edges by point. */
static void list_links(Tethers *t)
{
    const SoftBody *body = t->maker->body;
    const SoftConstraint *all = t->maker->soft->constraints + body->first_constraint;
    for (u32 i = 0; i < body->constraint_count; i++) {
        for (u32 k = 0; is_link(&all[i]) && k < 2; k++) {
            t->start[all[i].point[k] - body->first + 1]++;
        }
    }
    for (u32 i = 0; i < t->count; i++) {
        t->start[i + 1] += t->start[i];
        t->place[i] = t->start[i];
    }
    for (u32 i = 0; i < body->constraint_count; i++) {
        for (u32 k = 0; is_link(&all[i]) && k < 2; k++) {
            u32 from = all[i].point[k] - body->first, to = all[i].point[1 - k] - body->first;
            t->links[t->place[from]++] = (TetherLink){to, all[i].high, all[i].compliance};
        }
    }
}

static bool same_body(BodyId a, BodyId b)
{
    return a.generation == b.generation && (a.generation == 0 || a.slot == b.slot);
}

/* Pins to one body that are connected by edges form an island. */
static void find_islands(Tethers *t)
{
    const SoftDef *def = t->maker->def;
    const u32 unseen = SOFT_NONE - 1;
    for (u32 i = 0; i < t->count; i++) {
        t->island[i] = SOFT_NONE;
    }
    for (u32 i = 0; i < def->pin_count; i++) {
        t->island[def->pins[i].point] = unseen;
        t->body[def->pins[i].point] = def->pins[i].body;
    }
    for (u32 i = 0; i < t->count; i++) {
        if (t->island[i] != unseen) {
            continue;
        }
        u32 *stack = t->heap, waiting = 1;
        stack[0] = i;
        t->island[i] = t->island_count;
        while (waiting > 0) {
            u32 at = stack[--waiting];
            for (u32 k = t->start[at]; k < t->start[at + 1]; k++) {
                u32 to = t->links[k].to;
                if (t->island[to] == unseen && same_body(t->body[at], t->body[to])) {
                    t->island[to] = t->island_count;
                    stack[waiting++] = to;
                }
            }
        }
        t->island_count++;
    }
    if (t->island_count > ISLANDS_MAX) {
        for (u32 i = 0; i < t->count; i++) {
            t->island[i] = t->island[i] == SOFT_NONE ? SOFT_NONE : 0;
        }
        t->island_count = 1;
    }
}

/* ---- shortest paths (Dijkstra 1959) ---- */

static bool nearer(const Reach *reach, u32 a, u32 b)
{
    return reach[a].way != reach[b].way ? reach[a].way < reach[b].way : a < b;
}

static void heap_put(Tethers *t, u32 place, u32 point)
{
    t->heap[place] = point;
    t->place[point] = place;
}

static void heap_up(Tethers *t, const Reach *reach, u32 point)
{
    if (t->place[point] == SOFT_NONE) {
        t->place[point] = t->heap_count++;
    }
    u32 at = t->place[point];
    for (; at > 0 && nearer(reach, point, t->heap[(at - 1) / 2]); at = (at - 1) / 2) {
        heap_put(t, at, t->heap[(at - 1) / 2]);
    }
    heap_put(t, at, point);
}

static u32 heap_pop(Tethers *t, const Reach *reach)
{
    u32 first = t->heap[0], last = t->heap[--t->heap_count], at = 0;
    t->place[first] = SOFT_NONE;
    for (u32 child = 1; child < t->heap_count; child = 2 * at + 1) {
        child += child + 1 < t->heap_count && nearer(reach, t->heap[child + 1], t->heap[child]);
        if (nearer(reach, last, t->heap[child])) {
            break;
        }
        heap_put(t, at, t->heap[child]);
        at = child;
    }
    if (t->heap_count > 0) {
        heap_put(t, at, last);
    }
    return first;
}

static void find_ways(Tethers *t, u32 island)
{
    Reach *reach = t->reach + (size_t)island * t->count;
    t->heap_count = 0;
    for (u32 i = 0; i < t->count; i++) {
        t->place[i] = SOFT_NONE;
        reach[i] = (Reach){INFINITY, 0.0f, SOFT_NONE};
    }
    for (u32 i = 0; i < t->count; i++) {
        if (t->island[i] == island) {
            reach[i] = (Reach){0.0f, 0.0f, i};
            heap_up(t, reach, i);
        }
    }
    while (t->heap_count > 0) {
        u32 at = heap_pop(t, reach);
        for (u32 k = t->start[at]; k < t->start[at + 1]; k++) {
            u32 to = t->links[k].to;
            f32 way = reach[at].way + t->links[k].length;
            if (way < reach[to].way) {
                f32 compliance = reach[at].compliance + t->links[k].compliance;
                reach[to] = (Reach){way, compliance, reach[at].pin};
                heap_up(t, reach, to);
            }
        }
    }
    /* On a flat rectangle with diagonals the shortest path is straight, not along edges. */
    const SoftDef *def = t->maker->def;
    const Vec3 *rest = t->maker->soft->rest + t->maker->body->first;
    bool flat = def->mesh->grid[0] != 0 && def->shear_compliance >= 0.0f;
    for (u32 i = 0; flat && i < t->count; i++) {
        if (reach[i].pin != SOFT_NONE) {
            reach[i].way = vec3_distance(rest[i], rest[reach[i].pin]);
        }
    }
}

/* ---- which are needed ---- */

static bool is_neighbour(const Tethers *t, u32 point, u32 pin)
{
    for (u32 k = t->start[point]; k < t->start[point + 1]; k++) {
        if (t->links[k].to == pin) {
            return true;
        }
    }
    return false;
}

/* A tether is redundant if a nearer pin is fixed relative to its pin and the tether could never
 * be tight. */
static bool is_implied(const Tethers *t, u32 point, u32 island)
{
    const Reach *of = &t->reach[(size_t)island * t->count + point];
    const SoftPoint *at = t->maker->soft->points + t->maker->body->first;
    for (u32 i = 0; i < t->island_count; i++) {
        const Reach *other = &t->reach[(size_t)i * t->count + point];
        if (i == island || other->pin == SOFT_NONE ||
            !same_body(t->body[of->pin], t->body[other->pin])) {
            continue;
        }
        f32 apart = vec3_distance(at[of->pin].position, at[other->pin].position);
        f32 through = other->way + apart;
        if (through < of->way || (through == of->way && i < island)) {
            return true;
        }
    }
    return false;
}

static void add_tethers(Tethers *t)
{
    u32 first = t->maker->body->first;
    for (u32 island = 0; island < t->island_count; island++) {
        for (u32 i = 0; i < t->count; i++) {
            const Reach *reach = &t->reach[(size_t)island * t->count + i];
            if (reach->pin == SOFT_NONE || t->island[i] != SOFT_NONE ||
                is_neighbour(t, i, reach->pin) || is_implied(t, i, island)) {
                continue;
            }
            maker_add_distance(t->maker, first + i, first + reach->pin, 0.0f, reach->way, 0.0f,
                               ROLE_LIMIT);
        }
    }
}

static bool is_body(BodyId id)
{
    return id.generation != 0;
}

/* One pass over single edges carries too little of a hanging body's weight through light points. An
 * elastic tether along the shortest path from the body to what holds the sheet supports it at once.
 * It has the compliance of that path, so the sheet is not stiffer than asked. */
static void add_elastic_tethers(Tethers *t)
{
    u32 first = t->maker->body->first;
    for (u32 island = 0; island < t->island_count; island++) {
        for (u32 i = 0; i < t->count; i++) {
            const Reach *reach = &t->reach[(size_t)island * t->count + i];
            bool other = t->island[i] != SOFT_NONE && t->island[i] != island &&
                         reach->pin != SOFT_NONE && is_body(t->body[i]) &&
                         !same_body(t->body[i], t->body[reach->pin]);
            if (other && (!is_body(t->body[reach->pin]) || island < t->island[i]) &&
                !is_neighbour(t, i, reach->pin) && !is_implied(t, i, island)) {
                maker_add_distance(t->maker, first + i, first + reach->pin, 0.0f, reach->way,
                                   reach->compliance, ROLE_SHEAR);
            }
        }
    }
}

/* An open sheet with a body pinned to it. */
static bool supports_bodies(const Maker *maker)
{
    const SoftDef *def = maker->def;
    bool hangs = false;
    for (u32 i = 0; i < def->pin_count && !hangs; i++) {
        hangs = is_body(def->pins[i].body);
    }
    return hangs && def->method == SOFT_XPBD && maker->body->triangle_count != 0 &&
           !maker->body->closed;
}

void build_tethers(Maker *maker)
{
    u32 n = maker->body->count;
    if (maker->def->pin_count == 0 || maker->result != ERROR_OK ||
        (!maker->def->tethers && !supports_bodies(maker))) {
        return;
    }
    Tethers t = {.maker = maker, .count = n};
    t.start = calloc(n + 1, sizeof *t.start);
    t.links = malloc(2 * (size_t)u32_max(maker->body->constraint_count, 1) * sizeof *t.links);
    t.island = malloc(n * sizeof *t.island);
    t.body = calloc(n, sizeof *t.body);
    t.heap = malloc(n * sizeof *t.heap);
    t.place = malloc(n * sizeof *t.place);
    bool capacity = t.start != NULL && t.links != NULL && t.island != NULL && t.body != NULL &&
                    t.heap != NULL && t.place != NULL;
    if (capacity) {
        list_links(&t);
        find_islands(&t);
        t.reach = malloc((size_t)u32_max(t.island_count, 1) * n * sizeof *t.reach);
    }
    if (t.reach == NULL) {
        maker->result = error_set(maker->error, ERROR_MEMORY,
                                  "out of memory for the tethers of %u "
                                  "points",
                                  n);
    } else {
        for (u32 i = 0; i < t.island_count; i++) {
            find_ways(&t, i);
        }
        if (supports_bodies(maker)) {
            add_elastic_tethers(&t);
        }
        if (maker->def->tethers) {
            add_tethers(&t);
        }
    }
    free(t.start);
    free(t.links);
    free(t.island);
    free(t.body);
    free(t.heap);
    free(t.place);
    free(t.reach);
}
