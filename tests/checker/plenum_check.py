#!/usr/bin/python3
"""plenum_check.py: decodes state packets and recordings knowing only protocol/PROTOCOL.md (and the
tables and the schema that it names), and compares them with what the server had.

usage: plenum_check.py packets FIELDS PACKETS FRAMES
       plenum_check.py verdicts FIELDS PACKETS VERDICTS
       plenum_check.py recording FILE FRAMES
       plenum_check.py damaged READ FILE...

FIELDS   a line a field: kind capacity channels x y z
PACKETS  u32 length and bytes of each packet, in the order of arrival
VERDICTS for each packet u8 1 if it is stored, and XXH3-64 (seed 0) of what is known of its tick's low
         32 bits then: u32 field, u32 chunk, u32 detail and elements of each chunk's finest state of that
         tick, in order; 0, and 0: it is dropped
FRAMES   u64 tick, u32 length and the elements of all fields, one after the other, of each tick
READ     for each file u64 frames that can be read of it, and u64 tick and XXH3-64 of each: of the
         elements of each field, with the hash of the field before as seed, 0 first
Exit status: 0 all agree, 1 something does not.
"""

import struct
import sys

import xxhash

import details
from bits import Malformed
from chunks import Field
from packets import Receiver
from recording import play


def read_fields(path):
    with open(path) as file:
        numbers = [[int(x) for x in line.split()] for line in file if line.strip()]
    return [Field(kind, capacity, channels, (x, y, z)) for kind, capacity, channels, x, y, z in numbers]


def read_frames(path):
    frames = {}
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        tick, length = struct.unpack_from("<QI", data, at)
        frames[tick] = data[at + 12:at + 12 + length]
        at += 12 + length
    return frames


def chunk_truth(fields, frame, f, chunk):
    """The bytes of a chunk in a frame."""
    first = sum(field.capacity * field.element_bytes() for field in fields[:f])
    size = fields[f].element_bytes()
    return b"".join(frame[first + i * size:first + (i + 1) * size] for i in fields[f].chunks[chunk])


def coarse_truth(field, detail, truth):
    """What a client has of it at a detail."""
    size = field.element_bytes()
    state = [field.unpack(truth[i:i + size]) for i in range(0, len(truth), size)]
    reduced = details.reduce(field, detail, state)
    return field.state_bytes(details.restore(field, detail, reduced))


def check_packets(fields_path, packets_path, frames_path):
    fields, frames = read_fields(fields_path), read_frames(frames_path)
    receiver, count = Receiver(fields), 0
    for packet in read_packets(packets_path):
        result = receiver.push(packet)
        count += 1
        if result is None:
            continue
        tick, new = result
        for f, chunk, detail, state in new:
            truth = chunk_truth(fields, frames[tick], f, chunk)
            if fields[f].state_bytes(state) != coarse_truth(fields[f], detail, truth):
                raise Malformed("tick %d: chunk %d of field %d differs" % (tick, chunk, f))
    print("%d packets, %d spans, %d chunks, %d hashes, %d coarse agree" %
          (count, receiver.spans, receiver.chunks, receiver.hashes, receiver.coarse))


def read_packets(path):
    with open(path, "rb") as file:
        data = file.read()
    at = 0
    while at < len(data):
        length, = struct.unpack_from("<I", data, at)
        yield data[at + 4:at + 4 + length]
        at += 4 + length


def hash_of_tick(receiver, tick):
    known = b""
    for f, chunk in sorted(receiver.states):
        kept = receiver.states[f, chunk]
        finest = max((key for key in kept if (key[0] ^ tick) & 0xFFFFFFFF == 0), default=None)
        if finest is not None:
            known += struct.pack("<III", f, chunk, -finest[1]) + receiver.fields[f].state_bytes(kept[finest])
    return xxhash.xxh3_64_intdigest(known, seed=0)


def check_verdicts(fields_path, packets_path, verdicts_path):
    receiver, stored, malformed = Receiver(read_fields(fields_path)), 0, 0
    with open(verdicts_path, "rb") as file:
        verdicts = list(struct.iter_unpack("<BQ", file.read()))
    packets = list(read_packets(packets_path))
    if len(packets) != len(verdicts):
        raise Malformed("%d packets, %d verdicts" % (len(packets), len(verdicts)))
    for i, (packet, expected) in enumerate(zip(packets, verdicts)):
        verdict, why = (0, 0), ""
        try:
            result = receiver.push(packet)
            if result is not None:
                verdict = 1, hash_of_tick(receiver, result[0])
                stored += 1
        except Malformed as error:
            malformed += 1
            why = error
        if verdict != expected:
            raise Malformed("packet %d: expected %s, got %s %s" % (i, expected, verdict, why))
    print("%d packets, %d stored, %d malformed agree" % (len(packets), stored, malformed))


def told(player, data):
    """A frame's elements without what a frame between two pictures does not tell."""
    at, out = 0, b""
    for field in player.fields:
        size = field.capacity * field.element_bytes()
        out += bytes(size) if player.between and player.waits(field) else data[at:at + size]
        at += size
    return out


def check_recording(path, frames_path):
    frames, count, pictures, player = read_frames(frames_path), 0, 0, None
    with open(path, "rb") as file:
        data = file.read()
    for tick, player in play(data):
        if player.frame_bytes() != told(player, frames[tick]):
            raise Malformed("tick %d differs" % tick)
        count += 1
        pictures += not player.between
    if count != len(frames):
        raise Malformed("%d frames of %d" % (count, len(frames)))
    print("%d frames, %d keys, %d spans agree, %d pictures, %d coarse chunks" %
          (count, player.keys, player.spans, pictures, player.coarse))


def hash_of_frame(player):
    data, at, value = player.frame_bytes(), 0, 0
    for field in player.fields:
        size = field.capacity * field.element_bytes()
        value = xxhash.xxh3_64_intdigest(data[at:at + size], seed=value)
        at += size
    return value


def check_damaged(read_path, *paths):
    with open(read_path, "rb") as file:
        expected, count, ends = file.read(), 0, 0
    for path in paths:
        with open(path, "rb") as file:
            data = file.read()
        read, why = [], "its end"
        try:
            for tick, player in play(data):
                read.append((tick, hash_of_frame(player)))
        except (Malformed, struct.error) as error:
            ends += 1
            why = error
        made = struct.pack("<Q", len(read)) + b"".join(struct.pack("<QQ", *frame) for frame in read)
        if not expected.startswith(made):
            raise Malformed("%s: got %d frames up to %s, expected %d or others" %
                            (path, len(read), why, struct.unpack_from("<Q", expected)[0]))
        expected = expected[len(made):]
        count += len(read)
    print("%d frames, %d ends agree" % (count, ends))


def main():
    arguments = sys.argv[1:]
    try:
        if len(arguments) == 4 and arguments[0] == "packets":
            check_packets(*arguments[1:])
        elif len(arguments) == 4 and arguments[0] == "verdicts":
            check_verdicts(*arguments[1:])
        elif len(arguments) == 3 and arguments[0] == "recording":
            check_recording(*arguments[1:])
        elif len(arguments) > 2 and arguments[0] == "damaged":
            check_damaged(*arguments[1:])
        else:
            sys.exit(__doc__)
    except (Malformed, OSError, struct.error, KeyError) as error:
        print("plenum_check: %s: %s" % (type(error).__name__, error), file=sys.stderr)
        sys.exit(1)


if __name__ == "__main__":
    main()
