/*
 * udp_socket.h: sockets of tests that speak for others. Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_UDP_SOCKET_H
#define PLENUM_TESTS_SUPPORT_UDP_SOCKET_H

#include "shared/base/base.h"

#include <arpa/inet.h>
#include <sys/socket.h>

/* At any free port, which it returns; flags as of socket(). */
static inline int udp_socket_open(int flags, u16 *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_DGRAM | flags, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

#endif
