"""Bits, least significant first, and the small codes of PROTOCOL.md."""


class Malformed(Exception):
    pass


class BitReader:
    def __init__(self, data, start=0, end=None):
        self.data = data
        self.bit = 8 * start
        self.end = 8 * (len(data) if end is None else end)

    def get(self, count):
        if self.bit + count > self.end:
            raise Malformed("out of bits")
        first, last = self.bit >> 3, (self.bit + count + 7) >> 3
        value = int.from_bytes(self.data[first:last], "little") >> (self.bit & 7)
        self.bit += count
        return value & ((1 << count) - 1)

    def unsigned(self):
        width = self.get(6)
        if width == 0:
            return 0
        if width == 63:
            return self.get(64)
        return 1 << (width - 1) | self.get(width - 1)

    def leb(self):
        value = 0
        for shift in (0, 7, 14):
            byte = self.get(8)
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
        raise Malformed("LEB of more than 3 bytes")

    def align(self):
        while self.bit & 7:
            if self.get(1):
                raise Malformed("padding that is not zero")

    def byte(self):
        assert self.bit & 7 == 0
        return self.bit >> 3


def unfold(n):
    """0, 1, 2, 3, 4 -> 0, -1, 1, -2, 2"""
    return -((n + 1) >> 1) if n & 1 else n >> 1
