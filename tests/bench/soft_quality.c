/* soft_quality.c: the achieved part of the requested stiffness: the tip of a cantilever under its
 * own weight against beam theory, by Young's modulus and steps a tick. */
#include "tests/bench/bench.h"

#include "server/physics/soft/soft.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    ALONG = 20, /* cells */
    ACROSS = 4, /* so there are 1600 tetrahedra */
    TICKS = 180,
    STEPS_EACH = 10 /* of a substep, at most */
};

static const f64 length_m = 1.0, side_m = 0.2, density = 1000.0, poisson = 0.3;
static const f64 drop_m = 0.01; /* small, so that beam theory holds */

static void stop(const char *text)
{
    fprintf(stderr, "soft/quality: %s\n", text);
    exit(EXIT_CHECK_FAILED);
}

/* Timoshenko's beam, clamped at one end: drop of the other for 1 m/s² of gravity. */
static f64 beam_drop(f64 young)
{
    f64 area = side_m * side_m, inertia = area * area / 12.0, load = density * area;
    f64 shear = young / (2.0 * (1.0 + poisson));
    return load * length_m * length_m * length_m * length_m / (8.0 * young * inertia) +
           load * length_m * length_m / (2.0 * 5.0 / 6.0 * shear * area);
}

static Soft *beam(f64 young, f64 gravity)
{
    static const u32 cells[3] = {ALONG, ACROSS, ACROSS};
    static SoftPin pins[(ACROSS + 1) * (ACROSS + 1)];
    SoftMesh mesh;
    ErrorText error;
    SoftRange range;
    Soft *soft = soft_create();
    Vec3 size = vec3((f32)length_m, (f32)side_m, (f32)side_m);
    if (soft == NULL || soft_mesh_box(&mesh, size, cells, true, &error) != ERROR_OK) {
        stop("out of memory");
    }
    SoftDef def = soft_def_default();
    f64 area = side_m * side_m, inertia = area * area / 12.0;
    def.mesh = &mesh;
    def.mass_kg = (f32)(density * area * length_m);
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.young = (f32)young;
    def.poisson = (f32)poisson;
    /* Of the slowest way to swing: no more than it takes to come to rest. */
    def.damping = (f32)(2.0 * 3.516 * sqrt(young * inertia / (density * area)));
    def.pins = pins;
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (mesh.points[i].x < -0.499f * (f32)length_m) {
            pins[def.pin_count++].point = i;
        }
    }
    soft_set_wind(soft, vec3_zero(), 0.0f);
    soft_set_gravity(soft, vec3(0.0f, -(f32)gravity, 0.0f));
    if (soft_add(soft, NULL, &def, &range, &error) != ERROR_OK || soft_build(soft) != ERROR_OK) {
        stop("cannot be built");
    }
    soft_mesh_finish(&mesh);
    return soft;
}

/* Relative to beam theory. */
static f64 tip_drop(f64 young, u32 steps)
{
    f64 gravity = drop_m / beam_drop(young), sum = 0.0;
    Soft *soft = beam(young, gravity);
    u32 count = soft_particles(soft), tips = 0, each = steps < STEPS_EACH ? steps : STEPS_EACH;
    f32 end = 0.0f;
    soft_set_steps(soft, each);
    for (u32 i = 0; i < count; i++) {
        end = f32_max(end, soft_position(soft, i).x);
    }
    bool *tip = calloc(count, sizeof *tip);
    for (u32 i = 0; tip != NULL && i < count; i++) {
        tip[i] = soft_position(soft, i).x > 0.999f * end;
    }
    for (u32 t = 0; t < TICKS; t++) {
        soft_begin(soft, (SoftOthers){0}, NULL, 1.0f / 60.0f);
        for (u32 s = 0; s < steps / each; s++) {
            soft_substep(soft, (f32)each / (60.0f * (f32)steps));
        }
    }
    for (u32 i = 0; tip != NULL && i < count; i++) {
        sum -= tip[i] ? (f64)soft_position(soft, i).y : 0.0;
        tips += tip[i];
    }
    free(tip);
    soft_destroy(soft);
    return tips == 0 ? 0.0 : sum / tips / drop_m;
}

void bench_soft_quality(Bench *bench)
{
    static const f64 youngs[] = {1e6, 4e6, 1e7, 4e7};
    static const u32 steps[] = {10, 20, 50, 100, 200, 400};
    PL_UNUSED(bench);
    for (u32 y = 0; y < PL_COUNT(youngs); y++) {
        for (u32 k = 0; k < PL_COUNT(steps); k++) {
            printf("{\"name\":\"soft/quality/cantilever_%.0fMPa_%u\",\"value\":%.4g,"
                   "\"unit\":\"of beam theory\"}\n",
                   youngs[y] * 1e-6, steps[k], tip_drop(youngs[y], steps[k]));
            fflush(stdout);
        }
    }
}
