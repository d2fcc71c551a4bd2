/* neighbours.c: interfaces by ioctl. */
#include "protocol/session/neighbours.h"

#include <arpa/inet.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

static u32 ipv4_of(const struct sockaddr *address)
{
    struct sockaddr_in ipv4;
    memcpy(&ipv4, address, sizeof ipv4);
    return ipv4.sin_addr.s_addr;
}

/* False: it is down, or the query failed. */
static bool describe(int fd, const struct ifreq *found, Neighbourhood *out)
{
    struct ifreq request = *found;
    memset(out, 0, sizeof *out);
    memcpy(out->interface, found->ifr_name, sizeof out->interface - 1);
    out->host = ipv4_of(&found->ifr_addr);
    if (ioctl(fd, SIOCGIFFLAGS, &request) != 0 || (request.ifr_flags & IFF_UP) == 0) {
        return false;
    }
    short flags = request.ifr_flags;
    out->local = (flags & IFF_LOOPBACK) != 0;
    request = *found;
    if (ioctl(fd, SIOCGIFNETMASK, &request) != 0) {
        return false;
    }
    out->mask = ipv4_of(&request.ifr_netmask);
    request = *found;
    if (ioctl(fd, SIOCGIFINDEX, &request) == 0) {
        out->index = (u32)request.ifr_ifindex;
    }
    /* The loopback reports no broadcast address, but datagrams to its last address reach all
     * sockets. */
    if (out->local || (flags & IFF_BROADCAST) != 0) {
        out->broadcast = out->host | ~out->mask;
    }
    return true;
}

u32 neighbourhoods_find(Neighbourhood *out)
{
    struct ifreq found[NEIGHBOURHOODS_MAX];
    struct ifconf all = {.ifc_len = sizeof found};
    u32 count = 0;
    memset(found, 0, sizeof found);
    all.ifc_req = found;
    int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || ioctl(fd, SIOCGIFCONF, &all) != 0) {
        all.ifc_len = 0;
    }
    for (u32 i = 0; i < (u32)all.ifc_len / sizeof found[0]; i++) {
        count += describe(fd, &found[i], &out[count]);
    }
    if (fd >= 0) {
        close(fd);
    }
    return count;
}

const Neighbourhood *neighbourhood_of(const Neighbourhood *all, u32 count, u32 host)
{
    for (u32 i = 0; i < count; i++) {
        if ((all[i].host & all[i].mask) == (host & all[i].mask)) {
            return &all[i];
        }
    }
    return NULL;
}
