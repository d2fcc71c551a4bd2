/* truth_veil.c: laws of light held cloth under heavy bodies; see truth.h. */
#include "tests/support/truth_closed.h"

#include <math.h>

enum {
    PINS_MAX = 64,
    WINDOW_MAX = 256 /* ticks */
};

/* s, within which a cloth has returned or lost the energy that it received. */
static const f32 window_s = 1.0f;

typedef enum VeilPins {
    VEIL_CORNER = 0,
    VEIL_TOP = 1, /* both corners of an edge */
    VEIL_DIAGONAL = 2,
    VEIL_CORNERS = 3,
    VEIL_EDGE = 4,
    VEIL_SIDES = 5, /* two edges */
    VEIL_PINS
} VeilPins;

/* What a case is about. */
typedef struct Veil {
    Closed of;
    bool made;
    f32 bottom; /* m: below, nothing is left to see */
    f64 scale;  /* J, of the body at first */
} Veil;

static bool is_pinned(VeilPins pins, u32 x, u32 y, u32 last)
{
    bool left = x == 0, right = x == last, top = y == 0, end = y == last;
    switch (pins) {
    case VEIL_CORNER:
        return left && top;
    case VEIL_TOP:
        return (left || right) && top;
    case VEIL_DIAGONAL:
        return (left && top) || (right && end);
    case VEIL_CORNERS:
        return (left || right) && (top || end);
    case VEIL_EDGE:
        return top;
    default:
        return top || end;
    }
}

/* A square cloth about (0, height, 0); returns its mass, kg, or 0. */
static f32 add_cloth(Veil *veil, TruthCase *c, f32 size, f32 height, Quat orientation)
{
    SoftMesh mesh;
    ErrorText error;
    SoftPin pins[PINS_MAX];
    SoftDef def = soft_def_default();
    SoftRange range;
    u32 points = 5 + truth_pick(c, 12), count = 0;
    VeilPins held = (VeilPins)truth_pick(c, VEIL_PINS);
    if (soft_mesh_grid(&mesh, points, points, size, size, &error) != 0) {
        return 0.0f;
    }
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (is_pinned(held, i % points, i / points, points - 1)) {
            pins[count++] = (SoftPin){.point = i};
        }
    }
    def.pins = pins;
    def.pin_count = count;
    def.mass_kg = truth_log_range(c, 0.02f, 0.5f) * size * size;
    def.damping = 0.0f;
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.thickness = truth_range(c, 0.005f, 0.03f);
    def.self_collision = truth_pick(c, 4) == 0;
    def.orientation = orientation;
    Vec3 middle = vec3(0.5f * size, 0.5f * size, 0.0f);
    def.position = vec3_sub(vec3(0.0f, height, 0.0f), quat_rotate(orientation, middle));
    truth_say(c, " pins %u, %u² of %.2f m %.4f kg %s", held, points, (f64)size, (f64)def.mass_kg,
              def.self_collision ? "self" : "");
    return closed_add_soft(&veil->of, &def, &mesh, &range) && soft_build(veil->of.soft) == 0
               ? def.mass_kg
               : 0.0f;
}

/* A body of 1 to 10 000 times the mass of a cloth falls or flies into it; with a floor below or
 * without. */
static Veil veil_make(TruthCase *c)
{
    Veil veil = {.of = closed_make(c, CLOSED_GRAVITY, 1.0f)};
    f32 size = truth_log_range(c, 0.4f, 2.0f), height = size * truth_range(c, 0.5f, 1.5f);
    static const Quat level = {0.70710678f, 0.70710678f, 0.0f, 0.0f};
    Quat orientation = truth_pick(c, 3) != 0 ? level : truth_rotation(c);
    bool floor = truth_pick(c, 2) == 0;
    if (floor) {
        closed_add_floor(&veil.of);
    }
    veil.bottom = floor ? -INFINITY : -3.0f * size;
    f32 cloth = add_cloth(&veil, c, size, height, orientation);
    f32 radius = size * truth_log_range(c, 0.04f, 0.25f);
    f32 mass = cloth * truth_log_range(c, 1.0f, 1e4f);
    Shape shape = closed_shape(c, radius);
    Vec3 out = quat_rotate(orientation, vec3(0.0f, 0.0f, 1.0f)), aside = truth_direction(c);
    out = out.y < 0.0f ? vec3_neg(out) : out;
    f32 drop = truth_range(c, 0.05f, 1.0f) * size;
    Vec3 at = vec3_add_scaled(vec3(0.0f, height, 0.0f), drop + 1.8f * radius, out);
    at = vec3_add_scaled(at, 0.4f * size, vec3_sub(aside, vec3_scale(out, vec3_dot(aside, out))));
    f32 speed = truth_pick(c, 2) != 0 ? truth_range(c, 0.0f, 5.0f) : 0.0f;
    at.y = f32_max(at.y, floor ? 2.0f * radius : at.y);
    truth_say(c, " %.3f kg drop %.2f %.1f m/s%s", (f64)mass, (f64)drop, (f64)speed,
              floor ? " floor" : "");
    Vec3 velocity = vec3_scale(out, -speed);
    BodyId body = closed_add_body(&veil.of, shape, mass, at, truth_rotation(c), velocity);
    if (truth_pick(c, 2) == 0) {
        f32 rate = truth_range(c, 0.0f, 30.0f);
        rigid_set_velocity(veil.of.rigid, body.slot, velocity,
                           vec3_scale(truth_direction(c), rate));
        truth_say(c, " %.0f rad/s", (f64)rate);
    }
    veil.scale = (f64)(mass * CLOSED_GRAVITY * (drop + size)) + closed_sums(&veil.of).kinetic;
    veil.made = cloth > 0.0f;
    return veil;
}

static f64 energy_of(const Closed *of)
{
    ClosedSums s = closed_sums(of);
    return s.kinetic + s.potential + s.elastic;
}

/* The last values of a second, and the least of their maxima so far. */
typedef struct Envelope {
    f64 last[WINDOW_MAX];
    u32 length, count;
    f64 least;
} Envelope;

static void envelope_add(Envelope *of, f64 value)
{
    of->last[of->count++ % of->length] = value;
    f64 most = -INFINITY;
    for (u32 i = 0; i < u32_min(of->count, of->length); i++) {
        most = fmax(most, of->last[i]);
    }
    of->least = fmin(of->least, most);
}

typedef struct VeilSeen {
    f64 above; /* its start */
    f64 risen; /* above what it had within the last second, at any time before */
} VeilSeen;

static VeilSeen veil_watch(TruthCase *c)
{
    Veil veil = veil_make(c);
    VeilSeen seen = {NAN, NAN};
    if (veil.made) {
        f64 start = energy_of(&veil.of);
        Envelope envelope = {.least = start, .length = (u32)(window_s / veil.of.tick_s)};
        envelope_add(&envelope, start);
        seen = (VeilSeen){0.0, 0.0};
        for (f32 t = 0.0f; t < 5.0f; t += veil.of.tick_s) {
            closed_tick(&veil.of);
            f64 energy = energy_of(&veil.of);
            if (!isfinite(energy)) {
                seen = (VeilSeen){NAN, NAN};
                break;
            }
            if (rigid_centre(veil.of.rigid, veil.of.bodies[0].slot).y < veil.bottom) {
                break;
            }
            seen.above = fmax(seen.above, (energy - start) / veil.scale);
            seen.risen = fmax(seen.risen, (energy - envelope.least) / veil.scale);
            envelope_add(&envelope, energy);
        }
    }
    closed_finish(&veil.of);
    return seen;
}

static f64 veil_energy(TruthCase *c)
{
    return veil_watch(c).above;
}

static f64 veil_rise(TruthCase *c)
{
    return veil_watch(c).risen;
}

const TruthLaw truth_veil[] = {
    {.name = "veil/energy",
     .about = "energy that a body of 1 to 10 000 times the mass of a held cloth gains on it",
     .unit = "",
     .bound = 0.01,
     .few = 20,
     .many = 400,
     .measure = veil_energy},
    {.name = "veil/rise",
     .about = "the same above the least maximum of a second so far: 2 of 400 rise by more",
     .unit = "",
     .bound = 0.02,
     .few = 20,
     .many = 400,
     .measure = veil_rise},
    {.name = NULL},
};
