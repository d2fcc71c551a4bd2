/* liquid_form.c: see liquid_form.h. */
#include "client/view/liquid_form.h"

#include "protocol/codec/chunk.h"

#include <stdlib.h>
#include <string.h>

/* Balls are drawn larger, so that they overlap and a liquid at rest has no holes: its spacing is 2
 * radii. */
#define BALL_RADII    1.75f
/* Neighbours (in points at rest) between which spray becomes liquid: four are a surface, one is the
 * corner of a tank. */
#define SPRAY_MIN     0.2f
#define SPRAY_MAX     1.4f
/* Differences of speed between which a liquid turns white, m/s. */
#define FOAM_MIN_M_S  0.9f
#define FOAM_MAX_M_S  3.5f
/* Speeds between which spray turns white; drops at rest are clear. */
#define SLOW_MIN_M_S  0.3f
#define SLOW_MAX_M_S  1.5f
#define FAST_MIN_M_S  3.0f
#define FAST_MAX_M_S  9.0f
/* Radius around an eye within the liquid in which all points may be visible. */
#define DIVING_POINTS 1.0f
#define SPRAY_SMALLER 0.62f /* of the radius */
#define SPRAY_WHITE   0.3f

/* Minimal number of remaining points in a chunk from which its decimation can be derived. */
enum {
    DECIMATION_EVIDENCE = 5
};

void decimation_find(const ShownPoint *points, u32 first, u32 count, u8 *shifts)
{
    u32 votes[DECIMATION_MAX + 1] = {0};
    static const u8 unknown = UINT8_MAX;
    for (u32 i = 0; i < count;) {
        u32 at = (first + i) % CHUNK_POINTS, n = u32_min(CHUNK_POINTS - at, count - i);
        u32 live = 0, low = 0; /* bits of slots in use */
        for (u32 k = 0; k < n; k++) {
            if (points[i + k].generation != 0) {
                live++;
                low |= at + k;
            }
        }
        u8 shift = unknown;
        if (live >= DECIMATION_EVIDENCE) {
            for (shift = 0; shift < DECIMATION_MAX && (low >> shift & 1) == 0;) {
                shift++;
            }
            votes[shift] += live << shift;
        }
        memset(shifts + i, shift, n);
        i += n;
    }
    u8 usual = 0;
    for (u8 k = 1; k <= DECIMATION_MAX; k++) {
        usual = votes[k] > votes[usual] ? k : usual;
    }
    for (u32 i = 0; i < count; i++) {
        shifts[i] = shifts[i] == unknown ? usual : shifts[i];
    }
}

f32 liquid_ball_radius(const Appearance *appearance, u8 shift)
{
    static const f32 grow[DECIMATION_MAX + 1] = {1.0f, 1.2599210f, 1.5874011f, 2.0f};
    return BALL_RADII * f32_max(appearance->radius, 0.002f) * grow[u32_min(shift, DECIMATION_MAX)];
}

void liquid_form_begin(LiquidForm *form)
{
    form->count = form->body_count = 0;
    form->diving = false;
    form->radius = 0.0f;
}

void liquid_form_finish(LiquidForm *form)
{
    free(form->points);
    free(form->velocities);
    free(form->shifts);
    point_density_finish(&form->density);
    free(form->bodies);
    memset(form, 0, sizeof *form);
}

static bool form_reserve(LiquidForm *form, u32 more)
{
    if (form->body_count == form->body_capacity) {
        u32 capacity = 2 * form->body_capacity + 8;
        LiquidBody *bodies = realloc(form->bodies, capacity * sizeof *bodies);
        if (!bodies) {
            return false;
        }
        form->bodies = bodies;
        form->body_capacity = capacity;
    }
    if (more > form->shift_capacity) {
        u8 *shifts = realloc(form->shifts, more);
        if (!shifts) {
            return false;
        }
        form->shifts = shifts;
        form->shift_capacity = more;
    }
    u64 needed = (u64)form->count + more;
    if (needed <= form->capacity) {
        return true;
    }
    u64 capacity = needed + needed / 2;
    LiquidPoint *points = realloc(form->points, capacity * sizeof *points);
    if (!points) {
        return false;
    }
    form->points = points;
    Vec3 *velocities = realloc(form->velocities, capacity * sizeof *velocities);
    if (!velocities) {
        return false;
    }
    form->velocities = velocities;
    form->capacity = (u32)capacity;
    return true;
}

void liquid_form_add(LiquidForm *form, const ShownPoint *points, const Entity *entity,
                     const f32 color[3], const f32 color2[3])
{
    const Appearance *appearance = &entity->appearance;
    if (!form_reserve(form, entity->count)) {
        return;
    }
    points += entity->first;
    decimation_find(points, entity->first, entity->count, form->shifts);
    f32 radius = f32_max(appearance->radius, 0.002f);
    f32 clear_m = appearance->clear_m > 0.0f ? appearance->clear_m : 1.0f;
    LiquidPoint one = {.volume = 8.0f * radius * radius * radius};
    for (u32 k = 0; k < 3; k++) {
        one.optical[k] = -logf(f32_clamp(color[k], 0.001f, 1.0f)) / clear_m;
        one.scatter[k] = color2[k];
    }
    u32 before = form->count;
    f32 sum = 0.0f;
    for (u32 i = 0; i < entity->count; i++) {
        if (points[i].generation != 0) {
            u8 shift = form->shifts[i];
            LiquidPoint *out = &form->points[form->count];
            *out = one;
            out->position = points[i].position;
            out->radius = liquid_ball_radius(appearance, shift);
            sum += out->radius;
            out->volume = one.volume * (f32)(1u << shift);
            form->velocities[form->count++] = points[i].velocity;
        }
    }
    u32 added = form->count - before;
    if (added > 0) {
        f32 drawn = sum / (BALL_RADII * (f32)added);
        form->radius += (drawn - form->radius) * (f32)added / (f32)form->count;
        form->bodies[form->body_count++] = (LiquidBody){before, added, added};
    }
}

/* ---- foam ---- */

/* True if it is not surrounded by others. `unit`: the volume of a point, m³. */
static bool point_foam(LiquidForm *form, u32 i, f32 unit)
{
    LiquidPoint *point = &form->points[i];
    DensitySample place = point_density_at(&form->density, point->position);
    f32 others = place.points - place.itself * point->volume / unit;
    Vec3 velocity = form->velocities[i];
    f32 spray = 1.0f - f32_smooth_step(SPRAY_MIN, SPRAY_MAX, others);
    f32 mixed = (1.0f - spray) * f32_smooth_step(FOAM_MIN_M_S, FOAM_MAX_M_S, place.spread);
    f32 speed = vec3_length(velocity);
    f32 white = SPRAY_WHITE * f32_smooth_step(SLOW_MIN_M_S, SLOW_MAX_M_S, speed) +
                f32_smooth_step(FAST_MIN_M_S, FAST_MAX_M_S, speed);
    point->radius *= 1.0f - SPRAY_SMALLER * spray;
    point->foam = f32_min(white * spray + mixed, 1.0f);
    return !point_density_hides(&form->density, point->position);
}

/* Sorts a body: hidden points are swapped with the last ones. */
static void body_foam(LiquidForm *form, LiquidBody *body, f32 unit)
{
    u32 end = body->first + body->count;
    for (u32 i = body->first; i < end;) {
        if (point_foam(form, i, unit) || form->diving) {
            i++;
            continue;
        }
        end--;
        LiquidPoint inner = form->points[i];
        Vec3 velocity = form->velocities[i];
        form->points[i] = form->points[end];
        form->velocities[i] = form->velocities[end];
        form->points[end] = inner;
        form->velocities[end] = velocity;
    }
    body->outer = end - body->first;
}

void liquid_form_foam(LiquidForm *form, Vec3 eye)
{
    if (form->count == 0 || !point_density_begin(&form->density, form->count, form->radius)) {
        return;
    }
    f32 unit = 8.0f * form->radius * form->radius * form->radius;
    for (u32 i = 0; i < form->count; i++) {
        const LiquidPoint *point = &form->points[i];
        point_density_add(&form->density, point->position, form->velocities[i],
                          point->volume / unit);
    }
    form->diving = point_density_at(&form->density, eye).points > DIVING_POINTS;
    for (u32 b = 0; b < form->body_count; b++) {
        body_foam(form, &form->bodies[b], unit);
    }
}
