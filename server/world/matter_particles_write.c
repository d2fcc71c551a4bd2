/* matter_particles_write.c: points and surfaces for clients, measurements, text dump. */
#include "server/world/dump.h"
#include "server/world/matter_particles.h"

#include "protocol/field/quantize.h"
#include "server/physics/particles/swarm.h"
#include "shared/math/vec3d.h"

#include <math.h>
#include <string.h>

typedef struct WritePass {
    const Particles *particles;
    const FieldDesc *field;
    QPoint *points;
} WritePass;

enum {
    WRITE_GRAIN = 4096
};

static void write_points(void *context, u32 first, u32 end, u32 worker)
{
    const WritePass *pass = context;
    PL_UNUSED(worker);
    for (u32 i = first; i < end; i++) {
        QPoint *point = &pass->points[i];
        if (particles_is_alive(pass->particles, i)) {
            quantize_position(pass->field, particles_position(pass->particles, i), point->position);
            point->scalar = (u16)(particles_age(pass->particles, i) * 65535.0f + 0.5f);
            point->generation = particles_generation(pass->particles, i);
        }
    }
}

void matter_particles_write(const Matter *matter, Frame *frame)
{
    const MatterParticles *m = particles_of_const(matter);
    if (m->field == FIELDS_MAX) {
        return;
    }
    WritePass pass = {m->particles, &frame->fields->fields[m->field],
                      frame_points(frame, m->field)};
    u32 slots = particles_slots(m->particles);
    memset(pass.points, 0, slots * sizeof *pass.points); /* free slots are zero */
    jobs_run(world_jobs(matter->world), slots, WRITE_GRAIN, write_points, &pass);
    for (u32 i = 0; i < m->surface_count; i++) {
        memcpy(frame_field(frame, m->surfaces[i].field), m->surfaces[i].codes,
               (size_t)SURFACE_SIDE * SURFACE_SIDE * sizeof(u16));
    }
}

void matter_particles_shape_surface(const MatterParticles *m, SwarmSurface *surface)
{
    const SceneParticles *system = &particles_scene(m)->particle_systems[surface->system];
    SwarmObjective objective = particles_swarm_objective(m->particles, surface->system);
    if ((u32)objective == surface->objective) {
        return;
    }
    surface->objective = (u32)objective;
    f64 domain = (f64)swarm_domain(objective), top = swarm_value_max(objective);
    f32 quantum = f32_max(system->height, 0.1f) / 32768.0f;
    for (u32 j = 0; j < SURFACE_SIDE; j++) {
        for (u32 i = 0; i < SURFACE_SIDE; i++) {
            f64 x = domain * (2.0 * i / (SURFACE_SIDE - 1) - 1.0);
            f64 y = domain * (2.0 * j / (SURFACE_SIDE - 1) - 1.0);
            f32 height = (f32)(swarm_value(objective, x, y) / top) * system->height;
            f32 code = f32_clamp(height / quantum + 0.5f, 0.0f, 65535.0f);
            surface->codes[j * SURFACE_SIDE + i] = (u16)code;
        }
    }
}

/* ---- measurements ---- */

void matter_particles_sums(const Matter *matter, MatterSums *sums)
{
    const MatterParticles *m = particles_of_const(matter);
    Vec3 g = world_vector(matter->world, WORLD_GRAVITY);
    u32 slots = particles_slots(m->particles);
    for (u32 i = 0; i < slots; i++) {
        f64 mass = (f64)particles_mass(m->particles, i);
        if (mass <= 0.0) {
            continue;
        }
        Vec3 v = particles_velocity(m->particles, i);
        sums->kinetic += 0.5 * mass * (f64)vec3_dot(v, v);
        sums->potential -= mass * (f64)vec3_dot(g, particles_position(m->particles, i));
        sums->momentum[0] += mass * (f64)v.x;
        sums->momentum[1] += mass * (f64)v.y;
        sums->momentum[2] += mass * (f64)v.z;
    }
}

void matter_particles_stats(const Matter *matter, MatterStats *stats)
{
    const MatterParticles *m = particles_of_const(matter);
    for (u32 s = 0; s < particles_systems(m->particles); s++) {
        stats->world.particles += particles_alive(m->particles, s);
    }
    stats->world.memory_bytes += particles_memory(m->particles);
}

f64 matter_particles_measure(const Matter *matter, u32 probe)
{
    const MatterParticles *m = particles_of_const(matter);
    OwnParticleProbe own = m->probes[probe];
    f64 sum[3];
    ParticleEnergy energy;
    switch (own.kind) {
    case PARTICLE_PROBE_COUNT:
        return (f64)particles_alive(m->particles, own.system);
    case PARTICLE_PROBE_ENERGY:
        energy = particles_energy(m->particles, own.system);
        return energy.kinetic + energy.potential;
    case PARTICLE_PROBE_ANGULAR_MOMENTUM:
        particles_angular_momentum(m->particles, own.system, sum);
        return sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]);
    case PARTICLE_PROBE_BEST:
        return particles_swarm_best(m->particles, own.system);
    default:
        return (f64)particles_swarm_iterations(m->particles, own.system);
    }
}

/* ---- dump ---- */

void matter_particles_dump_entity(const Matter *matter, const Entity *entity, Dump *dump)
{
    const MatterParticles *m = particles_of_const(matter);
    const Scene *scene = particles_scene(m);
    for (u32 i = 0; i < scene->particle_system_count; i++) {
        if (m->entities[i] != entity->id) {
            continue;
        }
        u32 first = particles_first(m->particles, i), count = particles_range(m->particles, i);
        f64 centre[3] = {0};
        f32 fastest = 0.0f;
        u32 alive = particles_alive(m->particles, i);
        for (u32 k = first; k < first + count; k++) {
            if (particles_is_alive(m->particles, k)) {
                Vec3 x = particles_position(m->particles, k);
                centre[0] += (f64)x.x / alive;
                centre[1] += (f64)x.y / alive;
                centre[2] += (f64)x.z / alive;
                fastest = f32_max(fastest, vec3_length(particles_velocity(m->particles, k)));
            }
        }
        dump_text(dump, "behavior", particle_behavior_names[scene->particle_systems[i].behavior]);
        dump_count(dump, "slots", count);
        dump_count(dump, "alive", alive);
        dump_vec3(dump, "centre", vec3((f32)centre[0], (f32)centre[1], (f32)centre[2]));
        dump_number(dump, "fastest", fastest);
    }
}
