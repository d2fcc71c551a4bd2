/* test_batches.c: batches match the reference implementation for every kind of constraint; every
 * constraint is in one piece, and pieces of one phase write no common data; a tick does not
 * allocate. */
#include "server/physics/soft/batches.h"
#include "server/physics/soft/chain.h"
#include "server/physics/soft/constraint.h"
#include "shared/math/random.h"
#include "tests/support/soft_kit.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

enum {
    APART = 37 /* separate bodies: not a multiple of eight */
};

static f32 any(u64 *counter, f32 low, f32 high)
{
    return random_range(11, (*counter)++, low, high);
}

static SoftDef bare_def(void)
{
    SoftDef def = soft_def_default();
    def.mass_kg = 1.0f;
    def.stretch_compliance = -1.0f;
    def.shear_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    return def;
}

/* A tetrahedron of random shape and positive volume, or its first two faces, or its edges. */
static SoftMesh random_mesh(u64 *counter, bool solid, bool faces)
{
    SoftMesh mesh = {.point_count = 4};
    mesh.points = calloc(4, sizeof *mesh.points);
    assert_non_null(mesh.points);
    static const Vec3 corners[4] = {
        {0.0f, 0.0f, 0.0f}, {1.0f, 0.0f, 0.0f}, {0.0f, 1.0f, 0.0f}, {0.0f, 0.0f, 1.0f}};
    for (u32 i = 0; i < 4; i++) {
        Vec3 off =
            vec3(any(counter, -0.2f, 0.2f), any(counter, -0.2f, 0.2f), any(counter, -0.2f, 0.2f));
        mesh.points[i] = vec3_add(corners[i], off);
    }
    if (solid) {
        mesh.tetrahedron_count = 1;
        mesh.tetrahedra = calloc(4, sizeof *mesh.tetrahedra);
        for (u32 i = 0; i < 4; i++) {
            mesh.tetrahedra[i] = i;
        }
    }
    if (faces) {
        static const u32 two[6] = {0, 1, 2, 1, 0, 3};
        mesh.triangle_count = 2;
        mesh.triangles = calloc(6, sizeof *mesh.triangles);
        memcpy(mesh.triangles, two, sizeof two);
    }
    if (!solid && !faces) {
        static const u8 ends[3][2] = {{0, 1}, {2, 3}, {0, 2}}; /* the last has limits */
        mesh.stick_count = 3;
        mesh.sticks = calloc(3, sizeof *mesh.sticks);
        for (u32 i = 0; i < 3; i++) {
            f32 rest = any(counter, 0.3f, 1.5f);
            mesh.sticks[i] =
                (SoftStick){ends[i][0], ends[i][1], rest, rest + (i == 2 ? 0.3f : 0.0f)};
        }
    }
    return mesh;
}

static void disturb(Soft *soft, u64 *counter)
{
    for (u32 i = 0; i < soft->count; i++) {
        SoftPoint *p = &soft->points[i];
        if (p->inverse_mass > 0.0f) {
            p->inverse_mass = any(counter, 0.5f, 3.0f);
            p->position =
                vec3_add(p->position, vec3(any(counter, -0.3f, 0.3f), any(counter, -0.3f, 0.3f),
                                           any(counter, -0.3f, 0.3f)));
            p->velocity = vec3(any(counter, -5.0f, 5.0f), any(counter, -5.0f, 5.0f),
                               any(counter, -5.0f, 5.0f));
        }
    }
}

/* Largest difference of a velocity (m/s) between batches and single constraints in the same
 * order of separate bodies, and of kinds within one. */
static f32 difference(SoftDef def, u32 kind, bool solid, bool faces, u32 pins)
{
    Soft *soft = soft_create();
    u64 counter = 7 + 1000 * kind + pins;
    SoftPin pin[2] = {{.point = 1}, {.point = 3}};
    def.pins = pin;
    def.pin_count = pins;
    for (u32 i = 0; i < APART; i++) {
        SoftMesh mesh = random_mesh(&counter, solid, faces);
        SoftRange range;
        ErrorText error;
        def.mesh = &mesh;
        def.position = vec3(3.0f * (f32)i, 200.0f, 0.0f);
        if (soft_add(soft, NULL, &def, &range, &error) != 0) {
            fail_msg("%s", error.text);
        }
        soft_mesh_finish(&mesh);
    }
    u32 found = 0;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        found += soft->constraints[i].kind == kind;
    }
    assert_true(found >= APART);
    assert_int_equal(soft_build(soft), 0);
    disturb(soft, &counter);
    SoftPoint *before = malloc(soft->count * sizeof *before);
    SoftPoint *wide = malloc(soft->count * sizeof *wide);
    assert_true(before != NULL && wide != NULL);
    memcpy(before, soft->points, soft->count * sizeof *before);
    f32 h = 1.0f / 480.0f;
    for (u32 g = 0; g < soft->batches->group_count; g++) {
        batches_run(soft, soft->batches->groups[g].runs, h);
    }
    memcpy(wide, soft->points, soft->count * sizeof *wide);
    memcpy(soft->points, before, soft->count * sizeof *before);
    f32 worst = 0.0f, changed = 0.0f;
    for (u32 i = 0; i < soft->constraint_count; i++) {
        constraint_project(soft, &soft->constraints[i], h, NULL);
    }
    for (u32 i = soft->constraint_count; constraint_is_hinge(kind) && i-- > 0;) {
        const SoftConstraint *c = &soft->constraints[i];
        if (constraint_rigid_hinge(c, soft_role_scale(soft, c->role) / (h * h))) {
            constraint_project(soft, c, h, NULL); /* the sweep back */
        }
    }
    for (u32 i = 0; i < soft->count; i++) {
        Vec3 change = vec3_sub(soft->points[i].velocity, before[i].velocity);
        f32 size = f32_max(vec3_length(change), 1.0f);
        changed = f32_max(changed, vec3_length(change));
        worst = f32_max(worst, vec3_distance(wide[i].velocity, soft->points[i].velocity) / size);
        assert_memory_equal(&wide[i].position, &before[i].position, sizeof wide[i].position);
        assert_true(wide[i].spare == 0.0f);
    }
    assert_true(changed > 0.1f);
    free(before);
    free(wide);
    soft_destroy(soft);
    return worst;
}

static void batches_agree_with_single_constraints(void **unused)
{
    PL_UNUSED(unused);
    static const char *const names[CONSTRAINT_KINDS] = {"distance", "dihedral", "isometric",
                                                        "area",     "volume",   "neo-hookean"};
    for (u32 kind = 0; kind < CONSTRAINT_KINDS; kind++) {
        for (u32 pins = 0; pins < 3; pins++) {
            SoftDef def = bare_def();
            bool solid = kind >= CONSTRAINT_VOLUME, faces = kind > 0 && !solid;
            f32 compliance = pins == 0 ? 0.0f : pins == 1 ? 1e-5f : 5e-4f; /* hinges: some rigid */
            def.stretch_compliance = kind == CONSTRAINT_DISTANCE ? compliance : -1.0f;
            def.bend = kind == CONSTRAINT_DIHEDRAL    ? SOFT_BEND_DIHEDRAL
                       : kind == CONSTRAINT_ISOMETRIC ? SOFT_BEND_ISOMETRIC
                                                      : SOFT_BEND_NONE;
            def.bend_compliance = compliance;
            def.area_compliance = kind == CONSTRAINT_AREA ? compliance : -1.0f;
            def.volume_compliance = kind == CONSTRAINT_VOLUME ? compliance : -1.0f;
            def.young = kind == CONSTRAINT_NEO_HOOKEAN ? 1e4f : 0.0f;
            def.poisson = 0.4f;
            f32 off = difference(def, kind, solid, faces, pins);
            printf("%-12s %u pins: off by %.1e of the change\n", names[kind], pins, (f64)off);
            assert_true(off < 1e-5f);
        }
    }
}

/* ---- pieces ---- */

typedef struct Writes {
    u32 *piece; /* [particles] piece of this phase that writes it */
    u32 packed; /* constraints seen */
} Writes;

static void claim(Writes *writes, u32 particle, u32 piece)
{
    assert_true(writes->piece[particle] == SOFT_NONE || writes->piece[particle] == piece);
    writes->piece[particle] = piece;
}

/* Eight chains write their moving points, no two the same. */
static const f32x8 *claim_chains(const Soft *soft, const f32x8 *at, u32 piece, Writes *writes)
{
    const ChainHead *head = (const void *)at;
    const ChainPoint *chain = (const void *)(head + 1);
    for (u32 i = 0; i <= head->links; i++) {
        for (u32 k = 0; k < SIMD_LANES; k++) {
            u32 p = chain[i].at[k] / (u32)sizeof(SoftPoint);
            bool again =
                k > 0 && chain[0].at[k] == chain[0].at[0] && chain[1].at[k] == chain[1].at[0];
            if (again) {
                continue;
            }
            if (soft->points[p].inverse_mass > 0.0f) {
                claim(writes, p, piece);
            }
            writes->packed += i < head->links && chain[i + 1].at[k] != chain[i].at[k];
            for (u32 j = 0; j <= head->links; j++) {
                for (u32 l = 0; l < k && soft->points[p].inverse_mass > 0.0f; l++) {
                    assert_true(chain[j].at[l] != chain[i].at[k]);
                }
            }
        }
    }
    return at + chain_size(head->links);
}

static void claim_runs(const Soft *soft, BatchSpan span, u32 piece, Writes *writes)
{
    for (u32 r = span.first; r < span.first + span.count; r++) {
        const BatchRun *run = &soft->batches->runs[r];
        if (run->chain) {
            const f32x8 *at = soft->batches->stream + run->at;
            for (u32 i = 0; i < run->count; i++) {
                at = claim_chains(soft, at, piece, writes);
            }
            continue;
        }
        assert_true(run->kind == CONSTRAINT_DISTANCE && run->exact && !run->loose);
        const BatchDistance *batches = (const void *)(soft->batches->stream + run->at);
        for (u32 i = 0; i < run->count; i++) {
            u32 distinct = 1;
            for (u32 k = 0; k < SIMD_LANES; k++) {
                claim(writes, run->base + batches[i].point[0][k] / BATCH_POINT, piece);
                if (!run->fixed) {
                    claim(writes, run->base + batches[i].point[1][k] / BATCH_POINT, piece);
                }
                bool again = batches[i].point[0][k] == batches[i].point[0][0] &&
                             batches[i].point[1][k] == batches[i].point[1][0];
                distinct += k > 0 && !again;
                for (u32 j = 0; j < k && !again; j++) {
                    assert_true(batches[i].point[0][j] != batches[i].point[0][k] &&
                                (run->fixed || batches[i].point[1][j] != batches[i].point[1][k]) &&
                                batches[i].point[0][j] != batches[i].point[1][k] &&
                                batches[i].point[1][j] != batches[i].point[0][k]);
                }
            }
            writes->packed += distinct;
        }
    }
}

static void forget(const Soft *soft, Writes *writes)
{
    memset(writes->piece, 0xff, soft->count * sizeof *writes->piece);
}

static void check_pieces(SoftDef def, u32 columns, u32 rows, u32 pinned)
{
    SoftKit kit = soft_kit_create(vec3_zero());
    soft_kit_add_cloth(&kit, &def, columns, rows, 2.0f, 2.0f);
    const ConstraintBatches *batches = kit.soft->batches;
    Writes writes = {.piece = malloc(kit.soft->count * sizeof *writes.piece)};
    assert_non_null(writes.piece);
    forget(kit.soft, &writes);
    for (u32 g = 0; g < batches->group_count; g++) {
        const BatchGroup *group = &batches->groups[g];
        for (u32 i = 0; i < group->particles.count; i++) {
            claim(&writes, batches->order[group->particles.first + i], g);
        }
        claim_runs(kit.soft, group->runs, g, &writes);
    }
    for (u32 i = 0; i < kit.soft->count; i++) {
        assert_true(writes.piece[i] == batches->group_of[i]);
    }
    u32 inside = writes.packed;
    forget(kit.soft, &writes);
    for (u32 s = 0; s < batches->boundary_count; s++) {
        claim_runs(kit.soft, batches->boundaries[s], s, &writes);
    }
    u32 boundaries = writes.packed - inside;
    for (u32 set = 0; set < LINE_SETS; set++) {
        forget(kit.soft, &writes);
        for (u32 i = 0; i < batches->lines[set].count; i++) {
            claim_runs(kit.soft, (BatchSpan){batches->lines[set].first + i, 1}, i, &writes);
        }
    }
    u32 lines = writes.packed - inside - boundaries;
    forget(kit.soft, &writes);
    for (u32 c = 0; c < batches->cut_count; c++) {
        claim_runs(kit.soft, batches->cut[c].runs, c, &writes);
    }
    u32 rest = writes.packed - inside - boundaries - lines;
    printf("%u x %u: %u groups hold %u constraints, %u seams %u, lines %u, the rest is %u\n",
           columns, rows, batches->group_count, inside, batches->boundary_count, boundaries, lines,
           rest);
    assert_true(lines > 0);
    assert_true(batches->group_count >= 4 && batches->boundary_count == batches->group_count - 1);
    assert_int_equal(writes.packed, soft_constraints(kit.soft) - pinned);
    assert_true(rest < writes.packed / 50);
    free(writes.piece);
    soft_kit_destroy(&kit);
}

static void pieces_share_nothing(void **unused)
{
    PL_UNUSED(unused);
    SoftDef def = soft_kit_cloth_def();
    SoftPin pins[2] = {{.point = 0}, {.point = 1}};
    def.pins = pins;
    def.pin_count = 2;
    check_pieces(def, 60, 60, 1);  /* the edge between the pins is in no batch */
    check_pieces(def, 200, 20, 1); /* wider than long: slabs along its length */
}

/* Bodies are not divided if there are enough for all threads: boundaries would only cost time. */
static void many_bodies_stay_whole(void **unused)
{
    PL_UNUSED(unused);
    for (u32 count = 1; count <= 16; count += 15) {
        SoftKit kit = soft_kit_create(vec3_zero());
        for (u32 i = 0; i < count; i++) {
            SoftDef def = soft_kit_cloth_def();
            SoftMesh mesh;
            SoftRange range;
            ErrorText error;
            def.position.z = (f32)i;
            assert_int_equal(soft_mesh_grid(&mesh, 40, 40, 1.0f, 1.0f, &error), 0);
            def.mesh = &mesh;
            def.mass_kg = 0.2f;
            assert_int_equal(soft_add(kit.soft, NULL, &def, &range, &error), 0);
            soft_mesh_finish(&mesh);
        }
        assert_int_equal(soft_build(kit.soft), 0);
        const ConstraintBatches *batches = kit.soft->batches;
        printf("%u bodies: %u groups, %u of them cut\n", count, batches->group_count,
               batches->cut_count);
        assert_int_equal(batches->cut_count, count == 1);
        assert_true(count == 1 ? batches->group_count > 1 : batches->group_count == count);
        soft_kit_destroy(&kit);
    }
}

/* The impulses of a chain solve the equations of all its links at once, regardless of the other
 * lanes of its batch, and conserve momentum. */
static void chains_solve_all_links(void **unused)
{
    PL_UNUSED(unused);
    for (u32 links = 2; links <= 300; links = links * 3 / 2 + 1) {
        u64 counter = links;
        Soft *soft = soft_create();
        for (u32 r = 0; r < 11; r++) { /* different lengths */
            SoftMesh mesh;
            SoftRange range;
            ErrorText error;
            SoftDef def = bare_def();
            def.stretch_compliance = r % 3 == 0 ? 0.0f : 1e-6f;
            def.position.z = (f32)r;
            def.mesh = &mesh;
            assert_int_equal(soft_mesh_rope(&mesh, links + 1 + r % 4, 1.0f, &error), 0);
            assert_int_equal(soft_add(soft, NULL, &def, &range, &error), 0);
            soft_mesh_finish(&mesh);
        }
        assert_int_equal(soft_build(soft), 0);
        f64 before[3] = {0}, after[3] = {0}, scale = 0.0;
        f32 h = 1.0f / 480.0f, step = 1.0f / (f32)links, worst = 0.0f;
        for (u32 i = 0; i < soft->count; i++) {
            SoftPoint *p = &soft->points[i];
            f32 off = 0.02f * step;
            p->inverse_mass *= any(&counter, 0.5f, 2.0f);
            p->velocity = vec3(any(&counter, -off, off) / h, any(&counter, -off, off) / h,
                               any(&counter, -off, off) / h);
            scale += (f64)(vec3_length(p->velocity) / p->inverse_mass);
            before[0] += (f64)(p->velocity.x / p->inverse_mass);
        }
        for (u32 i = 0; i < soft->constraint_count; i++) {
            const SoftConstraint *c = &soft->constraints[i];
            Vec3 x[4];
            constraint_gather(soft, c, h, x);
            worst = f32_max(worst, fabsf(vec3_length(x[1]) - c->low));
        }
        for (u32 g = 0; g < soft->batches->group_count; g++) {
            batches_run(soft, soft->batches->groups[g].runs, h);
        }
        f32 left = 0.0f;
        for (u32 i = 0; i < soft->constraint_count; i++) {
            const SoftConstraint *c = &soft->constraints[i];
            Vec3 x[4];
            constraint_gather(soft, c, h, x);
            left = f32_max(left, fabsf(vec3_length(x[1]) - c->low));
        }
        for (u32 i = 0; i < soft->count; i++) {
            after[0] += (f64)(soft->points[i].velocity.x / soft->points[i].inverse_mass);
        }
        printf("%3u links: worst length off by %.1e m, then %.1e; momentum changed by %.1e\n",
               links, (f64)worst, (f64)left, fabs(after[0] - before[0]) / scale);
        assert_true(left < 0.1f * worst); /* second order in their rotation */
        assert_true(fabs(after[0] - before[0]) < 1e-5 * scale);
        soft_destroy(soft);
    }
}

static void ticks_of_threads_ask_for_no_memory(void **unused)
{
    PL_UNUSED(unused);
    SoftKit kit = soft_kit_create(vec3(0.0f, -9.81f, 0.0f));
    SoftDef def = soft_kit_cloth_def();
    SoftPin pins[2] = {{.point = 0}, {.point = 49}};
    def.pins = pins;
    def.pin_count = 2;
    soft_kit_add_cloth(&kit, &def, 50, 50, 1.0f, 1.0f);
    kit.jobs = jobs_create(2);
    soft_kit_ticks(&kit, 10);
    u64 owned = soft_memory(kit.soft);
    size_t before = mallinfo2().uordblks;
    soft_kit_ticks(&kit, 100);
    assert_int_equal(mallinfo2().uordblks, before);
    assert_int_equal(soft_memory(kit.soft), owned);
    jobs_destroy(kit.jobs);
    soft_kit_destroy(&kit);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(batches_agree_with_single_constraints),
                                       cmocka_unit_test(pieces_share_nothing),
                                       cmocka_unit_test(many_bodies_stay_whole),
                                       cmocka_unit_test(chains_solve_all_links),
                                       cmocka_unit_test(ticks_of_threads_ask_for_no_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
