// scene_builder_cpp.h: the adapter between the bytes of a scene and the structs of scene.h, shared
// by the files that implement it: scene_values.cpp (numbers, names, colours), scene_shape.cpp
// (shapes and their geometries), scene_soft_mesh.cpp and scene_soft.cpp (soft bodies),
// scene_liquid.cpp (liquids, grains), scene_particles.cpp (particle systems), scene_smoke.cpp
// (air on grids), scene_water.cpp (waters), scene_body.cpp (bodies, copies, figures),
// scene_joint.cpp, and scene.cpp (the rest, and the functions of scene.h).
// Layer: protocol/scene, private.
#ifndef PLENUM_PROTOCOL_SCENE_SCENE_BUILDER_CPP_H
#define PLENUM_PROTOCOL_SCENE_SCENE_BUILDER_CPP_H

#include "protocol/scene/scene_build.h"
#include "scene_generated.h"
#include "shared/base/check.h"
#include "shared/base/limits.h"
#include "shared/base/text.h"
#include "shared/mesh/mesh_shapes.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace plenum
{

namespace fb = plenum::scene;

enum {
    // A scene is sent in one MESSAGE_WORLD together with its entities, which use the rest.
    SCENE_BYTES_MAX = MESSAGE_BYTES_MAX / 4 * 3,
    SCENE_TABLES_MAX = 200000,
    SCENE_DEPTH_MAX = 16,
    PINS_MAX = 65536,
    STICKS_MAX = 1 << 18,
    // Total size of the lattices for tetrahedral fills of a scene.
    LATTICE_CELLS_MAX = 1 << 22,
    // Hulls are built point by point, by every client that joins.
    HULL_POINTS_TOTAL_MAX = 65536,
    // Over all meshes and terrains of a scene, however few bytes describe them.
    TRIANGLES_TOTAL_MAX = MESH_TRIANGLES_MAX,
    SAMPLES_TOTAL_MAX = TERRAIN_SIDE_MAX * TERRAIN_SIDE_MAX,
    // Lattice points of all fills of a scene, in their shapes or just around them.
    FILL_CELLS_MAX = 1 << 22,
    LIQUID_VOLUMES_MAX = 1024, // fills and drains
    SOURCES_MAX = 256,
    NOZZLE_POINTS_MAX = 4096,
    ENDLESS_SOURCE_S = 30, // for which the default capacity of a source that never stops suffices
    RAGDOLL_BODIES = 11,
    RAGDOLL_JOINTS = 10,
    // Families of ragdolls start here, to avoid those chosen by authors.
    RAGDOLL_FAMILY_FIRST = 0x40000000,
};

constexpr f32 MASS_MIN_KG = 1e-6f, MASS_MAX_KG = 1e9f;

// The location of a value in the scene, as a linked list on the stack: free unless an error occurs.
struct JsonPath {
    const JsonPath *up;
    const char *field; // nullptr: the root
    i64 index;         // in the field's vector, or −1
    std::string path() const
    {
        if (up == nullptr) {
            return std::string();
        }
        std::string text = up->path();
        text += (text.empty() ? "" : ".") + std::string(field);
        return index < 0 ? text : text + "[" + std::to_string(index) + "]";
    }
};

using Floats = flatbuffers::Vector<float>;
using Uints = flatbuffers::Vector<u32>;
using Points = flatbuffers::Vector<const fb::Point *>;
using Triangles = flatbuffers::Vector<const fb::Triangle *>;
using ChildList = flatbuffers::Vector<flatbuffers::Offset<fb::Child>>;
using SourceList = flatbuffers::Vector<flatbuffers::Offset<fb::Source>>;
using PinList = flatbuffers::Vector<flatbuffers::Offset<fb::Pin>>;

// Appearance options of soft bodies and cloths.
struct SoftAppearance {
    const Floats *color, *color2;
    f32 roughness;
    fb::Pattern pattern;
};

// The copies of a body with a repeat, for joints between them.
struct Copies {
    u32 first, count[3];
    bool stairs;
};

// One placed copy: its index from 0 and its offset from the first.
struct Copy {
    u32 index;
    Vec3 offset; // m
};

// The options of shared/rows/ragdoll.def.
struct RagdollOptions {
#define MEMBER(type, name) type name;
#include "shared/rows/ragdoll.def"
};

// The options of shared/rows/repeat.def.
struct RepeatOptions {
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#include "shared/rows/repeat.def"
};

// Lists of rows, in the structs that follow.
#define LIST_OF_POINTS(key, member, ...)    std::vector<Vec3> member;
#define LIST_OF_TRIANGLES(key, member, ...) std::vector<u32> member;

// The options of shared/rows/path.def: those of a path, whose points are copied, and the points.
struct PathOptions : ScenePath {
#define ROW_POINTS LIST_OF_POINTS
#include "shared/rows/path.def"
};

// The options of shared/rows/track.def.
struct TrackOptions {
#define MEMBER(type, name) type name;
#define ROW_POINTS         LIST_OF_POINTS
#include "shared/rows/track.def"
};

// Those of shared/rows/shape.def that are numbers or lists of them.
struct ShapeOptions {
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#define ROW_POINTS                  LIST_OF_POINTS
#define ROW_TRIANGLES               LIST_OF_TRIANGLES
#include "shared/rows/shape.def"
};

// Those of shared/rows/soft_shape.def that are numbers or lists of them.
struct SoftShapeOptions {
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#define ROW_POINTS                  LIST_OF_POINTS
#define ROW_TRIANGLES               LIST_OF_TRIANGLES
#include "shared/rows/soft_shape.def"
};

// The options of shared/rows/skin.def.
struct SkinOptions {
#define MEMBER(type, name) type name;
#define ROW_POINTS         LIST_OF_POINTS
#define ROW_TRIANGLES      LIST_OF_TRIANGLES
#include "shared/rows/skin.def"
};
#undef LIST_OF_POINTS
#undef LIST_OF_TRIANGLES

// The options of shared/rows/stick.def.
struct StickOptions {
#define MEMBER(type, name)          type name;
#define MEMBERS(type, name, number) type name[number];
#include "shared/rows/stick.def"
};

// The options of shared/rows/pin.def.
struct PinOptions {
#define MEMBER(type, name) type name;
#include "shared/rows/pin.def"
};

// Whether an option is given, or left at its default.
template <typename T> bool is_given(const T *value, f32)
{
    return value != nullptr;
}
template <typename T, std::enable_if_t<!std::is_pointer<T>::value, int> = 0>
bool is_given(T number, f32 initial)
{
    return (f32)number != initial;
}

// The given fields of an object whose kind decides which it may have.
class GivenFields
{
  public:
    void add(const char *key, bool applies)
    {
        u32 i = 0;
        while (i < count_ && strcmp(keys_[i], key) != 0) {
            i++;
        }
        CHECK(i < PL_COUNT(keys_));
        applies_[i] = i < count_ ? applies_[i] || applies : applies;
        keys_[i] = key;
        count_ = i < count_ ? count_ : i + 1;
    }
    // One that its kind does not have, or nullptr.
    const char *foreign() const
    {
        for (u32 i = 0; i < count_; i++) {
            if (!applies_[i]) {
                return keys_[i];
            }
        }
        return nullptr;
    }

  private:
    const char *keys_[32];
    bool applies_[32];
    u32 count_ = 0;
};

// The required number of elements, and their range.
struct FloatsMust {
    u32 count_min, count_max;
    f32 min, max;
};

struct UintsMust {
    u32 count_min, count_max;
    u32 min, max;
};

class Builder
{
  public:
    Builder(Scene *scene, const char *name, const SceneJson *text, ErrorText *error)
        : out_(scene), name_(name), text_(text), error_(error)
    {
    }
    bool build(const fb::Scene *in);

  private:
    bool fail(const JsonPath &at, const char *field, const char *format, ...) PL_PRINTF(4, 5);
    // Records a warning about a repaired defect.
    void warn(const JsonPath &at, const char *field, const char *format, ...) PL_PRINTF(4, 5);
    void place_text(const JsonPath &at, const char *field, const char *what, ErrorText *out);

    // ---- values: each checks and writes, or fails ----
    bool number(const JsonPath &at, const char *field, f32 value, f32 min, f32 max, f32 *out);
    // A stop time: after the start, or never (-1).
    bool stop_time(const JsonPath &at, f32 value, f32 start_s, f32 *out);
    bool integer(const JsonPath &at, const char *field, u32 value, u32 min, u32 max, u32 *out);
    // `names` [count] are indexed by number; those from `first` on are allowed.
    bool choice(const JsonPath &at, const char *field, u32 value, const char *const *names,
                u32 first, u32 count);
    bool wrong_count(const JsonPath &at, const char *field, u32 size, u32 min, u32 max);
    bool floats(const JsonPath &at, const char *field, const Floats *in, FloatsMust must, f32 *out);
    bool vector(const JsonPath &at, const char *field, const Floats *in, Vec3 absent, f32 extent,
                Vec3 *out);
    bool uints(const JsonPath &at, const char *field, const Uints *in, UintsMust must, u32 *out);
    bool name(const JsonPath &at, const char *field, const flatbuffers::String *in, char *out);
    bool color(const JsonPath &at, const char *field, const Floats *in, f32 out[4]);
    bool orientation(const JsonPath &at, const Floats *quaternion, const Floats *degrees,
                     Quat *out);
    bool unique(const JsonPath &at, std::unordered_map<std::string, i32> *names, const char *text,
                i32 index);
    // Of a particle system, smoke or water: no other entity has it.
    bool own_name(const JsonPath &at, const char *text);
    bool points(const JsonPath &at, const char *field, const Points *in, u32 min, u32 max,
                std::vector<Vec3> *out);
    // Three indices of each.
    bool triangles(const JsonPath &at, const char *field, const Triangles *in, u32 max,
                   std::vector<u32> *out);
    bool box(const JsonPath &at, const char *field, const Floats *in, Bounds *out);
    template <typename T>
    bool count(const JsonPath &at, const char *field, const T *in, u32 max, u32 *out)
    {
        *out = in != nullptr ? in->size() : 0;
        return *out <= max || fail(at, field, "%u of them; at most %u are possible", *out, max);
    }
    bool material(const JsonPath &at, const flatbuffers::String *in, const fb::Material **out);

    // ---- parts ----
    bool scene_options(const JsonPath &at, const fb::Scene *in, Scene *out);
    bool world(const JsonPath &at, const fb::Scene *in);
    bool material_options(const JsonPath &at, const fb::Material *in);
    bool materials(const JsonPath &at, const fb::Scene *in);
    bool shape_fields(const JsonPath &at, const fb::Shape *in, ShapeKind kind);
    bool shape_options(const JsonPath &at, const fb::Shape *in, ShapeKind kind, ShapeOptions *out);
    bool shape(const JsonPath &at, const fb::Shape *in, bool child, Shape *out);
    bool keep_geometry(const JsonPath &at, const char *field, Geometry *made, const ErrorText &why,
                       Shape *out);
    bool hull(const JsonPath &at, const ShapeOptions &options, Shape *out);
    bool mesh(const JsonPath &at, const fb::Shape *in, ShapeOptions *options, Shape *out);
    bool track(const JsonPath &at, const fb::Track *in, Shape *out);
    bool add_mesh(const JsonPath &at, const char *field, const Vec3 *vertices, u32 vertex_count,
                  const u32 *triangles, u32 triangle_count, Shape *out);
    bool terrain(const JsonPath &at, const fb::Shape *in, const ShapeOptions &options, Shape *out);
    bool noise(const JsonPath &at, const fb::Noise *in, const ShapeOptions &terrain,
               std::vector<f32> *heights);
    bool part(const JsonPath &at, const fb::Child *in, CompoundChild *out);
    bool compound(const JsonPath &at, const fb::Shape *in, Shape *out);
    bool appearance(const JsonPath &at, const Floats *own, const fb::Material *material,
                    Appearance *out);
    bool mass(const JsonPath &at, const fb::Body *in, const fb::Material *material, SceneBody *out);
    bool body_options(const JsonPath &at, const fb::Body *in, SceneBody *out);
    bool body(const JsonPath &at, const fb::Body *in, SceneBody *out);
    bool repeat_options(const JsonPath &at, const fb::Repeat *in, RepeatOptions *out);
    bool motion(const JsonPath &at, const fb::Body *in, SceneBody *out);
    bool path_options(const JsonPath &at, const fb::Path *in, PathOptions *out);
    bool path(const JsonPath &at, const fb::Path *in, SceneBody *out);
    bool repeat_count(const JsonPath &at, const fb::Repeat *in, u64 *copies);
    // The copies in order; `step` bodies are made of each, for the jitter's counters.
    bool copies(const JsonPath &at, const fb::Repeat *in, u32 step, std::vector<Copy> *out);
    bool copy_name(const JsonPath &at, const char *first, u32 index, char out[NAME_BYTES_MAX]);
    bool add_body(const JsonPath &at, const SceneBody &body);
    bool repeat(const JsonPath &at, const fb::Body *in, const SceneBody &first);
    bool body_count(const JsonPath &at, const fb::Scene *in);
    bool bodies(const JsonPath &at, const fb::Scene *in);
    bool ragdoll_options(const JsonPath &at, const fb::Ragdoll *in, RagdollOptions *out);
    bool ragdoll(const JsonPath &at, const fb::Ragdoll *in);
    bool ragdoll_copy(const JsonPath &at, const fb::Ragdoll *in, const SceneBody &part,
                      const char *name, Vec3 position);
    bool ragdolls(const JsonPath &at, const fb::Scene *in);
    bool joint_fields(const JsonPath &at, const fb::Joint *in, JointKind kind);
    bool joint_body(const JsonPath &at, const char *field, const flatbuffers::String *in, i32 *out);
    bool joint_values(const JsonPath &at, const fb::Joint *in, SceneJoint *out);
    bool joint_limits(const JsonPath &at, const fb::Joint *in, SceneJoint *out);
    bool joint_place(const JsonPath &at, const fb::Joint *in, Vec3 anchor, SceneJoint *out);
    bool joint_anchors(const JsonPath &at, const fb::Joint *in, Vec3 from, SceneJoint *out);
    bool add_joint(const JsonPath &at, const SceneJoint &joint);
    bool joint_copies(const JsonPath &at, const fb::Joint *in, const SceneJoint &first);
    bool joint_chain(const JsonPath &at, const fb::Joint *in, const SceneJoint &first,
                     const Copies &along, Vec3 offset);
    bool joint(const JsonPath &at, const fb::Joint *in);
    bool joints(const JsonPath &at, const fb::Scene *in);
    // Moves the collected vectors into the scene.
    bool finish();
    bool soft_fields(const JsonPath &at, const fb::SoftShape *in);
    bool soft_points(const JsonPath &at, const char *field, u64 more);
    bool scale_points(const JsonPath &at, f32 scale, std::vector<Vec3> *points);
    // Packed bytes cannot reference files: their contents are already included.
    bool no_file(const JsonPath &at);
    bool soft_surface(const JsonPath &at, f32 scale, std::vector<Vec3> vertices,
                      const std::vector<u32> &indices, SoftMesh *out);
    bool soft_sticks(const JsonPath &at, const fb::SoftShape *in, const SoftShapeOptions &options,
                     SoftMesh *out);
    bool soft_shape_options(const JsonPath &at, const fb::SoftShape *in, SoftShapeOptions *out);
    bool soft_grid(const JsonPath &at, const u32 points[2], const f32 size[2], SoftMesh *out);
    bool soft_round(const JsonPath &at, fb::SoftKind kind, const SoftShapeOptions &options,
                    SoftMesh *out);
    bool soft_box(const JsonPath &at, const SoftShapeOptions &options, SoftMesh *out);
    bool soft_plant(const JsonPath &at, u32 seed, const SoftShapeOptions &options, SoftMesh *out);
    bool soft_bridge(const JsonPath &at, const Uints *points_in, const SoftShapeOptions &options,
                     SoftMesh *out);
    bool soft_figure(const JsonPath &at, const fb::SoftShape *in, const SoftShapeOptions &options,
                     SoftMesh *out);
    bool stick_options(const JsonPath &at, const fb::Stick *in, StickOptions *out);
    bool soft_fill(const JsonPath &at, const fb::SoftShape *in, SoftMesh *mesh);
    bool soft_skin(const JsonPath &up, const fb::SoftSkin *in, SoftMesh *mesh);
    bool soft_shape(const JsonPath &at, const fb::SoftShape *in, SoftMesh *out);
    bool keep_soft_mesh(const JsonPath &at, u32 *index, SoftMesh **out);
    bool add_pin(const JsonPath &at, u32 point, i32 body);
    bool pin_options(const JsonPath &at, const fb::Pin *in, PinOptions *out);
    bool pin_point(const JsonPath &at, const fb::Pin *in, const SoftMesh &mesh, i32 body);
    bool pin_near(const JsonPath &at, Vec3 near, const SceneSoft &soft, const SoftMesh &mesh,
                  i32 body);
    bool pin_box(const JsonPath &at, const Bounds &box, const SceneSoft &soft, const SoftMesh &mesh,
                 i32 body);
    bool pins(const JsonPath &at, const PinList *in, SceneSoft *out);
    bool soft_appearance(const JsonPath &at, const SoftAppearance &in, SceneSoft *out);
    bool soft_mass(const JsonPath &at, const char *field, f32 mass, f32 density, SceneSoft *out);
    bool add_soft(const JsonPath &at, const SceneSoft &soft);
    bool cloth(const JsonPath &at, const fb::Cloth *in);
    bool cloths(const JsonPath &at, const fb::Scene *in);
    bool soft_options(const JsonPath &at, const fb::Soft *in, SceneSoft *out);
    bool soft_matter(const JsonPath &at, const SceneSoft &soft);
    bool soft_copies(const JsonPath &at, const fb::Soft *in, const SceneSoft &first);
    bool soft_alone(const JsonPath &at, const fb::Soft *in, SceneSoft *made);
    bool soft(const JsonPath &at, const fb::Soft *in);
    bool soft_bodies(const JsonPath &at, const fb::Scene *in);
    bool liquid_volume(const JsonPath &at, const fb::Child *in, bool drain, FillVolume *out);
    bool liquid_fill(const JsonPath &at, const ChildList *in, SceneLiquid *out);
    bool liquid_drains(const JsonPath &at, const ChildList *in, SceneLiquid *out);
    bool liquid_source(const JsonPath &at, const fb::Source *in, SceneSource *out);
    bool liquid_sources(const JsonPath &at, const SourceList *in, SceneLiquid *out);
    bool liquid_capacity(const JsonPath &at, SceneLiquid *out);
    template <typename T> bool liquid_appearance(const JsonPath &at, const T *in, SceneLiquid *out);
    template <typename T> bool liquid_parts(const JsonPath &at, const T *in, SceneLiquid *out);
    bool liquid_options(const JsonPath &at, const fb::Liquid *in, SceneLiquid *out);
    bool grains_options(const JsonPath &at, const fb::Grains *in, SceneLiquid *out);
    bool liquids(const JsonPath &at, const fb::Scene *in);
    bool keep_liquids();
    bool particle_options(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_shape(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_force(const JsonPath &at, const fb::ParticleForce *in, SceneParticleForce *out);
    bool particle_forces(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_starts(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_start(const JsonPath &at, const fb::ParticleStart *in,
                        const SceneParticles &system, SceneParticle *out);
    bool particle_rules(const JsonPath &at, const SceneParticles &made);
    bool particle_appearance(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_system(const JsonPath &at, const fb::ParticleSystem *in, SceneParticles *out);
    bool particle_systems(const JsonPath &at, const fb::Scene *in);
    bool smoke_options(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out);
    bool smoke_cells(const JsonPath &at, SceneSmoke *out);
    bool smoke_sides(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out);
    bool smoke_side(const JsonPath &at, const fb::SmokeSide *in, SceneSmokeSide *out);
    bool smoke_source(const JsonPath &at, const fb::SmokeSource *in, const f32 usual[4],
                      SceneSmokeSource *out);
    bool smoke(const JsonPath &at, const fb::Smoke *in, SceneSmoke *out);
    bool smokes(const JsonPath &at, const fb::Scene *in);
    bool water_options(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_cells(const JsonPath &at, SceneWater *out);
    bool water_basin(const JsonPath &at, const fb::WaterBasin *in, Vec3 usual, SceneBasin *out);
    bool water_basins(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_spring(const JsonPath &at, const fb::WaterSource *in, Vec3 usual, SceneSpring *out);
    bool water_springs(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_gauges(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_dams(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_spray(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water_appearance(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool water(const JsonPath &at, const fb::Water *in, SceneWater *out);
    bool waters(const JsonPath &at, const fb::Scene *in);
    bool prefabs(const JsonPath &at, const fb::Scene *in);
    bool carrier(const JsonPath &at, const char *of);
    bool carriers(const JsonPath &at);
    bool probe_of_entity(const JsonPath &at, SceneProbe *out);
    bool prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out);
    bool body_prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out);
    bool soft_prefab(const JsonPath &at, const fb::Prefab *in, ScenePrefab *out);
    bool ray_probe(const JsonPath &at, const fb::Probe *in, SceneProbe *out);
    bool matter_probe(const JsonPath &at, const fb::Probe *in, const std::string &kinds,
                      SceneProbe *out);
    bool probe(const JsonPath &at, const fb::Probe *in, SceneProbe *out);
    bool probes(const JsonPath &at, const fb::Scene *in);
    bool camera(const JsonPath &at, const fb::Camera *in);
    bool sky_options(const JsonPath &at, const fb::Sky *in, SceneSky *out);
    bool sky(const JsonPath &at, const fb::Sky *in);
    bool hands(const JsonPath &at, const fb::Hands *in);

    template <typename T> bool allocate(T **array, u32 count)
    {
        *array = (T *)calloc(count > 0 ? count : 1, sizeof(T));
        if (*array == nullptr) {
            error_set(error_, ERROR_MEMORY, "%s: out of memory", name_);
        }
        return *array != nullptr;
    }

    Scene *out_;
    const char *name_;
    const SceneJson *text_; // or nullptr
    ErrorText *error_;
    std::unordered_map<std::string, const fb::Material *> materials_;
    // Body index, −1 − soft index, or −1 − SOFT_BODIES_MAX − liquid index.
    std::unordered_map<std::string, i32> entities_;
    std::unordered_map<std::string, i32> others_; // entities of other kinds
    std::unordered_map<std::string, i32> joint_names_;
    std::unordered_map<std::string, Copies> copies_;
    std::vector<SceneBody> bodies_;
    std::vector<SceneJoint> joints_;
    std::vector<SceneSoft> soft_bodies_;
    std::vector<ScenePin> pins_;
    std::vector<SceneLiquid> liquids_;
    std::vector<FillVolume> volumes_;
    std::vector<SceneSource> sources_;
    std::vector<SceneParticleForce> particle_forces_;
    std::vector<SceneParticle> particles_;
    std::vector<SceneBasin> basins_;
    std::vector<SceneSpring> springs_;
    std::vector<SceneGauge> gauges_;
    u64 water_cells_ = 0;
    std::vector<u32> dams_;
    std::vector<ErrorText> warnings_;
    u64 fill_cells_ = 0, liquid_particles_ = 0;
    u64 soft_made_ = 0, soft_points_ = 0, soft_spares_ = 0, lattice_cells_ = 0;
    u32 hull_points_ = 0, triangles_ = 0, samples_ = 0, families_ = 0;
};

// Seeded value noise over a grid: the options of shared/rows/noise.def.
struct Noise {
#define MEMBER(type, name) type name;
#include "shared/rows/noise.def"
    u64 seed;
    u32 columns, rows;
    f32 spacing; // m
};
// heights: [rows * columns]
void make_noise(const Noise &noise, f32 *heights);

// True for a closed surface, or a ring of sticks, which is a two-dimensional ball.
bool holds_gas(const SoftMesh &mesh);
// The default appearance of a kind.
void default_appearance(Appearance *out, AppearanceKind kind);
// If the second colour is not set, it becomes a darker tone of the first.
void finish_appearance(Appearance *out);
Quat quat_about(Vec3 axis, f32 degrees);
// The defaults of a body; friction and restitution come from a material.
SceneBody body_default();
void take_material(const fb::Material *material, SceneBody *out);

} // namespace plenum

#endif
