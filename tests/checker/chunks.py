"""Fields, chunks and the plain chunk codes. A state is a list of elements, an element a list of column
values: positions as signed numbers + 2^28, so that all are unsigned."""

import struct

from bits import BitReader, Malformed, unfold

POSES, POINTS, GRID2, GRID3, SCALARS = 1, 2, 3, 4, 5
WIDTHS = {POSES: [29, 29, 29, 2, 10, 10, 10, 6, 16], POINTS: [29, 29, 29, 16, 16], SCALARS: [32]}
MIDDLE = 1 << 28


class Field:
    def __init__(self, kind, capacity, channels=1, dims=(0, 0, 0)):
        self.kind, self.capacity, self.channels, self.dims = kind, capacity, max(1, channels), dims
        if kind in WIDTHS:
            self.widths = WIDTHS[kind]
        else:
            self.widths = [16 if kind == GRID2 else 8] * self.channels
        self.chunks = self._chunks()

    def _chunks(self):
        """The indices of each chunk's elements."""
        if self.kind in (POSES, POINTS, SCALARS):
            return [list(range(i, min(i + 64, self.capacity))) for i in range(0, self.capacity, 64)]
        edge = 16 if self.kind == GRID2 else 8
        nx, ny = self.dims[0], self.dims[1]
        nz = self.dims[2] if self.kind == GRID3 else 1
        deep = edge if self.kind == GRID3 else 1
        chunks = []
        for z in range(0, nz, deep):
            for y in range(0, ny, edge):
                for x in range(0, nx, edge):
                    chunks.append([(k * ny + j) * nx + i
                                   for k in range(z, min(z + deep, nz))
                                   for j in range(y, min(y + edge, ny))
                                   for i in range(x, min(x + edge, nx))])
        return chunks

    def span_chunks(self):
        """Of a file; a packet has at most 64."""
        return {POSES: 16, POINTS: 256}.get(self.kind, 64)

    def element_bytes(self):
        return {POSES: 20, POINTS: 16, SCALARS: 4}.get(self.kind, self.channels * self.widths[0] // 8)

    def load(self, data):
        """Elements of the whole field out of a frame's bytes."""
        size = self.element_bytes()
        return [self.unpack(data[i * size:(i + 1) * size]) for i in range(self.capacity)]

    def unpack(self, raw):
        if self.kind == POSES:
            x, y, z, r, flags, generation = struct.unpack("<iiiIHH", raw)
            return [x + MIDDLE, y + MIDDLE, z + MIDDLE, r >> 30, r >> 20 & 1023, r >> 10 & 1023, r & 1023,
                    flags, generation]
        if self.kind == POINTS:
            x, y, z, scalar, generation = struct.unpack("<iiiHH", raw)
            return [x + MIDDLE, y + MIDDLE, z + MIDDLE, scalar, generation]
        if self.kind == SCALARS:
            return [struct.unpack("<I", raw)[0]]
        return list(struct.unpack("<%d%s" % (self.channels, "H" if self.kind == GRID2 else "B"), raw))

    def pack(self, element):
        if self.kind == POSES:
            x, y, z, largest, a, b, c, flags, generation = element
            return struct.pack("<iiiIHH", x - MIDDLE, y - MIDDLE, z - MIDDLE,
                               largest << 30 | a << 20 | b << 10 | c, flags, generation)
        if self.kind == POINTS:
            x, y, z, scalar, generation = element
            return struct.pack("<iiiHH", x - MIDDLE, y - MIDDLE, z - MIDDLE, scalar, generation)
        if self.kind == SCALARS:
            return struct.pack("<I", element[0])
        return struct.pack("<%d%s" % (self.channels, "H" if self.kind == GRID2 else "B"), *element)

    def state_bytes(self, state):
        return b"".join(self.pack(element) for element in state)

    def zero(self, chunk):
        """What the baseline of a key is: elements of bytes that are all zero."""
        return [self.unpack(bytes(self.element_bytes())) for _ in self.chunks[chunk]]


def read_mask(bits, n):
    form = bits.get(2)
    if form == 0:
        return list(range(n))
    if form == 1:
        return [i for i in range(n) if bits.get(1)]
    if form == 3:
        raise Malformed("mask")
    width = (n - 1).bit_length()
    count = bits.get(width) + 1
    listed = [bits.get(width) for _ in range(count)]
    if any(b <= a for a, b in zip(listed, listed[1:])) or listed[-1] >= n:
        raise Malformed("list of elements")
    return listed


def read_column(bits, width, base, coded):
    """Values of the coded elements of one column."""
    mode, top = bits.get(3), (1 << width) - 1
    if mode == 0:
        return [base[i] for i in coded]
    if mode == 3:
        low, wide = bits.get(width), bits.get(6)
        if wide > width:
            raise Malformed("width")
        return [(low + bits.get(wide)) & top for _ in coded]
    if mode > 5:
        raise Malformed("mode")
    wide = bits.get(6)
    narrow = bits.get(6) if mode in (2, 5) else wide
    if wide > width or narrow > wide:
        raise Malformed("width")
    values, before = [], 0
    for i in coded:
        k = wide
        if mode in (2, 5) and not bits.get(1):
            k = narrow
        before = ((base[i] if mode < 3 else before) + unfold(bits.get(k))) & top
        values.append(before)
    return values


def read_chunk(field, chunk, bits, base):
    """The new state of a chunk; bits stand behind its code, at a whole byte."""
    base = field.zero(chunk) if base is None else base
    n, form = len(field.chunks[chunk]), bits.get(2)
    if form == 0:
        state = [list(element) for element in base]
    elif form == 1:
        coded = read_mask(bits, n)
        if not coded:
            raise Malformed("no element is coded")
        state = [list(element) for element in base]
        for column, width in enumerate(field.widths):
            values = read_column(bits, width, [element[column] for element in base], coded)
            for i, value in zip(coded, values):
                state[i][column] = value
    elif form == 2:
        state = [[0] * len(field.widths) for _ in range(n)]
        for column, width in enumerate(field.widths):
            for i in range(n):
                state[i][column] = bits.get(width)
    else:
        raise Malformed("form")
    bits.align()
    return state


def read_fallback(field, chunks, data, start, end, older):
    """A plain span: the chunks' states; older: the newest older state of each, or None."""
    bits = BitReader(data, start, end)
    states = [read_chunk(field, c, bits, older[i] if older else None) for i, c in enumerate(chunks)]
    if bits.byte() != end:
        raise Malformed("bytes behind the last chunk")
    return states
