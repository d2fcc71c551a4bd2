"""The code of grids and scalars."""

import os

import zstandard

from chunks import GRID2, GRID3
from mixing import RATES, mixed_bit
from rangecoder import RangeDecoder

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/codec/grid_tables.bin")
ROWS, SLOTS, FILTERS, WEIGHTS, SETS = 7297, 16, 16, 32, 256
PAIRS = 1 << 32
KINDS = {
    "SAME": (16, 64, 64),
    "BASE": (4, 17, 1),
    "OWN": (16, 8, 1),
    "WEIGHT": (128, 512, 16),
    "EMPTY": (32, 8, 4),
    "CELL0": (216, 384, 324),
    "CELL1": (216, 384, 324),
    "VOXEL0": (864, 768, 500),
    "VOXEL1": (864, 768, 500),
    "CHANGED": (16, 64, 16),
    "SCALAR": (33, 132, 33),
}
# Cells (dx, dy) whose sum, less the middle for each of them, is a feature; exchanged ones as well.
RINGS = [(1, 0), (1, 1), (2, 0), (2, 1), (2, 2), (3, 0), (3, 1)]
NEXT = {GRID2: [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0)],
        GRID3: [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]}
BEFORE = {GRID2: [(-1, 0, 0), (0, -1, 0), (-1, -1, 0), (1, -1, 0), (-2, 0, 0), (0, -2, 0)],
          GRID3: [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (-1, -1, 0), (-1, 0, -1), (0, -1, -1), (1, -1, 0),
                  (1, 0, -1), (0, 1, -1)]}
AROUND = {GRID2: [(-1, 0, 0), (0, -1, 0), (-1, -1, 0), (1, -1, 0), (1, 0, 0), (0, 1, 0), (1, 1, 0), (-1, 1, 0)],
          GRID3: [(-1, 0, 0), (0, -1, 0), (0, 0, -1), (1, 0, 0), (0, 1, 0), (0, 0, 1)]}


def load_tables():
    with open(TABLES, "rb") as file:
        raw = zstandard.ZstdDecompressor().decompress(file.read(), max_output_size=1 << 22)
    n = ROWS * SLOTS
    assert len(raw) == 3 * n + FILTERS * WEIGHTS * 2 + SETS * 16
    chances = [(raw[i] * 256 + raw[n + i]) * 64 + 32 for i in range(n)]
    rates = [RATES[raw[2 * n + i]] for i in range(n)]
    weights = [int.from_bytes(raw[at:at + 2], "little", signed=True) for at in range(3 * n, len(raw), 2)]
    filters, sets = weights[:FILTERS * WEIGHTS], weights[FILTERS * WEIGHTS:]
    return (chances, rates, [filters[WEIGHTS * i:WEIGHTS * (i + 1)] for i in range(FILTERS)],
            [sets[8 * i:8 * i + 4] for i in range(SETS)])


def first_slots():
    """Of each kind: the first slot of each input."""
    first, row = {}, 0
    for kind, contexts in KINDS.items():
        first[kind] = []
        for count in contexts:
            first[kind].append(row * SLOTS)
            row += count
    assert row == ROWS
    return first


START = load_tables()
FIRST = first_slots()


def bits(v):
    return v.bit_length()


def wrap(v):
    """modulo 2^32, read as a signed number"""
    v &= PAIRS - 1
    return v - PAIRS if v >> 31 else v


def limit(v, low, high):
    return low if v < low else high if v > high else v


def ho(v, m):
    if v < 4:
        return v
    n = v.bit_length()
    return min(2 * n - 2 + (v >> (n - 2) & 1), m)


def sg(v, h, i):
    size = min(((abs(v) >> i).bit_length() + 1) // 2, h)
    return h - size if v < 0 else h + size


class Coder(RangeDecoder):
    def __init__(self, code, chain):
        super().__init__(code)
        self.chances, self.rates, self.filters, self.weights = chain.setdefault(
            "grids", (list(START[0]), list(START[1]), [list(w) for w in START[2]], [list(w) for w in START[3]]))
        self.sets = None  # of a number of a voxel: those of its slots

    def bit_at(self, s0, s1, s2):
        if self.sets:
            return mixed_bit(self, self.chances, self.rates, (s0, s1, s2), self.sets[s0 % SLOTS])
        chances, rates = self.chances, self.rates
        b = self.bit((2 * chances[s0] + chances[s1] + chances[s2]) >> 2)
        for s in (s0, s1, s2):
            r, chance = rates[s], chances[s]
            if b:
                u = 65535 - chance
                chances[s] = 65535 - (u - (u * r >> 16))
            else:
                chances[s] = chance - (chance * r >> 16)
            rates[s] = max(r - (r * r >> 16), 300)
        return b

    def flag(self, kind, contexts, slot=0):
        s0, s1, s2 = (first + SLOTS * context + slot for first, context in zip(FIRST[kind], contexts))
        return self.bit_at(s0, s1, s2)

    def number(self, kind, contexts):
        (s0, s1, s2), (k0, k1, k2) = FIRST[kind], contexts
        s0, s1, s2 = s0 + SLOTS * k0, s1 + SLOTS * k1, s2 + SLOTS * k2
        n = 0
        while n < 32:
            slot = min(n, 9)
            if not self.bit_at(s0 + slot, s1 + slot, s2 + slot):
                break
            n += 1
        if n == 0:
            return 0
        slot = 10 + min(n - 1, 2)
        negative, value = self.bit_at(s0 + slot, s1 + slot, s2 + slot), 1
        if n >= 2:
            slot = 13 + min(n - 2, 2)
            value = 2 | self.bit_at(s0 + slot, s1 + slot, s2 + slot)
            value = value << (n - 2) | self.raw(n - 2)
        return wrap(-value if negative else value)


def order(v):
    """ord(v); its own inverse is back()"""
    return ~v & (PAIRS - 1) if v >> 31 else v | 1 << 31


def back(v):
    return v & ~(1 << 31) if v >> 31 else ~v & (PAIRS - 1)


def read_scalars(code, n, older, chain):
    """older: flat, newest first."""
    c, states = Coder(code, chain), len(older)
    past = [[element[0] for element in state] for state in older] or [[0] * n]
    while len(past) < 3:
        past.append(past[-1])
    made, history, last = [], 0, 0
    for x, y, z in zip(*past):
        q = 2 * (x != y) + (y != z)
        changed = c.flag("CHANGED", (4 * q + states, 4 * (history & 15) + q,
                                     8 * (history >> 7 & 1) + 4 * (history & 1) + q))
        history = history << 1 | changed
        if changed:
            a, b, d = order(x), order(y), order(z)
            number = c.number("SCALAR", (bits(abs(wrap(a - b))), 4 * bits(abs(wrap(a - 2 * b + d))) + states, last))
            last = bits(abs(number))
            x = back((2 * a - b + number) % PAIRS)
        made.append([x])
    return made


class Shape:
    """A chunk's place in the field, and where the cells in and around it are: those of a picture of the
    chunk with a border of `edge` cells lie in one list."""

    def __init__(self, field, chunk, in_span):
        edge, nz, size = (3, 1, 16) if field.kind == GRID2 else (1, field.dims[2], 8)
        deep = 0 if field.kind == GRID2 else edge
        dims = (field.dims[0], field.dims[1], nz)
        counts = [-(-d // size) for d in dims[:2]]
        at = (chunk % counts[0], chunk // counts[0] % counts[1], chunk // (counts[0] * counts[1]))

        def chunk_at(i, j, k):
            return (k * counts[1] + j) * counts[0] + i

        def sizes(i, j, k):
            return [min(size, d - size * a) for d, a in zip(dims, (i, j, k))]

        self.nx, self.ny, self.nz = sizes(*at)
        self.count = self.nx * self.ny * self.nz
        self.before = [chunk_at(*(a - (n == axis) for n, a in enumerate(at))) if at[axis] > 0 else None
                       for axis in range(3)]
        self.wide = self.nx + 2 * edge
        self.layer = self.wide * (self.ny + 2 * edge)
        self.origin = deep * self.layer + edge * self.wide + edge
        self.inside = [self.at(x, y, z) for z in range(self.nz) for y in range(self.ny) for x in range(self.nx)]
        self.places = []  # (chunk, index in it) of every cell of the list
        base = [size * a for a in at]
        for z in range(-deep, self.nz + deep):
            for y in range(-edge, self.ny + edge):
                for x in range(-edge, self.nx + edge):
                    p = [limit(v + o, 0, d - 1) for v, o, d in zip((x, y, z), base, dims)]
                    there = [v // size for v in p]
                    if chunk_at(*there) not in in_span:
                        p = [o + limit(v, 0, n - 1) for v, o, n in zip((x, y, z), base, (self.nx, self.ny, self.nz))]
                        there = at
                    n = sizes(*there)
                    i, j, k = (v - size * t for v, t in zip(p, there))
                    self.places.append((chunk_at(*there), (k * n[1] + j) * n[0] + i))

    def at(self, x, y, z):
        return self.origin + self.step(x, y, z)

    def step(self, dx, dy, dz):
        return dz * self.layer + dy * self.wide + dx

    def around(self, picture):
        return [picture[chunk][i] for chunk, i in self.places]


class GridDecoder:
    def __init__(self, field, chunks, older, chain):
        """older: for each older state, newest first, for each chunk its elements."""
        self.chain = chain
        self.field, self.chunks, self.states = field, chunks, len(older)
        self.kind, self.d = field.kind, int(field.kind == GRID3)
        self.most = 255 if self.d else 65535
        in_span = set(chunks)
        self.shape = {c: Shape(field, c, in_span) for c in chunks}
        # past[k][s][chunk]: values of channel k in older state s
        self.past = [[{c: [e[k] for e in state] for c, state in zip(chunks, states)} for states in older] or
                     [{c: [0] * self.shape[c].count for c in chunks}] for k in range(field.channels)]

    def read(self, code):
        self.coder = Coder(code, self.chain)
        self.read_same()
        channels = range(self.field.channels)
        self.foretold, self.now, self.missed, self.space = [], [], [], []
        for k in channels:
            weights = self.filter(k, 0, self.time_features()) if self.states else None
            bases = None if self.states else self.bases(k)
            self.space.append(self.filter(k, 1, len(BEFORE[self.kind]) + len(AROUND[self.kind]) + k))
            self.foretold.append({c: self.foretell(k, c, weights, bases) for c in self.chunks})
            self.now.append({c: list(t) for c, t in self.foretold[k].items()})
            self.missed.append({c: [0] * self.shape[c].count for c in self.chunks})
        for c in self.chunks:
            if not self.same[c]:
                others = None
                for k in channels:
                    others = self.cells(k, c, others)
        return [[[self.now[k][c][i] >> 4 for k in channels] for i in range(self.shape[c].count)]
                for c in self.chunks]

    def read_same(self):
        self.same = {}
        for c in self.chunks:
            r = o = 0
            if self.states > 1:
                r = 1 if any(past[0][c] != past[1][c] for past in self.past) else 2
            o = int(not any(any(past[0][c]) for past in self.past))
            w, n, v = (0 if b not in self.same else 1 + self.same[b] for b in self.shape[c].before)
            u = 4 * r + 2 * o + self.d
            self.same[c] = self.coder.flag("SAME", (u, 4 * (4 * w + n) + v, 4 * u + w))

    def bases(self, k):
        base, length, made = 0, 0, {}
        for c in self.chunks:
            if not self.same[c]:
                number = self.coder.number("BASE", (2 * self.d + k, length, 0))
                length = min(bits(abs(number)), 16)
                base = made[c] = limit(base + number, 0, self.most)
        return made

    def time_features(self):
        return (self.states if self.d else (0, 7, 10, 11)[self.states])

    def filter(self, k, space, count):
        s, which = self.states, 2 * self.d + k
        first = self.coder.filters[8 * self.d + 4 * k + s]  # in a chain: the last one sent
        weights = [(v + 4) >> 3 for v in first[16 * space:16 * space + count]]
        if self.coder.flag("OWN", (4 * which + s, 4 * space + which, 0), space):
            length = 0
            for i in range(count):
                p = 16 * space + i
                number = self.coder.number("WEIGHT", (32 * which + p, 32 * (4 * which + s) + p, length))
                length = min(bits(abs(number)), 15)
                weights[i] = limit(weights[i] + number, -4095, 4095)
                first[p] = 8 * weights[i]
        return weights

    def foretell(self, k, c, weights, bases):
        """T of a chunk, in sixteenths."""
        past, shape = self.past[k], self.shape[c]
        if self.same[c]:
            return [16 * v for v in past[0][c]]
        if bases is not None:
            return [16 * bases[c]] * shape.count
        pictures = [shape.around(state) for state in past]
        a = pictures[0]
        made = []
        if self.d:
            rings, older_rings = [[shape.step(*n) for n in NEXT[GRID3]]], []
        else:
            rings = [[shape.step(x, y, 0) for x, y in
                      sorted({(i * p, j * q) for i, j in (ring, ring[::-1]) for p in (1, -1) for q in (1, -1)})]
                     for ring in RINGS]
            older_rings = rings[:2]

        def sums(picture, ring):
            return sum(picture[at + step] for step in ring) - len(ring) * picture[at]
        for at in shape.inside:
            features = [sums(a, ring) for ring in rings]
            if self.states > 1:
                b = pictures[1]
                features += [b[at] - a[at]] + [sums(b, ring) for ring in older_rings]
            if self.states > 2:
                features.append(pictures[2][at] - a[at])
            assert len(features) == len(weights)
            total = wrap(sum(w * f for w, f in zip(weights, features)) + 8)
            made.append(limit(16 * a[at] + (total >> 4), 0, 16 * self.most))
        return made

    def cells(self, k, c, others):
        """The values of one chunk and channel; returns N − T of the chunk with its border."""
        shape, kind = self.shape[c], self.kind
        t, n, e = (shape.around(p[k]) for p in (self.foretold, self.now, self.missed))
        alone = shape.before[0] not in self.shape
        read = self.read_voxel if self.d else self.read_cell
        name = ("VOXEL%d" if self.d else "CELL%d") % k
        steps = [[shape.step(*v) for v in places] for places in (BEFORE[kind], AROUND[kind], NEXT[kind])]
        for z in range(shape.nz):
            for y in range(shape.ny):
                row = shape.at(0, y, z)
                up = row - shape.wide
                if alone:
                    error = n[up] - t[up]
                    n[row - 1], e[row - 1] = t[row - 1] + error, e[up]
                    if not self.d:
                        n[row - 2] = t[row - 2] + error
                if y > 0:
                    end = up + shape.nx
                    n[end], e[end] = t[end] + n[end - 1] - t[end - 1], e[end - 1]
                if self.d and self.empty(k, shape, row, t, n):
                    for at in range(row, row + shape.nx):
                        n[at] = e[at] = 0
                    continue
                for at in range(row, row + shape.nx):
                    here = t[at]
                    values = [n[at + s] - here for s in steps[0]] + [t[at + s] - here for s in steps[1]]
                    if k == 1:
                        values.append(others[at])
                    total = wrap(sum(w * v for w, v in zip(self.space[k], values)) + 128)
                    x = limit(here + (total >> 8), 0, 16 * self.most)
                    n[at] = 16 * read(name, shape, at, x, t, e, steps[2])
                    e[at] = limit(n[at] - x, -32767, 32767)
        self.now[k][c] = [n[at] for at in shape.inside]
        self.missed[k][c] = [e[at] for at in shape.inside]
        return [a - b for a, b in zip(n, t)]

    def empty(self, k, shape, row, t, n):
        """Whether the code says that a row of voxels is all zero."""
        wide, layer, nx = shape.wide, shape.layer, shape.nx

        def any_of(picture, at, first=0, last=nx):
            return any(picture[at + first:at + last])
        if n[row - 1] or any(any_of(t, row + s) for s in (0, -wide, wide, -layer, layer)) or \
                any_of(n, row - wide) or any_of(n, row - layer):
            return False
        g = 4 * k + 2 * int(t[row - 1] != 0 or t[row + nx] != 0)
        g += int(any(any_of(t, row + i + j, -1, nx + 1) for i in (-wide, wide) for j in (-layer, layer)))
        j = 2 * int(n[row - 1 - wide] != 0) + int(n[row - 1 - layer] != 0)
        return self.coder.flag("EMPTY", (4 * g + j, g, self.states))

    def value(self, name, x, contexts, at_set=None):
        b = (x + 8) >> 4
        if at_set is not None:
            self.coder.sets = self.coder.weights[16 * at_set:16 * at_set + 16]
        number = self.coder.number(name, contexts)
        self.coder.sets = None
        return limit(b - number if x - 16 * b < 0 else b + number, 0, self.most)

    def read_cell(self, name, shape, at, x, t, e, around):
        f = x - 16 * ((x + 8) >> 4)
        sign, phase = -1 if f < 0 else 1, min(abs(f) // 2, 3)
        ew, en = e[at - 1], e[at - shape.wide]
        rough = abs(t[at - 1] + t[at + 1] - 2 * t[at]) + abs(t[at - shape.wide] + t[at + shape.wide] - 2 * t[at])
        rho = ho(rough // 4, 11)
        z = ho(2 * abs(ew) + 2 * abs(en) + abs(e[at + 1 - shape.wide]) + abs(e[at - 1 - shape.wide]), 23)
        m = min((z + 1) // 3, 7)
        return self.value(name, x, (9 * z + abs(f), 4 * (8 * rho + m) + phase,
                                    4 * (9 * sg(sign * ew, 4, 2) + sg(sign * en, 4, 2)) + phase))

    def read_voxel(self, name, shape, at, x, t, e, around):
        f = x - 16 * ((x + 8) >> 4)
        sign, phase = -1 if f < 0 else 1, min(abs(f) // 2, 3)
        ew, en, eu = e[at - 1], e[at - shape.wide], e[at - shape.layer]
        rho = ho(sum(abs(t[at + s] - t[at]) for s in around) // 4, 11)
        z = ho(2 * abs(ew) + 2 * abs(en) + 2 * abs(eu) + abs(e[at + 1 - shape.wide]), 23)
        m, level = min((z + 1) // 3, 7), min((x + 8) >> 4, 3)
        return self.value(name, x, (
            9 * (24 * level + z) + abs(f), 4 * (8 * (4 * (rho // 2) + level) + m) + phase,
            4 * (5 * (5 * sg(sign * ew, 2, 1) + sg(sign * en, 2, 1)) + sg(sign * eu, 2, 1)) + phase),
            8 * int(name[-1]) + m)
