/* test_world_builds.c: the whole world compiled by gcc and clang, at -O1 and -O3, with SSE2 and
 * AVX2, gives the same bits: scene, bodies, cloth, hands. */
#include "shared/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/* The same for all: what architecture.md demands for determinism. */
#define RULES                                                                                      \
    "-I. -Ibuild/gen -D_GNU_SOURCE -ffp-contract=off -fno-math-errno -fno-trapping-math "          \
    "-Wno-psabi -pthread"

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static void shell(const char *command)
{
    if (system(command) != 0) {
        fail_msg("failed: %s", command);
    }
}

/* The FlatBuffers readers take long to compile and only parse: once, by g++, for all. */
static void build_readers(const char *folder)
{
    char command[1024];
    snprintf(command, sizeof command,
             "for f in protocol/scene*.cpp; do g++ -std=c++17 -O1 -march=x86-64 " RULES
             " -c -o %s/$(basename $f).o $f || exit 1; done",
             folder);
    shell(command);
}

static void build_and_run(const char *folder, const char *compiler, const char *flags,
                          char hash[32])
{
    char command[2048];
    snprintf(command, sizeof command,
             "%s -std=c17 %s " RULES " -o %s/harness tests/determinism/world_harness.c "
             "server/world/*.c server/physics/*.c server/physics/*/*.c $(ls shared/*.c | grep -v "
             "options) "
             "protocol/entity_list.c protocol/field.c protocol/frame.c "
             "protocol/quantize.c protocol/input.c protocol/bits.c protocol/text.c %s/scene*.o "
             "-lflatbuffers -linih -lxxhash -lm -lstdc++ && %s/harness",
             compiler, flags, folder, folder, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    hash[0] = 0;
    char *line = fgets(hash, 32, pipe);
    int status = pclose(pipe);
    printf("%s %s: %s", compiler, flags, line ? line : "nothing\n");
    fflush(stdout);
    assert_int_equal(status, 0);
    assert_int_equal(strlen(hash), 17);
}

static void builds_agree(void **unused)
{
    PL_UNUSED(unused);
    if (SANITIZED) {
        skip(); /* it would test other builds than this one, once more */
    }
    static const char *const builds[][2] = {{"gcc", "-O1 -march=x86-64"},
                                            {"gcc", "-O3 -march=x86-64-v3 -mno-fma"},
                                            {"clang", "-O1 -march=x86-64"},
                                            {"clang", "-O3 -march=x86-64-v3 -mno-fma"}};
    char folder[] = "/tmp/plenum-builds-XXXXXX";
    assert_non_null(mkdtemp(folder));
    build_readers(folder);
    char first[32] = "", hash[32];
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        if (strstr(builds[i][1], "v3") && !have_avx2()) {
            continue;
        }
        build_and_run(folder, builds[i][0], builds[i][1], hash);
        if (!first[0]) {
            memcpy(first, hash, sizeof first);
        }
        assert_string_equal(hash, first);
    }
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", folder);
    shell(command);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(builds_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
