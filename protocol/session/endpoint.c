/*
 * endpoint.c: IPv4 only: ENet 1.3 keeps addresses in 32 bits and does its own sending and
 * receiving. Nothing above link_enet.c and probe.h knows; IPv6 takes another transport under Link.
 */
#include "protocol/session/endpoint.h"

#include "protocol/session/link.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits "HOST[:PORT]"; false if malformed. */
static bool split(const char *text, char *host, size_t host_bytes, u16 *port)
{
    const char *colon = strrchr(text, ':');
    size_t length = colon != NULL ? (size_t)(colon - text) : strlen(text);
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
    struct in_addr ip;
    *out = (ProbeAddress){.port = LINK_PORT_DEFAULT};
    /* Numeric addresses only: name resolution must never stall a server. */
    if (!split(text, name, sizeof name, &out->port)) {
        return error_set(error, ERROR_USAGE, "\"%s\" is not ADDR:PORT, such as 0.0.0.0:7340", text);
    }
    if (strcmp(name, "localhost") == 0) {
        snprintf(name, sizeof name, "127.0.0.1");
    } else if (strcmp(name, "*") == 0 || name[0] == '\0') {
        snprintf(name, sizeof name, "0.0.0.0");
    }
    if (inet_pton(AF_INET, name, &ip) != 1) {
        return error_set(error, ERROR_USAGE,
                         "\"%s\" is not an IPv4 address, such as 0.0.0.0 or 127.0.0.1", name);
    }
    out->host = ip.s_addr;
    return ERROR_OK;
}

int endpoint_resolve(const char *text, ProbeAddress *out, ErrorText *error)
{
    char name[256];
    struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_DGRAM};
    struct addrinfo *found = NULL;
    *out = (ProbeAddress){.port = LINK_PORT_DEFAULT};
    if (!split(text, name, sizeof name, &out->port) || name[0] == '\0' || out->port == 0) {
        return error_set(error, ERROR_USAGE, "\"%s\" is not HOST[:PORT], such as example.org:7340",
                         text);
    }
    int code = getaddrinfo(name, NULL, &hints, &found);
    if (code != 0) {
        return error_set(error, ERROR_NETWORK, "%s: %s", name, gai_strerror(code));
    }
    struct sockaddr_in remote;
    memcpy(&remote, found->ai_addr, sizeof remote);
    freeaddrinfo(found);
    out->host = remote.sin_addr.s_addr;
    return ERROR_OK;
}
