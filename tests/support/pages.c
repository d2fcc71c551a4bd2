/* pages.c: asks a server's HTTP port. */
#include "tests/support/pages.h"

#include "shared/base/clock.h"

#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

u32 free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static int http_open(u32 port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((u16)port)};
    struct timeval patience = {.tv_sec = 20};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    assert_int_equal(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    return fd;
}

void page_get(u32 port, const char *page, char *text, size_t bytes)
{
    int fd = http_open(port);
    size_t used = 0;
    ssize_t got = 1;
    dprintf(fd, "GET %s HTTP/1.0\r\n\r\n", page);
    while (got > 0 && used + 1 < bytes) {
        got = read(fd, text + used, bytes - 1 - used);
        used += got > 0 ? (size_t)got : 0;
    }
    text[used] = '\0';
    close(fd);
}

bool page_says(u32 port, const char *page, const char *part)
{
    static char text[64 << 10];
    u64 end = clock_now_ns() + 300000000000ull;
    while (clock_now_ns() < end) {
        page_get(port, page, text, sizeof text);
        if (strstr(text, part) != NULL) {
            return true;
        }
        clock_sleep_until_ns(clock_now_ns() + 100000000);
    }
    return false;
}
