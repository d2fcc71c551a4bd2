/* matter_particles.c: particle systems as matter of a world: life cycle, tick, hands, state. */
#include "server/world/matter_particles.h"

#include "server/world/hands.h"
#include "server/world/matter_rigid.h"

#include <stdlib.h>

/* Limit of a grab's effect on a particle, which has almost no mass. */
static const f32 hand_m_s2_max = 500.0f;

enum {
    /* Measured with the solver's arrays, plus a third. */
    SLOT_BYTES = 400
};

/* ---- life ---- */

static u64 estimate(const Scene *scene)
{
    u64 bytes = 0;
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        const SceneParticles *system = &scene->particle_systems[i];
        bool swarm = system->behavior == PARTICLE_SWARM;
        bytes +=
            (u64)particles_slots_of(system->count) * (SLOT_BYTES + HISTORY_FRAMES * sizeof(QPoint));
        bytes += swarm ? (u64)SURFACE_SIDE * SURFACE_SIDE * HISTORY_FRAMES * sizeof(u16) : 0;
    }
    return bytes;
}

static int create(Matter *matter, ErrorText *error)
{
    MatterParticles *m = particles_of(matter);
    const Scene *scene = particles_scene(m);
    u32 systems = scene->particle_system_count;
    m->entities = calloc(2 * systems + 1, sizeof *m->entities);
    m->surfaces = calloc(systems + 1, sizeof *m->surfaces);
    for (u32 i = 0; i < systems && m->surfaces != NULL; i++) {
        if (scene->particle_systems[i].behavior != PARTICLE_SWARM) {
            continue;
        }
        SwarmSurface *surface = &m->surfaces[m->surface_count++];
        *surface = (SwarmSurface){.system = i, .objective = SWARM_OBJECTIVE_COUNT};
        surface->codes = calloc((size_t)SURFACE_SIDE * SURFACE_SIDE, sizeof(u16));
        if (surface->codes == NULL) {
            return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
        }
    }
    if (m->entities == NULL || m->surfaces == NULL) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory for the world", scene->name);
    }
    return ERROR_OK;
}

static void destroy(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    particles_destroy(m->particles);
    particles_destroy(m->next);
    for (u32 i = 0; i < m->surface_count; i++) {
        free(m->surfaces[i].codes);
    }
    free(m->surfaces);
    free(m->entities);
}

static int reserve(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    if (m->next == NULL) {
        m->next = particles_create();
    }
    return m->next != NULL ? ERROR_OK : ERROR_MEMORY;
}

static void clear(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    particles_destroy(m->particles);
    m->particles = m->next;
    m->next = NULL;
}

static f32 tuned(const MatterParticles *m, u32 parameter)
{
    u32 index = m->parameters[parameter];
    return index != UINT32_MAX ? world_value(m->base.world, index)[0] : 1.0f;
}

static void tune(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    u32 chosen = m->parameters[PARTICLES_OBJECTIVE];
    u32 objective = chosen != UINT32_MAX ? (u32)(world_value(matter->world, chosen)[0] + 0.5f) : 0;
    ParticleTuning tuning = {
        .rate = tuned(m, PARTICLES_RATE),
        .drag = tuned(m, PARTICLES_DRAG),
        .separation = tuned(m, PARTICLES_SEPARATION),
        .alignment = tuned(m, PARTICLES_ALIGNMENT),
        .cohesion = tuned(m, PARTICLES_COHESION),
        .inertia = tuned(m, PARTICLES_INERTIA),
        .cognitive = tuned(m, PARTICLES_COGNITIVE),
        .social = tuned(m, PARTICLES_SOCIAL),
        .objective = objective >= 1 && objective <= SWARM_OBJECTIVE_COUNT
                         ? objective - 1
                         : (u32)SWARM_OBJECTIVE_COUNT,
    };
    particles_set_gravity(m->particles, world_vector(matter->world, WORLD_GRAVITY));
    particles_set_wind(m->particles, world_vector(matter->world, WORLD_WIND));
    particles_tune(m->particles, &tuning);
    for (u32 i = 0; i < m->surface_count; i++) {
        matter_particles_shape_surface(m, &m->surfaces[i]);
    }
}

/* ---- tick ---- */

/* Tells flocks the position of the body that they flee. */
static void steer(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    const Scene *scene = particles_scene(m);
    const MatterRigid *bodies = world_matter_rigid(matter->world);
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        i32 body = scene->particle_systems[i].flees;
        if (body >= 0) {
            particles_set_predator(m->particles, i,
                                   rigid_centre(bodies->rigid, bodies->body_slots[body]));
        }
    }
}

static void stir(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    Collider colliders[MATTERS_MAX];
    if (particles_systems(m->particles) != 0) {
        u32 count = world_colliders(matter, colliders);
        particles_stir(m->particles, colliders, count, world_tick_s(matter->world));
    }
}

static void begin(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    Collider colliders[MATTERS_MAX];
    Medium media[MEDIA_MAX];
    if (particles_systems(m->particles) != 0) {
        u32 count = world_colliders(matter, colliders);
        particles_set_media(m->particles, media, world_media(matter->world, media));
        particles_begin(m->particles, colliders, count, world_tick_s(matter->world),
                        world_jobs(matter->world));
    }
}

static void substep(Matter *matter, f32 h)
{
    MatterParticles *m = particles_of(matter);
    if (particles_systems(m->particles) != 0) {
        particles_substep(m->particles, h);
    }
}

static void finish(Matter *matter)
{
    MatterParticles *m = particles_of(matter);
    if (particles_systems(m->particles) != 0) {
        particles_end(m->particles);
    }
}

/* ---- hands ---- */

static Vec3 point(const Matter *matter, const Entity *entity, const Input *input)
{
    return particles_position(particles_of_const(matter)->particles,
                              entity->first + input->element);
}

static i32 grab(Matter *matter, const Entity *entity, const Input *input)
{
    MatterParticles *m = particles_of(matter);
    const SceneHands *hands = &particles_scene(m)->hands;
    HandSpring spring = hand_spring(hands, 1.0f);
    u32 particle = entity->first + input->element;
    f32 mass = particles_mass(m->particles, particle);
    f32 most = mass > 0.0f ? f32_min(hands->force_max / mass, hand_m_s2_max) : hand_m_s2_max;
    ParticleGrab made = {.particle = particle,
                         .target = particles_position(m->particles, particle),
                         .stiffness = spring.stiffness,
                         .damping = spring.damping,
                         .most_m_s2 = most};
    return particles_grab_add(m->particles, &made);
}

static void drag(Matter *matter, u32 constraint, Vec3 target)
{
    particles_grab(particles_of(matter)->particles, constraint)->target = target;
}

static void release(Matter *matter, u32 constraint)
{
    particles_grab_remove(particles_of(matter)->particles, constraint);
}

static bool grabs(const Matter *matter, u32 constraint)
{
    return constraint < PARTICLE_GRABS_MAX &&
           particles_grab(particles_of_const(matter)->particles, constraint)->live == 1;
}

static void push(Matter *matter, const Entity *entity, const Input *input, Vec3 impulse)
{
    MatterParticles *m = particles_of(matter);
    u32 particle = entity->first + input->element;
    f32 mass = particles_mass(m->particles, particle), size = vec3_length(impulse);
    f32 speed =
        mass > 0.0f ? f32_min(size / mass, HAND_PUSH_M_S_MAX) : f32_min(size, HAND_PUSH_M_S_MAX);
    particles_push(m->particles, particle, vec3_scale(impulse, size > 0.0f ? speed / size : 0.0f));
}

/* ---- state ---- */

static u32 entity_count(const MatterParticles *m)
{
    return particles_scene(m)->particle_system_count + m->surface_count;
}

static void serialize_names(Matter *matter, State *state)
{
    MatterParticles *m = particles_of(matter);
    state_bytes(state, m->entities, entity_count(m) * sizeof *m->entities);
}

static void serialize(Matter *matter, State *state)
{
    particles_serialize(particles_of(matter)->particles, state);
}

/* Systems come first, then the surfaces of swarms. */
static bool owns(const Matter *matter, const Entity *entity, u32 nth)
{
    const MatterParticles *m = particles_of_const(matter);
    u32 systems = particles_scene(m)->particle_system_count;
    if (nth >= entity_count(m) || entity->id != m->entities[nth]) {
        return false;
    }
    if (nth >= systems) {
        const SwarmSurface *surface = &m->surfaces[nth - systems];
        return entity->field == surface->field && entity->first == 0 &&
               entity->count == SURFACE_SIDE * SURFACE_SIDE && entity->movable == 0;
    }
    return entity->field == m->field && entity->first == particles_first(m->particles, nth) &&
           entity->count == particles_range(m->particles, nth);
}

static bool owns_all(const Matter *matter, u32 count)
{
    return count == entity_count(particles_of_const(matter));
}

static const char *validate(const Matter *matter)
{
    return particles_validate(particles_of_const(matter)->particles);
}

const MatterOps matter_particles = {
    .name = "particles",
    .bytes = sizeof(MatterParticles),
    .estimate = estimate,
    .create = create,
    .destroy = destroy,
    .declare = matter_particles_declare,
    .reserve = reserve,
    .clear = clear,
    .fill = matter_particles_fill,
    .steer = steer,
    .stir = stir,
    .begin = begin,
    .substep = substep,
    .finish = finish,
    .write = matter_particles_write,
    .sums = matter_particles_sums,
    .stats = matter_particles_stats,
    .measure_own = matter_particles_measure,
    .dump_entity = matter_particles_dump_entity,
    .tune = tune,
    .by_element = true,
    .point = point,
    .grab = grab,
    .drag = drag,
    .release = release,
    .grabs = grabs,
    .push = push,
    .serialize_names = serialize_names,
    .serialize = serialize,
    .owns = owns,
    .owns_all = owns_all,
    .validate = validate,
};
