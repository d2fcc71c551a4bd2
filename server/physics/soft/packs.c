/* packs.c: XPBD of all constraints, in colours that share no particle. */
#include "server/physics/soft/constraint.h"

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
        u32 points = constraint_points(soft->constraints[i].kind);
        u64 taken = 0;
        for (u32 k = 0; k < points; k++) {
            taken |= soft->points[p[k]].inverse_mass > 0.0f ? used[p[k]] : 0;
        }
        if (~taken == 0) {
            result = ERROR_LIMIT;
            break;
        }
        color[i] = (u8)__builtin_ctzll(~taken);
        for (u32 k = 0; k < points; k++) {
            used[p[k]] |= 1ull << color[i];
        }
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

void packs_solve(Soft *soft, f32 h)
{
    for (u32 i = 0; i < soft->packs->count; i++) {
        const SoftConstraint *c = &soft->constraints[soft->packs->order[i]];
        u32 body = soft->matter[c->point[0]].body;
        if (soft->bodies[body].def.method == SOFT_XPBD) {
            constraint_project(soft, c, h, NULL);
        }
    }
}
