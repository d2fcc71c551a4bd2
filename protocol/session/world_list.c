/* world_list.c: worlds as JSON. */
#include "protocol/session/world_list.h"

#include "protocol/session/endpoint.h"
#include "protocol/session/identity_file.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

static const struct {
    const char *name;
    u32 flag;
} flags[] = {{"password", WORLD_PASSWORD},
             {"token", WORLD_TOKEN},
             {"replay", WORLD_REPLAY},
             {"relay", WORLD_RELAY}};

const char *world_address_text(const WorldNotice *notice, char text[WORLD_ADDRESS_BYTES])
{
    char host[INET_ADDRSTRLEN] = "";
    struct in_addr address = {.s_addr = notice->host};
    inet_ntop(AF_INET, &address, host, sizeof host);
    snprintf(text, WORLD_ADDRESS_BYTES, "%s:%u", host, notice->port);
    return text;
}

static bool holds(const char *text, const char *part)
{
    size_t length = strlen(part);
    for (; length > 0 && *text != '\0'; text++) {
        size_t i = 0;
        while (i < length && text[i] != '\0' &&
               tolower((unsigned char)text[i]) == tolower((unsigned char)part[i])) {
            i++;
        }
        if (i == length) {
            return true;
        }
    }
    return length == 0;
}

bool world_matches(const WorldNotice *notice, const char *part)
{
    return holds(notice->name, part) || holds(notice->scene, part);
}

/* ---- writing ---- */

static json_t *world_object(const WorldNotice *notice)
{
    char address[WORLD_ADDRESS_BYTES], key[IDENTITY_TEXT_BYTES];
    world_address_text(notice, address);
    identity_to_text(notice->key, key);
    json_t *world =
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:i, s:i}", "address", address, "key", key, "name",
                  notice->name, "scene", notice->scene, "version", notice->version, "users",
                  (int)notice->users, "places", (int)notice->places);
    for (u32 i = 0; world != NULL && i < PL_COUNT(flags); i++) {
        json_object_set_new(world, flags[i].name,
                            json_boolean((notice->flags & flags[i].flag) != 0));
    }
    return world;
}

/* Frees the value. */
static char *text_of(json_t *value)
{
    char *text = value != NULL ? json_dumps(value, JSON_COMPACT) : NULL;
    json_decref(value);
    return text;
}

char *world_text(const WorldNotice *notice)
{
    return text_of(world_object(notice));
}

char *world_page_text(const WorldNotice *const *worlds, const WorldPage *page)
{
    char next[IDENTITY_TEXT_BYTES];
    json_t *list = json_array();
    for (u32 i = 0; i < page->count; i++) {
        json_array_append_new(list, world_object(worlds[i]));
    }
    json_t *all = json_pack("{s:o, s:i}", "worlds", list, "total", (int)page->total);
    if (all != NULL && page->more) {
        identity_to_text(page->next, next);
        json_object_set_new(all, "next", json_string(next));
    }
    return text_of(all);
}

/* ---- reading ---- */

static bool text_get(const json_t *world, const char *name, char *out, u32 bytes)
{
    const char *text = json_string_value(json_object_get(world, name));
    if (text == NULL || strlen(text) >= bytes) {
        return false;
    }
    (void)notice_text(out, bytes, text);
    return true;
}

static bool number_get(const json_t *world, const char *name, u16 *out)
{
    const json_t *value = json_object_get(world, name);
    json_int_t number = json_integer_value(value);
    *out = (u16)number;
    return json_is_integer(value) && number >= 0 && number <= UINT16_MAX;
}

static bool address_get(const json_t *world, WorldNotice *out)
{
    char text[WORLD_ADDRESS_BYTES];
    ProbeAddress address;
    ErrorText why = {0};
    if (!text_get(world, "address", text, sizeof text) || strchr(text, ':') == NULL ||
        endpoint_own(text, &address, &why) != ERROR_OK || address.port == 0 ||
        !endpoint_v4(&address, &out->host)) {
        return false;
    }
    out->port = address.port;
    return true;
}

/* NULL: it was read; else the reason. */
static const char *world_take(const json_t *world, WorldNotice *out)
{
    char key[IDENTITY_TEXT_BYTES];
    memset(out, 0, sizeof *out);
    if (!json_is_object(world)) {
        return "expected an object";
    }
    if (!text_get(world, "key", key, sizeof key) || !identity_from_text(key, out->key)) {
        return "key: expected 64 hexadecimal digits";
    }
    if (!address_get(world, out)) {
        return "address: expected ADDR:PORT";
    }
    if (!text_get(world, "name", out->name, sizeof out->name) ||
        !text_get(world, "scene", out->scene, sizeof out->scene) ||
        !text_get(world, "version", out->version, sizeof out->version)) {
        return "name, scene and version: expected texts of at most 47, 47 and 15 bytes";
    }
    if (!number_get(world, "users", &out->users) || !number_get(world, "places", &out->places)) {
        return "users and places: expected numbers from 0 to 65535";
    }
    for (u32 i = 0; i < PL_COUNT(flags); i++) {
        const json_t *flag = json_object_get(world, flags[i].name);
        if (flag != NULL && !json_is_boolean(flag)) {
            return "password, token, replay and relay: expected true or false";
        }
        out->flags |= json_is_true(flag) ? flags[i].flag : 0;
    }
    return NULL;
}

static json_t *parse(const char *text, size_t bytes, size_t most, ErrorText *error)
{
    json_error_t why;
    if (bytes > most) {
        error_set(error, ERROR_FORMAT, "%zu bytes of JSON, at most %zu are read", bytes, most);
        return NULL;
    }
    json_t *value = json_loadb(text, bytes, JSON_REJECT_DUPLICATES, &why);
    if (value == NULL) {
        error_set(error, ERROR_FORMAT, "not JSON: line %d: %s", why.line, why.text);
    }
    return value;
}

int world_read(const char *text, size_t bytes, WorldNotice *out, ErrorText *error)
{
    json_t *world = parse(text, bytes, WORLD_TEXT_BYTES_MAX, error);
    if (world == NULL) {
        return ERROR_FORMAT;
    }
    const char *wrong = world_take(world, out);
    json_decref(world);
    return wrong == NULL ? ERROR_OK : error_set(error, ERROR_FORMAT, "%s", wrong);
}

int world_page_read(const char *text, size_t bytes, WorldNotice *worlds, WorldPage *page,
                    ErrorText *error)
{
    char next[IDENTITY_TEXT_BYTES];
    memset(page, 0, sizeof *page);
    json_t *all = parse(text, bytes, WORLDS_TEXT_BYTES_MAX, error);
    if (all == NULL) {
        return ERROR_FORMAT;
    }
    const json_t *list = json_object_get(all, "worlds");
    if (!json_is_array(list)) {
        json_decref(all);
        return error_set(error, ERROR_FORMAT, "not a list of worlds");
    }
    for (size_t i = 0; i < json_array_size(list) && page->count < WORLDS_PAGE_MAX; i++) {
        page->count += world_take(json_array_get(list, i), &worlds[page->count]) == NULL;
    }
    json_int_t total = json_integer_value(json_object_get(all, "total"));
    page->total = total > 0 && total < INT32_MAX ? (u32)total : page->count;
    page->more = text_get(all, "next", next, sizeof next) && identity_from_text(next, page->next);
    json_decref(all);
    return ERROR_OK;
}
