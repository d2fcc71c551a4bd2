/* password.c: see password.h. */
#include "protocol/session/password.h"

#include "shared/base/file.h"
#include "shared/base/text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

int password_read(const char *path, char password[PASSWORD_BYTES_MAX], ErrorText *error)
{
    struct stat status;
    size_t bytes;
    char *text = file_read(path, 4096, &bytes, error);
    if (text == NULL) {
        return ERROR_IO;
    }
    size_t length = strcspn(text, "\r\n");
    int result = ERROR_OK;
    if (stat(path, &status) != 0 || (status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
        result = error_set(error, ERROR_DENIED, "%s: readable by other users: chmod 600", path);
    } else if (length == 0 || length >= PASSWORD_BYTES_MAX || !text_is_clean(text, length)) {
        result =
            error_set(error, ERROR_FORMAT, "%s: expected a first line of 1 to %d bytes of UTF-8",
                      path, PASSWORD_BYTES_MAX - 1);
    } else {
        memset(password, 0, PASSWORD_BYTES_MAX);
        memcpy(password, text, length);
    }
    free(text);
    return result;
}
