/* test_world_file.c: a saved world is read back bit for bit; one that is cut or damaged anywhere is
 * refused by name; a write that fails leaves the old file. */
#include "protocol/record/world_file.h"
#include "shared/base/file.h"
#include "shared/math/random.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <signal.h>

#include <cmocka.h>

static char folder[] = "/tmp/plenum-world-file-XXXXXX", path[64];

static int setup(void **state)
{
    PL_UNUSED(state);
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/a.plworld", folder);
    return 0;
}

static int teardown(void **state)
{
    PL_UNUSED(state);
    unlink(path);
    return rmdir(folder);
}

/* Parts that compress badly, well, and not at all because there are none. */
static WorldFile make(u8 *bytes, u64 scene, u64 image, u64 note, u64 seed)
{
    for (u64 i = 0; i < scene + image + note; i++) {
        bytes[i] = i < scene ? (u8)random_u64(seed, i) : (u8)(i / 9);
    }
    WorldFile file = {.tick = 123456789012ull + seed,
                      .tick_rate = 60,
                      .created_unix_s = 1700000000,
                      .build = "a build",
                      .scene_name = "a scene",
                      .scene = bytes,
                      .image = bytes + scene,
                      .note = bytes + scene + image,
                      .scene_bytes = scene,
                      .image_bytes = image,
                      .note_bytes = note};
    return file;
}

static void expect_same(const WorldFile *a, const WorldFile *b)
{
    assert_int_equal(a->tick, b->tick);
    assert_int_equal(a->tick_rate, b->tick_rate);
    assert_int_equal(a->created_unix_s, b->created_unix_s);
    assert_string_equal(a->build, b->build);
    assert_string_equal(a->scene_name, b->scene_name);
    assert_int_equal(a->scene_bytes, b->scene_bytes);
    assert_int_equal(a->image_bytes, b->image_bytes);
    assert_int_equal(a->note_bytes, b->note_bytes);
    assert_memory_equal(a->scene, b->scene, a->scene_bytes);
    assert_memory_equal(a->image, b->image, a->image_bytes);
    assert_memory_equal(a->note, b->note, a->note_bytes);
}

static void test_reads_what_was_written(void **state)
{
    PL_UNUSED(state);
    static u8 bytes[3 << 20];
    static const u64 sizes[][3] = {
        {1000, 5000, 40}, {1, 0, 0}, {0, 1, 0}, {700, 2 << 20, 100000}, {5, 7, 1 << 20}};
    ErrorText error = {0};
    for (u32 i = 0; i < PL_COUNT(sizes); i++) {
        WorldFile file = make(bytes, sizes[i][0], sizes[i][1], sizes[i][2], i), got;
        if (world_file_write(path, &file, &error) != 0 ||
            world_file_read(path, 0, &got, &error) != 0) {
            fail_msg("%s", error.text);
        }
        expect_same(&file, &got);
        char name[NAME_BYTES_MAX];
        assert_true(world_file_scene_name(path, name));
        assert_string_equal(name, file.scene_name);
        world_file_release(&got);
        assert_int_equal(world_file_read(path, sizes[i][0] + sizes[i][1], &got, &error),
                         sizes[i][2] > 0 ? ERROR_LIMIT : ERROR_OK);
        world_file_release(&got);
    }
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
}

static void test_damage_is_named(void **state)
{
    PL_UNUSED(state);
    static u8 bytes[4096];
    ErrorText error = {0};
    WorldFile file = make(bytes, 300, 900, 20, 3), got;
    assert_int_equal(world_file_write(path, &file, &error), 0);
    size_t count;
    u8 *whole = (u8 *)file_read(path, 1 << 20, &count, &error);
    assert_non_null(whole);
    for (size_t cut = 0; cut < count; cut++) {
        u8 *part = malloc(cut + 1); /* its own block: reading beyond it is seen */
        assert_non_null(part);
        memcpy(part, whole, cut);
        assert_true(world_file_decode(part, cut, 0, &got, &error) < 0);
        free(part);
    }
    for (size_t bit = 0; bit < 8 * count; bit++) {
        whole[bit / 8] ^= (u8)(1u << bit % 8);
        error.text[0] = '\0';
        assert_true(world_file_decode(whole, count, 0, &got, &error) < 0);
        assert_true(error.text[0] != '\0');
        whole[bit / 8] ^= (u8)(1u << bit % 8);
    }
    assert_int_equal(world_file_decode(whole, count, 0, &got, &error), 0);
    world_file_release(&got);
    free(whole);
    /* The name is only read from a head that is whole. */
    char name[NAME_BYTES_MAX];
    assert_false(world_file_scene_name("/tmp/plenum-there-is-none", name));
    assert_false(world_file_scene_name("/dev/zero", name));
    assert_false(world_file_scene_name("/", name));
    assert_string_equal(name, "");
    assert_int_equal(world_file_read("/tmp/plenum-there-is-none", 0, &got, &error),
                     ERROR_NOT_FOUND);
}

/* A disk that is full: here, a limit of the size of files. */
static void test_failed_write_keeps_the_old(void **state)
{
    PL_UNUSED(state);
    static u8 bytes[2 << 20];
    ErrorText error = {0};
    WorldFile old = make(bytes, 300, 900, 20, 4), got;
    assert_int_equal(world_file_write(path, &old, &error), 0);
    static u8 large[2 << 20];
    WorldFile file = make(large, 2 << 20, 0, 0, 5);
    struct rlimit before, most;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    most = before;
    most.rlim_cur = 1 << 20;
    signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &most), 0);
    int result = world_file_write(path, &file, &error);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    assert_int_equal(result, ERROR_IO);
    assert_non_null(strstr(error.text, "cannot write"));
    assert_int_equal(world_file_read(path, 0, &got, &error), 0);
    expect_same(&old, &got);
    world_file_release(&got);
    char fresh[80];
    snprintf(fresh, sizeof fresh, "%s.new", path);
    assert_int_not_equal(access(fresh, F_OK), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reads_what_was_written),
        cmocka_unit_test(test_damage_is_named),
        cmocka_unit_test(test_failed_write_keeps_the_old),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
