"""Spans: several chunks of one field coded together."""

from chunks import POINTS, POSES, SCALARS, read_fallback
from grids import GridDecoder, read_scalars
from points import PointDecoder
from poses import PoseDecoder


def join(states):
    return [element for state in states for element in state]


def split(field, chunks, elements):
    states, at = [], 0
    for c in chunks:
        n = len(field.chunks[c])
        states.append(elements[at:at + n])
        at += n
    return states


def read_span(field, chunks, plain, data, start, end, older, back, turn_shift=0, chain=None, number=0):
    """States of the chunks; older: for each older state, newest first, those of the chunks. chain: of each
    codec what it learned from the codes before, empty at the start; None: the code stands alone. number: of
    the field."""
    slots = None
    if chain is not None and field.kind == POINTS:
        slots = [(i + (number << 13)) % 32768 for c in chunks for i in field.chunks[c]]
    chain = {} if chain is None else chain
    if plain:
        return read_fallback(field, chunks, data, start, end, older[0] if older else None)
    n = sum(len(field.chunks[c]) for c in chunks)
    flat = [join(states) for states in older]
    if field.kind == POINTS:
        return split(field, chunks, PointDecoder(n, flat, back, chain, slots).read(data[start:end]))
    if field.kind == POSES:
        return split(field, chunks, PoseDecoder(n, flat, back, turn_shift, chain).read(data[start:end]))
    if field.kind == SCALARS:
        return split(field, chunks, read_scalars(data[start:end], n, flat, chain))
    return GridDecoder(field, chunks, older, chain).read(data[start:end])
