"""Details: coarser states. A detail is a number of 6 bits; states are lists of elements, one chunk's."""

from bits import Malformed
from chunks import GRID3, MIDDLE, POINTS, POSES, SCALARS

FULL = 0


def read_detail(bits):
    detail = bits.get(6)
    if detail & 15 > 8:
        raise Malformed("detail")
    return detail


def turn_shift(detail):
    return min(detail & 15, 6)


def value_shift(field, detail):
    return min(detail & 15, 4) if field.kind == GRID3 else detail & 15


def restore_position(code, s):
    limit = 1 << (28 - s)
    code = max(-limit, min(limit - 1, code))
    return (code << s) + (1 << s >> 1)


def restore_value(code, s, most):
    return min((code << s) + (1 << s >> 1), most) if code != 0 else 0


def snap(code, s):
    return (code >> s << s) + (1 << s >> 1)


def is_there(field, element):
    return element[7] & 1 if field.kind == POSES else element[4] != 0


def change(field, detail, state, position, value, turn):
    """A state with these done to its numbers; points that are left out are free."""
    if detail == FULL or field.kind == SCALARS:
        return state
    s, v, made = detail & 15, value_shift(field, detail), []
    for i, element in enumerate(state):
        element = list(element)
        if field.kind == POINTS and i & ((1 << (detail >> 4)) - 1):
            element = [MIDDLE] * 3 + [0, 0]
        elif field.kind not in (POSES, POINTS):
            element = [value(x, v) for x in element]
        elif is_there(field, element):
            element[:3] = [position(x - MIDDLE, s) + MIDDLE for x in element[:3]]
            if field.kind == POSES:
                element[4:7] = [turn(x, turn_shift(detail)) for x in element[4:7]]
            else:
                element[3] = value(element[3], v)
        made.append(element)
    return made


def reduce(field, detail, state):
    return change(field, detail, state, lambda x, s: x >> s, lambda x, s: x >> s, snap)


def restore(field, detail, state):
    most = 255 if field.kind == GRID3 else 65535
    return change(field, detail, state, restore_position, lambda x, s: restore_value(x, s, most),
                  lambda x, s: x)
