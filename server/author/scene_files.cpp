// scene_files.cpp: reads the meshes and pictures that a scene references and packs them into it. A
// compound with a file is decomposed into convex parts here, so that clients need not.
#include "server/author/scene_files.h"

#include "scene_generated.h"
#include "server/author/convex_parts.h"
#include "server/author/height_image.h"
#include "server/author/mesh_file.h"
#include "server/author/scene_json.h"
#include "shared/base/file.h"
#include "shared/base/limits.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>

namespace
{

namespace fb = plenum::scene;

enum {
    PART_VERTICES = 32
};

class Inliner
{
  public:
    Inliner(const ScenePlace &place, const char *json, size_t json_bytes, ErrorText *error)
        : path_(place.path), json_(json), json_bytes_(json_bytes), anywhere_(place.anywhere),
          error_(error)
    {
        const char *slash = strrchr(path_, '/');
        folder_ = slash != nullptr ? std::string(path_, (size_t)(slash - path_) + 1) : "./";
    }
    bool scene(fb::SceneT *scene);

  private:
    bool fail(const std::string &at, const char *what)
    {
        u32 line = scene_json_line(json_, json_bytes_, at.c_str());
        error_set(error_, ERROR_RANGE, "%s:%u: %s: %s", path_, line, at.c_str(), what);
        return false;
    }
    bool may_read(const std::string &place) const;
    char *open(const std::string &at, const std::string &file, size_t *bytes);
    bool read(const std::string &at, const std::string &file, MeshFile *mesh);
    bool heights(const std::string &at, fb::ShapeT *shape);
    bool triangles(const std::string &at, std::string *file, std::vector<fb::Point> *vertices,
                   std::vector<fb::Triangle> *triangles);
    bool parts(const std::string &at, fb::ShapeT *shape);
    bool shape(const std::string &at, fb::ShapeT *shape);
    bool soft_shape(const std::string &at, fb::SoftShapeT *soft);

    const char *path_, *json_;
    size_t json_bytes_;
    bool anywhere_;
    ErrorText *error_;
    std::string folder_;
};

// Whether the file is in the scene's folder or below it after following links. A missing file
// passes: opening it fails with its own text.
bool Inliner::may_read(const std::string &place) const
{
    char *folder = realpath(folder_.c_str(), nullptr), *real = realpath(place.c_str(), nullptr);
    bool below = folder == nullptr || real == nullptr;
    if (!below) {
        size_t length = strlen(folder);
        below = strncmp(real, folder, length) == 0 && (length == 1 || real[length] == '/');
    }
    free(folder);
    free(real);
    return below;
}

// The file's bytes, to be freed; nullptr: it failed.
char *Inliner::open(const std::string &at, const std::string &file, size_t *bytes)
{
    std::string place = file[0] == '/' ? file : folder_ + file;
    ErrorText why = {};
    if (!anywhere_ && !may_read(place)) {
        fail(at, "outside the scene's folder; copy it there, or start the server with "
                 "--allow-outside");
        return nullptr;
    }
    char *text = file_read(place.c_str(), MESH_FILE_BYTES_MAX, bytes, &why);
    if (text == nullptr) {
        fail(at, why.text);
    }
    return text;
}

// A picture's samples become the heights of a terrain.
bool Inliner::heights(const std::string &at, fb::ShapeT *shape)
{
    HeightImage image = {};
    ErrorText why = {};
    size_t bytes = 0;
    if (!shape->heights.empty() || shape->noise != nullptr || shape->columns != 0 ||
        shape->rows != 0) {
        return fail(at + ".file",
                    "given besides heights, noise, columns or rows; give one of them");
    }
    char *text = open(at + ".file", shape->file, &bytes);
    if (text == nullptr) {
        return false;
    }
    int result = height_image_read(&image, text, bytes, shape->file.c_str(), &why);
    free(text);
    if (result != ERROR_OK) {
        return fail(at + ".file", why.text);
    }
    size_t count = (size_t)image.columns * image.rows;
    shape->heights.reserve(count);
    for (size_t i = 0; i < count; i++) {
        shape->heights.push_back(shape->scale * (f32)image.samples[i] / 65535.0f);
    }
    shape->columns = image.columns;
    shape->rows = image.rows;
    height_image_finish(&image);
    shape->file.clear();
    shape->scale = 1.0f;
    return true;
}

bool Inliner::read(const std::string &at, const std::string &file, MeshFile *mesh)
{
    ErrorText why = {};
    size_t bytes = 0;
    char *text = open(at, file, &bytes);
    if (text == nullptr) {
        return false;
    }
    int result = mesh_file_read(mesh, text, bytes, file.c_str(), &why);
    free(text);
    return result == ERROR_OK || fail(at, why.text);
}

bool Inliner::triangles(const std::string &at, std::string *file, std::vector<fb::Point> *vertices,
                        std::vector<fb::Triangle> *out)
{
    if (file->empty()) {
        return true;
    }
    if (!vertices->empty() || !out->empty()) {
        return fail(at + ".file", "given besides vertices; give one of them");
    }
    MeshFile mesh = {};
    if (!read(at + ".file", *file, &mesh)) {
        return false;
    }
    for (u32 i = 0; i < mesh.vertex_count; i++) {
        vertices->emplace_back(mesh.vertices[i].x, mesh.vertices[i].y, mesh.vertices[i].z);
    }
    for (u32 i = 0; i < mesh.triangle_count; i++) {
        const u32 *t = mesh.triangles + (size_t)3 * i;
        out->emplace_back(t[0], t[1], t[2]);
    }
    mesh_file_finish(&mesh);
    file->clear();
    return true;
}

fb::ShapeT *hull_of(const Geometry *hull, f32 scale)
{
    fb::ShapeT *made = new fb::ShapeT();
    made->kind = fb::ShapeKind::hull;
    for (u32 i = 0; i < hull->hull.vertex_count; i++) {
        Vec3 v = vec3_scale(hull->hull.vertices[i], scale);
        made->points.emplace_back(v.x, v.y, v.z);
    }
    return made;
}

bool Inliner::parts(const std::string &at, fb::ShapeT *shape)
{
    if (!shape->children.empty()) {
        return fail(at + ".file", "given besides children; give one of them");
    }
    if (shape->parts < 1 || shape->parts > COMPOUND_CHILDREN_MAX) {
        return fail(at + ".parts", (std::to_string(shape->parts) +
                                    " is out of range; give a whole number from 1 to 64")
                                       .c_str());
    }
    MeshFile mesh = {};
    if (!read(at + ".file", shape->file, &mesh)) {
        return false;
    }
    ErrorText why = {};
    Geometry *surface = geometry_mesh(mesh.vertices, mesh.vertex_count, mesh.triangles,
                                      mesh.triangle_count, nullptr, &why);
    mesh_file_finish(&mesh);
    if (surface == nullptr) {
        return fail(at + ".file", why.text);
    }
    ConvexPartsOptions options = convex_parts_default();
    options.parts_max = shape->parts;
    options.vertex_limit = PART_VERTICES;
    /* More parts require a finer grid, for example between two ears. */
    options.tolerance = 0.16f / (f32)options.parts_max;
    Geometry *hulls[COMPOUND_CHILDREN_MAX];
    u32 count = convex_parts(surface, &options, hulls, &why);
    geometry_destroy(surface);
    for (u32 i = 0; i < count; i++) {
        shape->children.emplace_back(new fb::ChildT());
        shape->children.back()->shape.reset(hull_of(hulls[i], shape->scale));
        geometry_destroy(hulls[i]);
    }
    shape->file.clear();
    shape->scale = 1.0f;
    shape->parts = fb::ShapeT().parts;
    return count > 0 || fail(at + ".file", why.text);
}

bool Inliner::shape(const std::string &at, fb::ShapeT *shape)
{
    if (shape == nullptr || shape->file.empty()) {
        return true;
    }
    if (shape->kind == fb::ShapeKind::compound) {
        return parts(at, shape);
    }
    if (shape->kind == fb::ShapeKind::terrain) {
        return heights(at, shape);
    }
    if (shape->kind != fb::ShapeKind::mesh) {
        return fail(at + ".file", "only a mesh, a compound and a terrain have one; leave it out");
    }
    return triangles(at, &shape->file, &shape->vertices, &shape->triangles);
}

std::string element(const char *list, size_t index, const char *rest)
{
    return std::string(list) + "[" + std::to_string(index) + "]." + rest;
}

bool Inliner::scene(fb::SceneT *scene)
{
    for (size_t i = 0; i < scene->bodies.size(); i++) {
        if (!shape(element("bodies", i, "shape"), scene->bodies[i]->shape.get())) {
            return false;
        }
    }
    for (size_t i = 0; i < scene->prefabs.size(); i++) {
        fb::BodyT *body = scene->prefabs[i]->body.get();
        if (body != nullptr && !shape(element("prefabs", i, "body.shape"), body->shape.get())) {
            return false;
        }
    }
    for (size_t i = 0; i < scene->particle_systems.size(); i++) {
        if (!shape(element("particle_systems", i, "shape"),
                   scene->particle_systems[i]->shape.get())) {
            return false;
        }
    }
    for (size_t i = 0; i < scene->soft_bodies.size(); i++) {
        if (!soft_shape(element("soft_bodies", i, "shape"), scene->soft_bodies[i]->shape.get())) {
            return false;
        }
    }
    for (size_t i = 0; i < scene->prefabs.size(); i++) {
        fb::SoftT *soft = scene->prefabs[i]->soft.get();
        if (soft != nullptr &&
            !soft_shape(element("prefabs", i, "soft.shape"), soft->shape.get())) {
            return false;
        }
    }
    return true;
}

bool Inliner::soft_shape(const std::string &at, fb::SoftShapeT *soft)
{
    if (soft == nullptr) {
        return true;
    }
    if (!soft->file.empty() && soft->kind != fb::SoftKind::mesh) {
        return fail(at + ".file", "only a mesh has one; leave it out");
    }
    fb::SoftSkinT *skin = soft->skin.get();
    return triangles(at, &soft->file, &soft->vertices, &soft->triangles) &&
           (skin == nullptr ||
            triangles(at + ".skin", &skin->file, &skin->vertices, &skin->triangles));
}

bool names_file(const fb::Shape *shape)
{
    return shape != nullptr && shape->file() != nullptr;
}

bool soft_names_file(const fb::SoftShape *shape)
{
    bool skin = shape->skin() != nullptr && shape->skin()->file() != nullptr;
    return shape->file() != nullptr || skin;
}

// Most scenes reference no files and are left unchanged.
bool names_files(const fb::Scene *scene)
{
    bool found = false;
    for (u32 i = 0; scene->bodies() != nullptr && i < scene->bodies()->size(); i++) {
        found = found || names_file(scene->bodies()->Get(i)->shape());
    }
    for (u32 i = 0; scene->prefabs() != nullptr && i < scene->prefabs()->size(); i++) {
        const fb::Prefab *prefab = scene->prefabs()->Get(i);
        found = found || (prefab->body() != nullptr && names_file(prefab->body()->shape())) ||
                (prefab->soft() != nullptr && soft_names_file(prefab->soft()->shape()));
    }
    const auto *systems = scene->particle_systems();
    for (u32 i = 0; systems != nullptr && i < systems->size(); i++) {
        found = found || names_file(systems->Get(i)->shape());
    }
    for (u32 i = 0; scene->soft_bodies() != nullptr && i < scene->soft_bodies()->size(); i++) {
        found = found || soft_names_file(scene->soft_bodies()->Get(i)->shape());
    }
    return found;
}

int inline_files(u8 **bytes, u32 *byte_count, Inliner *inliner, const char *path, ErrorText *error)
{
    const fb::Scene *packed = fb::GetScene(*bytes);
    if (!names_files(packed)) {
        return ERROR_OK;
    }
    fb::SceneT scene;
    packed->UnPackTo(&scene);
    if (!inliner->scene(&scene)) {
        return error->code;
    }
    flatbuffers::FlatBufferBuilder builder(1 << 16);
    fb::FinishSceneBuffer(builder, fb::Scene::Pack(builder, &scene));
    u8 *copy = (u8 *)malloc(builder.GetSize());
    if (copy == nullptr) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory", path);
    }
    memcpy(copy, builder.GetBufferPointer(), builder.GetSize());
    free(*bytes);
    *bytes = copy;
    *byte_count = builder.GetSize();
    return ERROR_OK;
}

} // namespace

extern "C" int scene_files_inline(u8 **bytes, u32 *byte_count, const ScenePlace *place,
                                  const char *json, size_t json_bytes, ErrorText *error)
{
    try {
        Inliner inliner(*place, json, json_bytes, error);
        return inline_files(bytes, byte_count, &inliner, place->path, error);
    } catch (const std::bad_alloc &) {
        return error_set(error, ERROR_MEMORY, "%s: out of memory", place->path);
    }
}
