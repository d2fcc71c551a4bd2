/* lan.c: see lan.h. */
#include "server/host/lan.h"

#include "protocol/session/neighbours.h"
#include "server/host/session.h"
#include "shared/base/log.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <stdlib.h>
#include <string.h>

enum {
    NEIGHBOURS_MS = 10000 /* interfaces come and go */
};

struct Lan {
    struct Host *host;
    uv_udp_t ipv4, ipv6;
    char datagram[INQUIRY_BYTES + 1];
    Neighbourhood near[NEIGHBOURHOODS_MAX];
    u32 near_count;
    u64 near_ms;
    InquiryLimits limits;
};

static void on_buffer(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    PL_UNUSED(wanted);
    Lan *lan = handle->data;
    *buffer = uv_buf_init(lan->datagram, sizeof lan->datagram);
}

/* The network of a neighbour, or NULL; *site: who it is, for the limits. */
static const Neighbourhood *network_of(const Lan *lan, const struct sockaddr *from, u32 *site)
{
    if (from->sa_family == AF_INET) {
        struct sockaddr_in ipv4;
        memcpy(&ipv4, from, sizeof ipv4);
        *site = ipv4.sin_addr.s_addr;
        return neighbourhood_of(lan->near, lan->near_count, *site);
    }
    struct sockaddr_in6 ipv6;
    memcpy(&ipv6, from, sizeof ipv6);
    *site = ipv6.sin6_scope_id;
    for (u32 i = 0; IN6_IS_ADDR_LINKLOCAL(&ipv6.sin6_addr) && i < lan->near_count; i++) {
        if (lan->near[i].index == ipv6.sin6_scope_id) {
            return &lan->near[i];
        }
    }
    return NULL;
}

static void on_datagram(uv_udp_t *socket, ssize_t bytes, const uv_buf_t *buffer,
                        const struct sockaddr *from, unsigned flags)
{
    Lan *lan = socket->data;
    const Host *host = lan->host;
    u8 out[INQUIRY_ANSWER_BYTES];
    u32 site;
    if (bytes <= 0 || from == NULL || (flags & UV_UDP_PARTIAL) != 0 ||
        !inquiry_is(buffer->base, (u32)bytes) || host->notice.port == 0 || host->draining) {
        return;
    }
    u64 now_ms = host->now_ms;
    if (now_ms >= lan->near_ms) {
        lan->near_ms = now_ms + NEIGHBOURS_MS;
        lan->near_count = neighbourhoods_find(lan->near);
    }
    const Neighbourhood *network = network_of(lan, from, &site);
    if (network == NULL || !inquiry_allowed(&lan->limits, net_address_v4(&site), now_ms)) {
        return;
    }
    WorldNotice notice = host->notice;
    notice.host = from->sa_family == AF_INET6 ? network->host : 0;
    inquiry_answer(&notice, buffer->base, out);
    uv_buf_t answer = uv_buf_init((char *)out, sizeof out);
    (void)uv_udp_try_send(socket, &answer, 1, from);
}

static bool listen_on(Lan *lan, uv_loop_t *loop, uv_udp_t *socket, bool ipv6)
{
    struct sockaddr_in any4;
    struct sockaddr_in6 any6;
    uv_ip4_addr("0.0.0.0", LAN_PORT, &any4);
    uv_ip6_addr("::", LAN_PORT, &any6);
    const struct sockaddr *any =
        ipv6 ? (const struct sockaddr *)&any6 : (const struct sockaddr *)&any4;
    u32 flags = UV_UDP_REUSEADDR | (ipv6 ? UV_UDP_IPV6ONLY : 0);
    int code = uv_udp_init(loop, socket);
    if (code != 0) {
        return false;
    }
    socket->data = lan;
    if ((code = uv_udp_bind(socket, any, flags)) == 0 &&
        (code = uv_udp_recv_start(socket, on_buffer, on_datagram)) == 0) {
        return true;
    }
    log_debug("discovery on the local network: no %s: %s", ipv6 ? "IPv6" : "IPv4",
              uv_strerror(code));
    uv_close((uv_handle_t *)socket, NULL);
    return false;
}

/* On every current interface. */
static void join_groups(Lan *lan)
{
    for (u32 i = 0; i < lan->near_count; i++) {
        if (!lan->near[i].local) {
            char where[INTERFACE_NAME_BYTES + 4] = "::%";
            memcpy(where + 3, lan->near[i].interface, INTERFACE_NAME_BYTES);
            (void)uv_udp_set_membership(&lan->ipv6, LAN_GROUP, where, UV_JOIN_GROUP);
        }
    }
}

Lan *lan_create(Host *host, uv_loop_t *loop)
{
    u8 key[SEAL_HASH_KEY_BYTES];
    Lan *lan = calloc(1, sizeof *lan);
    if (lan == NULL) {
        return NULL;
    }
    lan->host = host;
    seal_random(key, sizeof key);
    inquiry_limits_init(&lan->limits, key, INQUIRY_SITE_S, INQUIRY_ALL_S, host->now_ms);
    lan->near_count = neighbourhoods_find(lan->near);
    bool ipv4 = listen_on(lan, loop, &lan->ipv4, false);
    bool ipv6 = listen_on(lan, loop, &lan->ipv6, true);
    if (ipv6) {
        join_groups(lan);
    }
    if (!ipv4) {
        log_warn("clients on the local network will not find this world: UDP port %d is taken",
                 LAN_PORT);
    }
    return lan;
}

void lan_asked(const Lan *lan, u64 *answered, u64 *refused)
{
    *answered += lan != NULL ? lan->limits.answered : 0;
    *refused += lan != NULL ? lan->limits.refused : 0;
}

void lan_destroy(Lan *lan)
{
    free(lan);
}
