/* udp_proxy.c: one poll loop, two Netsims per client. */
#include "tests/support/udp_proxy.h"

#include "shared/base/clock.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    PROXY_CLIENTS_MAX = 64
};

typedef struct ProxyClient {
    struct sockaddr_in address;
    int upstream;
    Netsim *up, *down;
} ProxyClient;

typedef struct Proxy {
    int listener;
    struct sockaddr_in server;
    NetsimOptions options;
    ProxyClient clients[PROXY_CLIENTS_MAX];
    u32 count;
} Proxy;

static struct sockaddr_in loopback(u32 port)
{
    struct sockaddr_in address;
    memset(&address, 0, sizeof address);
    address.sin_family = AF_INET;
    address.sin_port = htons((u16)port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
}

static ProxyClient *client_of(Proxy *proxy, const struct sockaddr_in *from)
{
    for (u32 i = 0; i < proxy->count; i++) {
        ProxyClient *client = &proxy->clients[i];
        if (client->address.sin_port == from->sin_port &&
            client->address.sin_addr.s_addr == from->sin_addr.s_addr) {
            return client;
        }
    }
    if (proxy->count == PROXY_CLIENTS_MAX) {
        return NULL;
    }
    ProxyClient *client = &proxy->clients[proxy->count];
    NetsimOptions options = proxy->options;
    client->address = *from;
    client->upstream = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
    options.seed = proxy->options.seed + 2 * proxy->count;
    client->up = netsim_create(&options);
    options.seed++;
    client->down = netsim_create(&options);
    if (client->upstream < 0 || client->up == NULL || client->down == NULL) {
        _exit(1);
    }
    proxy->count++;
    return client;
}

static void deliver(Proxy *proxy, u64 now_us)
{
    u8 packet[NETSIM_PACKET_BYTES_MAX];
    for (u32 i = 0; i < proxy->count; i++) {
        ProxyClient *client = &proxy->clients[i];
        u32 bytes;
        while ((bytes = netsim_receive(client->up, now_us, packet)) > 0) {
            sendto(client->upstream, packet, bytes, 0, (struct sockaddr *)&proxy->server,
                   sizeof proxy->server);
        }
        while ((bytes = netsim_receive(client->down, now_us, packet)) > 0) {
            sendto(proxy->listener, packet, bytes, 0, (struct sockaddr *)&client->address,
                   sizeof client->address);
        }
    }
}

static volatile sig_atomic_t rebind_asked;

static void on_rebind(int number)
{
    PL_UNUSED(number);
    rebind_asked = 1;
}

/* Other ports towards the server; what comes to the old ones meets a closed door. */
static void rebind(Proxy *proxy)
{
    for (u32 i = 0; i < proxy->count; i++) {
        int old = proxy->clients[i].upstream;
        proxy->clients[i].upstream = socket(AF_INET, SOCK_DGRAM | SOCK_NONBLOCK, 0);
        if (proxy->clients[i].upstream < 0) {
            _exit(1);
        }
        close(old);
    }
}

static void forward(Proxy *proxy)
{
    u8 packet[NETSIM_PACKET_BYTES_MAX];
    for (;;) {
        if (rebind_asked) {
            rebind_asked = 0;
            rebind(proxy);
        }
        struct pollfd wait[PROXY_CLIENTS_MAX + 1] = {{.fd = proxy->listener, .events = POLLIN}};
        for (u32 i = 0; i < proxy->count; i++) {
            wait[i + 1].fd = proxy->clients[i].upstream;
            wait[i + 1].events = POLLIN;
        }
        poll(wait, proxy->count + 1, 1);
        u64 now_us = clock_now_ns() / 1000;
        struct sockaddr_in from;
        socklen_t from_bytes = sizeof from;
        ssize_t bytes;
        while ((bytes = recvfrom(proxy->listener, packet, sizeof packet, MSG_DONTWAIT,
                                 (struct sockaddr *)&from, &from_bytes)) > 0) {
            ProxyClient *client = client_of(proxy, &from);
            if (client != NULL) {
                netsim_send(client->up, packet, (u32)bytes, now_us);
            }
        }
        for (u32 i = 0; i < proxy->count; i++) {
            while ((bytes = recv(proxy->clients[i].upstream, packet, sizeof packet, MSG_DONTWAIT)) >
                   0) {
                netsim_send(proxy->clients[i].down, packet, (u32)bytes, now_us);
            }
        }
        deliver(proxy, now_us);
    }
}

bool udp_proxy_start(UdpProxy *proxy, u32 server_port, const NetsimOptions *options)
{
    struct sockaddr_in address = loopback(0);
    socklen_t address_bytes = sizeof address;
    int listener = socket(AF_INET, SOCK_DGRAM, 0);
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        getsockname(listener, (struct sockaddr *)&address, &address_bytes) != 0) {
        return false;
    }
    proxy->port = ntohs(address.sin_port);
    proxy->pid = fork();
    if (proxy->pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the test, however that ends */
        signal(SIGTERM, SIG_DFL);
        signal(SIGUSR1, on_rebind);
        Proxy *state = calloc(1, sizeof *state);
        if (state == NULL) {
            _exit(1);
        }
        state->listener = listener;
        state->server = loopback(server_port);
        state->options = *options;
        forward(state);
    }
    close(listener);
    return proxy->pid > 0;
}

void udp_proxy_rebind(const UdpProxy *proxy)
{
    kill(proxy->pid, SIGUSR1);
}

void udp_proxy_stop(UdpProxy *proxy)
{
    if (proxy->pid > 0) {
        kill(proxy->pid, SIGKILL);
        waitpid(proxy->pid, NULL, 0);
        proxy->pid = 0;
    }
}
