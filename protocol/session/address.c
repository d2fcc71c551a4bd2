/* address.c: addresses and prefixes. */
#include "protocol/session/address.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const u8 mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};

bool net_address_is_v4(NetAddress address)
{
    return memcmp(address.bytes, mapped, sizeof mapped) == 0;
}

/* A name of exactly `length` bytes. */
static bool parse(const char *text, size_t length, NetAddress *address)
{
    char name[INET6_ADDRSTRLEN];
    if (length == 0 || length >= sizeof name) {
        return false;
    }
    memcpy(name, text, length);
    name[length] = '\0';
    memcpy(address->bytes, mapped, sizeof mapped);
    return inet_pton(AF_INET, name, address->bytes + sizeof mapped) == 1 ||
           inet_pton(AF_INET6, name, address->bytes) == 1;
}

bool net_address_parse(const char *text, NetAddress *address)
{
    const char *close = strchr(text, ']');
    if (text[0] == '[') {
        return close != NULL && (close[1] == '\0' || close[1] == ':') &&
               parse(text + 1, (size_t)(close - text) - 1, address);
    }
    const char *colon = strchr(text, ':');
    bool port = colon != NULL && strchr(colon + 1, ':') == NULL;
    return parse(text, port ? (size_t)(colon - text) : strlen(text), address);
}

NetPrefix net_prefix(NetAddress address, u32 bits)
{
    NetPrefix prefix = {address, u32_min(bits, ADDRESS_BITS)};
    for (u32 i = 0; i < sizeof address.bytes; i++) {
        u32 kept = prefix.bits > 8 * i ? u32_min(prefix.bits - 8 * i, 8) : 0;
        prefix.address.bytes[i] &= (u8)(0xFF00u >> kept);
    }
    return prefix;
}

bool net_prefix_parse(const char *text, NetPrefix *prefix)
{
    const char *slash = strchr(text, '/');
    NetAddress address;
    if (!parse(text, slash != NULL ? (size_t)(slash - text) : strlen(text), &address)) {
        return false;
    }
    u32 before = net_address_is_v4(address) && strchr(text, '.') != NULL ? ADDRESS_BITS_V4 : 0;
    u32 bits = ADDRESS_BITS;
    if (slash != NULL) {
        char *end;
        unsigned long given = strtoul(slash + 1, &end, 10);
        if (slash[1] < '0' || slash[1] > '9' || *end != '\0' || given > ADDRESS_BITS - before) {
            return false;
        }
        bits = before + (u32)given;
    }
    *prefix = net_prefix(address, bits);
    return true;
}

NetPrefix net_host_prefix(NetAddress address)
{
    return net_prefix(address, net_address_is_v4(address) ? ADDRESS_BITS : 64);
}

NetPrefix net_site(NetAddress address)
{
    return net_prefix(address, net_address_is_v4(address) ? ADDRESS_BITS_V4 + 24 : 48);
}

NetAddress net_address_v4(const void *bytes)
{
    NetAddress address;
    memcpy(address.bytes, mapped, sizeof mapped);
    memcpy(address.bytes + sizeof mapped, bytes, sizeof address.bytes - sizeof mapped);
    return address;
}

bool net_prefix_contains(const NetPrefix *prefix, NetAddress address)
{
    NetPrefix other = net_prefix(address, prefix->bits);
    return memcmp(&other.address, &prefix->address, sizeof other.address) == 0;
}

bool net_prefix_same(const NetPrefix *a, const NetPrefix *b)
{
    return a->bits == b->bits && memcmp(&a->address, &b->address, sizeof a->address) == 0;
}

bool net_address_is_local(NetAddress address)
{
    static const NetAddress one = {.bytes[15] = 1};
    return (net_address_is_v4(address) && address.bytes[12] == 127) ||
           memcmp(&address, &one, sizeof one) == 0;
}

const char *net_prefix_text(const NetPrefix *prefix, char text[ADDRESS_TEXT_BYTES])
{
    bool v4 = net_address_is_v4(prefix->address) && prefix->bits >= ADDRESS_BITS_V4;
    char name[INET6_ADDRSTRLEN] = "";
    const void *bytes = prefix->address.bytes + (v4 ? sizeof mapped : 0);
    inet_ntop(v4 ? AF_INET : AF_INET6, bytes, name, sizeof name);
    if (prefix->bits == ADDRESS_BITS) {
        snprintf(text, ADDRESS_TEXT_BYTES, "%s", name);
    } else {
        snprintf(text, ADDRESS_TEXT_BYTES, "%s/%u", name,
                 prefix->bits - (v4 ? ADDRESS_BITS_V4 : 0));
    }
    return text;
}
