/*
 * lobby_http.h: a lobby over HTTP (libmicrohttpd, without a thread of its own):
 *
 *   GET /worlds?q=TEXT&free=1&open=1&after=KEY&limit=N   a page of the list (world_list.h)
 *   POST /worlds, DELETE /worlds                         an announcement (announcement.h)
 *   GET /metrics, /healthz
 *
 * Layer: server/lobby.
 */
#ifndef PLENUM_SERVER_LOBBY_LOBBY_HTTP_H
#define PLENUM_SERVER_LOBBY_LOBBY_HTTP_H

#include "server/lobby/lobby.h"

typedef struct LobbyHttp LobbyHttp;

/* Listens on "ADDR:PORT" (TCP, IPv4; port 0: any). NULL with a text. */
LobbyHttp *lobby_http_create(const char *address, Lobby *lobby, ErrorText *error);
void lobby_http_destroy(LobbyHttp *http); /* NULL is fine */
u16 lobby_http_port(const LobbyHttp *http);
/* Becomes readable when lobby_http_run has work. */
int lobby_http_fd(const LobbyHttp *http);
/* Processes what is due, at this time. */
void lobby_http_run(LobbyHttp *http, LobbyTime time);
/* The page of metrics into text[bytes]; returns its length. */
size_t lobby_metrics(const Lobby *lobby, char *text, size_t bytes);

#endif
