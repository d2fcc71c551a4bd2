"""The code of points."""

import os

import zstandard

from chunks import MIDDLE

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/point_tables.bin")
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

    def __init__(self, code):
        self.code, self.at, self.raw_at = code, 4, 0
        self.range, self.value = PAIRS - 1, int.from_bytes((bytes(code) + bytes(4))[:4], "big")
        self.ends = [list(row) for row in START[0]]
        self.flags = list(START[1])
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
        ends = [(x + y) >> 1 for x, y in zip(a, b)]
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
    def __init__(self, count):
        self.mask = count - 1
        self.cells = {}

    def number(self, i, j, k):
        return (((j * 0x9E3779B1 + k * 0x85EBCA77) % PAIRS >> 12) + i) & self.mask

    def get(self, i, j, k):
        return self.cells.get(self.number(i, j, k), ((0, 0, 0), 0, 0))

    def add(self, i, j, k, off, error):
        at = self.number(i, j, k)
        o, s, m = self.cells.get(at, ((0, 0, 0), 0, 0))
        if m < 64:
            self.cells[at] = (tuple(x + y for x, y in zip(o, off)), s + error, m + 1)


class PointDecoder:
    def __init__(self, n, older, back):
        self.n = n
        self.older = [[([x - MIDDLE for x in e[:3]], e[3], e[4]) for e in state] for state in older]
        self.b = list(back)

    def header(self):
        c = self.coder
        self.lives, self.scalars, fitted, self.shift, strided = (c.raw(k) for k in (1, 1, 1, 4, 1))
        self.stride = c.raw(12) if strided else 0
        self.fresh_by = c.raw(2) if self.lives else 0
        self.w, self.z = [256, 64, 12, 8, 8, 0, 0], [32, 24, 0, 4, 0, 48]
        if fitted:
            self.w[0] = (c.raw(9) - 256) * 2
            self.w[1] = (c.raw(7) - 64) * 8
            for k in (2, 3, 4, 5, 6) if strided else (2, 3):
                self.w[k] = c.raw(6) - 32
            for k in (0, 1, 2, 3, 4, 5) if strided else (0, 1, 3, 4, 5):
                code = c.raw(6)
                self.z[k] = code if code < 8 else (8 + (code & 7)) << ((code >> 3) - 1)

    def read(self, code):
        self.coder = Coder(code)
        self.header()
        n, bits = self.n, 6
        while bits < 15 and 1 << bits < n:
            bits += 1
        self.fine, self.coarse = Cells(1 << bits), Cells(1 << (bits - 2))
        self.usual, self.scalar_size, self.window = 64, 48, 2
        self.slow, self.fast = [16384] * 3, [16384] * 3
        self.given, self.changes_before, self.scalar_before = 1, 0, 0
        self.at, self.gen, self.scalar = [], [], []
        self.off, self.error, self.went = [], [], []
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
        self.off.append([0, 0, 0])
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
        """own, g, h and whether it rested"""
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
        own = clamp3([(self.w[0] * x + self.w[1] * y) >> 8 for x, y in zip(g, h)], 1 << 21)
        return own, g, h, rested

    def near(self, p):
        d = 1 << (self.shift - 1) if self.shift else 0
        c = [x - d for x in p]
        i, j, k = (x >> self.shift for x in c)
        part = [(x & ((1 << self.shift) - 1)) * 8 >> self.shift for x in c]
        total, sizes, count = [0, 0, 0], 0, 0
        for dx in (0, 1):
            for dy in (0, 1):
                for dz in (0, 1):
                    weight = 1
                    for plus, pi in zip((dx, dy, dz), part):
                        weight *= pi if plus else 8 - pi
                    o, s, m = self.fine.get(i + dx, j + dy, k + dz)
                    total = [t + weight * x for t, x in zip(total, o)]
                    sizes += weight * s
                    count += weight * m
        o, s, m = self.coarse.get(*(x >> (self.shift + 2) for x in p))
        v = (1 << 20) // (m + 1)
        mean = [x * v >> 20 for x in o]
        mean_size = (s + self.usual) * v >> 20
        y = (1 << 30) // (count + 128)
        return ([(t + 128 * x) * y >> 30 for t, x in zip(total, mean)],
                (sizes + 128 * mean_size) * y >> 30)

    def counts(self, i, p, a):
        return (a >= 1 and i - a >= 0 and self.went[i - a] and
                size(sub(p, self.older[0][i - a][0])) >> self.shift < 4)

    def by_index(self, i, p, near, near_size):
        s = self.stride
        if self.counts(i, p, 1):
            by0 = (self.off[i - 1], self.error[i - 1])
        elif self.counts(i, p, s):
            by0 = (self.off[i - s], self.error[i - s])
        else:
            by0 = (near, near_size)
        if not self.counts(i, p, s):
            return by0, by0, by0, by0
        by1 = (self.off[i - s], self.error[i - s])
        by2 = (self.off[i - s - 1], self.error[i - s - 1]) if self.counts(i, p, s + 1) else by1
        by3 = (self.off[i - s + 1], self.error[i - s + 1]) if self.counts(i, p, s - 1) else by1
        return by0, by1, by2, by3

    def go_on(self, i, p):
        c, w, z = self.coder, self.w, self.z
        own, g, h, rested = self.motion(i, p, self.gen[i])
        near, near_size = self.near(p)
        (by0, size0), (by1, size1), (by2, _), (by3, _) = self.by_index(i, p, near, near_size)
        off = [(w[2] * by0[k] + w[3] * (near[k] - by0[k]) + w[4] * (by1[k] - by0[k]) +
                w[5] * (by2[k] - by1[k]) + w[6] * (by3[k] - by1[k])) >> 4 for k in range(3)]
        expected = [clamp(p[k] + ((own[k] + off[k] + 8) >> 4), LIMIT) for k in range(3)]
        u = clamp((z[0] * near_size + z[1] * size0 + z[2] * size1 + z[3] * size(h) + z[4] * size(g) +
                   z[5] * 16) >> 6, 1 << 22)
        if rested and c.flag(magnitude(u)):
            position = list(p)
        else:
            step = c.three(u)
            position = [clamp(e + d, LIMIT) for e, d in zip(expected, step)]
        self.at.append(position)
        moved = [16 * x for x in clamp3(sub(position, p), 1 << 16)]
        told = clamp3(sub(moved, own), 1 << 14)
        error = min(1 << 14, size(sub(told, near)))
        self.fine.add(*(x >> self.shift for x in p), told, error)
        self.coarse.add(*(x >> (self.shift + 2) for x in p), told, error)
        self.usual += (error - self.usual) >> 5
        self.off[i] = told
        self.error[i] = min(1 << 14, 16 * size(sub(position, expected)))
