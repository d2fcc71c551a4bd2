/* check.c: every number of a definition is checked here before use. */
#include "server/physics/particles/particles_internal.h"

#include "shared/base/limits.h"

/* Range the engine accepts for an option: low to high, or the special value `also`. */
typedef struct NumberRange {
    const char *name;
    f32 value, also, low, high;
} NumberRange;

static int check_field(const NumberRange *f, ErrorText *error)
{
    if ((f->value >= f->low && f->value <= f->high) || f->value == f->also) {
        return ERROR_OK;
    }
    return error_set(error, ERROR_RANGE, "%s %g: %g to %g", f->name, (double)f->value,
                     (double)f->low, (double)f->high);
}

static int check_vector(const char *name, Vec3 v, f32 most, ErrorText *error)
{
    const f32 values[3] = {v.x, v.y, v.z};
    for (u32 i = 0; i < 3; i++) {
        if (!(values[i] >= -most && values[i] <= most)) {
            return error_set(error, ERROR_RANGE, "%s %g: within ±%g", name, (double)values[i],
                             (double)most);
        }
    }
    return ERROR_OK;
}

static int check_whole(const char *name, u32 value, u32 low, u32 high, ErrorText *error)
{
    return value >= low && value <= high
               ? ERROR_OK
               : error_set(error, ERROR_RANGE, "%s %u: %u to %u", name, value, low, high);
}

static int check_numbers(const ParticlesDef *def, ErrorText *error)
{
    int result = ERROR_OK;
#define ROW_NUMBER(key, member, unit, scale, initial, also, least, most, bears, doc)               \
    if (result == ERROR_OK) {                                                                      \
        const NumberRange field = {#member, def->member, (also) * (scale), (least) * (scale),      \
                                   (bears) * (scale)};                                             \
        result = check_field(&field, error);                                                       \
    }
#define ROW_WHOLE(key, member, initial, least, most, doc)                                          \
    result = result != ERROR_OK ? result : check_whole(#member, def->member, least, most, error);
#define ROW_CHOICE(key, member, Type, names, initial, doc)                                         \
    result = result != ERROR_OK                                                                    \
                 ? result                                                                          \
                 : check_whole(#member, (u32)def->member, 0, PL_COUNT(names) - 1, error);
#define ROW_VECTOR(key, member, unit, most, bears, doc)                                            \
    result = result != ERROR_OK ? result : check_vector(#member, def->member, bears, error);
#include "shared/rows/particles.def"
    return result;
}

static int check_force(const ParticleForce *force, ErrorText *error)
{
    const NumberRange fields[] = {
        {"strength", force->strength, 0.0f, -1e12f, 1e12f},
        {"radius", force->radius, 0.0f, 0.0f, 1e6f},
        {"length of the axis", vec3_length(force->axis), 1.0f, 0.999f, 1.001f}};
    int result = check_vector("position", force->position, WORLD_EXTENT_MAX_M, error);
    u32 count = force->kind == PARTICLE_VORTEX ? PL_COUNT(fields) : PL_COUNT(fields) - 1;
    for (u32 i = 0; i < count && result == ERROR_OK; i++) {
        result = check_field(&fields[i], error);
    }
    return result == ERROR_OK && (u32)force->kind >= PARTICLE_FORCE_COUNT
               ? error_set(error, ERROR_RANGE, "kind of force %u", (u32)force->kind)
               : result;
}

static int check_lists(const ParticlesDef *def, ErrorText *error)
{
    int result = check_whole("forces", def->force_count, 0, PARTICLE_FORCES_MAX, error);
    for (u32 i = 0; i < def->force_count && result == ERROR_OK; i++) {
        result = check_force(&def->forces[i], error);
    }
    if (result == ERROR_OK) {
        result = check_whole("particles", def->start_count, 0, def->count, error);
    }
    for (u32 i = 0; i < def->start_count && result == ERROR_OK; i++) {
        const ParticleStart *start = &def->starts[i];
        const NumberRange mass = {"mass of a particle", start->mass_kg, 0.0f, 0.0f, 1e30f};
        result = check_vector("position of a particle", start->position, WORLD_EXTENT_MAX_M, error);
        result = result != ERROR_OK ? result
                                    : check_vector("velocity of a particle", start->velocity,
                                                   SPEED_MAX_M_S, error);
        result = result != ERROR_OK ? result : check_field(&mass, error);
    }
    return result;
}

int particles_check(const ParticlesDef *def, ErrorText *error)
{
    int result = check_numbers(def, error);
    if (result == ERROR_OK) {
        result = check_lists(def, error);
    }
    if (result == ERROR_OK && def->lifetime_s > 0.0f && !(def->lifetime_spread < def->lifetime_s)) {
        result = error_set(error, ERROR_RANGE, "lifetime_spread %g: below the lifetime",
                           (double)def->lifetime_spread);
    }
    if (result == ERROR_OK && def->radius_spread > 0.0f && !(def->radius_spread < def->radius)) {
        result = error_set(error, ERROR_RANGE, "radius_spread %g: below the radius",
                           (double)def->radius_spread);
    }
    return result;
}
