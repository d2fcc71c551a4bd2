/*
 * script.c: parses --do files (one JSON object per line, strict: no duplicate or unknown members)
 * and executes them.
 */
#include "client/hand/script.h"

#include "shared/base/file.h"
#include "shared/base/log.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LINES_MAX = 100000,
    FILE_BYTES_MAX = 16 << 20,
    NUMBERS_MAX = 4,
};

/* Members of a line; each at most once. */
typedef enum Member {
    MEMBER_T,
    MEMBER_GRAB,
    MEMBER_MOVE,
    MEMBER_OVER,
    MEMBER_RELEASE,
    MEMBER_PUSH,
    MEMBER_IMPULSE,
    MEMBER_CONTROL,
    MEMBER_SET,
    MEMBER_VALUE,
    MEMBER_SPAWN,
    MEMBER_POSITION,
    MEMBER_VELOCITY,
    MEMBER_REMOVE,
    MEMBER_LOOK_FROM,
    MEMBER_LOOK_AT,
    MEMBER_CHAT,
    MEMBER_DYE,
    MEMBER_COUNT
} Member;

typedef enum ValueKind {
    VALUE_NONE,
    VALUE_NUMBERS, /* one number, or an array of them */
    VALUE_TEXT,
    VALUE_TRUE,
    VALUE_RAY,
} ValueKind;

typedef struct Value {
    ValueKind kind;
    u32 count; /* of numbers */
    f32 numbers[NUMBERS_MAX];
    char text[TEXT_BYTES_MAX];
    Ray ray;
} Value;

enum {
    IS_TEXT = 1,
    IS_RAY = 2,
    IS_NUMBER = 4,
    IS_VECTOR = 8,
    IS_TRUE = 16,
    IS_NUMBERS = 32,
};

static const struct {
    const char *name;
    u32 takes;
    const char *right; /* expected value, for errors */
} members[MEMBER_COUNT] = {
    [MEMBER_T] = {"t", IS_NUMBER, "seconds"},
    [MEMBER_GRAB] = {"grab", IS_TEXT | IS_RAY, "a name or a ray"},
    [MEMBER_MOVE] = {"move", IS_VECTOR, "[x, y, z]"},
    [MEMBER_OVER] = {"over", IS_NUMBER, "seconds"},
    [MEMBER_RELEASE] = {"release", IS_TRUE, "true"},
    [MEMBER_PUSH] = {"push", IS_TEXT | IS_RAY, "a name or a ray"},
    [MEMBER_IMPULSE] = {"impulse", IS_VECTOR, "[x, y, z] in N s"},
    [MEMBER_CONTROL] = {"control", IS_TEXT, "pause, resume, step, speed, seek or reset"},
    [MEMBER_SET] = {"set", IS_TEXT, "a parameter's name"},
    [MEMBER_VALUE] = {"value", IS_NUMBERS, "a number, or an array of up to 4"},
    [MEMBER_SPAWN] = {"spawn", IS_TEXT, "a prefab's name"},
    [MEMBER_POSITION] = {"position", IS_VECTOR, "[x, y, z]"},
    [MEMBER_VELOCITY] = {"velocity", IS_VECTOR, "[x, y, z]"},
    [MEMBER_REMOVE] = {"remove", IS_TEXT, "a name"},
    [MEMBER_LOOK_FROM] = {"look_from", IS_VECTOR, "[x, y, z]"},
    [MEMBER_LOOK_AT] = {"look_at", IS_VECTOR, "[x, y, z]"},
    [MEMBER_CHAT] = {"chat", IS_TEXT, "a text"},
    [MEMBER_DYE] = {"dye", IS_VECTOR, "[r, g, b], 0 to 1"},
};

typedef struct ScriptLine {
    f64 t;
    u32 has; /* one bit per Member */
    f64 over;
    char name[NAME_BYTES_MAX]; /* of grab, push, set, spawn, remove, control */
    bool by_ray;
    Ray ray;
    Vec3 vector; /* move, impulse, position */
    Vec3 velocity;
    Vec3 look_from, look_at;
    f32 values[NUMBERS_MAX];
    char *chat; /* owned */
} ScriptLine;

struct Script {
    ScriptLine *lines; /* [count], ascending t */
    u32 count, next;
    bool moving;
    f64 move_begin_s, move_end_s;
    Vec3 move_from, move_to;
    bool camera;
    Vec3 eye, target;
};

/* ---- reading ---- */

typedef struct Reader {
    const char *begin, *at, *end; /* of the line */
    u32 line;
    const char *file;
    ErrorText *error;
    bool failed;
} Reader;

static bool fail(Reader *reader, const char *what)
{
    if (!reader->failed) {
        reader->failed = true;
        error_set(reader->error, ERROR_FORMAT, "%s:%u:%u: %s", reader->file, reader->line,
                  (u32)(reader->at - reader->begin) + 1, what);
    }
    return false;
}

static void skip_space(Reader *reader)
{
    while (reader->at < reader->end &&
           (*reader->at == ' ' || *reader->at == '\t' || *reader->at == '\r')) {
        reader->at++;
    }
}

static bool accept(Reader *reader, char c)
{
    skip_space(reader);
    if (reader->at < reader->end && *reader->at == c) {
        reader->at++;
        return true;
    }
    return false;
}

static bool expect(Reader *reader, char c)
{
    if (accept(reader, c)) {
        return true;
    }
    char what[32];
    snprintf(what, sizeof what, "expected '%c'", c);
    return fail(reader, what);
}

static bool read_text(Reader *reader, char *out, u32 capacity)
{
    if (!expect(reader, '"')) {
        return false;
    }
    u32 used = 0;
    while (reader->at < reader->end && *reader->at != '"') {
        char c = *reader->at++;
        if (c == '\\') {
            const char *known = "\"\\/nt";
            char next = reader->at < reader->end ? *reader->at++ : 0;
            const char *found = next != 0 ? strchr(known, next) : NULL;
            if (found == NULL) {
                return fail(reader, "unknown escape; expected \\\" \\\\ \\/ \\n \\t");
            }
            c = "\"\\/ \t"[found - known];
        } else if ((u8)c < 0x20) {
            return fail(reader, "control character in a text");
        }
        if (used + 1 >= capacity) {
            return fail(reader, "text too long");
        }
        out[used++] = c;
    }
    out[used] = 0;
    return expect(reader, '"');
}

static bool read_number(Reader *reader, f64 *out)
{
    skip_space(reader);
    char copy[64];
    u32 used = 0;
    while (reader->at + used < reader->end && used + 1 < sizeof copy &&
           strchr("+-.0123456789eE", reader->at[used]) != NULL && reader->at[used] != 0) {
        copy[used] = reader->at[used];
        used++;
    }
    copy[used] = 0;
    char *stop;
    f64 value = strtod(copy, &stop);
    bool starts = used > 0 && (copy[0] == '-' || (copy[0] >= '0' && copy[0] <= '9'));
    if (!starts || *stop != 0) {
        return fail(reader, "expected a number");
    }
    if (!(fabs(value) <= 1e6)) {
        return fail(reader, "number out of range; expected -1e6 to 1e6");
    }
    reader->at += used;
    *out = value;
    return true;
}

static bool read_array(Reader *reader, Value *value)
{
    value->kind = VALUE_NUMBERS;
    value->count = 0;
    do {
        f64 number;
        if (!read_number(reader, &number)) {
            return false;
        }
        if (value->count == NUMBERS_MAX) {
            return fail(reader, "more than 4 numbers");
        }
        value->numbers[value->count++] = (f32)number;
    } while (accept(reader, ','));
    return expect(reader, ']');
}

static Vec3 value_vector(const Value *value)
{
    return vec3(value->numbers[0], value->numbers[1], value->numbers[2]);
}

/* {"origin": [x, y, z], "direction": [x, y, z]}, the brace already read. */
static bool read_ray(Reader *reader, Value *value)
{
    u32 seen = 0;
    value->kind = VALUE_RAY;
    do {
        char name[16];
        Value numbers = {0};
        if (!read_text(reader, name, sizeof name) || !expect(reader, ':') || !expect(reader, '[') ||
            !read_array(reader, &numbers)) {
            return false;
        }
        u32 which = strcmp(name, "origin") == 0 ? 1 : strcmp(name, "direction") == 0 ? 2 : 0;
        if (which == 0 || (seen & which) != 0 || numbers.count != 3) {
            return fail(reader, "a ray is {\"origin\": [x, y, z], \"direction\": [x, y, z]}");
        }
        seen |= which;
        *(which == 1 ? &value->ray.origin : &value->ray.direction) = value_vector(&numbers);
    } while (accept(reader, ','));
    f32 length = vec3_length(value->ray.direction);
    if (seen != 3 || !(length > 1e-6f)) {
        return fail(reader, "a ray needs an origin and a direction that is not zero");
    }
    value->ray.direction = vec3_scale(value->ray.direction, 1.0f / length);
    return expect(reader, '}');
}

static bool read_value(Reader *reader, Value *value)
{
    memset(value, 0, sizeof *value);
    skip_space(reader);
    char first = reader->at < reader->end ? *reader->at : 0;
    if (first == '"') {
        value->kind = VALUE_TEXT;
        return read_text(reader, value->text, sizeof value->text);
    }
    if (accept(reader, '[')) {
        return read_array(reader, value);
    }
    if (accept(reader, '{')) {
        return read_ray(reader, value);
    }
    if (reader->end - reader->at >= 4 && memcmp(reader->at, "true", 4) == 0) {
        reader->at += 4;
        value->kind = VALUE_TRUE;
        return true;
    }
    f64 number;
    value->kind = VALUE_NUMBERS;
    bool ok = read_number(reader, &number);
    value->numbers[0] = ok ? (f32)number : 0.0f;
    return ok;
}

static bool value_fits(const Value *value, u32 takes)
{
    switch (value->kind) {
    case VALUE_TEXT:
        return (takes & IS_TEXT) != 0 && value->text[0] != 0;
    case VALUE_RAY:
        return (takes & IS_RAY) != 0;
    case VALUE_TRUE:
        return (takes & IS_TRUE) != 0;
    case VALUE_NUMBERS:
        return (takes & IS_NUMBERS) != 0 || ((takes & IS_NUMBER) != 0 && value->count == 0) ||
               ((takes & IS_VECTOR) != 0 && value->count == 3);
    default:
        return false;
    }
}

static bool line_take(Reader *reader, ScriptLine *line, Member member, const Value *value,
                      f64 number)
{
    switch (member) {
    case MEMBER_T:
        line->t = number;
        return number >= 0 || fail(reader, "t must not be negative");
    case MEMBER_OVER:
        line->over = number;
        return number >= 0 || fail(reader, "over must not be negative");
    case MEMBER_GRAB:
    case MEMBER_PUSH:
        line->by_ray = value->kind == VALUE_RAY;
        line->ray = value->ray;
        break;
    case MEMBER_DYE:
    case MEMBER_MOVE:
    case MEMBER_IMPULSE:
    case MEMBER_POSITION:
        line->vector = value_vector(value);
        return true;
    case MEMBER_VELOCITY:
        line->velocity = value_vector(value);
        return true;
    case MEMBER_LOOK_FROM:
        line->look_from = value_vector(value);
        return true;
    case MEMBER_LOOK_AT:
        line->look_at = value_vector(value);
        return true;
    case MEMBER_VALUE:
        memcpy(line->values, value->numbers, sizeof line->values);
        return true;
    case MEMBER_CHAT:
        line->chat = strdup(value->text);
        return line->chat != NULL || fail(reader, "out of memory");
    case MEMBER_RELEASE:
        return true;
    default:
        break;
    }
    if (value->kind == VALUE_TEXT && strlen(value->text) >= NAME_BYTES_MAX) {
        return fail(reader, "name too long; at most 47 bytes");
    }
    memcpy(line->name, value->text, NAME_BYTES_MAX - 1);
    return true;
}

static bool read_member(Reader *reader, ScriptLine *line)
{
    char name[32], what[128];
    const char *begin = reader->at;
    if (!read_text(reader, name, sizeof name) || !expect(reader, ':')) {
        return false;
    }
    Member member = 0;
    while (member < MEMBER_COUNT && strcmp(members[member].name, name) != 0) {
        member++;
    }
    if (member == MEMBER_COUNT || (line->has & 1u << member) != 0) {
        reader->at = begin;
        snprintf(what, sizeof what, "%s member \"%s\"",
                 member == MEMBER_COUNT ? "unknown" : "repeated", name);
        return fail(reader, what);
    }
    Value value;
    begin = reader->at;
    if (!read_value(reader, &value)) {
        return false;
    }
    if (!value_fits(&value, members[member].takes)) {
        reader->at = begin;
        snprintf(what, sizeof what, "invalid value of \"%s\"; expected %s", name,
                 members[member].right);
        return fail(reader, what);
    }
    line->has |= 1u << member;
    return line_take(reader, line, member, &value, (f64)value.numbers[0]);
}

static const char *const controls[CONTROL_KIND_COUNT] = {
    [CONTROL_PAUSE] = "pause",
    [CONTROL_RESUME] = "resume",
    [CONTROL_STEP] = "step",
    [CONTROL_SPEED] = "speed",
    [CONTROL_SEEK] = "seek",
    [CONTROL_RESET] = "reset",
    [CONTROL_LOOP_FIRST] = "loop_first",
    [CONTROL_LOOP_LAST] = "loop_last",
    [CONTROL_BACK] = "back",
    [CONTROL_UNDO] = "undo",
    [CONTROL_LEAVE] = "leave",
    [CONTROL_RETURN] = "return",
};

static u32 control_kind(const char *name)
{
    for (u32 i = 1; i < CONTROL_KIND_COUNT; i++) {
        if (strcmp(controls[i], name) == 0) {
            return i;
        }
    }
    return CONTROL_NONE;
}

static bool has(const ScriptLine *line, Member member)
{
    return (line->has & 1u << member) != 0;
}

/* Checks that the members fit together and that a line has exactly one action. */
static bool line_check(Reader *reader, const ScriptLine *line, f64 before_s)
{
    u32 actions = 0;
    static const Member one_of[] = {MEMBER_GRAB,   MEMBER_MOVE,    MEMBER_RELEASE,   MEMBER_PUSH,
                                    MEMBER_SET,    MEMBER_SPAWN,   MEMBER_LOOK_FROM, MEMBER_CHAT,
                                    MEMBER_REMOVE, MEMBER_CONTROL, MEMBER_DYE};
    for (u32 i = 0; i < PL_COUNT(one_of); i++) {
        actions += has(line, one_of[i]);
    }
    if (!has(line, MEMBER_T)) {
        return fail(reader, "missing member \"t\" (seconds after the world arrived)");
    }
    if (line->t < before_s) {
        return fail(reader, "t decreases; lines must be ordered by time");
    }
    if (actions != 1) {
        return fail(
            reader,
            "a line has exactly one action: grab, move, release, push, control, set, spawn, "
            "remove, look_from, chat or dye");
    }
    Vec3 v = line->vector;
    if (has(line, MEMBER_DYE) &&
        !(f32_min(v.x, f32_min(v.y, v.z)) >= 0.0f && f32_max(v.x, f32_max(v.y, v.z)) <= 1.0f)) {
        return fail(reader, "dye is out of range, expected three numbers from 0 to 1");
    }
    if (has(line, MEMBER_PUSH) != has(line, MEMBER_IMPULSE)) {
        return fail(reader, "push and impulse go together");
    }
    if (has(line, MEMBER_SPAWN) != has(line, MEMBER_POSITION)) {
        return fail(reader, "spawn and position go together");
    }
    if (has(line, MEMBER_LOOK_FROM) != has(line, MEMBER_LOOK_AT)) {
        return fail(reader, "look_from and look_at go together");
    }
    if ((has(line, MEMBER_VELOCITY) && !has(line, MEMBER_SPAWN)) ||
        (has(line, MEMBER_OVER) && !has(line, MEMBER_MOVE)) ||
        (has(line, MEMBER_VALUE) && !has(line, MEMBER_SET) && !has(line, MEMBER_CONTROL))) {
        return fail(reader, "velocity belongs to spawn, over to move, value to set or control");
    }
    if (has(line, MEMBER_SET) && !has(line, MEMBER_VALUE)) {
        return fail(reader, "set needs a value");
    }
    if (has(line, MEMBER_CONTROL)) {
        u32 kind = control_kind(line->name);
        if (kind == CONTROL_NONE) {
            return fail(reader,
                        "unknown control; expected pause, resume, step, speed, seek, reset, "
                        "loop_first, loop_last, back, undo");
        }
        if ((kind == CONTROL_SPEED || kind == CONTROL_SEEK ||
             (kind >= CONTROL_LOOP_FIRST && kind <= CONTROL_BACK)) &&
            !has(line, MEMBER_VALUE)) {
            return fail(reader, "speed, seek and back need a value");
        }
    }
    return true;
}

static bool read_line(Reader *reader, ScriptLine *line, f64 before_s)
{
    if (!expect(reader, '{')) {
        return false;
    }
    do {
        if (!read_member(reader, line)) {
            return false;
        }
    } while (accept(reader, ','));
    if (!expect(reader, '}')) {
        return false;
    }
    skip_space(reader);
    if (reader->at != reader->end) {
        return fail(reader, "text after the object");
    }
    return line_check(reader, line, before_s);
}

static bool script_append(Script *script, u32 *capacity, ScriptLine **line)
{
    if (script->count == *capacity) {
        u32 more = *capacity > 0 ? 2 * *capacity : 64;
        ScriptLine *lines = realloc(script->lines, more * sizeof *lines);
        if (lines == NULL) {
            return false;
        }
        script->lines = lines;
        *capacity = more;
    }
    *line = &script->lines[script->count++];
    memset(*line, 0, sizeof **line);
    return true;
}

Script *script_parse(const char *text, size_t bytes, const char *name, ErrorText *error)
{
    Script *script = calloc(1, sizeof *script);
    if (script == NULL) {
        error_set(error, ERROR_MEMORY, "%s: out of memory", name);
        return NULL;
    }
    Reader reader = {.file = name, .error = error, .at = text};
    const char *end = text + bytes;
    u32 capacity = 0;
    while (reader.at < end && !reader.failed) {
        const char *newline = memchr(reader.at, '\n', (size_t)(end - reader.at));
        reader.begin = reader.at;
        reader.end = newline != NULL ? newline : end;
        reader.line++;
        skip_space(&reader);
        if (reader.at < reader.end) {
            f64 before_s = script->count > 0 ? script->lines[script->count - 1].t : 0.0;
            ScriptLine *line;
            if (script->count >= LINES_MAX || !script_append(script, &capacity, &line)) {
                fail(&reader, "too many lines; at most 100000");
            } else {
                read_line(&reader, line, before_s);
            }
        }
        reader.at = newline != NULL ? newline + 1 : end;
    }
    if (reader.failed) {
        script_destroy(script);
        return NULL;
    }
    return script;
}

Script *script_load(const char *path, ErrorText *error)
{
    size_t bytes;
    char *text = file_read(path, FILE_BYTES_MAX, &bytes, error);
    Script *script = text != NULL ? script_parse(text, bytes, path, error) : NULL;
    free(text);
    return script;
}

Script *script_copy(const Script *script)
{
    Script *copy = calloc(1, sizeof *copy);
    if (copy == NULL) {
        return NULL;
    }
    copy->lines = calloc(script->count > 0 ? script->count : 1, sizeof *copy->lines);
    if (copy->lines == NULL) {
        free(copy);
        return NULL;
    }
    for (; copy->count < script->count; copy->count++) {
        ScriptLine *line = &copy->lines[copy->count];
        *line = script->lines[copy->count];
        if (line->chat != NULL && (line->chat = strdup(line->chat)) == NULL) {
            script_destroy(copy);
            return NULL;
        }
    }
    return copy;
}

void script_destroy(Script *script)
{
    if (script == NULL) {
        return;
    }
    for (u32 i = 0; i < script->count; i++) {
        free(script->lines[i].chat);
    }
    free(script->lines);
    free(script);
}

/* ---- playing ---- */

static void do_spawn(const ScriptLine *line, Connection *connection)
{
    const Scene *scene = connection_scene(connection);
    for (u32 i = 0; i < scene->prefab_count; i++) {
        if (strcmp(scene->prefabs[i].name, line->name) == 0) {
            Input input = {.kind = INPUT_SPAWN,
                           .index = i,
                           .target = line->vector,
                           .rotation = quat_identity(),
                           .vector = line->velocity};
            connection_input(connection, &input);
            return;
        }
    }
    log_warn("script: no prefab \"%s\" in this scene", line->name);
}

static void do_set(const ScriptLine *line, Connection *connection)
{
    u32 count;
    const ScalarInfo *parameters = connection_parameters(connection, &count);
    for (u32 i = 0; i < count; i++) {
        if (strcmp(parameters[i].name, line->name) == 0) {
            Input input = {.kind = INPUT_SET, .index = i};
            memcpy(input.values, line->values, sizeof input.values);
            connection_input(connection, &input);
            return;
        }
    }
    log_warn("script: no parameter \"%s\" in this world", line->name);
}

static u32 entity_id(const ScriptLine *line, Connection *connection)
{
    const Entity *entity = connection_entity_named(connection, line->name);
    if (entity == NULL) {
        log_warn("script: no entity \"%s\" in this world", line->name);
    }
    return entity != NULL ? entity->id : 0;
}

static void do_grab(const ScriptLine *line, Connection *connection, Hand *hand)
{
    hand_release(hand);
    bool done = line->by_ray ? hand_grab_ray(hand, line->ray)
                             : hand_grab_entity(hand, entity_id(line, connection));
    if (!done) {
        log_warn("script: at %g s nothing was grabbed", line->t);
    }
}

static void do_push(const ScriptLine *line, Connection *connection, Hand *hand)
{
    Pick pick = {0};
    if (line->by_ray) {
        pick_ray(connection, line->ray, 1000.0f, &pick);
    } else {
        pick.entity = entity_id(line, connection);
    }
    if (pick.entity != 0) {
        hand_push(hand, &pick, line->vector);
    }
}

static void do_dye(const ScriptLine *line, Hand *hand)
{
    const f32 parts[3] = {line->vector.x, line->vector.y, line->vector.z};
    u32 color = 0;
    for (u32 k = 0; k < 3; k++) {
        color = color << 8 | (u32)(parts[k] * 255.0f + 0.5f);
    }
    hand_dye(hand, color);
}

static void do_remove(const ScriptLine *line, Connection *connection)
{
    Input input = {.kind = INPUT_REMOVE, .entity = entity_id(line, connection)};
    if (input.entity != 0) {
        connection_input(connection, &input);
    }
}

static void do_control(const ScriptLine *line, Connection *connection)
{
    f64 value = has(line, MEMBER_VALUE) ? (f64)line->values[0] : 1.0;
    connection_control(connection, (ControlKind)control_kind(line->name), value);
}

static void do_line(Script *script, const ScriptLine *line, Connection *connection, Hand *hand)
{
    if (has(line, MEMBER_GRAB) || has(line, MEMBER_RELEASE)) {
        script->moving = false;
    }
    if (has(line, MEMBER_GRAB)) {
        do_grab(line, connection, hand);
    } else if (has(line, MEMBER_RELEASE)) {
        hand_release(hand);
    } else if (has(line, MEMBER_PUSH)) {
        do_push(line, connection, hand);
    } else if (has(line, MEMBER_DYE)) {
        do_dye(line, hand);
    } else if (has(line, MEMBER_CONTROL)) {
        do_control(line, connection);
    } else if (has(line, MEMBER_SET)) {
        do_set(line, connection);
    } else if (has(line, MEMBER_SPAWN)) {
        do_spawn(line, connection);
    } else if (has(line, MEMBER_REMOVE)) {
        do_remove(line, connection);
    } else if (has(line, MEMBER_CHAT)) {
        connection_chat(connection, line->chat);
    } else if (has(line, MEMBER_LOOK_FROM)) {
        script->camera = true;
        script->eye = line->look_from;
        script->target = line->look_at;
    }
}

/* Sends the interpolated target of the running move at t_s; at its end the exact point. */
static void move_step(Script *script, Hand *hand, f64 t_s)
{
    if (!script->moving) {
        return;
    }
    f64 span = script->move_end_s - script->move_begin_s;
    f64 share = span > 0 ? fmin((t_s - script->move_begin_s) / span, 1.0) : 1.0;
    Vec3 target =
        share >= 1.0 ? script->move_to : vec3_lerp(script->move_from, script->move_to, (f32)share);
    hand_move(hand, target);
    script->moving = share < 1.0;
}

static void move_begin(Script *script, const ScriptLine *line, const Hand *hand)
{
    bool last = script->next >= script->count;
    f64 until_next = last ? 0.5 : script->lines[script->next].t - line->t;
    script->moving = true;
    script->move_begin_s = line->t;
    script->move_end_s = line->t + (has(line, MEMBER_OVER) ? line->over : until_next);
    script->move_from = hand->target;
    script->move_to = line->vector;
}

void script_step(Script *script, Connection *connection, Hand *hand, f64 t_s)
{
    if (connection_state(connection) != CONNECTION_LIVE) {
        return;
    }
    while (script->next < script->count && script->lines[script->next].t <= t_s) {
        const ScriptLine *line = &script->lines[script->next++];
        move_step(script, hand, line->t);
        if (has(line, MEMBER_MOVE)) {
            move_begin(script, line, hand);
        } else {
            do_line(script, line, connection, hand);
        }
    }
    move_step(script, hand, t_s);
}

bool script_camera(const Script *script, Vec3 *eye, Vec3 *target)
{
    *eye = script->eye;
    *target = script->target;
    return script->camera;
}

u32 script_looks(const Script *script, ScriptLook *looks, u32 most, u32 *lines)
{
    u32 count = 0;
    for (u32 i = 0; i < script->count; i++) {
        const ScriptLine *line = &script->lines[i];
        if (!has(line, MEMBER_LOOK_FROM)) {
            continue;
        }
        if (count < most) {
            looks[count] = (ScriptLook){line->t, line->look_from, line->look_at};
        }
        count++;
    }
    *lines = script->count;
    return count;
}
