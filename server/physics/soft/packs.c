/* packs.c: XPBD of distance constraints, in colours that share no particle. */
#include "server/physics/soft/store.h"

#include "shared/error.h"

#include <stdlib.h>

enum {
    COLORS_MAX = 64
};

struct Packs {
    u32 *order; /* [count] constraints by colour */
    u32 count;
};

void packs_destroy(Packs *packs)
{
    if (packs != NULL) {
        free(packs->order);
        free(packs);
    }
}

int packs_create(Soft *soft)
{
    packs_destroy(soft->packs);
    soft->packs = calloc(1, sizeof *soft->packs);
    u64 *used = calloc(u32_max(soft->count, 1), sizeof *used); /* colours at each particle */
    u8 *color = malloc(u32_max(soft->constraint_count, 1));
    u32 start[COLORS_MAX + 1] = {0};
    int result = used == NULL || color == NULL || soft->packs == NULL ? ERROR_MEMORY : ERROR_OK;
    for (u32 i = 0; result == ERROR_OK && i < soft->constraint_count; i++) {
        const u32 *p = soft->constraints[i].point;
        u64 taken = used[p[0]] | used[p[1]];
        if (~taken == 0) {
            result = ERROR_LIMIT;
            break;
        }
        color[i] = (u8)__builtin_ctzll(~taken);
        used[p[0]] |= 1ull << color[i];
        used[p[1]] |= 1ull << color[i];
        start[color[i] + 1]++;
    }
    if (result == ERROR_OK) {
        soft->packs->order =
            malloc(u32_max(soft->constraint_count, 1) * sizeof *soft->packs->order);
        result = soft->packs->order == NULL ? ERROR_MEMORY : ERROR_OK;
    }
    if (result == ERROR_OK) {
        for (u32 c = 0; c < COLORS_MAX; c++) {
            start[c + 1] += start[c];
        }
        soft->packs->count = soft->constraint_count;
        for (u32 i = 0; i < soft->constraint_count; i++) {
            soft->packs->order[start[color[i]]++] = i;
        }
    }
    free(used);
    free(color);
    return result;
}

/* XPBD with the multiplier starting at 0 in each step: Δλ = −C / (wa + wb + α/h²). */
void packs_solve(Soft *soft, f32 h)
{
    f32 per_h = 1.0f / h, per_h2 = per_h * per_h;
    for (u32 i = 0; i < soft->packs->count; i++) {
        const SoftConstraint *edge = &soft->constraints[soft->packs->order[i]];
        SoftPoint *a = &soft->points[edge->point[0]], *b = &soft->points[edge->point[1]];
        Vec3 d = vec3_sub(b->position, a->position);
        d = vec3_add_scaled(d, h, vec3_sub(b->velocity, a->velocity));
        f32 length = vec3_length(d), w = a->inverse_mass + b->inverse_mass;
        f32 off = length - f32_clamp(length, edge->low, edge->high);
        f32 alpha = edge->compliance * soft_role_scale(soft, edge->role) * per_h2;
        if (length < 1e-9f || w <= 0.0f) {
            continue;
        }
        Vec3 step = vec3_scale(d, per_h * off / (length * (w + alpha)));
        a->velocity = vec3_add_scaled(a->velocity, a->inverse_mass, step);
        b->velocity = vec3_add_scaled(b->velocity, -b->inverse_mass, step);
    }
}
