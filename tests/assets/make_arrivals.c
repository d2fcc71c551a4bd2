/*
 * make_arrivals.c: records when packets arrive: 30 a second over UDP through the proxy of a bad
 * network, in real time, with bursts of other traffic in the same queue and whatever the machine's
 * scheduler adds. `make arrivals` writes tests/assets/arrivals_*.txt anew, each time others; the
 * files in the tree were recorded while the machine compiled. A line for each packet: when it was
 * sent and how long it took, in µs, −1 for lost.
 */
#include "shared/base/clock.h"
#include "shared/math/random.h"
#include "tests/support/udp_proxy.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    SECONDS = 60,
    PACKETS = 30 * SECONDS,
    STATE_BYTES = 700,
    OTHER_BYTES = 1200,
    OTHER = -1 /* number of packets that only fill the queue */
};

typedef struct Path {
    const char *file;
    NetsimOptions net;
    u32 burst_packets; /* of other traffic, every 1.5 to 4.5 s */
} Path;

static const Path paths[] = {
    /* A shared wireless network on which somebody loads pages. */
    {"arrivals_wifi.txt",
     {.seed = 11,
      .delay_ms = 6,
      .jitter_ms = 6,
      .ordered = true,
      .loss = 0.003,
      .burst = 0.002,
      .burst_packets = 3,
      .rate_bytes_s = 600000,
      .queue_ms = 150},
     70},
    /* A phone in a moving train. */
    {"arrivals_mobile.txt",
     {.seed = 12,
      .delay_ms = 35,
      .jitter_ms = 35,
      .ordered = true,
      .loss = 0.01,
      .burst = 0.004,
      .burst_packets = 5,
      .rate_bytes_s = 160000,
      .queue_ms = 300},
     22},
};

typedef struct Sent {
    u64 at_us;
    i64 took_us; /* −1: did not arrive */
} Sent;

typedef struct Packet {
    i32 number; /* or OTHER */
    u8 filling[OTHER_BYTES - 4];
} Packet;

static void fail(const char *what)
{
    fprintf(stderr, "make-arrivals: %s\n", what);
    exit(1);
}

static int socket_open(u32 port, bool bound)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons((u16)port)};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    int fd = socket(AF_INET, SOCK_DGRAM, 0);
    int result = fd < 0  ? -1
                 : bound ? bind(fd, (struct sockaddr *)&address, sizeof address)
                         : connect(fd, (struct sockaddr *)&address, sizeof address);
    if (result != 0) {
        fail("no socket");
    }
    return fd;
}

static u32 socket_port(int fd)
{
    struct sockaddr_in address;
    socklen_t bytes = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) != 0) {
        fail("no port");
    }
    return ntohs(address.sin_port);
}

static u64 now_us(void)
{
    return clock_now_ns() / 1000;
}

/* Notes what arrives until `until_us`. */
static void receive(int fd, Sent *sent, u64 until_us)
{
    for (;;) {
        u64 now = now_us();
        struct pollfd ready = {.fd = fd, .events = POLLIN};
        int left_ms = until_us > now ? (int)((until_us - now + 999) / 1000) : 0;
        if (poll(&ready, 1, left_ms) <= 0) {
            return;
        }
        Packet packet;
        if (recv(fd, &packet, sizeof packet, 0) >= (ssize_t)sizeof packet.number &&
            packet.number >= 0 && packet.number < PACKETS && sent[packet.number].took_us < 0) {
            sent[packet.number].took_us = (i64)(now_us() - sent[packet.number].at_us);
        }
    }
}

static void record(const Path *path, Sent *sent)
{
    int in = socket_open(0, true);
    UdpProxy proxy;
    if (!udp_proxy_start(&proxy, socket_port(in), &path->net)) {
        fail("no proxy");
    }
    int out = socket_open(proxy.port, false);
    u64 begin_us = now_us(), other_us = begin_us + 1000000;
    Packet packet = {0};
    for (i32 i = 0; i < PACKETS; i++) {
        receive(in, sent, begin_us + (u64)i * 1000000 / 30);
        sent[i] = (Sent){now_us(), -1};
        packet.number = i;
        bool good = send(out, &packet, STATE_BYTES, 0) == STATE_BYTES;
        packet.number = OTHER;
        for (u32 k = 0; k < path->burst_packets && sent[i].at_us >= other_us; k++) {
            good = good && send(out, &packet, OTHER_BYTES, 0) == OTHER_BYTES;
        }
        if (!good) {
            fail("cannot send");
        }
        if (sent[i].at_us >= other_us) {
            other_us += (u64)(1e6 * (1.5 + 3.0 * (f64)random_f32(path->net.seed, (u64)i)));
        }
    }
    receive(in, sent, now_us() + 1000000);
    udp_proxy_stop(&proxy);
    close(in);
    close(out);
}

static void write_file(const char *folder, const char *name, const Sent *sent)
{
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "w");
    if (file == NULL) {
        fail("cannot write");
    }
    for (u32 i = 0; i < PACKETS; i++) {
        fprintf(file, "%llu %lld\n", (unsigned long long)(sent[i].at_us - sent[0].at_us),
                (long long)sent[i].took_us);
    }
    if (fclose(file) != 0) {
        fail("cannot write");
    }
}

int main(int argc, char **argv)
{
    static Sent sent[PACKETS];
    if (argc != 2) {
        fail("usage: make-arrivals FOLDER");
    }
    for (u32 i = 0; i < PL_COUNT(paths); i++) {
        record(&paths[i], sent);
        write_file(argv[1], paths[i].file, sent);
    }
    return 0;
}
