/*
 * color.c: contacts that share no moving body get the same colour, and eight contacts of a colour
 * become one row of the solver. Colours are solved one after the other, rows of a colour side by
 * side on all threads; since no two rows of a colour write the same body, the order within a colour
 * leaves no trace.
 * Method: greedy colouring with a mask of used colours for each body, in the order of the contacts
 * (Catto, "SIMD Matters", 2024, has the idea for Box2D). Contacts with what nothing moves come
 * last: not sinking into the ground has the last word.
 */
#include "server/physics/rigid/body.h"

enum {
    CLASSES = MANIFOLD_POINTS + 1, /* rows are filled with contacts of like point counts */
    OVERFLOW = COLORS_MAX,
    NOT_SOLVED = 0xff
};

static inline u32 lowest_free(u64 used)
{
    return used == ~0ull ? COLORS_MAX : (u32)__builtin_ctzll(~used);
}

/* The last of the classes is what turns: it may get any number of points in a substep. */
static inline u32 contact_class(const Rigid *rigid, const Contact *contact)
{
    return contact_turns(rigid, contact) ? CLASSES : contact->flags >> CONTACT_COUNT_SHIFT;
}

static inline bool is_soft(const Rigid *rigid, u32 contact)
{
    return contact_is_solved(rigid, contact) && !contact_is_plain(rigid, contact);
}

/* Colours from 0 up for pairs of moving bodies, from `first` up for the rest. */
static void assign(Rigid *rigid)
{
    memset(rigid->colors_used, 0, rigid->slots * sizeof(*rigid->colors_used));
    u32 dynamic_colors = 0;
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        bool moves_a = rigid->states[c->a].inverse_mass > 0.0f;
        bool moves_b = rigid->states[c->b].inverse_mass > 0.0f;
        rigid->contact_colors[i] = NOT_SOLVED;
        if (!moves_a || !moves_b || !is_soft(rigid, i)) {
            continue;
        }
        u32 color = lowest_free(rigid->colors_used[c->a] | rigid->colors_used[c->b]);
        if (color >= COLORS_DYNAMIC) {
            rigid->contact_colors[i] = OVERFLOW;
            continue;
        }
        rigid->colors_used[c->a] |= 1ull << color;
        rigid->colors_used[c->b] |= 1ull << color;
        rigid->contact_colors[i] = (u8)color;
        dynamic_colors = u32_max(dynamic_colors, color + 1);
    }
    u64 below = dynamic_colors == 0 ? 0 : ~0ull >> (64 - dynamic_colors);
    for (u32 i = 0; i < rigid->contact_count; i++) {
        const Contact *c = &rigid->contacts[i];
        bool moves_a = rigid->states[c->a].inverse_mass > 0.0f;
        bool moves_b = rigid->states[c->b].inverse_mass > 0.0f;
        if (moves_a == moves_b || !is_soft(rigid, i)) {
            continue;
        }
        u32 body = moves_a ? c->a : c->b;
        u32 color = lowest_free(rigid->colors_used[body] | below);
        if (color < COLORS_MAX) {
            rigid->colors_used[body] |= 1ull << color;
        }
        rigid->contact_colors[i] = (u8)color;
    }
}

/* By colour; what turns first, then by points, falling. */
static u32 contact_key(const Rigid *rigid, u32 index)
{
    return rigid->contact_colors[index] * CLASSES + CLASSES -
           contact_class(rigid, &rigid->contacts[index]);
}

static ContactWide *row_begin(Rigid *rigid, u32 class)
{
    u32 points = u32_min(class, MANIFOLD_POINTS);
    ContactWide *row = &rigid->rows[rigid->row_count++];
    u32 spare = rigid->def.body_capacity;
    for (u32 lane = 0; lane < SIMD_LANES; lane++) {
        row->a[lane] = row->b[lane] = spare;
        row->contact[lane] = ROW_EMPTY;
    }
    row->points = points;
    row->turns = class == CLASSES;
    row->first = rigid->point_count;
    rigid->point_count += points;
    row->extra = ROW_NO_EXTRA;
    return row;
}

static void row_lane(Rigid *rigid, ContactWide *row, u32 lane, u32 contact)
{
    row->a[lane] = rigid->contacts[contact].a;
    row->b[lane] = rigid->contacts[contact].b;
    row->contact[lane] = contact;
}

bool color_reserve(Rigid *rigid, u32 rows)
{
    bool room = rigid_reserve(rigid, &rigid->rows, &rigid->row_capacity, rows, sizeof(ContactWide));
    room = room && rigid_reserve(rigid, &rigid->points, &rigid->point_capacity,
                                 rows * MANIFOLD_POINTS, sizeof(PointWide));
    return room &&
           (rigid->extra_bodies == 0 ||
            rigid_reserve(rigid, &rigid->extras, &rigid->extra_capacity, rows, sizeof(ExtraWide)));
}

void color_contacts(Rigid *rigid)
{
    rigid->row_count = rigid->point_count = rigid->color_count = 0;
    assign(rigid);
    /* Counting sort by (colour, points falling). */
    u32 starts[(COLORS_MAX + 1) * CLASSES + 1] = {0};
    for (u32 i = 0; i < rigid->contact_count; i++) {
        if (rigid->contact_colors[i] != NOT_SOLVED) {
            starts[contact_key(rigid, i) + 1]++;
        }
    }
    u32 rows = 0;
    for (u32 color = 0; color <= COLORS_MAX; color++) {
        u32 count = 0;
        for (u32 k = color * CLASSES; k < (color + 1) * CLASSES; k++) {
            count += starts[k + 1];
        }
        /* What turns has rows of its own. */
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
        if (rigid->contact_colors[i] != NOT_SOLVED) {
            rigid->color_order[starts[contact_key(rigid, i)]++] = i;
        }
    }
    u32 at = 0;
    for (u32 color = 0; color <= COLORS_MAX; color++) {
        u32 lanes = color == OVERFLOW ? 1 : SIMD_LANES;
        rigid->colors[color].first = rigid->row_count;
        while (at < ends[color]) {
            /* The first of a row has the most points. */
            const Contact *first = &rigid->contacts[rigid->color_order[at]];
            ContactWide *row = row_begin(rigid, contact_class(rigid, first));
            u32 end = row->turns ? turning_ends[color] : ends[color];
            for (u32 lane = 0; lane < lanes && at < end; lane++) {
                row_lane(rigid, row, lane, rigid->color_order[at++]);
            }
        }
        rigid->colors[color].count = rigid->row_count - rigid->colors[color].first;
        if (rigid->colors[color].count > 0) {
            rigid->color_count = color + 1;
        }
    }
}
