"""State packets into chunk states, as a client keeps them."""

import xxhash

import details
from bits import BitReader, Malformed
from spans import read_span

KEPT = 32
WINDOW = 64


class Late(Exception):
    """Nothing is wrong with the packet, but it came too late to matter."""


def signed(number, bits):
    number &= (1 << bits) - 1
    return number - (1 << bits) if number >> (bits - 1) else number


def span_hash(field, states):
    data = b"".join(field.state_bytes(state) for state in states)
    return xxhash.xxh3_64_intdigest(data, seed=0) & 0xFFFF


class Receiver:
    def __init__(self, fields):
        self.fields = fields
        self.states = {}  # (field, chunk) -> {(tick, -detail): state}
        self.newest = None  # sequence
        self.seen = set()  # sequences stored, of the window behind the newest
        self.tick = None  # the newest
        self.chunks = self.spans = self.hashes = self.coarse = 0

    def is_old(self, sequence):
        """True if it was stored before, or is too far behind for that to be known."""
        if self.newest is None:
            return False
        behind = signed(self.newest - sequence, 16)
        return behind == 0 or behind > WINDOW or sequence in self.seen

    def acknowledge(self, sequence):
        self.seen.add(sequence)
        if self.newest is None or signed(self.newest - sequence, 16) < 0:
            self.newest = sequence
        self.seen = {s for s in self.seen if 0 <= signed(self.newest - s, 16) <= WINDOW}

    def whole_tick(self, low):
        """Of all ticks with these low bits the one nearest to the newest."""
        tick = low if self.tick is None else self.tick + signed(low - self.tick, 32)
        return tick if tick >= 0 else low

    def check_past(self, field, chunk, tick, detail):
        kept = self.states.get((field, chunk), {})
        if len(kept) == KEPT and (tick, -detail) < min(kept):
            raise Late

    def at(self, field, chunk, tick, detail):
        kept = self.states.get((field, chunk), {})
        older = [t for t in kept if t[0] <= tick and t[1] == -detail]
        if not older and len(kept) == KEPT and tick >= 0:
            raise Late
        if not older:
            raise Malformed("no state of chunk %d of field %d at tick %d" % (chunk, field, tick))
        return kept[max(older)]

    def read_record(self, packet, bits, tick):
        f, first, count = bits.get(8), bits.get(16), bits.get(6) + 1
        gaps, plain, states, any_rest, has_hash = (bits.get(n) for n in (1, 1, 2, 1, 1))
        size, coarse = bits.get(11), bits.get(1)
        check = bits.get(16) if has_hash else None
        detail, older_details = details.FULL, [details.FULL] * states
        if coarse:
            detail, mixed = details.read_detail(bits), bits.get(1)
            older_details = [details.read_detail(bits) if mixed else detail for _ in range(states)]
        back = []
        for _ in range(states):
            more = bits.leb()
            if more == 0:
                raise Malformed("back")
            back.append(more + (back[-1] if back else 0))
        chunks = [first]
        for _ in range(count - 1):
            chunks.append(chunks[-1] + 1 + (bits.unsigned() if gaps else 0))
        if any_rest:
            for _ in chunks:
                bits.get(4)
        bits.align()
        if f >= len(self.fields) or chunks[-1] >= len(self.fields[f].chunks) or size == 0:
            raise Malformed("record")
        field, start = self.fields[f], bits.byte()
        if start + size > len(packet):
            raise Malformed("a code beyond the packet")
        for c in chunks:
            self.check_past(f, c, tick, detail)
        older = [[details.reduce(field, detail, self.at(f, c, tick - b, d)) for c in chunks]
                 for b, d in zip(back, older_details)]
        made = read_span(field, chunks, plain, packet, start, start + size, older, back,
                         details.turn_shift(detail))
        made = [details.restore(field, detail, state) for state in made]
        bits.bit += 8 * size
        self.spans += 1
        if check is not None:
            self.hashes += 1
            if span_hash(field, made) != check:
                raise Malformed("hash of a span of field %d" % f)
        self.coarse += coarse
        return [(f, c, detail, state) for c, state in zip(chunks, made)]

    def push(self, packet):
        """Returns (tick, [(field, chunk, detail, state)]), or None for one that was there before or
        came too late to matter."""
        try:
            return self.store(packet)
        except Late:
            return None

    def store(self, packet):
        if len(packet) > 1176:
            raise Malformed("packet of %d bytes" % len(packet))
        bits = BitReader(packet)
        sequence, tick = bits.get(16), self.whole_tick(bits.get(32))
        bits.get(32 + 16 + 16 + 16)
        flags, records = bits.get(8), bits.get(8)
        if self.is_old(sequence):
            return None
        new = []
        for _ in range(records):
            new += self.read_record(packet, bits, tick)
        if flags & 8:  # the hash of the whole frame, for relays
            if bits.byte() + 8 > len(packet):
                raise Malformed("no hash of the frame")
            bits.get(64)
        if bits.byte() != len(packet):
            raise Malformed("bytes behind the last record")
        if len(new) > 512:
            raise Malformed("%d chunks" % len(new))
        self.acknowledge(sequence)
        self.tick = tick if self.tick is None else max(self.tick, tick)
        for f, c, detail, state in new:
            kept = self.states.setdefault((f, c), {})
            kept.setdefault((tick, -detail), state)
            if len(kept) > KEPT:
                del kept[min(kept)]
        self.chunks += len(new)
        return tick, new
