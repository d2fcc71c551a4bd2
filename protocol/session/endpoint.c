/* endpoint.c: addresses from text. */
#include "protocol/session/endpoint.h"

#include "protocol/session/link.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The colon before the port; NULL: there is none. More colons outside brackets are IPv6's. */
static const char *port_colon(const char *text)
{
    const char *close = text[0] == '[' ? strchr(text, ']') : NULL;
    const char *colon = strchr(close != NULL ? close : text, ':');
    return colon != NULL && strchr(colon + 1, ':') == NULL ? colon : NULL;
}

bool endpoint_has_port(const char *text)
{
    return port_colon(text) != NULL;
}

/* Splits "HOST[:PORT]", without brackets; false if malformed. */
static bool split(const char *text, char *host, size_t host_bytes, u16 *port)
{
    const char *colon = port_colon(text);
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
    if (text[0] == '[') {
        if (length < 3 || text[length - 1] != ']') {
            return false;
        }
        text++;
        length -= 2;
    }
    if (length >= host_bytes) {
        return false;
    }
    memcpy(host, text, length);
    host[length] = '\0';
    if (colon != NULL) {
        char *end = NULL;
        unsigned long value = strtoul(colon + 1, &end, 10);
        if (colon[1] < '0' || colon[1] > '9' || *end != '\0' || value > 65535) {
            return false;
        }
        *port = (u16)value;
    }
    return true;
}

int endpoint_own(const char *text, ProbeAddress *out, ErrorText *error)
{
    char name[64];
    *out = (ProbeAddress){.port = LINK_PORT_DEFAULT};
    /* Numeric addresses only: name resolution must never stall a server. */
    if (!split(text, name, sizeof name, &out->port)) {
        return error_set(error, ERROR_USAGE,
                         "\"%s\" is not ADDR:PORT, such as *:7340 or [::1]:7340", text);
    }
    if (strcmp(name, "localhost") == 0) {
        snprintf(name, sizeof name, "127.0.0.1");
    } else if (strcmp(name, "*") == 0 || name[0] == '\0') {
        snprintf(name, sizeof name, "::");
    }
    if (!net_address_parse(name, &out->host)) {
        return error_set(error, ERROR_USAGE,
                         "\"%s\" is not an address, such as 0.0.0.0, 127.0.0.1 or ::1", name);
    }
    return ERROR_OK;
}

static bool found_read(const struct addrinfo *found, u16 port, ProbeAddress *out)
{
    struct sockaddr_in v4;
    struct sockaddr_in6 v6;
    *out = (ProbeAddress){.port = port};
    if (found->ai_family == AF_INET6) {
        memcpy(&v6, found->ai_addr, sizeof v6);
        memcpy(out->host.bytes, &v6.sin6_addr, sizeof out->host.bytes);
        out->scope = v6.sin6_scope_id;
        return true;
    }
    if (found->ai_family == AF_INET) {
        memcpy(&v4, found->ai_addr, sizeof v4);
        out->host = net_address_v4(&v4.sin_addr);
        return true;
    }
    return false;
}

int endpoint_resolve(const char *text, ProbeAddress out[ENDPOINTS_MAX], u32 *count,
                     ErrorText *error)
{
    char name[256];
    struct addrinfo hints = {.ai_family = AF_UNSPEC, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    u16 port = LINK_PORT_DEFAULT;
    u32 of_kind[2] = {0};
    *count = 0;
    if (!split(text, name, sizeof name, &port) || name[0] == '\0' || port == 0) {
        return error_set(error, ERROR_USAGE, "\"%s\" is not HOST[:PORT], such as example.org:7340",
                         text);
    }
    int code = getaddrinfo(name, NULL, &hints, &found);
    if (code != 0) {
        return error_set(error, ERROR_NETWORK, "%s: %s", name, gai_strerror(code));
    }
    for (const struct addrinfo *at = found; at != NULL && *count < ENDPOINTS_MAX;
         at = at->ai_next) {
        if (found_read(at, port, &out[*count])) {
            u32 *same = &of_kind[net_address_is_v4(out[*count].host)];
            *count += ++*same <= ENDPOINTS_MAX / 2;
        }
    }
    freeaddrinfo(found);
    return *count > 0 ? ERROR_OK : error_set(error, ERROR_NETWORK, "%s: no address", name);
}

const char *endpoint_text(const ProbeAddress *address, char text[ENDPOINT_TEXT_BYTES])
{
    char host[ADDRESS_TEXT_BYTES];
    NetPrefix whole = net_prefix(address->host, ADDRESS_BITS);
    bool v4 = net_address_is_v4(address->host);
    snprintf(text, ENDPOINT_TEXT_BYTES, v4 ? "%.46s:%u" : "[%.46s]:%u",
             net_prefix_text(&whole, host), address->port);
    return text;
}

bool endpoint_v4(const ProbeAddress *address, u32 *host)
{
    static const NetAddress any;
    memcpy(host, address->host.bytes + 12, sizeof *host);
    return net_address_is_v4(address->host) || memcmp(&address->host, &any, sizeof any) == 0;
}

int endpoint_descriptor(const char *text)
{
    char *end;
    if (strncmp(text, "fd:", 3) != 0) {
        return -1;
    }
    long fd = strtol(text + 3, &end, 10);
    return end == text + 3 || *end != '\0' || fd > INT_MAX ? -1 : (int)fd;
}
