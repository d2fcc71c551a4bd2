/* check.c: every number of a definition is checked here before use. */
#include "server/physics/option.h"
#include "server/physics/particles/particles_internal.h"

#include "shared/base/limits.h"

static int check_numbers(const ParticlesDef *def, ErrorText *error)
{
    int result = ERROR_OK;
#define SOLVER_ROWS
#include "server/physics/option_check_rows.h"
#include "shared/rows/particles.def"
    return result;
}

static int check_force(const ParticleForce *def, ErrorText *error)
{
    const OptionRange length = {
        "length of the axis", "", vec3_length(def->axis), 1.0f, 0.999f, 1.001f};
    int result = ERROR_OK;
#include "server/physics/option_check_rows.h"
#include "shared/rows/particle_force.def"
    return result == ERROR_OK && def->kind == PARTICLE_VORTEX ? option_check_number(&length, error)
                                                              : result;
}

static int check_lists(const ParticlesDef *def, ErrorText *error)
{
    int result = option_check_whole("forces", def->force_count, 0, PARTICLE_FORCES_MAX, error);
    for (u32 i = 0; i < def->force_count && result == ERROR_OK; i++) {
        result = check_force(&def->forces[i], error);
    }
    if (result == ERROR_OK) {
        result = option_check_whole("particles", def->start_count, 0, def->count, error);
    }
    for (u32 i = 0; i < def->start_count && result == ERROR_OK; i++) {
        const ParticleStart *start = &def->starts[i];
        const OptionRange mass = {"mass of a particle", "", start->mass_kg, 0.0f, 0.0f, 1e30f};
        result = option_check_vector("position of a particle", "", start->position,
                                     WORLD_EXTENT_MAX_M, error);
        result = result != ERROR_OK ? result
                                    : option_check_vector("velocity of a particle", "",
                                                          start->velocity, SPEED_MAX_M_S, error);
        result = result != ERROR_OK ? result : option_check_number(&mass, error);
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
