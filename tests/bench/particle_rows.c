/* particle_rows.c: the time of a tick of particle systems, each compared with a plain scalar
 * reference that does the same work in the same run. */
#include "server/physics/particles/flock.h"
#include "server/physics/particles/gravity.h"
#include "server/physics/particles/particles.h"
#include "server/physics/rigid/collider.h"
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/bench/bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FREE = 100000,
    BODIES = 10000,
    BOIDS = 10000,
    TICKS = 60,
    SUBSTEPS = 4,
    BOXES = 25,
};

static const f32 tick_s = 1.0f / 60.0f;
static const f32 radius = 0.02f, bounce = 0.4f, rub = 0.2f;

static f64 since_ms(u64 began_ns)
{
    return (f64)(clock_now_ns() - began_ns) * 1e-6;
}

static Vec3 any_in(u64 seed, u64 i, f32 half)
{
    return vec3(random_range(seed, 3 * i, -half, half), random_range(seed, 3 * i + 1, -half, half),
                random_range(seed, 3 * i + 2, -half, half));
}

static void print(Bench *bench, const char *name, u32 n, u32 threads)
{
    f64 per_s = 1e3 * (f64)n / bench_median(bench);
    bench_print(bench, &(BenchRow){name, n, threads, "ms", per_s, "particles/s"});
}

/* ---- free particles over a ground with boxes ---- */

/* A cloud 40 m wide up to 12 m above the ground: about a fifth touches something in a second. */
static ParticleStart start_of(u32 i)
{
    Vec3 at = any_in(3, i, 20.0f), v = any_in(4, i, 4.0f);
    at.y = 6.3f + 0.3f * at.y;
    return (ParticleStart){at, v, 0.001f};
}

static Rigid *boxes(void)
{
    RigidDef def = {.body_capacity = BOXES + 1, .tick_s = 1.0f / 60.0f, .substeps = SUBSTEPS};
    Rigid *rigid = bench_must(rigid_create(&def));
    BodyDef ground = body_def_default();
    ground.shape.kind = SHAPE_PLANE;
    ground.motion = BODY_STATIC;
    ground.mass_kg = 0.0f;
    rigid_add(rigid, &ground);
    for (u32 i = 0; i < BOXES; i++) {
        BodyDef box = body_def_default();
        box.shape = (Shape){.kind = SHAPE_BOX, .half = {1.0f, 1.0f, 1.0f}};
        box.position = vec3(8.0f * (f32)(i % 5) - 16.0f, 1.0f, 8.0f * (f32)(i / 5) - 16.0f);
        box.motion = BODY_STATIC;
        box.mass_kg = 0.0f;
        rigid_add(rigid, &box);
    }
    return rigid;
}

static void run_free(Bench *bench, Rigid *rigid, Jobs *jobs)
{
    Particles *p = bench_must(particles_create());
    ParticleStart *starts = bench_get(FREE, sizeof *starts);
    for (u32 i = 0; i < FREE; i++) {
        starts[i] = start_of(i);
    }
    ParticlesDef def = particles_def_default();
    def.count = def.start_count = FREE;
    def.starts = starts;
    def.lifetime_s = -1.0f;
    def.radius = radius;
    def.restitution = bounce;
    def.friction = rub;
    def.drag = 0.1f;
    u32 system;
    ErrorText error;
    if (particles_add(p, &def, &system, &error) != ERROR_OK) {
        fprintf(stderr, "plenum-bench: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    particles_set_gravity(p, vec3(0.0f, -9.81f, 0.0f));
    RigidCollider bodies = {.rigid = rigid};
    Collider collider = rigid_collider(&bodies);
    for (u32 i = 0; i < TICKS; i++) {
        u64 began = clock_now_ns();
        particles_begin(p, &collider, 1, tick_s, jobs);
        for (u32 k = 0; k < SUBSTEPS; k++) {
            particles_substep(p, tick_s / SUBSTEPS);
        }
        particles_end(p);
        bench_sample(bench, since_ms(began));
    }
    rigid_collider_finish(&bodies);
    particles_destroy(p);
    free(starts);
}

/* One particle after the other, against the ground and the boxes of its cell of 8 m. */
static void plain_step(Vec3 *x, Vec3 *v, f32 h)
{
    Vec3 a = vec3_add_scaled(vec3(0.0f, -9.81f, 0.0f), -0.1f, *v);
    *v = vec3_add_scaled(*v, h, a);
    *x = vec3_add_scaled(*x, h, *v);
    f32 cx = 8.0f * floorf((x->x + 4.0f) / 8.0f), cz = 8.0f * floorf((x->z + 4.0f) / 8.0f);
    Vec3 d = vec3_sub(*x, vec3(cx, 1.0f, cz)), n = vec3_zero();
    f32 depth = radius - x->y, side = 1.0f + radius;
    n.y = depth > 0.0f ? 1.0f : 0.0f;
    if (fabsf(d.x) < side && fabsf(d.y) < side && fabsf(d.z) < side && fabsf(cx) <= 16.0f &&
        fabsf(cz) <= 16.0f) {
        f32 dx = side - fabsf(d.x), dy = side - fabsf(d.y), dz = side - fabsf(d.z);
        depth = f32_min(dx, f32_min(dy, dz));
        n = depth == dy   ? vec3(0.0f, d.y < 0.0f ? -1.0f : 1.0f, 0.0f)
            : depth == dx ? vec3(d.x < 0.0f ? -1.0f : 1.0f, 0.0f, 0.0f)
                          : vec3(0.0f, 0.0f, d.z < 0.0f ? -1.0f : 1.0f);
    }
    f32 along = vec3_dot(*v, n);
    if (depth > 0.0f && along < 0.0f) {
        Vec3 across = vec3_add_scaled(*v, -along, n);
        f32 slip = vec3_length(across), lost = f32_min(slip, -rub * (1.0f + bounce) * along);
        f32 kept = slip > 0.0f ? 1.0f - lost / slip : 0.0f;
        *v = vec3_add_scaled(vec3_scale(across, kept), -bounce * along, n);
        *x = vec3_add_scaled(*x, depth, n);
    }
}

static void run_plain(Bench *bench)
{
    ParticleStart *all = bench_get(FREE, sizeof *all);
    for (u32 i = 0; i < FREE; i++) {
        all[i] = start_of(i);
    }
    for (u32 t = 0; t < TICKS; t++) {
        u64 began = clock_now_ns();
        for (u32 k = 0; k < SUBSTEPS; k++) {
            for (u32 i = 0; i < FREE; i++) {
                plain_step(&all[i].position, &all[i].velocity, tick_s / SUBSTEPS);
            }
        }
        bench_sample(bench, since_ms(began));
    }
    free(all);
}

void bench_particles_free100k(Bench *bench)
{
    Rigid *rigid = boxes();
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run_free(bench, rigid, jobs);
        }
        print(bench, "particles/free100k", FREE, jobs_threads(jobs));
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        run_plain(bench);
    }
    print(bench, "particles/free100k_plain", FREE, 1);
    rigid_destroy(rigid);
}

/* ---- gravitation ---- */

/* A Plummer sphere by rejection, without functions of libm. */
static Vec3 plummer(u32 i)
{
    for (u64 k = 0;; k++) {
        Vec3 p = any_in(11, (u64)i * 64 + k, 6.0f);
        f32 near = 1.0f / (1.0f + vec3_length_squared(p));
        if (random_f32(12, (u64)i * 64 + k) < near * near * sqrtf(near) || k == 63) {
            return p;
        }
    }
}

static f64 run_gravity(Bench *bench, const Vec3 *places, const f32 *masses, f32 opening, Vec3 *out,
                       Jobs *jobs)
{
    Gravity gravity = {0};
    GravityOptions options = {1.0f, 0.02f, opening};
    for (u32 i = 0; i < 3; i++) {
        u64 began = clock_now_ns();
        gravity_accelerate(&gravity, places, masses, BODIES, &options, out, jobs);
        bench_sample(bench, since_ms(began));
    }
    gravity_finish(&gravity);
    return bench_median(bench);
}

/* Mean of |a − b| / |b|, percent. */
static f64 error_percent(const Vec3 *a, const Vec3 *b)
{
    f64 sum = 0.0;
    for (u32 i = 0; i < BODIES; i++) {
        sum += (f64)(vec3_distance(a[i], b[i]) / vec3_length(b[i]));
    }
    return 100.0 * sum / BODIES;
}

void bench_particles_nbody10k(Bench *bench)
{
    Vec3 *places = bench_get(BODIES, sizeof *places), *tree = bench_get(BODIES, sizeof *tree);
    Vec3 *direct = bench_get(BODIES, sizeof *direct);
    f32 *masses = bench_get(BODIES, sizeof *masses);
    for (u32 i = 0; i < BODIES; i++) {
        places[i] = plummer(i);
        masses[i] = 1.0f;
    }
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            run_gravity(bench, places, masses, 0.6f, tree, jobs);
        }
        print(bench, "particles/nbody10k", BODIES, jobs_threads(jobs));
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        run_gravity(bench, places, masses, 0.0f, direct, NULL);
    }
    print(bench, "particles/nbody10k_direct", BODIES, 1);
    fprintf(stderr, "particles/nbody10k: mean force error %.3f %%\n", error_percent(tree, direct));
    free(places);
    free(tree);
    free(direct);
    free(masses);
}

/* ---- boids ---- */

static const FlockRules rules = {.sight = 1.5f,
                                 .separation_distance = 0.5f,
                                 .separation = 20.0f,
                                 .alignment = 2.0f,
                                 .cohesion = 1.5f,
                                 .cruise = 4.0f,
                                 .agility = 25.0f,
                                 .predator = {1e4f, 0.0f, 0.0f},
                                 .flee_distance = 4.0f};

/* About 14 in sight of each. */
static void fill_flock(Flock *flock)
{
    for (u32 i = 0; i < BOIDS; i++) {
        flock->positions[i] = any_in(21, i, 10.8f);
        flock->velocities[i] = vec3_normalize_or(any_in(22, i, 1.0f), vec3(4.0f, 0.0f, 0.0f));
    }
}

/* The same sums by a search for each, one neighbour after the other. */
static void plain_flock(Flock *flock, u32 *near)
{
    cells_build(&flock->cells, flock->positions, sizeof(Vec3), BOIDS, rules.sight, NULL);
    for (u32 i = 0; i < BOIDS; i++) {
        Vec3 x = flock->positions[i], place = vec3_zero(), speed = place, apart = place;
        u32 count = cells_near(&flock->cells, x, rules.sight, near, BOIDS);
        for (u32 k = 0; k < count; k++) {
            Vec3 d = vec3_sub(flock->positions[near[k]], x);
            f32 r = vec3_length(d);
            if (near[k] == i) {
                continue;
            }
            place = vec3_add(place, d);
            speed = vec3_add(speed, vec3_sub(flock->velocities[near[k]], flock->velocities[i]));
            if (r < rules.separation_distance && r > 1e-6f) {
                apart = vec3_add_scaled(apart, -(1.0f - r / rules.separation_distance) / r, d);
            }
        }
        f32 share = count > 1 ? 1.0f / (f32)(count - 1) : 0.0f;
        Vec3 pull = vec3_scale(apart, rules.separation);
        pull = vec3_add_scaled(pull, rules.alignment * share, speed);
        flock->pulls[i] = vec3_add_scaled(pull, rules.cohesion * share, place);
    }
}

void bench_particles_boids10k(Bench *bench)
{
    Flock flock = {0};
    u32 *near = bench_get(BOIDS, sizeof *near);
    if (!flock_reserve(&flock, BOIDS)) {
        exit(EXIT_FAILURE);
    }
    fill_flock(&flock);
    for (u32 pass = 0; pass < (bench->threads > 1 ? 2 : 1); pass++) {
        Jobs *jobs = pass ? bench->jobs : NULL;
        bench_begin(bench);
        while (bench_again(bench)) {
            for (u32 i = 0; i < TICKS / 4; i++) {
                u64 began = clock_now_ns();
                flock_accelerate(&flock, BOIDS, &rules, jobs);
                bench_sample(bench, since_ms(began));
            }
        }
        print(bench, "particles/boids10k", BOIDS, jobs_threads(jobs));
    }
    bench_begin(bench);
    while (bench_again(bench)) {
        for (u32 i = 0; i < TICKS / 4; i++) {
            u64 began = clock_now_ns();
            plain_flock(&flock, near);
            bench_sample(bench, since_ms(began));
        }
    }
    print(bench, "particles/boids10k_plain", BOIDS, 1);
    flock_finish(&flock);
    free(near);
}
