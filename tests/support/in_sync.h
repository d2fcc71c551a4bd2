/*
 * in_sync.h: what most tests of clients end with. Include it after cmocka.h.
 * Layer: tests.
 */
#ifndef PLENUM_TESTS_SUPPORT_IN_SYNC_H
#define PLENUM_TESTS_SUPPORT_IN_SYNC_H

#include "client/link/connection.h"

/* No state that the client decoded differed from the server's; all messages were well formed. */
static inline void assert_in_sync(Connection *client)
{
    ConnectionStats stats;
    connection_stats(client, &stats);
    assert_int_equal(stats.desyncs, 0);
    assert_int_equal(stats.malformed, 0);
}

/* And the server carried out all that the client asked for. */
static inline void assert_served(Connection *client)
{
    ConnectionStats stats;
    connection_stats(client, &stats);
    assert_int_equal(stats.refused, 0);
    assert_in_sync(client);
}

#endif
