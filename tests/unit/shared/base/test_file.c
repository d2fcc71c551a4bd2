/* test_file.c: which files are refused; nothing is overwritten or reached through a link. */
#include "shared/base/file.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

typedef struct Folder {
    char path[64];
    char name[96];
    ErrorText error;
} Folder;

static int setup(void **state)
{
    Folder *folder = calloc(1, sizeof *folder);
    strcpy(folder->path, "/tmp/plenum-file-XXXXXX");
    *state = folder;
    return mkdtemp(folder->path) != NULL ? 0 : -1;
}

static int teardown(void **state)
{
    Folder *folder = *state;
    char command[128];
    snprintf(command, sizeof command, "rm -rf '%s'", folder->path);
    int code = system(command);
    free(folder);
    return code;
}

static const char *name_in(Folder *folder, const char *name)
{
    snprintf(folder->name, sizeof folder->name, "%s/%s", folder->path, name);
    return folder->name;
}

static void write_file(const char *path, const void *bytes, size_t count)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, count, file), count);
    fclose(file);
}

static void reads_whole_files(void **state)
{
    Folder *folder = *state;
    char bytes[5000];
    for (u32 i = 0; i < sizeof bytes; i++) {
        bytes[i] = (char)(i * 7);
    }
    static const size_t sizes[] = {0, 1, 4095, 4096, 4097, 5000};
    for (u32 i = 0; i < PL_COUNT(sizes); i++) {
        const char *path = name_in(folder, "some");
        write_file(path, bytes, sizes[i]);
        size_t count = 99;
        char *text = file_read(path, sizes[i], &count, &folder->error);
        assert_non_null(text);
        assert_int_equal(count, sizes[i]);
        assert_memory_equal(text, bytes, count);
        assert_int_equal(text[count], 0);
        free(text);
        if (sizes[i] > 0) {
            assert_null(file_read(path, sizes[i] - 1, &count, &folder->error));
            assert_int_equal(folder->error.code, ERROR_LIMIT);
            assert_non_null(strstr(folder->error.text, path));
        }
    }
}

/* Each must be refused at once: opening a FIFO without a writer would block forever. */
static void refuses_other_than_regular_files(void **state)
{
    Folder *folder = *state;
    size_t count;
    const char *fifo = name_in(folder, "fifo");
    assert_int_equal(mkfifo(fifo, 0600), 0);
    assert_null(file_read(fifo, 100, &count, &folder->error));
    assert_non_null(strstr(folder->error.text, "FIFO"));
    static const char *const others[][2] = {
        {"/dev/zero", "device"}, {"/tmp", "folder"}, {"/nonexistent/x", "cannot open"}};
    for (u32 i = 0; i < PL_COUNT(others); i++) {
        assert_null(file_read(others[i][0], 1 << 20, &count, &folder->error));
        assert_non_null(strstr(folder->error.text, others[i][1]));
        assert_non_null(strstr(folder->error.text, others[i][0]));
    }
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    snprintf(address.sun_path, sizeof address.sun_path, "%s", name_in(folder, "socket"));
    int listener = socket(AF_UNIX, SOCK_STREAM, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_null(file_read(address.sun_path, 100, &count, &folder->error));
    close(listener);
    /* No size, but a finite length. */
    char *status = file_read("/proc/self/status", 1 << 20, &count, &folder->error);
    assert_non_null(status);
    assert_true(count > 100);
    free(status);
    assert_null(file_read("/proc/self/status", 100, &count, &folder->error));
}

static void creates_only_new_files(void **state)
{
    Folder *folder = *state;
    const char *path = name_in(folder, "new");
    int fd = file_create(path, 0600, &folder->error);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0600);
    assert_int_equal(write(fd, "kept", 4), 4);
    close(fd);
    assert_int_equal(file_create(path, 0600, &folder->error), ERROR_IO);
    assert_non_null(strstr(folder->error.text, "never overwritten"));
    char target[96];
    strcpy(target, path);
    /* A symbolic link to it, and one to nothing. */
    assert_int_equal(symlink(target, name_in(folder, "link")), 0);
    assert_true(file_create(folder->name, 0600, &folder->error) < 0);
    assert_int_equal(symlink("/tmp/plenum-nothing-there", name_in(folder, "dangling")), 0);
    assert_true(file_create(folder->name, 0600, &folder->error) < 0);
    assert_int_not_equal(access("/tmp/plenum-nothing-there", F_OK), 0);
    size_t count;
    char *text = file_read(target, 10, &count, &folder->error);
    assert_string_equal(text, "kept");
    free(text);
    assert_true(file_create("/nonexistent/x", 0600, &folder->error) < 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(reads_whole_files, setup, teardown),
        cmocka_unit_test_setup_teardown(refuses_other_than_regular_files, setup, teardown),
        cmocka_unit_test_setup_teardown(creates_only_new_files, setup, teardown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
