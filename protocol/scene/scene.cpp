// scene.cpp: FlatBuffers scene -> checked C structs. The buffer is untrusted:
// the verifier checks its structure, these files check every number, name and reference.
#include "protocol/scene/scene_build.h"
#include "protocol/scene/scene_builder_cpp.h"

namespace plenum
{

// ---- the world ---------------------------------------------------------------------------------

// Each option alone, by its row.
bool Builder::scene_options(const JsonPath &at, const fb::Scene *in, Scene *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/scene.def"
    return good;
}

bool Builder::world(const JsonPath &at, const fb::Scene *in)
{
    const flatbuffers::String *text = in->description();
    u32 size = text != nullptr ? text->size() : 0;
    if (size >= TEXT_BYTES_MAX || (size > 0 && !text_is_clean(text->c_str(), size))) {
        return fail(at, "description", "must be clean UTF-8 of at most %d bytes, on one line",
                    TEXT_BYTES_MAX - 1);
    }
    if (size > 0) {
        memcpy(out_->description, text->c_str(), size);
    }
    out_->seed = in->seed();
    Bounds *bounds = &out_->bounds;
    *bounds = {vec3(-128.0f, -32.0f, -128.0f), vec3(128.0f, 128.0f, 128.0f)};
    if (!name(at, "name", in->name(), out_->name) || !scene_options(at, in, out_) ||
        !vector(at, "gravity", in->gravity(), vec3(0.0f, -9.81f, 0.0f), 1000.0f, &out_->gravity)) {
        return false;
    }
    const f32 low[3] = {bounds->min.x, bounds->min.y, bounds->min.z};
    const f32 high[3] = {bounds->max.x, bounds->max.y, bounds->max.z};
    for (int i = 0; i < 3; i++) {
        if (!(high[i] - low[i] >= 1.0f)) {
            return fail(at, "bounds",
                        "[%g .. %g] along %c; give [x0, y0, z0, x1, y1, z1] with at "
                        "least 1 m between",
                        (double)low[i], (double)high[i], "xyz"[i]);
        }
    }
    return true;
}

// Each option alone, by its row: bodies copy those they use.
bool Builder::material_options(const JsonPath &at, const fb::Material *in)
{
    struct {
#define MEMBER(type, name) type name;
#include "shared/rows/material.def"
    } checked = {}, *out = &checked;
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/material.def"
    return good;
}

bool Builder::materials(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    if (!count(at, "materials", in->materials(), MATERIALS_MAX, &total)) {
        return false;
    }
    for (u32 i = 0; i < total; i++) {
        const fb::Material *material = in->materials()->Get(i);
        JsonPath here = {&at, "materials", i};
        char text[NAME_BYTES_MAX];
        f32 checked[4];
        if (!name(here, "name", material->name(), text) || !material_options(here, material) ||
            !color(here, "color", material->color(), checked) ||
            !color(here, "color2", material->color2(), checked)) {
            return false;
        }
        if (material->pattern() > fb::Pattern::MAX) {
            return fail(here, "pattern", "unknown pattern; one of plain, checker, stripes");
        }
        if (!materials_.emplace(text, material).second) {
            return fail(here, "name", "\"%s\" is taken; names must be unique", text);
        }
    }
    return true;
}

// ---- prefabs, probes, camera and sky -----------------------------------------------

bool Builder::prefabs(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    std::unordered_map<std::string, i32> names;
    if (!count(at, "prefabs", in->prefabs(), PREFABS_MAX, &total) ||
        !allocate(&out_->prefabs, total)) {
        return false;
    }
    out_->prefab_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "prefabs", i};
        const fb::Prefab *given = in->prefabs()->Get(i);
        ScenePrefab *made = &out_->prefabs[i];
        if (!name(here, "name", given->name(), made->name) ||
            !unique(here, &names, made->name, (i32)i) || !prefab(here, given, made)) {
            return false;
        }
    }
    return true;
}

// The carrier of a source: a body, or a prefab of one.
bool Builder::carrier(const JsonPath &at, const char *of)
{
    auto found = entities_.find(of);
    bool known = of[0] == '\0' || (found != entities_.end() && found->second >= 0);
    for (u32 i = 0; i < out_->prefab_count; i++) {
        const ScenePrefab *prefab = &out_->prefabs[i];
        known = known || (prefab->kind == PREFAB_BODY && strcmp(prefab->name, of) == 0);
    }
    return known || fail(at, "of", "there is no body or prefab \"%.63s\"", of);
}

bool Builder::carriers(const JsonPath &at)
{
    for (u32 g = 0; g < out_->smoke_count; g++) {
        JsonPath grid = {&at, "smokes", (i32)g};
        for (u32 i = 0; i < out_->smokes[g].source_count; i++) {
            if (!carrier({&grid, "sources", (i32)i}, out_->smokes[g].sources[i].of)) {
                return false;
            }
        }
    }
    for (u32 w = 0; w < out_->water_count; w++) {
        JsonPath water = {&at, "waters", (i32)w};
        for (u32 i = 0; i < out_->waters[w].spring_count; i++) {
            const SceneSpring *spring = &out_->springs[out_->waters[w].first_spring + i];
            if (!carrier({&water, "sources", (i32)i}, spring->of)) {
                return false;
            }
        }
    }
    return true;
}

bool Builder::prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out)
{
    int ways = (in->body() != nullptr) + (in->soft() != nullptr) + (in->matter() != nullptr);
    if (ways != 1) {
        return fail(at, "body", "give one of body, soft and matter");
    }
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/prefab.def"
    if (!good) {
        return false;
    }
    if (in->matter() != nullptr) {
        out->kind = PREFAB_MATTER;
        return name(at, "matter", in->matter(), out->matter);
    }
    return in->body() != nullptr ? body_prefab(at, in, out) : soft_prefab(at, in, out);
}

bool Builder::body_prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out)
{
    JsonPath body_at = {&at, "body", -1};
    out->kind = PREFAB_BODY;
    if (!body(body_at, in->body(), &out->body)) {
        return false;
    }
    if (in->body()->repeat() != nullptr) {
        return fail(body_at, "repeat", "a prefab is one body; leave it out");
    }
    return out->body.motion == BODY_DYNAMIC ||
           fail(body_at, "motion", "clients spawn only dynamic bodies; leave it out");
}

bool Builder::soft_prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out)
{
    JsonPath soft_at = {&at, "soft", -1};
    out->kind = PREFAB_SOFT;
    if (!soft_alone(soft_at, in->soft(), &out->soft)) {
        return false;
    }
    if (in->soft()->repeat() != nullptr) {
        return fail(soft_at, "repeat", "a prefab is one soft body; leave it out");
    }
    if (out->soft.pin_count != 0) {
        return fail(soft_at, "pins", "nothing holds what is spawned; leave them out");
    }
    soft_spares_ += out->spares;
    soft_points_ += (u64)out->spares * out_->soft_meshes[out->soft.mesh].point_count;
    if (soft_bodies_.size() + soft_spares_ > SOFT_BODIES_MAX) {
        return fail(at, "spares", "%llu soft bodies with the others; at most %d in a scene",
                    (unsigned long long)(soft_bodies_.size() + soft_spares_), SOFT_BODIES_MAX);
    }
    return soft_points_ <= PARTICLES_MAX ||
           fail(at, "spares", "%llu points with the soft bodies before; at most %d",
                (unsigned long long)soft_points_, PARTICLES_MAX);
}

// The object that a kind of probe refers to.
enum ProbeOf {
    OF_WORLD,
    OF_ENTITY,
    OF_BODY,
    OF_SOFT,
    OF_GAS, // a closed soft body or ring
    OF_JOINT,
    OF_LIQUID, // or grains
    OF_FILLED, // either of them, or what holds a gas
    OF_RAY
};

static const ProbeOf probe_of[] = {
    OF_WORLD,
#define PROBE(NAME, key, number, unit, of, doc) OF_##of,
#include "shared/rows/probe.def"
};
static_assert(PL_COUNT(probe_of) == PROBE_KIND_COUNT, "rows are in the order of their numbers");

// The entity that a probe names, which must be of a kind that has the measured quantity.
bool Builder::probe_of_entity(const JsonPath &at, SceneProbe *out)
{
    auto found = entities_.find(out->of);
    if (found == entities_.end()) {
        return fail(at, "of", "no entity \"%s\"; name a body, a soft body, a cloth or a liquid",
                    out->of);
    }
    const i32 first_liquid = -1 - (i32)SOFT_BODIES_MAX;
    ProbeOf of = probe_of[out->kind];
    const char *kind = probe_kind_name(out->kind);
    if (found->second <= first_liquid) {
        out->liquid = first_liquid - found->second;
        return of == OF_ENTITY || of == OF_LIQUID || of == OF_FILLED ||
               fail(at, "of", "\"%s\" is a liquid or grains; %s needs a %s", out->of, kind,
                    of == OF_BODY ? "body" : "soft body");
    }
    out->body = found->second >= 0 ? found->second : -1;
    out->soft = found->second < 0 ? -1 - found->second : -1;
    if (of == OF_LIQUID) {
        return fail(at, "of", "\"%s\" is a %s; %s needs a liquid or grains", out->of,
                    out->soft < 0 ? "body" : "soft body", kind);
    }
    if (of == OF_SOFT || of == OF_GAS || of == OF_FILLED) {
        if (out->soft < 0) {
            return fail(at, "of", "\"%s\" is a body; %s needs a soft body", out->of, kind);
        }
        return of == OF_SOFT || holds_gas(out_->soft_meshes[out_->soft_bodies[out->soft].mesh]) ||
               fail(at, "of", "\"%s\" is not closed; %s needs a closed soft body or a ring",
                    out->of, kind);
    }
    return of == OF_ENTITY || out->body >= 0 ||
           fail(at, "of", "\"%s\" is a soft body; %s needs a body", out->of, kind);
}

// A quantity of a kind of matter that this program need not know: the world resolves it.
bool Builder::matter_probe(const JsonPath &at, const fb::Probe *in, const std::string &kinds,
                           SceneProbe *out)
{
    std::string kind = in->kind()->str();
    size_t dot = kind.find('.');
    if (dot == std::string::npos) {
        return fail(at, "kind", "unknown; one of %s", kinds.c_str());
    }
    std::string matter = kind.substr(0, dot), quantity = kind.substr(dot + 1);
    if (matter.empty() || quantity.empty() || kind.size() >= NAME_BYTES_MAX ||
        !text_is_clean(kind.c_str(), (u32)kind.size())) {
        return fail(at, "kind", "give MATTER.QUANTITY, clean UTF-8 of at most %d bytes",
                    NAME_BYTES_MAX - 1);
    }
    memcpy(out->matter, matter.c_str(), matter.size());
    memcpy(out->quantity, quantity.c_str(), quantity.size());
    if (!vector(at, "from", in->from(), vec3_zero(), WORLD_EXTENT_MAX_M, &out->ray.origin)) {
        return false;
    }
    return in->of() == nullptr || name(at, "of", in->of(), out->of);
}

bool Builder::ray_probe(const JsonPath &at, const fb::Probe *in, SceneProbe *out)
{
    if (in->of() != nullptr) {
        return fail(at, "of", "%s has a ray; leave it out", probe_kind_name(out->kind));
    }
    if (in->from() == nullptr || in->direction() == nullptr) {
        return fail(at, in->from() == nullptr ? "from" : "direction",
                    "missing; give from and direction as [x, y, z]");
    }
    Vec3 way;
    if (!vector(at, "from", in->from(), vec3_zero(), WORLD_EXTENT_MAX_M, &out->ray.origin) ||
        !vector(at, "direction", in->direction(), vec3_zero(), 1e6f, &way)) {
        return false;
    }
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/probe_option.def"
    if (!good) {
        return false;
    }
    if (!(vec3_length(way) > 1e-3f)) {
        return fail(at, "direction", "has no direction; give a vector along the ray");
    }
    out->ray.direction = vec3_normalize_or(way, vec3(0.0f, -1.0f, 0.0f));
    return true;
}

bool Builder::probe(const JsonPath &at, const fb::Probe *in, SceneProbe *out)
{
    if (!name(at, "name", in->name(), out->name)) {
        return false;
    }
    out->body = out->soft = out->joint = out->liquid = -1;
    std::string kinds;
    for (int kind = 1; kind < PROBE_KIND_COUNT; kind++) {
        const char *text = probe_kind_name((ProbeKind)kind);
        kinds += (kinds.empty() ? "" : ", ") + std::string(text);
        if (in->kind()->str() == text) {
            out->kind = (ProbeKind)kind;
        }
    }
    if (out->kind == PROBE_MATTER) {
        return matter_probe(at, in, kinds, out);
    }
    ProbeOf of = probe_of[out->kind];
    bool joint = of == OF_JOINT;
    if (of == OF_RAY) {
        return ray_probe(at, in, out);
    }
    if (in->from() != nullptr || in->direction() != nullptr) {
        return fail(at, in->from() != nullptr ? "from" : "direction", "%s has no ray; leave it out",
                    probe_kind_name(out->kind));
    }
    if (of == OF_WORLD) {
        return in->of() == nullptr || fail(at, "of", "%s refers to the whole world; leave it out",
                                           probe_kind_name(out->kind));
    }
    if (in->of() == nullptr) {
        return fail(at, "of", "missing; %s needs the name of %s", probe_kind_name(out->kind),
                    joint ? "a joint" : "an entity");
    }
    if (!name(at, "of", in->of(), out->of)) {
        return false;
    }
    if (joint) {
        auto joint_found = joint_names_.find(out->of);
        if (joint_found == joint_names_.end()) {
            return fail(at, "of", "no joint \"%s\"; name one of joints", out->of);
        }
        out->joint = joint_found->second;
        return true;
    }
    return probe_of_entity(at, out);
}

bool Builder::probes(const JsonPath &at, const fb::Scene *in)
{
    u32 total;
    std::unordered_map<std::string, i32> names;
    if (!count(at, "probes", in->probes(), PROBES_MAX, &total) || !allocate(&out_->probes, total)) {
        return false;
    }
    out_->probe_count = total;
    for (u32 i = 0; i < total; i++) {
        JsonPath here = {&at, "probes", i};
        if (!probe(here, in->probes()->Get(i), &out_->probes[i]) ||
            !unique(here, &names, out_->probes[i].name, (i32)i)) {
            return false;
        }
    }
    return true;
}

bool Builder::camera(const JsonPath &root, const fb::Camera *in)
{
    SceneCamera *out = &out_->camera;
#define ROW_NUMBER(key, member, unit, scale, initial, ...) out->member = (initial) * (scale);
#include "shared/rows/camera.def"
    out->eye = vec3(8.0f, 5.0f, 12.0f);
    out->target = vec3(0.0f, 1.0f, 0.0f);
    if (in == nullptr) {
        return true;
    }
    JsonPath at = {&root, "camera", -1};
    bool good = vector(at, "eye", in->eye(), out->eye, WORLD_EXTENT_MAX_M, &out->eye) &&
                vector(at, "target", in->target(), out->target, WORLD_EXTENT_MAX_M, &out->target);
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/camera.def"
    if (!good) {
        return false;
    }
    return vec3_distance(out->eye, out->target) > 1e-3f ||
           fail(at, "target", "equals the eye; give the point to look at");
}

bool Builder::sky_options(const JsonPath &at, const fb::Sky *in, SceneSky *out)
{
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/sky.def"
    return good;
}

bool Builder::sky(const JsonPath &root, const fb::Sky *in)
{
    SceneSky *out = &out_->sky;
    f32 top[4] = {0.13f, 0.29f, 0.60f, 1.0f}, horizon[4] = {0.60f, 0.72f, 0.85f, 1.0f};
    Vec3 sun = vec3(0.45f, 0.8f, 0.35f);
    if (in != nullptr) {
        JsonPath at = {&root, "sky", -1};
        if (!color(at, "top", in->top(), top) || !color(at, "horizon", in->horizon(), horizon) ||
            !vector(at, "sun", in->sun(), sun, 1e6f, &sun) || !sky_options(at, in, out)) {
            return false;
        }
        if (!(vec3_length(sun) > 1e-3f)) {
            return fail(at, "sun", "has no direction; give a vector towards the sun");
        }
    }
    memcpy(out->top, top, sizeof out->top);
    memcpy(out->horizon, horizon, sizeof out->horizon);
    out->sun = vec3_normalize_or(sun, vec3(0.0f, 1.0f, 0.0f));
    return true;
}

bool Builder::hands(const JsonPath &root, const fb::Hands *in)
{
    SceneHands *out = &out_->hands;
#define ROW_NUMBER(key, member, unit, scale, initial, ...) out->member = (initial) * (scale);
#define ROW_WHOLE(key, member, initial, ...)               out->member = initial;
#include "shared/rows/hands.def"
    if (in == nullptr) {
        return true;
    }
    JsonPath at = {&root, "hands", -1};
    bool good = true;
#include "protocol/scene/scene_rows_cpp.h"
#include "shared/rows/hands.def"
    return good;
}

bool Builder::build(const fb::Scene *in)
{
    JsonPath root = {nullptr, nullptr, -1};
    return world(root, in) && materials(root, in) && bodies(root, in) && ragdolls(root, in) &&
           joints(root, in) && cloths(root, in) && soft_bodies(root, in) && liquids(root, in) &&
           particle_systems(root, in) && smokes(root, in) && waters(root, in) &&
           prefabs(root, in) && carriers(root) && probes(root, in) && camera(root, in->camera()) &&
           sky(root, in->sky()) && hands(root, in->hands()) && finish();
}

} // namespace plenum

extern "C" Scene *scene_build(u8 *bytes, u32 byte_count, const char *name, const SceneJson *text,
                              ErrorText *error)
{
    namespace fb = plenum::scene;
    Scene *scene = (Scene *)calloc(1, sizeof *scene);
    if (scene == nullptr) {
        free(bytes);
        error_set(error, ERROR_MEMORY, "%s: out of memory", name);
        return nullptr;
    }
    scene->bytes = bytes;
    scene->byte_count = byte_count;
    bool built = false;
    if (byte_count > plenum::SCENE_BYTES_MAX) {
        error_set(error, ERROR_LIMIT, "%s: scene: %u bytes when packed; at most %d", name,
                  byte_count, plenum::SCENE_BYTES_MAX);
    } else {
        flatbuffers::Verifier verifier(bytes, byte_count, plenum::SCENE_DEPTH_MAX,
                                       plenum::SCENE_TABLES_MAX);
        if (!fb::VerifySceneBuffer(verifier)) {
            error_set(error, ERROR_FORMAT, "%s: scene: not well-formed scene bytes", name);
        } else {
            try {
                plenum::Builder builder(scene, name, text, error);
                built = builder.build(fb::GetScene(bytes));
            } catch (const std::bad_alloc &) {
                error_set(error, ERROR_MEMORY, "%s: out of memory", name);
            }
        }
    }
    if (!built) {
        scene_destroy(scene);
        return nullptr;
    }
    return scene;
}

extern "C" bool scene_resolve(const Scene *scene, Appearance *appearance)
{
    Shape *shape = &appearance->shape;
    shape->geometry = nullptr;
    if (appearance->soft > scene->soft_mesh_count) {
        return false;
    }
    GeometryKind kind = shape->kind == SHAPE_HULL       ? GEOMETRY_HULL
                        : shape->kind == SHAPE_MESH     ? GEOMETRY_MESH
                        : shape->kind == SHAPE_TERRAIN  ? GEOMETRY_TERRAIN
                        : shape->kind == SHAPE_COMPOUND ? GEOMETRY_COMPOUND
                                                        : (GeometryKind)0;
    if (kind == (GeometryKind)0) {
        return appearance->geometry == 0;
    }
    if (appearance->geometry == 0 || appearance->geometry > scene->geometry_count) {
        return false;
    }
    const Geometry *geometry = scene->geometries[appearance->geometry - 1];
    if (geometry->kind != kind) {
        return false;
    }
    shape->geometry = geometry;
    return true;
}

extern "C" Scene *scene_from_bytes(const u8 *bytes, u32 byte_count, ErrorText *error)
{
    u8 *copy = byte_count <= plenum::SCENE_BYTES_MAX ? (u8 *)malloc(byte_count + 1) : nullptr;
    if (copy == nullptr) {
        error_set(error, ERROR_LIMIT, "scene: too large (%u bytes); at most %d", byte_count,
                  plenum::SCENE_BYTES_MAX);
        return nullptr;
    }
    if (byte_count > 0) {
        memcpy(copy, bytes, byte_count);
    }
    return scene_build(copy, byte_count, "scene", nullptr, error);
}

extern "C" void scene_destroy(Scene *scene)
{
    if (scene == nullptr) {
        return;
    }
    for (u32 i = 0; i < scene->soft_mesh_count; i++) {
        soft_mesh_finish(&scene->soft_meshes[i]);
    }
    for (u32 i = 0; i < scene->path_count; i++) {
        free(scene->paths[i].points);
    }
    // A compound's parts precede it.
    for (u32 i = scene->geometry_count; i > 0; i--) {
        geometry_destroy(scene->geometries[i - 1]);
    }
    free(scene->geometries);
    free(scene->paths);
    free(scene->joints);
    free(scene->bodies);
    free(scene->soft_meshes);
    free(scene->soft_bodies);
    free(scene->pins);
    free(scene->liquids);
    free(scene->liquid_volumes);
    free(scene->sources);
    free(scene->smokes);
    free(scene->particle_systems);
    free(scene->particle_forces);
    free(scene->particles);
    free(scene->waters);
    free(scene->dams);
    free(scene->basins);
    free(scene->springs);
    free(scene->gauges);
    free(scene->prefabs);
    free(scene->probes);
    free(scene->warnings);
    free(scene->bytes);
    free(scene);
}

struct ProbeName {
    const char *name, *unit;
};
static const ProbeName probe_names[] = {
    {"none", ""},
#define PROBE(NAME, key, number, unit, of, doc) {#key, unit},
#include "shared/rows/probe.def"
};
static_assert(PL_COUNT(probe_names) == PROBE_KIND_COUNT, "rows are in the order of their numbers");

extern "C" f32 scene_prefab_reach(const Scene *scene, u32 prefab)
{
    const ScenePrefab *of = &scene->prefabs[prefab];
    f32 reach2 = 0.0f;
    if (of->kind == PREFAB_BODY) {
        return shape_reach(&of->body.shape);
    }
    if (of->kind == PREFAB_SOFT) {
        const SoftMesh *mesh = &scene->soft_meshes[of->soft.mesh];
        for (u32 i = 0; i < mesh->point_count; i++) {
            reach2 = f32_max(reach2, vec3_length_squared(mesh->points[i]));
        }
    }
    return sqrtf(reach2) + of->soft.thickness;
}

extern "C" const char *probe_kind_name(ProbeKind kind)
{
    return probe_names[(u32)kind < PROBE_KIND_COUNT ? kind : 0].name;
}

extern "C" const char *probe_kind_unit(ProbeKind kind)
{
    return probe_names[(u32)kind < PROBE_KIND_COUNT ? kind : 0].unit;
}
