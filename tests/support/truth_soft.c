/* truth_soft.c: laws of soft bodies in contact; see truth.h. */
#include "shared/soft/soft_figures.h"
#include "tests/support/truth_closed.h"

#include <math.h>

/* ---- bodies on held cloth and ropes ---- */

/* A sheet of `cells` cells along its length, or a bridge, pinned according to `held`. */
typedef enum Hold {
    HOLD_SIDES = 0,
    HOLD_CORNERS = 1,
    HOLD_HANGING = 2,
    HOLD_BRIDGE = 3
} Hold;

static bool is_held(Hold hold, Vec3 p, f32 size)
{
    f32 rim = 1e-3f * size;
    bool x = p.x < rim || p.x > size - rim;
    bool y = p.y < rim || p.y > size - rim;
    return hold == HOLD_BRIDGE || hold == HOLD_SIDES ? x
           : hold == HOLD_CORNERS                    ? x && y
                                                     : p.y > size - rim;
}

static bool add_held(Closed *of, TruthCase *c, Hold hold, f32 size)
{
    SoftMesh mesh;
    ErrorText error;
    SoftPin pins[256];
    SoftDef def = soft_def_default();
    SoftRange range;
    u32 points = 8 + truth_pick(c, 14), count = 0;
    SoftBridge bridge = {size, 0.6f * size, 0.2f * size, truth_range(c, 0.0f, 0.1f), points, 5};
    int made = hold == HOLD_BRIDGE ? soft_mesh_bridge(&mesh, &bridge, &error)
                                   : soft_mesh_grid(&mesh, points, points, size, size, &error);
    if (made != 0) {
        return false;
    }
    for (u32 i = 0; i < mesh.point_count && count < PL_COUNT(pins); i++) {
        if (is_held(hold, mesh.points[i], size)) {
            pins[count++] = (SoftPin){.point = i};
        }
    }
    def.pins = pins;
    def.pin_count = count;
    def.mass_kg = truth_log_range(c, 0.1f, 2.0f) * size * size;
    def.damping = 0.0f;
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.thickness = truth_range(c, 0.005f, 0.03f);
    if (hold == HOLD_SIDES || hold == HOLD_CORNERS) { /* level */
        def.orientation = (Quat){0.70710678f, -0.70710678f, 0.0f, 0.0f};
        def.position = vec3(0.0f, 0.0f, 0.0f);
    }
    truth_say(c, " hold %u %u points %.2f kg", hold, points, (f64)def.mass_kg);
    return closed_add_soft(of, &def, &mesh, &range) && soft_build(of->soft) == 0;
}

/* Lets it hang until it is nearly still. */
static void settle(Closed *of, f32 seconds)
{
    for (f32 t = 0.0f; t < seconds; t += of->tick_s) {
        closed_tick(of);
        for (u32 i = 0; i < soft_particles(of->soft); i++) {
            f32 w = soft_inverse_mass(of->soft, i);
            if (w > 0.0f) {
                f32 part = -f32_min(10.0f * of->tick_s, 1.0f) / w;
                soft_impulse(of->soft, i, vec3_scale(soft_velocity(of->soft, i), part));
            }
        }
    }
}

/* Largest rise of the total energy, as a fraction of the body's potential energy of the fall. */
static f64 held_energy(TruthCase *c)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.0f);
    Hold hold = (Hold)truth_pick(c, 4);
    f32 size = truth_range(c, 1.0f, 4.0f), h = truth_range(c, 0.2f, 2.0f);
    f64 risen = NAN;
    if (!add_held(&of, c, hold, size)) {
        closed_finish(&of);
        return risen;
    }
    settle(&of, 2.0f);
    f32 radius = size * truth_range(c, 0.04f, 0.15f), mass = truth_log_range(c, 0.1f, 40.0f);
    Shape shape = closed_shape(c, radius);
    Vec3 across = vec3(truth_range(c, 0.25f, 0.75f) * size, h, 0.0f), v = vec3_zero();
    across.z = hold == HOLD_BRIDGE ? 0.0f : -truth_range(c, 0.25f, 0.75f) * size;
    if (hold == HOLD_HANGING) {
        v.z = sqrtf(2.0f * CLOSED_GRAVITY * h);
        across = vec3(across.x, truth_range(c, 0.3f, 0.8f) * size, -1.8f * radius);
    } else {
        across.y += 1.8f * radius;
    }
    truth_say(c, " %.2f kg h %.2f", (f64)mass, (f64)h);
    closed_add_body(&of, shape, mass, across, truth_rotation(c), v);
    ClosedSums start = closed_sums(&of);
    f64 e0 = start.kinetic + start.potential, scale = (f64)(mass * CLOSED_GRAVITY * h);
    risen = 0.0;
    for (f32 t = 0.0f; t < 4.0f; t += of.tick_s) {
        closed_tick(&of);
        ClosedSums s = closed_sums(&of);
        risen = fmax(risen, (s.kinetic + s.potential - e0) / scale);
        if (!isfinite(s.kinetic + s.potential)) {
            risen = NAN;
            break;
        }
    }
    closed_finish(&of);
    return risen;
}

/* ---- pinned to a rope ---- */

typedef struct Pinned {
    f64 risen;   /* of total energy, as a fraction of (masses) g L */
    f64 fastest; /* m/s in the second half */
} Pinned;

/* From the hanging state, rotated by `tilt`. */
static Pinned hang_on_rope(TruthCase *c, f32 ratio, f32 damping, f32 tilt, bool meets)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.5e-3f);
    f32 length = truth_range(c, 0.5f, 3.0f), rope = truth_log_range(c, 0.05f, 5.0f);
    u32 points = 6 + truth_pick(c, 25);
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    SoftRange range;
    Pinned result = {NAN, NAN};
    Shape shape = closed_shape(c, 0.1f);
    f32 off = truth_range(c, 0.0f, 0.1f);
    Quat rotation = {cosf(0.5f * tilt), 0.0f, 0.0f, sinf(0.5f * tilt)};
    Vec3 at = quat_rotate(rotation, vec3(0.0f, -length - off, 0.0f));
    BodyId body = closed_add_body(&of, shape, ratio * rope, at, rotation, vec3_zero());
    SoftPin pins[2] = {{.point = 0}, {.point = points - 1, .body = body}};
    def.pins = pins;
    def.pin_count = 2;
    def.mass_kg = rope;
    def.damping = damping;
    def.thickness = 0.005f;
    def.group = def.mask = meets ? 0 : 1u << 30;
    def.stretch_compliance = truth_pick(c, 2) != 0 ? 1e-7f : 0.0f;
    def.bend = truth_pick(c, 2) != 0 ? SOFT_BEND_DISTANCE : SOFT_BEND_NONE;
    def.orientation = quat_mul(rotation, (Quat){0.70710678f, 0.0f, 0.0f, -0.70710678f});
    truth_say(c, " rope %.2f kg %.2f m %u points, ratio %.3g tilt %.2f", (f64)rope, (f64)length,
              points, (f64)ratio, (f64)tilt);
    if (soft_mesh_rope(&mesh, points, length, &error) == 0 &&
        closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0) {
        ClosedSums start = closed_sums(&of);
        f64 scale = (f64)((1.0f + ratio) * rope * CLOSED_GRAVITY * length);
        result = (Pinned){0.0, 0.0};
        for (f32 t = 0.0f; t < 8.0f; t += of.tick_s) {
            closed_tick(&of);
            ClosedSums s = closed_sums(&of);
            f64 rise = s.kinetic + s.potential - start.kinetic - start.potential;
            result.risen = fmax(result.risen, rise / scale);
            result.fastest = t > 4.0f ? fmax(result.fastest, s.fastest) : 0.0;
            if (!isfinite(rise)) {
                result.risen = result.fastest = NAN;
                break;
            }
        }
    }
    closed_finish(&of);
    return result;
}

static f64 light_still(TruthCase *c)
{
    return hang_on_rope(c, truth_log_range(c, 1e-4f, 1.0f), 3.0f, 0.0f, true).fastest;
}

static f64 pinned_energy(TruthCase *c)
{
    return hang_on_rope(c, truth_log_range(c, 1e-4f, 1e4f), 0.0f, 0.0f, true).risen;
}

/* A pendulum released from rest. */
static f64 swing_energy(TruthCase *c)
{
    f32 ratio = truth_log_range(c, 1e-2f, 1e4f), tilt = truth_range(c, 0.05f, 2.5f);
    return hang_on_rope(c, ratio, 0.0f, tilt, true).risen;
}

static f64 swing_apart(TruthCase *c)
{
    f32 ratio = truth_log_range(c, 1e-2f, 1e4f), tilt = truth_range(c, 0.05f, 2.5f);
    return hang_on_rope(c, ratio, 0.0f, tilt, false).risen;
}

/* ---- rest ---- */

static bool add_jelly(Closed *of, TruthCase *c, Vec3 at, f32 size, SoftRange *range)
{
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    u32 n = 2 + truth_pick(c, 3), cells[3] = {n, n, n};
    def.young = truth_log_range(c, 2e4f, 2e5f);
    def.poisson = truth_range(c, 0.2f, 0.45f);
    def.mass_kg = truth_log_range(c, 100.0f, 500.0f) * size * size * size;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.damping = of->gravity > 0.0f ? 3.0f : 0.0f;
    def.friction = 0.6f;
    def.thickness = 0.01f;
    def.position = at;
    truth_say(c, " jelly %.2f m %u cells %.2f kg %.3g Pa", (f64)size, n, (f64)def.mass_kg,
              (f64)def.young);
    return soft_mesh_box(&mesh, vec3(size, size, size), cells, true, &error) == 0 &&
           closed_add_soft(of, &def, &mesh, range);
}

static bool add_balloon(Closed *of, TruthCase *c, Vec3 at, f32 radius, SoftRange *range)
{
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    u32 level = 1 + truth_pick(c, 2);
    def.pressure = truth_log_range(c, 2000.0f, 8000.0f);
    def.mass_kg = truth_log_range(c, 0.5f, 4.0f) * radius * radius * 12.6f;
    def.stretch_compliance = truth_log_range(c, 1e-5f, 1e-3f);
    def.damping = 3.0f;
    def.friction = 0.6f;
    def.thickness = 0.01f;
    def.position = at;
    truth_say(c, " balloon %.2f m level %u %.2f kg %.3g Pa", (f64)radius, level, (f64)def.mass_kg,
              (f64)def.pressure);
    return soft_mesh_sphere(&mesh, radius, level, &error) == 0 &&
           closed_add_soft(of, &def, &mesh, range);
}

/* With damping of 3 1/s: the largest speed in the last half second of ten, in mm/s. */
static f64 speed_at_end(Closed *of)
{
    f64 fastest = 0.0;
    for (f32 t = 0.0f; t < 10.0f; t += of->tick_s) {
        closed_tick(of);
        ClosedSums s = closed_sums(of);
        fastest = t > 9.5f ? fmax(fastest, s.fastest) : 0.0;
        if (!isfinite(s.fastest) || !isfinite(s.kinetic)) {
            return NAN;
        }
    }
    return 1000.0 * fastest;
}

/* A plate with a given mass ratio to the body below it. */
static f64 lay_plate(TruthCase *c, f32 lightest, f32 heaviest)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.5e-3f);
    f32 size = truth_range(c, 0.3f, 0.6f);
    bool balloon = truth_pick(c, 2) != 0;
    SoftRange range;
    closed_add_floor(&of);
    bool made =
        balloon ? add_balloon(&of, c, vec3(0.0f, 0.5f * size + 0.02f, 0.0f), 0.5f * size, &range)
                : add_jelly(&of, c, vec3(0.0f, 0.5f * size + 0.02f, 0.0f), size, &range);
    f32 mass = range.mass_kg * truth_log_range(c, lightest, heaviest);
    Shape plate = {.kind = SHAPE_BOX,
                   .half = vec3(truth_range(c, 0.8f, 1.2f) * size, truth_range(c, 0.02f, 0.06f),
                                truth_range(c, 0.8f, 1.2f) * size)};
    truth_say(c, " plate %.2f kg", (f64)mass);
    closed_add_body(&of, plate, mass, vec3(0.0f, size + plate.half.y + 0.06f, 0.0f),
                    quat_identity(), vec3_zero());
    f64 speed = made && soft_build(of.soft) == 0 ? speed_at_end(&of) : NAN;
    closed_finish(&of);
    return speed;
}

static f64 plate_rests(TruthCase *c)
{
    return lay_plate(c, 0.15f, 0.5f);
}

static f64 plate_rocks(TruthCase *c)
{
    return lay_plate(c, 0.02f, 0.15f);
}

static f64 heap_rests(TruthCase *c)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.5e-3f);
    bool made = true;
    u32 count = 2 + truth_pick(c, 3);
    closed_add_floor(&of);
    for (u32 i = 0; i < count; i++) {
        f32 size = truth_range(c, 0.25f, 0.4f);
        SoftRange range;
        Vec3 at =
            vec3(truth_range(c, -0.1f, 0.1f), 0.3f + 0.6f * (f32)i, truth_range(c, -0.1f, 0.1f));
        made = made && (truth_pick(c, 2) != 0 ? add_balloon(&of, c, at, 0.5f * size, &range)
                                              : add_jelly(&of, c, at, size, &range));
    }
    f64 speed = made && soft_build(of.soft) == 0 ? speed_at_end(&of) : NAN;
    closed_finish(&of);
    return speed;
}

/* ---- momentum, spin ---- */

static f64 largest(const f64 a[3], const f64 b[3])
{
    return fmax(fabs(a[0] - b[0]), fmax(fabs(a[1] - b[1]), fabs(a[2] - b[2])));
}

/* A ball thrown at a free sheet, jelly or balloon in space, with another ball pinned to it. */
static void collide_free(TruthCase *c, f64 *linear, f64 *angular)
{
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftRange range;
    f32 v = truth_range(c, 1.0f, 8.0f), mass = truth_log_range(c, 0.1f, 20.0f);
    Shape ball = {.kind = SHAPE_SPHERE, .radius = truth_range(c, 0.08f, 0.2f)};
    bool made = false;
    *linear = *angular = NAN;
    if (truth_pick(c, 2) != 0) {
        SoftMesh mesh;
        ErrorText error;
        SoftDef def = soft_def_default();
        u32 points = 8 + truth_pick(c, 8);
        BodyId held = closed_add_body(&of, ball, truth_log_range(c, 0.01f, 10.0f),
                                      vec3(0.5f, 0.6f, 0.0f), quat_identity(), vec3_zero());
        SoftPin pin = {.point = points * points - 1, .body = held};
        def.pins = &pin;
        def.pin_count = 1;
        def.mass_kg = truth_log_range(c, 0.1f, 2.0f);
        def.damping = 0.0f;
        def.position = vec3(-0.5f, -0.5f, 0.0f);
        truth_say(c, " sheet %.2f kg", (f64)def.mass_kg);
        made = soft_mesh_grid(&mesh, points, points, 1.0f, 1.0f, &error) == 0 &&
               closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0;
    } else {
        made = add_jelly(&of, c, vec3_zero(), 0.4f, &range) && soft_build(of.soft) == 0;
        v = 0.5f * v;
    }
    truth_say(c, " ball %.2f m %.2f kg %.1f m/s", (f64)ball.radius, (f64)mass, (f64)v);
    closed_add_body(&of, ball, mass,
                    vec3(truth_range(c, -0.2f, 0.2f), truth_range(c, -0.2f, 0.2f), -0.6f),
                    quat_identity(), vec3(truth_range(c, -0.2f, 0.2f) * v, 0.0f, v));
    ClosedSums before = closed_sums(&of), after = before;
    f64 scale = (f64)(mass * v), all = (f64)mass + (made ? (f64)range.mass_kg : 0.0);
    for (f32 t = 0.0f; made && t < 1.0f; t += of.tick_s) {
        closed_tick(&of);
        after = closed_sums(&of);
        scale = fmax(scale, sqrt(2.0 * after.kinetic * all));
    }
    if (made) {
        *linear = largest(before.momentum, after.momentum) / scale;
        *angular = largest(before.angular, after.angular) / (0.2 * scale);
    }
    closed_finish(&of);
}

static f64 momentum_linear(TruthCase *c)
{
    f64 linear, angular;
    collide_free(c, &linear, &angular);
    return linear;
}

static f64 momentum_angular(TruthCase *c)
{
    f64 linear, angular;
    collide_free(c, &linear, &angular);
    return angular;
}

/* Of a free soft body without damping: its loss of spin, 2 T / L, after it has reached its
 * rotating shape. */
static f64 spin_lost_by(TruthCase *c, u32 kinds, u32 first, f32 seconds)
{
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    SoftRange range;
    u32 kind = first + truth_pick(c, kinds), cells[3] = {3, 3, 3};
    f64 lost = NAN;
    int made;
    def.mass_kg = truth_range(c, 0.5f, 5.0f);
    def.damping = 0.0f;
    def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.5f, 8.0f));
    if (kind == 0) {
        def.young = truth_log_range(c, 2e4f, 1e6f);
        def.poisson = 0.3f;
        def.stretch_compliance = -1.0f;
        def.bend = SOFT_BEND_NONE;
        made = soft_mesh_box(&mesh, vec3(0.4f, 0.4f, 0.4f), cells, true, &error);
    } else if (kind == 1) {
        def.pressure = truth_log_range(c, 500.0f, 5000.0f);
        def.stretch_compliance = truth_log_range(c, 1e-6f, 1e-4f);
        made = soft_mesh_sphere(&mesh, 0.3f, 2, &error);
    } else if (kind == 2) {
        def.match = SOFT_MATCH_RIGID;
        def.stretch_compliance = -1.0f;
        def.bend = SOFT_BEND_NONE;
        made = soft_mesh_sphere(&mesh, 0.3f, 2, &error);
    } else {
        def.bend = SOFT_BEND_DIHEDRAL;
        def.bend_compliance = 1e-3f;
        def.angular_velocity = vec3(0.0f, 0.0f, vec3_length(def.angular_velocity));
        u32 points = kind == 3 ? 9 : 40; /* enough to be divided into slabs */
        made = soft_mesh_grid(&mesh, points, points, 1.0f, 1.0f, &error);
    }
    truth_say(c, " kind %u spin %.2f", kind, (f64)vec3_length(def.angular_velocity));
    if (made == 0 && closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0) {
        f64 spins[2];
        for (f32 t = 0.0f; t < 1.0f; t += of.tick_s) {
            closed_tick(&of);
        }
        for (u32 i = 0; i < 2; i++) {
            ClosedSums s = closed_sums(&of);
            f64 l = sqrt(s.angular[0] * s.angular[0] + s.angular[1] * s.angular[1] +
                         s.angular[2] * s.angular[2]);
            /* A large sheet keeps oscillating, and that energy would count as well. */
            spins[i] = kind == 4 ? l : 2.0 * s.kinetic / l;
            for (f32 t = 0.0f; i == 0 && t < seconds; t += of.tick_s) {
                closed_tick(&of);
            }
        }
        lost = fabs(1.0 - spins[1] / spins[0]);
    }
    closed_finish(&of);
    return lost;
}

static f64 spin_lost(TruthCase *c)
{
    return spin_lost_by(c, 4, 0, 20.0f);
}

static f64 spin_lost_cut(TruthCase *c)
{
    return spin_lost_by(c, 1, 4, 2.0f);
}

/* ---- matter of any stiffness, thrown ---- */

/* Largest rise of the kinetic and potential energy in 3 s, relative to the start; NaN: not
 * finite. */
static f64 rise_of(Closed *of)
{
    ClosedSums s = closed_sums(of);
    f64 start = s.kinetic + s.potential, risen = 0.0;
    for (f32 t = 0.0f; t < 3.0f && !isnan(risen); t += of->tick_s) {
        closed_tick(of);
        s = closed_sums(of);
        f64 now = (s.kinetic + s.potential) / start - 1.0;
        risen = isfinite(now) ? fmax(risen, now) : NAN;
    }
    return risen;
}

/* A block without damping thrown at a floor: energy gain relative to the initial energy. */
static f64 thrown_energy(TruthCase *c)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.0f);
    SoftMesh mesh;
    ErrorText error;
    SoftRange range;
    SoftDef def = soft_def_default();
    u32 n = 2 + truth_pick(c, 4), cells[3] = {n, 2 + truth_pick(c, 4), n};
    f32 size = truth_log_range(c, 0.1f, 1.0f);
    closed_add_floor(&of);
    def.young = truth_log_range(c, 1e4f, 1e7f);
    def.poisson = truth_range(c, 0.1f, 0.45f);
    def.mass_kg = truth_log_range(c, 100.0f, 3000.0f) * size * size * size;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.damping = 0.0f;
    def.friction = 0.4f;
    def.orientation = truth_rotation(c);
    def.position = vec3(0.0f, size + 0.1f, 0.0f);
    def.velocity = vec3_scale(truth_direction(c), truth_log_range(c, 0.5f, 10.0f));
    def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 10.0f));
    truth_say(c, " %u cells %.2f m %.0f kg/m3 %.2g Pa %.1f m/s", n, (f64)size,
              (f64)(def.mass_kg / (size * size * size)), (f64)def.young,
              (f64)vec3_length(def.velocity));
    f64 risen = NAN;
    if (soft_mesh_box(&mesh, vec3(size, size, size), cells, true, &error) == 0 &&
        closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0) {
        risen = rise_of(&of);
    }
    closed_finish(&of);
    return risen;
}

/* ---- every method ---- */

static bool make_sheet(SoftMesh *mesh, TruthCase *c, u32 kind, f32 size, SoftDef *def)
{
    ErrorText error;
    u32 n = 3 + truth_pick(c, 14), cells[3] = {2, 2, 2};
    static const SoftBend bends[] = {SOFT_BEND_NONE, SOFT_BEND_DISTANCE, SOFT_BEND_DIHEDRAL};
    f32 compliance = truth_pick(c, 3) == 0 ? 0.0f : truth_log_range(c, 1e-7f, 1e-1f);
    def->stretch_compliance = compliance;
    def->shear_compliance = 10.0f * compliance;
    def->bend = kind == 0 ? bends[truth_pick(c, 3)] : SOFT_BEND_NONE;
    truth_say(c, " kind %u %u points %.2f m %.2g m/N", kind, n, (f64)size, (f64)compliance);
    if (kind == 2) {
        def->stretch_compliance = -1.0f;
        def->young = truth_log_range(c, 1e4f, 1e6f);
        return soft_mesh_box(mesh, vec3(size, size, size), cells, true, &error) == 0;
    }
    return kind == 0 ? soft_mesh_grid(mesh, n, n, size, size, &error) == 0
                     : soft_mesh_rope(mesh, n, size, &error) == 0;
}

/* A sheet, rope or block of any method, free or held at a point, is thrown at a floor, and a body
 * at it. Nothing is stretched at first, so what moves never has more than at first: the largest
 * rise, of that. */
static f64 methods_energy(TruthCase *c)
{
    static const char *const names[] = {"xpbd",     "iterations", "pbd",  "euler",
                                        "midpoint", "verlet",     "relax"};
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.0f);
    SoftMesh mesh;
    SoftRange range;
    SoftDef def = soft_def_default();
    SoftPin pin = {.point = 0};
    u32 kind = truth_pick(c, 3);
    f32 size = truth_log_range(c, 0.1f, 2.0f);
    closed_add_floor(&of);
    def.method = (SoftMethod)truth_pick(c, PL_COUNT(names));
    truth_say(c, " %s", names[def.method]);
    bool made = make_sheet(&mesh, c, kind, size, &def);
    def.iterations = 1 + truth_pick(c, 30);
    def.stiffness = truth_range(c, 0.3f, 1.0f);
    def.mass_kg = truth_log_range(c, 0.05f, 5.0f) * size * size;
    def.damping = 0.0f;
    def.friction = truth_range(c, 0.0f, 1.0f);
    def.thickness = truth_range(c, 0.002f, 0.02f);
    def.pins = &pin;
    def.pin_count = truth_pick(c, 2);
    def.orientation = truth_rotation(c);
    def.position = vec3(0.0f, 2.0f * size + 0.1f, 0.0f);
    def.velocity = vec3_scale(truth_direction(c), truth_log_range(c, 0.5f, 10.0f));
    def.angular_velocity = vec3_scale(truth_direction(c), truth_range(c, 0.0f, 10.0f));
    f32 mass = def.mass_kg * truth_log_range(c, 0.1f, 100.0f);
    Vec3 at = vec3(0.0f, 4.0f * size + 0.3f, 0.0f);
    closed_add_body(&of, closed_shape(c, size * truth_range(c, 0.1f, 0.3f)), mass, at,
                    truth_rotation(c), vec3(0.0f, -truth_range(c, 0.0f, 10.0f), 0.0f));
    truth_say(c, " %.3f and %.3f kg %.1f m/s%s", (f64)def.mass_kg, (f64)mass,
              (f64)vec3_length(def.velocity), def.pin_count != 0 ? " held" : "");
    f64 risen = NAN;
    if (made && closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0) {
        risen = rise_of(&of);
    }
    closed_finish(&of);
    return risen;
}

/* Two sheets that are pinned through each other, or on each other: how far does a point get from
 * their middle, beyond twice their size? */
static f64 crossed_far(TruthCase *c)
{
    Closed of = closed_make(c, CLOSED_GRAVITY, 1.0f);
    f32 size = truth_log_range(c, 0.3f, 3.0f), far = 0.0f;
    u32 points = 6 + truth_pick(c, 18);
    bool made = true, level = truth_pick(c, 2) != 0; /* with edges on edges */
    for (u32 i = 0; i < 2; i++) {
        SoftMesh mesh;
        ErrorText error;
        SoftRange range;
        SoftPin pins[24];
        SoftDef def = soft_def_default();
        for (u32 k = 0; k < points; k++) {
            pins[k] = (SoftPin){.point = k};
        }
        def.pins = pins;
        def.pin_count = points;
        def.mass_kg = truth_log_range(c, 0.05f, 2.0f) * size * size;
        def.thickness = truth_range(c, 0.005f, 0.03f);
        def.orientation = level ? quat_identity() : truth_rotation(c);
        f32 cells = (f32)truth_pick(c, points) / (f32)(points - 1);
        Vec3 middle = vec3(cells * size, 0.2f * size, 0.0f);
        middle.y = level ? (f32)truth_pick(c, points) / (f32)(points - 1) * size : middle.y;
        middle.z = level ? truth_range(c, 0.0f, 1.0f) * def.thickness : 0.0f;
        def.position = vec3_neg(quat_rotate(def.orientation, middle));
        made = made && soft_mesh_grid(&mesh, points, points, size, size, &error) == 0 &&
               closed_add_soft(&of, &def, &mesh, &range);
    }
    made = made && soft_build(of.soft) == 0;
    for (f32 t = 0.0f; made && t < 0.5f; t += of.tick_s) {
        closed_tick(&of);
        for (u32 i = 0; i < soft_particles(of.soft); i++) {
            far = f32_max(far, vec3_length(soft_position(of.soft, i)));
        }
    }
    closed_finish(&of);
    return made ? fmax(0.0, (f64)(far / size) - 2.0) : NAN;
}

/* ---- thin walls ---- */

/* A kinematic plate of 2 cm moves through a hanging sheet, or a jelly in space: how many points
 * does it pass? Points that go around its rim are not counted. */
static f64 points_passed(TruthCase *c)
{
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftRange range;
    f32 v = truth_range(c, 1.0f, 20.0f);
    bool made, sheet = truth_pick(c, 2) != 0;
    if (sheet) {
        SoftMesh mesh;
        ErrorText error;
        SoftDef def = soft_def_default();
        u32 points = 6 + truth_pick(c, 12);
        SoftPin pin = {.point = points - 1};
        def.pins = &pin;
        def.pin_count = truth_pick(c, 2);
        def.mass_kg = 0.2f;
        def.position = vec3(-0.5f, -0.5f, 0.0f);
        truth_say(c, " sheet %u points %u pins", points, def.pin_count);
        made = soft_mesh_grid(&mesh, points, points, 1.0f, 1.0f, &error) == 0 &&
               closed_add_soft(&of, &def, &mesh, &range);
    } else {
        made = add_jelly(&of, c, vec3_zero(), truth_range(c, 0.2f, 0.5f), &range);
    }
    truth_say(c, " %.1f m/s", (f64)v);
    BodyDef def = body_def_default();
    def.shape = (Shape){.kind = SHAPE_BOX, .half = vec3(3.0f, 3.0f, 0.01f)};
    def.motion = BODY_KINEMATIC;
    def.position = vec3(0.0f, 0.0f, -1.0f);
    def.velocity = vec3(0.0f, 0.0f, v);
    BodyId plate = rigid_add(of.rigid, &def);
    f64 passed = NAN;
    if (made && soft_build(of.soft) == 0) {
        passed = 0.0;
        for (f32 t = 0.0f; t * v < 1.6f; t += of.tick_s) {
            closed_tick(&of);
        }
        for (u32 i = 0; i < soft_particles(of.soft); i++) {
            Vec3 p = soft_position(of.soft, i);
            f32 ahead = p.z - rigid_position(of.rigid, plate.slot).z;
            bool beside = fabsf(p.x) > 2.9f || fabsf(p.y) > 2.9f;
            passed += soft_inverse_mass(of.soft, i) > 0.0f && !(ahead > 0.0f) && !beside;
        }
    }
    closed_finish(&of);
    return passed;
}

/* ---- balls through cloth ---- */

typedef struct Throw {
    f64 through; /* m, largest distance of the ball beyond the whole sheet */
    f64 gained;  /* relative to the ball's initial energy */
} Throw;

/* A ball flies into a sheet held at its rim, or at its corners. */
static Throw throw_ball(TruthCase *c)
{
    Closed of = closed_make(c, 0.0f, 1.0f);
    SoftMesh mesh;
    ErrorText error;
    SoftPin pins[4 * 24];
    SoftDef def = soft_def_default();
    SoftRange range;
    Throw seen = {NAN, NAN};
    u32 points = 8 + truth_pick(c, 17), count = 0;
    bool corners = truth_pick(c, 3) == 0;
    f32 radius = truth_log_range(c, 0.02f, 0.2f), speed = truth_log_range(c, 1.0f, 30.0f);
    f32 mass = truth_log_range(c, 0.05f, 5.0f), aside = corners ? 0.05f : 0.25f;
    def.mass_kg = truth_log_range(c, 0.1f, 1.0f);
    def.position = vec3(-0.5f, -0.5f, 0.0f);
    def.thickness = truth_range(c, 0.005f, 0.02f);
    def.damping = 0.0f;
    truth_say(c, " %u points %.2f kg %s ball %.3f m %.2f kg %.1f m/s", points, (f64)def.mass_kg,
              corners ? "corners" : "rim", (f64)radius, (f64)mass, (f64)speed);
    Vec3 at = vec3(truth_range(c, -aside, aside), truth_range(c, -aside, aside), -0.3f);
    closed_add_body(&of, (Shape){.kind = SHAPE_SPHERE, .radius = radius}, mass, at, quat_identity(),
                    vec3(0.0f, 0.0f, speed));
    bool made = soft_mesh_grid(&mesh, points, points, 1.0f, 1.0f, &error) == 0;
    for (u32 i = 0; made && i < mesh.point_count; i++) {
        u32 x = i % points, y = i / points;
        bool side = x == 0 || x == points - 1, end = y == 0 || y == points - 1;
        if (corners ? side && end : side || end) {
            pins[count++] = (SoftPin){.point = i};
        }
    }
    def.pins = pins;
    def.pin_count = count;
    made = made && closed_add_soft(&of, &def, &mesh, &range) && soft_build(of.soft) == 0;
    if (made) {
        f64 start = closed_sums(&of).kinetic;
        seen = (Throw){0.0, 0.0};
        for (f32 t = 0.0f; t < 0.6f / speed + 0.3f; t += of.tick_s) {
            closed_tick(&of);
            f32 last = -INFINITY;
            for (u32 i = 0; i < soft_particles(of.soft); i++) {
                last = f32_max(last, soft_position(of.soft, i).z);
            }
            f32 z = rigid_centre(of.rigid, of.bodies[0].slot).z;
            seen.through = fmax(seen.through, (f64)(z - last));
            seen.gained = fmax(seen.gained, closed_sums(&of).kinetic / start - 1.0);
        }
    }
    closed_finish(&of);
    return seen;
}

static f64 ball_through(TruthCase *c)
{
    return throw_ball(c).through;
}

static f64 ball_gains(TruthCase *c)
{
    return throw_ball(c).gained;
}

const TruthLaw truth_soft[] = {
    {.name = "soft/held energy",
     .about = "energy that bodies on held sheets and bridges gain, of their fall",
     .unit = "",
     .bound = 0.01,
     .few = 6,
     .many = 100,
     .measure = held_energy},
    {.name = "soft/pinned still",
     .about = "speed of a body that hangs on a rope at rest, masses 1 : 10 000 to 1 : 1",
     .unit = "m/s",
     .bound = 0.05,
     .few = 8,
     .many = 200,
     .measure = light_still},
    {.name = "soft/pinned energy",
     .about = "energy that a body on a rope gains, masses 1 : 10 000 to 10 000 : 1, of its m g L",
     .unit = "",
     .bound = 0.01,
     .few = 8,
     .many = 200,
     .measure = pinned_energy},
    {.name = "soft/swing energy",
     .about = "released from 0.05 to 2.5 rad, masses 1 : 100 to 10 000 : 1: 1 of 600 gains more",
     .unit = "",
     .bound = 0.01,
     .few = 170,
     .many = 200,
     .measure = swing_energy},
    {.name = "soft/swing apart",
     .about = "the same without contact of rope and body",
     .unit = "",
     .bound = 0.01,
     .few = 8,
     .many = 200,
     .measure = swing_apart},
    {.name = "soft/plate rests",
     .about = "fastest point of a plate on jelly or a balloon after 10 s: goal 1 mm/s, reached 3",
     .unit = "mm/s",
     .bound = 3.0,
     .few = 3,
     .many = 40,
     .measure = plate_rests},
    {.name = "soft/plate rocks",
     .about = "the same of light plates, which rock on balloons: goal 1 mm/s, reached 3",
     .unit = "mm/s",
     .bound = 3.0,
     .few = 1,
     .many = 40,
     .measure = plate_rocks},
    {.name = "soft/heap rests",
     .about = "fastest point of a heap of jellies and balloons after 10 s: goal 1 mm/s, reached 3",
     .unit = "mm/s",
     .bound = 3.0,
     .few = 1,
     .many = 20,
     .measure = heap_rests},
    {.name = "soft/momentum",
     .about = "momentum gained by ball, sheet and jelly in space, of the total exchanged",
     .unit = "",
     .bound = 2e-5,
     .few = 4,
     .many = 60,
     .measure = momentum_linear},
    {.name = "soft/angular",
     .about = "the same for angular momentum, of that at 0.2 m: goal rounding, reached 2e-3",
     .unit = "",
     .bound = 2e-3,
     .few = 4,
     .many = 60,
     .measure = momentum_angular},
    {.name = "soft/spin",
     .about = "spin lost by a free soft body without damping in 20 s",
     .unit = "",
     .bound = 0.02,
     .few = 3,
     .many = 40,
     .measure = spin_lost},
    {.name = "soft/spin cut",
     .about = "angular momentum lost by sheets that are cut for threads in 2 s",
     .unit = "",
     .bound = 0.002,
     .few = 1,
     .many = 8,
     .measure = spin_lost_cut},
    {.name = "soft/thrown",
     .about = "energy that a thrown block of matter of any stiffness gains, of its own",
     .unit = "",
     .bound = 0.01,
     .few = 4,
     .many = 80,
     .measure = thrown_energy},
    {.name = "soft/methods",
     .about = "energy that a sheet, rope or block of any method gains, thrown: 3 of 400 gain more",
     .unit = "",
     .bound = 0.01,
     .few = 14,
     .many = 400,
     .measure = methods_energy},
    {.name = "soft/crossed",
     .about = "how far points of sheets get that are pinned through each other, of their size",
     .unit = "",
     .bound = 1.0,
     .few = 20,
     .many = 400,
     .measure = crossed_far},
    {.name = "soft/wall",
     .about = "points that a thin moving wall passes",
     .unit = "points",
     .bound = 0.0,
     .few = 4,
     .many = 600,
     .measure = points_passed},
    {.name = "soft/through",
     .about = "how far a ball of up to 50 times its mass gets beyond a held sheet: 1 of 200 do",
     .unit = "m",
     .bound = 0.0,
     .few = 60,
     .many = 200,
     .measure = ball_through},
    {.name = "soft/thrown at",
     .about = "energy that such a ball and sheet gain, of what the ball had: 1 of 100 gain more",
     .unit = "",
     .bound = 0.01,
     .few = 6,
     .many = 200,
     .measure = ball_gains},
    {.name = NULL},
};
