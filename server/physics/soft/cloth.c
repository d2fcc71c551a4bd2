/*
 * cloth.c: a rectangle of particles with stretch, shear and bending constraints, and the colouring
 * that sorts constraints into batches without common particles (greedy, in order of creation).
 */
#include "server/physics/soft/store.h"

#include "shared/error.h"
#include "shared/limits.h"

#include <stdlib.h>

enum {
    COLORS_MAX = 64,
    TOUCHES_EACH = 6,
    GROUP_ROOM = 4096,
};

static bool grow(void **items, u32 *room, u32 needed, size_t size)
{
    if (needed <= *room) {
        return true;
    }
    u32 larger = u32_max(needed, *room * 2);
    void *moved = realloc(*items, larger * size);
    if (moved == NULL) {
        return false;
    }
    *items = moved;
    *room = larger;
    return true;
}

static bool grow_particles(Soft *soft, u32 needed)
{
    if (needed <= soft->room) {
        return true;
    }
    void **vectors[] = {(void **)&soft->position, (void **)&soft->velocity,
                        (void **)&soft->wind_velocity};
    void **numbers[] = {(void **)&soft->inverse_mass, (void **)&soft->radius,
                        (void **)&soft->friction, (void **)&soft->damping,
                        (void **)&soft->wind_area};
    u32 room = 0;
    for (u32 i = 0; i < PL_COUNT(vectors); i++) {
        room = soft->room;
        if (!grow(vectors[i], &room, needed, sizeof(Vec3))) {
            return false;
        }
    }
    for (u32 i = 0; i < PL_COUNT(numbers); i++) {
        room = soft->room;
        if (!grow(numbers[i], &room, needed, sizeof(f32))) {
            return false;
        }
    }
    soft->room = room;
    return true;
}

static bool add_edge(Soft *soft, u32 a, u32 b, f32 compliance, EdgeKind kind)
{
    if (!grow((void **)&soft->edges, &soft->edge_room, soft->edge_count + 1, sizeof *soft->edges)) {
        return false;
    }
    SoftEdge edge = {.a = a,
                     .b = b,
                     .rest = vec3_distance(soft->position[a], soft->position[b]),
                     .compliance = compliance,
                     .kind = (u16)kind};
    soft->edges[soft->edge_count++] = edge;
    return true;
}

static bool add_triangle(Soft *soft, u32 a, u32 b, u32 c)
{
    if (!grow((void **)&soft->triangles, &soft->triangle_room, soft->triangle_count + 1,
              sizeof *soft->triangles)) {
        return false;
    }
    SoftTriangle triangle = {{a, b, c}};
    soft->triangles[soft->triangle_count++] = triangle;
    Vec3 side = vec3_sub(soft->position[b], soft->position[a]);
    f32 area = 0.5f * vec3_length(vec3_cross(side, vec3_sub(soft->position[c], soft->position[a])));
    for (u32 i = 0; i < 3; i++) {
        soft->wind_area[triangle.point[i]] += area / 3.0f;
    }
    return true;
}

static void add_points(Soft *soft, const ClothDef *def, SoftRange *range)
{
    f32 cell[2] = {def->size[0] / (f32)(def->columns - 1), def->size[1] / (f32)(def->rows - 1)};
    range->first = soft->count;
    range->count = def->columns * def->rows;
    range->mass_kg = 0.0f;
    for (u32 r = 0; r < def->rows; r++) {
        for (u32 c = 0; c < def->columns; c++) {
            u32 i = soft->count++;
            Vec3 local = vec3((f32)c * cell[0], (f32)r * cell[1], 0.0f);
            soft->position[i] = vec3_add(def->position, quat_rotate(def->orientation, local));
            soft->velocity[i] = vec3_zero();
            soft->wind_velocity[i] = vec3_zero();
            /* Each point carries the area that is nearest to it: halves at edges. */
            f32 share = (c == 0 || c + 1 == def->columns ? 0.5f : 1.0f) *
                        (r == 0 || r + 1 == def->rows ? 0.5f : 1.0f);
            f32 mass = share * cell[0] * cell[1] * def->area_density;
            range->mass_kg += mass;
            soft->inverse_mass[i] = 1.0f / mass;
            soft->radius[i] = def->thickness;
            soft->friction[i] = def->friction;
            soft->damping[i] = def->damping;
            soft->wind_area[i] = 0.0f;
        }
    }
}

static bool add_constraints(Soft *soft, const ClothDef *def, u32 first)
{
    bool good = true;
    u32 w = def->columns;
    for (u32 r = 0; r < def->rows; r++) {
        for (u32 c = 0; c < w; c++) {
            u32 i = first + r * w + c;
            bool right = c + 1 < w, down = r + 1 < def->rows;
            if (right) {
                good = good && add_edge(soft, i, i + 1, def->stretch_compliance, EDGE_STRETCH);
            }
            if (down) {
                good = good && add_edge(soft, i, i + w, def->stretch_compliance, EDGE_STRETCH);
            }
            if (right && down) {
                good = good && add_edge(soft, i, i + w + 1, def->shear_compliance, EDGE_SHEAR) &&
                       add_edge(soft, i + 1, i + w, def->shear_compliance, EDGE_SHEAR) &&
                       add_triangle(soft, i, i + 1, i + w) &&
                       add_triangle(soft, i + 1, i + w + 1, i + w);
            }
            if (c + 2 < w) {
                good = good && add_edge(soft, i, i + 2, def->bend_compliance, EDGE_BEND);
            }
            if (r + 2 < def->rows) {
                good = good && add_edge(soft, i, i + 2 * w, def->bend_compliance, EDGE_BEND);
            }
        }
    }
    return good;
}

static bool add_pins(Soft *soft, const Rigid *rigid, const ClothDef *def, u32 first)
{
    for (u32 i = 0; i < def->pin_count; i++) {
        const SoftPin *pin = &def->pins[i];
        u32 particle = first + pin->point;
        if (pin->body.generation == 0) {
            soft->inverse_mass[particle] = 0.0f;
            continue;
        }
        if (!grow((void **)&soft->attachments, &soft->attachment_room, soft->attachment_count + 1,
                  sizeof *soft->attachments)) {
            return false;
        }
        u32 slot = pin->body.slot;
        Vec3 arm = vec3_sub(soft->position[particle], rigid_centre(rigid, slot));
        SoftAttachment attachment = {particle,
                                     pin->body,
                                     quat_rotate_inverse(rigid_orientation(rigid, slot), arm),
                                     {0.0f, 0.0f, 0.0f}};
        soft->attachments[soft->attachment_count++] = attachment;
    }
    return true;
}

int soft_add_cloth(Soft *soft, const Rigid *rigid, const ClothDef *def, SoftRange *range)
{
    u64 points = (u64)def->columns * def->rows;
    if (def->columns < 2 || def->rows < 2 || points > PARTICLES_MAX ||
        soft->count + points > PARTICLES_MAX) {
        return ERROR_LIMIT;
    }
    for (u32 i = 0; i < def->pin_count; i++) {
        if (def->pins[i].point >= points ||
            (def->pins[i].body.generation != 0 &&
             (rigid == NULL || !rigid_alive(rigid, def->pins[i].body)))) {
            return ERROR_RANGE;
        }
    }
    if (!grow_particles(soft, soft->count + (u32)points)) {
        return ERROR_MEMORY;
    }
    add_points(soft, def, range);
    bool good =
        add_constraints(soft, def, range->first) && add_pins(soft, rigid, def, range->first);
    return good ? ERROR_OK : ERROR_MEMORY;
}

int soft_build(Soft *soft)
{
    u64 *used = calloc(u32_max(soft->count, 1), sizeof *used); /* colours at each particle */
    SoftEdge *sorted = malloc(u32_max(soft->edge_count, 1) * sizeof *sorted);
    u32 start[COLORS_MAX + 1] = {0};
    int result = used == NULL || sorted == NULL ? ERROR_MEMORY : ERROR_OK;
    for (u32 i = 0; result == ERROR_OK && i < soft->edge_count; i++) {
        SoftEdge *edge = &soft->edges[i];
        u64 taken = used[edge->a] | used[edge->b];
        if (~taken == 0) {
            result = ERROR_LIMIT;
            break;
        }
        edge->color = (u16)__builtin_ctzll(~taken);
        used[edge->a] |= 1ull << edge->color;
        used[edge->b] |= 1ull << edge->color;
        start[edge->color + 1]++;
    }
    if (result == ERROR_OK) {
        for (u32 c = 0; c < COLORS_MAX; c++) {
            start[c + 1] += start[c];
        }
        for (u32 i = 0; i < soft->edge_count; i++) {
            sorted[start[soft->edges[i].color]++] = soft->edges[i];
        }
        free(soft->edges);
        soft->edges = sorted;
        soft->edge_room = u32_max(soft->edge_count, 1);
        sorted = NULL;
    }
    free(sorted);
    free(used);
    /* Room for what a cloth in a crowd touches, so that ticks seldom ask for memory. */
    if (result == ERROR_OK && soft->count != 0 &&
        !soft_reserve_touches(soft, soft->count * TOUCHES_EACH + GROUP_ROOM)) {
        result = ERROR_MEMORY;
    }
    return result;
}
