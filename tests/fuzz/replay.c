/*
 * replay.c: runs a fuzz target over its corpus, as a test. The program is called fuzz_NAME, the
 * corpus is tests/fuzz/corpus/NAME; files given as arguments are run instead. Prints what tests
 * print.
 */
#include "shared/base/base.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const u8 *data, size_t size);

/* The input lies in memory of just its size, so that reading beyond it is seen. */
static int run(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL || fseek(file, 0, SEEK_END) != 0) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    long size = ftell(file);
    rewind(file);
    u8 *data = malloc(size > 0 ? (size_t)size : 1);
    if (size < 0 || data == NULL || fread(data, 1, (size_t)size, file) != (size_t)size) {
        fprintf(stderr, "%s: cannot be read\n", path);
        exit(2);
    }
    fclose(file);
    LLVMFuzzerTestOneInput(data, (size_t)size);
    free(data);
    return 1;
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

int main(int argc, char **argv)
{
    const char *base = strrchr(argv[0], '/');
    base = base != NULL ? base + 1 : argv[0];
    const char *name = strncmp(base, "fuzz_", 5) == 0 ? base + 5 : base;
    int count = 0;
    printf("[ RUN      ] corpus of %s\n", name);
    fflush(stdout);
    for (int i = 1; i < argc; i++) {
        count += run(argv[i]);
    }
    if (argc == 1) {
        char folder[256], path[600];
        snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", name);
        struct dirent **entries = NULL;
        int found = scandir(folder, &entries, NULL, by_name);
        for (int i = 0; i < found; i++) {
            if (entries[i]->d_name[0] != '.') {
                snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
                /* Says where it was, if that is the end. */
                fprintf(stderr, "%s\n", path);
                count += run(path);
            }
            free(entries[i]);
        }
        free(entries);
    }
    if (count == 0) {
        printf("no corpus\n[  FAILED  ] corpus of %s\n", name);
        return 1;
    }
    printf("%d inputs\n[       OK ] corpus of %s\n", count, name);
    return 0;
}
