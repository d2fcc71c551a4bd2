"""State packets into chunk states, as a client keeps them."""

import xxhash

from bits import BitReader, Malformed
from spans import read_span

KEPT = 32


def span_hash(field, states):
    data = b"".join(field.state_bytes(state) for state in states)
    return xxhash.xxh3_64_intdigest(data, seed=0) & 0xFFFF


class Receiver:
    def __init__(self, fields):
        self.fields = fields
        self.states = {}  # (field, chunk) -> {tick: state}
        self.seen = set()
        self.chunks = self.spans = self.hashes = 0

    def at(self, field, chunk, tick):
        kept = self.states.get((field, chunk), {})
        older = [t for t in kept if t <= tick]
        if not older:
            raise Malformed("no state of chunk %d of field %d at tick %d" % (chunk, field, tick))
        return kept[max(older)]

    def read_record(self, packet, bits, tick):
        f, first, count = bits.get(8), bits.get(16), bits.get(6) + 1
        gaps, plain, states, any_rest, has_hash = (bits.get(n) for n in (1, 1, 2, 1, 1))
        size = bits.get(12)
        check = bits.get(16) if has_hash else None
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
        older = [[self.at(f, c, tick - b) for c in chunks] for b in back]
        made = read_span(field, chunks, plain, packet, start, start + size, older, back)
        bits.bit += 8 * size
        self.spans += 1
        if check is not None:
            self.hashes += 1
            if span_hash(field, made) != check:
                raise Malformed("hash of a span of field %d" % f)
        return [(f, c, state) for c, state in zip(chunks, made)]

    def push(self, packet):
        """Returns (tick, [(field, chunk, state)]), or None for one that was there before."""
        if len(packet) > 1176:
            raise Malformed("packet of %d bytes" % len(packet))
        bits = BitReader(packet)
        sequence, tick = bits.get(16), bits.get(32)
        bits.get(32 + 16 + 16 + 16 + 8)
        records = bits.get(8)
        if sequence in self.seen:
            return None
        new = []
        for _ in range(records):
            new += self.read_record(packet, bits, tick)
        if bits.byte() != len(packet):
            raise Malformed("bytes behind the last record")
        if len(new) > 512:
            raise Malformed("%d chunks" % len(new))
        self.seen.add(sequence)
        for f, c, state in new:
            kept = self.states.setdefault((f, c), {})
            kept.setdefault(tick, state)
            if len(kept) > KEPT:
                del kept[min(kept)]
        self.chunks += len(new)
        return tick, new
