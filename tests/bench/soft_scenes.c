/* soft_scenes.c: see soft_scenes.h. */
#include "tests/bench/soft_scenes.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAP_SUBSTEPS = 4,
    HEAP_STEPS = 3,
    HEAP_FALL = 150, /* ticks */
};

static void stop(const char *name, const char *text)
{
    fprintf(stderr, "%s: %s\n", name, text);
    exit(1);
}

static void *need(void *memory)
{
    if (memory == NULL) {
        stop("soft scenes", "out of memory");
    }
    return memory;
}

static void add(SoftSetup *setup, SoftMesh mesh, SoftDef def)
{
    u32 i = setup->body_count++;
    setup->meshes[i] = mesh;
    setup->defs[i] = def;
}

static void pin(SoftSetup *setup, u32 body, u32 a, u32 b)
{
    setup->pins[body][0].point = a;
    setup->pins[body][1].point = b;
    setup->defs[body].pins = setup->pins[body];
    setup->defs[body].pin_count = a == b ? 1 : 2;
}

static void add_cloth(SoftSetup *setup, u32 side)
{
    SoftMesh mesh;
    ErrorText error;
    if (soft_mesh_grid(&mesh, side, side, 2.0f, 2.0f, &error) != 0) {
        stop(setup->name, error.text);
    }
    SoftDef def = soft_def_default();
    def.mass_kg = 0.8f;
    add(setup, mesh, def);
    pin(setup, setup->body_count - 1, side * (side - 1), side * side - 1);
}

static void add_rope(SoftSetup *setup, f32 z)
{
    SoftMesh mesh;
    ErrorText error;
    if (soft_mesh_rope(&mesh, 1000, 10.0f, &error) != 0) {
        stop(setup->name, error.text);
    }
    SoftDef def = soft_def_default();
    def.mass_kg = 1.0f;
    def.position.z = z;
    add(setup, mesh, def);
    pin(setup, setup->body_count - 1, 0, 0);
}

/* A block of cells^3 cubes of `size` m, each of five tetrahedra, mirrored from cube to cube. */
static SoftMesh block_mesh(u32 cells, f32 size)
{
    static const u8 corners[2][5][4] = {
        {{0, 1, 2, 4}, {3, 2, 1, 7}, {5, 4, 7, 1}, {6, 7, 4, 2}, {1, 2, 4, 7}},
        {{1, 0, 5, 3}, {2, 3, 6, 0}, {4, 5, 0, 6}, {7, 6, 3, 5}, {0, 3, 5, 6}}};
    u32 side = cells + 1;
    SoftMesh mesh = {.point_count = side * side * side,
                     .tetrahedron_count = 5 * cells * cells * cells};
    mesh.points = need(calloc(mesh.point_count, sizeof *mesh.points));
    mesh.tetrahedra = need(calloc((size_t)4 * mesh.tetrahedron_count, sizeof *mesh.tetrahedra));
    for (u32 i = 0; i < mesh.point_count; i++) {
        mesh.points[i] = vec3_scale(
            vec3((f32)(i % side), (f32)(i / side % side), (f32)(i / (side * side))), size);
    }
    u32 *to = mesh.tetrahedra;
    for (u32 i = 0; i < cells * cells * cells; i++) {
        u32 x = i % cells, y = i / cells % cells, z = i / (cells * cells);
        for (u32 t = 0; t < 20; t++, to++) {
            u32 c = corners[(x + y + z) & 1][t / 4][t % 4];
            *to = (x + (c & 1)) + side * ((y + (c >> 1 & 1)) + side * (z + (c >> 2)));
        }
        for (u32 *p = to - 20; p < to; p += 4) { /* positive volumes */
            Vec3 a = vec3_sub(mesh.points[p[1]], mesh.points[p[0]]);
            Vec3 b = vec3_sub(mesh.points[p[2]], mesh.points[p[0]]);
            Vec3 c = vec3_sub(mesh.points[p[3]], mesh.points[p[0]]);
            if (vec3_dot(vec3_cross(a, b), c) < 0.0f) {
                u32 swap = p[2];
                p[2] = p[3];
                p[3] = swap;
            }
        }
    }
    return mesh;
}

static void add_block(SoftSetup *setup, u32 cells, f32 size, Vec3 position)
{
    SoftDef def = soft_def_default();
    def.mass_kg = 1000.0f * size * size * size * (f32)(cells * cells * cells);
    def.position = position;
    def.stretch_compliance = -1.0f;
    def.bend = SOFT_BEND_NONE;
    def.young = 1e5f;
    def.poisson = 0.45f;
    add(setup, block_mesh(cells, size), def);
}

SoftSetup *soft_setup_create(const char *name)
{
    SoftSetup *setup = need(calloc(1, sizeof *setup));
    setup->name = name;
    setup->unit = "constraints/s";
    if (strcmp(name, "cloth50") == 0) {
        add_cloth(setup, 50);
    } else if (strcmp(name, "cloth100") == 0) {
        add_cloth(setup, 100);
    } else if (strcmp(name, "tets5k") == 0) {
        add_block(setup, 10, 0.1f, vec3_zero());
        pin(setup, 0, 11 * 10, 11 * 11 - 1);
    } else if (strcmp(name, "bodies16") == 0) {
        for (u32 i = 0; i < 16; i++) {
            add_block(setup, 6, 0.1f, vec3((f32)(i % 4), 0.0f, (f32)(i / 4)));
        }
    } else if (strcmp(name, "rope") == 0) {
        for (u32 i = 0; i < 10; i++) {
            add_rope(setup, (f32)i);
        }
    } else {
        stop(name, "no such scene");
    }
    setup->unit = setup->meshes[0].tetrahedron_count > 0 ? "tets/s" : "constraints/s";
    return setup;
}

void soft_setup_destroy(SoftSetup *setup)
{
    for (u32 i = 0; i < setup->body_count; i++) {
        soft_mesh_finish(&setup->meshes[i]);
    }
    free(setup);
}

Soft *soft_setup_store(SoftSetup *setup)
{
    Soft *soft = need(soft_create());
    ErrorText error;
    for (u32 i = 0; i < setup->body_count; i++) {
        SoftRange range;
        setup->defs[i].mesh = &setup->meshes[i];
        if (soft_add(soft, NULL, &setup->defs[i], &range, &error) != 0) {
            stop(setup->name, error.text);
        }
    }
    soft_set_wind(soft, vec3_zero(), 0.0f);
    soft_set_steps(soft, SOFT_SETUP_STEPS);
    if (soft_build(soft) != 0) {
        stop(setup->name, "cannot be built");
    }
    return soft;
}

void soft_setup_tick(Soft *soft, Jobs *jobs)
{
    soft_begin(soft, (SoftOthers){0}, jobs, SOFT_SETUP_TICK_S);
    soft_substep(soft, SOFT_SETUP_TICK_S);
}

u32 soft_setup_size(const SoftSetup *setup, const Soft *soft)
{
    u32 tetrahedra = 0;
    for (u32 i = 0; i < setup->body_count; i++) {
        tetrahedra += setup->meshes[i].tetrahedron_count;
    }
    return tetrahedra > 0 ? tetrahedra : soft_constraints(soft);
}

/* ---- the heap ---- */

static Soft *heap_cloth(u32 side)
{
    Soft *soft = need(soft_create());
    SoftMesh mesh;
    SoftRange range;
    ErrorText error;
    if (soft_mesh_grid(&mesh, side, side, 2.0f, 2.0f, &error) != 0) {
        stop("heap", error.text);
    }
    SoftDef def = soft_def_default();
    def.mesh = &mesh;
    def.mass_kg = 0.8f;
    def.position = vec3(0.0f, 0.05f, 0.0f);
    def.orientation = (Quat){0.9990482f, 0.0436194f, 0.0f, 0.0f};
    def.thickness = 0.005f;
    def.friction = 0.5f;
    def.damping = 0.5f;
    def.self_collision = true;
    if (soft_add(soft, NULL, &def, &range, &error) != 0 || soft_build(soft) != 0) {
        stop("heap", error.text);
    }
    soft_mesh_finish(&mesh);
    soft_set_steps(soft, HEAP_STEPS);
    return soft;
}

SoftHeap soft_heap_create(u32 side)
{
    RigidDef def = {.body_capacity = 4,
                    .tick_s = SOFT_SETUP_TICK_S,
                    .substeps = HEAP_SUBSTEPS,
                    .gravity = {0.0f, -9.81f, 0.0f}};
    SoftHeap heap = {.rigid = need(rigid_create(&def))};
    BodyDef floor = body_def_default();
    floor.shape.kind = SHAPE_PLANE;
    floor.motion = BODY_STATIC;
    rigid_add(heap.rigid, &floor);
    heap.soft = heap_cloth(side);
    for (u32 i = 0; i < HEAP_FALL; i++) {
        soft_heap_tick(&heap, NULL);
    }
    State state = {.mode = STATE_COUNT};
    soft_serialize(heap.soft, &state);
    heap.bytes = state.used;
    heap.image = need(malloc(heap.bytes));
    state = (State){.mode = STATE_SAVE, .data = heap.image, .bytes = heap.bytes};
    soft_serialize(heap.soft, &state);
    return heap;
}

void soft_heap_destroy(SoftHeap *heap)
{
    soft_destroy(heap->soft);
    rigid_destroy(heap->rigid);
    rigid_collider_finish(&heap->bodies);
    free(heap->image);
}

void soft_heap_restart(SoftHeap *heap)
{
    State state = {.mode = STATE_LOAD, .data = heap->image, .bytes = heap->bytes};
    soft_serialize(heap->soft, &state);
    if (state.failed) {
        stop("heap", "cannot be loaded");
    }
}

void soft_heap_tick(SoftHeap *heap, Jobs *jobs)
{
    rigid_collide(heap->rigid, jobs);
    heap->bodies.rigid = heap->rigid;
    Collider bodies = rigid_collider(&heap->bodies);
    soft_begin(heap->soft, (SoftOthers){&bodies, 1}, jobs, SOFT_SETUP_TICK_S);
    rigid_prepare(heap->rigid);
    for (u32 i = 0; i < HEAP_SUBSTEPS; i++) {
        rigid_substep(heap->rigid);
        soft_substep(heap->soft, SOFT_SETUP_TICK_S / HEAP_SUBSTEPS);
    }
    rigid_finish(heap->rigid);
}
