/* test_builds.c: the rigid solver compiled by gcc and clang, at -O1 and -O3, with SSE2 and AVX2,
 * gives the same bits. */
#include "shared/base.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static bool have_avx2(void)
{
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi2");
}

static void build_and_run(const char *folder, const char *compiler, const char *flags,
                          char hash[32])
{
    char command[1024];
    snprintf(
        command, sizeof(command),
        "%s -std=c17 -I. -D_GNU_SOURCE %s -ffp-contract=off -fno-math-errno "
        "-fno-trapping-math -Wno-psabi -pthread -o %s/harness tests/determinism/rigid_harness.c "
        "server/physics/*.c server/physics/rigid/*.c $(ls shared/*.c | grep -v options) -linih "
        "-lxxhash -lm && "
        "%s/harness",
        compiler, flags, folder, folder);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    hash[0] = 0;
    char *line = fgets(hash, 32, pipe);
    int status = pclose(pipe);
    printf("%s %s: %s", compiler, flags, line ? line : "nothing\n");
    assert_int_equal(status, 0);
    assert_int_equal(strlen(hash), 17);
}

static void builds_agree(void **unused)
{
    PL_UNUSED(unused);
    static const char *const builds[][2] = {{"gcc", "-O1 -march=x86-64"},
                                            {"gcc", "-O3 -march=x86-64-v3 -mno-fma"},
                                            {"clang", "-O1 -march=x86-64"},
                                            {"clang", "-O3 -march=x86-64-v3 -mno-fma"}};
    char folder[] = "/tmp/plenum-builds-XXXXXX";
    assert_non_null(mkdtemp(folder));
    char first[32] = "", hash[32];
    for (u32 i = 0; i < PL_COUNT(builds); i++) {
        if (strstr(builds[i][1], "v3") && !have_avx2()) {
            continue;
        }
        build_and_run(folder, builds[i][0], builds[i][1], hash);
        if (!first[0]) {
            memcpy(first, hash, sizeof(first));
        }
        assert_string_equal(hash, first);
    }
    char program[64];
    snprintf(program, sizeof(program), "%s/harness", folder);
    unlink(program);
    rmdir(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(builds_agree)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
