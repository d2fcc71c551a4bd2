#!/usr/bin/env python3
"""check_export.py: reads what plenum-tool export wrote, knowing only the specifications of the
formats, and compares it with the frames of the world that was recorded.

usage: check_export.py HOW TRUTH FRAMES OUT EVERY FROM
HOW     csv, csv-range, csv-only, obj, ply, gltf, mcap, usd; gltf-validator and mcap-core ask the
        programs of these names, where npm has installed them
TRUTH   JSON: fields and probes, then a line a tick: where its frame begins, its entities
FRAMES  the elements of all fields, as they are in memory
Exit status: 0 all agrees; else it says what does not.
"""

import csv
import json
import math
import os
import re
import struct
import subprocess
import sys
import zlib

POSES, POINTS, GRID2, GRID3, SCALARS = 1, 2, 3, 4, 5
LAST_TICK, TICK_RATE, CREATED_S = 90, 60, 1700000000
SPAWNED, REMOVED = 20, 50


def need(condition, text):
    if not condition:
        sys.exit("check_export: " + text)


def near(a, b, error, text):
    need(len(a) == len(b) and all(abs(x - y) <= error for x, y in zip(a, b)),
         "%s: %s, expected %s" % (text, a, b))


def same_turn(a, b, error, text):
    """Unit quaternions x y z w of one rotation."""
    need(abs(abs(sum(x * y for x, y in zip(a, b))) - 1.0) <= error,
         "%s: %s, expected %s" % (text, a, b))


# ---- the truth ----

def turn_of(code):
    """Smallest three: x y z w."""
    largest, rest, parts = code >> 30, 1.0, [0.0] * 4  # w x y z
    others = [i for i in range(4) if i != largest]
    for i, shift in zip(others, (20, 10, 0)):
        parts[i] = ((code >> shift & 1023) - 512) * math.sqrt(0.5) / 511
        rest -= parts[i] ** 2
    parts[largest] = math.sqrt(max(rest, 0.0))
    return parts[1:] + parts[:1]


class Truth:
    """What is there in a tick: bodies by name: place, turn; points by name: a list."""

    def __init__(self, truth_path, frames_path, every, first):
        with open(truth_path) as file:
            lines = [json.loads(line) for line in file]
        with open(frames_path, "rb") as file:
            self.data = file.read()
        self.fields, self.probe_list = lines[0]["fields"], lines[0]["probes"]
        self.offsets, at = [], 0
        for field in self.fields:
            self.offsets.append(at)
            at += field["capacity"] * field["bytes"]
        self.lines = {line["tick"]: line for line in lines[1:]}
        self.ticks = list(range(first, LAST_TICK + 1, every))
        self.memory = {}

    def place(self, field, codes):
        return [o + c * field["quantum"] for o, c in zip(field["origin"], codes)]

    def heights(self, field, at):
        nx, nz, made = field["dims"][0], field["dims"][1], []
        for j in range(nz):
            for i in range(nx):
                code, = struct.unpack_from("<H", self.data, at + (j * nx + i) * field["bytes"])
                made.append([field["origin"][0] + i * field["spacing"][0],
                             field["value_min"] + code * field["quantum"],
                             field["origin"][2] + j * field["spacing"][2]])
        return made

    def at(self, tick):
        if tick in self.memory:
            return self.memory[tick]
        bodies, points = {}, {}
        line = self.lines[tick]
        for entity, f, first, count, generation, name in line["entities"]:
            field = self.fields[f]
            at = line["at"] + self.offsets[f] + first * field["bytes"]
            if name == "world":  # what formats call the root is called otherwise
                name = "world#%d" % entity
            if field["kind"] == POSES:
                x, y, z, turn, flags, now = struct.unpack_from("<iiiIHH", self.data, at)
                if flags & 1 and now == generation:
                    bodies[name] = (self.place(field, (x, y, z)), turn_of(turn))
            elif field["kind"] == POINTS:
                live = [struct.unpack_from("<iiiHH", self.data, at + 16 * i) for i in range(count)]
                points[name] = [self.place(field, p[:3]) for p in live if p[4] != 0]
            elif field["kind"] == GRID2:
                points[name] = self.heights(field, at)
        self.memory[tick] = bodies, points
        return bodies, points

    def probes(self, tick):
        values = {}
        for probe in self.probe_list:
            for i in range(probe["components"]):
                name = probe["name"] + (".xyzw"[0:1] + "xyzw"[i] if probe["components"] > 1 else "")
                at = self.lines[tick]["at"] + self.offsets[probe["field"]] + 4 * (probe["first"] + i)
                values[name], = struct.unpack_from("<f", self.data, at)
        return values


# ---- CSV ----

def check_csv(truth, out, only=None):
    with open(out, newline="", encoding="utf-8") as file:
        text = file.read()
    need(text.endswith("\r\n"), "rows end with CR LF")
    rows = list(csv.reader(text.splitlines(), strict=True))
    head, rows = rows[0], rows[1:]
    need(head[:2] == ["tick", "time [s]"] and len(set(head)) == len(head), "head of the table")
    need([int(r[0]) for r in rows] == truth.ticks, "ticks: %s" % [r[0] for r in rows])
    names = set()
    for row in rows:
        need(len(row) == len(head), "cells in a row")
        tick = int(row[0])
        near([float(row[1])], [tick / TICK_RATE], 1e-8, "time")
        cells = {}
        for title, cell in zip(head[2:], row[2:]):
            kind, rest = title.split("/", 1)
            if kind == "probe":
                rest = re.sub(r" \[[^]]*\]$", "", rest) + "/value"
            name, _, quantity = rest.rpartition("/")
            cells.setdefault((kind, name), {})[quantity.split(" ")[0]] = cell
        names |= set(cells)
        bodies, points = truth.at(tick)
        values = truth.probes(tick)
        for (kind, name), cell in cells.items():
            where = "%s %s at tick %d" % (kind, name, tick)
            if kind == "probe":
                need(struct.pack("<f", float(cell["value"])) == struct.pack("<f", values[name]), where)
            elif kind == "body" and name in bodies:
                place, turn = bodies[name]
                near([float(cell[k]) for k in "xyz"], place, 1e-5, where)
                same_turn([float(cell["q" + k]) for k in "xyzw"], turn, 1e-6, where)
            elif kind == "body":
                need(set(cell.values()) == {""}, where + " is not there")
            elif name == "ball":  # its skin may be finer than its points
                need(int(cell["count"]) > 0, where)
            else:
                there = points.get(name, [])
                need(int(cell["count"]) == len(there), where + ": count")
                if there:
                    centre = [sum(p[k] for p in there) / len(there) for k in range(3)]
                    near([float(cell[k]) for k in "xyz"], centre, 2e-5, where)
    if only is not None:
        need(names == only, "columns: %s" % sorted(names))
    else:
        wanted = {("body", n) for t in truth.ticks for n in truth.at(t)[0]}
        wanted |= {("points", n) for t in truth.ticks for n in truth.at(t)[1] if truth.at(t)[1][n]}
        wanted |= {("probe", n) for n in truth.probes(truth.ticks[0])}
        need(names == wanted, "columns: %s, expected %s" % (sorted(names), sorted(wanted)))
    return "%d rows of %d cells" % (len(rows), len(head))


# ---- OBJ, PLY ----

def check_obj(truth, out):
    files = sorted(f for f in os.listdir(out) if f.endswith(".obj"))
    need(files == ["%08d.obj" % t for t in truth.ticks], "files: %s" % files)
    with open(os.path.join(out, "materials.mtl")) as file:
        materials = set(re.findall(r"^newmtl (\S+)$", file.read(), re.M))
    faces = 0
    for tick, name in zip(truth.ticks, files):
        bodies, points = truth.at(tick)
        vertices, normals, of, elements = [], [], None, {}
        with open(os.path.join(out, name)) as file:
            for line in file:
                word, *rest = line.split()
                if word == "o":
                    of = elements.setdefault(line[2:].rstrip("\n"), ([], []))
                elif word == "usemtl":
                    need(rest[0] in materials, "material " + rest[0])
                elif word == "v":
                    of[0].append([float(x) for x in rest])
                    vertices.append(of)
                elif word == "vn":
                    near([sum(float(x) ** 2 for x in rest)], [1.0], 1e-4, "length of a normal")
                    normals.append(of)
                elif word in "fl":
                    for corner in rest:
                        vertex = int(corner.split("//")[0])
                        need(1 <= vertex <= len(vertices) and vertices[vertex - 1] is of,
                             "%s: vertex %d of a face" % (name, vertex))
                    faces += word == "f"
        need(len(vertices) == len(normals), "normals of vertices")
        need("pane" not in elements, "what nobody sees")
        for shown in ('the_"big"_box,_red', "roll", "can", "curtain", "rope", "pond", "world#3"):
            need(shown in elements, "%s: no %s in %s" % (name, shown, sorted(elements)))
        box, centre = elements['the_"big"_box,_red'][0], bodies['the "big" box, red'][0]
        near([sum(v[k] for v in box) / len(box) for k in range(3)], centre, 1e-4, "centre of the box")
        need(all(abs(math.dist(v, centre) - math.sqrt(0.5)) < 1e-4 for v in box), "corners of the box")
        ball = bodies["world#3"][0]
        need(all(abs(math.dist(v, ball) - 0.25) < 1e-4 for v in elements["world#3"][0]), "radius")
        for soft in ("curtain", "rope", "pond"):
            for v, p in zip(elements[soft][0], points[soft]):
                near(v, p, 1e-4, soft)
            need(len(elements[soft][0]) == len(points[soft]), soft)
        need(any(e.startswith("crate") for e in elements) == (SPAWNED <= tick < REMOVED), "the crate at tick %d" % tick)
    need(faces > 1000, "hardly any faces")
    return "%d files, %d faces" % (len(files), faces)


def check_ply(truth, out):
    files = sorted(os.listdir(out))
    need(files == ["%08d.ply" % t for t in truth.ticks], "files: %s" % files)
    total = 0
    for tick, name in zip(truth.ticks, files):
        with open(os.path.join(out, name), "rb") as file:
            data = file.read()
        head, _, body = data.partition(b"end_header\n")
        lines = head.decode().splitlines()
        need(lines[:2] == ["ply", "format binary_little_endian 1.0"], "head of a PLY")
        objects = dict(line.split(" ", 3)[2:] for line in lines if line.startswith("comment object"))
        count = int(next(line for line in lines if line.startswith("element vertex")).split()[2])
        codes = {"float": "f", "uchar": "B", "int": "i"}
        row = struct.Struct("<" + "".join(codes[line.split()[1]] for line in lines
                                          if line.startswith("property")))
        need(len(body) == count * row.size, "bytes of %s" % name)
        found = {}
        for i in range(count):
            x, y, z, _, _, _, radius, thing = row.unpack_from(body, i * row.size)
            found.setdefault(objects[str(thing)], []).append([x, y, z])
            need(0.0 < radius < 0.1, "radius %s" % radius)
        points = truth.at(tick)[1]
        for kind in ("water", "sparks"):
            need(len(found.get(kind, [])) == len(points[kind]), "%s in %s" % (kind, name))
            for v, p in zip(found.get(kind, []), points[kind]):
                near(v, p, 1e-5, kind)
        total += count
    need(total > 100, "hardly any points")
    return "%d files, %d points" % (len(files), total)


# ---- glTF ----

class Gltf:
    def __init__(self, path):
        with open(path, "rb") as file:
            data = file.read()
        if path.endswith(".glb"):
            magic, version, length = struct.unpack_from("<4sII", data)
            need(magic == b"glTF" and version == 2 and length == len(data), "head of the glb")
            size, kind = struct.unpack_from("<I4s", data, 12)
            need(kind == b"JSON" and size % 4 == 0, "JSON chunk")
            self.json = json.loads(data[20:20 + size])
            bin_size, kind = struct.unpack_from("<I4s", data, 20 + size)
            need(kind == b"BIN\0" and 28 + size + bin_size == len(data), "BIN chunk")
            self.bin = data[28 + size:]
            need("uri" not in self.json["buffers"][0], "uri of the chunk")
        else:
            self.json = json.loads(data)
            with open(os.path.join(os.path.dirname(path), self.json["buffers"][0]["uri"]), "rb") as file:
                self.bin = file.read()
        need(self.json["asset"]["version"] == "2.0", "version")
        need(self.json["buffers"][0]["byteLength"] == len(self.bin), "length of the buffer")

    def read(self, index):
        accessor = self.json["accessors"][index]
        view = self.json["bufferViews"][accessor["bufferView"]]
        size = {"SCALAR": 1, "VEC3": 3, "VEC4": 4}[accessor["type"]]
        code = {5126: "f", 5125: "I"}[accessor["componentType"]]
        count = accessor["count"]
        need(view["byteOffset"] % 4 == 0 and view["byteLength"] == 4 * size * count > 0 and
             view["byteOffset"] + view["byteLength"] <= len(self.bin), "accessor %d" % index)
        flat = struct.unpack_from("<%d%s" % (size * count, code), self.bin, view["byteOffset"])
        rows = [flat[i:i + size] for i in range(0, len(flat), size)]
        if "min" in accessor:
            for k in range(size):
                column = [row[k] for row in rows]
                for bound, value in ((accessor["min"][k], min(column)), (accessor["max"][k], max(column))):
                    need(struct.pack("<f", bound) == struct.pack("<f", value) or bound == value,
                         "bounds of accessor %d: %s, are %s" % (index, bound, value))
        return [row[0] for row in rows] if size == 1 else rows


def check_gltf(truth, out):
    doc = Gltf(out)
    nodes = doc.json["nodes"]
    root = nodes[doc.json["scenes"][doc.json["scene"]]["nodes"][0]]
    need(sorted(root["children"]) == list(range(len(nodes) - 1)), "children of the root")
    tracks = {}
    animation = doc.json["animations"][0]
    for channel in animation["channels"]:
        sampler = animation["samplers"][channel["sampler"]]
        need("min" in doc.json["accessors"][sampler["input"]], "bounds of times")
        times = doc.read(sampler["input"])
        need(times[0] == 0.0 and all(a < b for a, b in zip(times, times[1:])), "times ascend")
        key = channel["target"]["node"], channel["target"]["path"]
        need(key not in tracks, "two tracks for %s" % (key,))
        tracks[key] = times, doc.read(sampler["output"]), sampler["interpolation"]
    base_tick, moved, shapes = truth.ticks[0], 0, 0
    by_name = {node["name"]: i for i, node in enumerate(nodes)}
    for name, index in by_name.items():
        node = nodes[index]
        mesh = doc.json["meshes"][node["mesh"]]["primitives"][0] if "mesh" in node else None
        if mesh is not None:
            positions = doc.read(mesh["attributes"]["POSITION"])
            need("min" in doc.json["accessors"][mesh["attributes"]["POSITION"]], "bounds of " + name)
            if "indices" in mesh:
                need(max(doc.read(mesh["indices"])) < len(positions), "indices of " + name)
            need(mesh["material"] < len(doc.json["materials"]), "material of " + name)
        for k, tick in enumerate(truth.ticks):
            bodies, points = truth.at(tick)
            there = name in bodies or len(points.get(name, [])) > 0
            scale = tracks.get((index, "scale"))
            where = "%s at tick %d" % (name, tick)
            if scale is not None:
                need(scale[2] == "STEP" and scale[1][k] == (float(there),) * 3, "scale of " + where)
            elif name != "world":
                need(there, "%s is not there, but shown" % where)
            if name in bodies:
                move, turn = tracks.get((index, "translation")), tracks.get((index, "rotation"))
                near(move[1][k] if move else node["translation"], bodies[name][0], 1e-5, where)
                same_turn(turn[1][k] if turn else node["rotation"], bodies[name][1], 1e-6, where)
                if move:
                    near([move[0][k]], [(tick - base_tick) / TICK_RATE], 1e-6, "time of " + where)
                moved += move is not None
        if (index, "weights") in tracks and name != "ball":
            shapes += check_shapes(truth, doc, name, mesh, positions, tracks[index, "weights"])
    need(moved > 0 and (shapes > 0 or "weights" not in str(tracks.keys())), "nothing moves")
    seen = {n for t in truth.ticks for n in truth.at(t)[0]}
    seen |= {n for t in truth.ticks for n, p in truth.at(t)[1].items() if p}
    need(seen == set(by_name) - {"world"}, "nodes: %s" % sorted(by_name))
    return "%d nodes, %d tracks, %d shapes" % (len(nodes), len(tracks), shapes)


def check_shapes(truth, doc, name, mesh, base, track):
    """Each sample has one target alone, and with it the shape is that of the tick."""
    times, weights, interpolation = track
    targets = [doc.read(t["POSITION"]) for t in mesh["targets"]]
    need(len(weights) == len(times) * len(targets) and len(targets) == len(times) - 1, "weights")
    need(interpolation == ("STEP" if mesh["mode"] == 0 else "LINEAR"), "interpolation of " + name)
    ticks = [round(t * TICK_RATE) + truth.ticks[0] for t in times]
    need(ticks[-1] == truth.ticks[-1] and set(ticks) <= set(truth.ticks), "samples")
    for k, tick in enumerate(ticks):
        row = weights[k * len(targets):(k + 1) * len(targets)]
        need(list(row) == [float(i == k - 1) for i in range(len(targets))], "weights of a sample")
        shape = base if k == 0 else [[a + b for a, b in zip(v, d)] for v, d in zip(base, targets[k - 1])]
        points = truth.at(tick)[1].get(name, [])
        need(len(points) <= len(shape), "points of " + name)
        for i, vertex in enumerate(shape if points else []):
            near(vertex, points[i if i < len(points) else 0], 2e-5, "%s at tick %d" % (name, tick))
    return len(ticks)


def check_validator(truth, out):
    script = ("const v=require('gltf-validator'),fs=require('fs');"
              "v.validateBytes(new Uint8Array(fs.readFileSync(process.argv[1]))).then(r=>{"
              "console.log(JSON.stringify(r.issues.messages));"
              "process.exit(r.issues.numErrors+r.issues.numWarnings>0?1:0)})")
    return ask_node("gltf-validator", script, out)


# ---- MCAP ----

def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def wire(data):
    """(field, value) of a protocol buffer: numbers, or bytes."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            need(at <= len(data), "length of a field")
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = data[at:at + size], at + size
        yield tag >> 3, value


class Schema:
    """Decodes messages by a FileDescriptorSet."""

    def __init__(self, data):
        self.messages = {}
        for _, file in wire(data):
            parts = list(wire(file))
            package = next(v for f, v in parts if f == 2).decode()
            need(("proto3" in [v.decode() for f, v in parts if f == 12]), "syntax")
            for f, message in parts:
                if f == 4:
                    self.add("." + package, message)

    def add(self, package, data):
        parts = list(wire(data))
        name = package + "." + next(v for f, v in parts if f == 1).decode()
        fields = {}
        for f, field in parts:
            if f == 2:
                d = dict(wire(field))
                fields[d[3]] = d[1].decode(), d[4] == 3, d[5], d.get(6, b"").decode()
        self.messages[name] = fields

    def decode(self, name, data):
        made = {field: [] for field, many, _, _ in self.messages[name].values() if many}
        for number, value in wire(data):
            field, many, kind, of = self.messages[name][number]
            if kind == 11:
                value = self.decode(of, value)
            elif kind == 1:
                value, = struct.unpack("<d", value)
            elif kind == 9:
                value = value.decode()
            elif kind == 7 and many:
                made[field] += [x for x, in struct.iter_unpack("<I", value)]
                continue
            elif kind == 7:
                value, = struct.unpack("<I", value)
            if many:
                made[field].append(value)
            else:
                made[field] = value
        return made


def records(data, at, end):
    while at < end:
        op, size = struct.unpack_from("<BQ", data, at)
        need(at + 9 + size <= end, "length of a record")
        yield at, op, data[at + 9:at + 9 + size]
        at += 9 + size


class Cursor:
    def __init__(self, data):
        self.data, self.at = data, 0

    def get(self, code):
        value, = struct.unpack_from("<" + code, self.data, self.at)
        self.at += struct.calcsize("<" + code)
        return value

    def raw(self, code="I"):
        size = self.get(code)
        self.at += size
        need(self.at <= len(self.data), "length in a record")
        return self.data[self.at - size:self.at]

    def text(self):
        return self.raw().decode()

    def pairs(self, code):
        return list(struct.iter_unpack("<" + code, self.raw()))


def read_channels(data, schemas, channels):
    """Schemas and channels among records."""
    for _, op, content in data:
        c = Cursor(content)
        if op == 3:
            number, name, encoding = c.get("H"), c.text(), c.text()
            need(encoding == "protobuf" and number > 0, "schema")
            schemas[number] = name, c.raw()
        elif op == 4:
            number, schema, topic, encoding = c.get("H"), c.get("H"), c.text(), c.text()
            need(encoding == "protobuf" and schema in schemas, "channel")
            channels[number] = topic, schema


def check_mcap(truth, out):
    with open(out, "rb") as file:
        data = file.read()
    magic = b"\x89MCAP0\r\n"
    need(data[:8] == magic and data[-8:] == magic, "magic")
    footer = len(data) - 8 - 29
    op, size, summary, offsets, crc = struct.unpack_from("<BQQQI", data, footer)
    need((op, size) == (2, 20) and zlib.crc32(data[summary:-12]) == crc, "CRC of the summary")
    schemas, channels, messages, chunks, at_end = {}, {}, [], {}, 0
    body = list(records(data, 8, summary))
    need(body[0][1] == 1 and body[-1][1] == 15, "header and end of the data")
    need(struct.unpack("<I", body[-1][2])[0] == zlib.crc32(data[:body[-1][0]]), "CRC of the data")
    read_channels(body, schemas, channels)
    for at, op, content in body:
        c = Cursor(content)
        if op == 6:
            start, end, size, crc, packing = c.get("Q"), c.get("Q"), c.get("Q"), c.get("I"), c.text()
            inner = c.raw("Q")
            need(packing == "" and len(inner) == size and zlib.crc32(inner) == crc, "chunk")
            found = {}
            for place, kind, record in records(inner, 0, len(inner)):
                need(kind == 5, "record in a chunk")
                channel, sequence, logged, published = struct.unpack_from("<HIQQ", record)
                messages.append((channel, logged, record[22:]))
                found.setdefault(channel, []).append((logged, place))
                need(start <= logged <= end and logged == published, "time of a message")
            chunks[at] = start, end, 9 + len(content), found, size, {}
            at_end = at
        elif op == 7:
            channel = c.get("H")
            need(c.pairs("QQ") == chunks[at_end][3][channel], "index of messages")
            chunks[at_end][5][channel] = at
    need(all(set(c[3]) == set(c[5]) for c in chunks.values()), "an index for each channel")
    check_summary(data, summary, offsets, footer, (schemas, channels, messages, chunks))
    times = [m[1] for m in messages]
    need(times == sorted(times), "messages in order of time")
    return check_messages(truth, schemas, channels, messages)


def check_summary(data, summary, offsets, footer, body):
    schemas, channels, messages, chunks = body
    again, also, groups = {}, {}, {}
    listed = list(records(data, summary, offsets))
    read_channels(listed, again, also)
    need(again == schemas and also == channels, "summary of schemas and channels")
    for at, op, content in listed:
        groups.setdefault(op, [at, 0])[1] += 9 + len(content)
        c = Cursor(content)
        if op == 8:
            start, end, chunk, size = (c.get("Q") for _ in range(4))
            indexes, index_size = dict(c.pairs("HQ")), c.get("Q")
            packing, packed, plain = c.text(), c.get("Q"), c.get("Q")
            known = chunks.pop(chunk)
            need((start, end, size) == known[:3] and packing == "" and packed == plain == known[4] and
                 indexes == known[5], "index of a chunk")
            need(index_size == sum(15 + 16 * len(f) for f in known[3].values()), "length of indexes")
        elif op == 11:
            counts = [c.get(k) for k in "QHIIIIQQ"]
            need(counts == [len(messages), len(schemas), len(channels), 0, 0, counts[5],
                            messages[0][1], messages[-1][1]], "statistics: %s" % counts)
            of = {}
            for channel, _, _ in messages:
                of[channel] = of.get(channel, 0) + 1
            need(dict(c.pairs("HQ")) == of, "messages of channels")
    need(not chunks, "chunks without an index")
    for _, op, content in records(data, offsets, footer):
        kind, start, size = struct.unpack("<BQQ", content)
        need(op == 14 and groups.pop(kind) == [start, size], "offset in the summary")
    need(not groups, "groups without an offset")


def vector(v):
    return [v["x"], v["y"], v["z"]]


def check_messages(truth, schemas, channels, messages):
    decoders = {number: (Schema(data), "." + name) for number, (name, data) in schemas.items()}
    latest, at_tick = {}, {}
    for channel, logged, data in messages:
        topic, schema = channels[channel]
        decoder, name = decoders[schema]
        tick = round((logged - CREATED_S * 10**9) * TICK_RATE / 1e9)
        at_tick.setdefault(tick, {})[topic] = decoder.decode(name, data)
    need(sorted(at_tick) == truth.ticks, "ticks")
    shapes = 0
    for tick in truth.ticks:
        latest.update(at_tick[tick])
        bodies, points = truth.at(tick)
        frames = {t["child_frame_id"]: t for topic in ("/tf", "/tf_static")
                  for t in latest[topic]["transforms"]}
        same_turn([frames["plenum"]["rotation"][k] for k in "xyzw"], [0.5**0.5, 0, 0, 0.5**0.5], 1e-6, "up")
        need(set(frames) - {"plenum"} == set(bodies), "frames at tick %d" % tick)
        for name, (place, turn) in bodies.items():
            where = "%s at tick %d" % (name, tick)
            near(vector(frames[name]["translation"]), place, 1e-5, where)
            same_turn([frames[name]["rotation"][k] for k in "xyzw"], turn, 1e-6, where)
            need(frames[name]["parent_frame_id"] == "plenum", "parent")
        entities = {e["id"]: e for e in latest["/bodies"]["entities"]}
        need(set(entities) == set(bodies) - {"pane"}, "shapes at tick %d" % tick)
        box = entities['the "big" box, red']["cubes"][0]
        near(vector(box["size"]), [1.0, 0.6, 0.8], 1e-6, "size of the box")
        near([box["color"][k] for k in "rgba"], [0.9, 0.1, 0.1, 1.0], 1e-6, "colour of the box")
        soft = {e["id"]: e for e in latest["/soft"]["entities"]}
        for name in ("curtain", "rope", "pond"):
            made = (soft[name]["triangles"] or soft[name]["lines"])[0]
            need(max(made["indices"]) < len(made["points"]) == len(points[name]), name)
            for v, p in zip(made["points"], points[name]):
                near(vector(v), p, 1e-5, name)
            shapes += 1
        for name in ("water", "sparks"):
            cloud = latest["/points/" + name]
            need([f["name"] for f in cloud["fields"]] == ["x", "y", "z"] and cloud["point_stride"] == 12, "cloud")
            found = list(struct.iter_unpack("<fff", cloud["data"]))
            need(len(found) == len(points[name]), "%s at tick %d" % (name, tick))
            for v, p in zip(found, points[name]):
                near(v, p, 1e-5, name)
        values = {p["name"]: p["value"] for p in latest["/probes"]["probes"]}
        need(values == truth.probes(tick), "probes at tick %d" % tick)
    return "%d messages, %d shapes" % (len(messages), shapes)


def check_mcap_core(truth, out):
    script = ("const {McapIndexedReader}=require('@mcap/core'),fs=require('fs');"
              "const b=fs.readFileSync(process.argv[1]);(async()=>{const r=await McapIndexedReader.Initialize("
              "{readable:{size:async()=>BigInt(b.length),read:async(o,l)=>new Uint8Array(b.buffer,"
              "b.byteOffset+Number(o),Number(l))}});let n=0n;"
              "for await(const m of r.readMessages({validateCrcs:true}))n++;"
              "if(n!==r.statistics.messageCount)throw new Error('messages');})()"
              ".catch(e=>{console.log(String(e));process.exit(1)})")
    return ask_node("@mcap/core", script, out)


def ask_node(module, script, out):
    try:
        found = subprocess.run(["node", "-e", "require('%s')" % module], capture_output=True, check=False)
    except FileNotFoundError:
        found = None
    if found is None or found.returncode != 0:
        need("NEED_NPM" not in os.environ, module + ": npm has not installed it")
        return "skipped: npm has not installed it"
    asked = subprocess.run(["node", "-e", script, out], capture_output=True, text=True, check=False)
    need(asked.returncode == 0, "%s: %s%s" % (module, asked.stdout, asked.stderr))
    return "agrees"


# ---- USD ----

def usd_tree(text):
    """Prims as {name: (type, {property: text}, children)}; as much of the grammar as is needed."""
    need(text.startswith("#usda 1.0\n"), "head of the usda")
    stack = [{}]
    properties = [{}]
    lines = iter(text.splitlines()[1:])
    for line in lines:
        prim = re.match(r'(?:def|class) (\w+) "([A-Za-z_][A-Za-z0-9_]*)"( \()?$', line)
        if prim:
            if prim.group(3):
                need(next(lines).startswith("prepend references = </Shapes/shape_"), "reference")
                need(next(lines) == ")", "end of metadata")
            need(next(lines) == "{", "begin of a prim")
            children, of = {}, {}
            need(prim.group(2) not in stack[-1], "two prims of one name")
            stack[-1][prim.group(2)] = prim.group(1), of, children
            stack.append(children)
            properties.append(of)
        elif line == "}":
            stack.pop()
            properties.pop()
        elif line.endswith("{"):
            name = line.split(" = ")[0].split()[-1]
            samples = {}
            for sample in lines:
                if sample == "}":
                    break
                tick, _, value = sample.partition(": ")
                need(value.endswith(",") and int(tick) not in samples, "sample")
                samples[int(tick)] = value[:-1]
            need(list(samples) == sorted(samples), "samples ascend")
            properties[-1][name] = samples
        elif " = " in line:
            name, _, value = line.partition(" = ")
            properties[-1][name.split()[-1]] = value
    need(len(stack) == 1, "braces")
    return properties[0], stack[0]


def numbers(text):
    return [float(x) for x in re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", text)]


def sample(samples, tick):
    """The sample at a tick, or the last one before it."""
    return samples[max(t for t in samples if t <= tick)]


def check_usd(truth, out):
    with open(out) as file:
        stage, roots = usd_tree(file.read())
    need(stage["metersPerUnit"] == "1" and stage["upAxis"] == '"Y"' and stage["timeCodesPerSecond"] == "60" and
         [int(stage["startTimeCode"]), int(stage["endTimeCode"])] == [truth.ticks[0], truth.ticks[-1]], "stage")
    shapes = roots["Shapes"][2]
    for name, (kind, of, _) in shapes.items():
        vertices, faces = len(numbers(of["points"])) // 3, numbers(of["faceVertexIndices"])
        need(kind == "Mesh" and max(faces) < vertices and len(faces) == sum(numbers(of["faceVertexCounts"])), name)
    prims = {}
    for kind, of, children in roots["World"][2].values():
        prims[json.loads(of["plenum:name"])] = kind, of
    for tick in truth.ticks:
        bodies, points = truth.at(tick)
        for name, (kind, of) in prims.items():
            where = "%s at tick %d" % (name, tick)
            there = name in bodies or len(points.get(name, [])) > 0
            if "visibility.timeSamples" in of:
                need(sample(of["visibility.timeSamples"], tick) == ('"inherited"' if there else '"invisible"'), where)
            else:
                need(there, where + " is shown")
            if name in bodies:
                need(kind == "Xform", where)
                near(numbers(sample(of["xformOp:translate.timeSamples"], tick)), bodies[name][0], 1e-5, where)
                w, x, y, z = numbers(sample(of["xformOp:orient.timeSamples"], tick))
                same_turn([x, y, z, w], bodies[name][1], 1e-6, where)
            elif there and name not in ("ball", "rope"):
                flat = numbers(of["points.timeSamples"][tick])
                need(len(flat) == 3 * len(points[name]), where)
                near(flat, [x for p in points[name] for x in p], 1e-5, where)
            elif there and name == "rope":  # each vertex but the ends is in two segments
                flat = numbers(of["points.timeSamples"][tick])
                chain = [points[name][i] for k in range(len(points[name]) - 1) for i in (k, k + 1)]
                near(flat, [x for p in chain for x in p], 1e-5, where)
    seen = {n for t in truth.ticks for n in truth.at(t)[0]} | {"ball", "rope", "curtain", "pond", "water", "sparks"}
    need(set(prims) == seen, "prims: %s" % sorted(prims))
    return "%d prims, %d shapes" % (len(prims), len(shapes))


CHECKS = {
    "csv": check_csv,
    "csv-range": lambda truth, out: check_csv(truth, out),
    "csv-only": lambda truth, out: check_csv(truth, out, {
        ("body", "can"), ("body", "crate #17"), ("points", "curtain"), ("probe", "momentum")}),
    "obj": check_obj, "ply": check_ply, "gltf": check_gltf, "mcap": check_mcap, "usd": check_usd,
    "gltf-validator": check_validator, "mcap-core": check_mcap_core,
}


def main():
    how, truth_path, frames_path, out, every, first = sys.argv[1:]
    truth = Truth(truth_path, frames_path, int(every), int(first))
    if first != "0":
        truth.ticks = [t for t in truth.ticks if t <= 65]
    print("%s: %s" % (os.path.basename(out), CHECKS[how](truth, out)))


main()
