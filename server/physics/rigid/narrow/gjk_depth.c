/*
 * gjk_depth.c: penetration depth of two overlapping cores by the expanding polytope algorithm
 * (EPA).
 */
#include "server/physics/rigid/narrow/gjk_internal.h"

enum {
    EPA_CORNERS = 100,
    EPA_FACES = 2 * EPA_CORNERS
};

/* Edge i runs from corner i to the next; the adjacent face is beside[i], where it is edge
 * twin[i]. */
typedef struct EpaFace {
    Vec3d normal;
    f64 distance; /* of its plane from the origin; INFINITY: too thin for a normal */
    u8 corner[3], beside[3], twin[3];
    bool alive;
} EpaFace;

typedef struct Epa {
    const Convex *a, *b;
    Corner corners[EPA_CORNERS];
    EpaFace faces[EPA_FACES];
    u32 corner_count, face_count;
    /* The rim of the hole around the next corner: edges of remaining faces, in a loop. */
    u8 rim_face[EPA_FACES], rim_edge[EPA_FACES];
    u32 rim_count;
} Epa;

/* Returns EPA_FACES if there is no space. */
static u32 epa_face(Epa *epa, u32 i, u32 j, u32 k)
{
    u32 at = 0;
    while (at < epa->face_count && epa->faces[at].alive) {
        at++;
    }
    if (at == EPA_FACES) {
        return at;
    }
    epa->face_count += at == epa->face_count;
    EpaFace *f = &epa->faces[at];
    Vec3d a = epa->corners[i].w, b = epa->corners[j].w, c = epa->corners[k].w;
    Vec3d ab = vec3d_sub(b, a), ac = vec3d_sub(c, a), n = vec3d_cross(ab, ac);
    f64 length = vec3d_length(n);
    f->corner[0] = (u8)i;
    f->corner[1] = (u8)j;
    f->corner[2] = (u8)k;
    f->alive = true;
    if (length > 1e-14 * (vec3d_dot(ab, ab) + vec3d_dot(ac, ac))) {
        f->normal = vec3d_scale(n, 1.0 / length);
        f->distance = vec3d_dot(f->normal, a);
    } else {
        f->normal = vec3d(0.0, 0.0, 0.0);
        f->distance = INFINITY;
    }
    return at;
}

static void epa_link(Epa *epa, u32 f, u32 edge, u32 g, u32 other)
{
    epa->faces[f].beside[edge] = (u8)g;
    epa->faces[f].twin[edge] = (u8)other;
    epa->faces[g].beside[other] = (u8)f;
    epa->faces[g].twin[other] = (u8)edge;
}

/* Extends fewer than four corners by those that span the most volume; false if a − b is flat,
 * with its normal. */
static bool epa_span(Epa *epa, const Simplex *s, f64 size, Vec3d *normal)
{
    static const Vec3d around[6] = {{1, 0, 0},  {-1, 0, 0}, {0, 1, 0},
                                    {0, -1, 0}, {0, 0, 1},  {0, 0, -1}};
    u32 n = s->count;
    epa->corners[0] = s->corners[0];
    for (u32 i = 1; i < n; i++) {
        epa->corners[i] = s->corners[i];
    }
    Vec3d first = epa->corners[0].w, edge = vec3d(0.0, 0.0, 0.0), up = vec3d(0.0, 1.0, 0.0);
    *normal = up;
    while (n < 4) {
        if (n >= 2) {
            edge = vec3d_sub(epa->corners[1].w, first);
        }
        if (n == 3) {
            up = vec3d_cross(edge, vec3d_sub(epa->corners[2].w, first));
        }
        f64 best = 0.0;
        Corner chosen = epa->corners[0];
        for (u32 i = 0; i < 6; i++) {
            Vec3d d = n == 3   ? (i == 0 ? up : vec3d_neg(up))
                      : n == 2 ? vec3d_cross(edge, around[i])
                               : around[i];
            if (!(vec3d_dot(d, d) > 0.0)) {
                continue;
            }
            Corner c = corner_along(epa->a, epa->b, d);
            Vec3d from = vec3d_sub(c.w, first);
            f64 spans = n == 1   ? vec3d_length(from)
                        : n == 2 ? vec3d_length(vec3d_cross(edge, from)) / vec3d_length(edge)
                                 : fabs(vec3d_dot(up, from)) / vec3d_length(up);
            if (spans > best) {
                best = spans;
                chosen = c;
            }
            if (n == 3 && i == 1) {
                break;
            }
        }
        if (!(best > 1e-9 * size)) {
            Vec3d flat =
                n == 3   ? up
                : n == 2 ? vec3d_cross(edge, fabs(edge.y) < fabs(edge.x) ? around[2] : around[0])
                         : around[2];
            f64 length = vec3d_length(flat);
            *normal = length > 0.0 ? vec3d_scale(flat, 1.0 / length) : around[2];
            return false;
        }
        epa->corners[n++] = chosen;
    }
    epa->corner_count = 4;
    return true;
}

static void epa_start(Epa *epa)
{
    Vec3d a = epa->corners[0].w;
    Vec3d n = vec3d_cross(vec3d_sub(epa->corners[1].w, a), vec3d_sub(epa->corners[2].w, a));
    bool out = vec3d_dot(n, vec3d_sub(epa->corners[3].w, a)) < 0.0; /* make 0, 1, 2 face outwards */
    u32 i = out ? 1 : 2, j = out ? 2 : 1;
    epa->face_count = 0;
    u32 base = epa_face(epa, 0, i, j), f = epa_face(epa, 0, 3, i);
    u32 g = epa_face(epa, i, 3, j), h = epa_face(epa, j, 3, 0);
    epa_link(epa, base, 0, f, 2);
    epa_link(epa, base, 1, g, 2);
    epa_link(epa, base, 2, h, 2);
    epa_link(epa, f, 1, g, 0);
    epa_link(epa, g, 1, h, 0);
    epa_link(epa, h, 1, f, 0);
}

/* Traverses the faces visible from w starting at `face`, entered across `edge`, and records the
 * rim. */
static void epa_rim(Epa *epa, u32 face, u32 edge, Vec3d w, f64 tolerance)
{
    EpaFace *f = &epa->faces[face];
    if (!f->alive) {
        return;
    }
    if (f->distance < INFINITY && vec3d_dot(f->normal, w) - f->distance <= tolerance) {
        epa->rim_face[epa->rim_count] = (u8)face;
        epa->rim_edge[epa->rim_count] = (u8)edge;
        epa->rim_count += epa->rim_count + 1 < EPA_FACES;
        return;
    }
    f->alive = false;
    u32 next = edge < 2 ? edge + 1 : 0, last = next < 2 ? next + 1 : 0;
    epa_rim(epa, f->beside[next], f->twin[next], w, tolerance);
    epa_rim(epa, f->beside[last], f->twin[last], w, tolerance);
}

/* Removes the faces visible from the new corner, starting at `face`, and closes the hole with a
 * fan around it. */
static bool epa_grow(Epa *epa, u32 face, Corner corner, f64 tolerance)
{
    EpaFace *first = &epa->faces[face];
    first->alive = false;
    epa->rim_count = 0;
    for (u32 i = 0; i < 3; i++) {
        epa_rim(epa, first->beside[i], first->twin[i], corner.w, tolerance);
    }
    if (epa->rim_count < 3 || epa->corner_count == EPA_CORNERS) {
        return false;
    }
    u32 at = epa->corner_count++;
    epa->corners[at] = corner;
    u32 start = 0, before = 0;
    for (u32 i = 0; i < epa->rim_count; i++) {
        const EpaFace *kept = &epa->faces[epa->rim_face[i]];
        u32 edge = epa->rim_edge[i], to = kept->corner[edge];
        u32 from = kept->corner[edge < 2 ? edge + 1 : 0];
        u32 made = epa_face(epa, from, to, at);
        if (made == EPA_FACES || (i > 0 && epa->faces[before].corner[1] != from)) {
            return false; /* the rim is not a loop: rounding */
        }
        epa_link(epa, made, 0, epa->rim_face[i], edge);
        if (i > 0) {
            epa_link(epa, before, 1, made, 2);
        } else {
            start = made;
        }
        before = made;
    }
    epa_link(epa, before, 1, start, 2);
    return epa->faces[before].corner[1] == epa->faces[start].corner[0];
}

/* The contact points at the projection of the origin onto the face: of several coplanar
 * triangles, those of the one that contains the projection. */
static void epa_points(const Epa *epa, const EpaFace *face, f64 tolerance, Depth *depth)
{
    f64 nearest = INFINITY;
    for (u32 f = 0; f < epa->face_count; f++) {
        const EpaFace *other = &epa->faces[f];
        if ((!other->alive && other != face) || other->distance > face->distance + tolerance) {
            continue;
        }
        Simplex s = {.count = 3};
        for (u32 i = 0; i < 3; i++) {
            s.corners[i] = epa->corners[other->corner[i]];
        }
        Vec3d v = simplex_solve_triangle(&s);
        if (vec3d_dot(v, v) < nearest) {
            nearest = vec3d_dot(v, v);
            simplex_points(&s, &depth->on_a, &depth->on_b);
        }
    }
}

static const EpaFace *epa_nearest(const Epa *epa)
{
    const EpaFace *nearest = NULL;
    for (u32 f = 0; f < epa->face_count; f++) {
        const EpaFace *face = &epa->faces[f];
        if (face->alive && face->distance < (nearest ? nearest->distance : INFINITY)) {
            nearest = face;
        }
    }
    return nearest;
}

/* van den Bergen 2001. Every tested normal bounds the depth from above, every nearest face from
 * below; the smallest upper bound is the result. */
void gjk_depth(const Convex *a, const Convex *b, const Simplex *s, Depth *depth)
{
    Epa epa;
    epa.a = a;
    epa.b = b;
    f64 size = a->extent + b->extent;
    depth->depth = 0.0;
    simplex_points(s, &depth->on_a, &depth->on_b);
    if (!epa_span(&epa, s, size, &depth->normal)) {
        /* Flat: along its normal, towards b's centre. */
        if (vec3d_dot(depth->normal, vec3d_sub(b->origin, a->origin)) < 0.0) {
            depth->normal = vec3d_neg(depth->normal);
        }
        return;
    }
    epa_start(&epa);
    f64 least = INFINITY;
    EpaFace best = epa.faces[0];
    for (;;) {
        const EpaFace *face = epa_nearest(&epa);
        if (face == NULL) {
            break;
        }
        Corner c = corner_along(a, b, face->normal);
        f64 high = vec3d_dot(face->normal, c.w);
        f64 tolerance = 1e-6 * high + 1e-9 * size;
        bool done = high - face->distance <= tolerance || epa.corner_count == EPA_CORNERS;
        if (high < least || (done && high <= least + tolerance)) {
            /* Nearest faces that have not converged may be better bounds than the last. */
            least = high;
            depth->normal = face->normal;
            best = *face;
        }
        if (done && high <= least) {
            epa_points(&epa, face, tolerance, depth);
            break;
        }
        if (done || !epa_grow(&epa, (u32)(face - epa.faces), c, 1e-12 * size)) {
            epa.faces[0] = best;
            epa.face_count = 1;
            epa_points(&epa, epa.faces, 0.0, depth);
            break;
        }
    }
    depth->depth = least > 0.0 && least < INFINITY ? least : 0.0;
}
