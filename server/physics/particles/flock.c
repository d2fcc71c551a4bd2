/* flock.c: see flock.h. The boids of one cell share one search; each then tests the result, eight
 * at a time. */
#include "server/physics/particles/flock.h"

#include "shared/base/check.h"
#include "shared/math/simd.h"

#include <stdlib.h>

enum {
    GRAIN = 1024 /* boids of one job */
};

typedef struct FlockPass {
    Flock *flock;
    const FlockRules *rules;
} FlockPass;

/* Those near one cell, padded with far ones to whole vectors. */
typedef struct Seen {
    _Alignas(32) f32 x[FLOCK_SEEN_MAX], y[FLOCK_SEEN_MAX], z[FLOCK_SEEN_MAX];
    _Alignas(32) f32 vx[FLOCK_SEEN_MAX], vy[FLOCK_SEEN_MAX], vz[FLOCK_SEEN_MAX];
    u32 count;
} Seen;

/* Sums over those in sight. */
typedef struct Company {
    f32 count;
    Vec3 place, velocity; /* sums, relative to the boid */
    Vec3 apart;           /* sum of directions away, by nearness */
} Company;

static const f32 far_m = 1e9f;
/* Size of a cell in ranges of sight: fewer searches against more candidates of each. */
static const f32 cell_sights = 1.75f;

bool flock_reserve(Flock *flock, u32 capacity)
{
    if (capacity <= flock->capacity) {
        return true;
    }
    Vec3 **arrays[3] = {&flock->positions, &flock->velocities, &flock->pulls};
    for (u32 i = 0; i < 3; i++) {
        Vec3 *grown = realloc(*arrays[i], capacity * sizeof(Vec3));
        if (grown == NULL) {
            return false;
        }
        *arrays[i] = grown;
    }
    if (!cells_reserve(&flock->cells, capacity)) {
        return false;
    }
    flock->capacity = capacity;
    return true;
}

void flock_finish(Flock *flock)
{
    cells_finish(&flock->cells);
    free(flock->positions);
    free(flock->velocities);
    free(flock->pulls);
    *flock = (Flock){0};
}

/* Lists those within `sight` of the box that holds a cell's boids. */
static void look(const Flock *flock, Vec3 low, Vec3 high, f32 sight, Seen *seen)
{
    u32 near[FLOCK_SEEN_MAX];
    u32 found = cells_around(&flock->cells, low, high, sight, near, FLOCK_SEEN_MAX);
    seen->count = u32_min(found, FLOCK_SEEN_MAX);
    for (u32 i = 0; i < seen->count; i++) {
        Vec3 p = flock->positions[near[i]], v = flock->velocities[near[i]];
        seen->x[i] = p.x;
        seen->y[i] = p.y;
        seen->z[i] = p.z;
        seen->vx[i] = v.x;
        seen->vy[i] = v.y;
        seen->vz[i] = v.z;
    }
    for (u32 i = seen->count; i % SIMD_LANES != 0; i++) {
        seen->x[i] = seen->y[i] = seen->z[i] = far_m;
        seen->vx[i] = seen->vy[i] = seen->vz[i] = 0.0f;
    }
}

SIMD_INLINE f32 sum_lanes(f32x8 v)
{
    return ((v[0] + v[4]) + (v[1] + v[5])) + ((v[2] + v[6]) + (v[3] + v[7]));
}

static Company company_of(const Seen *seen, Vec3 position, Vec3 velocity, const FlockRules *rules)
{
    Vec3x8 at = vec3x8_set(position), mine = vec3x8_set(velocity);
    Vec3x8 place = vec3x8_set(vec3_zero()), speed = place, apart = place;
    f32x8 count = f32x8_set(0.0f), one = f32x8_set(1.0f), tiny = f32x8_set(1e-12f);
    f32x8 sight2 = f32x8_set(rules->sight * rules->sight);
    f32 keep = f32_max(rules->separation_distance, 1e-6f);
    f32x8 limit = f32x8_set(1.0f / keep), near2 = f32x8_set(1.001f * keep * keep);
    for (u32 i = 0; i < seen->count; i += SIMD_LANES) {
        Vec3x8 d = {f32x8_load(seen->x + i) - at.x, f32x8_load(seen->y + i) - at.y,
                    f32x8_load(seen->z + i) - at.z};
        f32x8 r2 = vec3x8_dot(d, d);
        i32x8 sees = (r2 <= sight2) & (r2 > tiny); /* not itself */
        if (!i32x8_any(sees)) {
            continue;
        }
        if (i32x8_any(sees & (r2 < near2))) { /* a root and a division for few */
            f32x8 push = one / f32x8_sqrt(f32x8_max(r2, tiny)) - limit; /* (1 − r / keep) / r */
            push = f32x8_and(sees & (push > f32x8_set(0.0f)), push);
            apart = vec3x8_sub_scaled(apart, push, d);
        }
        Vec3x8 v = {f32x8_load(seen->vx + i) - mine.x, f32x8_load(seen->vy + i) - mine.y,
                    f32x8_load(seen->vz + i) - mine.z};
        count += f32x8_and(sees, one);
        place.x += f32x8_and(sees, d.x);
        place.y += f32x8_and(sees, d.y);
        place.z += f32x8_and(sees, d.z);
        speed.x += f32x8_and(sees, v.x);
        speed.y += f32x8_and(sees, v.y);
        speed.z += f32x8_and(sees, v.z);
    }
    return (Company){sum_lanes(count),
                     vec3(sum_lanes(place.x), sum_lanes(place.y), sum_lanes(place.z)),
                     vec3(sum_lanes(speed.x), sum_lanes(speed.y), sum_lanes(speed.z)),
                     vec3(sum_lanes(apart.x), sum_lanes(apart.y), sum_lanes(apart.z))};
}

static Vec3 steer(const Company *all, Vec3 position, Vec3 velocity, const FlockRules *rules)
{
    Vec3 pull = vec3_scale(all->apart, rules->separation);
    if (all->count > 0.0f) {
        pull = vec3_add_scaled(pull, rules->alignment / all->count, all->velocity);
        pull = vec3_add_scaled(pull, rules->cohesion / all->count, all->place);
    }
    pull = vec3_add_scaled(pull, rules->homing, vec3_sub(rules->home, position));
    Vec3 away = vec3_sub(position, rules->predator);
    f32 apart = vec3_length(away);
    if (apart < rules->flee_distance && apart > 1e-6f) { /* with full acceleration, when near */
        f32 fear = 2.0f * rules->agility * (1.0f - apart / rules->flee_distance);
        pull = vec3_add_scaled(pull, fear / apart, away);
    }
    f32 speed = vec3_length(velocity); /* back to the speed of flight */
    if (speed > 1e-6f) {
        pull = vec3_add_scaled(pull, (rules->cruise - speed) / speed, velocity);
    }
    f32 size = vec3_length(pull);
    return size > rules->agility ? vec3_scale(pull, rules->agility / size) : pull;
}

/* Boids of one cell (or the part of it in this range), in sorted order. */
static void steer_cells(void *context, u32 first, u32 end, u32 worker)
{
    const FlockPass *pass = context;
    Flock *flock = pass->flock;
    const Cells *cells = &flock->cells;
    Seen seen;
    PL_UNUSED(worker);
    for (u32 i = first; i < end;) {
        u32 last = i;
        Vec3 low = cells->places[i], high = low;
        for (; last < end && cells->keys[last] == cells->keys[i]; last++) {
            low = vec3_min(low, cells->places[last]);
            high = vec3_max(high, cells->places[last]);
        }
        look(flock, low, high, pass->rules->sight, &seen);
        for (; i < last; i++) {
            u32 boid = cells->order[i];
            Vec3 x = flock->positions[boid], v = flock->velocities[boid];
            Company all = company_of(&seen, x, v, pass->rules);
            flock->pulls[boid] = steer(&all, x, v, pass->rules);
        }
    }
}

void flock_accelerate(Flock *flock, u32 count, const FlockRules *rules, Jobs *jobs)
{
    CHECK(rules->sight > 0.0f);
    FlockPass pass = {flock, rules};
    cells_build(&flock->cells, flock->positions, sizeof(Vec3), count, cell_sights * rules->sight,
                jobs);
    jobs_run(jobs, count, GRAIN, steer_cells, &pass);
}
