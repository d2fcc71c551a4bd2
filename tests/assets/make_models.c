/*
 * make_models.c: makes the models in shared/scenes/assets: a rabbit (.obj), a dog of balloons
 * (.ply) and a rubber duck (.asc), blended from ellipsoids and round cones, given a surface of even
 * triangles.
 * `make models` runs it; the same program writes the same bytes on every machine.
 */
#include "shared/soft/soft_mesh.h"
#include "shared/soft/surface_crossing.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS_MAX = 40,
    RELAX_ROUNDS = 20
};

typedef struct Part {
    Vec3 at, to; /* m: centre of an ellipsoid; ends of a cone */
    Vec3 radii;  /* m: of an ellipsoid; of both ends of a cone in x and y, z = 0 */
    f32 tilt;    /* sine of an ellipsoid's turn about z */
    f32 blend;   /* m: how far it flows into what was there before */
} Part;

typedef struct Model {
    Part parts[PARTS_MAX];
    u32 count;
} Model;

/* ---- shapes ------------------------------------------------------------------------------- */

static void add(Model *model, Part part)
{
    if (model->count < PARTS_MAX) {
        model->parts[model->count++] = part;
    }
}

static void add_ellipsoid(Model *model, Vec3 at, Vec3 radii, f32 tilt, f32 blend)
{
    add(model, (Part){at, at, radii, tilt, blend});
}

static void add_cone(Model *model, Vec3 from, Vec3 to, f32 r_from, f32 r_to, f32 blend)
{
    add(model, (Part){from, to, vec3(r_from, r_to, 0.0f), 0.0f, blend});
}

static Vec3 mirrored(Vec3 v)
{
    return vec3(v.x, v.y, -v.z);
}

static void add_ellipsoids(Model *model, Vec3 at, Vec3 radii, f32 tilt, f32 blend)
{
    add_ellipsoid(model, at, radii, tilt, blend);
    add_ellipsoid(model, mirrored(at), radii, tilt, blend);
}

static void add_cones(Model *model, Vec3 from, Vec3 to, f32 r_from, f32 r_to, f32 blend)
{
    add_cone(model, from, to, r_from, r_to, blend);
    add_cone(model, mirrored(from), mirrored(to), r_from, r_to, blend);
}

static f32 part_distance(const Part *part, Vec3 p)
{
    Vec3 d = vec3_sub(p, part->at);
    if (part->radii.z == 0.0f) {
        Vec3 axis = vec3_sub(part->to, part->at);
        f32 t = f32_clamp(vec3_dot(d, axis) / vec3_dot(axis, axis), 0.0f, 1.0f);
        f32 radius = part->radii.x + t * (part->radii.y - part->radii.x);
        return vec3_length(vec3_sub(d, vec3_scale(axis, t))) - radius;
    }
    f32 s = part->tilt, c = sqrtf(1.0f - s * s);
    d = vec3(c * d.x + s * d.y, c * d.y - s * d.x, d.z);
    Vec3 a = vec3(d.x / part->radii.x, d.y / part->radii.y, d.z / part->radii.z);
    Vec3 b = vec3(a.x / part->radii.x, a.y / part->radii.y, a.z / part->radii.z);
    f32 k = vec3_length(a), g = vec3_length(b);
    return g > 0.0f ? k * (k - 1.0f) / g : -part->radii.x;
}

/* About the distance from the surface, negative inside. */
static f32 field(const Model *model, Vec3 p)
{
    f32 sum = 1e3f;
    for (u32 i = 0; i < model->count; i++) {
        f32 d = part_distance(&model->parts[i], p), k = model->parts[i].blend;
        f32 h = f32_max(k - fabsf(d - sum), 0.0f) / k;
        sum = f32_min(d, sum) - 0.25f * k * h * h;
    }
    return sum;
}

static Vec3 gradient(const Model *model, Vec3 p)
{
    const f32 e = 1e-3f;
    return vec3((field(model, vec3(p.x + e, p.y, p.z)) - field(model, vec3(p.x - e, p.y, p.z))) /
                    (2.0f * e),
                (field(model, vec3(p.x, p.y + e, p.z)) - field(model, vec3(p.x, p.y - e, p.z))) /
                    (2.0f * e),
                (field(model, vec3(p.x, p.y, p.z + e)) - field(model, vec3(p.x, p.y, p.z - e))) /
                    (2.0f * e));
}

/* ---- a surface: a point in each cube that it cuts, a quadrilateral across each edge ---------- */

typedef struct Net {
    const Model *model;
    Vec3 low;
    f32 cell;
    u32 size[3]; /* cubes */
    f32 *value;  /* at their corners */
    u32 *point;  /* of each cube, UINT32_MAX: none */
    Vec3 *points;
    u32 *triangles;
    u32 point_count, triangle_count;
} Net;

static u32 net_index(const Net *net, u32 x, u32 y, u32 z)
{
    return (z * (net->size[1] + 1) + y) * (net->size[0] + 1) + x;
}

static Vec3 net_corner(const Net *net, u32 x, u32 y, u32 z)
{
    return vec3_add(net->low, vec3_scale(vec3((f32)x, (f32)y, (f32)z), net->cell));
}

static void add_points(Net *net)
{
    for (u32 z = 0; z < net->size[2]; z++) {
        for (u32 y = 0; y < net->size[1]; y++) {
            for (u32 x = 0; x < net->size[0]; x++) {
                u32 inside = 0;
                for (u32 i = 0; i < 8; i++) {
                    u32 at = net_index(net, x + (i & 1), y + (i >> 1 & 1), z + (i >> 2));
                    inside += net->value[at] < 0.0f;
                }
                if (inside > 0 && inside < 8) {
                    Vec3 half = vec3(0.5f * net->cell, 0.5f * net->cell, 0.5f * net->cell);
                    net->points[net->point_count] = vec3_add(net_corner(net, x, y, z), half);
                    net->point[net_index(net, x, y, z)] = net->point_count++;
                }
            }
        }
    }
}

static void add_triangle(Net *net, u32 a, u32 b, u32 c)
{
    u32 *corner = &net->triangles[3 * net->triangle_count++];
    corner[0] = a;
    corner[1] = b;
    corner[2] = c;
}

/* Around the edge from a corner along an axis, whose end is inside if `turned`. */
static void add_quadrilateral(Net *net, const u32 at[3], u32 axis, bool turned)
{
    static const u8 around[4][2] = {{1, 1}, {0, 1}, {0, 0}, {1, 0}};
    u32 p[4];
    for (u32 i = 0; i < 4; i++) {
        u32 cube[3] = {at[0], at[1], at[2]};
        cube[(axis + 1) % 3] -= around[turned ? 3 - i : i][0];
        cube[(axis + 2) % 3] -= around[turned ? 3 - i : i][1];
        p[i] = net->point[net_index(net, cube[0], cube[1], cube[2])];
    }
    add_triangle(net, p[0], p[1], p[2]);
    add_triangle(net, p[0], p[2], p[3]);
}

static void add_quadrilaterals(Net *net)
{
    u32 at[3];
    for (at[2] = 1; at[2] < net->size[2]; at[2]++) {
        for (at[1] = 1; at[1] < net->size[1]; at[1]++) {
            for (at[0] = 1; at[0] < net->size[0]; at[0]++) {
                bool inside = net->value[net_index(net, at[0], at[1], at[2])] < 0.0f;
                for (u32 axis = 0; axis < 3; axis++) {
                    u32 end = net_index(net, at[0] + (axis == 0), at[1] + (axis == 1),
                                        at[2] + (axis == 2));
                    if (inside != (net->value[end] < 0.0f)) {
                        add_quadrilateral(net, at, axis, !inside);
                    }
                }
            }
        }
    }
}

/* With points in the middle of their cubes. */
static bool make_net(Net *net, Vec3 low, Vec3 high, f32 cell)
{
    Vec3 size = vec3_sub(high, low);
    net->low = low;
    net->cell = cell;
    net->size[0] = (u32)(size.x / cell) + 1;
    net->size[1] = (u32)(size.y / cell) + 1;
    net->size[2] = (u32)(size.z / cell) + 1;
    size_t count = (size_t)(net->size[0] + 1) * (net->size[1] + 1) * (net->size[2] + 1);
    net->value = malloc(count * sizeof *net->value);
    net->point = malloc(count * sizeof *net->point);
    net->points = malloc(count * sizeof *net->points);
    net->triangles = malloc(18 * count * sizeof *net->triangles);
    bool ok =
        net->value != NULL && net->point != NULL && net->points != NULL && net->triangles != NULL;
    if (ok) {
        for (u32 z = 0; z <= net->size[2]; z++) {
            for (u32 y = 0; y <= net->size[1]; y++) {
                for (u32 x = 0; x <= net->size[0]; x++) {
                    u32 at = net_index(net, x, y, z);
                    net->value[at] = field(net->model, net_corner(net, x, y, z));
                    net->point[at] = UINT32_MAX;
                }
            }
        }
        add_points(net);
        add_quadrilaterals(net);
    }
    return ok;
}

/* Points move along the surface to the middle of their neighbours, then onto it; quadrilaterals are
 * divided anew along their shorter diagonal. */
static bool relax(Net *net)
{
    Vec3 *sum = malloc(net->point_count * sizeof *sum);
    u32 *count = malloc(net->point_count * sizeof *count);
    for (u32 round = 0; sum != NULL && count != NULL && round < RELAX_ROUNDS; round++) {
        memset(sum, 0, net->point_count * sizeof *sum);
        memset(count, 0, net->point_count * sizeof *count);
        for (u32 t = 0; t < net->triangle_count; t += 2) {
            u32 *a = &net->triangles[3 * t], *b = a + 3;
            u32 p[4] = {a[0], a[1], a[2], b[2]};
            if (vec3_distance(net->points[p[1]], net->points[p[3]]) <
                vec3_distance(net->points[p[0]], net->points[p[2]])) {
                const u32 other[6] = {p[1], p[2], p[3], p[1], p[3], p[0]};
                memcpy(a, other, sizeof other);
            }
        }
        for (u32 i = 0; i < 3 * net->triangle_count; i++) {
            u32 a = net->triangles[i], b = net->triangles[i % 3 == 2 ? i - 2 : i + 1];
            sum[a] = vec3_add(sum[a], net->points[b]);
            count[a]++;
        }
        for (u32 i = 0; i < net->point_count; i++) {
            Vec3 p = net->points[i], away = vec3_sub(vec3_scale(sum[i], 1.0f / (f32)count[i]), p);
            Vec3 n = vec3_normalize_or(gradient(net->model, p), vec3(0.0f, 1.0f, 0.0f));
            away = vec3_add_scaled(away, -vec3_dot(away, n), n);
            p = vec3_add_scaled(p, 0.5f, away);
            for (u32 step = 0; step < 3; step++) {
                Vec3 g = gradient(net->model, p);
                f32 slope = f32_max(vec3_length_squared(g), 0.1f);
                p = vec3_add_scaled(p, -field(net->model, p) / slope, g);
            }
            net->points[i] = p;
        }
    }
    bool ok = sum != NULL && count != NULL;
    free(sum);
    free(count);
    return ok;
}

static void finish_net(Net *net)
{
    free(net->value);
    free(net->point);
    free(net->points);
    free(net->triangles);
}

/* ---- files -------------------------------------------------------------------------------- */

static void write_obj(FILE *out, const SoftMesh *mesh, const char *name)
{
    fprintf(out, "# %s, made by tests/assets/make_models.c; lengths in m, y is up\no %s\n", name,
            name);
    for (u32 i = 0; i < mesh->point_count; i++) {
        Vec3 p = mesh->points[i];
        fprintf(out, "v %.5f %.5f %.5f\n", (f64)p.x, (f64)p.y, (f64)p.z);
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *c = &mesh->triangles[3 * t];
        fprintf(out, "f %u %u %u\n", c[0] + 1, c[1] + 1, c[2] + 1);
    }
}

static void write_asc(FILE *out, const SoftMesh *mesh, const char *name)
{
    fprintf(out, "Ambient light color: Red=0.3 Green=0.3 Blue=0.3\n\nNamed object: \"%s\"\n", name);
    fprintf(out, "Tri-mesh, Vertices: %u     Faces: %u\nVertex list:\n", mesh->point_count,
            mesh->triangle_count);
    for (u32 i = 0; i < mesh->point_count; i++) {
        Vec3 p = mesh->points[i];
        fprintf(out, "Vertex %u:  X: %.5f     Y: %.5f     Z: %.5f\n", i, (f64)p.x, (f64)p.y,
                (f64)p.z);
    }
    fprintf(out, "Face list:\n");
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        const u32 *c = &mesh->triangles[3 * t];
        fprintf(out, "Face %u:    A:%u B:%u C:%u AB:1 BC:1 CA:1\n", t, c[0], c[1], c[2]);
    }
}

static void write_u32(FILE *out, u32 number)
{
    for (u32 i = 0; i < 4; i++) {
        fputc((int)(number >> 8 * i & 0xFF), out);
    }
}

static void write_ply(FILE *out, const SoftMesh *mesh, const char *name)
{
    fprintf(out, "ply\nformat binary_little_endian 1.0\n");
    fprintf(out, "comment %s, made by tests/assets/make_models.c; lengths in m, y is up\n", name);
    fprintf(out, "element vertex %u\nproperty float x\nproperty float y\nproperty float z\n",
            mesh->point_count);
    fprintf(out, "element face %u\nproperty list uchar uint vertex_indices\nend_header\n",
            mesh->triangle_count);
    for (u32 i = 0; i < mesh->point_count; i++) {
        const f32 place[3] = {mesh->points[i].x, mesh->points[i].y, mesh->points[i].z};
        for (u32 k = 0; k < 3; k++) {
            u32 bits;
            memcpy(&bits, &place[k], sizeof bits);
            write_u32(out, bits);
        }
    }
    for (u32 t = 0; t < mesh->triangle_count; t++) {
        fputc(3, out);
        for (u32 k = 0; k < 3; k++) {
            write_u32(out, mesh->triangles[3 * t + k]);
        }
    }
}

typedef void WriteModel(FILE *out, const SoftMesh *mesh, const char *name);

static bool welded(const Net *net, SoftMesh *mesh, ErrorText *error)
{
    return soft_mesh_triangles(mesh, net->points, net->point_count, net->triangles,
                               net->triangle_count, NULL, error) == ERROR_OK;
}

/* Where four quadrilaterals meet in one edge (two sheets in one cube), another place of the cubes
 * helps. */
static bool make_surface(const Model *model, Vec3 low, Vec3 high, f32 cell, SoftMesh *mesh,
                         ErrorText *error)
{
    bool ok = false;
    for (u32 attempt = 0; attempt < 64 && !ok; attempt++) {
        Net net = {.model = model};
        f32 x = (f32)(attempt % 8) / 8.0f, y = (f32)(attempt / 8) / 8.0f;
        Vec3 shifted = vec3(low.x - x * cell, low.y - y * cell, low.z);
        ok = make_net(&net, shifted, high, cell) && welded(&net, mesh, error);
        if (ok) {
            soft_mesh_finish(mesh);
            ok = relax(&net) && welded(&net, mesh, error) &&
                 surface_crossing(mesh, error) == ERROR_OK;
        }
        finish_net(&net);
    }
    return ok;
}

static bool make_model(const Model *model, Bounds bounds, f32 cell, const char *folder,
                       const char *name, const char *ending, WriteModel *write_model)
{
    SoftMesh mesh = {0};
    ErrorText error = {0};
    char path[1024];
    bool ok = make_surface(model, bounds.min, bounds.max, cell, &mesh, &error);
    snprintf(path, sizeof path, "%s/%s.%s", folder, name, ending);
    FILE *out = ok ? fopen(path, "wb") : NULL;
    if (out != NULL) {
        write_model(out, &mesh, name);
        ok = fclose(out) == 0 && mesh.closed;
        printf("%s: %u points, %u triangles, %.4f m3%s\n", path, mesh.point_count,
               mesh.triangle_count, soft_mesh_volume(&mesh), mesh.closed ? "" : ", not closed");
    } else {
        fprintf(stderr, "%s: %s\n", path, ok ? "cannot be written" : error.text);
        ok = false;
    }
    soft_mesh_finish(&mesh);
    return ok;
}

/* ---- models: noses towards x, y up, feet at y = 0 ------------------------------------------- */

static void sculpt_rabbit(Model *m)
{
    add_ellipsoid(m, vec3(-0.10f, 0.29f, 0.0f), vec3(0.33f, 0.27f, 0.24f), 0.25f, 0.1f);
    add_ellipsoid(m, vec3(0.14f, 0.37f, 0.0f), vec3(0.19f, 0.23f, 0.17f), 0.2f, 0.12f);
    add_ellipsoids(m, vec3(-0.15f, 0.21f, 0.17f), vec3(0.20f, 0.19f, 0.11f), 0.2f, 0.06f);
    add_cones(m, vec3(-0.16f, 0.06f, 0.20f), vec3(0.08f, 0.055f, 0.20f), 0.06f, 0.055f, 0.09f);
    add_cones(m, vec3(0.20f, 0.30f, 0.10f), vec3(0.26f, 0.07f, 0.105f), 0.07f, 0.055f, 0.09f);
    add_ellipsoids(m, vec3(0.30f, 0.05f, 0.105f), vec3(0.085f, 0.05f, 0.055f), 0.0f, 0.05f);
    add_ellipsoid(m, vec3(0.28f, 0.63f, 0.0f), vec3(0.175f, 0.155f, 0.14f), 0.0f, 0.10f);
    add_ellipsoid(m, vec3(0.40f, 0.585f, 0.0f), vec3(0.10f, 0.085f, 0.085f), 0.0f, 0.06f);
    add_ellipsoids(m, vec3(0.36f, 0.56f, 0.055f), vec3(0.085f, 0.07f, 0.07f), 0.0f, 0.04f);
    add_ellipsoid(m, vec3(0.495f, 0.61f, 0.0f), vec3(0.03f, 0.025f, 0.03f), 0.0f, 0.02f);
    add_cones(m, vec3(0.22f, 0.74f, 0.075f), vec3(0.14f, 0.98f, 0.12f), 0.045f, 0.06f, 0.03f);
    add_cones(m, vec3(0.14f, 0.98f, 0.12f), vec3(0.10f, 1.10f, 0.145f), 0.06f, 0.05f, 0.05f);
    add_ellipsoid(m, vec3(-0.44f, 0.22f, 0.0f), vec3(0.095f, 0.095f, 0.09f), 0.0f, 0.04f);
}

static void sculpt_dog(Model *m)
{
    const f32 knot = 0.06f;
    add_cone(m, vec3(-0.25f, 0.47f, 0.0f), vec3(0.19f, 0.47f, 0.0f), 0.115f, 0.115f, knot);
    add_cone(m, vec3(0.32f, 0.54f, 0.0f), vec3(0.40f, 0.76f, 0.0f), 0.085f, 0.08f, knot);
    add_cone(m, vec3(0.49f, 0.87f, 0.0f), vec3(0.68f, 0.84f, 0.0f), 0.085f, 0.075f, knot);
    add_ellipsoid(m, vec3(0.775f, 0.825f, 0.0f), vec3(0.04f, 0.04f, 0.04f), 0.0f, 0.03f);
    add_cones(m, vec3(0.38f, 0.92f, 0.10f), vec3(0.30f, 1.07f, 0.16f), 0.06f, 0.065f, knot);
    add_cones(m, vec3(0.28f, 0.36f, 0.115f), vec3(0.31f, 0.075f, 0.15f), 0.07f, 0.075f, knot);
    add_cones(m, vec3(-0.35f, 0.36f, 0.115f), vec3(-0.38f, 0.075f, 0.15f), 0.07f, 0.075f, knot);
    add_cone(m, vec3(-0.40f, 0.58f, 0.0f), vec3(-0.53f, 0.84f, 0.0f), 0.07f, 0.06f, knot);
    add_ellipsoid(m, vec3(-0.565f, 0.915f, 0.0f), vec3(0.07f, 0.07f, 0.07f), 0.0f, 0.05f);
    /* Where balloons are twisted together. */
    add_ellipsoid(m, vec3(0.275f, 0.455f, 0.0f), vec3(0.06f, 0.075f, 0.10f), 0.0f, 0.05f);
    add_ellipsoid(m, vec3(-0.345f, 0.465f, 0.0f), vec3(0.06f, 0.085f, 0.10f), 0.0f, 0.05f);
    add_ellipsoid(m, vec3(0.41f, 0.85f, 0.0f), vec3(0.055f, 0.055f, 0.075f), 0.0f, 0.05f);
}

static void sculpt_duck(Model *m)
{
    add_ellipsoid(m, vec3(0.0f, 0.24f, 0.0f), vec3(0.42f, 0.25f, 0.30f), 0.0f, 0.1f);
    add_cone(m, vec3(-0.30f, 0.32f, 0.0f), vec3(-0.50f, 0.50f, 0.0f), 0.15f, 0.045f, 0.12f);
    add_ellipsoid(m, vec3(0.20f, 0.36f, 0.0f), vec3(0.20f, 0.20f, 0.19f), 0.0f, 0.12f);
    add_ellipsoids(m, vec3(-0.07f, 0.30f, 0.26f), vec3(0.24f, 0.12f, 0.075f), -0.25f, 0.04f);
    add_ellipsoid(m, vec3(0.24f, 0.62f, 0.0f), vec3(0.20f, 0.195f, 0.185f), 0.0f, 0.08f);
    add_ellipsoid(m, vec3(0.46f, 0.585f, 0.0f), vec3(0.13f, 0.05f, 0.10f), -0.1f, 0.04f);
    add_ellipsoid(m, vec3(0.20f, 0.83f, 0.0f), vec3(0.05f, 0.05f, 0.04f), 0.3f, 0.07f);
}

int main(int count, char **arguments)
{
    const char *folder = count > 1 ? arguments[1] : "shared/scenes/assets";
    static Model rabbit, dog, duck;
    sculpt_rabbit(&rabbit);
    sculpt_dog(&dog);
    sculpt_duck(&duck);
    bool ok = make_model(&rabbit, (Bounds){vec3(-0.65f, -0.1f, -0.4f), vec3(0.62f, 1.26f, 0.4f)},
                         0.044f, folder, "rabbit", "obj", write_obj);
    ok = make_model(&dog, (Bounds){vec3(-0.75f, -0.1f, -0.33f), vec3(0.92f, 1.24f, 0.33f)}, 0.040f,
                    folder, "balloon_dog", "ply", write_ply) &&
         ok;
    ok = make_model(&duck, (Bounds){vec3(-0.68f, -0.12f, -0.45f), vec3(0.72f, 1.0f, 0.45f)},
                    0.0445f, folder, "duck", "asc", write_asc) &&
         ok;
    return ok ? 0 : 1;
}
