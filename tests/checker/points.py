"""The code of points."""

import os

import zstandard

from chunks import MIDDLE

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/codec/point_tables.bin")
LIMIT = (1 << 28) - 1
PAIRS = 1 << 32


ROWS, SYMBOLS, FLAGS = 1441, 16, 96
FINE = 20
FINE_SIZES = [(1, 0), (2, 0), (3, 0), (4, 1), (6, 1)]  # and raw bits; each positive, negative
FINE_LARGE = {11: (8, 2), 12: (12, 2), 13: (16, 4), 14: (32, 5)}


def load_tables():
    n = ROWS * SYMBOLS + FLAGS
    with open(TABLES, "rb") as file:
        raw = zstandard.ZstdDecompressor().decompress(file.read(), max_output_size=2 * n)
    assert len(raw) == 2 * n
    numbers = [raw[i] << 8 | raw[n + i] for i in range(n)]
    return [numbers[SYMBOLS * i:SYMBOLS * (i + 1)] for i in range(ROWS)], numbers[ROWS * SYMBOLS:]


START = load_tables()


def clamp(x, m):
    return max(-m, min(m, x))


def clamp3(v, m):
    return [clamp(x, m) for x in v]


def sub(a, b):
    return [x - y for x, y in zip(a, b)]


def size(v):
    return sum(abs(x) for x in v)


def sizes(v, m):
    return [min(abs(x), m) for x in v]


def magnitude(u):
    """class(u)"""
    if u < 4:
        return u
    n = u.bit_length()
    return min(79, 4 * (n - 2) + (u >> (n - 3) & 3))


def low_of(u):
    return max(0, min(u.bit_length(), 21) - 9)


def pace(a, u):
    return (4 * a > u) + (2 * a > u) + (a > u) + (a > 2 * u)


class Coder:
    """The range decoder from the front, raw bits from the end, the chances."""

    def __init__(self, code, chain):
        self.code, self.at, self.raw_at = code, 4, 0
        self.range, self.value = PAIRS - 1, int.from_bytes((bytes(code) + bytes(4))[:4], "big")
        self.ends, self.flags = chain.setdefault("points", ([list(row) for row in START[0]], list(START[1])))
        self.ratio, self.sums, self.total, self.points = [64] * 3, [0] * 3, [0] * 3, 0

    def take(self, first, share, k):
        unit = self.range >> k
        self.value = (self.value - unit * first) % PAIRS
        self.range = unit * share
        while self.range < 1 << 24:
            byte = self.code[self.at] if self.at < len(self.code) else 0
            self.at += 1
            self.value = (self.value << 8 | byte) % PAIRS
            self.range <<= 8

    def flag(self, number):
        chance = self.flags[number]
        bit = int(self.value < (self.range >> 16) * chance)
        self.take(*((0, chance) if bit else (chance, 65536 - chance)), 16)
        self.flags[number] += ((65503 if bit else 32) - chance) >> 5
        return bit

    def symbol(self, a, b):
        a, b = self.ends[a], self.ends[b]
        ends = [(x + y + 1) >> 1 for x, y in zip(a, b)]
        v = min(self.value // (self.range >> 15), 32767)
        s = next(i for i, end in enumerate(ends) if end > v)
        first = ends[s - 1] if s > 0 else 0
        self.take(first, ends[s] - first, 15)
        for row in (a, b):
            for i in range(SYMBOLS):
                row[i] += (i + (1 if i < s else 32753) - row[i]) >> 7
        return s

    def raw(self, count):
        """From the end, the lowest bit first."""
        value = 0
        for k in range(count):
            i = len(self.code) - 1 - (self.raw_at >> 3)
            bit = self.code[i] >> (self.raw_at & 7) & 1 if i >= 0 else 0
            value |= bit << k
            self.raw_at += 1
        return value

    def number(self, a, b, low):
        s = self.symbol(a, b)
        if s == 0:
            if low == 0:
                return 0
            raw = self.raw(low + 1)
            value = raw >> 1
        elif s < 15:
            n = low + ((s + 1) >> 1)
            more = n - 2 if n > 1 else 0
            raw = self.raw(more + 1)
            value = 1 if n == 1 else (2 | (s + 1) & 1) << more | raw >> 1
        else:
            n = min(self.raw(5), 29)
            raw = self.raw(n + 1)
            value = 1 << n | raw >> 1
        if raw & 1:
            return -value if low == 0 else -value - 1
        return value

    def fine(self, a, b):
        s = self.symbol(a, b)
        if s == 0:
            return 0
        if s <= 10:
            value, raw = FINE_SIZES[s - 1 >> 1]
            value += self.raw(raw)
            return value if s & 1 else -value
        if s < 15:
            value, raw = FINE_LARGE[s]
        else:
            raw = min(self.raw(5), 29)
            value = 1 << raw
        raw = self.raw(raw + 1)
        value += raw >> 1
        return -value if raw & 1 else value

    def three(self, u, fraction):
        made, before, seen, expected = [0, 0, 0], 0, 0, 0
        for n, axis in enumerate((1, 0, 2)):
            own = 3 * u[axis] * self.ratio[axis] // 64
            if n > 0:
                before = (1, 6)[n - 1] + pace(seen, expected)
            kind = magnitude(own)
            if kind < FINE:
                f = fraction[axis]
                level = min(abs(f), 7) >> 1
                value = self.fine(841 + FINE * ((4 if n == 0 else 0) + level) + kind,
                                  841 + 8 * FINE + FINE // 2 * (4 * before + level) + (kind >> 1))
                made[axis] = -value if f < 0 else value
            else:
                made[axis] = self.number((80 if n == 0 else 0) + kind, 160 + 40 * before + (kind >> 1),
                                         low_of(own))
            d = 48 * min(abs(made[axis]), 1 << 16)
            self.sums[axis] += d
            self.total[axis] += 3 * u[axis]
            seen, expected = seen + d, expected + own
        self.points += 1
        if self.points % 16 == 0:
            self.ratio = [max(1, min(192, 64 * t // (w + 1))) for t, w in zip(self.sums, self.total)]
            self.sums = [t // 4 * 3 for t in self.sums]
            self.total = [t // 4 * 3 for t in self.total]
        return made


class Cells:
    """What the newest two points of each cell told."""

    def __init__(self, n, edge):
        self.shift, self.parts = 3 + (edge >> 2), 7 - (edge & 3)
        bits = 6
        while bits < 15 and 1 << bits < n:
            bits += 1
        self.mask = (1 << bits) - 1
        self.cells, self.usual = {}, 64

    def place(self, p):
        return [x * self.parts >> (self.shift - 3) for x in p]

    def number(self, i, j, k):
        return (((j * 0x9E3779B1 + k * 0x85EBCA77) % PAIRS >> 12) + i) & self.mask

    def ask(self, place, g):
        """near, near size, more, near sizes"""
        i, j, k = (x - 4 >> 3 for x in place)
        all_weight, sums = 0, [0, 0, 0, 6 * self.usual, 0, 0, 0] + [2 * self.usual] * 3
        for dj in (0, 1):
            for dk in (0, 1):
                first = self.number(i, j + dj, k + dk)
                for told_at, told in self.cells.get(first, []) + self.cells.get(first + 1, []):
                    x, y, z = ((a - b + 32768) % 65536 - 32768 for a, b in zip(place, told_at))
                    d = min(256, x * x + y * y) + min(256, z * z)
                    weight = 0 if d >= 256 else min(2047, 65536 // (d + 4) ** 2)
                    all_weight += weight
                    sums = [t + weight * v for t, v in zip(sums, told)]
        sums[4:7] = [t - all_weight * v for t, v in zip(sums[4:7], g)]
        v = all_weight + 6
        n = v.bit_length()
        inverse = 65536 // ((v << 8) >> n)
        sums = [(x >> n - 6 if n >= 6 else x << 6 - n) * inverse >> 14 for x in sums]
        return sums[:3], sums[3], sums[4:7], sums[7:]

    def tell(self, place, off, errors, g):
        at = self.number(*(x >> 3 for x in place))
        error = min(1 << 14, sum(errors))
        self.cells[at] = [(place, off + [error] + g + sizes(errors, 1 << 14))] + self.cells.get(at, [])[:1]
        self.usual += (error - self.usual) >> 5


class PointDecoder:
    def __init__(self, n, older, back, chain, slots=None):
        """slots: of a chain, numbers by which it knows them again."""
        self.n, self.chain, self.slots = n, chain, slots
        self.usual = chain.setdefault("slots", {})
        self.older = [[([x - MIDDLE for x in e[:3]], e[3], e[4]) for e in state] for state in older]
        self.b = list(back)

    def header(self):
        c = self.coder
        self.lives, self.scalars, fitted, self.edge, strided = (c.raw(k) for k in (1, 1, 1, 6, 1))
        self.stride = c.raw(12) if strided else 0
        self.fresh_by = c.raw(2) if self.lives else 0
        self.w = [[256, 64, 192, 64, 64] + [0] * 11 for _ in range(2)]
        self.split, self.z = 0, [32, 24, 0, 4, 0, 16, 0]
        if fitted:
            codes = [(9, 2)] + [(7, 8)] * 3 + [(8, 4)] * 6 + [(10, 1)] * 6
            self.split = self.small_float()
            for w in self.w if self.split else self.w[:1]:
                for k, (bits, unit) in enumerate(codes if strided else codes[:5]):
                    w[k] = (c.raw(bits) - (1 << bits - 1)) * unit
            for k in (0, 1, 2, 3, 4, 5) if strided else (0, 1, 3, 4, 5):
                self.z[k] = self.small_float()
            if self.slots:
                self.z[6] = self.small_float()

    def small_float(self):
        code = self.coder.raw(6)
        return code if code < 8 else (8 + (code & 7)) << ((code >> 3) - 1)

    def read(self, code):
        self.coder = Coder(code, self.chain)
        self.header()
        n = self.n
        self.cells = Cells(n, self.edge)
        self.scalar_size, self.window = 48, 2
        self.slow, self.fast = [16384] * 3, [16384] * 3
        self.given, self.changes_before, self.scalar_before = 1, 0, 0
        self.at, self.gen, self.scalar = [], [], []
        self.moved, self.errors, self.went = [], [], []
        for i in range(n):
            self.point(i)
        for i, slot in enumerate(self.slots or []):
            was, made = self.usual.get(slot, [0, 0, 0]), self.errors[i]
            self.usual[slot] = [a + (b - a >> 2) for a, b in zip(was, made)] if self.went[i] else [0, 0, 0]
        return [[x + MIDDLE for x in self.at[i]] + [self.scalar[i], self.gen[i]] for i in range(n)]

    def life(self, i):
        """Generation, and whether the flag of changes was set."""
        c = self.coder
        was = self.older[0][i][2] if self.older else 0
        if not self.lives:
            return was, 0
        changes = c.flag(80 + 2 * (was == 0) + self.changes_before)
        self.changes_before = changes
        if not changes:
            return was, 0
        if was != 0 and c.flag(84):
            return 0, 1
        if not c.flag(85):
            self.given = c.raw(16)
        return self.given, 1

    def point(self, i):
        c = self.coder
        generation, changes = self.life(i)
        was = self.older[0][i] if self.older else ([0, 0, 0], 0, 0)
        self.gen.append(generation)
        scalar = 0
        if generation != 0:
            scalar = was[1]
            if self.scalars:
                self.scalar_before = c.flag(86 + self.scalar_before)
                if self.scalar_before:
                    t = self.scalar_size
                    step = c.number(800 + (magnitude(t) >> 1), 840, low_of(t))
                    scalar = (scalar + step) % 65536
                    self.scalar_size = (3 * t + 48 * min(abs(step), 1 << 16)) // 4
        self.scalar.append(scalar)
        goes_on = generation != 0 and generation == was[2] and not changes
        self.went.append(goes_on)
        self.moved.append([0, 0, 0])
        self.errors.append([0, 0, 0])
        if generation == 0:
            self.at.append([0, 0, 0])
        elif goes_on:
            self.go_on(i, was[0])
        else:
            self.fresh()

    def fresh(self):
        at, i, s = self.at, len(self.at), self.stride
        last = at[i - 1] if i > 0 else [0, 0, 0]
        last2 = at[i - 2] if i > 1 else last
        up = ([0, 0, 0] if s == 0 else at[i - s]) if i >= s else last
        up2 = at[i - s - 1] if i >= s + 1 else up
        rules = ([(1, last)], [(2, last), (-1, last2)], [(1, up)], [(1, last), (1, up), (-1, up2)])
        expected = [clamp(sum(k * v[axis] for k, v in rules[self.fresh_by]), LIMIT) for axis in range(3)]
        step, before, m = [0, 0, 0], 0, self.window
        self.window = min(m + 1, 32)
        for axis in (1, 0, 2):
            slow, fast = self.slow[axis], self.fast[axis]
            a = 600 + (40 if axis == 1 else 0) + (magnitude(slow) >> 1)
            b = 680 + 4 * (5 * before + pace(fast, slow)) + min(low_of(slow), 3)
            step[axis] = self.coder.number(a, b, low_of(slow))
            d = 48 * min(abs(step[axis]), 1 << 16)
            self.slow[axis], self.fast[axis] = (slow * (m - 1) + d) // m, (3 * fast + d) // 4
            before = 1 + pace(d, slow)
        position = [clamp(e + d, LIMIT) for e, d in zip(expected, step)]
        at.append(position)

    def motion(self, i, p, generation):
        """g, h and whether it rested"""
        g, h = [0, 0, 0], [0, 0, 0]
        b, rested = self.b, False

        def rate(k):
            return min(4096, 256 * b[0] // (b[k + 1] - b[k]))
        if len(self.older) > 1 and self.older[1][i][2] == generation:
            q = self.older[1][i][0]
            rested = p == q
            g = clamp3([x * rate(0) >> 4 for x in clamp3(sub(p, q), 1 << 18)], 1 << 20)
            if len(self.older) > 2 and self.older[2][i][2] == generation:
                r = self.older[2][i][0]
                rested = rested and q == r
                before = [x * rate(1) >> 4 for x in clamp3(sub(q, r), 1 << 18)]
                h = clamp3(sub(g, before), 1 << 20)
        return g, h, rested

    def counts(self, i, p, a):
        cells = self.cells
        return (a >= 1 and i - a >= 0 and self.went[i - a] and
                size(sub(p, self.older[0][i - a][0])) * cells.parts >> cells.shift < 4)

    def by_index(self, i, p, stand_in):
        """moved, old position and sizes of six"""
        s = self.stride

        def take(a, other, may=True):
            if may and self.counts(i, p, a):
                return self.moved[i - a], self.older[0][i - a][0], self.errors[i - a]
            return other
        by = [stand_in] * 6
        by[0] = take(1, take(s, stand_in))
        if s:
            up = self.counts(i, p, s)
            by[1] = take(s, by[0])
            by[2] = take(s + 1, by[1], up)
            by[3] = take(s - 1, by[1], up)
            by[4] = take(2, by[0])
            by[5] = take(2 * s, by[1])
        return by

    def terms(self, p, g, h, near, more, by):
        def differences(a, b, m):
            return clamp3(sub(a, b), m)
        terms = [g, h, near, more, differences(by[0][0], g, 1 << 17)]
        if self.stride:
            others = (None, 0, 1, 1, 0, 1)
            for k in range(1, 6):
                terms.append(differences(by[k][0], by[others[k]][0], 1 << 17))
            for k in range(6):
                other = p if k == 0 else by[others[k]][1]
                terms.append([16 * x for x in differences(by[k][1], other, 1 << 13)])
        return terms

    def go_on(self, i, p):
        c, z, cells = self.coder, self.z, self.cells
        g, h, rested = self.motion(i, p, self.gen[i])
        place, told_g = cells.place(p), clamp3(g, 1 << 14)
        near, near_size, more, near_sizes = cells.ask(place, told_g)
        w = self.w[1 if self.split and near_size >= self.split else 0]
        by = self.by_index(i, p, ([a + b + d for a, b, d in zip(g, near, more)], p, near_sizes))
        t = self.terms(p, g, h, near, more, by)
        step = [(w[0] * t[0][a] + w[1] * t[1][a] >> 8) +
                (sum(w[k] * t[k][a] for k in range(2, len(t))) >> 8) for a in range(3)]
        expected = [clamp(x + (d + 8 >> 4), LIMIT) for x, d in zip(p, step)]
        fraction = [(d + 8 & 15) - 8 for d in step]
        up_sizes = by[1][2] if self.stride else [0, 0, 0]
        parts = [near_sizes, by[0][2], up_sizes, sizes(h, 1 << 17), sizes(g, 1 << 17), [16] * 3]
        parts.append(self.usual.get(self.slots[i], [0, 0, 0]) if self.slots else [0, 0, 0])
        u = [min(1 << 20, sum(k * v[a] for k, v in zip(z, parts)) >> 6) for a in range(3)]
        if rested and c.flag(magnitude(sum(u))):
            position = list(p)
        else:
            position = [clamp(e + d, LIMIT) for e, d in zip(expected, c.three(u, fraction))]
        self.at.append(position)
        moved = [16 * x for x in clamp3(sub(position, p), 1 << 16)]
        off = clamp3(sub(moved, g), 1 << 14)
        cells.tell(place, off, [abs(a - b - d) for a, b, d in zip(off, near, more)], told_g)
        self.moved[i] = moved
        self.errors[i] = [16 * x for x in sizes(sub(position, expected), 1 << 10)]
