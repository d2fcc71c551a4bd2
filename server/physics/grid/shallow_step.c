/* shallow_step.c: one step of a row of tiles. Each row of cells is passed over three times: limited
 * slopes and the half step in time give the values at its faces; fluxes along x; and, when the next
 * row has given the fluxes between them, the change of the row before. Only runs of awake cells are
 * computed; nothing flows into sleeping ones. */
#include "server/physics/grid/shallow_internal.h"

#include <string.h>

/* One side of a face: level, depth, velocity across and along it. */
typedef struct FaceSide {
    f32x8 level, depth, across, along;
} FaceSide;

/* Through a face: volume, momentum across it for the cells before and after it (relative to the
 * pressure of each there), momentum along it. */
typedef struct WaterFlux {
    f32x8 volume, before, after, along;
} WaterFlux;

typedef struct RowPass {
    const Shallow *of;
    f32 *rows[ROW_COUNT];
    f32 ratio; /* s/m: time step by cell */
} RowPass;

SIMD_INLINE f32x8 load_any(const f32 *at)
{
    f32x8 v;
    memcpy(&v, at, sizeof v);
    return v;
}

/* Half the limited slope from the differences to both neighbours: monotonized central, so that no
 * face value lies beyond a neighbour's. */
SIMD_INLINE f32x8 half_slope(f32x8 before, f32x8 after)
{
    f32x8 mean = (before + after) * f32x8_set(0.25f), zero = f32x8_set(0.0f);
    f32x8 most = f32x8_max(f32x8_min(before, after), zero);
    f32x8 least = f32x8_min(f32x8_max(before, after), zero);
    return f32x8_max(f32x8_min(mean, most), least);
}

/* Half the slope of the bed, computed as that of level minus depth: no face lies beyond the bed of
 * a neighbour. Otherwise the level below an edge would raise a wall on it. */
SIMD_INLINE f32x8 within(f32x8 slope, f32x8 before, f32x8 after)
{
    f32x8 zero = f32x8_set(0.0f);
    f32x8 low = f32x8_min(f32x8_max(before, after), zero);
    f32x8 high = f32x8_max(f32x8_min(before, after), zero);
    return f32x8_max(f32x8_min(slope, high), low);
}

/* Harten, Lax and van Leer's flux between hydrostatically reconstructed depths. `content` limits
 * the outflow of either cell: m of depth times m/s. */
SIMD_INLINE WaterFlux face_flux(FaceSide a, FaceSide b, f32x8 content_a, f32x8 content_b,
                                f32x8 gravity)
{
    f32x8 zero = f32x8_set(0.0f), half_g = gravity * f32x8_set(0.5f);
    f32x8 bed = f32x8_max(a.level - a.depth, b.level - b.depth);
    f32x8 ha = f32x8_min(f32x8_max(a.level - bed, zero), a.depth);
    f32x8 hb = f32x8_min(f32x8_max(b.level - bed, zero), b.depth);
    f32x8 wave = f32x8_sqrt(gravity * f32x8_max(ha, hb));
    f32x8 slow = f32x8_min(f32x8_min(a.across, b.across) - wave, zero);
    f32x8 fast = f32x8_max(f32x8_max(a.across, b.across) + wave, zero);
    f32x8 qa = ha * a.across, qb = hb * b.across;
    f32x8 pa = half_g * ha * ha, pb = half_g * hb * hb;
    f32x8 share = slow / (fast - slow + f32x8_set(1e-20f));
    f32x8 volume = qa - share * (qb - qa - fast * (hb - ha));
    f32x8 carried = qa * a.across;
    f32x8 across = carried - share * (qb * b.across - carried + (pb - pa) - fast * (qb - qa));
    volume = f32x8_max(f32x8_min(volume, content_a), -content_b);
    volume = f32x8_and(f32x8_abs(volume) > f32x8_set(SHALLOW_TRICKLE), volume);
    return (WaterFlux){volume, across, across + (pa - pb),
                       volume * f32x8_select(volume > zero, a.along, b.along)};
}

SIMD_INLINE FaceSide load_side(f32 *const rows[4], size_t at)
{
    return (FaceSide){load_any(rows[0] + at), load_any(rows[1] + at), load_any(rows[2] + at),
                      load_any(rows[3] + at)};
}

SIMD_INLINE void store_side(f32 *const rows[4], size_t at, FaceSide side)
{
    f32x8_store(rows[0] + at, side.level);
    f32x8_store(rows[1] + at, side.depth);
    f32x8_store(rows[2] + at, side.across);
    f32x8_store(rows[3] + at, side.along);
}

SIMD_INLINE void store_flux(f32 *const rows[4], size_t at, WaterFlux flux)
{
    f32x8_store(rows[0] + at, flux.volume);
    f32x8_store(rows[1] + at, flux.before);
    f32x8_store(rows[2] + at, flux.after);
    f32x8_store(rows[3] + at, flux.along);
}

/* Eight cells of a row that are dry, as are their neighbours: nothing flows through their faces,
 * whatever the levels there. */
static void faces_of_dry(const RowPass *pass, size_t c)
{
    static const u32 empty[] = {ROW_EAST + 1,     ROW_WEST + 1,  ROW_NORTH + 1, ROW_BED_NEXT,
                                ROW_BED_NEXT + 1, ROW_SOUTH,     ROW_Z_NEXT,    ROW_Z_NEXT + 1,
                                ROW_Z_NEXT + 2,   ROW_Z_NEXT + 3};
    for (u32 n = 0; n < PL_COUNT(empty); n++) {
        f32x8_store(pass->rows[empty[n]] + c, f32x8_set(0.0f));
    }
}

/* Values at the four faces of the cells of a row, half a step ahead; the fluxes through the faces
 * towards the row before, of which the values are in ROW_NORTH. */
static void faces_of_row(const RowPass *pass, i32 k, size_t from, size_t to)
{
    const Shallow *of = pass->of;
    f32 *const *rows = pass->rows;
    size_t row = shallow_at(of, 0, k) - SHALLOW_MARGIN, stride = of->stride;
    const f32 *h = of->now.depth + row, *u = of->now.u + row, *w = of->now.w + row;
    const f32 *b = of->bed + row;
    f32x8 ratio = f32x8_set(pass->ratio), g = f32x8_set(of->gravity), zero = f32x8_set(0.0f);
    f32x8 thin = f32x8_set(of->thin), rate = f32x8_set(SHALLOW_COURANT_FLOW / pass->ratio);
    for (size_t c = from; c < to; c += SIMD_LANES) {
        f32x8 hc = f32x8_load(h + c), uc = f32x8_load(u + c), wc = f32x8_load(w + c);
        f32x8 he = load_any(h + c + 1), hw = load_any(h + c - 1);
        f32x8 hn = f32x8_load(h + c + stride), hs = f32x8_load(h + c - stride);
        bool dry = !i32x8_any(hc + (he + hw) + (hn + hs) > zero);
        rows[ROW_DRY_NEXT][c] = dry ? 1.0f : 0.0f;
        if (dry) {
            faces_of_dry(pass, c);
            continue;
        }
        f32x8 bc = f32x8_load(b + c), lc = hc + bc;
        f32x8 bw = bc - load_any(b + c - 1), be = load_any(b + c + 1) - bc;
        f32x8 bs = bc - f32x8_load(b + c - stride), bn = f32x8_load(b + c + stride) - bc;
        f32x8 hx = half_slope(hc - hw, he - hc), hz = half_slope(hc - hs, hn - hc);
        f32x8 lx = hx + within(half_slope((hc - hw) + bw, (he - hc) + be) - hx, bw, be);
        f32x8 lz = hz + within(half_slope((hc - hs) + bs, (hn - hc) + bn) - hz, bs, bn);
        f32x8 smooth = hc * f32x8_set(SHALLOW_SMOOTH);
        i32x8 flat_x = f32x8_abs(be - bw) < smooth, flat_z = f32x8_abs(bn - bs) < smooth;
        hx = f32x8_and(flat_x, hx);
        lx = f32x8_and(flat_x, lx);
        hz = f32x8_and(flat_z, hz);
        lz = f32x8_and(flat_z, lz);
        f32x8 ux = half_slope(uc - load_any(u + c - 1), load_any(u + c + 1) - uc);
        f32x8 wx = half_slope(wc - load_any(w + c - 1), load_any(w + c + 1) - wc);
        f32x8 uz = half_slope(uc - f32x8_load(u + c - stride), f32x8_load(u + c + stride) - uc);
        f32x8 wz = half_slope(wc - f32x8_load(w + c - stride), f32x8_load(w + c + stride) - wc);
        ux = f32x8_and(flat_x, ux);
        wx = f32x8_and(flat_x, wx);
        uz = f32x8_and(flat_z, uz);
        wz = f32x8_and(flat_z, wz);
        f32x8 wet = f32x8_and(hc > thin, ratio);
        f32x8 dh = wet * (uc * hx + wc * hz + hc * (ux + wz));
        f32x8 du = wet * (uc * ux + wc * uz + g * lx), dw = wet * (uc * wx + wc * wz + g * lz);
        f32x8 hm = hc - dh, lm = lc - dh, um = uc - du, wm = wc - dw;
        f32x8 east = f32x8_max(hm + hx, zero), west = f32x8_max(hm - hx, zero);
        f32x8 north = f32x8_max(hm + hz, zero), south = f32x8_max(hm - hz, zero);
        store_side(rows + ROW_EAST, c, (FaceSide){lm + lx, east, um + ux, wm + wx});
        store_side(rows + ROW_WEST, c, (FaceSide){lm - lx, west, um - ux, wm - wx});
        if (of->counts) {
            f32x8_store(rows[ROW_SOUTH] + c, south);
        }
        f32x8_store(rows[ROW_BED_NEXT] + c, g * (east + west) * lx);
        f32x8_store(rows[ROW_BED_NEXT + 1] + c, g * (north + south) * lz);
        FaceSide before = load_side(rows + ROW_NORTH, c),
                 after = {lm - lz, south, wm - wz, um - uz};
        store_flux(rows + ROW_Z_NEXT, c, face_flux(before, after, hs * rate, hc * rate, g));
        store_side(rows + ROW_NORTH, c, (FaceSide){lm + lz, north, wm + wz, um + uz});
    }
}

/* Fluxes through the faces towards −x of cells [from, to] of row k. */
static void fluxes_of_row(const RowPass *pass, i32 k, size_t from, size_t to)
{
    const Shallow *of = pass->of;
    const f32 *h = of->now.depth + shallow_at(of, 0, k) - SHALLOW_MARGIN;
    f32x8 g = f32x8_set(of->gravity), rate = f32x8_set(SHALLOW_COURANT_FLOW / pass->ratio);
    for (size_t c = from; c <= to; c += SIMD_LANES) {
        if (pass->rows[ROW_DRY_NEXT][c] != 0.0f) {
            store_flux(pass->rows + ROW_X, c, (WaterFlux){0});
            continue;
        }
        FaceSide a = load_side(pass->rows + ROW_EAST, c - 1);
        FaceSide b = load_side(pass->rows + ROW_WEST, c);
        store_flux(pass->rows + ROW_X, c,
                   face_flux(a, b, load_any(h + c - 1) * rate, f32x8_load(h + c) * rate, g));
    }
}

typedef struct Most {
    f32x8 speed, depth; /* m/s, m */
} Most;

/* Implicit friction of the bed, and damping: factor on the velocity. */
SIMD_INLINE f32x8 slowing(const Shallow *of, f32x8 h, f32x8 u, f32x8 w)
{
    f32x8 one = f32x8_set(1.0f), thin = f32x8_set(of->thin);
    f32x8 drag =
        f32x8_set(of->def.friction * of->time_s) * f32x8_sqrt(u * u + w * w) / f32x8_max(h, thin);
    return one / (one + drag + f32x8_set(of->def.damping * of->time_s));
}

/* New values of cells [from, to) of row k, whose fluxes are in ROW_X, ROW_Z, ROW_Z_NEXT. */
static void change_of_row(const RowPass *pass, i32 k, size_t from, size_t to, Most *most)
{
    const Shallow *of = pass->of;
    f32 *const *r = pass->rows;
    size_t row = shallow_at(of, 0, k) - SHALLOW_MARGIN;
    const f32 *h = of->now.depth + row, *u = of->now.u + row, *w = of->now.w + row;
    f32 *h2 = of->next.depth + row, *u2 = of->next.u + row, *w2 = of->next.w + row;
    f32x8 ratio = f32x8_set(pass->ratio), zero = f32x8_set(0.0f);
    f32x8 thin2 = f32x8_set(of->thin * of->thin), limit = f32x8_set(of->speed_limit);
    f32x8 creep = f32x8_set(SHALLOW_CREEP_M_S);
    bool slows = of->def.friction > 0.0f || of->def.damping > 0.0f;
    const i32x8 lanes = {0, 1, 2, 3, 4, 5, 6, 7};
    i32 last = (i32)of->def.size[0] + SHALLOW_MARGIN; /* ghosts do not count */
    for (size_t c = from; c < to; c += SIMD_LANES) {
        if (r[ROW_DRY][c] != 0.0f) {
            f32x8_store(h2 + c, zero);
            f32x8_store(u2 + c, zero);
            f32x8_store(w2 + c, zero);
            continue;
        }
        f32x8 hc = f32x8_load(h + c);
        f32x8 out = (load_any(r[ROW_X] + c + 1) - f32x8_load(r[ROW_X] + c)) +
                    (f32x8_load(r[ROW_Z_NEXT] + c) - f32x8_load(r[ROW_Z] + c));
        f32x8 x = (load_any(r[ROW_X + 1] + c + 1) - f32x8_load(r[ROW_X + 2] + c)) +
                  (f32x8_load(r[ROW_Z_NEXT + 3] + c) - f32x8_load(r[ROW_Z + 3] + c)) +
                  f32x8_load(r[ROW_BED] + c);
        f32x8 z = (load_any(r[ROW_X + 3] + c + 1) - f32x8_load(r[ROW_X + 3] + c)) +
                  (f32x8_load(r[ROW_Z_NEXT + 1] + c) - f32x8_load(r[ROW_Z + 2] + c)) +
                  f32x8_load(r[ROW_BED + 1] + c);
        f32x8 hn = f32x8_max(hc - ratio * out, zero), square = hn * hn;
        f32x8 inverse = (hn + hn) / (square + f32x8_max(square, thin2));
        f32x8 un = (hc * f32x8_load(u + c) - ratio * x) * inverse;
        f32x8 wn = (hc * f32x8_load(w + c) - ratio * z) * inverse;
        if (slows) {
            f32x8 factor = slowing(of, hn, un, wn);
            un *= factor;
            wn *= factor;
        }
        un = f32x8_max(f32x8_min(un, limit), -limit);
        wn = f32x8_max(f32x8_min(wn, limit), -limit);
        un = f32x8_and(f32x8_abs(un) > creep, un);
        wn = f32x8_and(f32x8_abs(wn) > creep, wn);
        f32x8_store(h2 + c, hn);
        f32x8_store(u2 + c, un);
        f32x8_store(w2 + c, wn);
        i32x8 counts = lanes < last - (i32)c;
        f32x8 speed = f32x8_max(f32x8_abs(un), f32x8_abs(wn));
        most->speed = f32x8_max(f32x8_and(counts, speed), most->speed);
        most->depth = f32x8_max(f32x8_and(counts, hn), most->depth);
    }
}

static void swap_rows(RowPass *pass, u32 a, u32 b, u32 count)
{
    for (u32 n = 0; n < count; n++) {
        f32 *row = pass->rows[a + n];
        pass->rows[a + n] = pass->rows[b + n];
        pass->rows[b + n] = row;
    }
}

/* Nothing flows between a row of these tiles and sleeping tiles of the adjacent row of tiles. */
static void shut_z(const RowPass *pass, u32 first_tile, u32 end_tile, i32 tile_z)
{
    for (u32 t = first_tile; t < end_tile; t++) {
        for (u32 n = 0; shallow_is_frozen(pass->of, (i32)t, tile_z) && n < 4; n++) {
            memset(pass->rows[ROW_Z_NEXT + n] + SHALLOW_MARGIN + (size_t)t * SHALLOW_COLUMNS, 0,
                   SHALLOW_COLUMNS * sizeof(f32));
        }
    }
}

static void shut_x(const RowPass *pass, size_t column)
{
    for (u32 n = 0; n < 4; n++) {
        pass->rows[ROW_X + n][column] = 0.0f;
    }
}

static f32 greatest(f32x8 v)
{
    f32 most = 0.0f;
    for (u32 i = 0; i < SIMD_LANES; i++) {
        most = f32_max(most, v[i]);
    }
    return most;
}

/* Cells beyond the end of a row, which whole vectors cover: they carry no flow. */
static void empty_tail(const Shallow *of, i32 k)
{
    size_t at = shallow_at(of, (i32)of->def.size[0], k);
    size_t bytes = (of->stride - SHALLOW_MARGIN - of->def.size[0]) * sizeof(f32);
    memset(of->next.depth + at, 0, bytes);
    memset(of->next.u + at, 0, bytes);
    memset(of->next.w + at, 0, bytes);
}

/* Neighbouring tiles of a row that are awake. */
typedef struct Run {
    u32 first_tile, end_tile, tile_z;
} Run;

static void step_run(RowPass *pass, Run run)
{
    const Shallow *of = pass->of;
    u32 columns = of->def.size[0];
    i32 first = (i32)(run.tile_z * SHALLOW_ROWS);
    i32 end = i32_min(first + SHALLOW_ROWS, (i32)of->def.size[1]);
    size_t from = SHALLOW_MARGIN + (size_t)run.first_tile * SHALLOW_COLUMNS;
    size_t to = SHALLOW_MARGIN + u32_min(run.end_tile * SHALLOW_COLUMNS, (columns + 7u) & ~7u);
    size_t to_faces = to + SHALLOW_MARGIN;
    bool shut_west = shallow_is_frozen(of, (i32)run.first_tile - 1, (i32)run.tile_z);
    bool shut_east = shallow_is_frozen(of, (i32)run.end_tile, (i32)run.tile_z);
    Most tiles[HEIGHTS_SIDE_MAX / SHALLOW_COLUMNS] = {0};
    for (i32 k = first - 1; k <= end; k++) {
        faces_of_row(pass, k, from - SHALLOW_MARGIN, to_faces);
        if (k == first) {
            shut_z(pass, run.first_tile, run.end_tile, (i32)run.tile_z - 1);
        } else if (k == end) {
            shut_z(pass, run.first_tile, run.end_tile, (i32)run.tile_z + 1);
        }
        for (u32 t = run.first_tile; k > first && t < run.end_tile; t++) {
            size_t left = SHALLOW_MARGIN + (size_t)t * SHALLOW_COLUMNS;
            size_t right = left + SHALLOW_COLUMNS < to ? left + SHALLOW_COLUMNS : to;
            change_of_row(pass, k - 1, left, right, &tiles[t - run.first_tile]);
        }
        if (k > first) {
            empty_tail(of, k - 1);
        }
        if (k > first && of->counts) {
            shallow_tally_row(of, pass->rows, k - 1, &of->tallies[run.tile_z]);
        }
        if (k >= first && k < end) {
            fluxes_of_row(pass, k, from, to);
            if (shut_west) {
                shut_x(pass, from);
            }
            if (shut_east) {
                shut_x(pass, to);
            }
        }
        if (k >= first && k < end && of->counts) {
            shallow_tally_faces(of, pass->rows, k, &of->tallies[run.tile_z]);
        }
        swap_rows(pass, ROW_Z, ROW_Z_NEXT, 4);
        swap_rows(pass, ROW_BED, ROW_BED_NEXT, 2);
        swap_rows(pass, ROW_DRY, ROW_DRY_NEXT, 1);
    }
    for (u32 t = run.first_tile; t < run.end_tile; t++) {
        size_t tile = (size_t)run.tile_z * of->tiles[0] + t;
        of->tile_speed[tile] = greatest(tiles[t - run.first_tile].speed);
        of->tile_depth[tile] = greatest(tiles[t - run.first_tile].depth);
    }
}

void shallow_step_rows(void *context, u32 first, u32 end, u32 worker)
{
    Shallow *of = context;
    RowPass pass = {.of = of, .ratio = of->time_s / of->def.cell_m};
    for (u32 n = 0; n < ROW_COUNT; n++) {
        pass.rows[n] = of->scratch + ((size_t)worker * ROW_COUNT + n) * of->stride;
    }
    for (u32 z = first; z < end; z++) {
        for (u32 x = 0; x < of->tiles[0]; x++) {
            Run run = {x, x, z};
            while (x < of->tiles[0] && !shallow_is_frozen(of, (i32)x, (i32)z)) {
                run.end_tile = ++x;
            }
            if (run.end_tile > run.first_tile) {
                step_run(&pass, run);
            }
        }
    }
}
