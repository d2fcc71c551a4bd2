/* truth_air.c: laws of air on grids by itself: decay of vortices, energy, divergence, what is
 * conserved, dye, thermals, symmetry, sleeping air; see truth.h. */
#include "server/physics/grid/smoke.h"
#include "tests/support/truth.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

static const f64 pi = 3.14159265358979;

/* Awake, closed; of n cells along each axis. */
static SmokeDef box_def(u32 dims, u32 n, f32 spacing)
{
    SmokeDef def = smoke_default();
    def.dims = dims;
    def.cells[0] = def.cells[1] = def.cells[2] = n;
    def.spacing = spacing;
    def.depth = spacing;
    def.awake = true;
    return def;
}

static Smoke *create(const SmokeDef *def)
{
    ErrorText error = {.text = ""};
    Smoke *smoke = smoke_create(def, &error);
    if (smoke == NULL) {
        fprintf(stderr, "truth: %s\n", error.text);
        exit(EXIT_FAILURE);
    }
    return smoke;
}

static void step(Smoke *smoke, f64 s, f64 gravity)
{
    smoke_step(smoke, (f32)s, vec3(0.0f, (f32)-gravity, 0.0f), NULL, 0, NULL);
}

/* ---- Taylor and Green ---- */

/* Rate at which the energy of a lattice of vortices decays, off from 4 ν k², of it. */
static f64 decay(TruthCase *c)
{
    u32 n = 8 * (6 + truth_pick(c, 7));
    f64 length = (f64)truth_log_range(c, 0.1f, 100.0f), speed = (f64)truth_log_range(c, 0.1f, 5.0f);
    f64 reynolds = (f64)truth_log_range(c, 2.0f, 20.0f), k = 2.0 * pi / length, h = length / n;
    f64 viscosity = speed / (k * reynolds), s = (f64)truth_range(c, 0.2f, 0.8f) * h / speed;
    SmokeDef def = box_def(2, n, (f32)h);
    def.options.viscosity = (f32)viscosity;
    for (u32 i = 0; i < 4; i++) {
        def.sides[i].kind = SMOKE_PERIODIC;
    }
    truth_say(c, "%u cells of %.3g m, %.2f m/s, Re %.1f, ticks of %.3g s", n, h, speed, reynolds,
              s);
    Smoke *smoke = create(&def);
    for (u32 i = 0; i < n * n; i++) {
        f64 x = i % n * h, y = i / n * h;
        f64 u = sin(k * x) * cos(k * (y + 0.5 * h)), v = -cos(k * (x + 0.5 * h)) * sin(k * y);
        smoke_set_velocity(smoke, 0, i % n, i / n, 0, (f32)(speed * u));
        smoke_set_velocity(smoke, 1, i % n, i / n, 0, (f32)(speed * v));
    }
    f64 before = smoke_sums(smoke).kinetic, rate = 4.0 * viscosity * k * k;
    u32 steps = (u32)ceil(0.7 / (rate * s));
    for (u32 i = 0; i < steps; i++) {
        step(smoke, s, 0.0);
    }
    f64 found = -log(smoke_sums(smoke).kinetic / before) / (steps * s);
    smoke_destroy(smoke);
    return fabs(found / rate - 1.0);
}

/* ---- a closed box ---- */

typedef struct Box {
    Smoke *smoke;
    u32 dims, n;
    f64 tick_s;
    f32 speed;
} Box;

/* Air with a few whirls of ten cells or more, of up to a few cells a tick. */
static Box stirred(TruthCase *c, u32 dims, SmokeAdvection advection, bool dyed)
{
    u32 n = dims == 2 ? 24 + truth_pick(c, 72) : 16 + truth_pick(c, 16);
    f32 spacing = truth_log_range(c, 0.005f, 5.0f), cells = truth_log_range(c, 0.1f, 4.0f);
    Box box = {.dims = dims,
               .n = n,
               .tick_s = 1.0 / 60.0,
               .speed = f32_min(cells * spacing * 60.0f, 150.0f)};
    SmokeDef def = box_def(dims, n, spacing);
    static const char *const names[] = {"multigrid", "gradients", "jacobi"};
    u32 method = truth_pick(c, 3);
    static const SmokePressure methods[] = {SMOKE_MULTIGRID, SMOKE_GRADIENTS, SMOKE_JACOBI};
    def.options.pressure = methods[method];
    def.options.iterations = 10000;
    def.options.viscosity = 0.0f;
    def.options.advection = advection;
    def.dyed = dyed;
    truth_say(c, "%u-D, %u cells of %.3g m, %.2f a tick, %s", dims, n, (f64)spacing, (f64)cells,
              names[method]);
    box.smoke = create(&def);
    f32 waves = truth_range(c, 0.5f, f32_min(3.0f, (f32)n / 10.0f)),
        turn = truth_range(c, 0.0f, 6.0f);
    for (u32 i = 0; i < n * n * (dims == 3 ? n : 1); i++) {
        u32 at[3] = {i % n, i / n % n, i / (n * n)};
        for (u32 a = 0; a < dims; a++) {
            f64 phase = (f64)waves * 2.0 * pi * at[(a + 1) % dims] / n + (f64)turn * (a + 1);
            smoke_set_velocity(box.smoke, a, at[0], at[1], at[2], box.speed * (f32)sin(phase));
        }
    }
    return box;
}

/* Either method in either number of dimensions. */
static Box any_stirred(TruthCase *c, bool dyed)
{
    u32 dims = 2 + truth_pick(c, 2);
    bool plain = truth_pick(c, 4) == 0;
    return stirred(c, dims, plain ? SMOKE_SEMI_LAGRANGIAN : SMOKE_MACCORMACK, dyed);
}

/* Greatest rise of the energy above the least so far, of the first. */
static f64 rise_of(Box *box)
{
    step(box->smoke, box->tick_s, 0.0);
    f64 start = smoke_sums(box->smoke).kinetic, least = start, rise = 0.0;
    for (u32 t = 0; t < 60; t++) {
        step(box->smoke, box->tick_s, 0.0);
        f64 now = smoke_sums(box->smoke).kinetic;
        rise = fmax(rise, now - least);
        least = fmin(least, now);
    }
    bool valid = smoke_validate(box->smoke) == NULL;
    smoke_destroy(box->smoke);
    return valid ? rise / start : NAN;
}

static f64 energy(TruthCase *c)
{
    bool flat = truth_pick(c, 2) == 0;
    Box box = stirred(c, flat ? 2 : 3, flat ? SMOKE_MACCORMACK : SMOKE_SEMI_LAGRANGIAN, false);
    return rise_of(&box);
}

/* A limit: MacCormack's steps are not conservative, and where whirls are stretched they gain. */
static f64 energy_deep(TruthCase *c)
{
    Box box = stirred(c, 3, SMOKE_MACCORMACK, false);
    return rise_of(&box);
}

/* Divergence that pressure leaves in a tick, of a cell's speed over its size. */
static f64 divergence(TruthCase *c)
{
    Box box = any_stirred(c, false);
    f64 worst = 0.0;
    for (u32 t = 0; t < 20; t++) {
        step(box.smoke, box.tick_s, 0.0);
        SmokeSums sums = smoke_sums(box.smoke);
        worst = fmax(worst, sums.divergence * (f64)smoke_def(box.smoke)->spacing / sums.speed);
    }
    smoke_destroy(box.smoke);
    return worst;
}

/* Smoke, heat and fuel that stirred air loses or gains, relative to the total. */
static f64 conserved(TruthCase *c)
{
    Box box = any_stirred(c, false);
    u32 low = box.n / 4, high = box.n - truth_pick(c, box.n / 2);
    for (u32 i = 0; i < box.n * box.n * (box.dims == 3 ? box.n : 1); i++) {
        u32 x = i % box.n, y = i / box.n % box.n, z = i / (box.n * box.n);
        if (x >= low && x < high && y >= low) {
            smoke_set(box.smoke, SMOKE_SMOKE, x, y, z, 1.0f);
            smoke_set(box.smoke, SMOKE_TEMPERATURE, x, y, z, 40.0f);
            smoke_set(box.smoke, SMOKE_FUEL, x, y, z, 0.1f);
        }
    }
    SmokeSums first = smoke_sums(box.smoke);
    for (u32 t = 0; t < 60; t++) {
        step(box.smoke, box.tick_s, 0.0);
    }
    SmokeSums last = smoke_sums(box.smoke);
    smoke_destroy(box.smoke);
    f64 worst = fmax(fabs(last.smoke / first.smoke - 1.0), fabs(last.fuel / first.fuel - 1.0));
    return fmax(worst, fabs(last.heat / first.heat - 1.0));
}

/* A fire in stirred closed air that keeps its heat: what burns becomes heat and soot in the ratios
 * asked for. Where all of it is warmer than ignition, the rate of a cell is that of the whole,
 * however it is stirred; where all is colder, nothing burns. */
static f64 fire(TruthCase *c)
{
    Box box = any_stirred(c, false);
    SmokeOptions options = smoke_def(box.smoke)->options;
    bool burns = truth_pick(c, 4) != 0, everywhere = truth_pick(c, 2) != 0;
    f32 fuel = truth_range(c, 0.05f, 0.3f), part = truth_range(c, 0.002f, 0.3f);
    options.ignition = truth_range(c, 10.0f, 400.0f);
    options.burn_rate = part / (f32)box.tick_s;
    options.heat = truth_log_range(c, 50.0f, 5000.0f);
    options.soot = truth_range(c, 0.0f, 1.0f);
    smoke_set_options(box.smoke, &options);
    f32 warm = burns ? options.ignition + truth_range(c, 1.0f, 300.0f) : 0.5f * options.ignition;
    u32 low = box.n / 4, high = box.n - truth_pick(c, box.n / 2);
    for (u32 i = 0; i < box.n * box.n * (box.dims == 3 ? box.n : 1); i++) {
        u32 x = i % box.n, y = i / box.n % box.n, z = i / (box.n * box.n);
        bool within = x >= low && x < high && y >= low;
        smoke_set(box.smoke, SMOKE_FUEL, x, y, z, within ? fuel : 0.0f);
        smoke_set(box.smoke, SMOKE_TEMPERATURE, x, y, z, within || everywhere ? warm : 0.0f);
    }
    SmokeSums first = smoke_sums(box.smoke);
    f64 left = first.fuel;
    for (u32 t = 0; t < 60; t++) {
        step(box.smoke, box.tick_s, 0.0);
        left *= burns ? 1.0 - (f64)options.burn_rate * box.tick_s : 1.0;
    }
    SmokeSums last = smoke_sums(box.smoke);
    smoke_destroy(box.smoke);
    f64 burnt = first.fuel - last.fuel;
    f64 heat = burnt * (f64)options.heat * (f64)options.density * 1005.0;
    f64 off = fabs(last.heat - first.heat - heat) / (first.heat + heat);
    off = fmax(off, fabs(last.smoke - (f64)options.soot * burnt) / first.fuel);
    bool known = everywhere || !burns;
    return known ? fmax(off, fabs(last.fuel - left) / first.fuel) : off;
}

static f64 sum_of(const Smoke *smoke, SmokeField field)
{
    const u32 *n = smoke_def(smoke)->cells;
    f64 sum = 0.0;
    for (u32 row = 0; row < n[1] * (smoke_def(smoke)->dims == 3 ? n[2] : 1); row++) {
        const f32 *cells = smoke_row(smoke, field, row % n[1], row / n[1]);
        for (u32 x = 0; x < n[0]; x++) {
            sum += (f64)cells[x];
        }
    }
    return sum;
}

/* Red, green and blue of puffs of any colours that overlap and mix, while a hand adds to them:
 * what is there is what was put in. */
static f64 dye(TruthCase *c)
{
    Box box = any_stirred(c, true);
    f32 spacing = smoke_def(box.smoke)->spacing, room = (f32)box.n * spacing, s = (f32)box.tick_s;
    f64 put[4] = {0}, worst = 0.0;
    for (u32 t = 0; t < 60; t++) {
        f32 at[3], color[3];
        for (u32 k = 0; k < 3; k++) {
            at[k] = truth_range(c, 0.2f, 0.8f) * room;
            color[k] = truth_range(c, 0.0f, 1.0f);
        }
        SmokeSource source = {.position = vec3(at[0], at[1], box.dims == 3 ? at[2] : 0.0f),
                              .radius = truth_range(c, 1.0f, 3.0f) * spacing,
                              .smoke = truth_range(c, 0.0f, 5.0f),
                              .color = vec3(color[0], color[1], color[2])};
        smoke_set_sources(box.smoke, &source, t < 20 && t % 4 == 0 ? 1 : 0);
        f64 before = sum_of(box.smoke, SMOKE_SMOKE);
        smoke_step(box.smoke, s, vec3_zero(), NULL, 0, NULL);
        f64 made = sum_of(box.smoke, SMOKE_SMOKE) - before;
        put[0] += made;
        for (u32 k = 0; k < 3 && t < 20 && t % 4 == 0; k++) {
            put[1 + k] += made * (f64)color[k];
        }
    }
    for (u32 k = 0; k < 3; k++) {
        f64 there = sum_of(box.smoke, (SmokeField)(SMOKE_RED + k));
        worst = fmax(worst, fabs(there - put[1 + k]) / put[0]);
    }
    smoke_destroy(box.smoke);
    return worst;
}

/* ---- warm air ---- */

/* Of a cloud of warm air: its middle, and its radius if it were a ball. */
typedef struct Thermal {
    f64 heat, height, radius, askew; /* K m³, m, m; part of the heat that has no mirror image */
} Thermal;

static Thermal thermal_of(const Smoke *smoke)
{
    const SmokeDef *def = smoke_def(smoke);
    const u32 *n = def->cells;
    f64 h = (f64)def->spacing, volume = h * h * h, spread = 0.0;
    Thermal found = {0};
    for (u32 i = 0; i < n[1] * n[2]; i++) {
        const f32 *row = smoke_row(smoke, SMOKE_TEMPERATURE, i % n[1], i / n[1]);
        for (u32 x = 0; x < n[0]; x++) {
            f64 heat = (f64)row[x] * volume, off = (x + 0.5 - 0.5 * n[0]) * h;
            found.heat += heat;
            found.height += heat * (i % n[1] + 0.5) * h;
            found.askew += 0.5 * fabs((f64)row[x] - (f64)row[n[0] - 1 - x]) * volume;
            spread += heat * off * off;
        }
    }
    found.height /= found.heat;
    found.askew /= found.heat;
    found.radius = sqrt(5.0 * spread / found.heat); /* of a ball: r²/5 along an axis */
    return found;
}

typedef struct Rise {
    Smoke *smoke;
    f64 unit_s, gravity; /* s in which it rises about its radius */
} Rise;

/* A ball of warm air of 4 cells' radius low in a closed box. */
static Rise warm_ball(TruthCase *c, f32 tolerance)
{
    const u32 n = 32, high = 56;
    f32 spacing = truth_log_range(c, 0.01f, 10.0f), warm = truth_log_range(c, 1.0f, 100.0f);
    Rise made = {.gravity = (f64)truth_range(c, 1.0f, 20.0f)};
    SmokeDef def = box_def(3, n, spacing);
    def.cells[1] = high;
    def.options.viscosity = 0.0f;
    def.options.tolerance = tolerance;
    made.smoke = create(&def);
    made.unit_s = sqrt(4.0 * (f64)spacing * 293.0 / (made.gravity * (f64)warm));
    truth_say(c, "cells of %.3g m, %.0f K, %.1f m/s2", (f64)spacing, (f64)warm, made.gravity);
    for (u32 i = 0; i < n * n * high; i++) {
        f64 x = i % n + 0.5 - 0.5 * n, y = i / n % high + 0.5 - 8.0,
            z = i / (n * high) + 0.5 - 0.5 * n;
        f64 edge = 4.5 - sqrt(x * x + y * y + z * z);
        smoke_set(made.smoke, SMOKE_TEMPERATURE, i % n, i / n % high, i / (n * high),
                  warm * (f32)fmin(fmax(edge, 0.0), 1.0));
    }
    return made;
}

/* Scorer 1957: a thermal rises at C √(g β ΔT r), C about 1.2, by its radius and mean excess. */
static f64 thermal(TruthCase *c)
{
    Rise rise = warm_ball(c, 1e-3f);
    f64 sum = 0.0;
    u32 steps = 8, samples = 0;
    Thermal before = thermal_of(rise.smoke);
    for (u32 t = 1; t <= 64; t++) {
        step(rise.smoke, rise.unit_s / steps, rise.gravity);
        if (t % 8 == 0) {
            Thermal now = thermal_of(rise.smoke);
            f64 r = 0.5 * (now.radius + before.radius), volume = 4.0 / 3.0 * pi * r * r * r;
            f64 lift = rise.gravity * now.heat / volume / 293.0;
            f64 speed = (now.height - before.height) / rise.unit_s;
            sum += t > 24 ? speed / sqrt(lift * r) : 0.0;
            samples += t > 24;
            before = now;
        }
    }
    smoke_destroy(rise.smoke);
    truth_say(c, ": C %.3f", sum / samples);
    return fabs(sum / samples / 1.2 - 1.0);
}

/* Heat on one side of the plane of symmetry that is not on the other, of all. */
static f64 symmetry(TruthCase *c)
{
    Rise rise = warm_ball(c, 1e-6f);
    for (u32 t = 0; t < 40; t++) {
        step(rise.smoke, rise.unit_s / 8.0, rise.gravity);
    }
    f64 askew = thermal_of(rise.smoke).askew;
    smoke_destroy(rise.smoke);
    return askew;
}

/* ---- still air ---- */

/* Flow through a closed end of a duct that a fan leaves asleep on both sides, of the fan's: the air
 * there has nowhere to go. */
static f64 still(TruthCase *c)
{
    static const SmokePressure methods[] = {SMOKE_MULTIGRID, SMOKE_GRADIENTS, SMOKE_JACOBI};
    static const char *const names[] = {"multigrid", "gradients", "jacobi"};
    u32 dims = 2 + truth_pick(c, 2), method = truth_pick(c, 3);
    SmokeDef def = box_def(dims, 8, truth_log_range(c, 0.02f, 1.0f));
    def.cells[0] = 64 + truth_pick(c, 50);
    for (u32 a = 1; a < dims; a++) {
        def.cells[a] = 4 + truth_pick(c, 21);
    }
    f32 dx = def.spacing, high = (f32)def.cells[1] * dx,
        wide = (f32)(dims == 3 ? def.cells[2] : 1) * dx;
    f32 long_m = (f32)def.cells[0] * dx, middle = truth_range(c, 0.4f, 0.6f) * long_m;
    f32 speed = long_m * truth_log_range(c, 0.05f, 1.0f), part = truth_range(c, 0.3f, 1.0f);
    bool open = truth_pick(c, 2);
    def.awake = false;
    def.options.pressure = methods[method];
    def.options.iterations = 10000;
    def.options.tolerance = 1e-4f; /* what is left of divergence sums up over the end */
    def.sides[1].kind = open ? SMOKE_OPEN : SMOKE_CLOSED;
    truth_say(c, "%u-D, %ux%ux%u cells of %.3g m, %s, %.3g m/s, %.2f of the height, %s", dims,
              def.cells[0], def.cells[1], dims == 3 ? def.cells[2] : 1, (f64)dx,
              open ? "open" : "closed", (f64)speed, (f64)part, names[method]);
    Smoke *smoke = create(&def);
    SmokeSource fan = {.position = vec3(middle, 0.5f * high, 0.5f * wide),
                       .half = vec3(truth_range(c, 1.0f, 3.0f) * dx, 0.5f * part * high, wide),
                       .warmest = 1000.0f,
                       .velocity = vec3(speed, 0.0f, 0.0f),
                       .blow = 20.0f};
    smoke_set_sources(smoke, &fan, 1);
    u32 rows = def.cells[1] * (dims == 3 ? def.cells[2] : 1), asleep = 0;
    f64 worst = 0.0;
    for (u32 t = 0; t < 30; t++) {
        f64 flow = 0.0;
        step(smoke, 1.0 / 60.0, 0.0);
        SmokeStats stats = smoke_stats(smoke);
        asleep += stats.awake < stats.bricks;
        for (u32 i = 0; i < rows; i++) {
            flow += (f64)smoke_velocity(smoke, 0, (u32)(middle / dx), i % def.cells[1],
                                        i / def.cells[1]);
        }
        /* Jacobi's method may be out of iterations: what it leaves then it says. */
        f64 left = fmax((f64)(stats.residual / def.options.tolerance), 1.0);
        worst = fmax(worst, fabs(flow) / (rows * (f64)speed * left));
    }
    bool sound = asleep > 0 && smoke_validate(smoke) == NULL;
    smoke_destroy(smoke);
    return sound ? worst : NAN;
}

const TruthLaw truth_air[] = {
    {.name = "smoke/decay",
     .about = "rate at which vortices lose energy, Re 2 to 20, off from 4 nu k^2 (Taylor, Green)",
     .unit = "",
     .bound = 0.15,
     .few = 6,
     .many = 200,
     .measure = decay},
    {.name = "smoke/energy",
     .about = "rise of the energy of stirred air in a closed box (3-D: semi-Lagrangian), of all",
     .unit = "",
     .bound = 2e-3,
     .few = 6,
     .many = 200,
     .measure = energy},
    {.name = "smoke/energy_deep",
     .about = "the same in 3-D by MacCormack's method, which gains where whirls are stretched",
     .unit = "",
     .bound = 0.15,
     .few = 2,
     .many = 100,
     .measure = energy_deep},
    {.name = "smoke/divergence",
     .about = "divergence left after a tick, of the greatest speed over a cell",
     .unit = "",
     .bound = 1e-3,
     .few = 8,
     .many = 200,
     .measure = divergence},
    {.name = "smoke/conserved",
     .about = "smoke, heat and fuel that a stirred closed box loses or gains in 1 s, of all",
     .unit = "",
     .bound = 1e-5,
     .few = 8,
     .many = 200,
     .measure = conserved},
    {.name = "smoke/fire",
     .about = "heat and soot of a fire in 1 s, off from those of the fuel it burns at its rate",
     .unit = "",
     .bound = 1e-5,
     .few = 8,
     .many = 200,
     .measure = fire},
    {.name = "smoke/dye",
     .about = "red, green and blue of puffs that mix in stirred air, off from what was put in",
     .unit = "",
     .bound = 1e-5,
     .few = 6,
     .many = 200,
     .measure = dye},
    {.name = "smoke/thermal",
     .about = "speed of a ball of warm air, off from 1.2 sqrt(g beta T r) (Scorer 1957)",
     .unit = "",
     .bound = 0.3,
     .few = 2,
     .many = 50,
     .measure = thermal},
    {.name = "smoke/symmetry",
     .about = "heat of a thermal that has no mirror image after 5 times its unit, of all",
     .unit = "",
     .bound = 1e-5,
     .few = 2,
     .many = 50,
     .measure = symmetry},
    {.name = "smoke/still",
     .about = "flow towards the closed end of a duct that sleeps on both sides of a fan, of its",
     .unit = "",
     .bound = 1e-3,
     .few = 10,
     .many = 300,
     .measure = still},
    {.name = NULL},
};
