/* message_names.c: texts of the numbers in messages. */
#include "protocol/session/message.h"

const char *message_kind_name(MessageKind kind)
{
    static const char *const names[] = {
        "none",   "hello",  "welcome",  "refuse",   "world",   "events",      "control", "chat",
        "notice", "roster", "presence", "status",   "goodbye", "watch",       "debug",   "bulk",
        "queue",  "survey", "bookmark", "password", "guests",  "guest input", "saves"};
    PL_STATIC_ASSERT(PL_COUNT(names) == MESSAGE_KIND_COUNT, "a name for each kind");
    return (u32)kind < MESSAGE_KIND_COUNT ? names[kind] : "unknown";
}

const char *refuse_reason_text(u32 reason)
{
    static const char *const texts[] = {
        "no reason given",
        "the server uses another protocol version",
        "the server is full",
        "the token is missing, wrong or expired",
        "protocol violation",
        "too many packets",
        "removed by an operator",
        "the server is shutting down",
        "the connection timed out",
        "left",
        "banned",
        "the password is missing or wrong",
        "the server is not the one that was expected (its key differs)",
    };
    PL_STATIC_ASSERT(PL_COUNT(texts) == REFUSE_COUNT, "a text for each reason");
    return reason < REFUSE_COUNT ? texts[reason] : "unknown reason";
}

const char *role_name(Role role)
{
    static const char *const names[] = {"viewer", "participant", "operator", "admin"};
    return (u32)role < ROLE_COUNT ? names[role] : "unknown";
}
