/*
 * keymap.h: the actions of keymap.def.
 * Layer: client/hand.
 */
#ifndef PLENUM_CLIENT_HAND_KEYMAP_H
#define PLENUM_CLIENT_HAND_KEYMAP_H

typedef enum Action {
    ACTION_NONE,
#define GROUP(title)
#define MOUSE(shown, what)
#define KEY(action, key, control, role, shown, what) action,
#include "client/hand/keymap.def"
#undef KEY
#undef MOUSE
#undef GROUP
} Action;

#endif
