// message.cpp: plain C structs to FlatBuffers and back. Decoding trusts nothing: the verifier
// checks the structure, the functions below every number and text before anyone sees them.
#include "protocol/session/message.h"

#include "message_generated.h"
#include "protocol/field/field_ops.h"
#include "protocol/field/frame.h"
#include "protocol/session/message_cpp.h"
#include "protocol/session/message_debug_cpp.h"
#include "protocol/session/message_status_cpp.h"
#include "protocol/session/message_storage.h"
#include "shared/base/limits.h"

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace wire = plenum::wire;
using flatbuffers::FlatBufferBuilder;
using flatbuffers::Offset;

namespace
{

// Of the largest world: each entity is a table, also in Events.
enum {
    VERIFY_DEPTH_MAX = 8,
    VERIFY_TABLES_MAX = 2 * ENTITIES_MAX + 4096,
    EVENTS_MAX = 2 * ENTITIES_MAX
};

// ---- encoding ----

wire::Vec3 to_wire(Vec3 v)
{
    return wire::Vec3(v.x, v.y, v.z);
}

wire::Vec4 to_wire(const f32 v[4])
{
    return wire::Vec4(v[0], v[1], v[2], v[3]);
}

Offset<flatbuffers::String> text_to_wire(FlatBufferBuilder &b, const char *text, size_t bytes_max)
{
    return b.CreateString(text, strnlen(text, bytes_max - 1));
}

Offset<wire::Field> to_wire(FlatBufferBuilder &b, const FieldDesc &f)
{
    auto name = text_to_wire(b, f.name, sizeof f.name);
    auto dims = b.CreateVector(f.dims, 3);
    wire::Vec3 origin = to_wire(f.origin), spacing = to_wire(f.spacing);
    return wire::CreateField(b, name, f.kind, f.channels, f.capacity, dims, &origin, f.quantum,
                             &spacing, f.value_min);
}

Offset<wire::Entity> to_wire(FlatBufferBuilder &b, const Entity &e)
{
    auto name = text_to_wire(b, e.name, sizeof e.name);
    wire::Shape shape(static_cast<u32>(e.appearance.shape.kind), e.appearance.shape.radius,
                      e.appearance.shape.half_height, to_wire(e.appearance.shape.half));
    wire::Vec4 color = to_wire(e.appearance.color), color2 = to_wire(e.appearance.color2);
    return wire::CreateEntity(
        b, e.id, name, e.field, e.movable != 0, e.generation, e.first, e.count, e.mass_kg,
        static_cast<u8>(e.appearance.kind), static_cast<u8>(e.appearance.pattern), &shape, &color,
        &color2, e.appearance.roughness, e.appearance.radius, e.appearance.grid[0],
        e.appearance.grid[1], e.appearance.geometry, e.appearance.soft, e.appearance.clear_m,
        static_cast<u8>(e.appearance.image), e.appearance.growth, e.appearance.fade_in,
        e.appearance.glow, e.appearance.stretch_s, static_cast<u8>(e.dye));
}

Offset<wire::Scalar> to_wire(FlatBufferBuilder &b, const ScalarInfo &s)
{
    auto name = text_to_wire(b, s.name, sizeof s.name);
    auto unit = text_to_wire(b, s.unit, sizeof s.unit);
    wire::Vec4 initial = to_wire(s.initial);
    return wire::CreateScalar(b, name, unit, s.min, s.max, &initial, s.components, s.field,
                              s.first);
}

Offset<wire::Event> to_wire(FlatBufferBuilder &b, const Event &e)
{
    Offset<wire::Entity> entity;
    if (e.kind == EVENT_SPAWN || e.kind == EVENT_DESPAWN) {
        entity = to_wire(b, e.entity);
    }
    wire::Vec3 position = to_wire(e.position);
    return wire::CreateEvent(b, static_cast<u8>(e.kind), e.user, e.sequence, e.code, e.a, e.b,
                             e.element, &position, e.impulse, e.speed, entity);
}

Offset<wire::User> to_wire(FlatBufferBuilder &b, const UserInfo &u)
{
    auto name = text_to_wire(b, u.name, sizeof u.name);
    return wire::CreateUser(b, u.id, static_cast<u8>(u.role), name, u.color, u.rtt_ms,
                            u.own_time != 0);
}

Offset<wire::Mark> to_wire(FlatBufferBuilder &b, const SurveyMark &m)
{
    auto text = text_to_wire(b, m.text, sizeof m.text);
    return wire::CreateMark(b, m.tick, static_cast<u8>(m.kind), text);
}

Offset<wire::Save> to_wire(FlatBufferBuilder &b, const SaveInfo &s)
{
    auto name = text_to_wire(b, s.name, sizeof s.name);
    auto scene = text_to_wire(b, s.scene, sizeof s.scene);
    return wire::CreateSave(b, name, s.unix_s, s.bytes, scene);
}

Offset<wire::Hand> to_wire(FlatBufferBuilder &b, const Presence &p)
{
    wire::Vec3 eye = to_wire(p.eye), cursor = to_wire(p.cursor), local = to_wire(p.local);
    wire::Vec3 target = to_wire(p.target);
    return wire::CreateHand(b, p.user, p.cursor_visible != 0, &eye, &cursor, p.grabbed, p.element,
                            &local, &target);
}

template <typename Wire, typename Item>
Offset<flatbuffers::Vector<Offset<Wire>>> list_to_wire(FlatBufferBuilder &b, const Item *items,
                                                       u32 count)
{
    std::vector<Offset<Wire>> offsets;
    offsets.reserve(count);
    for (u32 i = 0; i < count; i++) {
        offsets.push_back(to_wire(b, items[i]));
    }
    return b.CreateVector(offsets);
}

Offset<void> hello_to_wire(FlatBufferBuilder &b, const MessageHello &m)
{
    auto name = text_to_wire(b, m.name, sizeof m.name);
    auto token = b.CreateVector(m.token, u32_min(m.token_bytes, TOKEN_BYTES_MAX));
    auto version = text_to_wire(b, m.version, sizeof m.version);
    Offset<flatbuffers::Vector<u8>> client, proof;
    if (m.proves) {
        client = b.CreateVector(m.client, sizeof m.client);
        proof = b.CreateVector(m.proof, sizeof m.proof);
    }
    return wire::CreateHello(b, m.major, m.minor, name, token, m.resume, version, client, proof,
                             m.relay)
        .Union();
}

Offset<void> welcome_to_wire(FlatBufferBuilder &b, const MessageWelcome &m)
{
    return wire::CreateWelcome(b, m.major, m.minor, m.user, static_cast<u8>(m.role), m.tick_rate,
                               m.snapshot_rate, m.resume)
        .Union();
}

Offset<void> world_to_wire(FlatBufferBuilder &b, const MessageWorld &m)
{
    auto scene = b.CreateVector(m.scene, m.scene_bytes);
    auto fields = list_to_wire<wire::Field>(b, m.fields, m.field_count);
    auto entities = list_to_wire<wire::Entity>(b, m.entities, m.entity_count);
    auto parameters = list_to_wire<wire::Scalar>(b, m.parameters, m.parameter_count);
    auto probes = list_to_wire<wire::Scalar>(b, m.probes, m.probe_count);
    return wire::CreateWorld(b, m.epoch, m.tick, scene, fields, entities, parameters, probes)
        .Union();
}

Offset<void> survey_to_wire(FlatBufferBuilder &b, const MessageSurvey &m)
{
    auto values = b.CreateVector(m.values, static_cast<size_t>(m.samples) * m.probes);
    auto marks = list_to_wire<wire::Mark>(b, m.marks, m.mark_count);
    return wire::CreateSurvey(b, m.first_tick, m.last_tick, m.samples, m.probes, values, marks)
        .Union();
}

Offset<void> status_to_wire(FlatBufferBuilder &b, const MessageStatus &m)
{
    return wire::CreateStatus(b, m.paused != 0, m.replay != 0, m.slowed != 0, m.seekable != 0,
                              m.speed, m.first_tick, m.last_tick, m.tick_ms, m.play.stream_tick,
                              m.play.tick, i8(m.play.direction), m.loop_first, m.loop_last,
                              m.back_s, u8(m.own_time), m.common_tick, m.common_speed)
        .Union();
}

Offset<void> debug_to_wire(FlatBufferBuilder &b, const DebugPicture &m)
{
    u32 line_count = u32_min(m.line_count, DEBUG_LINES_MAX);
    u32 island_count = u32_min(m.island_count, DEBUG_ISLANDS_MAX);
    std::vector<wire::Line> lines;
    std::vector<wire::Island> islands;
    lines.reserve(line_count);
    islands.reserve(island_count);
    for (u32 i = 0; i < line_count; i++) {
        const DebugLine &line = m.lines[i];
        lines.push_back(wire::Line(to_wire(line.from), to_wire(line.to), line.kind));
    }
    for (u32 i = 0; i < island_count; i++) {
        islands.push_back(wire::Island(m.islands[i].entity, m.islands[i].island));
    }
    auto lines_at = b.CreateVectorOfStructs(lines);
    auto islands_at = b.CreateVectorOfStructs(islands);
    return wire::CreateDebug(b, m.tick, m.mask, m.lines_all, lines_at, islands_at).Union();
}

// The body and its type; a null offset for a kind that does not exist.
Offset<void> body_to_wire(FlatBufferBuilder &b, const Message &m, wire::Body &type)
{
    // Kinds are numbered in the order of the union's members.
    type = static_cast<wire::Body>(m.kind);
    switch (m.kind) {
    case MESSAGE_HELLO:
        return hello_to_wire(b, m.hello);
    case MESSAGE_WELCOME:
        return welcome_to_wire(b, m.welcome);
    case MESSAGE_REFUSE:
        return wire::CreateRefuse(b, m.refuse.reason,
                                  text_to_wire(b, m.refuse.text, sizeof m.refuse.text))
            .Union();
    case MESSAGE_WORLD:
        return world_to_wire(b, m.world);
    case MESSAGE_EVENTS: {
        auto events = list_to_wire<wire::Event>(b, m.events.events, m.events.count);
        return wire::CreateEvents(b, m.events.tick, events).Union();
    }
    case MESSAGE_CONTROL:
        return wire::CreateControl(b, m.control.kind, m.control.value).Union();
    case MESSAGE_CHAT:
        return wire::CreateChat(b, m.chat.user, text_to_wire(b, m.chat.text, sizeof m.chat.text))
            .Union();
    case MESSAGE_NOTICE:
        return wire::CreateNotice(b, text_to_wire(b, m.notice.text, sizeof m.notice.text),
                                  static_cast<uint8_t>(m.notice.kind), m.notice.code)
            .Union();
    case MESSAGE_ROSTER:
        return wire::CreateRoster(b, list_to_wire<wire::User>(b, m.roster.users, m.roster.count))
            .Union();
    case MESSAGE_PRESENCE:
        return wire::CreatePresence(
                   b, list_to_wire<wire::Hand>(b, m.presence.presences, m.presence.count),
                   m.presence.serial, m.presence.from, m.presence.to)
            .Union();
    case MESSAGE_STATUS:
        return status_to_wire(b, m.status);
    case MESSAGE_GOODBYE:
        return wire::CreateGoodbye(b, m.goodbye.reason).Union();
    case MESSAGE_DEBUG_SUBSCRIBE:
        return wire::CreateDebugSubscribe(b, m.debug_subscribe.mask).Union();
    case MESSAGE_DEBUG:
        return debug_to_wire(b, m.debug);
    case MESSAGE_BULK:
        return wire::CreateBulk(b, m.bulk.transfer, m.bulk.first).Union();
    case MESSAGE_QUEUE:
        return wire::CreateQueue(b, m.queue.position, m.queue.waiting).Union();
    case MESSAGE_SURVEY:
        return survey_to_wire(b, m.survey);
    case MESSAGE_BOOKMARK:
        return wire::CreateBookmark(b, m.bookmark.tick,
                                    text_to_wire(b, m.bookmark.text, sizeof m.bookmark.text))
            .Union();
    case MESSAGE_PASSWORD:
        return wire::CreatePassword(b, text_to_wire(b, m.password.text, sizeof m.password.text))
            .Union();
    case MESSAGE_GUESTS:
        return wire::CreateGuests(b, list_to_wire<wire::User>(b, m.guests.users, m.guests.count),
                                  b.CreateVector(m.guests.given, m.guests.given_count))
            .Union();
    case MESSAGE_GUEST_INPUT:
        return wire::CreateGuestInput(
                   b, m.guest_input.user,
                   b.CreateVector(m.guest_input.input,
                                  u32_min(m.guest_input.bytes, GUEST_INPUT_BYTES_MAX)))
            .Union();
    case MESSAGE_SAVES:
        return wire::CreateSaves(b, list_to_wire<wire::Save>(b, m.saves.items, m.saves.count))
            .Union();
    default:
        return Offset<void>();
    }
}

static_assert(static_cast<int>(wire::Body::Hello) == MESSAGE_HELLO &&
                  static_cast<int>(wire::Body::World) == MESSAGE_WORLD &&
                  static_cast<int>(wire::Body::Debug) == MESSAGE_DEBUG &&
                  static_cast<int>(wire::Body::MAX) + 1 == MESSAGE_KIND_COUNT,
              "MessageKind and the union of message.fbs are in the same order");

// ---- decoding ----

constexpr f32 EXTENT = WORLD_EXTENT_MAX_M;
constexpr f32 HUGE_NUMBER = 3.4e38f; // any finite number

bool from_wire(Checker &c, const wire::Field &w, FieldDesc &f)
{
    f = FieldDesc();
    if (!c.text(w.name(), f.name, sizeof f.name, false, "field name") ||
        !c.vector(w.origin(), EXTENT, f.origin, "field origin") ||
        !c.vector(w.spacing(), EXTENT, f.spacing, "field spacing") ||
        !c.number(w.quantum(), 0.0f, EXTENT, "field quantum") ||
        !c.number(w.value_min(), -HUGE_NUMBER, HUGE_NUMBER, "field value_min")) {
        return false;
    }
    f.kind = w.kind();
    f.channels = w.channels();
    f.capacity = w.capacity();
    f.quantum = w.quantum();
    f.value_min = w.value_min();
    if (w.dims() != nullptr) {
        if (w.dims()->size() != 3) {
            return c.refuse(ERROR_FORMAT, "field dims must be three");
        }
        for (u32 i = 0; i < 3; i++) {
            f.dims[i] = w.dims()->Get(i);
        }
    }
    return field_check(&f) == ERROR_OK || c.refuse(ERROR_RANGE, "field description");
}

bool color_from_wire(Checker &c, const wire::Vec4 *w, f32 out[4])
{
    const f32 values[4] = {w != nullptr ? w->x() : 0.0f, w != nullptr ? w->y() : 0.0f,
                           w != nullptr ? w->z() : 0.0f, w != nullptr ? w->w() : 0.0f};
    for (u32 i = 0; i < 4; i++) {
        if (!c.number(values[i], 0.0f, 1.0f, "colour")) {
            return false;
        }
        out[i] = values[i];
    }
    return true;
}

bool shape_from_wire(Checker &c, const wire::Shape *w, Shape &shape)
{
    shape = Shape();
    if (w == nullptr) {
        return true;
    }
    wire::Vec3 half = w->half();
    if (!c.whole(w->kind(), 0, SHAPE_KIND_COUNT - 1, "shape kind") ||
        !c.number(w->radius(), 0.0f, EXTENT, "shape radius") ||
        !c.number(w->half_height(), 0.0f, EXTENT, "shape half_height") ||
        !c.vector(&half, EXTENT, shape.half, "shape half")) {
        return false;
    }
    shape.kind = static_cast<ShapeKind>(w->kind());
    shape.radius = w->radius();
    shape.half_height = w->half_height();
    return true;
}

// What only liquids and billboards have.
bool particles_from_wire(Checker &c, const wire::Entity &w, Appearance &out)
{
    bool clear = w.appearance() == APPEARANCE_LIQUID || w.appearance() == APPEARANCE_WATER ||
                 w.appearance() == APPEARANCE_SMOKE;
    f32 most = clear ? EXTENT : 1.0f; // else a spread of radii
    if (!c.number(w.clear_m(), 0.0f, most, "entity clear_m") ||
        !c.whole(w.image(), 0, BILLBOARD_IMAGE_COUNT - 1, "entity image") ||
        !c.number(w.growth(), -1.0f, 1000.0f, "entity growth") ||
        !c.number(w.fade_in(), 0.0f, 1.0f, "entity fade_in") ||
        !c.number(w.glow(), 0.0f, 1.0f, "entity glow") ||
        !c.number(w.stretch_s(), 0.0f, 10.0f, "entity stretch_s")) {
        return false;
    }
    out.clear_m = w.clear_m();
    out.image = static_cast<BillboardImage>(w.image());
    out.growth = w.growth();
    out.fade_in = w.fade_in();
    out.glow = w.glow();
    out.stretch_s = w.stretch_s();
    return true;
}

bool from_wire(Checker &c, const wire::Entity &w, Entity &e)
{
    e = Entity();
    if (!c.whole(w.id(), 1, UINT32_MAX, "entity id") ||
        !c.text(w.name(), e.name, sizeof e.name, true, "entity name") ||
        !c.whole(w.field(), 0, FIELDS_MAX - 1, "entity field") ||
        !c.whole(w.first(), 0, FIELD_ELEMENTS_MAX, "entity first") ||
        !c.whole(w.count(), 0, FIELD_ELEMENTS_MAX, "entity count") ||
        !c.whole(w.dye(), 0, FIELDS_MAX, "entity dye") ||
        !c.number(w.mass(), 0.0f, HUGE_NUMBER, "entity mass") ||
        !c.whole(w.appearance(), 0, APPEARANCE_KIND_COUNT - 1, "entity appearance") ||
        !c.whole(w.pattern(), 0, PATTERN_COUNT - 1, "entity pattern") ||
        !c.number(w.roughness(), 0.0f, 1.0f, "entity roughness") ||
        !c.number(w.radius(), 0.0f, EXTENT, "entity radius") ||
        !c.whole(w.columns(), 0, FIELD_ELEMENTS_MAX, "entity columns") ||
        !c.whole(w.rows(), 0, FIELD_ELEMENTS_MAX, "entity rows") ||
        !shape_from_wire(c, w.shape(), e.appearance.shape) ||
        !color_from_wire(c, w.color(), e.appearance.color) ||
        !color_from_wire(c, w.color2(), e.appearance.color2) ||
        !particles_from_wire(c, w, e.appearance)) {
        return false;
    }
    if (w.columns() != 0 && (w.columns() < 2 || w.rows() < 2)) {
        return c.refuse(ERROR_RANGE, "entity grid must be at least 2 x 2");
    }
    e.id = w.id();
    e.field = w.field();
    e.movable = w.movable();
    e.generation = w.generation();
    e.first = w.first();
    e.count = w.count();
    e.dye = w.dye();
    e.mass_kg = w.mass();
    e.appearance.kind = static_cast<AppearanceKind>(w.appearance());
    e.appearance.pattern = static_cast<Pattern>(w.pattern());
    e.appearance.roughness = w.roughness();
    e.appearance.radius = w.radius();
    e.appearance.grid[0] = w.columns();
    e.appearance.grid[1] = w.rows();
    e.appearance.geometry = w.geometry();
    e.appearance.soft = w.soft();
    // Its existence can only be checked with the scene (scene_resolve).
    if ((e.appearance.shape.kind >= SHAPE_HULL) != (e.appearance.geometry != 0)) {
        return c.refuse(ERROR_RANGE, "entity geometry");
    }
    return true;
}

bool from_wire(Checker &c, const wire::Scalar &w, ScalarInfo &s)
{
    s = ScalarInfo();
    const wire::Vec4 *v = w.initial();
    const f32 initial[4] = {v != nullptr ? v->x() : 0.0f, v != nullptr ? v->y() : 0.0f,
                            v != nullptr ? v->z() : 0.0f, v != nullptr ? v->w() : 0.0f};
    if (!c.text(w.name(), s.name, sizeof s.name, false, "scalar name") ||
        !c.text(w.unit(), s.unit, sizeof s.unit, true, "scalar unit") ||
        !c.number(w.min(), -HUGE_NUMBER, HUGE_NUMBER, "scalar min") ||
        !c.number(w.max(), -HUGE_NUMBER, HUGE_NUMBER, "scalar max") ||
        !c.whole(w.components(), 1, 4, "scalar components") ||
        !c.whole(w.field(), 0, FIELDS_MAX - 1, "scalar field") ||
        !c.whole(w.first(), 0, FIELD_ELEMENTS_MAX - 4, "scalar first")) {
        return false;
    }
    for (u32 i = 0; i < 4; i++) {
        if (!c.number(initial[i], -HUGE_NUMBER, HUGE_NUMBER, "scalar initial value")) {
            return false;
        }
        s.initial[i] = initial[i];
    }
    s.min = w.min();
    s.max = w.max();
    s.components = w.components();
    s.field = w.field();
    s.first = w.first();
    return true;
}

bool from_wire(Checker &c, const wire::Event &w, Event &e)
{
    e = Event();
    if (!c.whole(w.kind(), EVENT_NONE + 1, EVENT_KIND_COUNT - 1, "event kind") ||
        !c.vector(w.position(), EXTENT, e.position, "event position") ||
        !c.number(w.impulse(), 0.0f, HUGE_NUMBER, "event impulse") ||
        !c.number(w.speed(), 0.0f, HUGE_NUMBER, "event speed") ||
        !c.whole(w.element(), 0, FIELD_ELEMENTS_MAX, "event element")) {
        return false;
    }
    e.kind = w.kind();
    e.user = w.user();
    e.sequence = w.sequence();
    e.code = w.code();
    e.a = w.a();
    e.b = w.b();
    e.element = w.element();
    e.impulse = w.impulse();
    e.speed = w.speed();
    bool needs_entity = e.kind == EVENT_SPAWN || e.kind == EVENT_DESPAWN;
    if (needs_entity && w.entity() == nullptr) {
        return c.refuse(ERROR_FORMAT, "event without its entity");
    }
    return !needs_entity || from_wire(c, *w.entity(), e.entity);
}

bool from_wire(Checker &c, const wire::User &w, UserInfo &u)
{
    u = UserInfo();
    u.id = w.id();
    u.role = static_cast<Role>(w.role());
    u.color = w.color() & 0xFFFFFF;
    u.rtt_ms = w.rtt_ms();
    u.own_time = w.own_time();
    return c.whole(w.role(), 0, ROLE_COUNT - 1, "user role") &&
           c.text(w.name(), u.name, sizeof u.name, false, "user name");
}

bool from_wire(Checker &c, const wire::Mark &w, SurveyMark &m)
{
    m = SurveyMark();
    m.tick = w.tick();
    m.kind = w.kind();
    return c.whole(w.kind(), 1, MARK_KIND_COUNT - 1, "mark kind") &&
           c.text(w.text(), m.text, sizeof m.text, true, "mark");
}

bool from_wire(Checker &c, const wire::Save &w, SaveInfo &s)
{
    s = SaveInfo();
    s.unix_s = w.unix_s();
    s.bytes = w.bytes();
    return c.text(w.name(), s.name, sizeof s.name, false, "name of a save") &&
           c.text(w.scene(), s.scene, sizeof s.scene, true, "scene of a save");
}

bool from_wire(Checker &c, const wire::Hand &w, Presence &p)
{
    p = Presence();
    p.user = w.user();
    p.cursor_visible = w.cursor_visible();
    p.grabbed = w.grabbed();
    p.element = w.element();
    return c.vector(w.eye(), EXTENT, p.eye, "hand eye") &&
           c.vector(w.cursor(), EXTENT, p.cursor, "hand cursor") &&
           c.vector(w.local(), EXTENT, p.local, "hand local") &&
           c.vector(w.target(), EXTENT, p.target, "hand target");
}

template <typename Item, typename Wire>
bool list_from_wire(Checker &c, const flatbuffers::Vector<Offset<Wire>> *list, u32 max,
                    Storage &storage, const Item *&items, u32 &count, const char *what)
{
    u32 size = size_of(list);
    if (size > max) {
        return c.refuse(ERROR_LIMIT, what);
    }
    Item *out = storage.take<Item>(size);
    for (u32 i = 0; i < size; i++) {
        if (!from_wire(c, *list->Get(i), out[i])) {
            return false;
        }
    }
    items = out;
    count = size;
    return true;
}

// The same for a message that is one list.
template <typename Item, typename Wire>
bool only_list_from_wire(Checker &c, const flatbuffers::Vector<Offset<Wire>> *list, u32 max,
                         Storage &storage, const Item *&items, u32 &count, const char *what)
{
    return (storage.allocate(Storage::bytes_for<Item>(size_of(list))) ||
            c.refuse(ERROR_MEMORY, "no memory")) &&
           list_from_wire(c, list, max, storage, items, count, what);
}

// Checks that every entity lies inside its field, so that later code need not.
bool entity_fits(const Entity &e, const FieldDesc *fields, u32 field_count)
{
    if (e.field >= field_count) {
        return false;
    }
    u32 capacity = fields[e.field].capacity;
    bool inside = e.first <= capacity && e.count <= capacity - e.first;
    inside = inside && (field_ops(fields[e.field].kind)->axes == 1 || e.count == capacity);
    inside = inside && fields_hold_dye(fields, field_count, e.field, e.dye);
    return inside && static_cast<u64>(e.appearance.grid[0]) * e.appearance.grid[1] <= e.count;
}

bool scalar_fits(const ScalarInfo &s, const FieldDesc *fields, u32 field_count)
{
    return s.field < field_count && fields[s.field].kind == FIELD_SCALARS &&
           s.first + s.components <= fields[s.field].capacity;
}

bool world_from_wire(Checker &c, const wire::World &w, MessageWorld &m, Storage &storage)
{
    u32 scene_bytes = size_of(w.scene());
    if (!c.whole(w.epoch(), 1, 15, "world epoch") ||
        !c.whole(scene_bytes, 1, MESSAGE_BYTES_MAX, "world scene") || !w.scene()) {
        return false; // a non-zero size implies a scene; this check is only for the compiler
    }
    size_t capacity = Storage::bytes_for<u8>(scene_bytes) +
                      Storage::bytes_for<FieldDesc>(size_of(w.fields())) +
                      Storage::bytes_for<Entity>(size_of(w.entities())) +
                      Storage::bytes_for<ScalarInfo>(size_of(w.parameters())) +
                      Storage::bytes_for<ScalarInfo>(size_of(w.probes()));
    if (!storage.allocate(capacity)) {
        return c.refuse(ERROR_MEMORY, "no memory");
    }
    u8 *scene = storage.take<u8>(scene_bytes);
    memcpy(scene, w.scene()->data(), scene_bytes);
    m.epoch = w.epoch();
    m.tick = w.tick();
    m.scene = scene;
    m.scene_bytes = scene_bytes;
    if (!list_from_wire(c, w.fields(), FIELDS_MAX, storage, m.fields, m.field_count, "fields") ||
        !list_from_wire(c, w.entities(), ENTITIES_MAX, storage, m.entities, m.entity_count,
                        "entities") ||
        !list_from_wire(c, w.parameters(), PARAMETERS_MAX, storage, m.parameters, m.parameter_count,
                        "parameters") ||
        !list_from_wire(c, w.probes(), PROBES_MAX, storage, m.probes, m.probe_count, "probes")) {
        return false;
    }
    for (u32 i = 0; i < m.field_count; i++) {
        const_cast<FieldDesc *>(m.fields)[i].id = static_cast<u8>(i);
    }
    for (u32 i = 0; i < m.entity_count; i++) {
        if (!entity_fits(m.entities[i], m.fields, m.field_count)) {
            return c.refuse(ERROR_RANGE, "entity outside its field");
        }
    }
    for (u32 i = 0; i < m.parameter_count + m.probe_count; i++) {
        const ScalarInfo &s =
            i < m.parameter_count ? m.parameters[i] : m.probes[i - m.parameter_count];
        if (!scalar_fits(s, m.fields, m.field_count)) {
            return c.refuse(ERROR_RANGE, "scalar outside its field");
        }
    }
    return true;
}

bool events_from_wire(Checker &c, const wire::Events &w, MessageEvents &m, Storage &storage)
{
    m.tick = w.tick();
    return only_list_from_wire(c, w.events(), EVENTS_MAX, storage, m.events, m.count, "events");
}

bool hello_from_wire(Checker &c, const wire::Hello &w, MessageHello &m)
{
    m.major = w.major();
    m.minor = w.minor();
    m.resume = w.resume();
    m.token_bytes = size_of(w.token());
    if (m.token_bytes > TOKEN_BYTES_MAX) {
        return c.refuse(ERROR_LIMIT, "token");
    }
    if (m.token_bytes != 0) {
        memcpy(m.token, w.token()->data(), m.token_bytes);
    }
    m.relay = w.relay();
    m.proves = w.client() != nullptr;
    if (m.proves != (w.proof() != nullptr) ||
        (m.proves &&
         (size_of(w.client()) != sizeof m.client || size_of(w.proof()) != sizeof m.proof))) {
        return c.refuse(ERROR_FORMAT, "client and proof must have 32 and 64 bytes");
    }
    if (m.proves) {
        memcpy(m.client, w.client()->data(), sizeof m.client);
        memcpy(m.proof, w.proof()->data(), sizeof m.proof);
    }
    return c.text(w.name(), m.name, sizeof m.name, true, "user name") &&
           c.text(w.version(), m.version, sizeof m.version, true, "version");
}

bool welcome_from_wire(Checker &c, const wire::Welcome &w, MessageWelcome &m)
{
    m.major = w.major();
    m.minor = w.minor();
    m.user = w.user();
    m.role = static_cast<Role>(w.role());
    m.tick_rate = w.tick_rate();
    m.snapshot_rate = w.snapshot_rate();
    m.resume = w.resume();
    return c.whole(w.role(), 0, ROLE_COUNT - 1, "role") &&
           c.whole(w.tick_rate(), TICK_RATE_MIN, TICK_RATE_MAX, "tick_rate") &&
           c.whole(w.snapshot_rate(), 1, TICK_RATE_MAX, "snapshot_rate");
}

bool guests_from_wire(Checker &c, const wire::Guests &w, Message &m, Storage &storage)
{
    u32 given = size_of(w.given());
    if (!c.whole(given, 0, GUESTS_MAX, "guests")) {
        return false;
    }
    if (!storage.allocate(Storage::bytes_for<UserInfo>(size_of(w.users())) +
                          Storage::bytes_for<u32>(given))) {
        return c.refuse(ERROR_MEMORY, "no memory");
    }
    if (!list_from_wire(c, w.users(), GUESTS_MAX, storage, m.guests.users, m.guests.count,
                        "guests")) {
        return false;
    }
    for (u32 i = 0; i < m.guests.count; i++) {
        if (m.guests.users[i].id <= (i > 0 ? m.guests.users[i - 1].id : 0)) {
            return c.refuse(ERROR_RANGE, "ids of guests must ascend");
        }
    }
    u32 *ids = storage.take<u32>(given);
    for (u32 i = 0; i < given; i++) {
        ids[i] = w.given()->Get(i);
    }
    m.guests.given = ids;
    m.guests.given_count = given;
    return true;
}

bool guest_input_from_wire(Checker &c, const wire::GuestInput &w, Message &m)
{
    m.guest_input.user = w.user();
    m.guest_input.bytes = size_of(w.input());
    if (m.guest_input.bytes > GUEST_INPUT_BYTES_MAX) {
        return c.refuse(ERROR_LIMIT, "input of a guest");
    }
    if (m.guest_input.bytes != 0) {
        memcpy(m.guest_input.input, w.input()->data(), m.guest_input.bytes);
    }
    return true;
}

bool survey_from_wire(Checker &c, const wire::Survey &w, MessageSurvey &m, Storage &storage)
{
    u32 values = size_of(w.values()), marks = size_of(w.marks());
    m.first_tick = w.first_tick();
    m.last_tick = w.last_tick();
    m.samples = w.samples();
    m.probes = w.probes();
    if (!c.whole(m.samples, 0, SURVEY_SAMPLES_MAX, "survey samples") ||
        !c.whole(m.probes, 0, PROBES_MAX, "survey probes") ||
        !c.whole(values, static_cast<u64>(m.samples) * m.probes,
                 static_cast<u64>(m.samples) * m.probes, "survey values") ||
        !c.whole(m.first_tick, 0, m.last_tick, "survey ticks")) {
        return false;
    }
    if (!storage.allocate(Storage::bytes_for<f32>(values) +
                          Storage::bytes_for<SurveyMark>(marks))) {
        return c.refuse(ERROR_MEMORY, "no memory");
    }
    f32 *own = storage.take<f32>(values);
    for (u32 i = 0; i < values; i++) {
        own[i] = w.values()->Get(i);
        if (!c.number(own[i], -HUGE_NUMBER, HUGE_NUMBER, "survey value")) {
            return false;
        }
    }
    m.values = own;
    return list_from_wire(c, w.marks(), SURVEY_MARKS_MAX, storage, m.marks, m.mark_count, "marks");
}

bool body_from_wire(Checker &c, const wire::Message &w, Message &m, Storage &storage)
{
    switch (m.kind) {
    case MESSAGE_HELLO:
        return hello_from_wire(c, *w.body_as_Hello(), m.hello);
    case MESSAGE_WELCOME:
        return welcome_from_wire(c, *w.body_as_Welcome(), m.welcome);
    case MESSAGE_REFUSE:
        m.refuse.reason = w.body_as_Refuse()->reason();
        return c.text(w.body_as_Refuse()->text(), m.refuse.text, sizeof m.refuse.text, true,
                      "refusal");
    case MESSAGE_WORLD:
        return world_from_wire(c, *w.body_as_World(), m.world, storage);
    case MESSAGE_EVENTS:
        return events_from_wire(c, *w.body_as_Events(), m.events, storage);
    case MESSAGE_CONTROL:
        m.control.kind = w.body_as_Control()->kind();
        m.control.value = w.body_as_Control()->value();
        if (!std::isfinite(m.control.value)) {
            return c.refuse(ERROR_RANGE, "control value");
        }
        return c.whole(m.control.kind, 1, CONTROL_KIND_COUNT - 1, "control kind");
    case MESSAGE_CHAT:
        m.chat.user = w.body_as_Chat()->user();
        return c.text(w.body_as_Chat()->text(), m.chat.text, sizeof m.chat.text, false, "chat");
    case MESSAGE_NOTICE:
        if (auto n = w.body_as_Notice(); c.whole(n->answer(), 0, NOTICE_KIND_COUNT - 1, "notice")) {
            m.notice.kind = static_cast<NoticeKind>(n->answer());
            m.notice.code = n->code();
            return c.text(n->text(), m.notice.text, sizeof m.notice.text, false, "notice");
        }
        return false;
    case MESSAGE_ROSTER:
        return only_list_from_wire(c, w.body_as_Roster()->users(), CLIENTS_MAX, storage,
                                   m.roster.users, m.roster.count, "users");
    case MESSAGE_PRESENCE:
        m.presence.serial = w.body_as_Presence()->serial();
        m.presence.from = w.body_as_Presence()->from();
        m.presence.to = w.body_as_Presence()->to();
        return only_list_from_wire(c, w.body_as_Presence()->hands(), CLIENTS_MAX, storage,
                                   m.presence.presences, m.presence.count, "hands");
    case MESSAGE_STATUS:
        return status_from_wire(c, *w.body_as_Status(), m.status);
    case MESSAGE_GOODBYE:
        m.goodbye.reason = w.body_as_Goodbye()->reason();
        return true;
    case MESSAGE_DEBUG_SUBSCRIBE:
        m.debug_subscribe.mask = w.body_as_DebugSubscribe()->mask();
        return c.whole(m.debug_subscribe.mask, 0, DEBUG_ALL, "debug mask");
    case MESSAGE_DEBUG:
        return debug_from_wire(c, *w.body_as_Debug(), m.debug, storage);
    case MESSAGE_BULK:
        m.bulk.transfer = w.body_as_Bulk()->transfer();
        m.bulk.first = w.body_as_Bulk()->first();
        return true;
    case MESSAGE_QUEUE:
        m.queue.position = w.body_as_Queue()->position();
        m.queue.waiting = w.body_as_Queue()->waiting();
        return c.whole(m.queue.waiting, 1, CLIENTS_MAX, "waiting clients") &&
               c.whole(m.queue.position, 1, m.queue.waiting, "position in the queue");
    case MESSAGE_SURVEY:
        return survey_from_wire(c, *w.body_as_Survey(), m.survey, storage);
    case MESSAGE_BOOKMARK:
        m.bookmark.tick = w.body_as_Bookmark()->tick();
        return c.text(w.body_as_Bookmark()->text(), m.bookmark.text, sizeof m.bookmark.text, false,
                      "bookmark");
    case MESSAGE_GUESTS:
        return guests_from_wire(c, *w.body_as_Guests(), m, storage);
    case MESSAGE_GUEST_INPUT:
        return guest_input_from_wire(c, *w.body_as_GuestInput(), m);
    case MESSAGE_SAVES:
        return only_list_from_wire(c, w.body_as_Saves()->saves(), SAVES_MAX, storage, m.saves.items,
                                   m.saves.count, "saves");
    case MESSAGE_PASSWORD:
        return c.text(w.body_as_Password()->text(), m.password.text, sizeof m.password.text, true,
                      "password");
    default:
        return c.refuse(ERROR_FORMAT, "unknown kind");
    }
}

} // namespace

u8 *message_encode(const Message *message, u32 *bytes)
{
    try {
        FlatBufferBuilder builder(1024);
        wire::Body type;
        Offset<void> body = body_to_wire(builder, *message, type);
        if (body.IsNull()) {
            return nullptr;
        }
        wire::FinishMessageBuffer(builder, wire::CreateMessage(builder, type, body));
        if (builder.GetSize() > MESSAGE_BYTES_MAX) {
            return nullptr;
        }
        u8 *copy = static_cast<u8 *>(malloc(builder.GetSize()));
        if (copy != nullptr) {
            memcpy(copy, builder.GetBufferPointer(), builder.GetSize());
            *bytes = builder.GetSize();
        }
        return copy;
    } catch (const std::bad_alloc &) {
        return nullptr;
    }
}

int message_decode(const u8 *data, u32 bytes, Message *message, u8 **storage, ErrorText *error)
{
    *storage = nullptr;
    if (bytes > MESSAGE_BYTES_MAX || bytes < 12) {
        return error_set(error, ERROR_LIMIT, "message: size out of range");
    }
    // The verifier requires aligned data, which network buffers do not guarantee.
    u8 *aligned = nullptr;
    if (reinterpret_cast<uintptr_t>(data) % 8 != 0) {
        aligned = static_cast<u8 *>(malloc(bytes));
        if (aligned == nullptr) {
            return error_set(error, ERROR_MEMORY, "message: no memory");
        }
        memcpy(aligned, data, bytes);
        data = aligned;
    }
    flatbuffers::Verifier verifier(data, bytes, VERIFY_DEPTH_MAX, VERIFY_TABLES_MAX);
    int result;
    if (!wire::MessageBufferHasIdentifier(data) || !wire::VerifyMessageBuffer(verifier)) {
        result = error_set(error, ERROR_FORMAT, "message: malformed");
    } else {
        const wire::Message *w = wire::GetMessage(data);
        Checker checker(error);
        Storage memory;
        memset(message, 0, sizeof *message);
        // An unknown member of the union passes the verifier: that is how unions grow.
        u32 type = static_cast<u32>(w->body_type());
        bool known = w->body() != nullptr && type > MESSAGE_NONE && type < MESSAGE_KIND_COUNT;
        if (known) {
            message->kind = static_cast<MessageKind>(type);
        } else {
            checker.refuse(ERROR_FORMAT, "unknown kind");
        }
        bool good = known && body_from_wire(checker, *w, *message, memory);
        result = good ? ERROR_OK : checker.code();
        if (good) {
            *storage = memory.release();
        } else {
            memset(message, 0, sizeof *message);
        }
    }
    free(aligned);
    return result;
}

void message_free(u8 *memory)
{
    free(memory);
}
