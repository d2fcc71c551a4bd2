"""The binary range decoder."""


class RangeDecoder:
    def __init__(self, code):
        self.code, self.at, self.low, self.high = code, 0, 0, (1 << 64) - 1
        self.value = self.next() << 32 | self.next()

    def next(self):
        """Four bytes; those behind the end are zero."""
        word = self.code[self.at:self.at + 4]
        self.at += 4
        return int.from_bytes(word + bytes(4 - len(word)), "big")

    def bit(self, p):
        """A bit that is 1 with probability p in 65536ths."""
        middle = self.low + (self.high - self.low >> 16) * p
        bit = 1 if self.value <= middle else 0
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while (self.low ^ self.high) >> 32 == 0:
            self.low = self.low << 32 & (1 << 64) - 1
            self.high = (self.high << 32 | 0xFFFFFFFF) & (1 << 64) - 1
            self.value = (self.value << 32 | self.next()) & (1 << 64) - 1
        return bit

    def raw(self, count):
        """Bits of even chances, the highest first."""
        value = 0
        for _ in range(count):
            value = value << 1 | self.bit(32768)
        return value
