/* soft_plant.c: plants made of three-sided tubes. */
#include "shared/math/random.h"
#include "shared/math/trig.h"
#include "shared/soft/soft_figures_make.h"
#include "shared/soft/soft_mesh_make.h"

enum {
    SIDES = 3
};

typedef struct Grower {
    FigureMaker maker;
    const SoftPlant *plant;
    u64 draws; /* number of random numbers drawn */
} Grower;

/* The end of a branch: the centre of its last ring, its direction, and a perpendicular. */
typedef struct Shoot {
    Vec3 at;
    Vec3 along, across; /* unit */
    u32 ring, below;    /* first points of the last and of the previous ring */
} Shoot;

static f32 draw(Grower *grower, f32 low, f32 high)
{
    return random_range(grower->plant->seed, grower->draws++, low, high);
}

static u32 put_ring(Grower *grower, const Shoot *shoot, f32 radius)
{
    u32 first = grower->maker.mesh->point_count;
    Vec3 third = vec3_cross(shoot->along, shoot->across);
    for (u32 i = 0; i < SIDES; i++) {
        f32 angle = 6.2831853f * (f32)i / SIDES;
        Vec3 arm = vec3_add_scaled(vec3_scale(shoot->across, trig_cos_f32(angle)),
                                   trig_sin_f32(angle), third);
        figure_point(&grower->maker, vec3_add_scaled(shoot->at, radius, arm));
    }
    return first;
}

/* Adds a ring, and the tube to the last one: sides with a diagonal form a truss, which cannot
 * bend or twist without changing lengths. */
static void extend(Grower *grower, Shoot *shoot, f32 length, f32 radius)
{
    shoot->at = vec3_add_scaled(shoot->at, length, shoot->along);
    shoot->below = shoot->ring;
    shoot->ring = put_ring(grower, shoot, radius);
    for (u32 i = 0; i < SIDES; i++) {
        u32 a = shoot->below + i, b = shoot->below + (i + 1) % SIDES;
        u32 c = shoot->ring + i, d = shoot->ring + (i + 1) % SIDES;
        figure_triangle(&grower->maker, a, b, c);
        figure_triangle(&grower->maker, b, d, c);
    }
}

/* A kite on one corner of the last ring, supported by the other two. */
static void put_leaf(Grower *grower, const Shoot *shoot)
{
    FigureMaker *maker = &grower->maker;
    f32 leaf = grower->plant->leaf;
    Vec3 side = vec3_scale(vec3_cross(shoot->along, shoot->across), 0.3f * leaf);
    Vec3 half = vec3_add_scaled(shoot->at, 0.45f * leaf, shoot->along);
    u32 stem = shoot->ring, left = figure_point(maker, vec3_add(half, side));
    u32 right = figure_point(maker, vec3_sub(half, side));
    u32 tip = figure_point(maker, vec3_add_scaled(shoot->at, leaf, shoot->along));
    figure_triangle(maker, stem, right, left);
    figure_triangle(maker, left, right, tip);
    for (u32 i = 1; i < SIDES && !maker->full; i++) {
        figure_brace(maker, stem + i, left);
        figure_brace(maker, stem + i, right);
        figure_brace(maker, stem + i, tip);
    }
    if (!maker->full) {
        figure_brace(maker, stem, tip);
    }
}

static void grow_branch(Grower *grower, Shoot shoot, f32 length, f32 radius, u32 generation);

/* Branches at even angles about the end of their parent, slightly randomized. */
static void fork(Grower *grower, const Shoot *parent, f32 length, f32 radius, u32 generation)
{
    const SoftPlant *plant = grower->plant;
    FigureMaker *maker = &grower->maker;
    f32 start = draw(grower, 0.0f, 6.2831853f);
    for (u32 i = 0; i < plant->branches && !maker->full; i++) {
        f32 around =
            start + 6.2831853f * ((f32)i + draw(grower, -0.15f, 0.15f)) / (f32)plant->branches;
        f32 lean = plant->spread * draw(grower, 0.75f, 1.25f);
        Vec3 out = vec3_add_scaled(vec3_scale(parent->across, trig_cos_f32(around)),
                                   trig_sin_f32(around), vec3_cross(parent->along, parent->across));
        Shoot shoot = {.across = vec3_cross(parent->along, out)};
        shoot.along =
            vec3_add_scaled(vec3_scale(parent->along, trig_cos_f32(lean)), trig_sin_f32(lean), out);
        shoot.at = vec3_add_scaled(parent->at, 1.5f * radius, shoot.along);
        shoot.ring = put_ring(grower, &shoot, radius);
        shoot.below = parent->ring;
        for (u32 k = 0; k < SIDES * SIDES && !maker->full; k++) {
            figure_brace(maker, shoot.ring + k / SIDES, parent->ring + k % SIDES);
            figure_brace(maker, shoot.ring + k / SIDES, parent->below + k % SIDES);
        }
        f32 part = plant->shrink * draw(grower, 0.85f, 1.15f);
        grow_branch(grower, shoot, length * part, radius, generation);
    }
}

static void grow_branch(Grower *grower, Shoot shoot, f32 length, f32 radius, u32 generation)
{
    const SoftPlant *plant = grower->plant;
    for (u32 s = 1; s <= plant->segments && !grower->maker.full; s++) {
        f32 along = (f32)s / (f32)plant->segments;
        extend(grower, &shoot, length / (f32)plant->segments, radius * (1.0f - 0.4f * along));
    }
    /* The last ring gets its own triangle, which holds it open. */
    if (!grower->maker.full) {
        figure_triangle(&grower->maker, shoot.ring, shoot.ring + 1, shoot.ring + 2);
    }
    if (generation < plant->forks) {
        fork(grower, &shoot, length, 0.5f * radius, generation + 1);
    } else if (plant->leaf > 0.0f) {
        put_leaf(grower, &shoot);
    }
}

static bool plant_is_good(const SoftPlant *p)
{
    return soft_mesh_is_length(p->height) && soft_mesh_is_length(p->radius) &&
           p->radius < p->height && p->segments >= 1 && p->segments <= 16 && p->forks <= 5 &&
           p->branches >= 1 && p->branches <= 5 && p->spread >= 0.0f && p->spread <= 1.5f &&
           p->shrink >= 0.2f && p->shrink <= 1.0f && p->leaf >= 0.0f && p->leaf <= p->height;
}

int soft_mesh_plant(SoftMesh *mesh, const SoftPlant *plant, ErrorText *error)
{
    Grower grower = {.plant = plant};
    figure_begin(&grower.maker, mesh);
    if (!plant_is_good(plant)) {
        return error_set(error, ERROR_RANGE,
                         "a plant has a height above its radius, 1 to 16 segments, 0 to 5 forks of "
                         "1 to 5 branches, a spread of 0 to 1.5 rad, a shrink of 0.2 to 1, and "
                         "leaves no longer than itself");
    }
    Shoot shoot = {.along = {0.0f, 1.0f, 0.0f}, .across = {1.0f, 0.0f, 0.0f}};
    shoot.ring = put_ring(&grower, &shoot, plant->radius);
    grow_branch(&grower, shoot, plant->height, plant->radius, 0);
    return figure_end(&grower.maker, error);
}
