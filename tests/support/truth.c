/* truth.c: see truth.h. */
#include "tests/support/truth.h"

#include "shared/math/random.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const TruthLaw *const truth_tables[] = {
    truth_contact, truth_motion, truth_wall,      truth_rest,   truth_soft,   truth_stiff,
    truth_shape,   truth_ring,   truth_particles, truth_mutual, truth_liquid, truth_flow,
    truth_light,   truth_water,  truth_pool,      truth_air,    truth_smoke,  truth_driven,
    truth_dry,     truth_bend,   truth_veil,      truth_merge,  truth_all,    NULL,
};

f32 truth_range(TruthCase *c, f32 low, f32 high)
{
    return random_range(c->seed, c->counter++, low, high);
}

f32 truth_log_range(TruthCase *c, f32 low, f32 high)
{
    return low * powf(high / low, random_f32(c->seed, c->counter++));
}

u32 truth_pick(TruthCase *c, u32 count)
{
    return (u32)(random_u64(c->seed, c->counter++) % count);
}

Vec3 truth_direction(TruthCase *c)
{
    f32 y = truth_range(c, -1.0f, 1.0f), angle = truth_range(c, 0.0f, 6.2831853f);
    f32 across = sqrtf(1.0f - y * y);
    return vec3(across * cosf(angle), y, across * sinf(angle));
}

/* Shoemake, "Uniform random rotations", Graphics Gems III, 1992. */
Quat truth_rotation(TruthCase *c)
{
    f32 u = truth_range(c, 0.0f, 1.0f);
    f32 a = truth_range(c, 0.0f, 6.2831853f), b = truth_range(c, 0.0f, 6.2831853f);
    f32 s = sqrtf(1.0f - u), t = sqrtf(u);
    return (Quat){t * cosf(b), s * sinf(a), s * cosf(a), t * sinf(b)};
}

void truth_say(TruthCase *c, const char *format, ...)
{
    size_t used = strlen(c->about);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(c->about + used, sizeof c->about - used, format, arguments);
    va_end(arguments);
}

/* FNV-1a of the name: case numbers give different random numbers for each law. */
static u64 seed_of(const char *name, u32 number)
{
    u64 seed = 0xcbf29ce484222325ull;
    for (; *name != 0; name++) {
        seed = (seed ^ (u8)*name) * 0x100000001b3ull;
    }
    return seed + number;
}

TruthWorst truth_sweep(const TruthLaw *law, u32 first, u32 count)
{
    TruthWorst worst = {.value = -INFINITY, .cases = count};
    for (u32 i = 0; i < count; i++) {
        TruthCase c = {.seed = seed_of(law->name, first + i)};
        f64 value = law->measure(&c);
        worst.broken += !(value <= law->bound);
        /* NaN is the worst value. */
        if (!isnan(worst.value) && !(value <= worst.value)) {
            worst.value = value;
            worst.number = first + i;
            memcpy(worst.about, c.about, sizeof worst.about);
        }
    }
    return worst;
}

/* Laws are judged by the release build: sanitizer builds, ten times slower, look for other
 * errors. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum {
    ONE_IN = 8
};
#else
enum {
    ONE_IN = 1
};
#endif

u32 truth_check(const TruthLaw *table)
{
    u32 broken = 0;
    for (const TruthLaw *law = table; law->name != NULL; law++) {
        if (law->few == 0) { /* too long for a test, or about time */
            continue;
        }
        TruthWorst worst = truth_sweep(law, 0, (law->few + ONE_IN - 1) / ONE_IN);
        printf("%s %s: %.4g %s (at most %g) in case %u: %s; %u of %u broken\n",
               worst.broken == 0 ? "holds" : "BROKEN", law->name, worst.value, law->unit,
               law->bound, worst.number, worst.about, worst.broken, worst.cases);
        broken += worst.broken != 0;
    }
    return broken;
}
