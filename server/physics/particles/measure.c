/* measure.c: energies, momenta, swarms; state. */
#include "server/physics/particles/particles_internal.h"
#include "shared/base/check.h"

/* Half of the potential energy of a particle and all others that attract it. */
static f64 mutual_potential(const Particles *p, u32 slot, f64 constant, f64 softening)
{
    f64 sum = 0.0;
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *other = &p->systems[s];
        if (!particles_mutual(other)) {
            continue;
        }
        for (u32 i = other->first; i < other->first + other->high; i++) {
            Vec3 d = vec3_sub(p->positions[i], p->positions[slot]);
            f64 r2 = (f64)vec3_length_squared(d) + softening * softening;
            if (p->alive[i] && i != slot && r2 > 0.0) {
                sum -= (f64)p->masses[i] / __builtin_sqrt(r2);
            }
        }
    }
    return 0.5 * constant * sum;
}

ParticleEnergy particles_energy(const Particles *p, u32 index)
{
    const ParticleSystem *system = &p->systems[index];
    const ParticlesDef *def = &system->def;
    Vec3 g = vec3_scale(p->gravity, def->gravity_scale);
    ParticleEnergy sum = {0.0, 0.0};
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (!p->alive[i]) {
            continue;
        }
        Vec3 x = p->positions[i], v = p->velocities[i];
        f64 mass = p->masses[i] > 0.0f ? (f64)p->masses[i] : 1.0;
        sum.kinetic += 0.5 * mass * (f64)vec3_length_squared(v);
        f64 potential = particles_potential(system, x) - (f64)vec3_dot(g, x);
        if (particles_mutual(system)) {
            potential += mutual_potential(p, i, (f64)def->gravitation, (f64)def->softening);
        }
        sum.potential += mass * potential;
    }
    return sum;
}

void particles_angular_momentum(const Particles *p, u32 index, f64 out[3])
{
    CHECK(index < p->system_count);
    const ParticleSystem *system = &p->systems[index];
    out[0] = out[1] = out[2] = 0.0;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (!p->alive[i]) {
            continue;
        }
        f64 mass = p->masses[i] > 0.0f ? (f64)p->masses[i] : 1.0;
        Vec3 x = p->positions[i], v = p->velocities[i];
        out[0] += mass * ((f64)x.y * (f64)v.z - (f64)x.z * (f64)v.y);
        out[1] += mass * ((f64)x.z * (f64)v.x - (f64)x.x * (f64)v.z);
        out[2] += mass * ((f64)x.x * (f64)v.y - (f64)x.y * (f64)v.x);
    }
}

f64 particles_swarm_best(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return (f64)p->systems[system].swarm.leader_value;
}

u32 particles_swarm_iterations(const Particles *p, u32 system)
{
    CHECK(system < p->system_count);
    return p->systems[system].swarm.iterations;
}

SwarmObjective particles_swarm_objective(const Particles *p, u32 system)
{
    return p->systems[system].swarm.objective;
}

u64 particles_memory(const Particles *p)
{
    u64 slot = 4 * sizeof(Vec3) + 3 * sizeof(f32) + sizeof(u16) + 2;
    u64 found = sizeof(Newborn) + 2 * sizeof(Vec3) + sizeof(u32) + sizeof(NearParticle) + 60;
    u64 swarms = 0;
    for (u32 s = 0; s < p->system_count; s++) {
        swarms += p->systems[s].swarm.count * (4 * sizeof(SwarmPlace) + sizeof(f32));
    }
    return p->capacity * (slot + found) + p->bunch_capacity * sizeof(NearBunch) + swarms +
           (p->thing_capacity + p->found_capacity) * sizeof(NearThing) +
           p->block_capacity * sizeof(NearBlock) + p->system_capacity * sizeof(ParticleSystem) +
           p->mutual_capacity * (3 * sizeof(Vec3) + 8) + gravity_bytes(&p->gravity_tree) +
           PARTICLE_GRABS_MAX * sizeof(ParticleGrab);
}

/* ---- state ---- */

static bool is_number(f32 value, f32 least, f32 most)
{
    return value >= least && value <= most; /* false for NaN */
}

static bool slot_holds(const Particles *p, u32 i)
{
    f32 far = 2e4f; /* beyond the largest world */
    Vec3 x = p->positions[i], v = p->velocities[i];
    bool finite =
        is_number(x.x, -far, far) && is_number(x.y, -far, far) && is_number(x.z, -far, far) &&
        is_number(v.x, -far, far) && is_number(v.y, -far, far) && is_number(v.z, -far, far) &&
        is_number(p->ages[i], -1.0f, STATE_VALUE_MAX) &&
        is_number(p->lifetimes[i], 0.0f, STATE_VALUE_MAX) && is_number(p->masses[i], 0.0f, 1e30f);
    return finite && p->alive[i] <= 1 && (p->alive[i] == 0 || p->generations[i] != 0);
}

static const char *system_error(const Particles *p, const ParticleSystem *system)
{
    const SystemState *state = &system->state;
    const EmitterState *emitter = &state->emitter;
    if (system->high > system->count || state->cursor >= system->count) {
        return "a slot of a system is out of range";
    }
    if (!(emitter->time_s >= 0.0 && emitter->time_s <= 1e12) ||
        !(emitter->owed >= 0.0 && emitter->owed < 1.0 + 1e-6) || state->asleep > 1 ||
        !is_number(state->rest_s, 0.0f, STATE_VALUE_MAX) ||
        !(state->swarm_s >= 0.0 && state->swarm_s <= 1e6)) {
        return "a clock of a system is out of range";
    }
    u32 alive = 0;
    for (u32 i = system->first; i < system->first + system->count; i++) {
        alive += p->alive[i] != 0;
        if (!slot_holds(p, i)) {
            return "a particle is out of range";
        }
        if (p->alive[i] && i >= system->first + system->high) {
            return "a particle lives beyond the highest slot in use";
        }
    }
    bool swarm = system->def.behavior == PARTICLE_SWARM;
    return alive == state->alive && (!swarm || alive == system->count)
               ? NULL
               : "the count of a system is wrong";
}

static bool grab_holds(const Particles *p, const ParticleGrab *grab)
{
    return grab->live <= 1 && (grab->live == 0 || grab->particle < p->slots) &&
           state_vector_is_bounded(grab->target) && is_number(grab->stiffness, 0.0f, 1e9f) &&
           is_number(grab->damping, 0.0f, 1e9f) && is_number(grab->most_m_s2, 0.0f, 1e9f);
}

const char *particles_validate(const Particles *p)
{
    const char *wrong = NULL;
    if (!(p->time_s >= 0.0 && p->time_s <= 1e12) || p->grab_end > PARTICLE_GRABS_MAX) {
        return "the clock or the number of grabs is out of range";
    }
    for (u32 s = 0; s < p->system_count && wrong == NULL; s++) {
        wrong = system_error(p, &p->systems[s]);
    }
    for (u32 g = 0; g < p->grab_end && wrong == NULL; g++) {
        wrong = grab_holds(p, &p->grabs[g]) ? NULL : "a grab is out of range";
    }
    return wrong;
}

static void serialize_system(Particles *p, ParticleSystem *system, State *state)
{
    u32 first = system->first, before = system->high;
    state_count(state, &system->high, system->count);
    state_bytes(state, &system->state, sizeof system->state);
    system->bounds_known = system->bounds_known && state->mode != STATE_LOAD;
    if (state->mode == STATE_LOAD && before > system->high) {
        u32 from = first + system->high, gone = before - system->high;
        memset(p->positions + from, 0, gone * sizeof(Vec3));
        memset(p->velocities + from, 0, gone * sizeof(Vec3));
        memset(p->ages + from, 0, gone * sizeof(f32));
        memset(p->lifetimes + from, 0, gone * sizeof(f32));
        memset(p->masses + from, 0, gone * sizeof(f32));
        memset(p->generations + from, 0, gone * sizeof(u16));
        memset(p->alive + from, 0, gone);
    }
    state_bytes(state, p->positions + first, system->high * sizeof(Vec3));
    state_bytes(state, p->velocities + first, system->high * sizeof(Vec3));
    state_bytes(state, p->ages + first, system->high * sizeof(f32));
    state_bytes(state, p->lifetimes + first, system->high * sizeof(f32));
    state_bytes(state, p->masses + first, system->high * sizeof(f32));
    state_bytes(state, p->generations + first, system->high * sizeof(u16));
    state_bytes(state, p->alive + first, system->high);
    if (system->def.behavior == PARTICLE_SWARM) {
        swarm_serialize(&system->swarm, state);
    }
}

void particles_serialize(Particles *p, State *state)
{
    if (p->system_count == 0) {
        return;
    }
    state_part(state, "particles");
    state_bytes(state, &p->time_s, sizeof p->time_s);
    for (u32 s = 0; s < p->system_count; s++) {
        serialize_system(p, &p->systems[s], state);
    }
    state_part(state, "grabs of particles");
    state_count(state, &p->grab_end, PARTICLE_GRABS_MAX);
    state_bytes(state, p->grabs, p->grab_end * sizeof *p->grabs);
    if (state->mode == STATE_LOAD && !state->failed && particles_validate(p) != NULL) {
        state->failed = true;
    }
}
