/* test_builds.c: the simulation compiled by gcc and clang, at -O1 and -O3, with SSE2 and AVX2,
 * gives the same bits: rigid bodies alone, soft bodies with them, whole worlds with scenes and
 * users; and the codecs. Every file is compiled once for each build, on all cores, and linked to
 * five harnesses; the release build that this program belongs to is one of the builds, as it is. */
#include "shared/base/base.h"
#include "tests/support/process.h"

#include <glob.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The same for all builds: the flags that ARCHITECTURE.md requires for determinism. */
#define RULES                                                                                      \
    "-I. -Ibuild/gen -D_GNU_SOURCE -ffp-contract=off -fno-math-errno -fno-trapping-math "          \
    "-Wno-psabi -pthread"

/* How this program was built, if it is one of the builds below. */
#if defined(__AVX2__) && !defined(PL_VALIDATE) && defined(__clang__)
#define THIS_BUILD "clang-avx2"
#elif defined(__AVX2__) && !defined(PL_VALIDATE)
#define THIS_BUILD "gcc-avx2"
#else
#define THIS_BUILD ""
#endif

typedef struct Build {
    const char *name, *compiler, *flags;
} Build;

/* The slowest to compile come first, so that no core waits at the end. */
static const Build builds[] = {{"gcc-avx2", "gcc", "-O3 -march=x86-64-v3 -mno-fma"},
                               {"clang-avx2", "clang", "-O3 -march=x86-64-v3 -mno-fma"},
                               {"gcc-sse2", "gcc", "-O1 -march=x86-64"},
                               {"clang-sse2", "clang", "-O1 -march=x86-64"}};

static bool runs_here(const Build *build)
{
    return !strstr(build->flags, "v3") ||
           (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2"));
}

static bool is_compiled(const Build *build)
{
    return runs_here(build) && strcmp(build->name, THIS_BUILD) != 0;
}

/* build/release, from build/release/plenum-server. */
static const char *libraries_folder(void)
{
    static char folder[512];
    snprintf(folder, sizeof folder, "%s", program_path("plenum-server"));
    char *slash = strrchr(folder, '/');
    assert_non_null(slash);
    *slash = 0;
    return folder;
}

static void shell(const char *command)
{
    if (system(command) != 0) {
        fail_msg("failed: %s", command);
    }
}

/* Adds a line that compiles the file for each build; the object is named after its path, with
 * dots. */
static void list_source(FILE *list, const char *path)
{
    char object[256];
    snprintf(object, sizeof object, "%s.o", path);
    for (char *c = object; *c; c++) {
        *c = (char)(*c == '/' ? '.' : *c);
    }
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        if (is_compiled(&builds[i])) {
            fprintf(list, "%s -std=c17 %s " RULES " -c -o %s/%s/%s %s\n", builds[i].compiler,
                    builds[i].flags, test_folder(), builds[i].name, object, path);
        }
    }
}

static void list_sources(FILE *list)
{
    static const char *const patterns[] = {"server/physics/rigid/*.c",
                                           "server/physics/rigid/*/*.c",
                                           "server/physics/soft/*.c",
                                           "server/physics/contact/*.c",
                                           "server/physics/grid/*.c",
                                           "server/physics/liquid/*.c",
                                           "server/physics/particles/*.c",
                                           "server/physics/*.c",
                                           "server/world/*.c",
                                           "server/author/convex_parts.c",
                                           "server/author/mesh_file*.c",
                                           "shared/*/*.c",
                                           "protocol/codec/chunk.c",
                                           "protocol/field/detail.c",
                                           "protocol/codec/grid_*.c",
                                           "protocol/codec/mix*.c",
                                           "protocol/codec/point_*.c",
                                           "protocol/codec/pose_*.c",
                                           "protocol/codec/span.c",
                                           "protocol/stream/entity_list.c",
                                           "protocol/field/field.c",
                                           "protocol/field/frame.c",
                                           "protocol/field/quantize.c",
                                           "protocol/session/input.c",
                                           "protocol/codec/bits.c"};
    for (u32 p = 0; p < PL_COUNT(patterns); p++) {
        glob_t found;
        assert_int_equal(glob(patterns[p], 0, NULL, &found), 0);
        for (size_t i = 0; i < found.gl_pathc; i++) {
            if (!strstr(found.gl_pathv[i], "options")) { /* of programs, not of the simulation */
                list_source(list, found.gl_pathv[i]);
            }
        }
        globfree(&found);
    }
}

static int compile_all(void **unused)
{
    PL_UNUSED(unused);
    if (SANITIZED) {
        return 0;
    }
    char command[1024];
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        snprintf(command, sizeof command, "mkdir %s/%s", test_folder(), builds[i].name);
        shell(command);
    }
    const char *path = test_path("list");
    FILE *list = fopen(path, "w");
    assert_non_null(list);
    list_sources(list);
    assert_int_equal(fclose(list), 0);
    snprintf(command, sizeof command, "xargs -P $(nproc) -I{} sh -c '{} || exit 255' < %s", path);
    shell(command);
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        if (is_compiled(&builds[i])) {
            const char *objects = test_path(builds[i].name);
            snprintf(command, sizeof command, "ar rcsD %s/all.a %s/*.o", objects, objects);
            shell(command);
        }
    }
    return 0;
}

/* The FlatBuffers readers are slow to compile and only parse: all builds share this program's. */
static void link_and_run(const Build *build, const char *harness, char hash[32])
{
    char own[256], command[4096];
    snprintf(own, sizeof own, "%s/all.a", test_path(build->name));
    if (!is_compiled(build)) {
        snprintf(own, sizeof own, "$b/libworld.a $b/libphysics.a $b/libshared.a");
    }
    const char *program = test_path("harness");
    snprintf(command, sizeof command,
             "b=%s; %s -std=c17 %s " RULES " -o %s tests/determinism/%s.c -Wl,--start-group %s "
             "$b/libauthor.a $b/libprotocol.a -Wl,--end-group -lflatbuffers -linih -lxxhash -lzstd "
             "-lpng -lm -lstdc++ -Wl,--strip-debug && %s",
             libraries_folder(), build->compiler, build->flags, program, harness, own, program);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    hash[0] = 0;
    char *line = fgets(hash, 32, pipe);
    int status = pclose(pipe);
    printf("%s %s %s: %s", harness, build->compiler, build->flags, line ? line : "nothing\n");
    fflush(stdout);
    assert_int_equal(status, 0);
    assert_int_equal(strlen(hash), 17);
}

static void expect_one_hash(const char *harness)
{
    if (SANITIZED) {
        skip(); /* it would repeat the builds of the release test */
    }
    char first[32] = "", hash[32];
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        if (!runs_here(&builds[i])) {
            continue;
        }
        link_and_run(&builds[i], harness, hash);
        if (!first[0]) {
            memcpy(first, hash, sizeof first);
        }
        assert_string_equal(hash, first);
    }
}

static void builds_agree_on_rigid_bodies(void **unused)
{
    PL_UNUSED(unused);
    expect_one_hash("rigid_harness");
}

static void builds_agree_on_soft_bodies(void **unused)
{
    PL_UNUSED(unused);
    expect_one_hash("soft_harness");
}

static void builds_agree_on_worlds(void **unused)
{
    PL_UNUSED(unused);
    expect_one_hash("world_harness");
}

/* The first ticks of the golden scenes, packets included. */
static void builds_agree_on_golden_scenes(void **unused)
{
    PL_UNUSED(unused);
    expect_one_hash("golden_harness");
}

static void builds_agree_on_codes(void **unused)
{
    PL_UNUSED(unused);
    expect_one_hash("codec_harness");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(builds_agree_on_rigid_bodies),
        cmocka_unit_test(builds_agree_on_soft_bodies), cmocka_unit_test(builds_agree_on_worlds),
        cmocka_unit_test(builds_agree_on_golden_scenes), cmocka_unit_test(builds_agree_on_codes)};
    return cmocka_run_group_tests(tests, compile_all, NULL);
}
