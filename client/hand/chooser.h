/*
 * chooser.h: a window that lists the worlds that can be joined, for a client started without an
 * address; and the same list as text.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_CHOOSER_H
#define PLENUM_CLIENT_HAND_CHOOSER_H

#include "client/link/finder.h"

typedef struct ChooserOptions {
    FinderOptions finder;
    const char *filter; /* at first, or NULL */
    u32 width, height;
    bool offscreen;
    const char *screenshot; /* of the list, or NULL; then it ends */
    f64 duration_s;         /* 0: until the user ends it */
} ChooserOptions;

/* Shows the list until a world is chosen: its "HOST:PORT#KEY" is written to where[bytes], "" if the
 * user closed the window. Returns an exit code. */
int chooser_run(const ChooserOptions *options, char *where, size_t bytes, ErrorText *error);
/* Prints the worlds that answer within `wait_s`, one a line. EXIT_NETWORK with a text if the lobby
 * cannot be read. */
int chooser_print(const ChooserOptions *options, f64 wait_s, const volatile int *stop,
                  ErrorText *error);

#endif
