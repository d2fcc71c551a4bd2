/* truth_stiff.c: laws of stiffness, drag and dents; see truth.h. */
#include "tests/support/truth.h"

#include "server/physics/rigid/collider.h"
#include "server/physics/soft/soft.h"

#include <math.h>
#include <stdlib.h>

static const f32 gravity = 9.81f;
/* A rope along x, rotated to hang. */
static const Quat downwards = {0.70710678f, 0.0f, 0.0f, -0.70710678f};
/* A grid in x and y, rotated to lie flat. */
static const Quat lying = {0.70710678f, 0.70710678f, 0.0f, 0.0f};

/* A rigid world and a particle store, and their time steps. */
typedef struct Stage {
    Rigid *rigid;
    RigidCollider bodies_met; /* by the soft bodies */
    Soft *soft;
    f32 tick_s;
    u32 substeps, steps;
    bool failed;
} Stage;

static Stage stage_create(TruthCase *c, f32 hz_min, u32 substeps_min)
{
    Stage stage = {.substeps = substeps_min + truth_pick(c, 17 - substeps_min), .steps = 3};
    f32 hz = floorf(truth_range(c, hz_min, 121.0f));
    stage.tick_s = 1.0f / hz;
    RigidDef def = {.body_capacity = 4,
                    .tick_s = stage.tick_s,
                    .substeps = stage.substeps,
                    .gravity = {0.0f, -gravity, 0.0f}};
    stage.rigid = rigid_create(&def);
    stage.soft = soft_create();
    stage.failed = stage.rigid == NULL || stage.soft == NULL;
    if (!stage.failed) {
        soft_set_gravity(stage.soft, vec3(0.0f, -gravity, 0.0f));
        soft_set_wind(stage.soft, vec3_zero(), 0.0f);
        soft_set_steps(stage.soft, stage.steps);
    }
    truth_say(c, "%.0f Hz x %u", (double)hz, stage.substeps);
    return stage;
}

static void stage_destroy(Stage *stage)
{
    rigid_destroy(stage->rigid);
    rigid_collider_finish(&stage->bodies_met);
    soft_destroy(stage->soft);
}

static Collider stage_collider(Stage *stage)
{
    stage->bodies_met.rigid = stage->rigid;
    return rigid_collider(&stage->bodies_met);
}

/* Adds a body and finishes its mesh. */
static SoftRange stage_add(Stage *stage, SoftDef *def, SoftMesh *mesh)
{
    SoftRange range = {0};
    ErrorText error;
    Collider bodies = stage_collider(stage);
    def->mesh = mesh;
    stage->failed = stage->failed || soft_add(stage->soft, &bodies, def, &range, &error) != 0 ||
                    soft_build(stage->soft) != 0;
    soft_mesh_finish(mesh);
    return range;
}

static void stage_run(Stage *stage, f32 seconds)
{
    u32 ticks = (u32)(seconds / stage->tick_s) + 1;
    Collider bodies = stage_collider(stage);
    for (u32 i = 0; i < ticks && !stage->failed; i++) {
        rigid_collide(stage->rigid, NULL);
        soft_begin(stage->soft, (SoftOthers){&bodies, 1}, NULL, stage->tick_s);
        rigid_prepare(stage->rigid);
        for (u32 s = 0; s < stage->substeps; s++) {
            rigid_substep(stage->rigid);
            soft_substep(stage->soft, stage->tick_s / (f32)stage->substeps);
        }
        rigid_finish(stage->rigid);
    }
}

static f64 mean_y(const Soft *soft, u32 first, u32 count)
{
    f64 sum = 0.0;
    for (u32 i = first; i < first + count; i++) {
        sum += (f64)soft_position(soft, i).y;
    }
    return sum / count;
}

/* ---- a rope with a load ---- */

typedef struct RopeCase {
    u32 points;
    f32 mass, load;    /* kg of the rope and of the load */
    f32 length;        /* m, of the rope */
    f32 compliance;    /* m/N for each link */
    f64 stretch;       /* m, by theory */
    f32 rate, seconds; /* 1/s and s: to come to rest */
} RopeCase;

static RopeCase draw_rope(TruthCase *c)
{
    RopeCase r = {.points = 8 + truth_pick(c, 193)};
    r.mass = truth_log_range(c, 0.01f, 5.0f);
    r.load = truth_log_range(c, 0.1f, 200.0f);
    r.length = truth_log_range(c, 0.5f, 5.0f);
    r.rate = 2.0f;
    r.seconds = 3.0f;
    f32 links = (f32)(r.points - 1), force = gravity * (r.load + 0.5f * r.mass);
    if (truth_pick(c, 2) != 0) {
        f32 share = truth_log_range(c, 1e-3f, 0.2f);
        r.compliance = share * r.length / (force * links);
        f32 omega = sqrtf(1.0f / (r.compliance * links * (r.load + r.mass / 3.0f)));
        r.rate = fminf(2.0f * omega, 30.0f);
        r.seconds = fmaxf(3.0f, 12.0f / omega);
    }
    r.stretch = (f64)(r.compliance * links * force);
    truth_say(c, ", %u points, %.3g m, %.3g kg bear %.4g kg, %.2g m/N", r.points, (double)r.length,
              (double)r.mass, (double)r.load, (double)r.compliance);
    return r;
}

/* A load pinned to the last point of a rope, at its own centre or beside it. */
static f64 rope_stretch(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    RopeCase r = draw_rope(c);
    BodyDef load = body_def_default();
    load.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.1f};
    load.motion = BODY_DYNAMIC;
    load.mass_kg = r.load;
    load.position = vec3(0.0f, -r.length - (truth_pick(c, 2) != 0 ? 0.1f : 0.0f), 0.0f);
    load.linear_damping = r.rate;
    load.angular_damping = 2.0f;
    SoftMesh mesh;
    ErrorText error;
    if (stage.failed || soft_mesh_rope(&mesh, r.points, r.length, &error) != 0) {
        stage_destroy(&stage);
        return NAN;
    }
    SoftPin pins[2] = {{.point = 0}, {.point = r.points - 1}};
    pins[1].body = rigid_add(stage.rigid, &load);
    SoftDef def = soft_def_default();
    def.mass_kg = r.mass;
    def.orientation = downwards;
    def.stretch_compliance = r.compliance;
    def.bend = SOFT_BEND_NONE; /* joins every other point, and so would carry load */
    def.damping = r.rate;
    def.thickness = 0.005f;
    def.mask = 2;
    def.group = 2;
    def.pins = pins;
    def.pin_count = 2;
    SoftRange range = stage_add(&stage, &def, &mesh);
    stage_run(&stage, r.seconds);
    f64 length = stage.failed ? NAN : 0.0;
    for (u32 i = 0; !stage.failed && i + 1 < range.count; i++) {
        length += (f64)vec3_distance(soft_position(stage.soft, range.first + i),
                                     soft_position(stage.soft, range.first + i + 1));
    }
    stage_destroy(&stage);
    return 100.0 * fabs(length - (f64)r.length - r.stretch) / (f64)r.length;
}

/* ---- a cloth that hangs from its upper edge ---- */

typedef struct ClothCase {
    u32 columns, rows;
    f32 length; /* m, from the upper edge to the lower */
    f32 density, compliance;
} ClothCase;

/* Elongation under its own weight, as a fraction of its length; NaN if it cannot be created. */
static f64 hanging_stretch(Stage *stage, const ClothCase *h, SoftDef *def)
{
    SoftMesh mesh;
    ErrorText error;
    f32 width = h->length * (f32)(h->columns - 1) / (f32)(h->rows - 1);
    SoftPin *pins = calloc(h->columns, sizeof *pins);
    if (stage->failed || pins == NULL ||
        soft_mesh_grid(&mesh, h->columns, h->rows, width, h->length, &error) != 0) {
        free(pins);
        return NAN;
    }
    for (u32 i = 0; i < h->columns; i++) {
        pins[i].point = h->columns * (h->rows - 1) + i;
    }
    def->mass_kg = h->density * width * h->length;
    def->stretch_compliance = h->compliance;
    def->damping = 2.0f;
    def->pins = pins;
    def->pin_count = h->columns;
    SoftRange range = stage_add(stage, def, &mesh);
    free(pins);
    stage_run(stage, 4.0f);
    f64 stretch = stage->failed ? NAN : -mean_y(stage->soft, range.first, h->columns);
    return stretch / (f64)h->length;
}

static ClothCase draw_cloth(TruthCase *c)
{
    ClothCase h = {.rows = 8 + truth_pick(c, 93), .columns = 3 + truth_pick(c, 8)};
    h.length = truth_log_range(c, 0.5f, 3.0f);
    h.density = truth_log_range(c, 0.05f, 1.0f);
    truth_say(c, ", %u x %u, %.3g m, %.3g kg/m2", h.columns, h.rows, (double)h.length,
              (double)h.density);
    return h;
}

/* With warp and weft only: the sum of the elongations of each lengthwise thread. */
static f64 threads_stretch(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    ClothCase h = draw_cloth(c);
    SoftDef def = soft_def_default();
    /* Σ α T = α m g (N² / 2) of N cells of mass m; those at the sides bear half of it. */
    f32 cell = h.length / (f32)(h.rows - 1), weight = h.density * cell * cell * gravity;
    f32 inner = (f32)(h.columns - 1) / (f32)h.columns;
    f32 sum = 0.5f * inner * weight * (f32)((h.rows - 1) * (h.rows - 1));
    h.compliance = truth_log_range(c, 1e-4f, 0.25f) * h.length / sum;
    truth_say(c, ", %.2g m/N", (double)h.compliance);
    def.shear_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    f64 value = hanging_stretch(&stage, &h, &def);
    stage_destroy(&stage);
    return 100.0 * fabs(value - (f64)(h.compliance * sum / h.length));
}

/* With diagonals and bending as in any scene's cloth, with inextensible threads: the residual
 * stretch relative to that of one pass over single edges, g h² n² / 2. */
static f64 cloth_residue(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    ClothCase h = draw_cloth(c);
    SoftDef def = soft_def_default();
    h.compliance = 1e-7f;
    f64 value = hanging_stretch(&stage, &h, &def);
    f32 step = stage.tick_s / (f32)(stage.substeps * stage.steps);
    f32 once = 0.5f * gravity * step * step * (f32)((h.rows - 1) * (h.rows - 1)) / h.length;
    stage_destroy(&stage);
    return 100.0 * value / (f64)(once + 2e-3f);
}

/* A cloth hangs from one of its corners, and a body of 10 to 10 000 times its mass from any of its
 * points: how much longer is the way between the two than one chain of threads and diagonals would
 * be, in percent of it? */
static f64 corner_stretch(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    u32 n = 4 + truth_pick(c, 14), x = 1 + truth_pick(c, n - 1), y = 1 + truth_pick(c, n - 1);
    f32 size = truth_log_range(c, 0.3f, 2.0f), cell = size / (f32)(n - 1);
    f32 away = cell * sqrtf((f32)(x * x + y * y)), turn = -1.5707963f - atan2f((f32)y, (f32)x);
    SoftDef def = soft_def_default();
    def.mass_kg = truth_log_range(c, 0.02f, 0.5f) * size * size;
    BodyDef load = body_def_default();
    load.shape = (Shape){.kind = SHAPE_SPHERE, .radius = 0.05f};
    load.mass_kg = def.mass_kg * truth_log_range(c, 10.0f, 1e4f);
    load.position = vec3(0.0f, -away, 0.0f);
    load.linear_damping = load.angular_damping = 4.0f;
    f32 force = gravity * (load.mass_kg + def.mass_kg);
    u32 diagonals = x < y ? x : y, threads = (x < y ? y : x) - diagonals;
    def.stretch_compliance = truth_log_range(c, 1e-4f, 0.05f) * cell / force;
    def.shear_compliance = def.stretch_compliance * truth_log_range(c, 1.0f, 10.0f);
    f32 asked =
        force * ((f32)diagonals * def.shear_compliance + (f32)threads * def.stretch_compliance);
    truth_say(c, ", %u², %u and %u, %.2f m %.3f kg bear %.3g kg, asked %.2g m", n, x, y,
              (double)size, (double)def.mass_kg, (double)load.mass_kg, (double)asked);
    SoftMesh mesh;
    ErrorText error;
    if (stage.failed || soft_mesh_grid(&mesh, n, n, size, size, &error) != 0) {
        stage_destroy(&stage);
        return NAN;
    }
    SoftPin pins[2] = {{.point = 0}, {.point = y * n + x}};
    pins[1].body = rigid_add(stage.rigid, &load);
    def.damping = 4.0f;
    def.mask = def.group = 2;
    def.orientation = (Quat){cosf(0.5f * turn), 0.0f, 0.0f, sinf(0.5f * turn)};
    def.pins = pins;
    def.pin_count = 2;
    SoftRange range = stage_add(&stage, &def, &mesh);
    stage_run(&stage, 4.0f);
    f64 length = stage.failed
                     ? NAN
                     : (f64)vec3_distance(soft_position(stage.soft, range.first),
                                          soft_position(stage.soft, range.first + y * n + x));
    stage_destroy(&stage);
    return isnan(length) ? NAN : 100.0 * fmax(0.0, (length - (f64)away - (f64)asked) / (f64)away);
}

/* ---- a cantilever ---- */

/* Timoshenko beam, clamped at one end: deflection of the other for 1 m/s² of gravity. */
static f64 beam_drop(f64 length, f64 side, f64 density, f64 young, f64 poisson)
{
    f64 area = side * side, inertia = area * area / 12.0, load = density * area;
    f64 shear = young / (2.0 * (1.0 + poisson));
    return load * length * length * length * length / (8.0 * young * inertia) +
           load * length * length / (2.0 * 5.0 / 6.0 * shear * area);
}

enum {
    BEAM_ALONG = 20, /* cells */
    BEAM_ACROSS = 4
};

/* Softer than theory, in percent; too stiff counts as well, beyond 60 %. */
static f64 cantilever_drop(TruthCase *c)
{
    static const u32 cells[3] = {BEAM_ALONG, BEAM_ACROSS, BEAM_ACROSS};
    SoftPin pins[(BEAM_ACROSS + 1) * (BEAM_ACROSS + 1)] = {0};
    Stage stage = stage_create(c, 30.0f, 1);
    f32 young = truth_log_range(c, 1e5f, 1e7f), poisson = truth_range(c, 0.1f, 0.4f);
    f32 side = truth_log_range(c, 0.02f, 0.4f), length = 5.0f * side;
    f32 density = truth_log_range(c, 200.0f, 3000.0f);
    truth_say(c, ", %.3g MPa, %.3g m across, %.0f kg/m3", (double)young * 1e-6, (double)side,
              (double)density);
    SoftMesh mesh;
    ErrorText error;
    if (stage.failed || soft_mesh_box(&mesh, vec3(length, side, side), cells, true, &error) != 0) {
        stage_destroy(&stage);
        return NAN;
    }
    f64 drop = (f64)truth_range(c, 0.005f, 0.03f) * (f64)length;
    f64 pull = drop / beam_drop((f64)length, (f64)side, (f64)density, (f64)young, (f64)poisson);
    SoftDef def = soft_def_default();
    def.mass_kg = density * side * side * length;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.young = young;
    def.poisson = poisson;
    f32 omega = 3.516f * sqrtf(young * side * side / (12.0f * density)) / (length * length);
    def.damping = 2.0f * omega;
    def.pins = pins;
    for (u32 i = 0; i < mesh.point_count; i++) {
        if (mesh.points[i].x < -0.499f * length) {
            pins[def.pin_count++].point = i;
        }
    }
    f32 end = 0.499f * length;
    bool *tip = calloc(mesh.point_count, sizeof *tip);
    for (u32 i = 0; tip != NULL && i < mesh.point_count; i++) {
        tip[i] = mesh.points[i].x > end;
    }
    soft_set_gravity(stage.soft, vec3(0.0f, -(f32)pull, 0.0f));
    SoftRange range = stage_add(&stage, &def, &mesh);
    stage_run(&stage, fminf(fmaxf(12.0f / omega, 0.5f), 3.0f));
    f64 sum = 0.0;
    u32 tips = 0;
    for (u32 i = 0; !stage.failed && tip != NULL && i < range.count; i++) {
        sum -= tip[i] ? (f64)soft_position(stage.soft, range.first + i).y : 0.0;
        tips += tip[i];
    }
    free(tip);
    stage_destroy(&stage);
    f64 ratio = sum / tips / drop;
    return 100.0 * (ratio >= 1.0 ? ratio - 1.0 : fmax(0.0, 0.4 - ratio));
}

/* ---- drag ---- */

/* f = ((w − v)·n) n A ρ: a flat cloth falls with m g / (A ρ). It starts near that speed, as it
 * would not stay flat in a long fall. */
static f64 terminal_speed(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    f32 density = truth_log_range(c, 0.02f, 1.0f), air = truth_log_range(c, 0.3f, 3.0f);
    f32 size = truth_log_range(c, 0.3f, 3.0f), fall = density * gravity / air;
    u32 side = 4 + truth_pick(c, 13);
    truth_say(c, ", %u x %u, %.3g m, %.3g kg/m2, air %.3g kg/m3", side, side, (double)size,
              (double)density, (double)air);
    SoftMesh mesh;
    ErrorText error;
    if (stage.failed || soft_mesh_grid(&mesh, side, side, size, size, &error) != 0) {
        stage_destroy(&stage);
        return NAN;
    }
    SoftDef def = soft_def_default();
    def.mass_kg = density * size * size;
    def.orientation = lying;
    def.velocity = vec3(0.0f, truth_range(c, -1.04f, -0.96f) * fall, 0.0f);
    def.damping = 0.0f;
    soft_set_wind(stage.soft, vec3_zero(), air);
    SoftRange range = stage_add(&stage, &def, &mesh);
    stage_run(&stage, fminf(3.0f * density / air, 1.0f));
    f32 seconds = 0.1f, before = (f32)mean_y(stage.soft, range.first, range.count);
    u32 ticks = (u32)(seconds / stage.tick_s) + 1;
    stage_run(&stage, seconds);
    f32 after = (f32)mean_y(stage.soft, range.first, range.count);
    f64 speed = (f64)(before - after) / (f64)((f32)ticks * stage.tick_s);
    stage_destroy(&stage);
    return 100.0 * fabs(speed / (f64)fall - 1.0);
}

/* ---- a balloon ---- */

/* A sphere of springs under pressure: Σ l² (λ − 1) / α = 4 π R³ p λ². */
static f64 balloon_stretch(TruthCase *c)
{
    Stage stage = stage_create(c, 60.0f, 4);
    u32 level = 2 + truth_pick(c, 3);
    f32 radius = truth_log_range(c, 0.2f, 1.0f), mass = truth_log_range(c, 0.05f, 1.0f);
    f32 compliance = truth_log_range(c, 1e-5f, 1e-3f);
    /* Stretches it by some percent. */
    f32 share = truth_log_range(c, 0.02f, 0.2f);
    f32 pressure = 3.46f * share / (radius * compliance);
    truth_say(c, ", level %u, %.3g m, %.3g kg, %.2g m/N, %.3g kPa", level, (double)radius,
              (double)mass, (double)compliance, (double)pressure * 1e-3);
    SoftMesh mesh;
    ErrorText error;
    if (stage.failed || soft_mesh_sphere(&mesh, radius, level, &error) != 0) {
        stage_destroy(&stage);
        return NAN;
    }
    f64 squares = 0.0; /* each edge belongs to two triangles */
    for (u32 i = 0; i < 3 * mesh.triangle_count; i++) {
        u32 next = i % 3 == 2 ? i - 2 : i + 1;
        f64 l =
            (f64)vec3_distance(mesh.points[mesh.triangles[i]], mesh.points[mesh.triangles[next]]);
        squares += 0.5 * l * l;
    }
    SoftDef def = soft_def_default();
    def.mass_kg = mass;
    def.stretch_compliance = compliance;
    def.bend = SOFT_BEND_NONE;
    def.damping = 3.0f;
    def.pressure = pressure;
    def.inflate_s = 1.0f;
    soft_set_gravity(stage.soft, vec3_zero());
    SoftRange range = stage_add(&stage, &def, &mesh);
    f64 rest = (f64)soft_volume(stage.soft, range.body);
    stage_run(&stage, 3.0f);
    f64 stretch = cbrt((f64)soft_volume(stage.soft, range.body) / rest);
    f64 asked = (f64)soft_pressure(stage.soft, range.body) * 3.0 * rest * stretch * stretch *
                (f64)compliance / squares;
    stage_destroy(&stage);
    return 100.0 * fabs((stretch - 1.0) / asked - 1.0);
}

/* ---- dents ---- */

enum {
    LOAF_POINTS_MAX = 700
};

/* A plastic block and a finger (or a falling ball) above its top. */
typedef struct Dent {
    Stage stage;
    BodyId finger;
    SoftRange loaf;
    Vec3 half;
    f32 thickness, depth, radius;
    Vec3 before[LOAF_POINTS_MAX];
    bool top[LOAF_POINTS_MAX];
} Dent;

static void add_ground(Stage *stage)
{
    BodyDef ground = body_def_default();
    ground.shape.kind = SHAPE_PLANE;
    ground.motion = BODY_STATIC;
    ground.friction = 0.8f;
    if (!stage->failed) {
        rigid_add(stage->rigid, &ground);
    }
}

static bool add_loaf(TruthCase *c, Dent *d)
{
    static const SoftMatch kinds[3] = {SOFT_MATCH_RIGID, SOFT_MATCH_LINEAR, SOFT_MATCH_QUADRATIC};
    u32 n = 6 + truth_pick(c, 4), kind = truth_pick(c, 3), cells[3] = {n, 3, n};
    f32 size = truth_log_range(c, 0.1f, 1.0f), density = truth_log_range(c, 300.0f, 3000.0f);
    SoftMesh mesh;
    ErrorText error;
    SoftDef def = soft_def_default();
    d->half = vec3(0.5f * size, 0.25f * size, 0.5f * size);
    d->thickness = 0.01f * size;
    def.mass_kg = density * 0.5f * size * size * size;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.match = kinds[kind];
    def.match_stiffness = truth_log_range(c, 0.25f, 0.5f); /* or it flows under its weight */
    def.match_beta = truth_range(c, 0.0f, 0.5f);
    def.yield = truth_log_range(c, 0.005f, 0.03f);
    def.creep = truth_log_range(c, 10.0f, 200.0f);
    def.plastic_max = truth_range(c, 0.5f, 1.0f);
    def.damping = 2.0f;
    def.friction = 0.8f;
    def.thickness = d->thickness;
    def.position = vec3(0.0f, d->half.y + d->thickness, 0.0f);
    truth_say(c, ", match %u, %u cells, %.3g m, yield %.2g creep %.0f", kind, n, (double)size,
              (double)def.yield, (double)def.creep);
    if (d->stage.failed ||
        soft_mesh_box(&mesh, vec3(size, 0.5f * size, size), cells, true, &error) != 0) {
        return false;
    }
    for (u32 i = 0; i < mesh.point_count; i++) {
        d->top[i] = mesh.points[i].y > 0.99f * d->half.y;
    }
    d->loaf = stage_add(&d->stage, &def, &mesh);
    return !d->stage.failed;
}

/* Largest depth of the top below its rim; and the displacement of its rim. */
static void measure_dent(const Dent *d, f64 *depth, f64 *rim)
{
    f64 edge = 0.0, lowest = INFINITY;
    u32 count = 0;
    *rim = 0.0;
    for (u32 i = 0; i < d->loaf.count; i++) {
        Vec3 at = soft_position(d->stage.soft, d->loaf.first + i), was = d->before[i];
        bool far = fabsf(was.x) > 0.9f * d->half.x && fabsf(was.z) > 0.9f * d->half.z;
        if (d->top[i] && far) {
            edge += (f64)at.y;
            count++;
            *rim = fmax(*rim, fabs((f64)(at.y - was.y)));
        }
        lowest = d->top[i] ? fmin(lowest, (f64)at.y) : lowest;
    }
    *depth = edge / fmax(count, 1.0) - lowest;
}

static void move_finger(Dent *d, f32 speed, f32 way)
{
    rigid_set_velocity(d->stage.rigid, d->finger.slot, vec3(0.0f, speed, 0.0f), vec3_zero());
    stage_run(&d->stage, way / fabsf(speed));
}

/* Deviation in percent of a dent, 3 s after a finger pressed it, from its depth; displacement of
 * the rim counts as well, and a dent of less than 0.7 of the finger's travel. */
static f64 dent_lost(TruthCase *c)
{
    Dent d = {.stage = stage_create(c, 30.0f, 4)};
    add_ground(&d.stage);
    if (!add_loaf(c, &d)) {
        stage_destroy(&d.stage);
        return NAN;
    }
    stage_run(&d.stage, 1.0f);
    for (u32 i = 0; i < d.loaf.count; i++) {
        d.before[i] = soft_position(d.stage.soft, d.loaf.first + i);
    }
    BodyDef finger = body_def_default();
    f32 radius = d.half.x * truth_range(c, 0.35f, 0.5f);
    f32 gap = 0.02f * d.half.x, depth = radius * truth_range(c, 0.4f, 0.8f);
    finger.shape = (Shape){.kind = SHAPE_SPHERE, .radius = radius};
    finger.motion = BODY_KINEMATIC;
    finger.position = vec3(0.0f, 2.0f * (d.half.y + d.thickness) + radius + gap, 0.0f);
    d.finger = rigid_add(d.stage.rigid, &finger);
    truth_say(c, ", finger %.3g m %.3g deep", (double)radius, (double)depth);
    move_finger(&d, -2.0f * depth, depth + gap);
    move_finger(&d, -1e-6f, 1e-6f);
    f64 pushed, left, rim;
    measure_dent(&d, &pushed, &rim);
    move_finger(&d, 2.0f * depth, 4.0f * depth + radius);
    rigid_set_velocity(d.stage.rigid, d.finger.slot, vec3_zero(), vec3_zero());
    stage_run(&d.stage, 3.0f);
    measure_dent(&d, &left, &rim);
    stage_destroy(&d.stage);
    f64 shallow = fmax(0.0, 0.7 - pushed / (f64)depth);
    return 100.0 * fmax(fmax(fabs(left / pushed - 1.0), rim / pushed), shallow);
}

/* ---- friction on strained cloth ---- */

static const f64 lean_deg_s = 5.0; /* rate at which gravity tilts */

/* A level sheet held at its rim. */
static SoftRange add_held_sheet(TruthCase *c, Stage *stage, f32 size, f32 friction)
{
    SoftPin pins[4 * 24];
    SoftMesh mesh;
    ErrorText error;
    SoftRange range = {0};
    u32 points = 9 + truth_pick(c, 12);
    SoftDef def = soft_def_default();
    def.pins = pins;
    for (u32 i = 0; i < points * points; i++) {
        u32 x = i % points, y = i / points;
        if (x == 0 || x == points - 1 || y == 0 || y == points - 1) {
            pins[def.pin_count++] = (SoftPin){.point = i};
        }
    }
    def.mass_kg = truth_log_range(c, 0.1f, 0.5f) * size * size;
    def.thickness = 0.01f;
    def.friction = def.static_friction = friction;
    def.stretch_compliance = truth_log_range(c, 1e-5f, 1e-3f);
    def.damping = 1.0f;
    def.orientation = lying;
    truth_say(c, ", %u points of %.2f m, %.2g kg, %.2g m/N", points, (double)size,
              (double)def.mass_kg, (double)def.stretch_compliance);
    stage->failed = stage->failed || soft_mesh_grid(&mesh, points, points, size, size, &error) != 0;
    return stage->failed ? range : stage_add(stage, &def, &mesh);
}

/* Horizontal position of a particle in a body's frame. */
static Vec3 place_under(const Stage *stage, u32 particle, u32 slot)
{
    Vec3 off = vec3_sub(soft_position(stage->soft, particle), rigid_centre(stage->rigid, slot));
    Vec3 at = quat_rotate_inverse(rigid_orientation(stage->rigid, slot), off);
    return vec3(at.x, 0.0f, at.z);
}

static f64 angle_between(Vec3 a, Vec3 b)
{
    return atan2((f64)vec3_length(vec3_cross(a, b)), (f64)vec3_dot(a, b)) * 57.29578;
}

/* Slope, in degrees, of a sheet of `row` by `row` points where it leaves a box that ends at x. */
static f64 dip_beside(const Stage *stage, SoftRange sheet, u32 row, f32 x)
{
    u32 last = sheet.first + (row / 2) * row + row - 1, i = last - row / 2;
    while (i + 1 < last && soft_position(stage->soft, i).x < x) {
        i++;
    }
    Vec3 along = vec3_sub(soft_position(stage->soft, i + 1), soft_position(stage->soft, i));
    return 57.29578 * atan2(fmax((f64)along.y, 0.0), (f64)along.x);
}

/* Degrees by which a box on a strained sheet slides too early or too late as gravity tilts: the
 * slope is that of its own bottom against gravity when it began to slide, plus the dip of the sheet
 * beside it, which may hold it too. */
static f64 strained_friction(TruthCase *c)
{
    Stage stage = stage_create(c, 30.0f, 4);
    f32 friction = truth_range(c, 0.2f, 0.7f), size = truth_range(c, 1.0f, 3.0f);
    f32 half = truth_range(c, 0.06f, 0.12f) * size;
    SoftRange sheet = add_held_sheet(c, &stage, size, friction);
    BodyDef box = body_def_default();
    box.shape = (Shape){.kind = SHAPE_BOX, .half = {half, 0.3f * half, half}};
    box.mass_kg = truth_log_range(c, 0.1f, 2.0f);
    box.friction = friction;
    truth_say(c, ", box %.2f m %.2f kg, friction %.2f", (double)half, (double)box.mass_kg,
              (double)friction);
    if (stage.failed) {
        stage_destroy(&stage);
        return NAN;
    }
    u32 row = (u32)(sqrtf((f32)sheet.count) + 0.5f);
    u32 under = sheet.first + (row / 2) * (row + 1);
    box.position = soft_position(stage.soft, under);
    box.position.y += 0.3f * half + 0.011f;
    u32 slot = rigid_add(stage.rigid, &box).slot;
    stage_run(&stage, 4.0f);
    Vec3 from = place_under(&stage, under, slot), down = vec3(0.0f, -gravity, 0.0f);
    f64 dips = dip_beside(&stage, sheet, row, rigid_centre(stage.rigid, slot).x + half);
    f64 holds = 57.29578 * atan((f64)friction), lean = 0.0, slope = 0.0;
    /* Sliding begins slowly: x = g w t³ / (6 cos), w the rate of the lean. */
    f64 w = lean_deg_s / 57.29578, way = 0.1 * (f64)half;
    f64 late = lean_deg_s * cbrt(6.0 * way * cos(holds / 57.29578) / ((f64)gravity * w));
    while (vec3_distance(place_under(&stage, under, slot), from) < (f32)way && lean < 60.0) {
        lean += lean_deg_s * (f64)stage.tick_s;
        f32 angle = (f32)(lean / 57.29578);
        down = vec3(gravity * sinf(angle), -gravity * cosf(angle), 0.0f);
        rigid_set_gravity(stage.rigid, down);
        soft_set_gravity(stage.soft, down);
        stage_run(&stage, 0.5f * stage.tick_s);
        Vec3 up = quat_rotate(rigid_orientation(stage.rigid, slot), vec3(0.0f, -1.0f, 0.0f));
        slope = angle_between(up, down);
    }
    slope -= late;
    truth_say(c, ", dips %.1f, slides at %.1f of %.1f deg", dips, slope, holds);
    stage_destroy(&stage);
    return fmax(holds - slope, slope - holds - dips);
}

const TruthLaw truth_stiff[] = {
    {"stiff/rope", "stretch of a rope under a load, error against its compliance, of its length",
     "%", 2.0, 24, 240, rope_stretch},
    {"stiff/threads", "stretch of a hanging net, error against its compliance, of its length", "%",
     2.0, 12, 150, threads_stretch},
    {"stiff/cloth", "stretch of a hanging cloth over that of threads solved one by one (+ 0.2 %)",
     "%", 20.0, 12, 150, cloth_residue},
    {"stiff/corner",
     "stretch of a cloth from a corner to a body of up to 10 000 times its mass, beyond one "
     "chain's",
     "%", 2.0, 12, 200, corner_stretch},
    {"stiff/cantilever", "drop of a beam's tip beyond Timoshenko's, 0.1 to 10 MPa", "%", 25.0, 3,
     60, cantilever_drop},
    {"stiff/terminal", "speed of a falling cloth, error against m g / (A rho)", "%", 5.0, 24, 200,
     terminal_speed},
    {"stiff/balloon", "stretch of a balloon's skin, error against its compliance", "%", 10.0, 4, 40,
     balloon_stretch},
    {"stiff/dent", "depth lost in 3 s by a dent that a finger pushed into a plastic block", "%",
     15.0, 3, 60, dent_lost},
    {"stiff/friction",
     "error of the angle at which a box slides on a strained sheet (goal: 3, reached: 12)", "deg",
     12.0, 3, 60, strained_friction},
    {.name = NULL},
};
