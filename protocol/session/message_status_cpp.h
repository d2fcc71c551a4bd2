/*
 * message_status_cpp.h: the received state of world time; C++, for message.cpp.
 * Layer: protocol/session, private.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_STATUS_CPP_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_STATUS_CPP_H

#include "protocol/session/message_cpp.h"

/* False: a value is out of range. */
inline bool status_from_wire(Checker &c, const plenum::wire::Status &w, MessageStatus &m)
{
    m.paused = w.paused();
    m.replay = w.replay();
    m.slowed = w.slowed();
    m.seekable = w.seekable();
    m.speed = w.speed();
    m.first_tick = w.first_tick();
    m.last_tick = w.last_tick();
    m.tick_ms = w.tick_ms();
    m.play.stream_tick = w.stream_tick();
    m.play.tick = w.shown_tick();
    m.play.direction = w.direction();
    m.loop_first = w.loop_first();
    m.loop_last = w.loop_last();
    m.back_s = w.back_s();
    m.own_time = static_cast<OwnTime>(w.own_time());
    m.common_tick = w.common_tick();
    m.common_speed = w.common_speed();
    return c.whole(w.own_time(), 0, OWN_TIME_COUNT - 1, "own_time") &&
           c.number(m.common_speed, -1000.0f, 1000.0f, "common_speed") &&
           c.number(m.speed, -1000.0f, 1000.0f, "speed") &&
           c.number(m.tick_ms, 0.0f, 1e9f, "tick_ms") &&
           c.number(f32(m.play.direction), -1.0f, 1.0f, "direction") &&
           c.number(m.back_s, 0.0f, 1e6f, "back_s");
}

#endif
