"""Recordings: blocks, and the frames in them."""

import json
import os
import struct
import subprocess
import tempfile

import xxhash
import zstandard

import details
from bits import BitReader, Malformed
from chunks import Field, POINTS
from spans import read_span

WAITING = (POINTS, 3, 4)  # kinds of fields: with GRID2, GRID3
BETWEEN, CUT, COARSE = 1, 2, 4  # flags of a frame
ANEW, PLAIN, COUNT, SIZE = 1, 2, 4, 8  # flags of a span
TYPES = ("KEYF", "DLTA", "INPT", "EVNT", "NOTE", "GAPS", "PRNT", "IMAG", "SYST", "INDX")  # from 1

SCHEMA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../protocol/session/message.fbs")


def read_varint(data, at):
    """A number of seven bits a byte, and where it ends."""
    value = 0
    for i in range(10):
        if at + i >= len(data):
            raise Malformed("torn number at byte %d" % at)
        value |= (data[at + i] & 127) << (7 * i)
        if data[at + i] < 128:
            if (i > 0 and data[at + i] == 0) or value >> 64:
                raise Malformed("number at byte %d" % at)
            return value, at + i + 1
    raise Malformed("number at byte %d" % at)


def blocks(data):
    """(type, tick, content) of each block, all of them checked."""
    if data[:4] != b"HEAD" or len(data) < 24:
        raise Malformed("no HEAD")
    kind = "HEAD"
    number, length, tick, check = struct.unpack_from("<IIQQ", data)
    at, mask = 24, (1 << 64) - 1
    while True:
        content = data[at:at + length]
        seed = tick ^ (number << 32) ^ length
        if len(content) < length or xxhash.xxh3_64_intdigest(content, seed=seed) & mask != check:
            raise Malformed("damaged block before byte %d" % at)
        yield kind, tick, content
        at += length
        if at == len(data):
            return
        number = data[at] & 15
        if data[at] >> 4 != 0xB or number == 0:
            raise Malformed("no block at byte %d" % at)
        kind = TYPES[number - 1] if number <= len(TYPES) else "later"
        length, at = read_varint(data, at + 1)
        tick, at = read_varint(data, at)
        if len(data) - at < 4 or length > 64 << 20:
            raise Malformed("torn block before byte %d" % at)
        check, = struct.unpack_from("<I", data, at)
        at, mask = at + 4, (1 << 32) - 1


def world_of(message):
    """The World message as JSON, by the schema."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "world.bin")
        with open(path, "wb") as file:
            file.write(message)
        subprocess.run(["flatc", "--json", "--raw-binary", "--strict-json", "--defaults-json", "-o", folder,
                        SCHEMA, "--", path], check=True, stdout=subprocess.DEVNULL)
        with open(os.path.join(folder, "world.json")) as file:
            return json.load(file)


def read_head(content):
    if content[:8] != bytes.fromhex("504C5245430D0A1A"):
        raise Malformed("no recording")
    version, tick_rate = struct.unpack_from("<II", content, 8)
    if version != 9:
        raise Malformed("version %d" % version)
    picture_ticks, coarse_shift = struct.unpack_from("<II", content, 88)
    if not 1 <= picture_ticks <= 16 or coarse_shift > 4:
        raise Malformed("a picture every %d ticks, %d bits less" % (picture_ticks, coarse_shift))
    return tick_rate, picture_ticks, coarse_shift, world_of(content[96:])


def fields_of(world):
    return [Field(f["kind"], f["capacity"], f["channels"], tuple(f.get("dims") or (0, 0, 0)))
            for f in world["body"]["fields"]]


def read_parent(content):
    """(name, tick) of the recording that this one branches off."""
    tick, _, size, reserved = struct.unpack_from("<QQII", content)
    name = content[24:]
    if reserved or not 0 < size < 256 or len(name) != size or b"/" in name:
        raise Malformed("parent")
    return name.decode(), tick


IMAGE_PART_BYTES = 16 << 20


class Images:
    """Images of the world, part by part."""

    def __init__(self):
        self.open = None  # (tick, kind, bytes, back_tick), next part, parts so far
        self.done = []    # (tick, kind, back_tick, image)

    def part(self, tick, content):
        kind, part, size, back_tick = struct.unpack_from("<IIQQ", content)
        what = (tick, kind, size, back_tick)
        if part == 0 and self.open is None:
            self.open = (what, 0, b"")
        if self.open is None or self.open[:2] != (what, part) or kind not in (1, 2, 3, 4) or size == 0:
            raise Malformed("part of an image")
        if (kind == 3 and back_tick >= tick) or (kind != 3 and back_tick != 0):
            raise Malformed("an image of a later tick")
        wanted = min(IMAGE_PART_BYTES, size - part * IMAGE_PART_BYTES)
        raw = zstandard.ZstdDecompressor().decompress(content[24:], max_output_size=wanted)
        if len(raw) != wanted:
            raise Malformed("size of an image")
        image = self.open[2] + raw
        self.open = (what, part + 1, image)
        if len(image) == size:
            self.done.append((tick, kind, back_tick, image))
            self.open = None


class Player:
    """Frames one after the other; a frame is a list of chunk states for each field."""

    def __init__(self, fields, picture_ticks, coarse_shift):
        self.fields = fields
        self.picture_ticks = picture_ticks
        self.coarse_shift = coarse_shift
        self.trail = []     # (tick, frame) since the last key, newest first
        self.pictures = []  # the same of those with points and grids
        self.between = False
        self.chain = {}  # of the codecs, since the last key
        self.keys = self.deltas = self.spans = self.coarse = 0
        self.parent = None
        self.images = Images()

    def waits(self, field):
        """True for fields of which frames between two pictures say nothing."""
        return field.kind in WAITING

    def key(self, tick, content):
        if content[8] not in (0, CUT):
            raise Malformed("flags of a key")
        self.trail, self.pictures, self.chain = [], [], {}
        frame = [[None] * len(field.chunks) for field in self.fields]
        self.between = False
        self.read(tick, content, 9, None, None, frame)
        self.trail = [(tick, frame)]
        self.pictures = [(tick, frame)]
        self.keys += 1

    def delta(self, tick, content):
        if not self.trail:
            raise Malformed("a delta before the first key")
        if tick - self.trail[-1][0] >= 1 << 24:
            raise Malformed("a delta too far from what it is out of")
        if content[8] not in (0, BETWEEN, CUT, COARSE) or (content[8] == COARSE and not self.coarse_shift):
            raise Malformed("flags of a frame")
        self.between = content[8] == BETWEEN
        if self.between and tick - self.pictures[0][0] >= self.picture_ticks:
            raise Malformed("no picture for too long")
        if tick - self.pictures[-1][0] >= 1 << 24:
            raise Malformed("a delta too far from what it is out of")
        kinds = [field.kind for field in self.told() for _ in field.chunks]
        bits = BitReader(content, 9)
        changed, at = [bits.get(1) for _ in kinds], 9 + (len(kinds) + 7) // 8
        coarse = None
        if content[8] == COARSE:
            bits = BitReader(content, at)
            coarse = [bits.get(2) if told and kind == POINTS else 0 for kind, told in zip(kinds, changed)]
            at += (2 * sum(told and kind == POINTS for kind, told in zip(kinds, changed)) + 7) // 8
        frame = [list(states) for states in self.trail[0][1]]
        self.read(tick, content, at, changed, coarse, frame)
        self.trail = [(tick, frame)] + self.trail[:2]
        if not self.between:
            self.pictures = [(tick, frame)] + self.pictures[:2]
        self.deltas += 1

    def told(self):
        """The fields of this frame."""
        return [field for field in self.fields if not (self.between and self.waits(field))]

    def read(self, tick, content, at, changed, coarse, frame):
        """The spans of the changed chunks, of all if changed is None; of a field by their level in coarse."""
        first = 0
        for f, field in enumerate(self.fields):
            if self.between and self.waits(field):
                continue
            told = [c for c in range(len(field.chunks)) if changed is None or changed[first + c]]
            levels = {c: coarse[first + c] if coarse else 0 for c in told}
            for level in range(4):
                detail = self.coarse_shift + level - 1 if level else 0
                at = self.read_field(tick, content, at, f, [c for c in told if levels[c] == level], detail, frame)
            self.coarse += sum(level > 0 for level in levels.values())
            first += len(field.chunks)
        if at != len(content):
            raise Malformed("bytes behind a frame")

    def read_field(self, tick, content, at, f, waiting, detail, frame):
        field = self.fields[f]
        past = self.pictures if self.waits(field) else self.trail
        while waiting:
            if len(content) - at < 2:
                raise Malformed("torn span")
            flags, count, at = content[at], min(len(waiting), field.span_chunks()), at + 1
            most = count
            if flags & COUNT:
                count, at = content[at] + 1, at + 1
            size = len(content) - at
            if flags & SIZE:
                size, at = read_varint(content, at)
            if flags & ANEW:
                self.chain = {}
            if flags >> 4 or count > most or size == 0 or at + size > len(content) or size >> 24:
                raise Malformed("span")
            chunks, waiting = waiting[:count], waiting[count:]
            older = [[details.reduce(field, detail, old[f][c]) for c in chunks] for _, old in past]
            back = [tick - t for t, _ in past]
            made = read_span(field, chunks, flags & PLAIN, content, at, at + size, older, back, chain=self.chain,
                             number=f)
            for c, state in zip(chunks, made):
                frame[f][c] = details.restore(field, detail, state)
            at += size
            self.spans += 1
        return at

    def frame_bytes(self):
        """The newest frame's elements, field after field; zeros where it is no picture."""
        data = b""
        for field, states in zip(self.fields, self.trail[0][1]):
            if self.between and self.waits(field):
                data += bytes(field.capacity * field.element_bytes())
                continue
            elements = [None] * field.capacity
            for indices, state in zip(field.chunks, states):
                for i, element in zip(indices, state):
                    elements[i] = field.pack(element)
            data += b"".join(elements)
        return data


def play(data):
    """Yields (tick, player) after each frame."""
    player = None
    for kind, tick, content in blocks(data):
        if player is None:
            if kind != "HEAD":
                raise Malformed("no HEAD")
            _, picture_ticks, coarse_shift, world = read_head(content)
            player = Player(fields_of(world), picture_ticks, coarse_shift)
        if kind in ("KEYF", "DLTA") and player.trail and tick <= player.trail[0][0]:
            raise Malformed("tick %d after %d" % (tick, player.trail[0][0]))
        if player.images.open is not None and kind != "IMAG":
            raise Malformed("an image without its end")
        if kind == "PRNT":
            player.parent = read_parent(content)
        elif kind == "IMAG":
            player.images.part(tick, content)
        elif kind == "KEYF":
            player.key(tick, content)
            yield tick, player
        elif kind == "DLTA":
            player.delta(tick, content)
            yield tick, player
        elif kind == "INDX":
            return
