/*
 * udp_proxy.h: a bad network between real programs: forwards UDP between clients and one server
 * through tests/support/netsim.h, each client on its own upstream socket.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_UDP_PROXY_H
#define PLENUM_TESTS_SUPPORT_UDP_PROXY_H

#include "tests/support/netsim.h"

typedef struct UdpProxy {
    int pid;  /* of the forwarding process */
    u32 port; /* on 127.0.0.1, where clients connect to */
} UdpProxy;

/* Forks a process that forwards to 127.0.0.1:server_port until udp_proxy_stop or the test's end;
 * both directions get the options (with different seeds). False if no port could be had. */
bool udp_proxy_start(UdpProxy *proxy, u32 server_port, const NetsimOptions *options);
/* From now on each client comes to the server from another port, as when a NAT forgets it. */
void udp_proxy_rebind(const UdpProxy *proxy);
void udp_proxy_stop(UdpProxy *proxy);

#endif
