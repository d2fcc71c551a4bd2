/*
 * test_emitter.c: distributions of emitters against their means, bounds and areas; exact rates;
 * equal seeds give equal particles.
 */
#include "server/physics/particles/emitter.h"
#include "shared/geometry/geometry.h"
#include "tests/support/any.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "tests/support/near.h"

enum {
    MANY = 20000
};

static Emitter make(const EmitterDef *def)
{
    Emitter emitter;
    ErrorText error = {0};
    if (emitter_init(&emitter, def, &error) != ERROR_OK) {
        fail_msg("%s", error.text);
    }
    return emitter;
}

/* Mean squared distance to the origin, known for each shape. */
static f64 mean_square(const Emitter *emitter, f64 mean[3])
{
    f64 sum = 0.0;
    mean[0] = mean[1] = mean[2] = 0.0;
    for (u64 i = 0; i < MANY; i++) {
        Vec3 p = emitter_particle(emitter, i).position;
        sum += (f64)vec3_dot(p, p) / MANY;
        mean[0] += (f64)p.x / MANY;
        mean[1] += (f64)p.y / MANY;
        mean[2] += (f64)p.z / MANY;
    }
    return sum;
}

static void places_are_uniform(void **state)
{
    PL_UNUSED(state);
    /* Second moments of solids and shells, of radius 2, half height 1.5, half extents 1, 2, 3. */
    const struct {
        Shape shape;
        bool surface;
        f64 square, mean_y;
    } cases[] = {
        {{.kind = SHAPE_NONE}, false, 0.0, 0.0},
        {{.kind = SHAPE_SPHERE, .radius = 2.0f}, false, 0.6 * 4.0, 0.0},
        {{.kind = SHAPE_SPHERE, .radius = 2.0f}, true, 4.0, 0.0},
        {{.kind = SHAPE_BOX, .half = {1.0f, 2.0f, 3.0f}}, false, 14.0 / 3.0, 0.0},
        /* faces x: area 6, 1 + 13/3; y: 3, 4 + 10/3; z: 2, 9 + 5/3; over 11 */
        {{.kind = SHAPE_BOX, .half = {1.0f, 2.0f, 3.0f}},
         true,
         (6.0 * (1.0 + 13.0 / 3.0) + 3.0 * (4.0 + 10.0 / 3.0) + 2.0 * (9.0 + 5.0 / 3.0)) / 11.0,
         0.0},
        {{.kind = SHAPE_CYLINDER, .radius = 2.0f, .half_height = 1.5f}, false, 2.0 + 0.75, 0.0},
        /* side 3 (4 + 0.75), caps 2 (2 + 2.25); over 5 */
        {{.kind = SHAPE_CYLINDER, .radius = 2.0f, .half_height = 1.5f},
         true,
         (3.0 * 4.75 + 2.0 * 4.25) / 5.0,
         0.0},
        /* solid cone: its centroid lies at a quarter of the height above the base */
        {{.kind = SHAPE_CONE, .radius = 2.0f, .half_height = 1.5f},
         false,
         0.3 * 4.0 + (3.0 / 80.0 * 9.0 + 0.75 * 0.75),
         -0.75},
    };
    for (u32 c = 0; c < PL_COUNT(cases); c++) {
        EmitterDef def = emitter_default();
        def.shape = cases[c].shape;
        def.surface = cases[c].surface;
        def.seed = 7 + c;
        Emitter emitter = make(&def);
        f64 mean[3], square = mean_square(&emitter, mean);
        expect_near("mean square", square, cases[c].square, 0.02 * cases[c].square + 1e-9);
        expect_near("mean x", mean[0], 0.0, 0.05);
        expect_near("mean y", mean[1], cases[c].mean_y, 0.05);
        expect_near("mean z", mean[2], 0.0, 0.07);
        emitter_finish(&emitter);
    }
}

static void meshes_are_covered_by_area(void **state)
{
    PL_UNUSED(state);
    /* Two triangles of areas 0.5 and 4.5, apart along z. */
    const Vec3 v[6] = {{0, 0, 0}, {1, 0, 0}, {0, 1, 0}, {0, 0, 9}, {3, 0, 9}, {0, 3, 9}};
    const u32 t[6] = {0, 1, 2, 3, 4, 5};
    ErrorText error = {0};
    Geometry *geometry = geometry_mesh(v, 6, t, 2, NULL, &error);
    assert_non_null(geometry);
    EmitterDef def = emitter_default();
    def.shape = (Shape){.kind = SHAPE_MESH, .geometry = geometry};
    def.surface = true;
    def.aim = EMITTER_OUTWARD;
    def.speed.mean = 1.0f;
    Emitter emitter = make(&def);
    f64 far = 0.0, x = 0.0;
    for (u64 i = 0; i < MANY; i++) {
        EmitterParticle p = emitter_particle(&emitter, i);
        bool is_far = p.position.z > 5.0f;
        far += is_far;
        x += is_far ? (f64)p.position.x : 0.0;
        assert_true(p.position.x >= 0.0f && p.position.y >= 0.0f);
        assert_true(p.position.x + p.position.y <= (is_far ? 3.00001f : 1.00001f));
        expect_near("normal", (f64)p.velocity.z, 1.0, 1e-6);
    }
    expect_near("share of the large one", far / MANY, 0.9, 0.01);
    expect_near("its centroid", x / far, 1.0, 0.02);
    emitter_finish(&emitter);
    def.surface = false;
    assert_int_equal(emitter_init(&emitter, &def, &error), ERROR_RANGE);
    geometry_destroy(geometry);
}

static void numbers_stay_in_their_ranges(void **state)
{
    PL_UNUSED(state);
    for (u32 c = 0; c < 5; c++) {
        EmitterDef def = emitter_default();
        f32 spread = 0.2f + 0.7f * (f32)c; /* up to nearly the whole sphere */
        def.speed = (EmitterRange){5.0f, 2.0f};
        def.lifetime_s = (EmitterRange){3.0f, 1.5f};
        def.size = (EmitterRange){0.1f, 0.05f};
        def.spread_rad = spread;
        def.seed = c;
        Emitter emitter = make(&def);
        f64 speed = 0.0, life = 0.0, cosine = 0.0;
        for (u64 i = 0; i < MANY; i++) {
            EmitterParticle p = emitter_particle(&emitter, i);
            f64 v = (f64)vec3_length(p.velocity);
            expect_within("speed", v, 2.999, 7.001);
            expect_within("lifetime", (f64)p.lifetime_s, 1.5, 4.5);
            expect_within("size", (f64)p.size, 0.0499, 0.1501);
            expect_within("cosine", (f64)p.velocity.y / v, cos((f64)spread) - 1e-5, 1.00001);
            speed += v / MANY;
            life += (f64)p.lifetime_s / MANY;
            cosine += (f64)p.velocity.y / v / MANY;
        }
        expect_near("mean speed", speed, 5.0, 0.05);
        expect_near("mean lifetime", life, 3.0, 0.04);
        /* uniform in solid angle: the cosine is uniform */
        expect_near("mean cosine", cosine, 0.5 * (1.0 + cos((f64)spread)), 0.02);
        emitter_finish(&emitter);
    }
}

static void rates_are_exact(void **state)
{
    PL_UNUSED(state);
    const f32 rates[] = {0.37f, 59.9f, 60.0f, 1234.5f, 99999.0f};
    for (u32 r = 0; r < PL_COUNT(rates); r++) {
        for (u32 hz = 30; hz <= 240; hz *= 2) {
            EmitterDef def = emitter_default();
            def.rate = rates[r];
            def.start_s = 0.5f;
            def.stop_s = 20.5f;
            Emitter emitter = make(&def);
            EmitterState s = {0};
            u64 total = 0;
            f64 before = 1e9;
            for (u32 i = 0; i < 30 * hz; i++) {
                EmitterBatch batch = emitter_advance(&emitter, &s, 1.0 / hz, 1.0f, UINT32_MAX);
                assert_true(batch.first == total);
                for (u32 k = 0; k < batch.count; k++) { /* evenly, also across steps */
                    f64 born = (f64)(i + 1) / hz - (f64)emitter_age(&batch, k);
                    if (before < 1e9) {
                        expect_near("interval", born - before, 1.0 / (f64)rates[r], 2e-6);
                    }
                    before = born;
                }
                total += batch.count;
            }
            expect_near("particles", (f64)total, 20.0 * (f64)rates[r], 1.0);
            emitter_finish(&emitter);
        }
    }
}

static void bursts_come_once(void **state)
{
    PL_UNUSED(state);
    EmitterDef def = emitter_default();
    def.burst = 500;
    def.start_s = 0.25f;
    Emitter emitter = make(&def);
    EmitterState s = {0};
    u32 total = 0, steps = 0;
    for (u32 i = 0; i < 120; i++) {
        u32 count = emitter_advance(&emitter, &s, 1.0 / 60.0, 1.0f, 400).count;
        total += count;
        steps += count != 0;
        assert_true(count == 0 || i == 15);
    }
    assert_int_equal(total, 400); /* as many as there are slots for */
    assert_int_equal(steps, 1);
    emitter_finish(&emitter);
}

static void hostile_definitions_are_refused(void **state)
{
    PL_UNUSED(state);
    EmitterDef good = emitter_default();
    good.rate = 10.0f;
    ErrorText error = {0};
    assert_int_equal(emitter_check(&good, &error), ERROR_OK);
    EmitterDef bad[12];
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        bad[i] = good;
    }
    bad[0].rate = NAN;
    bad[1].rate = -1.0f;
    bad[2].lifetime_s = (EmitterRange){0.0f, 0.0f};
    bad[3].lifetime_s = (EmitterRange){1.0f, 1.0f};
    bad[4].size.mean = 0.0f;
    bad[5].direction = vec3_zero();
    bad[6].position.y = INFINITY;
    bad[7].burst = 3;
    bad[8].shape = (Shape){.kind = SHAPE_SPHERE, .radius = -1.0f};
    bad[9].shape.kind = SHAPE_PLANE;
    bad[10].spread_rad = 4.0f;
    bad[11].stop_s = 1.0f;
    bad[11].start_s = 2.0f;
    for (u32 i = 0; i < PL_COUNT(bad); i++) {
        error = (ErrorText){0};
        assert_int_equal(emitter_check(&bad[i], &error), ERROR_RANGE);
        assert_true(strlen(error.text) > 9);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(places_are_uniform),
        cmocka_unit_test(meshes_are_covered_by_area),
        cmocka_unit_test(numbers_stay_in_their_ranges),
        cmocka_unit_test(rates_are_exact),
        cmocka_unit_test(bursts_come_once),
        cmocka_unit_test(hostile_definitions_are_refused),
    };
    return cmocka_run_group_tests_name("emitter", tests, NULL, NULL);
}
