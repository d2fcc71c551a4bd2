/* truth_mutual.c: laws of particles that interact: orbits, gravitation, flocks, swarms; see
 * truth.h. */
#include "server/physics/particles/flock.h"
#include "server/physics/particles/gravity.h"
#include "server/physics/particles/particles.h"
#include "server/physics/particles/swarm.h"
#include "tests/support/particle_kit.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CLOUD = 200,
    TREE_MOST = 4000,
    BOIDS = 300,
};

static const f64 pi = 3.14159265358979;

static ParticlesDef def_of(const ParticleStart *starts, u32 count)
{
    ParticlesDef def = particles_def_default();
    def.count = def.start_count = count;
    def.lifetime_s = -1.0f;
    def.starts = starts;
    return def;
}

/* ---- gravitation ---- */

/* Error of the position after a period of an elliptic orbit about an attractor, relative to the
 * semi-major axis. */
static f64 kepler_period(TruthCase *c)
{
    f64 mu = (f64)truth_log_range(c, 1.0f, 1000.0f), a = (f64)truth_log_range(c, 0.5f, 20.0f);
    f64 e = (f64)truth_range(c, 0.0f, 0.85f), period = 2.0 * pi * sqrt(a * a * a / mu);
    f64 speed = sqrt(mu / a * (1.0 + e) / (1.0 - e));
    Quat turn = truth_rotation(c);
    ParticleStart start = {quat_rotate(turn, vec3((f32)(a * (1.0 - e)), 0.0f, 0.0f)),
                           quat_rotate(turn, vec3(0.0f, 0.0f, (f32)speed)), 1.0f};
    ParticleForce sun = {.kind = PARTICLE_ATTRACTOR, .strength = (f32)mu};
    ParticlesDef def = def_of(&start, 1);
    def.integrator = truth_pick(c, 2) == 0 ? PARTICLE_VERLET : PARTICLE_MIDPOINT;
    def.forces = &sun;
    def.force_count = 1;
    Particles *p = particle_kit_alone(&def, vec3_zero());
    u32 steps = (u32)(2500.0 / pow(1.0 - e, 1.5));
    steps = steps < 30000 ? steps : 30000;
    particle_kit_steps(p, steps, (f32)(period / steps));
    f64 away = (f64)vec3_distance(particles_position(p, 0), start.position) / a;
    truth_say(c, "%s e %.2f a %.2f mu %.1f %u steps", particle_integrator_names[def.integrator], e,
              a, mu, steps);
    particles_destroy(p);
    return away;
}

typedef struct Pair {
    f64 place, energy, momentum; /* relative to the axis; to the energy; to m v */
} Pair;

/* Two bodies of any mass ratio that attract each other, after a period. */
static Pair two_bodies(TruthCase *c)
{
    f64 ratio = (f64)truth_log_range(c, 0.001f, 1.0f), g = (f64)truth_log_range(c, 0.1f, 10.0f);
    f64 m1 = (f64)truth_log_range(c, 0.5f, 50.0f), m2 = ratio * m1,
        e = (f64)truth_range(c, 0.0f, 0.7f);
    f64 a = (f64)truth_log_range(c, 0.5f, 10.0f), mu = g * (m1 + m2);
    f64 period = 2.0 * pi * sqrt(a * a * a / mu), speed = sqrt(mu / a * (1.0 + e) / (1.0 - e));
    f64 part = m2 / (m1 + m2), r = a * (1.0 - e);
    Quat turn = truth_rotation(c);
    ParticleStart starts[2];
    for (u32 i = 0; i < 2; i++) {
        f32 side = (f32)(i == 0 ? -part : 1.0 - part);
        starts[i].position = quat_rotate(turn, vec3(side * (f32)r, 0.0f, 0.0f));
        starts[i].velocity = quat_rotate(turn, vec3(0.0f, 0.0f, side * (f32)speed));
        starts[i].mass_kg = (f32)(i == 0 ? m1 : m2);
    }
    ParticlesDef def = def_of(starts, 2);
    def.gravitation = (f32)g;
    def.collide = false;
    Particles *p = particle_kit_alone(&def, vec3_zero());
    ParticleEnergy first = particles_energy(p, 0);
    u32 steps = (u32)(2500.0 / pow(1.0 - e, 1.5));
    Pair pair = {0.0, 0.0, 0.0};
    for (u32 part8 = 0; part8 < 8; part8++) {
        particle_kit_steps(p, steps / 8, (f32)(period / (steps / 8 * 8)));
        ParticleEnergy now = particles_energy(p, 0);
        f64 begun = first.kinetic + first.potential;
        pair.energy = fmax(pair.energy, fabs((now.kinetic + now.potential) / begun - 1.0));
    }
    pair.place = (f64)vec3_distance(particles_position(p, 1), starts[1].position) / a;
    Vec3 sum = vec3_scale(particles_velocity(p, 0), (f32)m1);
    sum = vec3_add_scaled(sum, (f32)m2, particles_velocity(p, 1));
    pair.momentum = (f64)vec3_length(sum) / (m2 * speed);
    truth_say(c, "ratio %.4f e %.2f a %.2f %u steps", ratio, e, a, steps);
    particles_destroy(p);
    return pair;
}

static f64 pair_place(TruthCase *c)
{
    return two_bodies(c).place;
}

static f64 pair_energy(TruthCase *c)
{
    return two_bodies(c).energy;
}

static f64 pair_momentum(TruthCase *c)
{
    return two_bodies(c).momentum;
}

/* A Plummer sphere, a uniform cube or clusters. */
static Vec3 crowd_place(TruthCase *c, u32 kind, u32 i)
{
    Vec3 any =
        vec3(truth_range(c, -1.0f, 1.0f), truth_range(c, -1.0f, 1.0f), truth_range(c, -1.0f, 1.0f));
    if (kind == 0) {
        f32 inside = truth_range(c, 0.001f, 0.98f);
        f32 r = 1.0f / sqrtf(powf(inside, -2.0f / 3.0f) - 1.0f);
        return vec3_scale(truth_direction(c), r);
    }
    Vec3 middle = vec3_scale(vec3((f32)(i % 3), (f32)(i % 2), (f32)(i % 5)), 3.0f);
    return kind == 1 ? vec3_scale(any, 3.0f) : vec3_add(middle, any);
}

/* The larger of root mean square and mean of the relative force errors of the tree at opening angle
 * 0.5. */
static f64 tree_error(TruthCase *c)
{
    u32 count = GRAVITY_DIRECT_MAX + 1 + truth_pick(c, TREE_MOST - GRAVITY_DIRECT_MAX - 1);
    u32 kind = truth_pick(c, 3);
    f32 softening = truth_log_range(c, 0.001f, 0.1f);
    GravityOptions options = {1.0f, softening, 0.5f};
    Vec3 *places = malloc(count * sizeof *places), *got = malloc(count * sizeof *got);
    f32 *masses = malloc(count * sizeof *masses);
    f64 square = 0.0, size = 0.0, mean = 0.0, sampled = 0.0;
    Gravity gravity = {0};
    if (places == NULL || got == NULL || masses == NULL) {
        fprintf(stderr, "truth: out of memory\n");
        exit(EXIT_FAILURE);
    }
    bool equal = truth_pick(c, 2) == 0;
    for (u32 i = 0; i < count; i++) {
        places[i] = crowd_place(c, kind, i);
        masses[i] = equal ? 1.0f : truth_log_range(c, 0.1f, 100.0f);
    }
    bool done = gravity_accelerate(&gravity, places, masses, count, &options, got, NULL);
    for (u32 i = 0; i < count; i += 11) {
        f64 a[3] = {0.0, 0.0, 0.0};
        for (u32 k = 0; k < count; k++) {
            f64 d[3] = {(f64)places[k].x - (f64)places[i].x, (f64)places[k].y - (f64)places[i].y,
                        (f64)places[k].z - (f64)places[i].z};
            f64 r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + (f64)softening * (f64)softening;
            f64 pull = k == i ? 0.0 : (f64)masses[k] / (r2 * sqrt(r2));
            a[0] += pull * d[0];
            a[1] += pull * d[1];
            a[2] += pull * d[2];
        }
        f64 off = hypot(hypot(a[0] - (f64)got[i].x, a[1] - (f64)got[i].y), a[2] - (f64)got[i].z);
        f64 all = sqrt(a[0] * a[0] + a[1] * a[1] + a[2] * a[2]);
        square += off * off;
        size += all * all;
        mean += off / all;
        sampled += 1.0;
    }
    truth_say(c, "%u bodies, crowd %u, %s masses, softening %.4f", count, kind,
              equal ? "equal" : "unequal", (f64)softening);
    gravity_finish(&gravity);
    free(places);
    free(got);
    free(masses);
    return done ? fmax(sqrt(square / size), mean / sampled) : NAN;
}

/* Bodies that collapse together: momentum gained, relative to the sum of all magnitudes; or a
 * hundredth of the energy gained, if larger. */
static f64 crowd_kept(TruthCase *c)
{
    ParticleStart starts[CLOUD];
    u32 kind = truth_pick(c, 3);
    for (u32 i = 0; i < CLOUD; i++) {
        Vec3 v = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 5.0f));
        starts[i] = (ParticleStart){crowd_place(c, kind, i), v, truth_log_range(c, 0.1f, 10.0f)};
    }
    ParticlesDef def = def_of(starts, CLOUD);
    def.gravitation = truth_log_range(c, 0.01f, 1.0f);
    def.softening = 0.2f;
    def.collide = false;
    Particles *p = particle_kit_alone(&def, vec3_zero());
    ParticleSums before = {0}, after = {0};
    ParticleEnergy first = particles_energy(p, 0);
    for (u32 i = 0; i < CLOUD; i++) {
        particle_sums_add(&before, (f64)particles_mass(p, i), particles_position(p, i),
                          particles_velocity(p, i));
    }
    particle_kit_steps(p, 200, 0.005f);
    f64 gained = 0.0;
    for (u32 i = 0; i < CLOUD; i++) {
        particle_sums_add(&after, (f64)particles_mass(p, i), particles_position(p, i),
                          particles_velocity(p, i));
    }
    for (u32 i = 0; i < 3; i++) {
        gained = fmax(gained, fabs(after.momentum[i] - before.momentum[i]) / after.size);
        gained = fmax(gained, fabs(after.angular[i] - before.angular[i]) / after.turning);
    }
    ParticleEnergy last = particles_energy(p, 0);
    f64 energy = fabs(last.kinetic + last.potential - first.kinetic - first.potential) /
                 (first.kinetic - first.potential);
    truth_say(c, "crowd %u G %.3f: momenta %.1e energy %.1e", kind, (f64)def.gravitation, gained,
              energy);
    particles_destroy(p);
    return fmax(gained, 0.01 * energy);
}

/* ---- flocks and swarms ---- */

/* Fastest boid over twice its cruising speed, or its largest distance over the one at which homing
 * turns it round. */
static f64 flock_bounded(TruthCase *c)
{
    ParticleStart starts[BOIDS];
    f32 cruise = truth_log_range(c, 0.5f, 20.0f), wide = truth_log_range(c, 0.05f, 30.0f);
    for (u32 i = 0; i < BOIDS; i++) {
        starts[i].position = vec3_scale(truth_direction(c), wide * truth_range(c, 0.0f, 1.0f));
        starts[i].velocity = vec3_scale(truth_direction(c), cruise * truth_range(c, 0.5f, 2.0f));
        starts[i].mass_kg = 0.0f;
    }
    ParticlesDef def = def_of(starts, BOIDS);
    def.behavior = PARTICLE_FLOCK;
    def.gravity_scale = 0.0f;
    def.cruise = cruise;
    def.sight = truth_log_range(c, 0.2f, 5.0f);
    def.separation_distance = def.sight * truth_range(c, 0.1f, 0.8f);
    def.separation = truth_range(c, 0.0f, 100.0f);
    def.alignment = truth_range(c, 0.0f, 10.0f);
    def.cohesion = truth_range(c, 0.0f, 10.0f);
    def.agility = truth_log_range(c, 5.0f, 100.0f);
    def.homing = truth_range(c, 0.05f, 1.0f);
    Particles *p = particle_kit_alone(&def, vec3(0.0f, -9.81f, 0.0f));
    f32 h = 1.0f / truth_range(c, 60.0f, 240.0f);
    particles_set_predator(p, 0, vec3_scale(truth_direction(c), 2.0f));
    f64 worst = 0.0;
    for (f32 t = 0.0f; t < 6.0f; t += h) {
        particle_kit_steps(p, 1, h);
        for (u32 i = 0; i < BOIDS; i++) {
            f64 speed = (f64)vec3_length(particles_velocity(p, i));
            f64 away = (f64)vec3_length(particles_position(p, i));
            f64 far = 4.0 * (f64)wide + 8.0 * (f64)cruise / sqrt((f64)def.homing) + 10.0;
            worst = fmax(worst, fmax(speed / (2.0 * (f64)cruise), away / far));
            worst = particles_is_alive(p, i) && !isnan(speed) ? worst : NAN;
        }
    }
    truth_say(c, " cruise %.2f sight %.2f agility %.1f homing %.2f", (f64)cruise, (f64)def.sight,
              (f64)def.agility, (f64)def.homing);
    particles_destroy(p);
    return worst;
}

/* Iterations until a swarm of 500 has found the optimum within 1e-5. */
static f64 swarm_needs(TruthCase *c)
{
    static const SwarmWeights weights = {0.7298f, 1.49618f, 1.49618f};
    Swarm swarm;
    SwarmObjective objective = (SwarmObjective)truth_pick(c, SWARM_OBJECTIVE_COUNT);
    u64 seed = truth_pick(c, 1u << 30);
    if (!swarm_init(&swarm, objective, 500, seed)) {
        return NAN;
    }
    u32 needed = 0;
    while (swarm.leader_value > 1e-5f && needed < 1000) {
        swarm_iterate(&swarm, &weights);
        needed++;
    }
    f64 value = swarm_value(objective, (f64)swarm.leader.x, (f64)swarm.leader.y);
    swarm_finish(&swarm);
    truth_say(c, "%s seed %llu: %.1e", swarm_objective_names[objective], (unsigned long long)seed,
              value);
    return value <= 1.01e-5 ? needed : NAN;
}

const TruthLaw truth_mutual[] = {
    {.name = "particle/kepler",
     .about = "position after a period about an attractor, eccentricity 0 to 0.85, of the axis",
     .unit = "",
     .bound = 5e-3,
     .few = 6,
     .many = 200,
     .measure = kepler_period},
    {.name = "particle/pair",
     .about = "position after a period of two bodies that attract each other, of the axis",
     .unit = "",
     .bound = 5e-3,
     .few = 6,
     .many = 200,
     .measure = pair_place},
    {.name = "particle/pair energy",
     .about = "change of their energy, relative",
     .unit = "",
     .bound = 2e-3,
     .few = 6,
     .many = 200,
     .measure = pair_energy},
    {.name = "particle/pair momentum",
     .about = "momentum that they gain, of that of the lighter",
     .unit = "",
     .bound = 1e-3,
     .few = 6,
     .many = 200,
     .measure = pair_momentum},
    {.name = "particle/crowd",
     .about = "momenta gained by 200 that attract each other; a hundredth of the energy",
     .unit = "",
     .bound = 1e-4,
     .few = 4,
     .many = 100,
     .measure = crowd_kept},
    {.name = "particle/tree",
     .about = "force error of the Barnes-Hut tree at opening 0.5 against the direct sum",
     .unit = "",
     .bound = 0.01,
     .few = 4,
     .many = 150,
     .measure = tree_error},
    {.name = "particle/flock",
     .about = "boids: speed over twice the cruise, or distance over where homing ends the flight",
     .unit = "",
     .bound = 1.001,
     .few = 3,
     .many = 60,
     .measure = flock_bounded},
    {.name = "particle/swarm",
     .about = "iterations of a swarm of 500 to 1e-5 of the optimum",
     .unit = "",
     .bound = 200.0,
     .few = 12,
     .many = 500,
     .measure = swarm_needs},
    {.name = NULL},
};
