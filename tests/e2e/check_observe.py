#!/usr/bin/env python3
"""Checks pages of metrics, and deploy/observe against them.

usage: check_observe.py SERVER_PAGE [PAGE ...]     exit 1 with what is wrong
A page: each family has help and type before its samples, names and units as Prometheus wants them,
no sample twice, histograms that add up. deploy/observe: each metric that rules and dashboard name is
on a page; panels lie side by side. With promtool on the PATH it checks pages, rules and their tests.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys

OBSERVE = pathlib.Path(__file__).resolve().parents[2] / "deploy" / "observe"
SAMPLE = re.compile(r'([a-z_]+)(\{[^}]*\})? (\S+)$')
METRIC = re.compile(r"\b(?:plenum|process)_[a-z_]+\b")
SUFFIX = re.compile(r"_(bucket|sum|count)$")
faults = []


def fault(text):
    faults.append(text)


def family_of(name, types):
    base = SUFFIX.sub("", name)
    return base if types.get(base) in ("histogram", "summary") else name


def check_histograms(samples, types):
    """Buckets ascend and end in the count."""
    series = {}
    for (name, labels), value in samples.items():
        if name.endswith("_bucket"):
            le = re.search(r'le="([^"]+)"', labels).group(1)
            rest = re.sub(r',?le="[^"]+"', "", labels).replace("{}", "")
            series.setdefault((SUFFIX.sub("", name), rest), []).append((float(le), value))
    for (name, rest), buckets in series.items():
        values = [value for _, value in buckets]
        if buckets != sorted(buckets) or values != sorted(values) or buckets[-1][0] != float("inf"):
            fault(f"{name}{rest}: buckets do not ascend to +Inf")
        if samples.get((name + "_count", rest)) != values[-1]:
            fault(f"{name}{rest}: +Inf is not the count")
    for name, kind in types.items():
        if kind == "histogram" and not any(key[0] == name for key in series):
            fault(f"{name}: a histogram without buckets")


def check_page(text):
    """Returns the names of its families."""
    helps, types, samples = {}, {}, {}
    for line in text.splitlines():
        if line.startswith("# HELP "):
            _, _, name, words = line.split(" ", 3)
            helps[name] = words
        elif line.startswith("# TYPE "):
            _, _, name, types[name] = line.split(" ")
            if name not in helps:
                fault(f"{name}: no help before its type")
        else:
            match = SAMPLE.match(line)
            if match is None:
                fault(f"not a sample: {line}")
                continue
            name, labels, value = match.group(1), match.group(2) or "", float(match.group(3))
            if family_of(name, types) not in types:
                fault(f"{name}: a sample without a type before")
            if (name, labels) in samples:
                fault(f"{name}{labels}: twice")
            samples[name, labels] = value
    for name, kind in types.items():
        if (kind == "counter") != name.endswith("_total"):
            fault(f"{name}: counters, and no others, end in _total")
        if re.search(r"_(ms|us|ns|milliseconds|kb|kib|mib|percent)(_|$)", name):
            fault(f"{name}: not a base unit")
    check_histograms(samples, types)
    return types, samples


def check_names(types):
    for path in sorted(OBSERVE.iterdir()):
        for name in sorted(set(METRIC.findall(path.read_text()))):
            if name != "plenum_" and family_of(name, types) not in types:
                fault(f"{path.name}: {name} is on no page of metrics")


def check_dashboard():
    board = json.loads((OBSERVE / "plenum.dashboard.json").read_text())
    taken, idents = set(), set()
    for panel in board["panels"]:
        title, at = panel["title"], panel["gridPos"]
        if panel["id"] in idents:
            fault(f"panel {title}: its id is used twice")
        idents.add(panel["id"])
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"])
                 for y in range(at["y"], at["y"] + at["h"])}
        if taken & cells or at["x"] + at["w"] > 24:
            fault(f"panel {title}: lies over another or beyond the edge")
        taken |= cells
        if panel["type"] != "row" and not all(t["expr"] for t in panel["targets"]):
            fault(f"panel {title}: shows nothing")


def promtool(*arguments, text=None):
    done = subprocess.run(["promtool", *arguments], input=text, capture_output=True, text=True)
    if done.returncode != 0 or (text is not None and done.stdout + done.stderr != ""):
        fault(f"promtool {' '.join(arguments)}:\n{done.stdout}{done.stderr}")


def main():
    texts = [pathlib.Path(name).read_text() for name in sys.argv[1:]]
    types, samples = check_page(texts[0])
    others = {}
    for text in texts[1:]:
        others.update(check_page(text)[0])
    check_names(types | others)
    check_dashboard()
    for name in ("plenum_join_seconds_count", "plenum_snapshot_encode_seconds_count",
                 "plenum_client_budget_bytes_per_second_count", "plenum_tick_seconds_count"):
        if samples.get((name, ""), 0) == 0:
            fault(f"{name}: nothing was measured")
    if shutil.which("promtool"):
        for text in texts:
            promtool("check", "metrics", text=text)
        promtool("check", "config", str(OBSERVE / "prometheus.yml"))
        promtool("test", "rules", str(OBSERVE / "plenum.rules.test.yml"))
    for line in faults:
        print(line, file=sys.stderr)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
