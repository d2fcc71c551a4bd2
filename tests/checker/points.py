"""The code of points."""

import os

import zstandard

from chunks import MIDDLE

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/codec/point_tables.bin")
LIMIT = (1 << 28) - 1
PAIRS = 1 << 32


ROWS, SYMBOLS, FLAGS = 841, 16, 96


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
        self.ratio, self.sums, self.total, self.points = [64] * 3, [0] * 3, 0, 0

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
                row[i] += (i + (1 if i < s else 32753) - row[i]) >> 6
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

    def three(self, u):
        made, before, seen, expected = [0, 0, 0], 0, 0, 0
        for n, axis in enumerate((1, 0, 2)):
            own = u * self.ratio[axis] // 64
            if n > 0:
                before = (1, 6)[n - 1] + pace(seen, expected)
            kind = magnitude(own)
            made[axis] = self.number((80 if n == 0 else 0) + kind, 160 + 40 * before + (kind >> 1), low_of(own))
            d = 48 * min(abs(made[axis]), 1 << 16)
            self.sums[axis] += d
            seen, expected = seen + d, expected + own
        self.total += u
        self.points += 1
        if self.points % 16 == 0:
            self.ratio = [max(1, min(192, 64 * t // (self.total + 1))) for t in self.sums]
            self.sums = [t // 4 * 3 for t in self.sums]
            self.total = self.total // 4 * 3
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
        """near, near size, more"""
        i, j, k = (x - 4 >> 3 for x in place)
        all_weight, sums = 0, [0, 0, 0, 6 * self.usual, 0, 0, 0]
        for dj in (0, 1):
            for dk in (0, 1):
                first = self.number(i, j + dj, k + dk)
                for told_at, told in self.cells.get(first, []) + self.cells.get(first + 1, []):
                    x, y, z = ((a - b + 32768) % 65536 - 32768 for a, b in zip(place, told_at))
                    d = min(256, x * x + y * y) + min(256, z * z)
                    weight = 0 if d >= 256 else min(2047, 65536 // (d + 4) ** 2)
                    all_weight += weight
                    sums = [t + weight * v for t, v in zip(sums, told)]
        sums[4:] = [t - all_weight * v for t, v in zip(sums[4:], g)]
        v = all_weight + 6
        n = v.bit_length()
        inverse = 65536 // ((v << 8) >> n)
        sums = [(x >> n - 6 if n >= 6 else x << 6 - n) * inverse >> 14 for x in sums]
        return sums[:3], sums[3], sums[4:]

    def tell(self, place, off, error, g):
        at = self.number(*(x >> 3 for x in place))
        self.cells[at] = [(place, off + [error] + g)] + self.cells.get(at, [])[:1]
        self.usual += (error - self.usual) >> 5


class PointDecoder:
    def __init__(self, n, older, back, chain):
        self.n, self.chain = n, chain
        self.older = [[([x - MIDDLE for x in e[:3]], e[3], e[4]) for e in state] for state in older]
        self.b = list(back)

    def header(self):
        c = self.coder
        self.lives, self.scalars, fitted, self.edge, strided = (c.raw(k) for k in (1, 1, 1, 6, 1))
        self.stride = c.raw(12) if strided else 0
        self.fresh_by = c.raw(2) if self.lives else 0
        self.w, self.z = [256, 64, 192, 64, 64] + [0] * 11, [32, 24, 0, 4, 0, 48]
        if fitted:
            codes = [(9, 2)] + [(7, 8)] * 3 + [(8, 4)] * 6 + [(10, 1)] * 6
            for k, (bits, unit) in enumerate(codes if strided else codes[:5]):
                self.w[k] = (c.raw(bits) - (1 << bits - 1)) * unit
            for k in (0, 1, 2, 3, 4, 5) if strided else (0, 1, 3, 4, 5):
                code = c.raw(6)
                self.z[k] = code if code < 8 else (8 + (code & 7)) << ((code >> 3) - 1)

    def read(self, code):
        self.coder = Coder(code, self.chain)
        self.header()
        n = self.n
        self.cells = Cells(n, self.edge)
        self.scalar_size, self.window = 48, 2
        self.slow, self.fast = [16384] * 3, [16384] * 3
        self.given, self.changes_before, self.scalar_before = 1, 0, 0
        self.at, self.gen, self.scalar = [], [], []
        self.moved, self.error, self.went = [], [], []
        for i in range(n):
            self.point(i)
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
        self.error.append(0)
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
        """moved, old position and size of six"""
        s = self.stride

        def take(a, other, may=True):
            if may and self.counts(i, p, a):
                return self.moved[i - a], self.older[0][i - a][0], self.error[i - a]
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
        c, w, z, cells = self.coder, self.w, self.z, self.cells
        g, h, rested = self.motion(i, p, self.gen[i])
        place, told_g = cells.place(p), clamp3(g, 1 << 14)
        near, near_size, more = cells.ask(place, told_g)
        by = self.by_index(i, p, ([a + b + d for a, b, d in zip(g, near, more)], p, near_size))
        t = self.terms(p, g, h, near, more, by)
        step = [(w[0] * t[0][a] + w[1] * t[1][a] >> 8) +
                (sum(w[k] * t[k][a] for k in range(2, len(t))) >> 8) for a in range(3)]
        expected = [clamp(x + (d + 8 >> 4), LIMIT) for x, d in zip(p, step)]
        up_size = by[1][2] if self.stride else 0
        u = clamp((z[0] * near_size + z[1] * by[0][2] + z[2] * up_size + z[3] * size(h) +
                   z[4] * size(g) + z[5] * 16) >> 6, 1 << 22)
        if rested and c.flag(magnitude(u)):
            position = list(p)
        else:
            position = [clamp(e + d, LIMIT) for e, d in zip(expected, c.three(u))]
        self.at.append(position)
        moved = [16 * x for x in clamp3(sub(position, p), 1 << 16)]
        off = clamp3(sub(moved, g), 1 << 14)
        error = min(1 << 14, size([a - b - d for a, b, d in zip(off, near, more)]))
        cells.tell(place, off, error, told_g)
        self.moved[i] = moved
        self.error[i] = min(1 << 14, 16 * size(sub(position, expected)))
