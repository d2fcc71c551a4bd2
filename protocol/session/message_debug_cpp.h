/*
 * message_debug_cpp.h: a received debug picture; C++, for message.cpp.
 * Layer: protocol/session, private.
 */
#ifndef PLENUM_PROTOCOL_SESSION_MESSAGE_DEBUG_CPP_H
#define PLENUM_PROTOCOL_SESSION_MESSAGE_DEBUG_CPP_H

#include "protocol/session/debug_picture.h"
#include "protocol/session/message_cpp.h"
#include "protocol/session/message_storage.h"
#include "shared/base/limits.h"

/* False: a count or a value is out of range. Arrays are copied into `storage`. */
inline bool debug_from_wire(Checker &c, const plenum::wire::Debug &w, DebugPicture &m,
                            Storage &storage)
{
    u32 line_count = size_of(w.lines()), island_count = size_of(w.islands());
    m.tick = w.tick();
    m.mask = w.mask();
    m.lines_all = w.lines_all();
    if (!c.whole(m.mask, 0, DEBUG_ALL, "debug mask") ||
        !c.whole(line_count, 0, DEBUG_LINES_MAX, "debug lines") ||
        !c.whole(island_count, 0, DEBUG_ISLANDS_MAX, "debug islands")) {
        return false;
    }
    if (!storage.allocate(Storage::bytes_for<DebugLine>(line_count) +
                          Storage::bytes_for<DebugIsland>(island_count))) {
        return c.refuse(ERROR_MEMORY, "no memory");
    }
    DebugLine *lines = storage.take<DebugLine>(line_count);
    DebugIsland *islands = storage.take<DebugIsland>(island_count);
    for (u32 i = 0; i < line_count; i++) {
        const plenum::wire::Line *line = w.lines()->Get(i);
        if (!c.vector(&line->from(), 2.0f * WORLD_EXTENT_MAX_M, lines[i].from, "debug line") ||
            !c.vector(&line->to(), 2.0f * WORLD_EXTENT_MAX_M, lines[i].to, "debug line") ||
            !c.whole(line->kind(), 0, DEBUG_LINE_KIND_COUNT - 1, "debug line kind")) {
            return false;
        }
        lines[i].kind = line->kind();
    }
    for (u32 i = 0; i < island_count; i++) {
        const plenum::wire::Island *island = w.islands()->Get(i);
        islands[i].entity = island->entity();
        islands[i].island = island->island();
    }
    m.lines = lines;
    m.line_count = line_count;
    m.islands = islands;
    m.island_count = island_count;
    return true;
}

#endif
