/*
 * time_keys.h: what keys do to time: in a recording as in a film cutter, in a live world as far as
 * it goes.
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
