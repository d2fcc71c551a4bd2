#!/usr/bin/env python3
"""Reads every tracked C and C++ file and reports what breaks the rules of the tree.

Rules: includes point downwards only (LAYERS, ROOMS), and within some folders calls do, too (ORDER);
files never call each other in a circle (check_circles);
each outside library stays behind its own files (ONLY_IN); only shared/base/clock.c reads a clock;
no tabs, trailing blanks, long lines, leftover notes; a comment on top of each file; no file grows
past LINES_MAX without a reason (LONG_FILES), no function beyond PARAMETERS_MAX parameters
(MANY_PARAMETERS); files that comments, Makefile and documents name exist (check_names); no two
files define a type of one name (check_types); private headers are used at home alone
(check_private); server/ and protocol/ state what they rely on (check_density); no identifier of a
program uses a word that the glossary of ARCHITECTURE.md replaced (check_words); the README of a
room is short (check_readme); what a header of a program declares is used somewhere (check_used),
and each group of functions there has a comment (check_documented).
usage: tests/tidy/tidy.py [--self-test]     exit 1 if anything is found
"""
import collections
import fnmatch
import functools
import re
import subprocess
import sys

LINES_MAX = 900
COLUMNS_MAX = 100
PARAMETERS_MAX = 7
README_LINES_MAX = 10  # without the title and empty lines, in:
ROOMS_WITH_README = ("shared/", "protocol/", "server/", "client/")
CHECKS_MIN = 5  # a thousand lines, in:
CHECKED = ("server/", "protocol/")
CHECK = re.compile(r"\bCHECK(?:_ITEM)?\(")

# Path pattern -> the layer of the file. The first that matches counts.
LAYER_OF = [
    ("shared/*", "shared"),
    ("protocol/*", "protocol"),
    ("server/physics/*", "physics"),
    ("server/world/*", "world"),
    ("server/author/*", "author"),
    ("server/export/*", "export"),
    ("server/host/*", "host"),
    ("server/lobby/*", "lobby"),
    ("server/*", "server"),
    ("client/link/*", "link"),
    ("client/view/*", "view"),
    ("client/hand/*", "hand"),
    ("client/*", "client"),
    ("tests/*", "tests"),
]
# Layer -> layers whose headers it may include.
LAYERS = {
    "shared": {"shared"},
    "protocol": {"shared", "protocol"},
    "physics": {"shared", "physics"},
    "world": {"shared", "protocol", "physics", "world"},
    "author": {"shared", "protocol", "author"},
    "export": {"shared", "protocol", "export"},
    "host": {"shared", "protocol", "world", "author", "host"},
    "lobby": {"shared", "protocol", "host", "lobby"},
    "server": {"shared", "protocol", "world", "author", "export", "host", "lobby", "server"},
    "link": {"shared", "protocol", "link"},
    "view": {"shared", "protocol", "link", "view"},
    "hand": {"shared", "protocol", "link", "view", "hand"},
    "client": {"shared", "protocol", "link", "view", "hand", "client"},
}
# Folder -> its rooms, lowest first: a file of a room includes its own and those below.
ROOMS = {
    "shared": ["rows", "base", "math", "geometry", "mesh", "soft"],
    "protocol": ["field", "scene", "codec", "stream", "session", "record"],
}
# Folder -> its files and rooms in the order of their calls, lowest first: a file includes, and calls
# functions of, its own group and those below. The first pattern that matches counts.
ORDER = {
    "server/physics/rigid": [
        ["narrow/gjk.[ch]", "narrow/gjk_internal.h", "narrow/manifold.h",
         "narrow/manifold_solid.h"],
        ["narrow/gjk_depth.c"],
        ["narrow/gjk_separation.c", "narrow/manifold_solids.c", "narrow/manifold_c[lu]*.c",
         "narrow/manifold_gather.c", "narrow/manifold_solid.c"],
        ["narrow/manifold_box.c", "narrow/manifold_mesh.c", "narrow/manifold_compound.c"],
        ["narrow/*"],
        ["rigid.h", "rigid_internal.h", "body.*", "body_check.c", "body_wide.h",
         "rotation_step.h", "motion.c",
         "joint/joint.[ch]", "joint/joint_internal.h", "contact.c"],
        ["broad/*"],
        ["ccd/ccd_sweep.*", "ccd/ccd_speculative.c"],
        ["recycle.c", "island.c", "collide.c", "energy.c"],
        ["solve/*"],
        ["joint/*"],
        ["ccd/*"],
        ["*"],
    ],
    "server/physics/soft": [
        ["*.h", "store.c", "batches_wide.c", "build_check.c", "chain.c", "constraint.c",
         "contact_other.c", "contact_root.c", "match.c", "predict.c", "pressure.c", "roll.c", "rotation.c", "wind.c",
         "self_collision_*.c"],
        ["batches_cut.c", "batches_validate.c", "build_links.c", "contact_face.c",
         "method_smooth.c", "self_collision.c", "skin.c", "surface.c"],
        ["build_tethers.c", "springs.c", "stiff.c", "validate.c"],
        ["batches.c", "body_constraint.c", "chain_find.c", "coupled_mass.c", "energy.c", "load.c"],
        ["batches_build.c", "contact.c", "rest.c"],
        ["collider.c", "grab.c", "spare.c"],
        ["method.c"],
        ["build.c", "groups.c"],
        ["*"],
    ],
    "server/host": [
        ["*.h", "authorize.c", "budget.c"],
        ["session_send.c"],
        ["transfer.c"],
        ["session_message.c"],
        ["debug_subscription.c"],
        ["*"],
    ],
    "client/link": [
        ["shown_element.h", "curve.*", "playout.*"],
        ["body_clock.*", "couplings.*", "static_colliders.*"],
        ["timeline.*", "timeline_internal.h"],
        ["timeline_show.c"],
        ["shown.*", "strain.*"],
        ["connection_internal.h", "connection.h", "connection_link.c"],
        ["connection_receive.c"],
        ["*"],
    ],
}
# A header whose comment says "Layer: ..., private." is included within its folder alone, or within
# the one of these that holds it; tests may look inside.
HOUSES = ["server/physics/rigid", "server/physics/soft"]
# Folder -> what it must not include: it meets them as colliders only.
APART = {
    "server/physics/soft": ["server/physics/rigid/", "server/physics/liquid/",
                            "server/physics/particles/"],
}
# Included header -> the only files that may include it. Tests are held to it as well.
ONLY_IN = {
    "enet/*": ["protocol/session/link_enet.c"],
    "uv.h": ["server/host/*", "server/main.c"],
    "SDL2/*": ["client/*", "tests/unit/client/*"],
    "SDL.h": ["client/*", "tests/unit/client/*"],
    "SDL_*": ["client/*", "tests/unit/client/*"],
    "epoxy/*": ["client/view/*", "client/hand/panels.cpp"],
    "flatbuffers/*": ["protocol/*.cpp", "protocol/*/*_cpp.h", "server/author/*.cpp"],
    "flatbuffers/idl.h": ["server/author/*.cpp"],
    "*_schema.h": ["server/author/*.cpp"],
    "*_generated.h": ["protocol/*.cpp", "protocol/*/*_cpp.h", "server/author/*.cpp"],
    "imgui*": ["client/hand/panels.cpp", "client/hand/panels_internal.h", "client/hand/chooser_panel.cpp"],
    "xxhash.h": ["shared/base/hash.c"],
    "ini.h": ["shared/base/options.c"],
    "getopt.h": ["shared/base/options.c"],
    "zstd.h": ["protocol/*", "tests/bench/codec_zstd.c"],
    "microhttpd.h": ["server/host/http.c", "server/lobby/lobby_http.c"],
    "jansson.h": ["protocol/session/world_list.c"],
    "curl/*": ["client/link/fetch.c"],
    "systemd/*": ["server/host/service.c"],
    "nats/*": ["server/host/broker.c"],
    "sys/sdt.h": ["server/host/trace.h"],
    "unicode/*": ["server/host/names.c"],
    "ode/*": ["tests/bench/peers/engine_ode.c"],
    "bt*": ["tests/bench/peers/*_bullet.cpp"],
    "Bullet*": ["tests/bench/peers/soft_bullet.cpp"],
}
# The part of client/hand that runs without a window (--headless, --bots) never sees SDL.
NO_SDL = re.compile(r"client/hand/(hand|pick|script|report|bots)(_\w+)?\.[ch]$")
CPP_FILES = ["protocol/*.cpp", "server/author/*.cpp", "client/hand/panels.cpp", "client/hand/timeline_bar.cpp",
             "client/hand/chooser_panel.cpp", "tests/bench/peers/*_bullet.cpp"]
CLOCK = re.compile(r"\b(clock_gettime|gettimeofday|timespec_get|time|clock|ftime)\s*\(")
# As clang-format writes them: (what comes before the name, the name).
DEFINITION = re.compile(r"^(\w[\w *]*?[ *])(\w+)\([^;{}]*\)\n\{", re.M)
CALL = re.compile(r"(?<![.>\w])(\w+)\(")
TYPE = re.compile(r"^(?:typedef )?(?:struct|enum|union|class) (\w+) \{|"
                  r"^typedef [^;{}()]*?\(\*(\w+)\)", re.M)
PRIVATE = re.compile(r"Layer: [\w/]+, private\b")
# Words that gave way to those of the glossary of ARCHITECTURE.md, as parts of identifiers.
OLD_WORDS = {
    "foretell": "predict", "foretold": "predicted", "fresh": "new", "grip": "grab or coupling",
    "household": "address prefix", "hunter": "predator", "hurry": "catch up",
    "judge": "lag compensation", "patience": "timeout", "permit": "authorize", "retell": "resend",
    "sane": "valid", "seams": "constraint batches", "softs": "soft_bodies",
    "spin": "angular_velocity", "strays": "deep overlap", "tell": "notify", "tells": "notifies",
    "thinned": "decimated", "thins": "decimates", "told": "notified", "trouble": "an error",
    "turned": "rotated", "wholes": "body constraints",
}
SPINS = re.compile(r"spin_pauses|spin_limit|spin_for_done|SPIN_PAUSES")  # of threads that wait
NOTE_WORDS = ["TO" + "DO", "FIX" + "ME", "XX" + "X"]
NOTES = re.compile(r"\b(" + "|".join(NOTE_WORDS) + r")\b")
INCLUDE = re.compile(r'\s*#\s*include\s*[<"]([^>"]+)[>"]')
# What looks like a file's name: with a folder or without, * and {a,b} as in a shell.
NAMED = re.compile(r"[\w./*{},-]*[\w*}]\.(?:c|h|cpp|def|fbs|md|py|sh|bin|json|txt|asc|obj|ply|png)\b")
HAVE_COMMENTS = ["*.c", "*.h", "*.cpp", "*.def", "*.fbs", "*.py", "*.sh", "*.md", "Makefile"]
# Names of no file of the tree: headers of others, what programs write, examples.
NAMES_OUTSIDE = {"enet.h", "sodium.h", "cmocka.h", "cli/xsum_sanity_check.c",
                 "compile_commands.json", "scene.json", "cat.obj"}
EXAMPLE = re.compile(r"FILE|NAME|SCENE")
# File -> why it may be longer than LINES_MAX.
LONG_FILES = {
}
# A function as it is declared or defined: its name, its parameters.
FUNCTION = re.compile(r"^(?!#|\s|\}|typedef)[^;{}=#()]*?\b(\w+)"
                      r"\(((?:[^;{}()]|\([^;{}()]*\))*)\)\s*(?=[;{])", re.M)
# A function that a header declares or defines at the start of a line.
DECLARATION = re.compile(r"^(?!#|typedef|PL_|\s|[}/*])[\w *]*?\b(\w+)"
                         r"\(((?:[^;{}()]|\([^;{}()]*\))*)\)[^;{}]*[;{]", re.M)
# Function -> why it may have more parameters than PARAMETERS_MAX.
MANY_PARAMETERS = {
    "on_request": "as libmicrohttpd calls it",
    "code_row_as": "inlined four times, with two of them constant",
    "take_cell": "inlined into code_row_as",
    "fill_row": "inlined into the loop over rows of a block",
    "project_row": "inlined for each kind of constraint, with its number of points constant",
    "go": "inlined twice, with its number of terms constant",
}


def matches(path, patterns):
    return any(fnmatch.fnmatchcase(path, p) for p in patterns)


def layer_of(path):
    return next((layer for pattern, layer in LAYER_OF if fnmatch.fnmatchcase(path, pattern)), None)


@functools.cache  # four rules ask for it
def without_comments(text):
    """The text with comments and string contents blanked, lines kept."""
    def blank(m):
        return "\n" * m.group().count("\n") if m.group()[0] == "/" else '""'
    return re.sub(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', blank, text, flags=re.S)


def comments(path, text):
    """All comments as (offset, text); of a document all of it but blocks of commands."""
    if path.endswith(".md"):
        return [(m.start(), m.group()) for m in re.finditer(r"^(?! {4}).+$", text, flags=re.M)]
    if path.endswith((".py", ".sh")) or path == "Makefile":
        return [(m.start(), m.group()) for m in re.finditer(r"^\s*#.*$", text, flags=re.M)]
    pattern = r'"(?:\\.|[^"\\\n])*"|//[^\n]*|/\*.*?\*/'
    return [(m.start(), m.group()) for m in re.finditer(pattern, text, flags=re.S)
            if m.group()[0] == "/"]


def is_there(name, tracked, endings):
    if "*" not in name:
        return name in endings
    return any(fnmatch.fnmatchcase("/" + f, "*/" + name) for f in tracked)


def endings_of(tracked):
    """Every way to name a tracked file by the end of its path."""
    return {f.split("/", n)[-1] for f in tracked for n in range(f.count("/") + 1)}


def check_names(path, text, tracked, endings):
    """Files that are named and are not there, as (line, text)."""
    found = []
    for start, comment in comments(path, text):
        for match in NAMED.finditer(comment):
            name = re.sub(r"\{[^}]*\}", "*", match.group().lstrip("./,-"))
            if (name in NAMES_OUTSIDE or EXAMPLE.search(name) or name.startswith("build/") or
                    match.group().startswith("/")):
                continue
            if not is_there(name, tracked, endings):
                line = text.count("\n", 0, start + match.start()) + 1
                found.append((line, f"names {match.group()}, which is not in the tree"))
    return found


def check_rooms(path, included):
    """Within a folder includes point downwards too."""
    folder, _, rest = path.partition("/")
    rooms = ROOMS.get(folder)
    if rooms is None or not included.startswith(folder + "/"):
        return None
    room, other = rest.split("/")[0], included.split("/")[1]
    if room not in rooms or other not in rooms:
        return f"{room if room not in rooms else other} is no room of {folder} (ROOMS)"
    if rooms.index(other) > rooms.index(room):
        return f"{folder}/{room} must not include {folder}/{other} (rooms: {', '.join(rooms)})"
    return None


def check_private(texts):
    """Headers that are used outside of where they are private, and those that are half marked."""
    private, found = {}, []
    for path, text in texts.items():
        head = text[:text.find("*/") + 1]
        if path.endswith(".h") and PRIVATE.search(head):
            folder = path.rsplit("/", 1)[0]
            private[path] = next((h for h in HOUSES if path.startswith(h + "/")), folder)
        elif path.endswith("_internal.h") or path.endswith(".h") and "(private)" in head:
            found.append((path, 1, 'its comment does not end with "Layer: FOLDER, private."'))
    for path, text in texts.items():
        for number, line in enumerate(text.split("\n"), 1):
            include = INCLUDE.match(line) if "#" in line else None
            house = private.get(include.group(1)) if include else None
            if house and not path.startswith((house + "/", "tests/")):
                found.append((path, number, f"{include.group(1)} is private to {house}"))
    return found


def check_types(texts):
    """Names of types that two files define, as (path, line, text): a name has one meaning. Of tests
    headers count."""
    seen, found = {}, []
    for path, text in texts.items():
        if path.startswith("tests/") and (not path.endswith(".h") or "/fake_" in path):
            continue
        for match in TYPE.finditer(without_comments(text)):
            name = match.group(1) or match.group(2)
            if seen.setdefault(name, path) != path:
                line = text.count("\n", 0, match.start()) + 1
                found.append((path, line, f"{name} is a type of {seen[name]}, too"))
    return found


def check_documented(texts):
    """Functions of headers of programs that begin a group, after an empty line, without a comment
    above or beside them, as (path, line, text)."""
    found = []
    for path, text in texts.items():
        if not path.endswith(".h") or path.startswith("tests/"):
            continue
        for match in DECLARATION.finditer(text):
            above = text[:match.start()]
            rest = text[match.end():text.find("\n", match.end())]
            if above.endswith("\n\n") and not above.rstrip().endswith("*/") and "/*" not in rest:
                line = text.count("\n", 0, match.start()) + 1
                found.append((path, line, f"{match.group(1)} begins a group without a comment"))
    return found


def group_of(path):
    """(Folder of ORDER, number of the file's group in it), or None."""
    for folder, groups in ORDER.items():
        if path.startswith(folder + "/"):
            rest = path[len(folder) + 1:]
            for number, patterns in enumerate(groups):
                if matches(rest, patterns):
                    return folder, number
    return None


def is_below(path, other):
    """True if the order of a folder forbids that the file uses the other one."""
    mine, its = group_of(path), group_of(other)
    return mine is not None and its is not None and mine[0] == its[0] and its[1] > mine[1]


def check_calls(texts):
    """Calls of functions that are defined above their callers, as (path, line, text); texts: of all
    files by their paths."""
    defined, found = {}, []
    code = {p: without_comments(t) for p, t in texts.items() if group_of(p) and p.endswith(".c")}
    own = {path: {m.group(2) for m in DEFINITION.finditer(text)} for path, text in code.items()}
    for path, text in code.items():
        for match in DEFINITION.finditer(text):
            if not re.search(r"\b(static|SIMD_INLINE)\b", match.group(1)):
                defined[match.group(2)] = path
    for path, text in code.items():
        for match in CALL.finditer(text):
            where = defined.get(match.group(1))
            if where and match.group(1) not in own[path] and is_below(path, where):
                line = text.count("\n", 0, match.start()) + 1
                found.append((path, line, f"calls {match.group(1)} of {where}, above it (ORDER)"))
    return found


def calls_between(texts):
    """Path of a .c file -> those whose functions it calls, with the names; texts: by their paths."""
    code = {p: without_comments(t) for p, t in texts.items()
            if p.endswith(".c") and not p.startswith("tests/")}
    own, defined = {path: set() for path in code}, {}
    for path, text in code.items():
        for match in DEFINITION.finditer(text):
            own[path].add(match.group(2))
            if not re.search(r"\b(static|SIMD_INLINE)\b", match.group(1)):
                defined.setdefault(match.group(2), path)
    called = {}
    for path, text in code.items():
        called[path] = {}
        for name in {m.group(1) for m in CALL.finditer(text)} - own[path]:
            if name in defined:
                called[path].setdefault(defined[name], []).append(name)
    return called


def circles_of(called):
    """The sets of files that reach each other by calls (Tarjan 1972)."""
    number, low, stack, found = {}, {}, [], []

    def visit(path):
        number[path] = low[path] = len(number)
        stack.append(path)
        for other in called[path]:
            if other not in number:
                visit(other)
            if other in stack:
                low[path] = min(low[path], low[other])
        if low[path] == number[path]:
            circle = stack[stack.index(path):]
            del stack[stack.index(path):]
            if len(circle) > 1:
                found.append(sorted(circle))

    for path in called:
        if path not in number:
            visit(path)
    return found


def check_circles(texts):
    """Files that call each other, directly or by others, as (path, line, text)."""
    called, found = calls_between(texts), []
    for circle in circles_of(called):
        calls = [f"{path.rsplit('/')[-1]} calls {', '.join(sorted(names))} of {other.rsplit('/')[-1]}"
                 for path in circle for other, names in called[path].items() if other in circle]
        found.append((circle[0], 1, "a circle of calls: " + "; ".join(sorted(calls))))
    return found


def check_include(path, included):
    layer, target = layer_of(path), layer_of(included)
    if layer == "tests":
        if (target == "client" or target == "server") and not included.endswith(".def"):
            return "a test includes the layers, not a program's main"
    elif target == "tests":
        return f"{layer} must not include tests"
    elif target and target not in LAYERS[layer]:
        return f"{layer} must not include {target} (includes point downwards only)"
    if check_rooms(path, included):
        return check_rooms(path, included)
    if is_below(path, included):
        return "it is above this file (ORDER)"
    for folder, others in APART.items():
        if path.startswith(folder + "/") and included.startswith(tuple(others)):
            return f"{folder} meets other matter through server/physics/contact (APART)"
    for header, files in ONLY_IN.items():
        if fnmatch.fnmatchcase(included, header) and not matches(path, files):
            return f"only {', '.join(files)} may include it"
    if NO_SDL.match(path) and included.startswith("SDL"):
        return "this part of client/hand must run without SDL"
    return None


def parameters_of(text):
    """How many there are between the parentheses of a function."""
    depth, count = 0, 1
    for c in text:
        depth += (c in "([") - (c in ")]")
        count += c == "," and depth == 0
    return count


def check_parameters(code):
    """Functions with too many parameters, as (line, text); code is without comments."""
    found = []
    for match in FUNCTION.finditer(code):
        count = parameters_of(match.group(2))
        if count > PARAMETERS_MAX and match.group(1) not in MANY_PARAMETERS:
            line = code.count("\n", 0, match.start()) + 1
            found.append((line, f"{match.group(1)}: {count} parameters, at most {PARAMETERS_MAX}: "
                                "give it a struct"))
    return found


def check_density(texts):
    """Folders with too few CHECKs for their lines, as (path, line, text); SQLite, TigerBeetle and
    Box3D have 4 to 34 a thousand lines."""
    found = []
    for folder in CHECKED:
        inside = {path: text for path, text in texts.items() if path.startswith(folder)}
        lines = sum(text.count("\n") for path, text in inside.items() if not path.endswith(".h"))
        checks = sum(len(CHECK.findall(without_comments(text))) for text in inside.values())
        if 1000 * checks < CHECKS_MIN * lines:
            found.append((folder, 1, f"{checks} CHECKs in {lines} lines, at least {CHECKS_MIN} a "
                                     "thousand: state what new code relies on"))
    return found


def check_used(texts):
    """Functions that a program's header declares and nothing names but their definition, as (path,
    line, text)."""
    code = {path: without_comments(text) for path, text in texts.items()}
    named = collections.Counter(word for text in code.values() for word in re.findall(r"\w+", text))
    found = []
    for path, text in code.items():
        if path.endswith(".h") and not path.startswith("tests/"):
            for match in FUNCTION.finditer(text):
                here = text[match.end():match.end() + 1] == "{"  # defined in the header
                if named[match.group(1)] <= 2 - here:
                    found.append((path, text.count("\n", 0, match.start(1)) + 1,
                                  f"nothing calls {match.group(1)}: remove it"))
    return found


def check_readme(path, text):
    """A room's README says what belongs there and where to start; `make map` lists its files."""
    if not path.endswith("/README.md") or not path.startswith(ROOMS_WITH_README):
        return []
    lines = [line for line in text.split("\n")[1:] if line]
    if len(lines) > README_LINES_MAX:
        return [(1, f"{len(lines)} lines, at most {README_LINES_MAX}: methods have pages of their "
                    "own, and what a file is for stands on its top")]
    return []


def check_words(code):
    """Identifiers with words of OLD_WORDS as (line, text); tests may say what they like."""
    found = []
    for name in set(re.findall(r"\b[A-Za-z_]\w+\b", code)):
        new = new_word(name)
        if new:
            found += [(code.count("\n", 0, m.start()) + 1, f"{name}: the word is {new}")
                      for m in re.finditer(rf"\b{name}\b", code)]
    return sorted(found)


@functools.cache
def new_word(name):
    """What an identifier says by a word of OLD_WORDS; None: it has none."""
    parts = (part.lower() for part in re.findall(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])", name))
    old = next((part for part in parts if part in OLD_WORDS), None)
    return OLD_WORDS[old] if old and not SPINS.fullmatch(name) else None


def check_file(path, text):
    """All findings of one file as (line, text)."""
    found = []
    lines = text.split("\n")
    if path.endswith(".cpp") and not matches(path, CPP_FILES):
        found.append((1, f"C++ only in {', '.join(CPP_FILES)}: write C"))
    if not re.match(r"(/\*|//)", text):
        found.append((1, "no comment on top that says what the file is for"))
    if len(lines) > LINES_MAX and path not in LONG_FILES:
        found.append((len(lines), f"{len(lines)} lines, at most {LINES_MAX}: split it by idea"))
    if not text.endswith("\n"):
        found.append((len(lines), "no newline at the end"))
    noted = any(word in text for word in NOTE_WORDS)
    for number, line in enumerate(lines, 1):
        if "\t" in line:
            found.append((number, "tab"))
        if line != line.rstrip():
            found.append((number, "blanks at the end of the line"))
        if len(line) > COLUMNS_MAX:
            found.append((number, f"{len(line)} columns, at most {COLUMNS_MAX}"))
        if noted and NOTES.search(line):
            found.append((number, "leftover note: do it, or file it"))
        include = INCLUDE.match(line) if "#" in line else None
        reason = check_include(path, include.group(1)) if include else None
        if reason:
            found.append((number, f"#include {include.group(1)}: {reason}"))
    code = without_comments(text)
    found += check_parameters(code)
    if not path.startswith("tests/"):
        found += check_words(code)
    if path != "shared/base/clock.c":
        for number, line in enumerate(code.split("\n"), 1):
            call = CLOCK.search(line) if "time" in line or "clock" in line else None
            if call:
                found.append((number, f"{call.group(1)}(): only shared/base/clock.c reads a clock"))
    return found


def self_test():
    """Each rule finds a file that breaks it, so that a silent tidy means a tidy tree."""
    head = "/* x */\n"
    bad = [
        ("shared/math/a.c", head + '#include "shared/geometry/shape.h"\n'),
        ("protocol/codec/a.c", head + '#include "protocol/stream/snapshot.h"\n'),
        ("server/physics/rigid/broad/a.c",
         head + '#include "server/physics/rigid/ccd/ccd_flight.h"\n'),
        ("client/link/static_colliders.h", head + '#include "client/link/timeline.h"\n'),
        ("shared/a.c", head + '#include "protocol/field/frame.h"\n'),
        ("server/physics/a.c", head + '#include "protocol/field/frame.h"\n'),
        ("server/physics/soft/a.c", head + '#include "server/physics/rigid/rigid.h"\n'),
        ("server/host/a.c", head + '#include "server/physics/tree.h"\n'),
        ("client/link/a.c", head + '#include "client/view/view.h"\n'),
        ("client/link/a.c", head + '#include "server/world/world.h"\n'),
        ("protocol/a.c", head + '#include "client/link/connection.h"\n'),
        ("protocol/a.c", head + "#include <enet/enet.h>\n"),
        ("protocol/a.c", head + "#include <uv.h>\n"),
        ("server/world/a.c", head + "#include <SDL2/SDL.h>\n"),
        ("client/hand/bots.c", head + "#include <SDL2/SDL.h>\n"),
        ("client/hand/hud.cpp", head),
        ("protocol/a.c", head + '#include "scene_generated.h"\n'),
        ("shared/base/log.c", head + "long now(void) { return time(NULL); }\n"),
        ("shared/base/log.c", "int x;\n"),
        ("shared/base/log.c", head + "int x;\t\n"),
        ("shared/base/log.c", head + "int x; \n"),
        ("shared/base/log.c", head + "// TO" + "DO: later\n"),
        ("shared/base/log.c", head + "int is_sane;\n"),
        ("shared/base/log.c", head + "x" * 101 + "\n"),
        ("shared/base/log.c", head + "\n" * LINES_MAX),
        ("shared/base/log.c", "/* x */"),
        ("shared/base/log.c", head + "static int f(int a, int b, int c,\n             int d, int e, int g, "
         "void (*h)(int, int), int i)\n{\n}\n"),
        ("shared/base/log.h", head + "u32 f(u32 a, u32 b, u32 c, u32 d, u32 e, u32 g, u32 h, u32 i);\n"),
    ]
    for path, text in bad:
        if not check_file(path, text):
            sys.exit(f"tidy: self test: nothing found in {path}: {text[:60]!r}")
    low, high = "server/physics/rigid/broad/broad.c", "server/physics/rigid/ccd/ccd.c"
    texts = {low: "void broad(void)\n{\n    ccd();\n}\n",
             high: "void ccd(void)\n{\n    broad();\n}\n"}
    found = check_calls(texts)
    if len(found) != 1 or found[0][:2] != (low, 3):
        sys.exit(f"tidy: self test: a call upwards: {found}")
    if len(check_circles(texts)) != 1 or check_circles({low: texts[low]}):
        sys.exit(f"tidy: self test: a circle of calls: {check_circles(texts)}")
    texts = {low: "struct One {\n};\n", high: "typedef enum One {\n} One;\n"}
    if len(check_types(texts)) != 1:
        sys.exit(f"tidy: self test: one name for two types: {check_types(texts)}")
    texts = {"server/physics/rigid/x/a.h": "/*\n * Layer: server/physics/rigid/x, private.\n */\n",
             "server/world/b_internal.h": head,
             high: '#include "server/physics/rigid/x/a.h"\n',
             "server/world/a.c": '#include "server/physics/rigid/x/a.h"\n'}
    found = check_private(texts)
    if sorted(f[0] for f in found) != ["server/world/a.c", "server/world/b_internal.h"]:
        sys.exit(f"tidy: self test: private headers: {found}")
    texts = {"server/a.c": "int x;\n" * 1000 + "CHECK(1);\n" * 4 + "// CHECK(2)\n",
             "protocol/a.c": "int x;\n" * 995 + "CHECK(1);\n" * 5}
    if [f[0] for f in check_density(texts)] != ["server/"]:
        sys.exit(f"tidy: self test: too few CHECKs: {check_density(texts)}")
    names = "/* see a.h, shared/b.c, {x,y}_z.c and protocol/b.c */\n"
    there = ["shared/a.h", "shared/b.c", "shared/y_z.c"]
    found = check_names("shared/a.c", names, there, endings_of(there))
    if len(found) != 1 or "protocol/b.c" not in found[0][1]:
        sys.exit(f"tidy: self test: of {names!r} {found}")
    texts = {"server/a.h": "int called(int x);\nint uncalled(int x);\n",
             "server/a.c": "int called(int x)\n{\n}\nint uncalled(int x)\n{\n}\n",
             "server/b.c": "int b(void)\n{\n    return called(1);\n}\n"}
    if [f[:2] for f in check_used(texts)] != [("server/a.h", 2)]:
        sys.exit(f"tidy: self test: uncalled functions: {check_used(texts)}")
    texts = {"shared/a.h": "/* Said. */\nint a(int x);\nint b(int x);\n\nint c(int x);\n"
             "int d(void); /* said */\n\nint e(void); /* said */\n"}
    if [f[:2] for f in check_documented(texts)] != [("shared/a.h", 5)]:
        sys.exit(f"tidy: self test: undocumented functions: {check_documented(texts)}")
    ten = "# room\n\n" + "line\n\n" * README_LINES_MAX
    if check_readme("server/a/README.md", ten) or not check_readme("server/README.md", ten + "x\n") \
            or check_readme("deploy/README.md", ten + "x\n"):
        sys.exit("tidy: self test: long READMEs")
    good = head + ('#include "shared/base/base.h"\nint run_time(int x); // the time (of day)\n'
                   "int f(int a, int b, int c, int d, int e, int g, void (*h)(int, int, int, int));\n")
    if check_file("client/hand/bots.c", good):
        sys.exit(f"tidy: self test: {check_file('client/hand/bots.c', good)}")


def main():
    self_test()
    if sys.argv[1:] == ["--self-test"]:
        return
    everything = subprocess.run(["git", "ls-files"], capture_output=True, text=True,
                                check=True).stdout.split()
    tracked = [f for f in everything if f.endswith((".c", ".h", ".cpp"))]
    endings = endings_of(everything)
    count = 0
    for path in everything:
        if matches(path, HAVE_COMMENTS):
            with open(path, encoding="utf-8") as file:
                whole = file.read()
            found = check_names(path, whole, everything, endings) + check_readme(path, whole)
            for number, text in found:
                print(f"{path}:{number}: {text}")
                count += 1
    texts = {}
    for path in tracked:
        with open(path, encoding="utf-8") as file:
            texts[path] = file.read()
        for number, text in check_file(path, texts[path]):
            print(f"{path}:{number}: {text}")
            count += 1
    for path, number, text in (check_calls(texts) + check_circles(texts) + check_types(texts) + check_private(texts) +
                               check_density(texts) + check_used(texts) + check_documented(texts)):
        print(f"{path}:{number}: {text}")
        count += 1
    for name in MANY_PARAMETERS:
        if not any(re.search(rf"\b{name}\(", text) for text in texts.values()):
            print(f"tests/tidy/tidy.py: MANY_PARAMETERS names {name}, which is gone")
            count += 1
    for path in LONG_FILES:
        if path not in tracked:
            print(f"tests/tidy/tidy.py: LONG_FILES names {path}, which is gone")
            count += 1
    if count:
        sys.exit(f"tidy: {count} findings")


main()
