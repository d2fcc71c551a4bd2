/* integrate.c: free motion of all particles by one step. Of a step from x, v the integrators take:
 *   Euler            x' = x + h v,         v' = v + h a(x, v)
 *   symplectic Euler v' = v + h a(x, v),   x' = x + h v'
 *   midpoint         with xm = x + h/2 v, vm = v + h/2 a(x, v): x' = x + h vm, v' = v + h a(xm, vm)
 *   Störmer-Verlet   with xm = x + h/2 v: v' = v + h a(xm, (v + v')/2), x' = xm + h/2 v'
 * (the position form, between whose middles lie v). Hairer, Lubich, Wanner 2003, "Geometric
 * numerical integration illustrated by the Störmer-Verlet method". */
#include "server/physics/particles/particles_internal.h"

#include "shared/base/memory.h"

typedef struct StepPass {
    Particles *particles;
    const ParticleSystem *system;
    f32 h;
    f32 drag;   /* 1/s */
    Vec3 fall;  /* m/s² */
    bool pulls; /* attractors */
    bool air;   /* vortices or noise */
    bool extra; /* of other particles */
} StepPass;

/* Acceleration without drag. */
static Vec3 pull_at(const StepPass *pass, Vec3 x, const Vec3 *extra)
{
    Vec3 a = pass->fall;
    if (pass->pulls) {
        a = vec3_add(a, particles_pull(pass->system, x));
    }
    return extra != NULL ? vec3_add(a, *extra) : a;
}

static Vec3 air_at(const StepPass *pass, Vec3 x)
{
    return pass->air ? particles_air(pass->particles, pass->system, x) : pass->particles->wind;
}

static void step_explicit(const StepPass *pass, Vec3 *x, Vec3 *v, const Vec3 *extra)
{
    f32 h = pass->h, k = f32_min(pass->drag, 1.0f / h);
    Vec3 a = vec3_add_scaled(pull_at(pass, *x, extra), -k, vec3_sub(*v, air_at(pass, *x)));
    Vec3 after = vec3_add_scaled(*v, h, a);
    bool euler = pass->system->def.integrator == PARTICLE_EULER;
    *x = vec3_add_scaled(*x, h, euler ? *v : after);
    *v = after;
}

static void step_midpoint(const StepPass *pass, Vec3 *x, Vec3 *v, const Vec3 *extra,
                          const Vec3 *middle)
{
    f32 h = pass->h, k = f32_min(pass->drag, 1.0f / h);
    Vec3 a = vec3_add_scaled(pull_at(pass, *x, extra), -k, vec3_sub(*v, air_at(pass, *x)));
    Vec3 xm = vec3_add_scaled(*x, 0.5f * h, *v), vm = vec3_add_scaled(*v, 0.5f * h, a);
    Vec3 am = vec3_add_scaled(pull_at(pass, xm, middle), -k, vec3_sub(vm, air_at(pass, xm)));
    *x = vec3_add_scaled(*x, h, vm);
    *v = vec3_add_scaled(*v, h, am);
}

static void step_verlet(const StepPass *pass, Vec3 *x, Vec3 *v, const Vec3 *middle)
{
    f32 h = pass->h, half = 0.5f * h * pass->drag;
    Vec3 xm = vec3_add_scaled(*x, 0.5f * h, *v);
    Vec3 a = pull_at(pass, xm, middle);
    if (pass->drag > 0.0f) { /* implicit in (v + v') / 2 */
        a = vec3_add_scaled(a, pass->drag, air_at(pass, xm));
        *v = vec3_add_scaled(vec3_scale(*v, 1.0f - half), h, a);
        *v = vec3_scale(*v, 1.0f / (1.0f + half));
    } else {
        *v = vec3_add_scaled(*v, h, a);
    }
    *x = vec3_add_scaled(xm, 0.5f * h, *v);
}

static void step_slots(void *context, u32 first, u32 end, u32 worker)
{
    const StepPass *whole = context;
    Particles *p = whole->particles;
    u32 from = whole->system->first;
    StepPass blown = *whole;
    blown.drag = 0.0f; /* is in the gust */
    PL_UNUSED(worker);
    for (u32 i = from + first; i < from + end; i++) {
        const StepPass *pass = whole->system->blown && p->blown[i] ? &blown : whole;
        const Vec3 *extra = pass->extra ? &p->extra[i] : NULL;
        const Vec3 *middle = pass->extra ? &p->middle[i] : NULL;
        if (!p->alive[i]) {
            continue;
        }
        switch (pass->system->def.integrator) {
        case PARTICLE_MIDPOINT:
            step_midpoint(pass, &p->positions[i], &p->velocities[i], extra, middle);
            break;
        case PARTICLE_VERLET:
            step_verlet(pass, &p->positions[i], &p->velocities[i], middle);
            break;
        default:
            step_explicit(pass, &p->positions[i], &p->velocities[i], extra);
            break;
        }
    }
}

/* Verlet in a uniform field, the most common case: x' = x + h/2 (v + v'), v' = c v + g per
 * component, as flat arrays of numbers. Free slots move as well; particles_end clears them. */
static void step_uniform(void *context, u32 first, u32 end, u32 worker)
{
    const StepPass *pass = context;
    Particles *p = pass->particles;
    f32 h = pass->h, half = 0.5f * h * pass->drag, keep = (1.0f - half) / (1.0f + half);
    Vec3 add = vec3_add_scaled(pass->fall, pass->drag, p->wind);
    add = vec3_scale(add, h / (1.0f + half));
    f32 *restrict x = (f32 *)(p->positions + pass->system->first + first);
    f32 *restrict v = (f32 *)(p->velocities + pass->system->first + first);
    f32 pattern[3 * PARTICLE_SLOT_ALIGN];
    PL_UNUSED(worker);
    for (u32 i = 0; i < 3 * PARTICLE_SLOT_ALIGN; i++) {
        pattern[i] = i % 3 == 0 ? add.x : i % 3 == 1 ? add.y : add.z;
    }
    for (u32 i = first; i < end;
         i += PARTICLE_SLOT_ALIGN, x += 3 * PARTICLE_SLOT_ALIGN, v += 3 * PARTICLE_SLOT_ALIGN) {
        for (u32 k = 0; k < 3 * PARTICLE_SLOT_ALIGN; k++) {
            f32 after = keep * v[k] + pattern[k];
            x[k] = x[k] + 0.5f * h * (v[k] + after);
            v[k] = after;
        }
    }
}

/* Boids do not fly faster than twice their cruising speed, however they are pushed. */
static void limit_speeds(Particles *p, const ParticleSystem *system)
{
    f32 most = 2.0f * system->def.cruise;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        f32 speed2 = vec3_length_squared(p->velocities[i]);
        if (speed2 > most * most) {
            p->velocities[i] = vec3_scale(p->velocities[i], most / sqrtf(speed2));
        }
    }
}

/* ---- accelerations of particles by each other ---- */

static bool reserve_mutual(Particles *p, u32 count)
{
    u32 rooms[4] = {p->mutual_capacity, p->mutual_capacity, p->mutual_capacity, p->mutual_capacity};
    return memory_grow((void **)&p->mutual_places, &rooms[0], count, sizeof(Vec3)) &&
           memory_grow((void **)&p->mutual_pulls, &rooms[1], count, sizeof(Vec3)) &&
           memory_grow((void **)&p->mutual_masses, &rooms[2], count, sizeof(f32)) &&
           memory_grow((void **)&p->mutual_slots, &rooms[3], count, sizeof(u32)) &&
           memory_grow((void **)&p->mutual_second, &p->mutual_capacity, count, sizeof(Vec3));
}

/* Lists the particles that attract each other, in order of their slots. */
static void gather_mutual(Particles *p)
{
    p->mutual_count = 0;
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *system = &p->systems[s];
        if (!particles_mutual(system) || !reserve_mutual(p, p->mutual_count + system->high)) {
            continue;
        }
        for (u32 i = system->first; i < system->first + system->high; i++) {
            if (p->alive[i]) {
                p->mutual_masses[p->mutual_count] = p->masses[i];
                p->mutual_slots[p->mutual_count++] = i;
            }
        }
    }
}

/* Attraction of each other at x + h v. */
static void attract(Particles *p, f32 h, Vec3 *out)
{
    const ParticlesDef *def = NULL;
    for (u32 s = 0; s < p->system_count && def == NULL; s++) {
        def = particles_mutual(&p->systems[s]) ? &p->systems[s].def : NULL;
    }
    if (def == NULL || p->mutual_count == 0) {
        return;
    }
    for (u32 k = 0; k < p->mutual_count; k++) {
        u32 i = p->mutual_slots[k];
        p->mutual_places[k] = vec3_add_scaled(p->positions[i], h, p->velocities[i]);
    }
    GravityOptions options = {def->gravitation, def->softening, def->opening};
    gravity_accelerate(&p->gravity_tree, p->mutual_places, p->mutual_masses, p->mutual_count,
                       &options, p->mutual_pulls, p->jobs);
    for (u32 k = 0; k < p->mutual_count; k++) {
        out[p->mutual_slots[k]] = vec3_add(out[p->mutual_slots[k]], p->mutual_pulls[k]);
    }
}

static void flock_together(Particles *p, const ParticleSystem *system)
{
    const ParticlesDef *def = &system->def;
    const ParticleTuning *tuning = &p->tuning;
    if (!flock_reserve(&p->flock, system->count)) {
        return;
    }
    u32 count = 0;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (p->alive[i]) {
            p->flock.positions[count] = p->positions[i];
            p->flock.velocities[count++] = p->velocities[i];
        }
    }
    FlockRules rules = {.sight = def->sight,
                        .separation_distance = def->separation_distance,
                        .separation = def->separation * tuning->separation,
                        .alignment = def->alignment * tuning->alignment,
                        .cohesion = def->cohesion * tuning->cohesion,
                        .homing = def->homing,
                        .home = def->position,
                        .cruise = def->cruise,
                        .agility = def->agility,
                        .predator = system->predator,
                        .flee_distance = def->flee_distance};
    flock_accelerate(&p->flock, count, &rules, p->jobs);
    count = 0;
    for (u32 i = system->first; i < system->first + system->high; i++) {
        if (p->alive[i]) {
            p->extra[i] = p->middle[i] = p->flock.pulls[count++];
        }
    }
}

static Vec3 grab_pull(const ParticleGrab *grab, Vec3 x, Vec3 v)
{
    Vec3 pull = vec3_scale(vec3_sub(grab->target, x), grab->stiffness);
    pull = vec3_add_scaled(pull, -grab->damping, v);
    f32 size = vec3_length(pull);
    return size > grab->most_m_s2 ? vec3_scale(pull, grab->most_m_s2 / size) : pull;
}

static void hold_grabbed(Particles *p, f32 h)
{
    for (u32 g = 0; g < p->grab_end; g++) {
        const ParticleGrab *grab = &p->grabs[g];
        u32 i = grab->particle;
        if (grab->live == 0 || !p->alive[i]) {
            continue;
        }
        Vec3 x = p->positions[i], v = p->velocities[i];
        p->extra[i] = vec3_add(p->extra[i], grab_pull(grab, x, v));
        x = vec3_add_scaled(x, 0.5f * h, v);
        p->middle[i] = vec3_add(p->middle[i], grab_pull(grab, x, v));
    }
}

static bool is_held(const Particles *p, const ParticleSystem *system)
{
    for (u32 g = 0; g < p->grab_end; g++) {
        u32 i = p->grabs[g].particle;
        if (p->grabs[g].live != 0 && i >= system->first && i < system->first + system->count) {
            return true;
        }
    }
    return false;
}

static bool has_extra(const Particles *p, const ParticleSystem *system)
{
    return particles_mutual(system) || system->def.behavior == PARTICLE_FLOCK ||
           is_held(p, system) || system->blown;
}

static void gather_extra(Particles *p, f32 h)
{
    bool start = false, middle = false, mutual = false, flock = false;
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *system = &p->systems[s];
        ParticleIntegrator by = system->def.integrator;
        if (!has_extra(p, system)) {
            continue;
        }
        memset(p->extra + system->first, 0, system->high * sizeof(Vec3));
        memset(p->middle + system->first, 0, system->high * sizeof(Vec3));
        if (system->def.behavior == PARTICLE_FLOCK) {
            flock_together(p, system);
            flock = true;
        }
        for (u32 i = system->first; i < system->first + system->high && system->blown; i++) {
            p->extra[i] = vec3_add(p->extra[i], p->gusts[i]);
            p->middle[i] = vec3_add(p->middle[i], p->gusts[i]);
        }
        mutual = mutual || particles_mutual(system);
        start = start || (particles_mutual(system) && by != PARTICLE_VERLET);
        middle = middle ||
                 (particles_mutual(system) && (by == PARTICLE_VERLET || by == PARTICLE_MIDPOINT));
    }
    if (flock) {
        particles_avoid(p);
    }
    if (mutual) {
        gather_mutual(p);
    }
    if (start) {
        attract(p, 0.0f, p->extra);
    }
    if (middle) {
        attract(p, 0.5f * h, p->middle);
    }
    hold_grabbed(p, h);
}

void particles_integrate(Particles *p, f32 h)
{
    gather_extra(p, h);
    for (u32 s = 0; s < p->system_count; s++) {
        const ParticleSystem *system = &p->systems[s];
        const ParticlesDef *def = &system->def;
        if (def->behavior == PARTICLE_SWARM || system->state.asleep != 0) {
            continue;
        }
        StepPass pass = {.particles = p,
                         .system = system,
                         .h = h,
                         .drag = def->drag * p->tuning.drag,
                         .fall = vec3_scale(p->gravity, def->gravity_scale),
                         .extra = has_extra(p, system)};
        for (u32 i = 0; i < def->force_count; i++) {
            pass.pulls = pass.pulls || system->forces[i].kind == PARTICLE_ATTRACTOR;
            pass.air = pass.air || system->forces[i].kind == PARTICLE_VORTEX;
        }
        pass.air = (pass.air || def->noise > 0.0f) && pass.drag > 0.0f;
        bool uniform = !pass.pulls && !pass.air && !pass.extra;
        bool wide = uniform && def->integrator == PARTICLE_VERLET;
        u32 count = wide ? (system->high + PARTICLE_SLOT_ALIGN - 1) / PARTICLE_SLOT_ALIGN *
                               PARTICLE_SLOT_ALIGN
                         : system->high;
        jobs_run(p->jobs, count, PARTICLES_GRAIN, wide ? step_uniform : step_slots, &pass);
        if (def->behavior == PARTICLE_FLOCK) {
            limit_speeds(p, system);
        }
    }
}
