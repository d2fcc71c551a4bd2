/* truth_flow.c: laws of liquids in motion: energy, momentum, outflow, viscosity, tanks that move,
 * abuse; see truth.h. */
#include "tests/support/liquid_kit.h"
#include "tests/support/truth.h"

#include <math.h>

static const f32 g = 9.81f;
static const f64 pi = 3.14159265358979;

static LiquidDef any_liquid(TruthCase *c, f32 d, u32 capacity, f32 thickest)
{
    LiquidDef def = liquid_kit_water(d, capacity);
    def.phases[0].density = truth_log_range(c, 300.0f, 3000.0f);
    def.phases[0].viscosity = truth_log_range(c, 0.001f, thickest);
    truth_say(c, "d %.3f %.0f kg/m3 %.3f Pa s", (f64)d, (f64)def.phases[0].density,
              (f64)def.phases[0].viscosity);
    return def;
}

static bool is_finite(const LiquidKit *kit)
{
    LiquidSums sums = liquid_sums(kit->liquid, kit->gravity);
    return isfinite(sums.kinetic) && isfinite(sums.potential) &&
           liquid_validate(kit->liquid) == NULL;
}

/* ---- energy ---- */

/* Greatest rise of the energy of a breaking dam and of bodies floating in it above the start,
 * relative to the energy of the fall. */
static f64 dam_energy(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f);
    u32 x = 6 + truth_pick(c, 8), y = 8 + truth_pick(c, 14), z = 6 + truth_pick(c, 4);
    LiquidDef def = any_liquid(c, d, x * y * z, 3.0f);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 wide = (f32)x * d * truth_range(c, 1.0f, 4.0f), deep = (f32)z * d;
    liquid_kit_tank(&kit, vec3(wide, 4.0f * (f32)y * d, deep));
    liquid_kit_fill(&kit, 0, vec3_zero(), x, y, z);
    LiquidSums first = liquid_sums(kit.liquid, kit.gravity);
    f64 scale = first.mass * (f64)g * 0.5 * (f64)((f32)y * d), worst = 0.0;
    for (f32 t = 0.0f; t < 2.0f + 4.0f * sqrtf((f32)y * d / g); t += KIT_TICK_S) {
        liquid_kit_tick(&kit);
        LiquidSums now = liquid_sums(kit.liquid, kit.gravity);
        f64 gain = now.kinetic + now.potential - first.kinetic - first.potential;
        worst = fmax(worst, gain / scale);
    }
    truth_say(c, " %u x %u x %u in %.2f m", x, y, z, (f64)wide);
    worst = is_finite(&kit) ? worst : NAN;
    liquid_kit_free(&kit);
    return worst;
}

/* ---- momentum ---- */

/* Momentum gained by a blob of liquid and bodies in space, relative to the exchanged momentum. */
static f64 momentum_kept(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f);
    LiquidDef def = any_liquid(c, d, 512, 10.0f);
    def.phases[0].surface_tension = truth_range(c, 0.0f, 0.1f);
    LiquidKit kit = liquid_kit_make(&def, 0.0f);
    liquid_kit_fill(&kit, 0, vec3_zero(), 8, 8, 8);
    f32 mass = def.phases[0].density * 512.0f * d * d * d, size = 3.0f * d;
    f64 scale = 0.0, before[3], changed = 0.0;
    f32 speed = d * truth_log_range(c, 30.0f, 300.0f);
    for (u32 k = 0; k < 3; k++) {
        Vec3 away = truth_direction(c);
        Vec3 at = vec3_add_scaled(vec3(4.0f * d, 4.0f * d, 4.0f * d), 11.0f * d, away);
        BodyDef body = k == 0 ? kit_ball(at, size) : kit_box(at, vec3(size, 0.7f * size, size));
        body.mass_kg = mass * truth_log_range(c, 0.05f, 2.0f);
        body.velocity = vec3_scale(away, -speed);
        body.orientation = truth_rotation(c);
        kit_add(kit.rigid, &body);
        scale += (f64)(body.mass_kg * speed);
    }
    LiquidSums sums = liquid_sums(kit.liquid, vec3_zero());
    KitMotion bodies = kit_motion(kit.rigid);
    for (u32 k = 0; k < 3; k++) {
        before[k] = sums.momentum[k] + bodies.momentum[k];
    }
    liquid_kit_run(&kit, 0.5f + 40.0f * d / speed);
    sums = liquid_sums(kit.liquid, vec3_zero());
    bodies = kit_motion(kit.rigid);
    for (u32 k = 0; k < 3; k++) {
        changed = fmax(changed, fabs(sums.momentum[k] + bodies.momentum[k] - before[k]) / scale);
    }
    truth_say(c, " %.2f m/s", (f64)speed);
    changed = is_finite(&kit) ? changed : NAN;
    liquid_kit_free(&kit);
    return changed;
}

/* ---- outflow ---- */

/* Speed of the jet of a slot at depth H less sqrt(2 g H), of that. */
static f64 torricelli(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.05f), t = 10.0f * d;
    u32 n = 14 + truth_pick(c, 4), deep = 26 + truth_pick(c, 8);
    f32 side = (f32)n * d, wide = 6.0f * d, low = d * (f32)(2 + truth_pick(c, 3));
    f32 high = low + 6.0f * d, top = 4.0f * (f32)deep * d, lip = 2.5f * d;
    LiquidDef def = any_liquid(c, d, n * deep * 6, 0.01f);
    LiquidKit kit = liquid_kit_make(&def, g);
    liquid_kit_wall(&kit, vec3(-t, -t, -t), vec3(side + lip, 0.0f, wide + t));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, -t), vec3(0.0f, top, wide + t));
    liquid_kit_wall(&kit, vec3(0.0f, 0.0f, -t), vec3(side + lip, top, 0.0f));
    liquid_kit_wall(&kit, vec3(0.0f, 0.0f, wide), vec3(side + lip, top, wide + t));
    liquid_kit_wall(&kit, vec3(side, 0.0f, 0.0f), vec3(side + lip, low, wide));
    liquid_kit_wall(&kit, vec3(side, high, 0.0f), vec3(side + lip, top, wide));
    u32 gate = liquid_kit_wall(&kit, vec3(side, low, -wide), vec3(side + t, high, 2.0f * wide));
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, 6);
    liquid_kit_run(&kit, 1.0f + 4.0f * sqrtf((f32)deep * d / g));
    rigid_remove(kit.rigid, rigid_at(kit.rigid, gate));
    liquid_wake(kit.liquid);
    f32 head = (f32)deep * d - 0.5f * (low + high);
    liquid_kit_run(&kit, 1.3f * sqrtf(2.0f * head / g) * 0.7f); /* until it is steady */
    u32 samples = 0;
    f64 ratio = liquid_kit_jet(&kit, &(KitJet){side, wide, side + lip, d}, 10, 12, &samples);
    truth_say(c, " %u x %u slot at %.0f d: %.3f of %u", n, deep, (f64)(low / d), ratio, samples);
    liquid_kit_free(&kit);
    return samples > 4 ? fabs(ratio - 1.0) : NAN;
}

/* ---- viscosity ---- */

static f64 amplitude_of(const LiquidKit *kit, f64 thick, f64 phase)
{
    const Vec3 *at = liquid_positions(kit->liquid), *v = liquid_velocities(kit->liquid);
    f64 sum = 0.0, norm = 0.0;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        f64 mode = cos(pi * (f64)at[s].y / thick + phase);
        sum += mode * (f64)v[s].x;
        norm += mode * mode;
    }
    return sum / norm;
}

/* A slab with u = U cos(π y / L + phase) decays as exp(−ν (π / L)² t): free with the phase 0,
 * between plates at which it rests with −π/2. Relative error of the rate. */
static f64 decay_error(TruthCase *c, bool plates)
{
    f32 d = truth_log_range(c, 0.01f, 0.05f);
    u32 n = 12 + 2 * truth_pick(c, 3);
    LiquidDef def = liquid_kit_water(d, n * n * n);
    def.phases[0].density = truth_log_range(c, 500.0f, 2000.0f);
    /* Not so thin that the least viscosity of the solver counts. */
    f32 least = plates ? 20.0f * d * d * def.phases[0].density : 4.0f * d * d * 1000.0f;
    def.phases[0].viscosity = f32_min(truth_log_range(c, 3.0f, 60.0f) * least, 1000.0f);
    LiquidKit kit = liquid_kit_make(&def, 0.0f);
    f32 apart = plates ? d : 1.01f * d; /* a lattice at rest density would push itself apart */
    f64 thick = (f64)n * (f64)apart, nu = (f64)(def.phases[0].viscosity / def.phases[0].density);
    f64 rate = nu * pi * pi / thick / thick, phase = plates ? -0.5 * pi : 0.0;
    f32 size = (f32)thick;
    if (plates) {
        liquid_kit_wall(&kit, vec3(-size, -size, -size), vec3(2.0f * size, 0.0f, 2.0f * size));
        liquid_kit_wall(&kit, vec3(-size, size, -size),
                        vec3(2.0f * size, 2.0f * size, 2.0f * size));
    }
    for (u32 k = 0; k < n * n * n; k++) {
        Vec3 at = vec3((f32)(k % n) + 0.5f, (f32)(k / n % n) + 0.5f, (f32)(k / n / n) + 0.5f);
        at = vec3_scale(at, apart);
        f32 u = 0.1f * d * (f32)cos(pi * (f64)at.y / thick + phase);
        liquid_spawn(kit.liquid, 0, at, vec3(u, 0.0f, 0.0f));
    }
    f64 before = amplitude_of(&kit, thick, phase);
    f32 span = f32_min(1.0f, (f32)(0.7 / rate));
    span = KIT_TICK_S * floorf(span / KIT_TICK_S + 1.0f);
    liquid_kit_run(&kit, span);
    f64 measured = log(before / amplitude_of(&kit, thick, phase)) / (f64)span;
    truth_say(c, "d %.3f %.0f kg/m3 %.2f Pa s %u thick: %.2f of %.2f/s", (f64)d,
              (f64)def.phases[0].density, (f64)def.phases[0].viscosity, n, measured, rate);
    liquid_kit_free(&kit);
    return fabs(measured / rate - 1.0);
}

static f64 shear_decay(TruthCase *c)
{
    return decay_error(c, false);
}

static f64 channel_decay(TruthCase *c)
{
    return decay_error(c, true);
}

/* What rubs in a liquid whose own viscosity is 0: 0.002 spacing² a step (pass.c), of which the
 * strongest vorticity confinement takes 60 %. A free slab as above, without gravity. Relative error
 * of the rate. */
static f64 least_viscosity(TruthCase *c)
{
    const u32 n = 12;
    f32 d = truth_log_range(c, 0.01f, 0.05f);
    LiquidDef def = liquid_kit_water(d, n * n * n);
    def.phases[0].density = truth_log_range(c, 500.0f, 2000.0f);
    def.phases[0].viscosity = 0.0f;
    def.phases[0].surface_tension = 0.0f;
    def.phases[0].vorticity = 0.5f * (f32)truth_pick(c, 3);
    def.iterations = 1 + truth_pick(c, 4);
    LiquidKit kit = liquid_kit_make(&def, 0.0f);
    f64 thick = (f64)n * 1.01 * (f64)d, span = 2.0;
    for (u32 k = 0; k < n * n * n; k++) {
        Vec3 at = vec3((f32)(k % n) + 0.5f, (f32)(k / n % n) + 0.5f, (f32)(k / n / n) + 0.5f);
        at = vec3_scale(at, 1.01f * d);
        f32 u = 0.1f * d * (f32)cos(pi * (f64)at.y / thick);
        liquid_spawn(kit.liquid, 0, at, vec3(u, 0.0f, 0.0f));
    }
    f64 steps = (f64)(def.iterations * kit.substeps) / (f64)KIT_TICK_S; /* a second */
    f64 nu = 0.002 * (1.0 - 0.6 * (f64)def.phases[0].vorticity) * (f64)d * (f64)d * steps;
    f64 rate = nu * pi * pi / thick / thick, before = amplitude_of(&kit, thick, 0.0);
    liquid_kit_run(&kit, (f32)span);
    f64 measured = log(before / amplitude_of(&kit, thick, 0.0)) / span;
    truth_say(c, "d %.3f %.0f kg/m3 vorticity %.1f %u steps: %.4f of %.4f/s", (f64)d,
              (f64)def.phases[0].density, (f64)def.phases[0].vorticity, def.iterations, measured,
              rate);
    liquid_kit_free(&kit);
    return fabs(measured / rate - 1.0);
}

/* ---- closed tanks ---- */

enum {
    WALLS = 6
};

/* A closed box that moves as one: six kinematic walls about a centre. */
typedef struct Box {
    u32 walls[WALLS];
    Vec3 places[WALLS]; /* in its frame */
    f32 half;           /* m, of the inside */
    Vec3 centre;
    Quat turned;
} Box;

static void box_make(LiquidKit *kit, Box *box, f32 thick)
{
    box->turned = quat_identity();
    for (u32 i = 0; i < WALLS; i++) {
        f32 out = (i & 1) != 0 ? box->half + thick : -box->half - thick;
        f32 wide = box->half + 2.0f * thick;
        const u32 axis = i / 2;
        box->places[i] =
            vec3(axis == 0 ? out : 0.0f, axis == 1 ? out : 0.0f, axis == 2 ? out : 0.0f);
        Vec3 half =
            vec3(axis == 0 ? thick : wide, axis == 1 ? thick : wide, axis == 2 ? thick : wide);
        BodyDef def = kit_box(vec3_add(box->centre, box->places[i]), half);
        def.motion = BODY_KINEMATIC;
        def.mass_kg = 0.0f;
        box->walls[i] = kit_add(kit->rigid, &def);
    }
}

static void box_move(LiquidKit *kit, Box *box, Vec3 centre, Quat turned)
{
    box->centre = centre;
    box->turned = turned;
    for (u32 i = 0; i < WALLS; i++) {
        Vec3 at = vec3_add(centre, quat_rotate(turned, box->places[i]));
        rigid_move_kinematic(kit->rigid, box->walls[i], at, turned);
    }
}

/* Particles farther out than a spacing. */
static u32 escaped(const LiquidKit *kit, const Box *box)
{
    const Vec3 *at = liquid_positions(kit->liquid);
    const u16 *live = liquid_generations(kit->liquid);
    f32 reach = box->half + liquid_spacing(kit->liquid);
    u32 out = 0;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        Vec3 x = quat_rotate_inverse(box->turned, vec3_sub(at[s], box->centre));
        out += live[s] != 0 && !(fabsf(x.x) <= reach && fabsf(x.y) <= reach && fabsf(x.z) <= reach);
    }
    return out;
}

/* Particles that leave a closed tank that is shaken, turned, or both, by an acceleration of up to
 * 5 g. */
static f64 tank_leaks(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f), thick = d * truth_range(c, 0.4f, 3.0f);
    u32 n = 8 + truth_pick(c, 4), deep = n * (2 + truth_pick(c, 2)) / 4, kind = truth_pick(c, 3);
    LiquidDef def = any_liquid(c, d, n * deep * n, 3.0f);
    LiquidKit kit = liquid_kit_make(&def, g);
    Box box = {.half = 0.5f * (f32)n * d};
    box_make(&kit, &box, thick);
    liquid_kit_fill(&kit, 0, vec3(-box.half, -box.half, -box.half), n, deep, n);
    f32 omega = kind == 0 ? 0.0f : sqrtf(truth_range(c, 0.1f, 3.0f) * g / box.half);
    f32 beat = truth_log_range(c, 4.0f, 40.0f), a = truth_range(c, 1.0f, 5.0f) * g / beat / beat;
    a = kind == 1 ? 0.0f : a;
    Vec3 along = truth_direction(c), axis = truth_direction(c);
    omega = f32_min(omega, 30.0f);
    f64 out = 0.0;
    for (u32 i = 1; i <= 120; i++) {
        f32 t = (f32)i * KIT_TICK_S;
        box_move(&kit, &box, vec3_scale(along, a * sinf(beat * t)),
                 kit_rotation(axis, (f64)(omega * t) * 180.0 / pi));
        liquid_kit_tick(&kit);
        out = fmax(out, escaped(&kit, &box));
    }
    truth_say(c, " %u x %u walls %.2f d, %.1f rad/s, shaken %.2f m at %.1f rad/s", n, deep,
              (f64)(2.0f * thick / d), (f64)omega, (f64)a, (f64)beat);
    out = is_finite(&kit) ? out : NAN;
    liquid_kit_free(&kit);
    return out;
}

/* Particles that are not within a spacing of [0, side] x [0, ...], and the root mean square of the
 * speeds of the others, m/s. */
static u32 outside(const LiquidKit *kit, f32 side, f64 *speed)
{
    const Vec3 *at = liquid_positions(kit->liquid), *v = liquid_velocities(kit->liquid);
    const u16 *live = liquid_generations(kit->liquid);
    f32 d = liquid_spacing(kit->liquid);
    f64 sum = 0.0;
    u32 out = 0, in = 0;
    for (u32 s = 0; s < liquid_slots(kit->liquid); s++) {
        Vec3 x = at[s];
        if (live[s] == 0) {
            continue;
        }
        if (x.x > -d && x.x < side + d && x.z > -d && x.z < side + d && x.y > -d) {
            sum += (f64)vec3_length_squared(v[s]);
            in++;
        } else {
            out++;
        }
    }
    *speed = in != 0 ? sqrt(sum / in) : 0.0;
    return out;
}

/* A lid presses a full tank to a part of its volume and goes back: particles lost by more than a
 * spacing, and then the world is calm again, or NaN. */
static f64 piston(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f), part = truth_range(c, 0.5f, 0.95f);
    u32 n = 8, deep = 10;
    LiquidDef def = any_liquid(c, d, n * deep * n, 3.0f);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, t = 5.0f * d, filled = (f32)deep * d;
    liquid_kit_tank(&kit, vec3(side, 6.0f * filled, side));
    BodyDef lid =
        kit_box(vec3(0.5f * side, filled + t + d, 0.5f * side), vec3(0.5f * side, t, 0.5f * side));
    lid.motion = BODY_KINEMATIC;
    lid.mass_kg = 0.0f;
    u32 slot = kit_add(kit.rigid, &lid);
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    liquid_kit_run(&kit, 0.5f);
    f64 lost;
    for (u32 i = 0; i < 300; i++) {
        f32 phase = i < 60    ? (f32)i / 60.0f
                    : i < 120 ? 1.0f
                              : f32_max(2.0f - (f32)(i - 60) / 60.0f, 0.0f);
        f32 y = filled + t + d - phase * ((1.0f - part) * filled + d);
        rigid_move_kinematic(kit.rigid, slot, vec3(0.5f * side, y, 0.5f * side), quat_identity());
        liquid_kit_tick(&kit);
    }
    liquid_kit_run(&kit, 2.0f);
    f64 speed, calm = 0.3 * sqrt((f64)(g * filled));
    lost = outside(&kit, side, &speed);
    truth_say(c, " to %.2f of its volume, at last %.3f m/s", (f64)part, speed);
    bool well = is_finite(&kit) && speed < calm;
    lost /= (f64)(n * n * deep);
    liquid_kit_free(&kit);
    return well ? lost : NAN;
}

/* ---- abuse ---- */

/* A hand at 100 m/s through a tank, liquid put into its walls, viscosities that change from none
 * to the most: afterwards the tank is calm and has lost little. The part lost; NaN: not calm. */
static f64 abused(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f);
    u32 n = 8, deep = 8, kind = truth_pick(c, 3);
    LiquidDef def = any_liquid(c, d, n * deep * n + 64, 1000.0f);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, high = 40.0f * (f32)deep * d;
    liquid_kit_tank(&kit, vec3(side, high, side));
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    liquid_kit_run(&kit, 0.5f);
    Vec3 middle = vec3(0.5f * side, 0.4f * (f32)deep * d, 0.5f * side), way = truth_direction(c);
    for (u32 i = 0; i < 90; i++) {
        if (kind == 0) { /* to and fro, 1.7 m a tick */
            liquid_hand_grab(kit.liquid, 0, middle, 3.0f * d);
            liquid_hand_drag(kit.liquid, 0,
                             vec3_add_scaled(middle, (i & 1) != 0 ? 1.7f : -1.7f, way));
        } else if (kind == 1 && i < 64) {
            Vec3 at = vec3(-d * truth_range(c, 0.0f, 3.0f), d * truth_range(c, 1.0f, 6.0f),
                           side * truth_range(c, 0.2f, 0.8f));
            liquid_spawn(kit.liquid, 0, at, vec3_scale(truth_direction(c), 20.0f));
        } else if (i % 5 == 0) {
            LiquidPhaseDef phase = *liquid_phase(kit.liquid, 0);
            phase.viscosity = (i & 1) != 0 ? 0.0f : 1000.0f;
            liquid_set_phase(kit.liquid, 0, &phase);
        }
        liquid_kit_tick(&kit);
    }
    liquid_hand_release(kit.liquid, 0);
    liquid_set_phase(kit.liquid, 0, &def.phases[0]);
    liquid_kit_run(&kit, 3.0f + 2.0f * sqrtf(2.0f * high / g));
    f64 speed, calm = 0.3 * sqrt((f64)(g * (f32)deep * d)), lost = outside(&kit, side, &speed);
    lost = kind == 1 ? fmax(lost - 64.0, 0.0) : lost; /* what was put outside may stay there */
    static const char *const kinds[] = {"hand", "put into walls", "viscosities"};
    truth_say(c, " %s: at last %.3f m/s", kinds[kind], speed);
    bool well = is_finite(&kit) && speed < calm;
    lost /= (f64)(n * n * deep);
    liquid_kit_free(&kit);
    return well ? lost : NAN;
}

const TruthLaw truth_flow[] = {
    {.name = "liquid/energy",
     .about = "rise of a dam's energy above its start, of m g h / 2",
     .unit = "",
     .bound = 0.01,
     .few = 0,
     .many = 60,
     .measure = dam_energy},
    {.name = "liquid/momentum",
     .about = "momentum gained by liquid and bodies that meet in space, of theirs",
     .unit = "",
     .bound = 1e-5,
     .few = 2,
     .many = 60,
     .measure = momentum_kept},
    {.name = "liquid/torricelli",
     .about = "speed of a jet less sqrt(2 g H), of that",
     .unit = "",
     .bound = 0.1,
     .few = 0,
     .many = 30,
     .measure = torricelli},
    {.name = "liquid/shear",
     .about = "rate at which a free shear flow decays by viscosity, less its own, of that",
     .unit = "",
     .bound = 0.15,
     .few = 0,
     .many = 40,
     .measure = shear_decay},
    {.name = "liquid/channel",
     .about = "the same of a flow between plates at which it rests",
     .unit = "",
     .bound = 0.15,
     .few = 0,
     .many = 40,
     .measure = channel_decay},
    {.name = "liquid/least viscosity",
     .about = "the same of liquid without viscosity: 0.002 d2 a step, 60 % less by vorticity",
     .unit = "",
     .bound = 0.15,
     .few = 1,
     .many = 24,
     .measure = least_viscosity},
    {.name = "liquid/closed",
     .about = "particles that leave a closed tank that is shaken and turned, walls 0.8 to 6 d",
     .unit = "",
     .bound = 0.0,
     .few = 1,
     .many = 60,
     .measure = tank_leaks},
    {.name = "liquid/piston",
     .about = "part lost of a full tank pressed to 0.5 to 0.95 of its volume; calm afterwards",
     .unit = "",
     .bound = 0.0,
     .few = 0,
     .many = 30,
     .measure = piston},
    {.name = "liquid/abuse",
     .about = "part lost by a hand at 100 m/s, spawns in walls, viscosities 0 to 1000; then calm",
     .unit = "",
     .bound = 0.02,
     .few = 0,
     .many = 45,
     .measure = abused},
    {.name = NULL},
};
