/* udp.c: sockets of both kinds. */
#include "protocol/session/udp.h"
#include "shared/base/check.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    BUFFER_BYTES = 256 << 10,
    /* Datagrams dropped in one udp_receive before it gives up for now. */
    DROPS_MAX = 64,
    CONTROL_BYTES = 64
};

typedef union SocketAddress {
    struct sockaddr any;
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
} SocketAddress;

/* Aligned as control messages have to be. */
typedef union Control {
    struct cmsghdr head;
    u8 bytes[CONTROL_BYTES];
} Control;

/* ---- addresses ---- */

/* Returns its size. */
static socklen_t address_write(const Udp *udp, const ProbeAddress *from, SocketAddress *out)
{
    memset(out, 0, sizeof *out);
    if (udp->v6) {
        out->v6.sin6_family = AF_INET6;
        out->v6.sin6_port = htons(from->port);
        out->v6.sin6_scope_id = from->scope;
        memcpy(&out->v6.sin6_addr, from->host.bytes, sizeof out->v6.sin6_addr);
        return sizeof out->v6;
    }
    out->v4.sin_family = AF_INET;
    out->v4.sin_port = htons(from->port);
    memcpy(&out->v4.sin_addr, from->host.bytes + 12, sizeof out->v4.sin_addr);
    return sizeof out->v4;
}

static bool address_read(const SocketAddress *in, ProbeAddress *out)
{
    memset(out, 0, sizeof *out);
    if (in->any.sa_family == AF_INET6) {
        memcpy(out->host.bytes, &in->v6.sin6_addr, sizeof out->host.bytes);
        out->scope = in->v6.sin6_scope_id;
        out->port = ntohs(in->v6.sin6_port);
        return true;
    }
    out->host = net_address_v4(&in->v4.sin_addr);
    out->port = ntohs(in->v4.sin_port);
    return in->any.sa_family == AF_INET;
}

static bool is_any(NetAddress host)
{
    static const NetAddress any;
    static const u8 any_v4[4];
    return memcmp(&host, &any, sizeof any) == 0 ||
           (net_address_is_v4(host) && memcmp(host.bytes + 12, any_v4, sizeof any_v4) == 0);
}

/* ---- life ---- */

static void prepare(Udp *udp)
{
    const int yes = 1, size = BUFFER_BYTES;
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof size);
    (void)setsockopt(udp->fd, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
    if (udp->answer) {
        udp->answer =
            udp->v6 ? setsockopt(udp->fd, IPPROTO_IPV6, IPV6_RECVPKTINFO, &yes, sizeof yes) == 0
                    : setsockopt(udp->fd, IPPROTO_IP, IP_PKTINFO, &yes, sizeof yes) == 0;
    }
}

static bool kind_open(Udp *udp, bool v6)
{
    const int no = 0;
    *udp = (Udp){.v6 = v6};
    udp->fd = socket(v6 ? AF_INET6 : AF_INET, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (udp->fd >= 0 && v6 && setsockopt(udp->fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no) != 0) {
        udp_close(udp);
    }
    return udp->fd >= 0;
}

static bool kind_bind(Udp *udp, bool v6, const ProbeAddress *own)
{
    SocketAddress address;
    if (!kind_open(udp, v6)) {
        return false;
    }
    udp->answer = is_any(own->host);
    if (bind(udp->fd, &address.any, address_write(udp, own, &address)) != 0) {
        int why = errno;
        udp_close(udp);
        errno = why;
        return false;
    }
    prepare(udp);
    return true;
}

int udp_bind(Udp *udp, const ProbeAddress *own, ErrorText *error)
{
    bool v4 = net_address_is_v4(own->host);
    if (kind_bind(udp, !v4, own)) {
        return ERROR_OK;
    }
    bool without = errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL;
    /* A machine without IPv6: its addresses are those of IPv4. */
    if (!v4 && is_any(own->host) && without && kind_bind(udp, false, own)) {
        return ERROR_OK;
    }
    return error_set(error, ERROR_NETWORK, "cannot open the UDP port: %s", strerror(errno));
}

int udp_open(Udp *udp, ErrorText *error)
{
    if (!kind_open(udp, true) && !kind_open(udp, false)) {
        return error_set(error, ERROR_NETWORK, "cannot open a UDP port: %s", strerror(errno));
    }
    prepare(udp);
    return ERROR_OK;
}

int udp_adopt(Udp *udp, int fd, ErrorText *error)
{
    SocketAddress address;
    ProbeAddress own;
    socklen_t bytes = sizeof address, size = sizeof(int);
    int kind = 0;
    if (fd < 0 || getsockname(fd, &address.any, &bytes) != 0 || !address_read(&address, &own) ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &kind, &size) != 0 || kind != SOCK_DGRAM) {
        return error_set(error, ERROR_USAGE, "not an open UDP socket");
    }
    *udp = (Udp){fd, address.any.sa_family == AF_INET6, is_any(own.host)};
    prepare(udp);
    return ERROR_OK;
}

void udp_close(Udp *udp)
{
    if (udp->fd >= 0) {
        close(udp->fd);
    }
    udp->fd = -1;
}

bool udp_bound(const Udp *udp, ProbeAddress *own)
{
    SocketAddress address;
    socklen_t bytes = sizeof address;
    return getsockname(udp->fd, &address.any, &bytes) == 0 && address_read(&address, own);
}

/* ---- datagrams ---- */

/* The address to answer from. */
static void source_write(const Udp *udp, NetAddress source, Control *control,
                         struct msghdr *message)
{
    struct in6_pktinfo v6 = {0};
    struct in_pktinfo v4 = {0};
    memset(control, 0, sizeof *control);
    control->head.cmsg_level = udp->v6 ? IPPROTO_IPV6 : IPPROTO_IP;
    control->head.cmsg_type = udp->v6 ? IPV6_PKTINFO : IP_PKTINFO;
    control->head.cmsg_len = CMSG_LEN(udp->v6 ? sizeof v6 : sizeof v4);
    if (udp->v6) {
        memcpy(&v6.ipi6_addr, source.bytes, sizeof v6.ipi6_addr);
        memcpy(CMSG_DATA(&control->head), &v6, sizeof v6);
    } else {
        memcpy(&v4.ipi_spec_dst, source.bytes + 12, sizeof v4.ipi_spec_dst);
        memcpy(CMSG_DATA(&control->head), &v4, sizeof v4);
    }
    message->msg_control = control->bytes;
    message->msg_controllen = CMSG_SPACE(udp->v6 ? sizeof v6 : sizeof v4);
}

static void source_read(struct msghdr *message, NetAddress *out)
{
    for (struct cmsghdr *at = CMSG_FIRSTHDR(message); at != NULL; at = CMSG_NXTHDR(message, at)) {
        struct in6_pktinfo v6;
        struct in_pktinfo v4;
        if (at->cmsg_level == IPPROTO_IPV6 && at->cmsg_type == IPV6_PKTINFO) {
            memcpy(&v6, CMSG_DATA(at), sizeof v6);
            memcpy(out->bytes, &v6.ipi6_addr, sizeof out->bytes);
        } else if (at->cmsg_level == IPPROTO_IP && at->cmsg_type == IP_PKTINFO) {
            memcpy(&v4, CMSG_DATA(at), sizeof v4);
            *out = net_address_v4(&v4.ipi_spec_dst);
        }
    }
}

bool udp_send(const Udp *udp, const ProbeAddress *to, const void *data, u32 bytes)
{
    CHECK(data != NULL || bytes == 0);
    SocketAddress address;
    Control control;
    struct iovec part = {.iov_base = (void *)data, .iov_len = bytes};
    struct msghdr message = {.msg_name = &address, .msg_iov = &part, .msg_iovlen = 1};
    message.msg_namelen = address_write(udp, to, &address);
    if (udp->answer && !is_any(to->own)) {
        source_write(udp, to->own, &control, &message);
    }
    ssize_t sent = sendmsg(udp->fd, &message, MSG_NOSIGNAL);
    if (sent < 0 && message.msg_control != NULL && errno != EAGAIN) {
        /* That address is gone, or was a multicast one. */
        message.msg_control = NULL;
        message.msg_controllen = 0;
        sent = sendmsg(udp->fd, &message, MSG_NOSIGNAL);
    }
    return sent >= 0;
}

u32 udp_receive(const Udp *udp, ProbeAddress *from, void *data, u32 capacity)
{
    for (u32 i = 0; i < DROPS_MAX; i++) {
        SocketAddress address = {0};
        Control control;
        struct iovec part = {.iov_base = data, .iov_len = capacity};
        struct msghdr message = {
            .msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &part, .msg_iovlen = 1};
        if (udp->answer) {
            message.msg_control = control.bytes;
            message.msg_controllen = sizeof control.bytes;
        }
        ssize_t got = recvmsg(udp->fd, &message, MSG_DONTWAIT | MSG_NOSIGNAL);
        if (got < 0 && errno == EAGAIN) {
            return 0;
        }
        if (got > 0 && (message.msg_flags & MSG_TRUNC) == 0 && address_read(&address, from)) {
            if (udp->answer) {
                source_read(&message, &from->own);
            }
            return (u32)got;
        }
    }
    return 0;
}
