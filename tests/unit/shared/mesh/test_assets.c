/*
 * test_assets.c: the shipped models are as their README says: closed, not too fine, standing on the
 * ground, symmetric, and suitable for tetrahedralization.
 */
#include "server/author/mesh_file.h"
#include "shared/soft/tetrahedralize.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
// cmocka.h needs the first three headers above
#include <cmocka.h>

static u8 bytes[1 << 20];

static void check_model(const char *path, MeshFormat format, f64 volume)
{
    MeshFile file;
    SoftMesh surface, filled;
    SoftRepair repair;
    ErrorText error = {0};
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    size_t count = fread(bytes, 1, sizeof bytes, in);
    fclose(in);
    if (mesh_file_read(&file, bytes, count, path, &error) != ERROR_OK ||
        soft_mesh_triangles(&surface, file.vertices, file.vertex_count, file.triangles,
                            file.triangle_count, &repair, &error) != ERROR_OK ||
        tetrahedralize(&filled, &surface, 20, &error) != ERROR_OK) {
        fail_msg("%s: %s", path, error.text);
    }
    assert_int_equal(file.format, format);
    assert_true(surface.closed && surface.triangle_count >= 1000 && surface.triangle_count < 4000);
    assert_int_equal(repair.welded + repair.unused + repair.zero + repair.reversed, 0);
    f64 got = soft_mesh_volume(&surface), low = 1.0, left = 0.0, right = 0.0;
    if (!(fabs(got - volume) < 0.05 * volume)) {
        fail_msg("%s: %g m3, expected %g", path, got, volume);
    }
    for (u32 i = 0; i < surface.point_count; i++) {
        low = fmin(low, (f64)surface.points[i].y);
        left = fmin(left, (f64)surface.points[i].z);
        right = fmax(right, (f64)surface.points[i].z);
    }
    assert_true(fabs(low) < 0.03 && fabs(left + right) < 0.01);
    f64 solid = soft_mesh_volume(&filled);
    assert_true(solid > 0.88 * got && solid < got && filled.dihedral_degrees > 10.5f);
    soft_mesh_finish(&filled);
    soft_mesh_finish(&surface);
    mesh_file_finish(&file);
}

static void test_models(void **state)
{
    PL_UNUSED(state);
    check_model("shared/scenes/assets/rabbit.obj", MESH_FORMAT_OBJ, 0.162);
    check_model("shared/scenes/assets/balloon_dog.ply", MESH_FORMAT_PLY, 0.078);
    check_model("shared/scenes/assets/duck.asc", MESH_FORMAT_ASC, 0.190);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_models),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
