/* truth_bend.c: laws of sheets and skins that resist bending; see truth.h. */
#include "tests/support/truth_closed.h"

#include <math.h>

enum {
    BEND_WAVES = 4
};

/* Velocities of some random plane waves, from one wave to one per edge: what resists bending is
 * rolled, folded and crumpled. Returns the largest speed. */
static void crumple(Closed *of, TruthCase *c, SoftRange range, f32 size, f32 edge, f32 speed)
{
    Vec3 wave[BEND_WAVES], along[BEND_WAVES];
    f32 phase[BEND_WAVES];
    for (u32 k = 0; k < BEND_WAVES; k++) {
        wave[k] =
            vec3_scale(truth_direction(c), 3.1415927f / truth_log_range(c, edge, 2.0f * size));
        along[k] = vec3_scale(truth_direction(c), speed * truth_range(c, 0.2f, 1.0f));
        phase[k] = truth_range(c, 0.0f, 6.2831853f);
    }
    for (u32 i = range.first; i < range.first + range.count; i++) {
        Vec3 v = vec3_zero();
        for (u32 k = 0; k < BEND_WAVES; k++) {
            f32 part = sinf(vec3_dot(wave[k], soft_position(of->soft, i)) + phase[k]);
            v = vec3_add_scaled(v, part, along[k]);
        }
        soft_impulse(of->soft, i, vec3_scale(v, 1.0f / soft_inverse_mass(of->soft, i)));
    }
}

static bool make_skin(SoftMesh *mesh, TruthCase *c, f32 size, f32 *edge)
{
    ErrorText error;
    u32 kind = truth_pick(c, 4);
    if (kind == 0) {
        u32 level = truth_pick(c, 3);
        *edge = size / (f32)(1u << level);
        truth_say(c, " ball level %u", level);
        return soft_mesh_sphere(mesh, 0.5f * size, level, &error) == 0;
    }
    if (kind == 1) {
        u32 cells[3] = {1 + truth_pick(c, 4), 1 + truth_pick(c, 4), 1 + truth_pick(c, 4)};
        *edge = 0.25f * size;
        truth_say(c, " shell %u x %u x %u", cells[0], cells[1], cells[2]);
        Vec3 sides = vec3(size, size * truth_range(c, 0.1f, 1.0f), size);
        return soft_mesh_box(mesh, sides, cells, false, &error) == 0;
    }
    u32 across = 2 + truth_pick(c, 15), up = 2 + truth_pick(c, 15);
    f32 height = size * truth_log_range(c, 0.2f, 1.0f);
    *edge = size / (f32)across;
    truth_say(c, " sheet %u x %u", across, up);
    return soft_mesh_grid(mesh, across, up, size, height, &error) == 0;
}

/* Largest rise of the kinetic energy in 2 s, relative to the start; NaN: not finite. */
static f64 gained(Closed *of)
{
    f64 start = closed_sums(of).kinetic, risen = 0.0;
    for (f32 t = 0.0f; t < 2.0f && !isnan(risen); t += of->tick_s) {
        closed_tick(of);
        f64 now = closed_sums(of).kinetic / start - 1.0;
        risen = isfinite(now) ? fmax(risen, now) : NAN;
    }
    return risen;
}

static bool make_curved(SoftMesh *mesh, u32 shape, u32 level, f32 size)
{
    ErrorText error;
    u32 n = 6u << level;
    return (shape == 0 ? soft_mesh_sphere(mesh, 0.5f * size, level, &error)
            : shape == 1
                ? soft_mesh_torus(mesh, 0.4f * size, 0.15f * size, n, 5 + level, &error)
                : soft_mesh_tube(mesh, 0.3f * size, size, n, 4 + level, true, &error)) == 0;
}

/* A sheet or skin of any stiffness, rigid ones too, at rest in space, is given velocities. Nothing
 * is bent at first, so what moves never has more than at first: the largest rise, of that. */
static f64 crumpled(TruthCase *c, bool single)
{
    static const char *const methods[] = {"xpbd", "iterations", "pbd", "relax"};
    static const SoftMethod method[] = {SOFT_XPBD, SOFT_XPBD_ITERATIONS, SOFT_PBD, SOFT_RELAX};
    static const char *const bends[] = {"distance", "dihedral", "isometric"};
    static const SoftBend bend[] = {SOFT_BEND_DISTANCE, SOFT_BEND_DIHEDRAL, SOFT_BEND_ISOMETRIC};
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftMesh mesh;
    SoftRange range;
    SoftDef def = soft_def_default();
    u32 how = single ? 1 + truth_pick(c, 3) : truth_pick(c, 2) * truth_pick(c, 4);
    u32 kind = truth_pick(c, 3);
    f32 size = truth_log_range(c, 0.1f, 2.0f), edge;
    truth_say(c, " %s %s", methods[how], bends[kind]);
    def.method = method[how];
    def.bend = bend[kind];
    def.iterations = single ? 1 : 1 + truth_pick(c, 30);
    def.damping = 0.0f;
    def.mass_kg = truth_log_range(c, 0.05f, 5.0f) * size * size;
    def.bend_compliance = truth_pick(c, 2) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 10.0f);
    def.stretch_compliance = truth_pick(c, 2) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 1.0f);
    def.shear_compliance = truth_pick(c, 2) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 1.0f);
    f32 speed = truth_log_range(c, 0.1f, 30.0f) * size;
    bool made = make_skin(&mesh, c, size, &edge);
    truth_say(c, " %.2f m %.3f kg %.2g, %.2g, %.2g m/N %.2f m/s", (f64)size, (f64)def.mass_kg,
              (f64)def.bend_compliance, (f64)def.stretch_compliance, (f64)def.shear_compliance,
              (f64)speed);
    f64 risen = NAN;
    if (made && closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0) {
        crumple(&of, c, range, size, edge, speed);
        risen = gained(&of);
    }
    closed_finish(&of);
    return risen;
}

static f64 crumpled_energy(TruthCase *c)
{
    return crumpled(c, false);
}

static f64 single_energy(TruthCase *c)
{
    return crumpled(c, true);
}

/* The same of curved skins, whose slow small waves are nearly linear: what grows by itself, grows
 * whatever its size. */
static f64 shaken_energy(TruthCase *c)
{
    static const char *const bends[] = {"dihedral", "isometric"};
    static const SoftBend bend[] = {SOFT_BEND_DIHEDRAL, SOFT_BEND_ISOMETRIC};
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftMesh mesh;
    SoftRange range;
    SoftDef def = soft_def_default();
    u32 kind = truth_pick(c, 2), shape = truth_pick(c, 3), level = truth_pick(c, 4);
    f32 size = truth_log_range(c, 0.1f, 2.0f), edge = size / (f32)(1u << level);
    truth_say(c, " %s shape %u level %u %.2f m", bends[kind], shape, level, (f64)size);
    def.bend = bend[kind];
    def.damping = 0.0f;
    def.mass_kg = truth_log_range(c, 0.05f, 5.0f) * size * size;
    def.bend_compliance = truth_pick(c, 4) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 10.0f);
    def.stretch_compliance = truth_pick(c, 4) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 1.0f);
    truth_say(c, " %.3f kg %.2g, %.2g m/N", (f64)def.mass_kg, (f64)def.bend_compliance,
              (f64)def.stretch_compliance);
    f64 risen = NAN;
    if (make_curved(&mesh, shape, level, size) && closed_add_soft(&of, &def, &mesh, &range) &&
        soft_build(of.soft) == 0) {
        crumple(&of, c, range, size, edge, 1e-2f * size);
        risen = gained(&of);
    }
    closed_finish(&of);
    return risen;
}

const TruthLaw truth_bend[] = {
    {"bend/crumpled", "energy that a crumpled sheet or skin of any stiffness gains: 5 of 3000 do",
     "", 0.01, 20, 400, crumpled_energy},
    {"bend/single", "the same of methods that iterate, with one iteration a tick: 2 of 1000 do", "",
     0.01, 25, 400, single_energy},
    {"bend/shaken", "energy that a curved skin gains from small waves, of its own", "", 0.01, 20,
     400, shaken_energy},
    {.name = NULL},
};
