"""The binary range decoder."""


class RangeDecoder:
    def __init__(self, code):
        self.code, self.at, self.low, self.high, self.value = code, 0, 0, 0xFFFFFFFF, 0
        for _ in range(4):
            self.value = self.value << 8 | self.next()

    def next(self):
        byte = self.code[self.at] if self.at < len(self.code) else 0
        self.at += 1
        return byte

    def bit(self, p):
        """A bit that is 1 with probability p in 65536ths."""
        middle = self.low + ((self.high - self.low) * p >> 16)
        bit = 1 if self.value <= middle else 0
        if bit:
            self.high = middle
        else:
            self.low = middle + 1
        while (self.low ^ self.high) & 0xFF000000 == 0:
            self.low = self.low << 8 & 0xFFFFFFFF
            self.high = (self.high << 8 | 255) & 0xFFFFFFFF
            self.value = (self.value << 8 | self.next()) & 0xFFFFFFFF
        return bit

    def raw(self, count):
        """Bits of even chances, the highest first."""
        value = 0
        for _ in range(count):
            value = value << 1 | self.bit(32768)
        return value
