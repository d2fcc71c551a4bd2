/*
 * color.c: graph colouring of contacts: contacts that share no moving body get the same colour, and
 * eight contacts of a colour form one row of the solver. Colours are solved one after the other,
 * rows of a colour in parallel; since no two rows of a colour write the same body, the order within
 * a colour does not matter.
 * Method: greedy colouring with a mask of used colours for each body, in the order of the contacts
 * (Catto, "SIMD Matters", 2024, has the idea for Box2D). Contacts with immovable bodies come last,
 * so that non-penetration of the ground has priority.
 */
#include "server/physics/rigid/rigid_internal.h"
#include "shared/base/check.h"

enum {
    CLASSES = MANIFOLD_POINTS + 1, /* rows contain contacts with similar point counts */
    OVERFLOW = COLORS_MAX,
    NOT_SOLVED = 0xff,
    BODIES_GRAIN = 256,
    CONTACTS_GRAIN = 256
};

/* Flags of color_bodies. */
enum {
    BODY_GIVES = 1, /* has mass */
    BODY_ROTATES = 2,
    BODY_IMPULSES = 4, /* solved by PGS */
    BODY_HANGS = 8     /* a joint holds it */
};

/* In contact_classes: the class of a solved contact, and which of the two bodies move. */
enum {
    CLASS_MASK = 15,
    CLASS_BOTH = 16,
    CLASS_ONE = 32
};

static inline u32 lowest_free(u64 used)
{
    return used == ~0ull ? COLORS_MAX : (u32)__builtin_ctzll(~used);
}

static void bodies_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        rigid->colors_used[i] = 0;
        rigid->color_bodies[i] = (u8)((rigid->states[i].inverse_mass > 0.0f ? BODY_GIVES : 0) |
                                      (body_rotates(rigid, i) ? BODY_ROTATES : 0) |
                                      (body_is_pgs(rigid, i) ? BODY_IMPULSES : 0));
    }
}

static void joints_mark(Rigid *rigid)
{
    for (u32 i = 0; i < rigid->joints.slots; i++) {
        u32 sides[2];
        if (joint_bodies(rigid, i, &sides[0], &sides[1])) {
            for (u32 n = 0; n < 2; n++) {
                if (sides[n] != JOINT_WORLD) {
                    rigid->color_bodies[sides[n]] |= BODY_HANGS;
                }
            }
        }
    }
}

bool body_hangs(const Rigid *rigid, u32 slot)
{
    return (rigid->color_bodies[slot] & BODY_HANGS) != 0;
}

/* Prepares the colouring of a contact in few bytes: its class, and in color_order its bodies, or
 * the only moving one. The last class is for fast-rotating bodies: they may get any number of
 * points in a substep. */
static void classes_range(void *context, u32 first, u32 end, u32 worker)
{
    PL_UNUSED(worker);
    Rigid *rigid = context;
    for (u32 i = first; i < end; i++) {
        const Contact *c = &rigid->contacts[i];
        u32 a = rigid->color_bodies[c->a], b = rigid->color_bodies[c->b];
        u32 class = (a | b) & BODY_ROTATES ? CLASSES : c->flags >> CONTACT_COUNT_SHIFT;
        bool both = a & b & BODY_GIVES;
        class |= both ? CLASS_BOTH : CLASS_ONE;
        if (!contact_is_solved(rigid, i) || ((a | b) & BODY_IMPULSES) || !((a | b) & BODY_GIVES)) {
            class = 0;
        }
        rigid->contact_classes[i] = (u8) class;
        rigid->color_order[i] = both ? c->a << 16 | c->b : a & BODY_GIVES ? c->a : c->b;
    }
}

/* By colour; fast-rotating ones first, then by descending point count. */
static inline u32 color_key(u32 color, u32 class)
{
    return color * CLASSES + CLASSES - (class & CLASS_MASK);
}

/* Colours from 0 up for pairs of moving bodies, from `first` up for the others. Counts the
 * contacts of each key, one entry further on. */
static void assign(Rigid *rigid, u32 *counts)
{
    const u8 *classes = rigid->contact_classes;
    const u32 *bodies = rigid->color_order;
    u64 *used = rigid->colors_used;
    u8 *colors = rigid->contact_colors;
    u32 contacts = rigid->contact_count, dynamic_colors = 0;
    for (u32 i = 0; i < contacts; i++) {
        u32 class = classes[i];
        colors[i] = NOT_SOLVED;
        if (!(class & CLASS_BOTH)) {
            continue;
        }
        u32 a = bodies[i] >> 16, b = bodies[i] & 0xffffu, color = lowest_free(used[a] | used[b]);
        if (color >= COLORS_DYNAMIC) {
            color = OVERFLOW;
        } else {
            used[a] |= 1ull << color;
            used[b] |= 1ull << color;
            dynamic_colors = u32_max(dynamic_colors, color + 1);
        }
        colors[i] = (u8)color;
        counts[color_key(color, class) + 1]++;
    }
    u64 below = dynamic_colors == 0 ? 0 : ~0ull >> (64 - dynamic_colors);
    for (u32 i = 0; i < contacts; i++) {
        if (!(classes[i] & CLASS_ONE)) {
            continue;
        }
        u32 color = lowest_free(used[bodies[i]] | below);
        if (color < COLORS_MAX) {
            used[bodies[i]] |= 1ull << color;
        }
        colors[i] = (u8)color;
        counts[color_key(color, classes[i]) + 1]++;
    }
}

static RowPlan *row_begin(Rigid *rigid, u32 order)
{
    u32 class = rigid->contact_classes[rigid->color_order[order]] & CLASS_MASK;
    u32 points = u32_min(class, MANIFOLD_POINTS);
    RowPlan *plan = &rigid->plans[rigid->row_count++];
    *plan = (RowPlan){.order = order,
                      .first = rigid->point_count,
                      .points = (u8)points,
                      .rotates = class == CLASSES};
    rigid->point_count += points;
    rigid->rotates = rigid->rotates || plan->rotates;
    return plan;
}

void color_row(Rigid *rigid, u32 index)
{
    CHECK(index < rigid->row_count && rigid->plans[index].lanes <= SIMD_LANES);
    const RowPlan *plan = &rigid->plans[index];
    ContactWide *row = &rigid->rows[index];
    u32 spare = rigid->def.body_capacity;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        bool filled = lane < plan->lanes;
        u32 contact = filled ? rigid->color_order[plan->order + lane] : ROW_EMPTY;
        row->a[lane] = filled ? rigid->contacts[contact].a : spare;
        row->b[lane] = filled ? rigid->contacts[contact].b : spare;
        row->contact[lane] = contact;
    }
    row->points = plan->points;
    row->rotates = plan->rotates;
    row->first = plan->first;
    row->extra = ROW_NO_EXTRA;
}

bool color_reserve(Rigid *rigid, u32 rows)
{
    u32 capacity = rigid->row_capacity, listed = capacity;
    bool reserved =
        rigid_reserve(rigid, &rigid->plans, &capacity, rows, sizeof(RowPlan)) &&
        rigid_reserve(rigid, &rigid->bouncing, &listed, rows, sizeof(u32)) &&
        rigid_reserve(rigid, &rigid->rows, &rigid->row_capacity, rows, sizeof(ContactWide));
    reserved = reserved && rigid_reserve(rigid, &rigid->points, &rigid->point_capacity,
                                         rows * MANIFOLD_POINTS, sizeof(PointWide));
    return reserved &&
           (rigid->extra_bodies == 0 ||
            rigid_reserve(rigid, &rigid->extras, &rigid->extra_capacity, rows, sizeof(ExtraWide)));
}

void color_contacts(Rigid *rigid)
{
    rigid->row_count = rigid->point_count = rigid->color_count = 0;
    rigid->rotates = false;
    jobs_run(rigid->jobs, rigid->slots, BODIES_GRAIN, bodies_range, rigid);
    joints_mark(rigid);
    jobs_run(rigid->jobs, rigid->contact_count, CONTACTS_GRAIN, classes_range, rigid);
    /* Counting sort by (colour, descending point count). */
    u32 starts[(COLORS_MAX + 1) * CLASSES + 1] = {0};
    assign(rigid, starts);
    u32 rows = 0;
    for (u32 color = 0; color <= COLORS_MAX; color++) {
        u32 count = 0;
        for (u32 k = color * CLASSES; k < (color + 1) * CLASSES; k++) {
            count += starts[k + 1];
        }
        /* Fast-rotating bodies have rows of their own. */
        u32 turning = starts[color * CLASSES + 1];
        rows += color == OVERFLOW ? count
                                  : (turning + SIMD_LANES - 1) / SIMD_LANES +
                                        (count - turning + SIMD_LANES - 1) / SIMD_LANES;
    }
    if (!color_reserve(rigid, rows)) {
        return;
    }
    for (u32 k = 0; k < (COLORS_MAX + 1) * CLASSES; k++) {
        starts[k + 1] += starts[k];
    }
    u32 ends[COLORS_MAX + 1], turning_ends[COLORS_MAX + 1];
    for (u32 color = 0; color <= COLORS_MAX; color++) {
        turning_ends[color] = starts[color * CLASSES + 1];
        ends[color] = starts[(color + 1) * CLASSES];
    }
    for (u32 i = 0; i < rigid->contact_count; i++) {
        u32 color = rigid->contact_colors[i];
        if (color != NOT_SOLVED) {
            rigid->color_order[starts[color_key(color, rigid->contact_classes[i])]++] = i;
        }
    }
    u32 at = 0;
    for (u32 color = 0; color <= COLORS_MAX; color++) {
        u32 lanes = color == OVERFLOW ? 1 : SIMD_LANES;
        rigid->colors[color] = (ColorRange){.first = rigid->row_count};
        while (at < ends[color]) {
            /* The first of a row has the most points. */
            RowPlan *plan = row_begin(rigid, at);
            u32 end = plan->rotates ? turning_ends[color] : ends[color];
            plan->lanes = (u8)u32_min(lanes, end - at);
            at += plan->lanes;
            rigid->colors[color].turning += plan->rotates != 0;
        }
        rigid->colors[color].count = rigid->row_count - rigid->colors[color].first;
        if (rigid->colors[color].count > 0) {
            rigid->color_count = color + 1;
        }
    }
}
