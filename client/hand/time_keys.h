/*
 * time_keys.h: keys that control time: in a recording as in a video editor, in a live world where
 * possible.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_TIME_KEYS_H
#define PLENUM_CLIENT_HAND_TIME_KEYS_H

#include "client/hand/hud.h"
#include "client/hand/keymap.h"
#include "client/link/connection.h"

/* False: the action has nothing to do with time. Otherwise *result is 0 or the Error of
 * connection_control. What only recordings can do leaves live worlds alone. */
bool time_key(Connection *connection, const Hud *hud, Action action, int *result);
/* True: it moves time; users who left the common time may move their own, whatever their role. */
bool time_key_moves(Action action);

#endif
