/* truth_liquid.c: laws of liquids at rest: level, density, pressure, buoyancy, vessels, sleep; see
 * truth.h. Those of liquids in motion are in truth_flow.c. */
#include "shared/base/clock.h"
#include "tests/support/gauge.h"
#include "tests/support/liquid_kit.h"
#include "tests/support/truth.h"

#include <math.h>

static const f32 g = 9.81f;

/* A tank [0, wide] × [0, ∞) × [0, deep] with liquid of any kind. */
typedef struct Tank {
    LiquidKit kit;
    f32 d;
    u32 x, y, z; /* particles of the fill */
    f32 density;
} Tank;

static LiquidDef any_liquid(TruthCase *c, f32 d, u32 capacity)
{
    LiquidDef def = liquid_kit_water(d, capacity);
    def.phases[0].density = truth_log_range(c, 300.0f, 3000.0f);
    def.phases[0].viscosity = truth_log_range(c, 0.001f, 3.0f);
    truth_say(c, "d %.3f %.0f kg/m3 %.3f Pa s", (f64)d, (f64)def.phases[0].density,
              (f64)def.phases[0].viscosity);
    return def;
}

static Tank tank_make(TruthCase *c, u32 wide, u32 low, u32 high)
{
    Tank t = {.d = truth_log_range(c, 0.01f, 0.1f)};
    t.x = wide + truth_pick(c, 5);
    t.z = wide + truth_pick(c, 5);
    t.y = low + truth_pick(c, high - low + 1);
    LiquidDef def = any_liquid(c, t.d, t.x * t.y * t.z);
    t.density = def.phases[0].density;
    t.kit = liquid_kit_make(&def, g);
    liquid_kit_tank(&t.kit, vec3((f32)t.x * t.d, 3.0f * (f32)t.y * t.d, (f32)t.z * t.d));
    liquid_kit_fill(&t.kit, 0, vec3_zero(), t.x, t.y, t.z);
    truth_say(c, " %u x %u x %u", t.x, t.y, t.z);
    return t;
}

/* s, in which waves of a tank this deep have died down. */
static f32 calm_s(f32 deep)
{
    return 2.0f + 10.0f * sqrtf(deep / g);
}

static f64 level_of(const LiquidKit *kit)
{
    f32 far = 100.0f;
    return liquid_kit_level(kit, vec3(-far, -far, -far), vec3(far, far, far), 0.0f);
}

/* ---- a tank at rest ---- */

static f64 level_kept(TruthCase *c)
{
    Tank t = tank_make(c, 8, 5, 24);
    f32 filled = (f32)t.y * t.d;
    liquid_kit_run(&t.kit, calm_s(filled));
    f64 worst = 0.0;
    for (u32 i = 0; i < 30; i++) {
        liquid_kit_tick(&t.kit);
        worst = fmax(worst, fabs(level_of(&t.kit) / (f64)filled - 1.0));
    }
    liquid_kit_free(&t.kit);
    return worst;
}

static LiquidStats density_errors(TruthCase *c)
{
    Tank t = tank_make(c, 8, 5, 24);
    liquid_kit_run(&t.kit, calm_s((f32)t.y * t.d));
    LiquidStats worst = {0};
    for (u32 i = 0; i < 30; i++) {
        liquid_kit_tick(&t.kit);
        LiquidStats now = liquid_stats(t.kit.liquid);
        worst.density_error = f32_max(worst.density_error, now.density_error);
        worst.density_error_max = f32_max(worst.density_error_max, now.density_error_max);
    }
    liquid_kit_free(&t.kit);
    return worst;
}

static f64 density_mean(TruthCase *c)
{
    return (f64)density_errors(c).density_error;
}

static f64 density_max(TruthCase *c)
{
    return (f64)density_errors(c).density_error_max;
}

/* s of world time until it sleeps; the level may not change by a hundredth meanwhile. */
static f64 sleep_time(TruthCase *c, Tank t)
{
    f32 filled = (f32)t.y * t.d, time = 0.0f;
    f64 low = INFINITY, high = 0.0;
    while (time < 40.0f && liquid_awake(t.kit.liquid)) {
        liquid_kit_tick(&t.kit);
        time += KIT_TICK_S;
        if (time > calm_s(filled)) {
            low = fmin(low, level_of(&t.kit));
            high = fmax(high, level_of(&t.kit));
        }
    }
    f64 breath = high > 0.0 ? (high - low) / (f64)filled : 0.0;
    truth_say(c, " level changes by %.4f", breath);
    liquid_kit_free(&t.kit);
    return breath < 0.01 ? (f64)time : NAN;
}

static f64 sleeps_after(TruthCase *c)
{
    return sleep_time(c, tank_make(c, 6, 5, 12));
}

/* Under much pressure items vibrate, which must not keep them awake. */
static f64 deep_sleeps_after(TruthCase *c)
{
    return sleep_time(c, tank_make(c, 14, 20, 40));
}

/* Ten minutes. In half of the cases a breath on one place keeps the tank awake; in the others it is
 * struck every 20 s, and sleeps in between. The level may not change by a hundredth once it is
 * calm. */
static f64 level_in_ten_minutes(TruthCase *c)
{
    const u32 second = 60, minute = 60 * second;
    Tank t = tank_make(c, 8, 5, 9);
    f32 filled = (f32)t.y * t.d, way = 1.0f;
    bool struck = truth_pick(c, 2) == 1;
    u32 asleep = 0, period = struck ? 20 * second : 15;
    f64 low = INFINITY, high = 0.0, worst = 0.0;
    Vec3 middle = vec3(0.5f * (f32)t.x * t.d, 0.5f * filled, 0.5f * (f32)t.z * t.d);
    for (u32 i = 1; i <= 10 * minute; i++) {
        liquid_kit_tick(&t.kit);
        asleep += !liquid_awake(t.kit.liquid);
        if (i % period == 0) { /* to and fro */
            f32 speed = (struck ? 0.5f : 1e-4f) * sqrtf(g * filled) * way;
            f32 mass = 33.0f * t.density * t.d * t.d * t.d; /* of a ball of two spacings */
            liquid_push(t.kit.liquid, middle, 2.0f * t.d, vec3(speed * mass, 0.0f, 0.0f));
            way = -way;
        }
        bool calm = struck ? i % period == period - 1 : i % second == 0;
        if (calm && i > 20 * second) {
            f64 level = level_of(&t.kit) / (f64)filled;
            low = fmin(low, level);
            high = fmax(high, level);
            worst = fmax(worst, fabs(level - 1.0));
        }
    }
    truth_say(c, " %s, asleep %.2f, level %.4f to %.4f", struck ? "struck" : "awake",
              (f64)asleep / (10.0 * minute), low, high);
    liquid_kit_free(&t.kit);
    bool woke = struck ? asleep < 9 * minute : asleep == 0;
    return high - low < 0.01 && woke ? worst : NAN;
}

/* Time of a tick asleep over that of one awake. */
static f64 sleep_cost(TruthCase *c)
{
    Tank t = tank_make(c, 8, 8, 12);
    f64 cost[2];
    for (u32 part = 0; part < 2; part++) {
        u64 began_ns = clock_now_ns();
        for (u32 i = 0; i < 60; i++) {
            liquid_kit_tick(&t.kit);
        }
        cost[part] = (f64)(clock_now_ns() - began_ns);
        for (u32 i = 0; i < 3000 && part == 0 && liquid_awake(t.kit.liquid); i++) {
            liquid_kit_tick(&t.kit);
        }
    }
    bool asleep = !liquid_awake(t.kit.liquid);
    liquid_kit_free(&t.kit);
    return asleep ? cost[1] / cost[0] : NAN;
}

/* ---- pressure ---- */

/* Greater relative error of ρ g depth on two parts of a wall, without the lowest eighth and that at
 * the surface. A part is 9 or 12 layers high: a few would say more of layers than of pressure. */
static f64 wall_pressure(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.1f), t = 10.0f * d, high = 80.0f * d;
    u32 n = 8 + truth_pick(c, 3), deep = GAUGE_BANDS * (3 + truth_pick(c, 2));
    LiquidDef def = any_liquid(c, d, n * deep * n);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, filled = (f32)deep * d;
    liquid_kit_wall(&kit, vec3(-t, -t, -t), vec3(side + t, 0.0f, side + t));
    liquid_kit_wall(&kit, vec3(side, 0.0f, -t), vec3(side + t, high, side + t));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, -t), vec3(side, high, 0.0f));
    liquid_kit_wall(&kit, vec3(-t, 0.0f, side), vec3(side, high, side + t));
    Gauge gauge = {.centre = {-t, 0.5f * filled, 0.5f * side},
                   .half = {t, 0.5f * filled, side + t},
                   .orientation = quat_identity()};
    kit.extra = gauge_collider(&gauge);
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    /* Above the gauge, over which splashes would pass. */
    liquid_kit_wall(&kit, vec3(-t, filled, -t), vec3(0.0f, high, side + t));
    liquid_kit_run(&kit, calm_s(filled));
    gauge_reset(&gauge);
    const u32 ticks = 120;
    f64 level = 0.0, worst = 0.0;
    for (u32 i = 0; i < ticks; i++) {
        liquid_kit_tick(&kit);
        level += level_of(&kit) / ticks;
    }
    f64 band = (f64)filled / GAUGE_BANDS, span = ticks * (f64)KIT_TICK_S;
    for (u32 b = 1; b < 7; b += 3) {
        f64 force = -gauge.bands[b][0] - gauge.bands[b + 1][0] - gauge.bands[b + 2][0];
        f64 pressure = force / span / (3.0 * band * (f64)side);
        f64 expected = (f64)def.phases[0].density * (f64)g * (level - (b + 1.5) * band);
        truth_say(c, " %.3f", pressure / expected);
        worst = fmax(worst, fabs(pressure / expected - 1.0));
    }
    truth_say(c, " of it, %u x %u", n, deep);
    liquid_kit_free(&kit);
    return worst;
}

/* ---- ships that are held ---- */

typedef struct Ship {
    f64 force, moment; /* relative errors */
} Ship;

/* Area of a rectangle, turned by an angle, below the level, and the x of its centroid; about its
 * centre. */
static f64 wetted(const f64 half[2], f64 angle, f64 level, f64 *centroid)
{
    static const f64 corners[4][2] = {{-1, -1}, {1, -1}, {1, 1}, {-1, 1}};
    f64 in[8][2], area = 0.0, sum = 0.0;
    u32 count = 0;
    for (u32 i = 0; i < 4; i++) {
        f64 ends[2][2];
        for (u32 k = 0; k < 2; k++) {
            f64 x = corners[(i + k) % 4][0] * half[0], y = corners[(i + k) % 4][1] * half[1];
            ends[k][0] = x * cos(angle) - y * sin(angle);
            ends[k][1] = x * sin(angle) + y * cos(angle);
        }
        bool wet = ends[0][1] < level;
        if (wet) {
            in[count][0] = ends[0][0];
            in[count++][1] = ends[0][1];
        }
        if (wet != (ends[1][1] < level)) {
            f64 part = (level - ends[0][1]) / (ends[1][1] - ends[0][1]);
            in[count][0] = ends[0][0] + part * (ends[1][0] - ends[0][0]);
            in[count++][1] = level;
        }
    }
    for (u32 i = 0; i < count; i++) {
        const f64 *a = in[i], *b = in[(i + 1) % count];
        f64 cross = a[0] * b[1] - b[0] * a[1];
        area += 0.5 * cross;
        sum += (a[0] + b[0]) * cross / 6.0;
    }
    *centroid = area > 0.0 ? sum / area : 0.0;
    return area;
}

static void fill_about(LiquidKit *kit, const Gauge *gauge, u32 x, u32 y, u32 z)
{
    f32 d = liquid_spacing(kit->liquid);
    for (u32 i = 0; i < x * y * z; i++) {
        Vec3 at = vec3(d * ((f32)(i % x) + 0.5f), d * ((f32)(i / x % y) + 0.5f),
                       d * ((f32)(i / x / y) + 0.5f));
        Vec3 normal;
        if (gauge_distance(gauge, at, &normal) > 0.5f * d) {
            liquid_spawn(kit->liquid, 0, at, vec3_zero());
        }
    }
}

/* A box as long as a channel, held at a heel and half in: the lift is the weight of the displaced
 * liquid, with the moment of its centroid. */
static Ship held_ship(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.08f);
    u32 x = 34, y = 14 + truth_pick(c, 4), z = 6;
    LiquidDef def = any_liquid(c, d, x * y * z);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 wide = (f32)x * d, deep = (f32)z * d, angle = truth_range(c, 0.12f, 0.35f);
    angle = truth_pick(c, 2) == 0 ? angle : -angle;
    liquid_kit_tank(&kit, vec3(wide, 3.0f * (f32)y * d, deep));
    Gauge gauge = {
        .half = {d * truth_range(c, 6.0f, 9.0f), d * truth_range(c, 3.0f, 5.0f), deep + d},
        .orientation = kit_rotation_z(angle)};
    gauge.centre = vec3(0.5f * wide, d * ((f32)y - truth_range(c, -1.0f, 1.0f)), 0.5f * deep);
    kit.extra = gauge_collider(&gauge);
    fill_about(&kit, &gauge, x, y, z);
    liquid_kit_run(&kit, calm_s((f32)y * d));
    gauge_reset(&gauge);
    const u32 ticks = 120;
    f64 level = 0.0, span = ticks * (f64)KIT_TICK_S;
    for (u32 i = 0; i < ticks; i++) {
        liquid_kit_tick(&kit);
        f32 beside = 5.0f * d;
        level += liquid_kit_level(&kit, vec3_zero(), vec3(beside, 99.0f, deep), 0.0f) / ticks / 2.0;
        level +=
            liquid_kit_level(&kit, vec3(wide - beside, 0.0f, 0.0f), vec3(wide, 99.0f, deep), 0.0f) /
            ticks / 2.0;
    }
    const f64 half[2] = {(f64)gauge.half.x, (f64)gauge.half.y};
    f64 middle, area = wetted(half, (f64)angle, level - (f64)gauge.centre.y, &middle);
    f64 weight = (f64)def.phases[0].density * (f64)g * area * (f64)deep;
    f64 lift = gauge.impulse[1] / span, turn = gauge.moment[2] / span, demands = weight * middle;
    f64 small = 0.02 * weight * 2.0 * half[0]; /* below which a part is not significant */
    truth_say(c, " ship %.1f x %.1f d heel %.2f: %.2f of %.2f N m", 2.0 * half[0] / (f64)d,
              2.0 * half[1] / (f64)d, (f64)angle, turn, demands);
    liquid_kit_free(&kit);
    return (Ship){fabs(lift / weight - 1.0), fabs(turn - demands) / fmax(fabs(demands), small)};
}

static f64 ship_lift(TruthCase *c)
{
    return held_ship(c).force;
}

static f64 ship_moment(TruthCase *c)
{
    return held_ship(c).moment;
}

/* ---- ships that float ---- */

/* A flat box of any relative density: error of its draught, of the draught. */
static f64 draught(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.08f), part = truth_range(c, 0.25f, 0.85f);
    u32 n = 18, deep = 12;
    LiquidDef def = any_liquid(c, d, n * n * deep);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, half = 3.5f * d, wide = d * truth_range(c, 5.5f, 6.0f);
    liquid_kit_tank(&kit, vec3(side, 3.0f * (f32)deep * d, side));
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    BodyDef box =
        kit_box(vec3(0.5f * side, (f32)deep * d + half, 0.5f * side), vec3(wide, half, wide));
    f32 volume = 8.0f * wide * half * wide;
    box.mass_kg = def.phases[0].density * part * volume;
    u32 slot = kit_add(kit.rigid, &box);
    liquid_kit_run(&kit, 2.0f + calm_s((f32)deep * d));
    f64 y = 0.0;
    for (u32 i = 0; i < 120; i++) {
        liquid_kit_tick(&kit);
        y += (f64)rigid_position(kit.rigid, slot).y / 120.0;
    }
    f64 level = (f64)deep * (f64)d + (f64)part * (f64)volume / ((f64)side * (f64)side);
    f64 sunk = (level - (y - (f64)half)) / (2.0 * (f64)half);
    truth_say(c, " relative density %.3f: draught %.3f", (f64)part, sunk);
    liquid_kit_free(&kit);
    return fabs(sunk / (f64)part - 1.0);
}

/* A box let go at a heel rights itself where its metacentric height is positive, and else does not:
 * 1 where it does the other. */
static f64 stability(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.05f), part = truth_range(c, 0.4f, 0.6f);
    u32 n = 22, deep = 16;
    bool tall = truth_pick(c, 2) == 0;
    LiquidDef def = any_liquid(c, d, n * n * deep);
    def.phases[0].viscosity = 0.001f;
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 side = (f32)n * d, wide = d * (tall ? 3.0f : 6.0f), high = d * (tall ? 5.0f : 3.0f);
    f32 heel = 0.15f;
    liquid_kit_tank(&kit, vec3(side, 3.0f * (f32)deep * d, side));
    liquid_kit_fill(&kit, 0, vec3_zero(), n, deep, n);
    f32 draws = 2.0f * high * part, bears = wide * wide / (3.0f * draws);
    f32 metacentre = 0.5f * draws + bears - high;
    BodyDef box = kit_box(vec3(0.5f * side, (f32)deep * d + high + d, 0.5f * side),
                          vec3(wide, high, 6.0f * d));
    box.orientation = kit_rotation_z(heel);
    box.mass_kg = def.phases[0].density * part * 48.0f * wide * high * d;
    u32 slot = kit_add(kit.rigid, &box);
    f32 least = 1.0f, most = 0.0f, time = 0.0f, period = sqrtf(high / g);
    while (time < 40.0f * period) {
        liquid_kit_tick(&kit);
        time += KIT_TICK_S;
        Vec3 up = quat_rotate(rigid_orientation(kit.rigid, slot), vec3(0.0f, 1.0f, 0.0f));
        if (time > 25.0f * period) {
            least = f32_min(least, up.y);
        }
        most = f32_max(most, 1.0f - up.y);
    }
    truth_say(c, " %s relative density %.2f GM %.3f of the breadth: up at last %.3f",
              tall ? "tall" : "flat", (f64)part, (f64)(metacentre / (2.0f * wide)), (f64)least);
    liquid_kit_free(&kit);
    bool upright = least > cosf(heel);
    return upright == (metacentre > 0.0f) ? 0.0 : 1.0;
}

/* ---- vessels ---- */

/* Difference of the levels of two vessels with a gap at the bottom, in spacings. */
static f64 vessels(TruthCase *c)
{
    f32 d = truth_log_range(c, 0.01f, 0.05f);
    u32 a = 6 + truth_pick(c, 6), b = 6 + truth_pick(c, 6), deep = 12 + truth_pick(c, 10);
    f32 gap = d * truth_range(c, 4.0f, 6.0f), thick = d * truth_range(c, 2.0f, 4.0f);
    LiquidDef def = any_liquid(c, d, a * deep * 8);
    LiquidKit kit = liquid_kit_make(&def, g);
    f32 left = (f32)a * d, right = (f32)b * d, z = 8.0f * d, top = 3.0f * (f32)deep * d;
    liquid_kit_tank(&kit, vec3(left + thick + right, top, z));
    liquid_kit_wall(&kit, vec3(left, gap, -d), vec3(left + thick, top, z + d));
    liquid_kit_fill(&kit, 0, vec3_zero(), a, deep, 8);
    liquid_kit_run(&kit, 3.0f * calm_s((f32)deep * d) + 4.0f);
    f64 one = liquid_kit_level(&kit, vec3_zero(), vec3(left, 99.0f, z), 0.0f);
    f64 two = liquid_kit_level(&kit, vec3(left + thick, 0.0f, 0.0f),
                               vec3(left + thick + right, 99.0f, z), 0.0f);
    truth_say(c, " %u and %u wide, gap %.1f d: %.2f and %.2f d", a, b, (f64)(gap / d), one / (f64)d,
              two / (f64)d);
    liquid_kit_free(&kit);
    return fabs(one - two) / (f64)d;
}

const TruthLaw truth_liquid[] = {
    {.name = "liquid/level",
     .about =
         "level of a tank at rest, of what was filled, over spacing, depth, density, viscosity",
     .unit = "",
     .bound = 0.03,
     .few = 2,
     .many = 60,
     .measure = level_kept},
    {.name = "liquid/density",
     .about = "mean error of its density",
     .unit = "",
     .bound = 0.01,
     .few = 0,
     .many = 60,
     .measure = density_mean},
    {.name = "liquid/density max",
     .about = "greatest error of its density",
     .unit = "",
     .bound = 0.1,
     .few = 0,
     .many = 60,
     .measure = density_max},
    {.name = "liquid/sleep",
     .about = "time until it sleeps; its level changes by less than 1 % meanwhile",
     .unit = "s",
     .bound = 20.0,
     .few = 1,
     .many = 40,
     .measure = sleeps_after},
    {.name = "liquid/sleep of deep tanks",
     .about = "the same of tanks 20 to 40 particles deep",
     .unit = "s",
     .bound = 20.0,
     .few = 0,
     .many = 6,
     .measure = deep_sleeps_after},
    {.name = "liquid/level in ten minutes",
     .about = "level of a tank kept awake or struck for ten minutes; it changes by less than 1 %",
     .unit = "",
     .bound = 0.03,
     .few = 1,
     .many = 8,
     .measure = level_in_ten_minutes},
    {.name = "liquid/sleep cost",
     .about = "time of a sleeping tank, of that of a moving one",
     .unit = "",
     .bound = 0.05,
     .few = 0,
     .many = 10,
     .measure = sleep_cost},
    {.name = "liquid/pressure",
     .about = "pressure on a wall less density g depth, at two depths, of that",
     .unit = "",
     .bound = 0.05,
     .few = 0,
     .many = 25,
     .measure = wall_pressure},
    {.name = "liquid/buoyancy",
     .about = "lift of a heeled box less the weight that it displaces, of that",
     .unit = "",
     .bound = 0.05,
     .few = 0,
     .many = 25,
     .measure = ship_lift},
    {.name = "liquid/righting",
     .about = "its righting moment less that of its displacement's centroid, of that",
     .unit = "",
     .bound = 0.2,
     .few = 1,
     .many = 25,
     .measure = ship_moment},
    {.name = "liquid/draught",
     .about = "draught of a flat box less its relative density, of that",
     .unit = "",
     .bound = 0.05,
     .few = 0,
     .many = 25,
     .measure = draught},
    {.name = "liquid/stability",
     .about = "boxes that stand up or fall over against their metacentric height",
     .unit = "",
     .bound = 0.0,
     .few = 0,
     .many = 8,
     .measure = stability},
    {.name = "liquid/vessels",
     .about = "difference of the levels of communicating vessels, in spacings",
     .unit = "d",
     .bound = 0.5,
     .few = 0,
     .many = 40,
     .measure = vessels},
    {.name = NULL},
};
