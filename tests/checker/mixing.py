"""A bit of three contexts, mixed by learned weights: of poses, and of voxels."""

RATES = [43690, 26214, 14563, 7710, 3971, 2016, 1016]
LOGISTIC = [22, 36, 60, 98, 162, 267, 439, 720, 1179, 1921, 3108, 4971, 7812, 11955, 17625, 24743, 32768, 40793,
            47911, 53581, 57724, 60565, 62428, 63615, 64357, 64816, 65097, 65269, 65374, 65438, 65476, 65500, 65514]


def logarithm(v):
    t = v.bit_length() - 1
    m = (v * 1024 >> t) - 1024
    return 1024 * t + m + (22 * m * (1024 - m) >> 16)


STRETCH = {}


def stretch(chance):
    x = STRETCH.get(chance)
    if x is None:
        x = STRETCH[chance] = (logarithm(chance) - logarithm(65535 - chance)) * 11357 >> 16
    return x


def mixed_bit(decoder, chances, rates, slots, weights):
    """slots: three; weights: four, which learn as the slots do."""
    x = [stretch(chances[s]) for s in slots] + [256]
    dot = max(-2047, min(2047, sum(a * w for a, w in zip(x, weights)) >> 13))
    y = dot + 2048
    i, f = y >> 7, y & 127
    p = (LOGISTIC[i] * (128 - f) + LOGISTIC[i + 1] * f) >> 7
    bit = decoder.bit(p)
    e = (65536 * bit - p) * 3 >> 7
    for k in range(4):
        weights[k] = max(-32768, min(32767, weights[k] + (((8 * x[k] * e >> 16) + 1) >> 1)))
    for s in slots:
        rate, chance = rates[s], chances[s]
        chances[s] = chance + ((65535 - chance) * rate >> 16) if bit else chance - (chance * rate >> 16)
        rates[s] = max(300, rate - (rate * rate >> 16))
    return bit
