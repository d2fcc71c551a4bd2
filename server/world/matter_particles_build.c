/* matter_particles_build.c: fields, parameters, probes and systems of a scene. */
#include "server/world/matter_particles.h"

#include <stdio.h>
#include <string.h>

PL_STATIC_ASSERT((int)PARTICLE_SYSTEMS_MAX == (int)PARTICLE_SYSTEMS_OF_SCENE_MAX, "one limit");

/* ---- declarations, only for scenes that need them ---- */

static bool has(const Scene *scene, ParticleBehavior behavior)
{
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        if (scene->particle_systems[i].behavior == behavior) {
            return true;
        }
    }
    return false;
}

static void declare_parameters(MatterParticles *m, const Scene *scene)
{
    bool wanted[PARAMETERS_OF_PARTICLES], flock = has(scene, PARTICLE_FLOCK);
    for (u32 i = 0; i < PARAMETERS_OF_PARTICLES; i++) {
        wanted[i] = i >= PARTICLES_INERTIA      ? has(scene, PARTICLE_SWARM)
                    : i >= PARTICLES_SEPARATION ? flock
                                                : scene->particle_system_count > 0;
        m->parameters[i] = UINT32_MAX;
    }
#define PARAMETER_PARTICLES(NAME, name, unit, components, least, most, initial, initial_text, doc) \
    if (wanted[PARTICLES_##NAME]) {                                                                \
        m->parameters[PARTICLES_##NAME] = world_add_parameter(                                     \
            &m->base, world_parameter(name, unit, components, least, most, initial));              \
    }
#include "shared/rows/parameter.def"
}

static void declare_probe(MatterParticles *m, u32 system, ParticleProbe kind, const char *what,
                          const char *unit)
{
    char name[NAME_BYTES_MAX];
    if (m->probe_count == PARTICLE_PROBES_MAX) {
        return;
    }
    snprintf(name, sizeof name, "%.20s %s", particles_scene(m)->particle_systems[system].name,
             what);
    world_add_probe(&m->base, name, unit);
    m->probes[m->probe_count++] = (OwnParticleProbe){kind, system};
}

static u32 mutual_slots(const Scene *scene)
{
    u32 count = 0;
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        count +=
            scene->particle_systems[i].gravitation > 0.0f ? scene->particle_systems[i].count : 0;
    }
    return count;
}

static bool has_attractor(const Scene *scene, const SceneParticles *system)
{
    for (u32 i = 0; i < system->force_count; i++) {
        if (scene->particle_forces[system->first_force + i].kind == PARTICLE_ATTRACTOR) {
            return true;
        }
    }
    return false;
}

static void declare_probes(MatterParticles *m, const Scene *scene)
{
    bool few = mutual_slots(scene) <= PARTICLE_PAIRS_MAX;
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        const SceneParticles *system = &scene->particle_systems[i];
        if (system->behavior == PARTICLE_SWARM) {
            declare_probe(m, i, PARTICLE_PROBE_BEST, "best", "");
            declare_probe(m, i, PARTICLE_PROBE_ITERATIONS, "iterations", "");
            continue;
        }
        if (system->rate > 0.0f || system->burst > 0) {
            declare_probe(m, i, PARTICLE_PROBE_COUNT, "particles", "");
        }
        if (has_attractor(scene, system) || (system->gravitation > 0.0f && few)) {
            declare_probe(m, i, PARTICLE_PROBE_ENERGY, "energy", "J");
            declare_probe(m, i, PARTICLE_PROBE_ANGULAR_MOMENTUM, "angular momentum", "kg m^2/s");
        }
    }
}

static void declare_surface(MatterParticles *m, const SceneParticles *system, SwarmSurface *surface)
{
    f32 step = system->extent / (SURFACE_SIDE - 1);
    FieldDesc field = {.kind = FIELD_GRID2,
                       .channels = 1,
                       .capacity = SURFACE_SIDE * SURFACE_SIDE,
                       .dims = {SURFACE_SIDE, SURFACE_SIDE},
                       .spacing = {step, 1.0f, step},
                       .quantum = f32_max(system->height, 0.1f) / 32768.0f,
                       .value_min = system->position.y};
    field.origin = vec3_sub(system->position,
                            vec3(0.5f * system->extent, system->position.y, 0.5f * system->extent));
    snprintf(field.name, sizeof field.name, "%.38s surface", system->name);
    surface->field = world_add_field(&m->base, &field);
}

void matter_particles_declare(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    const Scene *scene = particles_scene(m);
    FieldDesc field = {
        .kind = FIELD_POINTS, .name = "particles", .channels = 1, .quantum = scene->quantum};
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        field.capacity += particles_slots_of(scene->particle_systems[i].count);
    }
    m->field = world_add_field(matter, &field);
    for (u32 i = 0; i < m->surface_count; i++) {
        declare_surface(m, &scene->particle_systems[m->surfaces[i].system], &m->surfaces[i]);
    }
    declare_parameters(m, scene);
    declare_probes(m, scene);
}

/* ---- systems ---- */

static int add_system(MatterParticles *m, u32 index, ErrorText *error)
{
    const Scene *scene = particles_scene(m);
    const SceneParticles *from = &scene->particle_systems[index];
    ParticleForce forces[PARTICLE_FORCES_MAX];
    for (u32 i = 0; i < from->force_count; i++) {
        const SceneParticleForce *force = &scene->particle_forces[from->first_force + i];
#define MEMBER(type, name) forces[i].name = force->name;
#include "shared/rows/particle_force.def"
    }
    PL_STATIC_ASSERT(sizeof(ParticleStart) == sizeof(SceneParticle), "the same members");
    ParticlesDef def = particles_def_default();
#define SOLVER_ROWS
#define MEMBER(type, name) def.name = from->name;
#include "shared/rows/particles.def"
    def.shape = from->shape;
    def.forces = forces;
    def.force_count = from->force_count;
    def.starts = (const ParticleStart *)(const void *)&scene->particles[from->first_start];
    def.start_count = from->start_count;
    def.seed = scene->seed * 1000003u + index; /* systems differ */
    ErrorText why = {0};
    u32 system;
    int result = particles_add(m->particles, &def, &system, &why);
    return result == ERROR_OK ? ERROR_OK : error_set(error, result, "%s: %s", from->name, why.text);
}

static int add_entity(MatterParticles *m, u32 index)
{
    const SceneParticles *system = &particles_scene(m)->particle_systems[index];
    Entity entity = {.field = (u8)m->field,
                     .movable = system->behavior != PARTICLE_SWARM,
                     .generation = world_generation(m->base.world),
                     .first = particles_first(m->particles, index),
                     .count = system->count,
                     .mass_kg = system->mass_kg,
                     .appearance = system->appearance};
    snprintf(entity.name, sizeof entity.name, "%s", system->name);
    int result = world_add_entity(&m->base, &entity);
    m->entities[index] = entity.id;
    return result;
}

static int add_surface(MatterParticles *m, u32 index)
{
    const Scene *scene = particles_scene(m);
    SwarmSurface *surface = &m->surfaces[index];
    const SceneParticles *system = &scene->particle_systems[surface->system];
    Entity entity = {.field = (u8)surface->field,
                     .generation = world_generation(m->base.world),
                     .count = SURFACE_SIDE * SURFACE_SIDE,
                     .appearance = {.kind = APPEARANCE_WATER, .roughness = 0.6f}};
    memcpy(entity.appearance.color, system->appearance.color2, sizeof entity.appearance.color);
    snprintf(entity.name, sizeof entity.name, "%.38s surface", system->name);
    int result = world_add_entity(&m->base, &entity);
    m->entities[scene->particle_system_count + index] = entity.id;
    return result;
}

int matter_particles_fill(Matter *matter, ErrorText *error)
{
    MatterParticles *m = particles_of(matter);
    const Scene *scene = particles_scene(m);
    int result = ERROR_OK;
    particles_set_bounds(m->particles, scene->bounds);
    for (u32 i = 0; i < scene->particle_system_count && result == ERROR_OK; i++) {
        result = add_system(m, i, error);
        result = result == ERROR_OK ? add_entity(m, i) : result;
    }
    for (u32 i = 0; i < m->surface_count && result == ERROR_OK; i++) {
        result = add_surface(m, i);
    }
    return result;
}
