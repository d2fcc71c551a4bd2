/* debug_subscription.c: the debug picture for subscribed clients. The source makes one picture
 * for all; each client gets its subscribed parts, the nearest lines first. */
#include "server/host/session.h"

#include <stdlib.h>

void debug_subscription_update(Host *host)
{
    u32 mask = 0;
    for (u32 i = 0; i < host->session_capacity; i++) {
        mask |= host->sessions[i].state == SESSION_LIVE ? host->sessions[i].debug_mask : 0;
    }
    if (host->common.source->ops->debug_subscribe != NULL && mask != host->debug_mask) {
        host->common.source->ops->debug_subscribe(host->common.source, mask);
    }
    host->debug_mask = mask;
}

void debug_subscription_receive(Host *host, Session *session, u32 mask)
{
    if (host->common.source->ops->debug_subscribe == NULL && mask != 0) {
        session_notice(host, session, "a recording contains no debug data");
        return;
    }
    session->debug_mask = mask;
    debug_subscription_update(host);
}

enum {
    /* If more is waiting, a new picture would be late, too. */
    PICTURES_WAITING_MAX = 2
};

static u32 bit_of_line(u32 kind)
{
    return kind == DEBUG_LINE_CONTACT ? DEBUG_CONTACTS
           : kind == DEBUG_LINE_BOX   ? DEBUG_BOXES
                                      : DEBUG_JOINTS;
}

static f32 distance_of(const DebugLine *line, Vec3 eye)
{
    return vec3_distance(vec3_scale(vec3_add(line->from, line->to), 0.5f), eye);
}

/* Radius that contains at most DEBUG_LINES_MAX of the lines, by bisection to 1/1024 of the
 * largest distance. */
static f32 reach_of(const DebugPicture *picture, u32 mask, Vec3 eye)
{
    f32 low = 0.0f, high = 4.0f * WORLD_EXTENT_MAX_M;
    for (u32 step = 0; step < 32; step++) {
        f32 middle = step == 0 ? high : 0.5f * (low + high);
        u32 inside = 0;
        for (u32 i = 0; i < picture->line_count; i++) {
            inside += (bit_of_line(picture->lines[i].kind) & mask) != 0 &&
                      distance_of(&picture->lines[i], eye) <= middle;
        }
        if (inside <= DEBUG_LINES_MAX) {
            low = middle;
        } else {
            high = middle;
        }
        if (step == 0 && inside <= DEBUG_LINES_MAX) {
            return high;
        }
    }
    return low;
}

static void debug_subscription_send_one(Host *host, Session *session, const DebugPicture *picture)
{
    static const u32 lines_capacity = DEBUG_LINES_MAX;
    DebugLine *lines = malloc(lines_capacity * sizeof *lines);
    if (lines == NULL) {
        return;
    }
    f32 reach = reach_of(picture, session->debug_mask, session->view.eye);
    u32 count = 0, all = 0;
    for (u32 i = 0; i < picture->line_count; i++) {
        const DebugLine *line = &picture->lines[i];
        if ((bit_of_line(line->kind) & session->debug_mask) == 0) {
            continue;
        }
        all++;
        if (count < lines_capacity && distance_of(line, session->view.eye) <= reach) {
            lines[count++] = *line;
        }
    }
    Message message = {.kind = MESSAGE_DEBUG};
    message.debug = *picture;
    message.debug.mask = picture->mask & session->debug_mask;
    message.debug.lines = lines;
    message.debug.line_count = count;
    message.debug.lines_all = all;
    if ((session->debug_mask & DEBUG_ISLANDS) == 0) {
        message.debug.island_count = 0;
    }
    session_message(host, session, CHANNEL_BULK, &message);
    session->debug_sent_ms = host->now_ms;
    free(lines);
}

void debug_subscription_send(Host *host)
{
    if (host->debug_mask == 0 || host->common.source->ops->debug == NULL) {
        return;
    }
    DebugPicture *picture = host->common.source->ops->debug(host->common.source);
    if (picture == NULL) {
        return;
    }
    for (u32 i = 0; i < host->session_capacity; i++) {
        Session *session = &host->sessions[i];
        /* Pictures are sent rarely if states already fill the link. */
        u64 gap_ms = session->limited ? 10 * DEBUG_INTERVAL_MS : DEBUG_INTERVAL_MS / 2;
        if (session->state == SESSION_LIVE && session->world_sent && session->debug_mask != 0 &&
            transfers_waiting(session) < PICTURES_WAITING_MAX &&
            host->now_ms >= session->debug_sent_ms + gap_ms) {
            debug_subscription_send_one(host, session, picture);
        }
    }
    free(picture);
}
