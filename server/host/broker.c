/* broker.c: see broker.h. */
#include "server/host/broker.h"

#include "server/host/broker_key.h"
#include "shared/base/clock.h"
#include "shared/base/log.h"

#include <inttypes.h>
#include <nats/nats.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    CONNECT_MS = 2000,
    PING_MS = 2000, /* two without an answer end a connection */
    WRITE_MS = 2000,
    RECONNECT_MS = 500,
    CALL_MS = 3000,
    AGE_S = 24 * 3600,
    PENDING_MAX = 1 << 16, /* messages that wait for the follower */
    PENDING_BYTES_MAX = 64 << 20,
    HEADERS_BYTES = 4096,       /* reserved for headers in the broker's limit */
    LOOKS_MAX = 16,             /* attempts at messages that are missing or not ours */
    PAYLOADS_PENDING_MAX = 512, /* payloads beside the stream that wait to be fetched */
    HEAR_PENDING_BYTES_MAX = 4 << 20,
};

#define NS_PER_S     1000000000ll
#define STREAM_BYTES ((i64)4 << 30)
#define HEARTBEAT_NS NS_PER_S
#define QUIET_NS                                                                                   \
    3000000000ull /* then the broker is asked whether the subscription is still
                                    * alive */

struct Broker {
    BrokerAddress address;
    BrokerKey key;
    char stream[BROKER_WORLD_BYTES + 8];
    char all[BROKER_WORLD_BYTES + 16], start[BROKER_WORLD_BYTES + 16],
        tick[BROKER_WORLD_BYTES + 16]; /* subjects */
    natsOptions *options;
    natsConnection *connection;
    jsCtx *js;
    natsSubscription *subscription;
    natsMsg *message; /* received last */
    u64 heard_ns;     /* when there was a message, or the consumer was asked for */
    char sides[2][BROKER_WORLD_BYTES + 16]; /* subjects, by BrokerSide */
    natsSubscription *beside;
    natsMsg *payload; /* the last one received */
    bool denied;      /* the broker refuses a subject, which was logged */
};

/* ---- addresses ---- */

bool broker_is_address(const char *text)
{
    return strncmp(text, "nats://", 7) == 0 || strncmp(text, "tls://", 6) == 0;
}

static bool is_world(const char *name)
{
    size_t length = strlen(name);
    return length > 0 && length < BROKER_WORLD_BYTES &&
           strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_") ==
               length;
}

int broker_address(const char *text, BrokerAddress *out, ErrorText *error)
{
    memset(out, 0, sizeof *out);
    out->tls = strncmp(text, "tls://", 6) == 0;
    if (!broker_is_address(text) || strlen(text) >= sizeof out->url) {
        return error_set(error, ERROR_USAGE, "a broker is nats://HOST[:PORT]/WORLD");
    }
    const char *authority = strstr(text, "://") + 3;
    const char *slash = strrchr(authority, '/');
    if (slash == NULL || slash == authority || !is_world(slash + 1)) {
        return error_set(error, ERROR_USAGE,
                         "the broker's address must end with /WORLD, a name of at most %d letters, "
                         "digits, - and _",
                         BROKER_WORLD_BYTES - 1);
    }
    char plain[BROKER_URL_BYTES];
    snprintf(plain, sizeof plain, "%.*s", (int)(slash - authority), authority);
    if (strchr(plain, '@') != NULL) {
        return error_set(error, ERROR_USAGE,
                         "the broker's address must not have a user or password, which others on "
                         "this machine could read: --broker-creds FILE");
    }
    if (*plain == '\0' || *plain == ':') {
        return error_set(error, ERROR_USAGE, "the broker's address has no host");
    }
    snprintf(out->url, sizeof out->url, "nats://%.*s", BROKER_URL_BYTES - 8, plain);
    bool bracket = *plain == '[';
    size_t length = bracket ? strcspn(plain, "]") : strcspn(plain, ":");
    snprintf(out->host, sizeof out->host, "%.*s", (int)length - bracket, plain + bracket);
    snprintf(out->world, sizeof out->world, "%s", slash + 1);
    snprintf(out->shown, sizeof out->shown, "%s://%s/%s", out->tls ? "tls" : "nats", plain,
             out->world);
    return ERROR_OK;
}

/* ---- headers ---- */

const char *const broker_header_names[BROKER_HEADERS] = {
    "Plenum-Run", "Plenum-Number", "Plenum-Tick", "Plenum-Part", "Plenum-Back"};

void broker_headers_write(const BrokerMessage *m, char values[][BROKER_VALUE_BYTES])
{
    snprintf(values[0], BROKER_VALUE_BYTES, "%016" PRIx64, m->run);
    snprintf(values[1], BROKER_VALUE_BYTES, "%" PRIu64, m->number);
    snprintf(values[2], BROKER_VALUE_BYTES, "%" PRIu64 "@%u", m->tick, m->tick_rate);
    snprintf(values[3], BROKER_VALUE_BYTES, "%u/%u", m->part, m->parts);
    snprintf(values[4], BROKER_VALUE_BYTES, "%u", m->back);
}

/* A number without sign or blanks that ends at `end`, and what follows it; NULL: none. */
static const char *number_read(const char *text, int base, char end, u64 most, u64 *out)
{
    static const char digits[] = "0123456789abcdef";
    u64 value = 0;
    const char *at = text;
    for (; at - text < 20 && *at != '\0' && *at != end; at++) {
        const char *digit = strchr(digits, *at);
        if (digit == NULL || digit - digits >= base ||
            value > (UINT64_MAX - (u64)(digit - digits)) / (u64)base) {
            return NULL;
        }
        value = value * (u64)base + (u64)(digit - digits);
    }
    *out = value;
    return at > text && *at == end && value <= most ? at + (end != '\0') : NULL;
}

int broker_headers_read(const char *const values[BROKER_HEADERS], BrokerMessage *out)
{
    u64 rate = 0, part = 0, parts = 0, back = 0;
    for (u32 i = 0; i < BROKER_HEADERS; i++) {
        if (values[i] == NULL) {
            return ERROR_FORMAT;
        }
    }
    const char *after_tick = number_read(values[2], 10, '@', UINT64_MAX, &out->tick);
    const char *after_part = number_read(values[3], 10, '/', BROKER_PARTS_MAX, &part);
    if (number_read(values[0], 16, '\0', UINT64_MAX, &out->run) == NULL ||
        number_read(values[1], 10, '\0', UINT64_MAX, &out->number) == NULL || after_tick == NULL ||
        number_read(after_tick, 10, '\0', UINT32_MAX, &rate) == NULL || after_part == NULL ||
        number_read(after_part, 10, '\0', BROKER_PARTS_MAX, &parts) == NULL ||
        number_read(values[4], 10, '\0', UINT32_MAX, &back) == NULL || part >= parts || rate == 0 ||
        out->number == 0) {
        return ERROR_FORMAT;
    }
    out->tick_rate = (u32)rate;
    out->part = (u32)part;
    out->parts = (u32)parts;
    out->back = (u32)back;
    return ERROR_OK;
}

/* ---- the connection ---- */

static int failure(natsStatus status, ErrorText *error, const char *what)
{
    const char *why = nats_GetLastError(NULL);
    return error_set(error, ERROR_NETWORK, "%s: %s%s%s", what, natsStatus_GetText(status),
                     why != NULL && *why != '\0' ? ": " : "", why != NULL ? why : "");
}

/* Without one the library prints. */
static void on_error(natsConnection *connection, natsSubscription *subscription, natsStatus status,
                     void *closure)
{
    PL_UNUSED(connection);
    PL_UNUSED(subscription);
    PL_UNUSED(closure);
    log_debug("broker: %s", natsStatus_GetText(status));
}

/* Signs the challenge of a broker. */
static natsStatus on_nonce(char **why, unsigned char **signature, int *bytes, const char *nonce,
                           void *closure)
{
    PL_UNUSED(why);
    *signature = malloc(BROKER_SIGNATURE_BYTES); /* freed by the library */
    if (*signature == NULL) {
        return NATS_NO_MEMORY;
    }
    broker_key_sign(closure, nonce, *signature);
    *bytes = BROKER_SIGNATURE_BYTES;
    return NATS_OK;
}

/* Sets the credentials from the key file. */
static natsStatus key_set(Broker *b, const char *path)
{
    BrokerKey *key = &b->key;
    natsStatus s = NATS_OK;
    switch (key->kind) {
    case BROKER_KEY_CREDS:
        s = natsOptions_SetUserCredentialsFromFiles(b->options, path, NULL);
        break;
    case BROKER_KEY_SEED:
        s = natsOptions_SetNKey(b->options, key->public_key, on_nonce, key);
        break;
    case BROKER_KEY_PASSWORD:
        s = natsOptions_SetUserInfo(b->options, key->user, key->secret);
        break;
    case BROKER_KEY_TOKEN:
        s = natsOptions_SetToken(b->options, key->secret);
        break;
    case BROKER_KEY_NONE:
        break;
    }
    bool clear = key->kind == BROKER_KEY_PASSWORD || key->kind == BROKER_KEY_TOKEN;
    if (clear && !b->address.tls) {
        log_warn("broker: the credentials in %s are sent to %s unencrypted: use tls://", path,
                 b->address.shown);
    }
    if (s == NATS_OK && key->certificate[0] != '\0') {
        s = natsOptions_LoadCertificatesChain(b->options, key->certificate, key->certificate_key);
    }
    return s;
}

static natsStatus options_set(Broker *b, const BrokerOptions *o)
{
    natsStatus s = natsOptions_Create(&b->options);
    s = s == NATS_OK ? natsOptions_SetURL(b->options, b->address.url) : s;
    s = s == NATS_OK ? natsOptions_SetTimeout(b->options, CONNECT_MS) : s;
    s = s == NATS_OK ? natsOptions_SetPingInterval(b->options, PING_MS) : s;
    s = s == NATS_OK ? natsOptions_SetMaxPingsOut(b->options, 2) : s;
    s = s == NATS_OK ? natsOptions_SetWriteDeadline(b->options, WRITE_MS) : s;
    s = s == NATS_OK ? natsOptions_SetReconnectWait(b->options, RECONNECT_MS) : s;
    s = s == NATS_OK ? natsOptions_SetMaxReconnect(b->options, -1) : s;
    s = s == NATS_OK ? natsOptions_SetFailRequestsOnDisconnect(b->options, true) : s;
    s = s == NATS_OK ? natsOptions_SetName(b->options, o->name != NULL ? o->name : "plenum") : s;
    s = s == NATS_OK ? natsOptions_SetErrorHandler(b->options, on_error, NULL) : s;
    s = s == NATS_OK ? natsOptions_SetSendAsap(b->options, true) : s;
    if (s == NATS_OK && b->address.tls) {
        s = natsOptions_SetSecure(b->options, true);
        s = s == NATS_OK ? natsOptions_SetExpectedHostname(b->options, b->address.host) : s;
    }
    if (s == NATS_OK && o->ca != NULL) {
        s = natsOptions_LoadCATrustedCertificates(b->options, o->ca);
    }
    return s == NATS_OK && o->creds != NULL ? key_set(b, o->creds) : s;
}

Broker *broker_create(const BrokerOptions *options, ErrorText *error)
{
    Broker *b = calloc(1, sizeof *b);
    if (b == NULL) {
        error_set(error, ERROR_MEMORY, "out of memory for the broker");
        return NULL;
    }
    b->address = options->address;
    snprintf(b->stream, sizeof b->stream, "PLENUM_%s", b->address.world);
    snprintf(b->all, sizeof b->all, "plenum.%s.*", b->address.world);
    snprintf(b->start, sizeof b->start, "plenum.%s.start", b->address.world);
    snprintf(b->tick, sizeof b->tick, "plenum.%s.tick", b->address.world);
    snprintf(b->sides[BROKER_LIVE], sizeof b->sides[0], "plenum-live.%s", b->address.world);
    snprintf(b->sides[BROKER_SAID], sizeof b->sides[0], "plenum-said.%s", b->address.world);
    if (options->creds != NULL && broker_key_read(options->creds, &b->key, error) != ERROR_OK) {
        broker_destroy(b);
        return NULL;
    }
    natsStatus status = options_set(b, options);
    if (status != NATS_OK) {
        failure(status, error, b->address.shown);
        broker_destroy(b);
        return NULL;
    }
    return b;
}

static void unsubscribe(Broker *b)
{
    natsMsg_Destroy(b->message);
    b->message = NULL;
    natsSubscription_Destroy(b->subscription);
    b->subscription = NULL;
}

static void disconnect(Broker *b)
{
    unsubscribe(b);
    natsMsg_Destroy(b->payload);
    b->payload = NULL;
    natsSubscription_Destroy(b->beside);
    b->beside = NULL;
    jsCtx_Destroy(b->js);
    b->js = NULL;
    natsConnection_Destroy(b->connection);
    b->connection = NULL;
}

void broker_destroy(Broker *b)
{
    if (b != NULL) {
        disconnect(b);
        natsOptions_Destroy(b->options);
        broker_key_forget(&b->key);
        free(b);
    }
}

void broker_library_close(void)
{
    (void)nats_CloseAndWait(CALL_MS);
}

bool broker_ready(Broker *b, ErrorText *error)
{
    if (b->connection != NULL && natsConnection_IsClosed(b->connection)) {
        disconnect(b); /* refused twice: not tried again by the library */
    }
    if (b->connection != NULL) {
        bool connected = natsConnection_Status(b->connection) == NATS_CONN_STATUS_CONNECTED;
        if (!connected) {
            unsubscribe(b); /* the broker may have lost the consumer */
        }
        return connected ||
               (error_set(error, ERROR_NETWORK, "%s: not connected", b->address.shown), false);
    }
    natsStatus status = natsConnection_Connect(&b->connection, b->options);
    status = status == NATS_OK ? natsConnection_JetStream(&b->js, b->connection, NULL) : status;
    if (status != NATS_OK) {
        failure(status, error, b->address.shown);
        disconnect(b);
    }
    return status == NATS_OK;
}

size_t broker_part_bytes(const Broker *b)
{
    i64 most = b->connection != NULL ? natsConnection_GetMaxPayload(b->connection) : 0;
    return most > 2 * HEADERS_BYTES ? (size_t)u64_min((u64)most - HEADERS_BYTES, BROKER_PART_BYTES)
                                    : HEADERS_BYTES;
}

/* ---- publishing ---- */

/* Sets the requested limits. Returns true if any changes. */
static bool limits_set(jsStreamConfig *config, const BrokerLimits *limits)
{
    i64 age_ns = limits->age_s > 0 ? limits->age_s * NS_PER_S : config->MaxAge;
    i64 bytes = limits->bytes > 0 ? (i64)limits->bytes : config->MaxBytes;
    bool changed = age_ns != config->MaxAge || bytes != config->MaxBytes;
    config->MaxAge = age_ns;
    config->MaxBytes = bytes;
    return changed;
}

static int call_failed(Broker *b, natsStatus status, jsErrCode code, ErrorText *error)
{
    failure(status, error, b->address.shown);
    return code == JSStreamNotFoundErr || code == JSNoMessageFoundErr || status == NATS_NOT_FOUND
               ? error_set(error, ERROR_NOT_FOUND, "%s: nothing is published there yet",
                           b->address.shown)
               : ERROR_NETWORK;
}

int broker_stream(Broker *b, const BrokerLimits *limits, ErrorText *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    jsOptions call;
    jsOptions_Init(&call);
    call.Wait = CALL_MS;
    natsStatus status = js_GetStreamInfo(&info, b->js, b->stream, &call, &code);
    if (status == NATS_OK) {
        jsStreamConfig config = *info->Config;
        status = limits_set(&config, limits) ? js_UpdateStream(NULL, b->js, &config, &call, &code)
                                             : NATS_OK;
    } else if (code == JSStreamNotFoundErr || status == NATS_NOT_FOUND) {
        const char *subjects[] = {b->all};
        jsStreamConfig config;
        jsStreamConfig_Init(&config);
        config.Name = b->stream;
        config.Description = "a world of Plenum";
        config.Subjects = subjects;
        config.SubjectsLen = 1;
        config.Storage = js_FileStorage;
        config.Discard = js_DiscardOld;
        config.MaxAge = AGE_S * NS_PER_S;
        config.MaxBytes = STREAM_BYTES;
        (void)limits_set(&config, limits);
        status = js_AddStream(NULL, b->js, &config, &call, &code);
    }
    jsStreamInfo_Destroy(info);
    return status == NATS_OK ? ERROR_OK : call_failed(b, status, code, error);
}

int broker_publish(Broker *b, const BrokerMessage *message, u32 wait_ms, ErrorText *error)
{
    char values[BROKER_HEADERS][BROKER_VALUE_BYTES], id[3 * BROKER_VALUE_BYTES];
    natsMsg *m = NULL;
    jsErrCode code = 0;
    jsPubOptions call;
    jsPubOptions_Init(&call);
    broker_headers_write(message, values);
    snprintf(id, sizeof id, "%s-%s-%u", values[0], values[1], message->part);
    call.MsgId = id;
    call.MaxWait = wait_ms;
    natsStatus status = natsMsg_Create(&m, message->start ? b->start : b->tick, NULL,
                                       (const char *)message->data, (int)message->bytes);
    for (u32 i = 0; i < BROKER_HEADERS && status == NATS_OK; i++) {
        status = natsMsgHeader_Set(m, broker_header_names[i], values[i]);
    }
    status = status == NATS_OK ? js_PublishMsg(NULL, b->js, m, &call, &code) : status;
    natsMsg_Destroy(m);
    if (status == NATS_OK) {
        return ERROR_OK;
    }
    failure(status, error, b->address.shown);
    return status == NATS_NO_RESPONDERS ? ERROR_NOT_FOUND : ERROR_NETWORK;
}

/* ---- following ---- */

/* Fills *out from a message, which keeps the data. 0 or ERROR_FORMAT. */
static int message_read(const Broker *b, natsMsg *m, BrokerMessage *out)
{
    const char *values[BROKER_HEADERS] = {NULL};
    memset(out, 0, sizeof *out);
    for (u32 i = 0; i < BROKER_HEADERS; i++) {
        if (natsMsgHeader_Get(m, broker_header_names[i], &values[i]) != NATS_OK) {
            return ERROR_FORMAT;
        }
    }
    int bytes = natsMsg_GetDataLength(m);
    const char *subject = natsMsg_GetSubject(m);
    out->start = subject != NULL && strcmp(subject, b->start) == 0;
    out->data = (const u8 *)natsMsg_GetData(m);
    out->bytes = bytes > 0 ? (size_t)bytes : 0;
    return out->bytes > 0 && out->bytes <= BROKER_MESSAGE_BYTES_MAX
               ? broker_headers_read(values, out)
               : ERROR_FORMAT;
}

/* The headers of the first message of ours at or after a sequence, at most `last`. 0,
 * ERROR_NOT_FOUND, or another negative Error. */
static int look(Broker *b, u64 sequence, u64 last, BrokerMessage *out, ErrorText *error)
{
    for (u32 i = 0; i < LOOKS_MAX && sequence <= last; i++, sequence++) {
        natsMsg *m = NULL;
        jsErrCode code = 0;
        natsStatus status = js_GetMsg(&m, b->js, b->stream, sequence, NULL, &code);
        if (status == NATS_OK) {
            int result = message_read(b, m, out);
            out->sequence = sequence;
            out->time_ns = natsMsg_GetTime(m);
            out->data = NULL;
            natsMsg_Destroy(m);
            if (result == ERROR_OK) {
                return ERROR_OK;
            }
        } else if (status != NATS_NOT_FOUND && code != JSNoMessageFoundErr) {
            return call_failed(b, status, code, error);
        }
    }
    return error_set(error, ERROR_NOT_FOUND, "%s: no world is published there", b->address.shown);
}

typedef struct Ends {
    u64 first, last; /* sequences in the stream */
} Ends;

static int ends(Broker *b, Ends *out, ErrorText *error)
{
    jsStreamInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetStreamInfo(&info, b->js, b->stream, NULL, &code);
    if (status != NATS_OK) {
        return call_failed(b, status, code, error);
    }
    *out = (Ends){info->State.FirstSeq, info->State.LastSeq};
    bool empty = info->State.Msgs == 0;
    jsStreamInfo_Destroy(info);
    return empty ? error_set(error, ERROR_NOT_FOUND, "%s: nothing is published there yet",
                             b->address.shown)
                 : ERROR_OK;
}

/* The newest message of a subject. */
static int newest(Broker *b, const char *subject, BrokerMessage *out, ErrorText *error)
{
    natsMsg *m = NULL;
    jsErrCode code = 0;
    natsStatus status = js_GetLastMsg(&m, b->js, b->stream, subject, NULL, &code);
    if (status != NATS_OK) {
        return call_failed(b, status, code, error);
    }
    int result = message_read(b, m, out);
    out->sequence = natsMsg_GetSequence(m);
    out->time_ns = natsMsg_GetTime(m);
    out->data = NULL;
    natsMsg_Destroy(m);
    return result == ERROR_OK
               ? ERROR_OK
               : error_set(error, ERROR_FORMAT, "%s: the messages there are not from Plenum",
                           b->address.shown);
}

/* Condition of a binary search: it finds the first message for which this is false. */
typedef struct Before {
    BrokerFrom from; /* NEWEST: of another run than `value` */
    u64 run, value;
} Before;

static bool is_before(const Before *before, const BrokerMessage *m)
{
    switch (before->from) {
    case BROKER_FROM_TICK:
        return m->run != before->run || m->tick <= before->value;
    case BROKER_FROM_TIME:
        return m->time_ns <= (i64)before->value;
    default:
        return m->run != before->run;
    }
}

/* The sequence of the first message in [first, last + 1] that is not before; last + 1: all are. */
static int search(Broker *b, Ends at, const Before *before, u64 *sequence, ErrorText *error)
{
    u64 low = at.first, high = at.last + 1;
    while (low < high) {
        u64 middle = low + (high - low) / 2;
        BrokerMessage m;
        int result = look(b, middle, high - 1, &m, error);
        if (result == ERROR_NOT_FOUND) {
            high = middle;
        } else if (result != ERROR_OK) {
            return result;
        } else if (is_before(before, &m)) {
            low = m.sequence + 1;
        } else {
            high = middle;
        }
    }
    *sequence = low;
    return ERROR_OK;
}

/* The sequences of the newest run. */
static int run_ends(Broker *b, Ends *out, BrokerMessage *last, ErrorText *error)
{
    int result = ends(b, out, error);
    result = result == ERROR_OK ? newest(b, b->tick, last, error) : result;
    const Before other = {BROKER_FROM_NEWEST, last->run, 0};
    return result == ERROR_OK ? search(b, *out, &other, &out->first, error) : result;
}

int broker_span(Broker *b, BrokerSpan *out, ErrorText *error)
{
    Ends at;
    BrokerMessage first = {0}, last = {0};
    int result = run_ends(b, &at, &last, error);
    result = result == ERROR_OK ? look(b, at.first, at.last, &first, error) : result;
    *out = (BrokerSpan){first.tick, last.tick, last.tick_rate};
    return result;
}

int broker_find(Broker *b, BrokerFrom from, u64 value, u64 *sequence, ErrorText *error)
{
    Ends at;
    BrokerMessage m = {0};
    if (from == BROKER_FROM_NEWEST) {
        int result = newest(b, b->start, &m, error);
        *sequence = m.sequence > m.part ? m.sequence - m.part : 1;
        return result;
    }
    int result = from == BROKER_FROM_TICK ? run_ends(b, &at, &m, error) : ends(b, &at, error);
    const Before before = {from, m.run, value};
    u64 behind = 0;
    result = result == ERROR_OK ? search(b, at, &before, &behind, error) : result;
    if (result != ERROR_OK) {
        return result;
    }
    u64 last = behind > at.first ? behind - 1 : at.first;
    result = look(b, last, at.last, &m, error);
    *sequence = m.sequence > at.first + m.back ? m.sequence - m.back : at.first;
    return result;
}

int broker_last(Broker *b, u64 *sequence, ErrorText *error)
{
    Ends at = {0, 0};
    int result = ends(b, &at, error);
    *sequence = at.last;
    return result;
}

int broker_subscribe(Broker *b, u64 sequence, ErrorText *error)
{
    jsErrCode code = 0;
    jsSubOptions o;
    unsubscribe(b);
    jsSubOptions_Init(&o);
    o.Stream = b->stream;
    o.Config.DeliverPolicy = js_DeliverByStartSequence;
    o.Config.OptStartSeq = u64_max(sequence, 1);
    o.Config.AckPolicy = js_AckNone;
    o.Config.MaxDeliver = 1;
    o.Config.FlowControl = true;
    o.Config.Heartbeat = HEARTBEAT_NS;
    o.Config.MemoryStorage = true;
    natsStatus status = js_SubscribeSync(&b->subscription, b->js, b->all, NULL, &o, &code);
    if (status == NATS_OK) {
        status = natsSubscription_SetPendingLimits(b->subscription, PENDING_MAX, PENDING_BYTES_MAX);
    }
    if (status != NATS_OK) {
        unsubscribe(b);
        return call_failed(b, status, code, error);
    }
    b->heard_ns = clock_now_ns();
    return ERROR_OK;
}

bool broker_subscribed(const Broker *b)
{
    return b->subscription != NULL;
}

static int place_read(Broker *b, BrokerMessage *out)
{
    jsMsgMetaData *place = NULL;
    if (natsMsg_GetMetaData(&place, b->message) != NATS_OK) {
        return ERROR_FORMAT;
    }
    out->sequence = place->Sequence.Stream;
    out->time_ns = place->Timestamp;
    out->pending = place->NumPending;
    jsMsgMetaData_Destroy(place);
    return ERROR_OK;
}

/* False: the broker no longer sends, or the library dropped messages. */
static bool still_subscribed(Broker *b)
{
    i64 dropped = 0;
    if (natsSubscription_GetDropped(b->subscription, &dropped) == NATS_OK && dropped > 0) {
        return false;
    }
    u64 now_ns = clock_now_ns();
    if (now_ns - b->heard_ns < QUIET_NS) {
        return true;
    }
    jsConsumerInfo *info = NULL;
    jsErrCode code = 0;
    natsStatus status = natsSubscription_GetConsumerInfo(&info, b->subscription, NULL, &code);
    jsConsumerInfo_Destroy(info);
    b->heard_ns = now_ns;
    return status == NATS_OK;
}

int broker_next(Broker *b, u32 wait_ms, BrokerMessage *out)
{
    if (b->subscription == NULL) {
        return ERROR_NETWORK;
    }
    natsMsg_Destroy(b->message);
    b->message = NULL;
    natsStatus status = natsSubscription_NextMsg(&b->message, b->subscription, wait_ms);
    if (status == NATS_TIMEOUT && still_subscribed(b)) {
        return ERROR_NOT_FOUND;
    }
    if (status != NATS_OK) {
        log_debug("broker: the subscription ended: %s", natsStatus_GetText(status));
        unsubscribe(b);
        return ERROR_NETWORK;
    }
    b->heard_ns = clock_now_ns();
    int result = message_read(b, b->message, out);
    int placed = place_read(b, out);
    return placed != ERROR_OK ? placed : result;
}

/* ---- beside the stream ---- */

bool broker_linked(const Broker *b)
{
    return b->connection != NULL &&
           natsConnection_Status(b->connection) == NATS_CONN_STATUS_CONNECTED;
}

/* Logs once that the broker refuses a subject: the library reports it later, and only on
 * request. */
static void denied_check(Broker *b)
{
    const char *text = NULL;
    if (!b->denied && natsConnection_GetLastError(b->connection, &text) == NATS_NOT_PERMITTED) {
        log_warn("broker: %s: %s", b->address.shown, text != NULL ? text : "a subject is refused");
        b->denied = true;
    }
}

int broker_listen(Broker *b, BrokerSide side)
{
    if (b->beside != NULL) {
        return ERROR_OK; /* the library asks again after each new connection */
    }
    natsStatus status =
        broker_linked(b) ? natsConnection_SubscribeSync(&b->beside, b->connection, b->sides[side])
                         : NATS_CONNECTION_CLOSED;
    status = status == NATS_OK ? natsSubscription_SetPendingLimits(b->beside, PAYLOADS_PENDING_MAX,
                                                                   HEAR_PENDING_BYTES_MAX)
                               : status;
    return status == NATS_OK ? ERROR_OK : ERROR_NETWORK;
}

int broker_send(Broker *b, BrokerSide side, const void *data, size_t bytes)
{
    return broker_linked(b) && natsConnection_Publish(b->connection, b->sides[side], data,
                                                      (int)bytes) == NATS_OK
               ? ERROR_OK
               : ERROR_NETWORK;
}

bool broker_receive(Broker *b, const u8 **data, size_t *bytes)
{
    int messages = 0, waiting = 0;
    denied_check(b);
    natsMsg_Destroy(b->payload);
    b->payload = NULL;
    if (b->beside == NULL ||
        natsSubscription_GetPending(b->beside, &messages, &waiting) != NATS_OK || messages == 0 ||
        natsSubscription_NextMsg(&b->payload, b->beside, 1) != NATS_OK) {
        return false;
    }
    int length = natsMsg_GetDataLength(b->payload);
    *data = (const u8 *)natsMsg_GetData(b->payload);
    *bytes = length > 0 ? (size_t)length : 0;
    return true;
}

u64 broker_dropped(const Broker *b)
{
    i64 dropped = 0;
    return b->beside != NULL && natsSubscription_GetDropped(b->beside, &dropped) == NATS_OK &&
                   dropped > 0
               ? (u64)dropped
               : 0;
}
