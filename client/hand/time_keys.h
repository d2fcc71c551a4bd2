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

/* False: not an action on time. Otherwise *result is 0 or the Error of connection_control. Actions
 * that only recordings support do nothing in live worlds. */
bool time_key(Connection *connection, const Hud *hud, Action action, int *result);
/* True if it changes time; users who left the common time may change their own, whatever their
 * role. */
bool time_key_moves(Action action);

#endif
