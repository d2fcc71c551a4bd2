/* truth_particles.c: laws of particle systems: integrators, impacts, emitters, momentum exchanged
 * with bodies; see truth.h. */
#include "server/physics/particles/particles.h"
#include "server/physics/rigid/collider.h"
#include "shared/geometry/geometry.h"
#include "tests/support/particle_kit.h"
#include "tests/support/rigid_kit.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    CLOUD = 200,
};

static const f64 pi = 3.14159265358979;

/* One particle system among bodies. */
typedef struct Stand {
    Rigid *rigid; /* NULL: none */
    RigidCollider bodies;
    Particles *particles;
    f32 tick_s;
    u32 substeps;
} Stand;

static ParticlesDef def_of(const ParticleStart *starts, u32 count)
{
    ParticlesDef def = particles_def_default();
    def.count = count;
    def.lifetime_s = -1.0f;
    def.starts = starts;
    def.start_count = starts != NULL ? count : 0;
    return def;
}

static const char *name_of(ParticleIntegrator integrator)
{
    return particle_integrator_names[integrator];
}

/* Tick rate and substeps are random. */
static Stand scene_make(TruthCase *c, const ParticlesDef *def, Vec3 gravity)
{
    static const f32 rates[] = {30.0f, 60.0f, 60.0f, 120.0f, 240.0f};
    Stand scene = {.tick_s = 1.0f / rates[truth_pick(c, PL_COUNT(rates))],
                   .substeps = 1 + truth_pick(c, 4),
                   .particles = particles_create()};
    ErrorText error = {0};
    u32 system;
    if (scene.particles == NULL ||
        particles_add(scene.particles, def, &system, &error) != ERROR_OK) {
        fprintf(stderr, "truth: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    particles_set_gravity(scene.particles, gravity);
    truth_say(c, "%.0f Hz x %u", 1.0 / (f64)scene.tick_s, scene.substeps);
    return scene;
}

static void scene_bodies(Stand *scene, Vec3 gravity)
{
    scene->rigid = rigid_create(&(RigidDef){.body_capacity = 8,
                                            .tick_s = scene->tick_s,
                                            .substeps = scene->substeps,
                                            .gravity = gravity,
                                            .no_sleep = true});
    if (scene->rigid == NULL) {
        fprintf(stderr, "truth: out of memory\n");
        exit(EXIT_FAILURE);
    }
    scene->bodies = (RigidCollider){.rigid = scene->rigid, .gravity = gravity};
    scene->bodies.tick_s = scene->tick_s;
    scene->bodies.substep_s = scene->tick_s / (f32)scene->substeps;
}

static void scene_finish(Stand *scene)
{
    particles_destroy(scene->particles);
    if (scene->rigid != NULL) {
        rigid_collider_finish(&scene->bodies);
        rigid_destroy(scene->rigid);
    }
}

static void scene_tick(Stand *scene)
{
    Collider collider = rigid_collider(&scene->bodies);
    u32 count = scene->rigid != NULL ? 1 : 0;
    particles_stir(scene->particles, &collider, count, scene->tick_s);
    if (scene->rigid != NULL) {
        rigid_collide(scene->rigid, NULL);
    }
    particles_begin(scene->particles, &collider, count, scene->tick_s, NULL);
    if (scene->rigid != NULL) {
        rigid_prepare(scene->rigid);
    }
    for (u32 s = 0; s < scene->substeps; s++) {
        if (scene->rigid != NULL) {
            rigid_substep(scene->rigid);
        }
        particles_substep(scene->particles, scene->tick_s / (f32)scene->substeps);
    }
    particles_end(scene->particles);
    if (scene->rigid != NULL) {
        rigid_finish(scene->rigid);
    }
}

/* ---- orders of convergence ---- */

/* x'' = −ω² x: largest distance from the exact solution in the plane of x and v / ω, after
 * `periods`. */
static f64 oscillator_error(ParticleIntegrator by, f64 omega, f64 phase, f64 periods, u32 steps)
{
    ParticleStart start = {.position = {(f32)cos(phase), 0.0f, 0.0f},
                           .velocity = {(f32)(-omega * sin(phase)), 0.0f, 0.0f},
                           .mass_kg = 1.0f};
    ParticlesDef def = def_of(&start, 1);
    def.integrator = by;
    Particles *p = particle_kit_alone(&def, vec3_zero());
    ParticleGrab spring = {.stiffness = (f32)(omega * omega), .most_m_s2 = 1e9f};
    f64 worst = particles_grab_add(p, &spring) == 0 ? 0.0 : NAN;
    f64 h = periods * 2.0 * pi / omega / steps;
    for (u32 i = 1; i <= steps; i++) {
        particle_kit_steps(p, 1, (f32)h);
        f64 at = phase + omega * (f64)(f32)h * i;
        f64 x = (f64)particles_position(p, 0).x, v = (f64)particles_velocity(p, 0).x;
        worst = fmax(worst, hypot(x - cos(at), v / omega + sin(at)));
    }
    particles_destroy(p);
    return worst;
}

/* Difference between the measured order and the method's. */
static f64 order_of_methods(TruthCase *c)
{
    static const f64 orders[PARTICLE_INTEGRATOR_COUNT] = {1.0, 1.0, 2.0, 2.0};
    ParticleIntegrator by = (ParticleIntegrator)truth_pick(c, PARTICLE_INTEGRATOR_COUNT);
    f64 omega = (f64)truth_log_range(c, 0.3f, 10.0f), phase = (f64)truth_range(c, 0.0f, 6.28f);
    f64 periods = (f64)truth_range(c, 0.7f, 2.0f);
    u32 steps = (u32)(periods * (f64)truth_range(c, 60.0f, 150.0f));
    f64 coarse = oscillator_error(by, omega, phase, periods, steps);
    f64 fine = oscillator_error(by, omega, phase, periods, 2 * steps);
    truth_say(c, "%s %.2f/s %.2f periods %u steps", name_of(by), omega, periods, steps);
    return fabs(log2(coarse / fine) - orders[by]);
}

/* v' = g − k v, position and velocity at the end; second-order methods without drag are exact. */
static f64 projectile_error(ParticleIntegrator by, const ParticleStart *start, f64 k, f64 time,
                            u32 steps)
{
    ParticlesDef def = def_of(start, 1);
    def.integrator = by;
    def.drag = (f32)k;
    Particles *p = particle_kit_alone(&def, vec3(0.0f, -9.81f, 0.0f));
    particle_kit_steps(p, steps, (f32)(time / steps));
    Vec3 x = particles_position(p, 0);
    particles_destroy(p);
    const f64 v0[3] = {(f64)start->velocity.x, (f64)start->velocity.y, (f64)start->velocity.z};
    const f64 got[3] = {(f64)x.x, (f64)x.y, (f64)x.z};
    f64 g[3] = {0.0, -9.81, 0.0}, sum = 0.0;
    for (u32 i = 0; i < 3; i++) {
        f64 decay = k > 0.0 ? (1.0 - exp(-k * time)) / k : time;
        f64 at = k > 0.0 ? (v0[i] - g[i] / k) * decay + g[i] / k * time
                         : v0[i] * time + 0.5 * g[i] * time * time;
        sum += (got[i] - at) * (got[i] - at);
    }
    return sqrt(sum);
}

static f64 order_of_drag(TruthCase *c)
{
    static const f64 orders[PARTICLE_INTEGRATOR_COUNT] = {1.0, 1.0, 2.0, 2.0};
    ParticleIntegrator by = (ParticleIntegrator)truth_pick(c, PARTICLE_INTEGRATOR_COUNT);
    ParticleStart start = {.velocity = vec3_scale(truth_direction(c), truth_range(c, 10.0f, 40.0f)),
                           .mass_kg = 1.0f};
    f64 k = (f64)truth_range(c, 0.5f, 3.0f), time = (f64)truth_range(c, 0.5f, 1.5f) / k;
    u32 steps = 4 + (u32)(k * time * (f64)truth_range(c, 8.0f, 16.0f));
    f64 coarse = projectile_error(by, &start, k, time, steps);
    f64 fine = projectile_error(by, &start, k, time, 2 * steps);
    truth_say(c, "%s drag %.2f/s %.2f s %u steps", name_of(by), k, time, steps);
    return fabs(log2(coarse / fine) - orders[by]);
}

/* Relative to the distance, for methods that are exact without drag. */
static f64 exact_projectile(TruthCase *c)
{
    ParticleIntegrator by = truth_pick(c, 2) == 0 ? PARTICLE_VERLET : PARTICLE_MIDPOINT;
    f32 speed = truth_log_range(c, 1.0f, 200.0f), time = truth_range(c, 0.5f, 4.0f);
    ParticleStart start = {.velocity = vec3_scale(truth_direction(c), speed)};
    u32 steps = 1 + (u32)(time * truth_log_range(c, 10.0f, 500.0f));
    truth_say(c, "%s %.1f m/s %.2f s %u steps", name_of(by), (f64)speed, (f64)time, steps);
    f64 way = (f64)speed * (f64)time + 4.905 * (f64)time * (f64)time;
    return projectile_error(by, &start, 0.0, (f64)time, steps) / way;
}

/* ---- impacts ---- */

/* A flat or convex surface and a point on it, in the body's frame. */
typedef struct Target {
    BodyDef def;
    Geometry *geometry; /* destroyed by the caller; NULL: none */
    Vec3 place, normal;
} Target;

static Geometry *made(Geometry *geometry, const ErrorText *error)
{
    if (geometry == NULL) {
        fprintf(stderr, "truth: %s\n", error->text);
        exit(EXIT_FAILURE);
    }
    return geometry;
}

static void target_box(TruthCase *c, Target *t, Vec3 half)
{
    t->place =
        vec3(half.x * truth_range(c, -0.7f, 0.7f), half.y, half.z * truth_range(c, -0.7f, 0.7f));
    t->normal = vec3(0.0f, 1.0f, 0.0f);
}

static void target_round(TruthCase *c, Target *t, Shape *shape)
{
    f32 r = shape->radius, h = shape->half_height, turn = truth_range(c, 0.0f, 6.28f);
    Vec3 out = vec3(cosf(turn), 0.0f, sinf(turn));
    f32 y = h * truth_range(c, -0.7f, 0.7f);
    switch (shape->kind) {
    case SHAPE_SPHERE:
        t->normal = truth_direction(c);
        t->place = vec3_scale(t->normal, r);
        break;
    case SHAPE_CAPSULE:
        t->normal = truth_direction(c);
        out = truth_pick(c, 2) == 0 ? out : t->normal;
        y = out.y == 0.0f ? y : copysignf(h, out.y);
        t->normal = out;
        t->place = vec3_add_scaled(vec3(0.0f, y, 0.0f), r, out);
        break;
    case SHAPE_CYLINDER:
        t->normal = truth_pick(c, 2) == 0 ? out : vec3(0.0f, 1.0f, 0.0f);
        t->place = t->normal.y > 0.0f ? vec3_add_scaled(vec3(0.0f, h, 0.0f), 0.6f * r, out)
                                      : vec3_add_scaled(vec3(0.0f, y, 0.0f), r, out);
        break;
    default: /* a cone's side */
        t->normal = vec3_normalize_or(vec3(2.0f * h * out.x, r, 2.0f * h * out.z), out);
        t->place = vec3_add_scaled(vec3(0.0f, y, 0.0f), r * (0.5f - 0.5f * y / h), out);
        break;
    }
}

static void target_geometry(TruthCase *c, Target *t, f32 size)
{
    ErrorText error = {0};
    Vec3 half = vec3(size, size * truth_range(c, 0.2f, 1.0f), size * truth_range(c, 0.2f, 1.0f));
    f32 heights[81] = {0};
    CompoundChild children[2] = {{{.kind = SHAPE_BOX, .half = half}, vec3_zero(), quat_identity()},
                                 {{.kind = SHAPE_SPHERE, .radius = 0.5f * half.y},
                                  vec3(0.0f, -half.y, 0.0f),
                                  quat_identity()}};
    Vec3 points[8];
    for (u32 i = 0; i < 8; i++) {
        points[i] = vec3((i & 1) != 0 ? half.x : -half.x, (i & 2) != 0 ? half.y : -half.y,
                         (i & 4) != 0 ? half.z : -half.z);
    }
    target_box(c, t, half);
    switch (t->def.shape.kind) {
    case SHAPE_HULL:
        t->geometry = made(geometry_hull(points, 8, 8, &error), &error);
        break;
    case SHAPE_COMPOUND:
        t->geometry = made(geometry_compound(children, 2, &error), &error);
        break;
    case SHAPE_MESH:
        t->geometry = kit_field(4, size);
        t->place.y = 0.0f;
        break;
    default:
        t->geometry = made(geometry_terrain(heights, 9, 9, 0.5f * size, &error), &error);
        t->place.y = 0.0f;
        break;
    }
    t->def.shape.geometry = t->geometry;
}

/* Any shape with a random pose; static, or free with a mass. */
static Target target_make(TruthCase *c, bool free_body)
{
    static const ShapeKind kinds[] = {SHAPE_SPHERE, SHAPE_BOX,    SHAPE_CAPSULE,  SHAPE_CYLINDER,
                                      SHAPE_CONE,   SHAPE_HULL,   SHAPE_COMPOUND, SHAPE_PLANE,
                                      SHAPE_MESH,   SHAPE_TERRAIN};
    Target t = {.def = kit_box(vec3_zero(), vec3(1.0f, 1.0f, 1.0f))};
    ShapeKind kind = kinds[truth_pick(c, PL_COUNT(kinds) - (free_body ? 3 : 0))];
    f32 size = truth_log_range(c, 0.2f, 3.0f);
    t.def.shape = (Shape){.kind = kind,
                          .radius = size,
                          .half_height = size * truth_range(c, 0.3f, 1.5f),
                          .half = vec3(size, size * truth_range(c, 0.2f, 1.0f), size)};
    if (kind == SHAPE_PLANE) {
        t.normal = vec3(0.0f, 1.0f, 0.0f);
        t.place = vec3(truth_range(c, -3.0f, 3.0f), 0.0f, 0.0f);
    } else if (kind == SHAPE_BOX) {
        target_box(c, &t, t.def.shape.half);
    } else if (kind == SHAPE_SPHERE || kind == SHAPE_CAPSULE || kind == SHAPE_CYLINDER ||
               kind == SHAPE_CONE) {
        target_round(c, &t, &t.def.shape);
    } else {
        target_geometry(c, &t, size);
    }
    t.def.position = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 5.0f));
    t.def.orientation = truth_rotation(c);
    t.def.motion = free_body ? BODY_DYNAMIC : BODY_STATIC;
    t.def.mass_kg = free_body ? truth_log_range(c, 0.1f, 100.0f) : 0.0f;
    t.place = vec3_add(t.def.position, quat_rotate(t.def.orientation, t.place));
    t.normal = quat_rotate(t.def.orientation, t.normal);
    truth_say(c, " %s %.2f m", shape_kind_name(kind), (f64)size);
    return t;
}

typedef struct Impact {
    f64 place, velocity; /* relative to the distance of a tick; relative to the speed before */
} Impact;

/* A particle hits a static body at a known point and time, at any tick rate: afterwards the normal
 * velocity is −e times the one before, and the slip is what Coulomb's friction leaves. */
static Impact impact(TruthCase *c)
{
    Target t = target_make(c, false);
    Vec3 gravity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 15.0f));
    f32 e = truth_range(c, 0.0f, 1.0f), mu = truth_range(c, 0.0f, 2.0f);
    f32 speed = truth_log_range(c, 2.0f, 300.0f), radius = truth_log_range(c, 0.005f, 0.2f);
    Vec3 v = truth_direction(c);
    f32 along = vec3_dot(v, t.normal);
    v = along > 0.0f ? vec3_add_scaled(v, -2.0f * along, t.normal) : v;
    v = vec3_add_scaled(v, -0.25f, t.normal); /* not grazing */
    v = vec3_scale(vec3_normalize_or(v, t.normal), speed);
    ParticleStart start = {.mass_kg = truth_pick(c, 2) == 0 ? 0.0f : 0.01f};
    ParticlesDef def = def_of(&start, 1);
    def.radius = radius;
    def.radius_spread = truth_pick(c, 2) == 0 ? 0.0f : radius * truth_range(c, 0.0f, 0.9f);
    def.restitution = e;
    def.friction = mu;
    def.integrator = truth_pick(c, 2) == 0 ? PARTICLE_VERLET : PARTICLE_MIDPOINT;
    u32 ticks = 1 + truth_pick(c, 6);
    f32 part = truth_range(c, 0.02f, 0.98f);
    Stand scene = scene_make(c, &def, gravity);
    radius = particles_radius(scene.particles, 0);
    f32 time = (f32)(ticks - 1) * scene.tick_s, before = time + part * scene.tick_s;
    /* At most the time to be 1 m away: otherwise fast ones would reach the far side of the body. */
    before = f32_min(before, 1.0f / speed);
    ticks = (u32)(before / scene.tick_s) + 1;
    f32 after = (f32)ticks * scene.tick_s - before;
    Vec3 at = vec3_add_scaled(t.place, radius, t.normal);
    start.velocity = vec3_add_scaled(v, -before, gravity);
    start.position =
        vec3_add_scaled(vec3_add_scaled(at, -before, v), 0.5f * before * before, gravity);
    particles_move(scene.particles, 0, start.position, start.velocity);
    truth_say(c, " e %.2f mu %.2f %.1f m/s r %.3f", (f64)e, (f64)mu, (f64)speed, (f64)radius);
    scene_bodies(&scene, vec3_zero());
    kit_add(scene.rigid, &t.def);
    for (u32 i = 0; i < ticks; i++) {
        scene_tick(&scene);
    }
    along = vec3_dot(v, t.normal);
    Vec3 across = vec3_add_scaled(v, -along, t.normal);
    f64 slip = (f64)vec3_length(across);
    f64 lost = fmin(slip, (f64)mu * (1.0 + (f64)e) * -(f64)along);
    Vec3 end = vec3_scale(across, slip > 0.0 ? (f32)(1.0 - lost / slip) : 0.0f);
    end = vec3_add_scaled(end, -e * along, t.normal);
    Vec3 place = vec3_add_scaled(vec3_add_scaled(at, after, end), 0.5f * after * after, gravity);
    end = vec3_add_scaled(end, after, gravity);
    f64 way = (f64)speed * (f64)scene.tick_s + (f64)radius;
    Impact got = {(f64)vec3_distance(particles_position(scene.particles, 0), place) / way,
                  (f64)vec3_distance(particles_velocity(scene.particles, 0), end) / (f64)speed};
    /* Where it cannot leave, or gravity pulls it back, it may have hit the body again. */
    f32 leaves = -e * along, pulls = f32_max(-vec3_dot(gravity, t.normal), 0.0f);
    bool again = leaves <= pulls * (after + 2.0f * scene.tick_s);
    scene_finish(&scene);
    geometry_destroy(t.geometry);
    return again ? (Impact){0.0, 0.0} : got;
}

static f64 impact_place(TruthCase *c)
{
    return impact(c).place;
}

static f64 impact_velocity(TruthCase *c)
{
    return impact(c).velocity;
}

/* A particle on a slope: it slides down with g (sin − mu cos), or stays. Relative to g t. */
static f64 slope_speed(TruthCase *c)
{
    f64 angle = (f64)truth_range(c, 0.05f, 1.2f), mu = (f64)truth_range(c, 0.0f, 1.5f);
    BodyDef plane = kit_plane(kit_rotation(vec3(0.0f, 0.0f, 1.0f), angle * 180.0 / pi));
    if (truth_pick(c, 2) == 0) {
        plane.shape = (Shape){.kind = SHAPE_BOX, .half = {40.0f, 1.0f, 40.0f}};
        plane.position = quat_rotate(plane.orientation, vec3(0.0f, -1.0f, 0.0f));
    }
    plane.motion = BODY_STATIC;
    plane.mass_kg = 0.0f;
    f32 radius = truth_log_range(c, 0.005f, 0.2f), time = truth_range(c, 0.5f, 2.0f);
    ParticleStart start = {.position = quat_rotate(plane.orientation, vec3(0.0f, radius, 0.0f)),
                           .mass_kg = 0.1f};
    ParticlesDef def = def_of(&start, 1);
    def.radius = radius;
    def.friction = (f32)mu;
    def.restitution = truth_range(c, 0.0f, 0.9f);
    Vec3 gravity = vec3(0.0f, -9.81f, 0.0f);
    Stand scene = scene_make(c, &def, gravity);
    scene_bodies(&scene, vec3_zero());
    kit_add(scene.rigid, &plane);
    u32 ticks = (u32)(time / scene.tick_s);
    for (u32 i = 0; i < ticks; i++) {
        scene_tick(&scene);
    }
    f64 t = (f64)ticks * (f64)scene.tick_s;
    f64 expected = fmax(9.81 * (sin(angle) - mu * cos(angle)), 0.0) * t;
    f64 got = (f64)vec3_length(particles_velocity(scene.particles, 0));
    truth_say(c, " %.2f rad mu %.2f e %.2f %.2f s", angle, mu, (f64)def.restitution, t);
    scene_finish(&scene);
    return fabs(got - expected) / (9.81 * t);
}

/* ---- momentum ---- */

static ParticleSums sums_of(const Stand *scene)
{
    ParticleSums s = {0};
    KitMotion bodies = kit_motion(scene->rigid);
    for (u32 i = 0; i < 3; i++) {
        s.momentum[i] = bodies.momentum[i];
        s.angular[i] = bodies.angular[i];
        s.size += fabs(bodies.momentum[i]);
        s.turning += fabs(bodies.angular[i]);
    }
    for (u32 i = 0; i < particles_slots(scene->particles); i++) {
        if (particles_is_alive(scene->particles, i)) {
            particle_sums_add(&s, (f64)particles_mass(scene->particles, i),
                              particles_position(scene->particles, i),
                              particles_velocity(scene->particles, i));
        }
    }
    return s;
}

typedef struct Kept {
    f64 momentum, angular; /* changes relative to the particles' initial values */
} Kept;

/* A shower of particles hits free bodies in space. */
static Kept shower(TruthCase *c)
{
    ParticleStart starts[CLOUD];
    f32 mass = truth_log_range(c, 0.001f, 1.0f), speed = truth_log_range(c, 2.0f, 60.0f);
    for (u32 i = 0; i < CLOUD; i++) {
        Vec3 out = truth_direction(c);
        Vec3 aim = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 0.8f));
        Vec3 at = vec3_scale(out, truth_range(c, 4.0f, 6.0f));
        at.y = fabsf(at.y); /* all from above, so that they transfer momentum, not only heat */
        Vec3 to = vec3_normalize_or(vec3_sub(aim, at), out);
        starts[i] = (ParticleStart){at, vec3_scale(to, speed), mass};
    }
    ParticlesDef def = def_of(starts, CLOUD);
    def.radius = truth_log_range(c, 0.005f, 0.1f);
    def.restitution = truth_range(c, 0.0f, 1.0f);
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.integrator = (ParticleIntegrator)truth_pick(c, PARTICLE_INTEGRATOR_COUNT);
    Stand scene = scene_make(c, &def, vec3_zero());
    scene_bodies(&scene, vec3_zero());
    u32 bodies = 1 + truth_pick(c, 3);
    Geometry *geometries[3] = {NULL, NULL, NULL};
    for (u32 b = 0; b < bodies; b++) {
        Target t = target_make(c, true);
        t.def.position = vec3(2.0f * ((f32)b - 1.0f), 0.0f, 0.0f);
        t.def.family = 1; /* without contact between themselves */
        t.def.velocity = vec3_scale(truth_direction(c), 0.5f);
        t.def.angular_velocity = vec3_scale(truth_direction(c), 2.0f);
        geometries[b] = t.geometry;
        kit_add(scene.rigid, &t.def);
    }
    truth_say(c, " %.3f kg %.1f m/s", (f64)mass, (f64)speed);
    ParticleSums before = sums_of(&scene);
    for (f32 t = 0.0f; t < 12.0f / speed; t += scene.tick_s) {
        scene_tick(&scene);
    }
    ParticleSums after = sums_of(&scene);
    Kept kept = {0.0, 0.0};
    for (u32 i = 0; i < 3; i++) {
        kept.momentum = fmax(kept.momentum, fabs(after.momentum[i] - before.momentum[i]));
        kept.angular = fmax(kept.angular, fabs(after.angular[i] - before.angular[i]));
    }
    kept.momentum /= before.size;
    kept.angular /= before.turning;
    scene_finish(&scene);
    for (u32 b = 0; b < bodies; b++) {
        geometry_destroy(geometries[b]);
    }
    return kept;
}

static f64 momentum_kept(TruthCase *c)
{
    return shower(c).momentum;
}

static f64 angular_kept(TruthCase *c)
{
    return shower(c).angular;
}

/* ---- walls ---- */

/* Number of particles that pass a thin wall, which may move. */
static f64 wall_passed(TruthCase *c)
{
    ParticleStart starts[CLOUD];
    f32 thick = truth_log_range(c, 0.002f, 0.2f), fast = truth_log_range(c, 5.0f, 500.0f);
    for (u32 i = 0; i < CLOUD; i++) {
        Vec3 at = vec3(truth_range(c, -1.0f, 1.0f), truth_range(c, 0.4f, 3.0f),
                       truth_range(c, -1.0f, 1.0f));
        Vec3 to = vec3(truth_range(c, -1.0f, 1.0f), 0.0f, truth_range(c, -1.0f, 1.0f));
        Vec3 way = vec3_normalize_or(vec3_sub(to, at), vec3(0.0f, -1.0f, 0.0f));
        starts[i] = (ParticleStart){at, vec3_scale(way, fast * truth_range(c, 0.3f, 1.0f)), 0.001f};
    }
    ParticlesDef def = def_of(starts, CLOUD);
    def.radius = truth_log_range(c, 0.002f, 0.05f);
    def.restitution = truth_range(c, 0.0f, 1.0f);
    def.friction = truth_range(c, 0.0f, 1.0f);
    Stand scene = scene_make(c, &def, vec3(0.0f, -9.81f, 0.0f));
    scene_bodies(&scene, vec3_zero());
    BodyDef wall = kit_box(vec3_zero(), vec3(60.0f, thick, 60.0f));
    bool moves = truth_pick(c, 2) == 0;
    wall.motion = moves ? BODY_KINEMATIC : BODY_STATIC;
    wall.mass_kg = 0.0f;
    wall.velocity = moves ? vec3(0.0f, truth_range(c, -3.0f, 8.0f), 0.0f) : vec3_zero();
    u32 slot = kit_add(scene.rigid, &wall);
    for (f32 t = 0.0f; t < 1.0f; t += scene.tick_s) {
        scene_tick(&scene);
    }
    f64 passed = 0.0;
    f32 y = rigid_position(scene.rigid, slot).y;
    for (u32 i = 0; i < CLOUD; i++) {
        Vec3 x = particles_position(scene.particles, i);
        bool over = fabsf(x.x) < 59.0f && fabsf(x.z) < 59.0f;
        passed += particles_is_alive(scene.particles, i) && over && x.y < y ? 1.0 : 0.0;
    }
    truth_say(c, " %.4f m r %.4f %.0f m/s wall at %.1f m/s", (f64)thick, (f64)def.radius, (f64)fast,
              (f64)wall.velocity.y);
    scene_finish(&scene);
    return passed;
}

/* ---- emitters ---- */

/* Particles beyond the rate times the time; 1 is the granularity. */
static f64 emitted(TruthCase *c)
{
    ParticlesDef def = def_of(NULL, 40000);
    def.rate = truth_log_range(c, 0.5f, 5000.0f);
    def.start_s = truth_range(c, 0.0f, 1.0f);
    def.stop_s = truth_pick(c, 2) == 0 ? def.start_s + truth_range(c, 0.01f, 3.0f) : 0.0f;
    def.lifetime_s = truth_pick(c, 2) == 0 ? -1.0f : truth_range(c, 0.2f, 3.0f);
    def.gravity_scale = 0.0f;
    def.radius = 0.01f;
    Stand scene = scene_make(c, &def, vec3_zero());
    f64 time = 0.0, worst = 0.0, tick = (f64)scene.tick_s;
    truth_say(c, " %.1f/s from %.2f to %.2f s living %.2f s", (f64)def.rate, (f64)def.start_s,
              (f64)def.stop_s, (f64)def.lifetime_s);
    while (time < 4.0) {
        scene_tick(&scene);
        time += tick;
        f64 end = def.stop_s > 0.0f ? fmin(time, (f64)def.stop_s) : time, begin = (f64)def.start_s;
        f64 died = def.lifetime_s > 0.0f ? time - (f64)def.lifetime_s : -1.0;
        f64 expected = (f64)def.rate * fmax(end - fmax(begin, died), 0.0);
        f64 extra = def.lifetime_s > 0.0f ? 1.0 : 0.0; /* one each for births and deaths */
        f64 off = fabs((f64)particles_alive(scene.particles, 0) - expected);
        worst = fmax(worst, off - extra);
    }
    scene_finish(&scene);
    return worst;
}

const TruthLaw truth_particles[] = {
    {.name = "particle/order",
     .about = "order of an integrator on an oscillator minus the nominal (1, 1, 2, 2)",
     .unit = "",
     .bound = 0.25,
     .few = 20,
     .many = 400,
     .measure = order_of_methods},
    {.name = "particle/drag order",
     .about = "the same on a projectile with drag",
     .unit = "",
     .bound = 0.25,
     .few = 40,
     .many = 1000,
     .measure = order_of_drag},
    {.name = "particle/projectile",
     .about = "error of second-order methods without drag, of the distance",
     .unit = "",
     .bound = 5e-5,
     .few = 40,
     .many = 1000,
     .measure = exact_projectile},
    {.name = "particle/bounce place",
     .about = "position after an impact, every shape, rate, e and mu, of a tick's distance",
     .unit = "",
     .bound = 2e-3,
     .few = 300,
     .many = 5000,
     .measure = impact_place},
    {.name = "particle/bounce",
     .about = "velocity after it: -e along the normal, Coulomb's friction across, of the speed",
     .unit = "",
     .bound = 4e-3,
     .few = 300,
     .many = 5000,
     .measure = impact_velocity},
    {.name = "particle/slope",
     .about = "speed on a slope after 0.5 to 2 s minus g t (sin - mu cos), of g t",
     .unit = "",
     .bound = 0.02,
     .few = 20,
     .many = 500,
     .measure = slope_speed},
    {.name = "particle/momentum",
     .about = "momentum gained by free bodies and a shower of particles, of the total",
     .unit = "",
     .bound = 2e-5,
     .few = 10,
     .many = 300,
     .measure = momentum_kept},
    {.name = "particle/angular",
     .about = "the same for angular momentum: goal rounding; bodies rotate within a step",
     .unit = "",
     .bound = 0.01,
     .few = 10,
     .many = 300,
     .measure = angular_kept},
    {.name = "particle/wall",
     .about = "particles of 200 that pass a wall of 2 mm and more, which may move",
     .unit = "",
     .bound = 0.0,
     .few = 10,
     .many = 400,
     .measure = wall_passed},
    {.name = "particle/rate",
     .about = "particles alive minus rate times time, beyond the granularity of 1",
     .unit = "",
     .bound = 1.001,
     .few = 6,
     .many = 200,
     .measure = emitted},
    {.name = NULL},
};
