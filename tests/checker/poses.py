"""The code of poses."""

import os
from math import isqrt

import zstandard

from chunks import MIDDLE
from mixing import RATES, mixed_bit
from rangecoder import RangeDecoder

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/codec/pose_tables.bin")
LIMIT = (1 << 28) - 1
ROWS, SETS, SLOTS = 4863, 125, 16
# contexts of the inputs, slots a context, sets
KINDS = {
    "CALM": ((264, 352, 1024), 1, 1),
    "CHANGED": ((128, 2048, 384), 1, 8),
    "FLAGS": ((64, 128, 256), 1, 4),
    "MOVED": ((64, 128, 256), 1, 4),
    "FLAG": ((8, 512, 512), 1, 8),
    "POSITION": ((300, 1040, 1352), 16, 48),
    "LARGEST": ((100, 40, 320), 4, 4),
    "ROTATION": ((1000, 256, 416), 16, 48),
}


def bits(v):
    return v.bit_length()


def clip(v):
    return max(-LIMIT, min(LIMIT, v))


def quotient(a, b):
    """Rounds towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def load_tables():
    with open(TABLES, "rb") as file:
        raw = zstandard.ZstdDecompressor().decompress(file.read(), max_output_size=1 << 22)
    n = ROWS * SLOTS
    assert len(raw) == 3 * n + SETS * 16
    chances = [(raw[i] * 256 + raw[n + i]) * 64 + 32 for i in range(n)]
    rates = [RATES[raw[2 * n + i]] for i in range(n)]
    weights = []
    for s in range(SETS):
        at = 3 * n + 16 * s
        weights.append([int.from_bytes(raw[at + 2 * k:at + 2 * k + 2], "little", signed=True) for k in range(4)])
    return chances, rates, weights


START = load_tables()


class Mixer:
    def __init__(self, code, chain):
        self.range = RangeDecoder(code)
        self.chances, self.rates, self.weights = chain.setdefault(
            "poses", (list(START[0]), list(START[1]), [list(w) for w in START[2]]))
        self.row, self.set = {}, {}
        row = at_set = 0
        for kind, (contexts, slots, sets) in KINDS.items():
            self.set[kind] = at_set
            at_set += sets
            self.row[kind] = []
            for count in contexts:
                self.row[kind].append(row)
                row += -(-count * slots // SLOTS)
        assert (row, at_set) == (ROWS, SETS)

    def bit(self, kind, contexts, slot, at_set):
        each = KINDS[kind][1]
        slots = [self.row[kind][i] * SLOTS + contexts[i] * each + slot for i in range(3)]
        return mixed_bit(self.range, self.chances, self.rates, slots, self.weights[self.set[kind] + at_set])

    def signed(self, kind, contexts, lane):
        def ask(slot):
            return self.bit(kind, contexts, slot, 16 * lane + slot)
        n = 0
        while n < 31 and ask(min(n, 7)):
            n += 1
        if n == 0:
            return 0
        negative, value = ask(8), 1
        if n > 1:
            first = ask(9 + min(n - 2, 3))
            value = value << 1 | first
        if n > 2:
            value = value << 1 | ask(13 + first + (1 if n > 4 else 0))
        if n > 3:
            value = value << (n - 3) | self.range.raw(n - 3)
        return -value if negative else value


# ---- small functions ----

def lg(v, m):
    return min(bits(v), m)


def slg(v):
    return 6 - min(bits(-v), 6) if v < 0 else 6 + min(bits(v), 6)


def far(a, b):
    return max(abs(x - y) for x, y in zip(a, b))


def near(d):
    if d is None:
        return 31
    n = bits(d)
    return 0 if d < 32 else min(4 * (n - 6) + (d >> (n - 3) & 3) + 1, 31)


def dist(a, b):
    d = sorted(abs(x - y) for x, y in zip(a, b))
    return min(d[2] + 3 * (d[0] + d[1]) // 8, 1 << 30)


# ---- rotations: (w, x, y, z) in units of 2^-15 ----

def scale(v):
    return (v + 16384) >> 15


def unit(t):
    n = sum(c * c for c in t)
    f = quotient(98304 - (n >> 15), 2)
    return tuple(scale(c * f) for c in t)


def mul(a, b):
    return unit((scale(a[0] * b[0] - a[1] * b[1] - a[2] * b[2] - a[3] * b[3]),
                 scale(a[0] * b[1] + a[1] * b[0] + a[2] * b[3] - a[3] * b[2]),
                 scale(a[0] * b[2] - a[1] * b[3] + a[2] * b[0] + a[3] * b[1]),
                 scale(a[0] * b[3] + a[1] * b[2] - a[2] * b[1] + a[3] * b[0])))


def between(a, b):
    t = mul(b, (a[0], -a[1], -a[2], -a[3]))
    return tuple(-c for c in t) if t[0] < 0 else t


def part(t, p, q):
    if p == q:
        return t
    v = tuple(quotient(c * p, q) for c in t[1:])
    rest = (1 << 30) - sum(c * c for c in v)
    return t if rest <= 0 else (isqrt(rest),) + v


def rotate(t, v):
    w, x, y, z = t
    a = 2 * (y * v[2] - z * v[1]) >> 15
    b = 2 * (z * v[0] - x * v[2]) >> 15
    c = 2 * (x * v[1] - y * v[0]) >> 15
    return (v[0] + scale(w * a + y * c - z * b), v[1] + scale(w * b + z * a - x * c),
            v[2] + scale(w * c + x * b - y * a))


def angle(a, b):
    return min(sum(abs(x - y) for x, y in zip(a, b)), sum(abs(x + y) for x, y in zip(a, b))) // 96


def turn_of(rotation):
    """A quaternion of a rotation code (largest, a, b, c)."""
    largest, codes = rotation[0], rotation[1:]
    others = [quotient((2 * i - 1024) * 23170, 1022) for i in codes]
    others.insert(largest, isqrt(max(0, (1 << 30) - sum(c * c for c in others))))
    return tuple(others)


def codes_of(turn, largest):
    others = [c for i, c in enumerate(turn) if i != largest]
    if turn[largest] < 0:
        others = [-c for c in others]
    return [(quotient(c * 1022, 23170) + 1024 + 1) >> 1 for c in others]


def go_on(origin, to, step, p, q):
    at = tuple(clip(b + quotient((b - a) * p, q)) for a, b in zip(origin[0], to[0]))
    return at, mul(part(step, p, q), to[1])


def carried(a, b, turn, place):
    arm = rotate(turn, [x - y for x, y in zip(place[0], a)])
    return tuple(clip(x + y) for x, y in zip(b, arm)), mul(turn, place[1])


class Pose:
    def __init__(self, element):
        self.at = tuple(x - MIDDLE for x in element[:3])
        self.rotation = tuple(element[3:7])
        self.flags, self.generation = element[7], element[8]
        self.place = (self.at, turn_of(self.rotation))


ZERO = Pose([MIDDLE] * 3 + [0] * 6)


class Mover:
    def __init__(self, was, now):
        self.was, self.now = was, now  # places in the states, place in the new state


class PoseDecoder:
    def __init__(self, n, older, back, turn_shift, chain):
        self.n, self.turn_shift, self.chain = n, turn_shift, chain
        self.older = [[Pose(e) for e in state] for state in older]
        self.b = list(back)

    def read(self, code):
        self.mix = Mixer(code, self.chain)
        self.new, self.movers, self.carrier = [None] * self.n, [], None
        self.blocks, self.history, self.live_before = 0, 0, None
        self.prepare()
        for first in range(0, self.n, 32):
            block = range(first, min(first + 32, self.n))
            calm = [i for i in block if self.calm[i]]
            if calm and not self.read_calm(calm):
                for i in calm:
                    self.set(i, self.older[0][i])
                block = [i for i in block if not self.calm[i]]
            for i in block:
                self.history = self.history << 1 | self.slot(i)
        return [[x + MIDDLE for x in p.at] + list(p.rotation) + [p.flags, p.generation] for p in self.new]

    def prepare(self):
        s, n = self.older, self.n

        def moved(k, i):
            return int(len(s) > k + 1 and (s[k][i].at, s[k][i].rotation) != (s[k + 1][i].at, s[k + 1][i].rotation))
        self.just = [moved(0, i) for i in range(n)]
        self.awake = [int(bool(s) and bool(s[0][i].flags & 2)) for i in range(n)]
        self.motion = [4 * self.just[i] + 2 * moved(1, i) + self.awake[i] if s else 0 for i in range(n)]
        self.both = [2 * self.just[i] + self.awake[i] for i in range(n)]
        self.moving = [i for i in range(n) if self.just[i]]
        taken, close = set(), set()
        for i in self.moving:
            cell = self.cell(i)
            if self.cell_number(cell) in taken:
                continue
            taken.add(self.cell_number(cell))
            for k in range(27):
                close.add(self.cell_number((cell[0] + k % 3 - 1, cell[1] + k // 3 % 3 - 1, cell[2] + k // 9 - 1)))
        self.calm = [bool(s) and self.motion[i] == 0 and self.cell_number(self.cell(i)) not in close
                     for i in range(n)]

    def cell(self, i):
        return tuple(x >> 10 for x in self.older[0][i].at)

    @staticmethod
    def cell_number(cell):
        h = 0
        for x, k in zip(cell, (0x9E3779B1, 0x85EBCA6B, 0xC2B2AE35)):
            h ^= x * k & 0xFFFFFFFF
        return ((h ^ h >> 15) * 0x2C1B3C6D & 0xFFFFFFFF) >> 20

    def nearest_moving(self, at, but=None):
        return min((far(at, self.older[0][i].at) for i in self.moving if i != but), default=None)

    def read_calm(self, calm):
        c = len(calm)
        q = self.older[0][calm[min(7, c - 1)]].at
        m, r = lg(len(self.moving), 10), near(self.nearest_moving(q))
        b = self.blocks
        bit = self.mix.bit("CALM", (8 * c + (b & 7), 32 * m + r,
                                    128 * min(bin(b & 255).count("1"), 7) + 4 * r + (b & 3)), 0, 0)
        self.blocks = b << 1 | bit
        return bit

    def set(self, i, pose):
        self.new[i] = pose

    def slot(self, i):
        s, mix = self.older, self.mix
        old = s[0][i] if s else ZERO
        motion, both = self.motion[i], self.both[i]
        speed = rough = 0
        if self.just[i]:
            a, b = s[0][i], s[1][i]
            speed = dist(a.at, b.at)
            if a.rotation != b.rotation:
                rough = 64 if a.rotation[0] != b.rotation[0] else sum(
                    abs(x - y) for x, y in zip(a.rotation[1:], b.rotation[1:]))
        u = v = 31
        closest, d = None, None
        if s:
            u = near(self.nearest_moving(old.at, i))
            for mover in self.movers:
                f = far(old.at, mover.was[0][0])
                if d is None or f < d:
                    closest, d = mover, f
            v = near(d)
        pace = 4 * lg(speed, 11) + lg(rough, 3)
        recent = self.history & 15
        if not mix.bit("CHANGED", (8 * recent + motion, 8 * (16 * (u // 2) + v // 2) + motion,
                                   8 * pace + v // 4), 0, motion):
            self.set(i, old)
            return 0
        contexts = (4 * recent + both, 4 * v + both, 16 * (pace // 4) + 4 * (v // 8) + both)
        flags, generation, moved = old.flags, old.generation, 1
        if mix.bit("FLAGS", contexts, 0, both):
            changes = 0
            for k in range(6):
                bit = mix.bit("FLAG", (k, 64 * k + old.flags, 64 * k + changes), 0, k)
                changes |= bit << k
            flags ^= changes
            if mix.bit("FLAG", (6, 384 + changes, 384 + old.flags), 0, 6):
                generation = mix.range.raw(16)
            moved = mix.bit("MOVED", contexts, 0, both)
        if not flags & 1:
            self.set(i, Pose([MIDDLE] * 3 + [0] * 4 + [flags, generation]))
            return 1
        element = [x + MIDDLE for x in old.at] + list(old.rotation)
        if moved:
            element = self.moved(i, old, speed, closest, d)
        pose = Pose(element + [flags, generation])
        self.set(i, pose)
        if moved and old.flags & 1:
            self.movers.append(Mover([state[i].place for state in s], pose.place))
        return 1

    def guess(self, i, old, speed, spin, closest, d):
        """place, way, off, turn-off, other"""
        s, b = self.older, self.b
        if not old.flags & 1:
            place = next((self.new[k].place for k in range(i - 1, -1, -1) if self.new[k].flags & 1), ZERO.place)
            return place, 3, 511, 127, place
        p = [state[i].place for state in s]
        place, way, off, turn_off, score = p[0], 0, speed, spin, speed + spin + 2
        on = None
        if len(p) > 1:
            on = go_on(p[1], p[0], between(p[1][1], p[0][1]), b[0], b[1] - b[0])
            o, t = speed // 4, spin // 4
            if len(p) > 2:
                was = go_on(p[2], p[1], between(p[2][1], p[1][1]), b[1] - b[0], b[2] - b[1])
                o, t = dist(was[0], p[0][0]), angle(was[1], p[0][1])
            if o + t + 1 < score:
                place, way, off, turn_off, score = on, 1, o, t, o + t + 1
        else:
            score += 8192
        tried = [closest] if closest is not None and d < 8192 else []
        if self.carrier is not None and self.carrier is not closest and far(
                self.carrier.was[0][0], p[0][0]) < 8192:
            tried.append(self.carrier)
        best = None
        for mover in tried:
            q = mover.was
            f = dist(q[0][0], p[0][0])
            o = t = f // 8
            if len(p) > 1:
                was = carried(q[1][0], q[0][0], between(q[1][1], q[0][1]), p[1])
                o, t = dist(was[0], p[0][0]), angle(was[1], p[0][1])
            if o + t + f // 128 < score:
                best, way, off, turn_off, score = mover, 2, o, t, o + t + f // 128
        if way == 2:
            place = carried(best.was[0][0], best.now[0], between(best.was[0][1], best.now[1]), p[0])
            self.carrier = best
        other = on if on is not None and way != 1 else p[0]
        return place, way, off, turn_off, other

    def moved(self, i, old, speed, closest, d):
        s, mix = self.older, self.mix
        spin = angle(s[0][i].place[1], s[1][i].place[1]) if len(s) > 1 and old.flags & 1 else 0
        place, way, off, turn_off, other = self.guess(i, old, speed, spin, closest, d)
        at, sizes, total = [0, 0, 0], [0, 0, 0], 0
        o = lg(off, 9)
        for n, axis in enumerate((1, 2, 0)):
            rate = s[0][i].at[axis] - s[1][i].at[axis] if len(s) > 1 else 0
            change = rate - (s[1][i].at[axis] - s[2][i].at[axis]) if len(s) > 2 else 0
            gap = other[0][axis] - place[0][axis]
            a = int(n == 0)
            s0, s1 = (sizes[0] if n > 0 else 0), (sizes[1] if n > 1 else 0)
            residual = mix.signed("POSITION", (
                3 * (10 * s0 + s1) + n, 2 * (4 * (10 * slg(gap) + o) + way) + a,
                2 * (4 * (13 * slg(change) + slg(rate)) + way) + a), n)
            at[axis] = clip(place[0][axis] + residual)
            sizes[n] = lg(abs(residual), 9)
            total += min(abs(residual), 1 << 20)
        return [x + MIDDLE for x in at] + self.rotation(place, way, turn_off, other, spin, lg(total, 9))

    def rotation(self, place, way, turn_off, other, spin, z):
        mix, turn = self.mix, place[1]
        order = [0, 1, 2, 3]
        for i in range(4):
            for j in range(i + 1, 4):
                if abs(turn[order[j]]) > abs(turn[order[i]]):
                    order[i], order[j] = order[j], order[i]
        h = lg((abs(turn[order[0]]) - abs(turn[order[1]])) // 64, 9)
        t = lg(turn_off, 7)
        largest = order[3]
        for k in range(3):
            if mix.bit("LARGEST", (10 * h + z, 4 * h + way, 4 * (8 * h + t) + way), k, k):
                largest = order[k]
                break
        r = self.turn_shift
        expected, against = ([c >> r for c in codes_of(t, largest)] for t in (turn, other[1]))
        made, sizes = [], [0, 0, 0]
        for n in range(3):
            s0, s1 = (sizes[0] if n > 0 else 0), (sizes[1] if n > 1 else 0)
            residual = mix.signed("ROTATION", (
                10 * (10 * z + s0) + s1, 4 * (8 * lg(spin, 7) + t) + way,
                4 * (8 * slg(against[n] - expected[n]) + t) + way), n)
            code = max(0, min(1023 >> r, expected[n] + residual))
            made.append((code << r) + (1 << r >> 1))
            sizes[n] = lg(abs(residual), 9)
        return [largest] + made
